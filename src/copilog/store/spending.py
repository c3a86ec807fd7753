"""What a conversation took, in slices that never overlap: whichever of them are added up, nothing counts twice.

Tokens are those of one account (`accounts`). Totals of a whole session are spread over its turns, those of each run of
the program over the turns of that run, in proportion to the output that these recorded, else evenly. Compactions come
on top, as totals leave them out. The size of the last prompt is no input. Premium requests are those of the session, by
its runs, else of the turn, else the multiplier below the answer, else that of the calls that a person asked for.
Credits are those of turns and calls, and what the bill of their run has beyond them; what a session took beyond its
turns has a row of its own. What no place knows of a turn that has an answer is estimated: a token for every four
characters.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Any, Literal

from copilog.derive.calls import TurnsOfCalls
from copilog.model import Conversation, Turn, Usage
from copilog.store.accounts import Account, Accounts, telling
from copilog.store.details import LARGEST_NUMBER, agent_of
from copilog.store.message_counts import HELPER, HELPERS, NOWHERE, MessageCounts, Slot
from copilog.store.recorded import Counted, caller_of, count_of, is_of_killed_run, tokens_of
from copilog.store.rows import SpendRow
from copilog.store.segments import TINY, Bill, beyond, bill_of, segments_of
from copilog.store.spreading import Weights, evenly, shares_of, whole_shares
from copilog.store.texts import UNNAMED, Calls, Texts
from copilog.store.times import time_text

Method = Literal["recorded", "spread", "estimated"]

COLUMNS = ("input", "output", "cache_read", "cache_write", "reasoning", "premium_requests", "credits")
SESSION_CREDITS, DETAILS, ESTIMATE = "sessionCopilotCredits", "details", "characters / 4"
CHARACTERS_PER_TOKEN = 4
_MULTIPLIER = re.compile(r"[•·]\s*(\d+(?:\.\d+)?)x(?!\w)")  # "GPT-5 • 0.33x"


def spends_of(conversation: Conversation, texts: list[Texts], calls: Calls) -> list[SpendRow]:
    """The rows of `spend`; `texts` are those of `texts_of`."""
    if not conversation.turns and not conversation.usage:
        return []
    talk = MessageCounts(conversation, texts, calls)
    spends = Spends(talk, Accounts(conversation, talk))
    spends.add_tokens()
    spends.add_premium_requests(conversation.usage)
    if _has_credits(conversation):
        spends.add_credits(conversation.usage)
    spends.add_aside()
    spends.add_estimates()
    return list(spends.rows(time_text(conversation.updated_at or conversation.started_at)))


# What the numbers of one row have in common: where, the model, the source, and how they were found.
Key = tuple[Slot, str | None, str, Method]


class Spends:
    """The rows of one conversation in the making."""

    def __init__(self, talk: MessageCounts, accounts: Accounts) -> None:
        self._talk = talk
        self._accounts = accounts
        self._rows: dict[Key, dict[str, Any]] = {}
        self._with_input: set[int | None] = set()  # turns of which it was recorded
        self._with_output: set[int | None] = set()

    def _add(self, slot: Slot, model: str | None, source: str, method: Method, numbers: dict[str, Any]) -> None:
        if not numbers:
            return
        row = self._rows.setdefault((slot, model or self._talk.model_of(slot), source, method), {})
        for name, number in numbers.items():
            row[name] = row.get(name, 0) + number

    def rows(self, ended_at: str | None) -> Iterator[SpendRow]:
        """The rows, by turn; those of no turn at the end, with the time of the conversation."""
        talk = self._talk
        known: dict[int | None, tuple[str | None, str | None]] = {None: (ended_at, None)}
        for index, turn in talk.turns.items():
            known[index] = time_text(turn.timing.started_at or talk.first_at.get(index)) or ended_at, agent_of(turn)
        ordered = sorted(self._rows.items(), key=_by_place)
        for position, ((slot, model, source, method), numbers) in enumerate(ordered):
            at, agent = known[slot.turn]
            if slot == HELPERS:
                slot, agent = NOWHERE, HELPER
            subagent = talk.subagents.get(slot.parent, UNNAMED) if slot.parent is not None else None
            if max(numbers.values()) >= LARGEST_NUMBER:
                numbers = {name: number for name, number in numbers.items() if number < LARGEST_NUMBER}
            counted = dict(zip(COLUMNS, map(numbers.get, COLUMNS), strict=True))
            yield SpendRow(
                position=position,
                turn=slot.turn,
                at=at,
                model=model,
                agent=agent,
                subagent=subagent,
                parent_call_id=slot.parent,
                source=source,
                method=method,
                **counted,
            )

    # --- tokens -----------------------------------------------------------------------------------------------------

    def add_tokens(self) -> None:
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
            self._with_input.update(self._talk.turns)  # some call may be any turn's
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
        self._add(slot, usage.model, usage.source, "estimated" if usage.is_estimated else "recorded", numbers)
        self._know(slot.turn, numbers)

    def _know(self, turn: int | None, numbers: dict[str, Any]) -> None:
        if "input" in numbers:
            self._with_input.add(turn)
        if "output" in numbers:
            self._with_output.add(turn)

    def add_aside(self) -> None:
        """What is no part of the account. What compactions cost is part of the session's credits."""
        for slot, usage in self._accounts.aside:
            self._add(slot, usage.model, usage.source, "recorded", tokens_of(usage))

    def _add_session(self, account: Account) -> None:
        """Spread totals over the turns that they cover: those of a program's end over what was answered before it."""
        weights = Weights(self._accounts.turns.rows, self._talk)
        has_killed = any(is_of_killed_run(usage) for _, usage in account.rows)
        for _, usage in account.rows:
            for numbers, turns in segments_of(usage, self._talk, without_killed=has_killed):
                for turn in turns:
                    self._know(turn, numbers)
                self._spread(usage, numbers, weights.places_of(usage.model, numbers.get("output", 0), turns))

    def _spread(self, usage: Usage, numbers: dict[str, Any], places: dict[Slot, int]) -> None:
        is_as_recorded = numbers.keys() == {"output"} and numbers["output"] == sum(places.values())
        method: Method = "recorded" if len(places) == 1 or is_as_recorded else "spread"
        weights = list(places.values())
        shares = {name: whole_shares(number, weights) for name, number in numbers.items()}
        for position, slot in enumerate(places):
            self._add(slot, usage.model, usage.source, method, {name: each[position] for name, each in shares.items()})

    # --- cost -------------------------------------------------------------------------------------------------------

    def add_premium_requests(self, whole: list[Usage]) -> None:
        """Those of the session, in equal parts for the prompts of a person; else those of each turn."""
        bill = bill_of(whole, "premium_requests")
        if bill is None:
            told = {turn.index for turn in self._talk.turns.values() if self._add_premium_requests_of(turn)}
            self._add_multipliers(whole, told)
            return
        for turns, by_model in bill.runs_in(self._talk):
            asked = [index for index in sorted(turns) if _is_asked(self._talk.turns[index])] or sorted(turns)
            for model, cost in by_model.items():
                of_model = [turn for turn in asked if self._talk.model_of(Slot(turn)) == model]
                places = {(slot, model): weight for slot, weight in evenly(of_model or asked).items()}
                self._share_out("premium_requests", cost, bill.source, places)

    def _add_premium_requests_of(self, turn: Turn) -> bool:
        """Add what a turn tells; whether it tells anything."""
        recorded = [usage for usage in turn.usage if usage.premium_requests is not None]
        if recorded:
            recorded = telling(recorded)
        for usage in recorded:
            self._add_cost("premium_requests", self._talk.slot(turn.index, caller_of(usage)), usage)
        if not recorded and turn.details and _is_asked(turn):
            multiplier = _MULTIPLIER.search(turn.details)
            if multiplier is not None:
                self._add(Slot(turn.index), None, DETAILS, "recorded", {"premium_requests": float(multiplier[1])})
                return True
        return bool(recorded)

    def _add_multipliers(self, whole: list[Usage], told: set[int]) -> None:
        """Of turns that tell nothing, the multipliers of calls that a person asked for: a prompt costs one of them."""
        asked = [usage for usage in whole if (usage.extra or {}).get("initiator") == "user" and not caller_of(usage)]
        turns = TurnsOfCalls(list(self._talk.turns.values()))
        for usage in asked:
            multiplier = (usage.extra or {}).get("request_multiplier")
            turn = turns.of(usage)
            if turn not in told and isinstance(multiplier, int | float) and 0 <= multiplier < LARGEST_NUMBER:
                self._add(Slot(turn), usage.model, usage.source, "recorded", {"premium_requests": float(multiplier)})

    def add_credits(self, whole: list[Usage]) -> None:
        """The largest of what turns, calls and the session as a whole tell; where they agree, the finest."""
        told = self._accounts.with_credits(self._talk)
        total = sum(usage.credits or 0 for _, usage in told)
        for slot, usage in told:
            self._add_cost("credits", slot, usage)
        bill = bill_of(whole, "credits")
        if bill is not None and (not told or bill.total > total + TINY):
            self._add_bill_of_credits(bill, told)
            total = bill.total
        usages = (usage for turn in self._talk.turns.values() for usage in turn.usage)
        of_session = max((count_of(usage, "session_credits") or 0 for usage in usages), default=0)
        if of_session > total + TINY:
            self._add(NOWHERE, None, SESSION_CREDITS, "recorded", {"credits": of_session - total})

    def _add_bill_of_credits(self, bill: Bill, told: list[Counted]) -> None:
        """Spread what a bill has beyond what calls report, over the turns of each run that report nothing."""
        left, silent = told, set(self._talk.turns) - {slot.turn for slot, _ in told}
        surplus = 0.0
        for turns, by_model in bill.runs_in(self._talk):
            own = [usage for slot, usage in left if slot.turn in turns or slot.turn is None]
            left = [(slot, usage) for slot, usage in left if slot.turn not in turns and slot.turn is not None]
            rest, surplus = beyond(by_model, own, surplus)
            for model, cost in rest.items() if told else by_model.items():
                self._share_out("credits", cost, bill.source, self._output_of(model, silent & turns or turns))

    def _output_of(self, model: str | None, turns: Collection[int]) -> dict[tuple[Slot, str | None], int]:
        """Where the output of a model went; of any model, where none is named or it has none."""
        places: dict[tuple[Slot, str | None], int] = {}
        for (slot, used, _, _), numbers in self._rows.items():
            if numbers.get("output") and model in (None, used) and slot.turn in turns:
                places[slot, used] = places.get((slot, used), 0) + numbers["output"]
        if not places and model is not None:
            return self._output_of(None, turns)
        return places or {(slot, model): 1 for slot in evenly(self._talk.answered(turns) or sorted(turns))}

    def _add_cost(self, name: str, slot: Slot, usage: Usage) -> None:
        cost = count_of(usage, name)
        if cost is not None:
            self._add(slot, usage.model, usage.source, "estimated" if usage.is_estimated else "recorded", {name: cost})

    def _share_out(self, name: str, cost: float, source: str, places: dict[tuple[Slot, str | None], int]) -> None:
        method: Method = "recorded" if len(places) == 1 or not cost else "spread"  # nothing is nothing for each
        for (slot, model), share in zip(places, shares_of(cost, list(places.values())), strict=True):
            self._add(slot, model, source, method, {name: share})

    # --- estimates --------------------------------------------------------------------------------------------------

    def add_estimates(self) -> None:
        """What no place knows of turns that have an answer."""
        talk = self._talk
        if talk.turns.keys() <= self._with_input and talk.turns.keys() <= self._with_output:
            return
        answered = {slot.turn for slot in talk.received} | self._with_output
        copied = {index for index, turn in talk.turns.items() if turn.copied_from is not None}
        for slot in sorted(talk.received.keys() | talk.sent.keys(), key=_by_turn):
            estimate: dict[str, Any] = {}
            if slot.turn in answered and slot.turn not in self._with_input and slot in talk.sent:
                estimate["input"] = -(-talk.sent[slot] // CHARACTERS_PER_TOKEN)
            if slot.turn not in self._with_output and slot in talk.received:
                estimate["output"] = -(-talk.received[slot] // CHARACTERS_PER_TOKEN)
            if estimate and slot.turn not in copied:
                self._add(slot, None, ESTIMATE, "estimated", estimate)


def _is_asked(turn: Turn) -> bool:
    """Whether a person asked."""
    return not (turn.is_system_initiated or turn.is_hidden or turn.is_request_hidden)


def _by_turn(slot: Slot) -> tuple[int, bool, str]:
    return slot.turn or 0, slot.parent is not None, slot.parent or ""


def _by_place(row: tuple[Key, dict[str, Any]]) -> tuple[bool, int]:
    turn = row[0][0].turn
    return turn is None, turn or 0


def _has_credits(conversation: Conversation) -> bool:
    """Whether any place tells of credits at all."""
    usages = chain(conversation.usage, *(turn.usage for turn in conversation.turns))
    return any(usage.credits is not None or usage.session_credits is not None for usage in usages)
