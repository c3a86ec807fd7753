"""Count the calls of a model that each turn made."""

from __future__ import annotations

from collections import Counter

from copilog.store.accounts import Accounts, telling
from copilog.store.message_counts import MessageCounts, Slot
from copilog.store.recorded import caller_of
from copilog.store.segments import requests_in_runs
from copilog.store.spend_rows import Calls
from copilog.store.spreading import whole_shares


def calls_by_turn(talk: MessageCounts, accounts: Accounts) -> Counter[Calls]:
    """Count calls by turn, sub-agent and model: from records of calls, else rounds, else a share of a run's totals."""
    counted: Counter[Calls] = Counter()
    of_account = accounts.chosen.rows if accounts.chosen is not None else []
    for slot, usage in (*of_account, *accounts.aside):
        counted[slot, usage.model or talk.model_of(slot)] += usage.scope == "call"
    known = {slot.turn for slot, usage in of_account if usage.scope == "call"}
    for index, turn in talk.turns.items():
        if index in known:
            continue
        calls = [usage for usage in turn.usage if usage.scope == "call"]
        for usage in telling(calls) if calls else ():
            slot = talk.slot(index, caller_of(usage))
            counted[slot, usage.model or talk.model_of(slot)] += 1
        if not calls and turn.rounds:
            counted[Slot(index), talk.model_of(Slot(index))] += len(turn.rounds)
        if calls or turn.rounds:
            known.add(index)
    for model, requests, turns in requests_in_runs(accounts.whole, talk):
        of_model = sum(count for (slot, used), count in counted.items() if slot.turn in turns and used == model)
        silent = [place for place in talk.answered(sorted(turns)) if place not in known]
        silent = [place for place in silent if talk.model_of(Slot(place)) == model] or silent
        left = requests - of_model
        if left > 0 and silent:
            for place, share in zip(silent, whole_shares(left, [1] * len(silent)), strict=True):
                counted[Slot(place), model] += share
    return +counted
