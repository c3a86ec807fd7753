"""Tokens and cost of a conversation, as rows that never overlap: any of them can be added up without double counting.

Tokens are those of one account (`accounts`). Totals of a session are spread over its turns, those of each run of the
program over the turns of that run, in proportion to the output that these recorded, else evenly. Compactions are
added, because totals leave them out. The size of the last prompt does not count as input. Premium requests are those of
the session, by its runs, else of the turn, else the multiplier below the answer, else that of the calls that the user
started. Credits are those of turns and calls, and what the bill of their run has beyond them (`costs`). If no record
has the tokens of an answered turn, they are estimated from its calls of a model (`estimated_spend`).
"""

from __future__ import annotations

from typing import Any

from copilog.derive.replayed_calls import Replays
from copilog.model import Conversation, Usage
from copilog.store.accounts import Account, Accounts
from copilog.store.call_counts import calls_by_turn
from copilog.store.costs import add_costs
from copilog.store.estimated_spend import estimate_of, replayed_calls
from copilog.store.message_counts import NOWHERE, MessageCounts, Slot
from copilog.store.payers import Payers
from copilog.store.recorded import is_of_cut_off_run, tokens_of
from copilog.store.rows import SpendRow
from copilog.store.segments import segments_of
from copilog.store.spend_rows import Method, SpendRows
from copilog.store.spreading import Weights, whole_shares
from copilog.store.texts import Calls, Texts
from copilog.store.times import time_text

ESTIMATE = "replayed calls"
ESTIMATED = (
    "input", "cache_read", "input_at_least", "input_at_most", "output", "output_at_least", "output_at_most",
)  # fmt: skip


def spends_of(
    conversation: Conversation, texts: list[Texts], calls: Calls, replays: Replays | None = None
) -> list[SpendRow]:
    """Return the rows of `spend`; `texts` are those of `texts_of`."""
    if not conversation.turns and not conversation.usage:
        return []
    talk = MessageCounts(conversation, texts, calls)
    accounts, rows = Accounts(conversation, talk), SpendRows(talk)
    tokens = Tokens(talk, accounts, rows)
    tokens.add()
    add_costs(talk, accounts, rows, conversation.usage)
    tokens.add_outside_account()
    tokens.add_estimates(conversation, replays or Replays(conversation))
    rows.add_calls(calls_by_turn(talk, accounts))
    ended_at = time_text(conversation.updated_at or conversation.started_at)
    return list(rows.rows(ended_at, Payers(conversation, rows.costs())))


class Tokens:
    """Adds the tokens of one conversation to its rows: recorded, spread, or estimated."""

    def __init__(self, talk: MessageCounts, accounts: Accounts, rows: SpendRows) -> None:
        self._talk = talk
        self._accounts = accounts
        self._rows = rows
        self._with_input: set[int | None] = set()  # turns whose input was recorded
        self._with_output: set[int | None] = set()

    def add(self) -> None:
        self._add_chosen()
        weights = Weights(self._accounts.turns.rows, self._talk)
        for run in self._talk.lost_runs:
            if run.turns & self._with_input:
                continue  # its calls are recorded
            for usage in run.totals:
                numbers = tokens_of(usage)
                for turn in run.turns:
                    self._know(turn, numbers)
                self._spread(usage, numbers, weights.places_of(usage.model, numbers.get("output", 0), run.turns))

    def _add_chosen(self) -> None:
        chosen, turns = self._accounts.chosen, self._accounts.turns
        if chosen is None:
            return
        if chosen.kind == "session":
            self._add_session(chosen)
            return
        for slot, usage in chosen.rows:
            self._add_recorded(slot, usage)
        placed = {slot.turn for slot, _ in chosen.rows}
        if chosen.kind == "calls" and None in placed:
            self._with_input.update(self._talk.turns)  # a call without a turn may belong to any of them
            self._with_output.update(self._talk.turns)
        elif chosen.kind == "calls":
            for slot, usage in turns.rows:
                if slot.turn not in placed:
                    self._add_recorded(slot, usage)
        weights = Weights(turns.rows, self._talk)
        for usage, covered in chosen.rest:
            numbers = tokens_of(usage)
            others = covered - placed
            for turn in others:
                self._know(turn, numbers)
            places = weights.places_of(usage.model, numbers.get("output", 0), others) if others else {NOWHERE: 1}
            self._spread(usage, numbers, places)

    def _add_recorded(self, slot: Slot, usage: Usage) -> None:
        numbers = tokens_of(usage)
        self._rows.add(slot, usage.model, usage.source, "estimated" if usage.is_estimated else "recorded", numbers)
        self._rows.add_prompt(slot, usage)
        self._know(slot.turn, numbers)

    def _know(self, turn: int | None, numbers: dict[str, Any]) -> None:
        if "input" in numbers:
            self._with_input.add(turn)
        if "output" in numbers:
            self._with_output.add(turn)

    def add_outside_account(self) -> None:
        """Add the tokens outside the account. The session's credits include the cost of compactions."""
        for slot, usage in self._accounts.aside:
            self._rows.add(slot, usage.model, usage.source, "recorded", tokens_of(usage))
            self._rows.add_prompt(slot, usage)

    def _add_session(self, account: Account) -> None:
        """Spread totals over the turns that they cover: those of a `session.shutdown` over the turns of its run."""
        weights = Weights(self._accounts.turns.rows, self._talk)
        has_cut_off = any(is_of_cut_off_run(usage) for _, usage in account.rows)
        for _, usage in account.rows:
            for numbers, turns in segments_of(usage, self._talk, without_cut_off=has_cut_off):
                for turn in turns:
                    self._know(turn, numbers)
                self._spread(usage, numbers, weights.places_of(usage.model, numbers.get("output", 0), turns))

    def _spread(self, usage: Usage, numbers: dict[str, Any], places: dict[Slot, int]) -> None:
        is_as_recorded = numbers.keys() == {"output"} and numbers["output"] == sum(places.values())
        method: Method = "recorded" if len(places) == 1 or is_as_recorded else "spread"
        weights = list(places.values())
        shares = {name: whole_shares(number, weights) for name, number in numbers.items()}
        for position, slot in enumerate(places):
            share = {name: each[position] for name, each in shares.items()}
            self._rows.add(slot, usage.model, usage.source, method, share)

    # --- estimates --------------------------------------------------------------------------------------------------

    def add_estimates(self, conversation: Conversation, replays: Replays) -> None:
        """Add estimates for turns whose input or output was not recorded."""
        talk = self._talk
        if talk.turns.keys() <= self._with_input and talk.turns.keys() <= self._with_output:
            return
        replayed = replayed_calls(conversation, replays)
        for slot in sorted(replayed, key=_by_turn):
            has_input, has_output = slot.turn in self._with_input, slot.turn in self._with_output
            if has_input and has_output:
                continue
            numbers = dict(zip(ESTIMATED, estimate_of(replayed[slot]).numbers(), strict=True))
            if has_input or has_output:
                numbers = {name: number for name, number in numbers.items() if ("output" in name) == has_input}
            self._rows.add(slot, None, ESTIMATE, "estimated", numbers)
            self._rows.add_replay(slot, ESTIMATE, replayed[slot].encoded())


def _by_turn(slot: Slot) -> tuple[int, bool, str]:
    return slot.turn or 0, slot.parent is not None, slot.parent or ""
