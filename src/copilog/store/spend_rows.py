"""The rows of `spend` of one conversation: numbers are added up by turn, sub-agent, model, source and method."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

import msgspec

from copilog.derive.model_names import key_of
from copilog.model import Usage
from copilog.store.details import LARGEST_NUMBER, agent_of
from copilog.store.message_counts import HELPER, HELPERS, NOWHERE, MessageCounts, Slot
from copilog.store.payers import Payers
from copilog.store.recorded import tokens_of
from copilog.store.rows import Billing, SpendRow
from copilog.store.schema import UNNAMED
from copilog.store.spreading import evenly, shares_of
from copilog.store.times import time_text

Method = Literal["recorded", "spread", "estimated"]
Places = dict[tuple[Slot, str | None], int]  # weights by slot and model

COLUMNS = (
    "input", "output", "cache_read", "cache_write", "reasoning", "premium_requests", "credits", "calls",
    "input_at_least", "output_at_least", "input_at_most", "output_at_most",
)  # fmt: skip
OF_TURNS = frozenset({"details", "request"})  # sources that name the billing system of a turn even if its cost is 0
_BILLINGS: tuple[tuple[str, Billing], ...] = (("premium_requests", "requests"), ("credits", "credits"))

PROMPT = ("input", "output", "cache_read", "cache_write")  # of a call

Calls = tuple[Slot, str | None]  # by slot and model
# What the numbers of one row have in common: slot, model, source and method.
Key = tuple[Slot, str | None, str, Method]


class SpendRows:
    """Collects the rows of one conversation."""

    def __init__(self, talk: MessageCounts) -> None:
        self._talk = talk
        self._rows: dict[Key, dict[str, Any]] = {}
        self._prompts: dict[Key, list[tuple[int, ...]]] = {}
        self._replays: dict[Key, str] = {}
        self._of_runs: dict[int | None, set[Billing]] = {}  # what the bill of a run names, for each of its turns

    def add(self, slot: Slot, model: str | None, source: str, method: Method, numbers: dict[str, Any]) -> None:
        if not numbers:
            return
        row = self._rows.setdefault((slot, model or self._talk.model_of(slot), source, method), {})
        for name, number in numbers.items():
            row[name] = row.get(name, 0) + number

    def add_prompt(self, slot: Slot, usage: Usage) -> None:
        """Note the prompt of a call, if the record is of one call: the price of a token may depend on it."""
        if usage.scope == "call" and usage.input is not None and 0 <= usage.input < LARGEST_NUMBER:
            method: Method = "estimated" if usage.is_estimated else "recorded"
            key = (slot, usage.model or self._talk.model_of(slot), usage.source, method)
            used = tokens_of(usage)
            prompt = tuple(used.get(name, 0) for name in PROMPT)
            self._prompts.setdefault(key, []).append(prompt)

    def add_replay(self, slot: Slot, source: str, replay: str) -> None:
        """Note the calls that an estimate replays."""
        self._replays[slot, self._talk.model_of(slot), source, "estimated"] = replay

    def add_calls(self, calls: Mapping[Calls, int]) -> None:
        """Add calls to the row with the input of their model, else to one of their sub-agent, else of their turn."""
        found: dict[Any, dict[str, Any]] = {}
        has_input = {key for key, numbers in self._rows.items() if "input" in numbers and key[3] != "estimated"}
        for (slot, model, *_), numbers in sorted(self._rows.items(), key=lambda row: row[0] not in has_input):
            for key in ((slot, model), slot, slot.turn):
                found.setdefault(key, numbers)
        for (slot, model), count in calls.items():
            row = found.get((slot, model)) or found.get(slot) or found.get(slot.turn)
            if row is not None:
                row["calls"] = row.get("calls", 0) + count

    def costs(self) -> dict[int | None, float]:
        """Return the sum of premium requests and credits of each turn. Callers only test whether it is above 0."""
        costs: dict[int | None, float] = {}
        for (slot, *_), numbers in self._rows.items():
            cost = numbers.get("premium_requests", 0) + numbers.get("credits", 0)
            costs[slot.turn] = costs.get(slot.turn, 0) + cost
        return costs

    def bill_by(self, billing: Billing, turns: Collection[int]) -> None:
        """Note that a bill of these turns names a billing system: it is that of turns that name none themselves."""
        for turn in turns:
            self._of_runs.setdefault(turn, set()).add(billing)

    def _billings(self) -> dict[int | None, Billing | None]:
        """Return the billing system that the records of each turn name; None if they name neither, or both.

        A total names both systems whatever the plan is, so only its nonzero numbers count. For None the date decides.
        """
        named: dict[int | None, set[Billing]] = {}
        positive: dict[int | None, set[Billing]] = {}
        for (slot, _, source, _), numbers in self._rows.items():
            for name, billing in _BILLINGS:
                if numbers.get(name):
                    positive.setdefault(slot.turn, set()).add(billing)
                if name in numbers and source in OF_TURNS:
                    named.setdefault(slot.turn, set()).add(billing)
        billings: dict[int | None, Billing | None] = {}
        for turn in named.keys() | positive.keys() | self._of_runs.keys():
            told = positive.get(turn) or named.get(turn) or self._of_runs.get(turn, set())
            billings[turn] = next(iter(told)) if len(told) == 1 else None
        return billings

    def rows(self, ended_at: str | None, payers: Payers) -> Iterator[SpendRow]:
        """Yield the rows by turn; rows without a turn come last, with `ended_at` as their time."""
        billings = self._billings()
        credited = {slot for (slot, *_), numbers in self._rows.items() if "credits" in numbers}
        within = self._credits_within(credited)
        talk = self._talk
        known: dict[int | None, tuple[str | None, str | None]] = {None: (ended_at, None)}
        began = {index: turn.timing.started_at or talk.first_at.get(index) for index, turn in talk.turns.items()}
        last = next(filter(None, began.values()), None)
        for index, turn in talk.turns.items():
            last = began[index] or last  # a turn without a time has that of the turn before it
            known[index] = time_text(last) or ended_at, agent_of(turn)
        ordered = sorted(self._rows.items(), key=_by_place)
        for position, (key, numbers) in enumerate(ordered):
            slot, model, source, method = key
            has_credits = slot in credited or Slot(slot.turn) in credited or (slot.turn is None and bool(credited))
            prompts = self._prompts.get(key, ())
            at, agent = known[slot.turn]
            if slot == HELPERS:
                slot, agent = NOWHERE, HELPER
            subagent = talk.subagents.get(slot.parent, UNNAMED) if slot.parent is not None else None
            if max(numbers.values()) >= LARGEST_NUMBER:
                numbers = {name: number for name, number in numbers.items() if number < LARGEST_NUMBER}
            counted: dict[str, Any] = dict(zip(COLUMNS, map(numbers.get, COLUMNS), strict=True))
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
                payer=payers.of(slot.turn, model),
                billing=billings.get(slot.turn),
                has_credits=int(has_credits),
                prompts=msgspec.json.encode(prompts).decode() if len(prompts) > 1 else None,
                credits_within=within.get(key),
                replay=self._replays.get(key),
                **counted,
            )

    def _credits_within(self, credited: Collection[Slot]) -> dict[Key, float]:
        """Return the recorded credits of sub-agents, by the rows of their turn that include their tokens.

        Records of a turn include its sub-agents. If only these have recorded credits, those of the rest of the turn
        are computed from what is left. A sub-agent with tokens of its own is in no other row.
        """
        within: dict[Key, float] = {}
        rows = [key for key, numbers in self._rows.items() if "input" in numbers and key[3] != "estimated"]
        apart = {key[0] for key in rows}
        for slot in credited:
            if slot.parent is None or slot in apart or Slot(slot.turn) in credited:
                continue
            model = self._talk.model_of(slot)
            around = [key for key in rows if key[0] == Slot(slot.turn)]
            around = [key for key in around if key_of(key[1] or "") == key_of(model or "")] or around
            amount = sum(numbers.get("credits", 0) for key, numbers in self._rows.items() if key[0] == slot)
            whole = sum(self._rows[key]["input"] for key in around)
            for key in around:
                share = self._rows[key]["input"] / whole if whole else 1 / len(around)
                within[key] = within.get(key, 0) + amount * share
        return within

    def share_out(self, name: str, cost: float, source: str, places: Places, turns: Collection[int] = ()) -> None:
        """Divide a cost in proportion to weights, and add the parts; it was recorded for all of `turns` together."""
        is_whole = len(places) == 1 and len(self._talk.answered(turns)) < 2
        method: Method = "recorded" if is_whole or not cost else "spread"  # a cost of 0 is not divided
        for (slot, model), share in zip(places, shares_of(cost, list(places.values())), strict=True):
            self.add(slot, model, source, method, {name: share})

    def has(self, name: str, turns: Collection[int]) -> bool:
        """Return whether any of these turns has a number of this name."""
        return any(name in numbers and slot.turn in turns for (slot, *_), numbers in self._rows.items())

    def models_at(self, slot: Slot) -> dict[str | None, int]:
        """Return the output tokens of a slot by model."""
        models: dict[str | None, int] = {}
        for (at, model, _, _), numbers in self._rows.items():
            if at == slot and numbers.get("output"):
                models[model] = models.get(model, 0) + numbers["output"]
        return models

    def output_of_all(self, turns: Collection[int]) -> Places:
        """Return the output tokens in these turns as weights; turns that record none have the mean of the others."""
        places = self.output_of(None, turns)
        told = {slot.turn for slot, _ in places}
        silent = [turn for turn in self._talk.answered(sorted(turns)) if turn not in told]
        mean = max(1, round(sum(places.values()) / len(told))) if told else 1
        return places | {(Slot(turn), self._talk.model_of(Slot(turn))): mean for turn in silent}

    def output_of(self, model: str | None, turns: Collection[int]) -> Places:
        """Return the output tokens of a model in these turns, as weights by slot and model.

        Without a model, or if that model has no output, those of all models; without any, equal weights.
        """
        places: Places = {}
        for (slot, used, _, _), numbers in self._rows.items():
            if numbers.get("output") and model in (None, used) and slot.turn in turns:
                places[slot, used] = places.get((slot, used), 0) + numbers["output"]
        if not places and model is not None:
            return self.output_of(None, turns)
        return places or {(slot, model): 1 for slot in evenly(self._talk.answered(turns) or sorted(turns))}


def _by_place(row: tuple[Key, dict[str, Any]]) -> tuple[bool, int]:
    turn = row[0][0].turn
    return turn is None, turn or 0
