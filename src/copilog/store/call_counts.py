"""Count the calls of a model that each turn made."""

from __future__ import annotations

from collections import Counter

from copilog.store.accounts import Accounts, telling
from copilog.store.message_counts import MessageCounts, Slot
from copilog.store.recorded import caller_of
from copilog.store.segments import requests_in_runs
from copilog.store.spreading import whole_shares


def calls_by_turn(talk: MessageCounts, accounts: Accounts) -> Counter[Slot]:
    """Count the calls by turn and sub-agent: from records of calls, else rounds, else a share of a run's totals."""
    counted: Counter[Slot] = Counter()
    of_account = accounts.chosen.rows if accounts.chosen is not None else []
    for slot, usage in (*of_account, *accounts.aside):
        counted[slot] += usage.scope == "call"
    known = {slot.turn for slot, _ in of_account if counted[slot]}
    for index, turn in talk.turns.items():
        if index in known:
            continue
        calls = [usage for usage in turn.usage if usage.scope == "call"]
        for usage in telling(calls) if calls else ():
            counted[talk.slot(index, caller_of(usage))] += 1
        if not calls and turn.rounds:
            counted[Slot(index)] += len(turn.rounds)
        if calls or turn.rounds:
            known.add(index)
    for requests, turns in requests_in_runs(accounts.whole, talk):
        left = requests - sum(count for slot, count in counted.items() if slot.turn in turns)
        silent = [place for place in talk.answered(sorted(turns)) if place not in known]
        if left > 0 and silent:
            for place, share in zip(silent, whole_shares(left, [1] * len(silent)), strict=True):
                counted[Slot(place)] += share
    return +counted
