"""The cost of a conversation: premium requests and AI credits, each counted once.

The credits of a turn are those in its record, else those in the line under its answer. They include the credits of
sub-agents, which get rows of their own. What the bill of a run, or of the session so far, has beyond its turns is
spread over the turns that report none, in proportion to their output.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from copilog.derive.calls import TurnsOfCalls
from copilog.derive.costs_in_details import credits_in, multiplier_in
from copilog.derive.model_names import key_of
from copilog.model import Turn, Usage
from copilog.model.recorded_names import COMPACTION, SHUTDOWN
from copilog.store.accounts import Accounts, telling
from copilog.store.checkpoints import TINY
from copilog.store.details import LARGEST_NUMBER
from copilog.store.message_counts import MessageCounts, Slot
from copilog.store.recorded import Counted, caller_of, count_of
from copilog.store.segments import Bill, ByModel, beyond, bill_of
from copilog.store.spend_rows import Method, SpendRows
from copilog.store.spreading import evenly

SESSION_CREDITS, DETAILS, OF_SUBAGENT = "sessionCopilotCredits", "details", "credits of the sub-agent"


def add_costs(talk: MessageCounts, accounts: Accounts, rows: SpendRows, whole: list[Usage]) -> None:
    """Add premium requests and credits; `whole` is the usage that was recorded for the session."""
    costs = _Costs(talk, accounts, rows)
    costs.add_premium_requests(whole)
    costs.add_credits(whole)
    costs.add_lost_runs()


class _Costs:
    def __init__(self, talk: MessageCounts, accounts: Accounts, rows: SpendRows) -> None:
        self._talk = talk
        self._accounts = accounts
        self._rows = rows

    # --- premium requests -------------------------------------------------------------------------------------------

    def add_premium_requests(self, whole: list[Usage]) -> None:
        """Add those of the session, divided evenly among the prompts of the user; else those of each turn."""
        bill = bill_of(whole, "premium_requests")
        if bill is None:
            told = {turn.index for turn in self._talk.turns.values() if self._add_premium_requests_of(turn)}
            self._add_multipliers(whole, told)
            return
        for turns, by_model in self._runs_of(bill, "premium_requests"):
            if sum(by_model.values()):
                self._rows.bill_by("requests", turns)
            asked = [index for index in sorted(turns) if _is_asked(self._talk.turns[index])] or sorted(turns)
            for model, cost in by_model.items():
                of_model = [turn for turn in asked if self._talk.model_of(Slot(turn)) in (model, None)]
                places = {(slot, model): weight for slot, weight in evenly(of_model or asked).items()}
                self._rows.share_out("premium_requests", cost, bill.source, places)

    def _runs_of(self, bill: Bill, name: str) -> Iterator[tuple[set[int], ByModel]]:
        """Yield the cost of each run with its turns, in parts where the run has checkpoints."""
        for turns, by_model in bill.runs_in(self._talk):
            parts = self._talk.checkpoints.parts_of(name, sum(by_model.values()), turns)
            models = [self._model_of(covered) for covered, _ in parts] if len(by_model) > 1 else list(by_model)
            of_models: ByModel = {}
            for model, (_, cost) in zip(models, parts, strict=False):
                of_models[model] = of_models.get(model, 0) + cost
            fits = all(abs(cost - of_models.get(model, 0)) <= TINY for model, cost in by_model.items())
            for number, (covered, cost) in enumerate(parts):
                only = models[0] if len(by_model) == 1 else models[number] if fits else None
                yield covered, {only: cost}
            if not parts:
                yield turns, by_model

    def _model_of(self, turns: set[int]) -> str | None:
        """Return the model of the turns, None if they have several."""
        models = {self._talk.model_of(Slot(turn)) for turn in turns}
        return models.pop() if len(models) == 1 else None

    def _add_premium_requests_of(self, turn: Turn) -> bool:
        """Add the premium requests of a turn; return whether it records any."""
        recorded = [usage for usage in turn.usage if usage.premium_requests is not None]
        if recorded:
            recorded = telling(recorded)
        for usage in recorded:
            self._add_cost("premium_requests", self._talk.slot(turn.index, caller_of(usage)), usage)
        if not recorded and turn.details and _is_asked(turn):
            multiplier = multiplier_in(turn.details)
            if multiplier is not None:
                self._rows.add(Slot(turn.index), None, DETAILS, "recorded", {"premium_requests": multiplier})
                return True
        return bool(recorded)

    def _add_multipliers(self, whole: list[Usage], told: set[int]) -> None:
        """Add the multipliers of calls that the user started, for turns without a record."""
        asked = [usage for usage in whole if (usage.extra or {}).get("initiator") == "user" and not caller_of(usage)]
        turns = TurnsOfCalls(list(self._talk.turns.values()))
        for usage in asked:
            multiplier = (usage.extra or {}).get("request_multiplier")
            turn = turns.of(usage)
            if turn not in told and isinstance(multiplier, int | float) and 0 <= multiplier < LARGEST_NUMBER:
                numbers = {"premium_requests": float(multiplier)}
                self._rows.add(Slot(turn), usage.model, usage.source, "recorded", numbers)

    # --- credits ----------------------------------------------------------------------------------------------------

    def add_credits(self, whole: list[Usage]) -> None:
        """Add the credits of turns and calls, then what bills have beyond them."""
        told = [*self._accounts.with_credits(self._talk)]
        told += self._in_details({slot.turn for slot, _ in told})
        told += self._of_subagents(told)
        bill = bill_of(whole, "credits")
        compactions = self._of_compactions(told) if bill is not None else []
        told += compactions
        for slot, usage in told:
            self._add_credits_of(slot, usage)
        if bill is not None and (not told or bill.total > _sum_of(told) + TINY):
            self._add_bill(bill, told, {slot.turn for slot, _ in told[: len(told) - len(compactions)]})
        elif bill is None:
            self._add_session_credits(told)

    def _in_details(self, known: set[int | None]) -> list[Counted]:
        """Return the credits in the lines under answers, for turns that are not in `known`."""
        found: list[Counted] = []
        for index, turn in self._talk.turns.items():
            amount = credits_in(turn.details) if turn.details and index not in known else None
            if amount is not None and amount < LARGEST_NUMBER:
                found.append((Slot(index), Usage(credits=amount, source=DETAILS)))
        return found

    def _of_subagents(self, told: list[Counted]) -> list[Counted]:
        """Return the credits of sub-agents, and subtract them from those of their turns, which include them.

        A turn whose calls name their sub-agent is skipped. If sub-agents have more than their turn, 0 is left for it.
        """
        found: list[Counted] = []
        by_turn: dict[int | None, list[tuple[Slot, float]]] = {}
        for slot, amount in self._talk.credits.items():
            by_turn.setdefault(slot.turn, []).append((slot, amount))
        for turn, parts in by_turn.items():
            own = [at for at, (slot, _) in enumerate(told) if slot.turn == turn]
            if any(told[at][0].parent is not None for at in own):
                continue
            whole, of_parts = sum(told[at][1].credits or 0 for at in own), sum(amount for _, amount in parts)
            for at in own:
                slot, usage = told[at]
                share = (usage.credits or 0) / whole if whole else 0
                left = max((usage.credits or 0) - of_parts * share, 0)
                told[at] = slot, msgspec.structs.replace(usage, credits=left)
            found += [(slot, Usage(credits=amount, source=OF_SUBAGENT)) for slot, amount in parts]
        return found

    def _of_compactions(self, told: list[Counted]) -> list[Counted]:
        """Return the credits of compactions that the log records, which are a part of the bill of their run."""
        known = {(usage.input, usage.output) for _, usage in told}
        return [
            (slot, usage)
            for slot, usage in self._accounts.aside
            if usage.source == COMPACTION and count_of(usage, "credits") and (usage.input, usage.output) not in known
        ]

    def _add_credits_of(self, slot: Slot, usage: Usage) -> None:
        """Add the credits of a turn or a call. Without a model, divide them among the models of the turn by output.

        A model that only sub-agents with credits of their own used has its part already.
        """
        cost = count_of(usage, "credits")
        models = {} if usage.model or slot.turn is None else self._rows.models_at(slot)
        main = key_of(self._talk.model_of(Slot(slot.turn)) or "")
        paid = {key_of(self._talk.model_of(at) or "") for at in self._talk.credits if at.turn == slot.turn} - {main}
        models = {model: weight for model, weight in models.items() if key_of(model or "") not in paid} or models
        if cost is None or not models:
            self._add_cost("credits", slot, usage)
            return
        self._rows.share_out("credits", cost, usage.source, {(slot, model): weight for model, weight in models.items()})

    def _add_bill(self, bill: Bill, told: list[Counted], reporting: set[int | None]) -> None:
        """Spread what a bill has beyond the reported credits over the turns of each run that report none."""
        left, silent = told, set(self._talk.turns) - reporting
        surplus = 0.0
        for turns, by_model in self._runs_of(bill, "credits"):
            own = [usage for slot, usage in left if slot.turn in turns or slot.turn is None]
            left = [(slot, usage) for slot, usage in left if slot.turn not in turns and slot.turn is not None]
            rest, surplus = beyond(by_model, own, surplus)
            for model, cost in rest.items() if told else by_model.items():
                covered = silent & turns or turns
                together = covered if model is None else ()
                self._rows.share_out("credits", cost, bill.source, self._rows.output_of(model, covered), together)

    def _add_session_credits(self, told: list[Counted]) -> None:
        """Spread what each recorded total of the session so far has beyond its turns, over the turns since the last."""
        reported = {slot.turn for slot, usage in told if usage.source != OF_SUBAGENT}
        known, since = sum(usage.credits or 0 for slot, usage in told if slot.turn is None), set[int]()
        for index, turn in sorted(self._talk.turns.items()):
            since.add(index)
            known += sum(usage.credits or 0 for slot, usage in told if slot.turn == index)
            so_far = max((count_of(usage, "session_credits") or 0 for usage in turn.usage), default=0)
            silent = since - reported
            has_grown = so_far > known + TINY
            if has_grown or (so_far >= known > 0 and silent):  # a total that did not grow is 0 credits for its turns
                places = self._rows.output_of_all(silent or since)
                left = max(so_far - known, 0.0)
                self._rows.share_out("credits", left, SESSION_CREDITS, places, silent or since)
                known = max(known, so_far)
            if so_far:
                since = set()

    def add_lost_runs(self) -> None:
        """Add the bills of runs that are not in the log, unless their turns record what they cost."""
        for run in self._talk.lost_runs:
            prompts = {(slot, self._talk.model_of(slot)): weight for slot, weight in evenly(run.turns).items()}
            if run.premium_requests and not self._rows.has("premium_requests", run.turns):
                self._rows.share_out("premium_requests", run.premium_requests, SHUTDOWN, prompts)
            if run.credits and not self._rows.has("credits", run.turns):
                self._rows.share_out("credits", run.credits, SHUTDOWN, self._rows.output_of(None, run.turns))

    def _add_cost(self, name: str, slot: Slot, usage: Usage) -> None:
        cost = count_of(usage, name)
        if cost is not None:
            method: Method = "estimated" if usage.is_estimated else "recorded"
            self._rows.add(slot, usage.model, usage.source, method, {name: cost})


def _sum_of(told: list[Counted]) -> float:
    return sum(usage.credits or 0 for _, usage in told)


def _is_asked(turn: Turn) -> bool:
    """Return whether the user sent the prompt of the turn."""
    return not (turn.is_system_initiated or turn.is_hidden or turn.is_request_hidden)
