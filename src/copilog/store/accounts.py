"""Choose which of several records of a conversation's tokens counts.

Several sources record the same usage, and each of them may be missing. Each makes an account, and one account is
chosen: one that has the input, then the one with more output, then the finer one.

- turns: for each turn one source, the most complete one, with all its rows;
- calls: the rows that a session store has for each call of a model, with the number of the turn;
- session: totals by model that are written when the program ends, usage after the last of them, and usage of runs
  without an end: killed, or copied by a fork.

If a log has a record for each call (CLI 1.0.102), these records are always chosen. Calls that only the session store
has belong to turns that were rewound, and totals add what they have beyond both: the runs of an older release.

Usage that is in no account is listed in `Accounts.aside`: compactions, and the helper calls that make titles.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import msgspec

from copilog.derive.calls import TurnsOfCalls, unrecorded
from copilog.derive.helper_usage import helper_of
from copilog.model import Conversation, Turn, Usage
from copilog.model.recorded_names import COMPACTION, SHUTDOWN, USAGE_RECORD
from copilog.store.message_counts import HELPERS, NOWHERE, MessageCounts, Slot
from copilog.store.recorded import (
    TOKENS,
    Counted,
    caller_of,
    count_of,
    has_tokens,
    is_compaction,
    is_of_cut_off_run,
    is_tail,
    output_of,
    tokens_of,
)
from copilog.store.segments import beyond_records

FORK = "fork"  # the relation of a fork to its parent

Kind = Literal["session", "calls", "turns"]
FINENESS: dict[Kind, int] = {"session": 0, "calls": 1, "turns": 2}


class Account(NamedTuple):
    """The usage that one kind of record has."""

    kind: Kind
    rows: list[Counted]
    has_input: bool
    output: int
    compactions: list[Counted] = []  # in the same records
    rest: list[tuple[Usage, set[int]]] = []  # totals of turns that have no rows, and turns of the same run

    def rank(self) -> tuple[bool, int, int]:
        return self.has_input, self.output, FINENESS[self.kind]


class Accounts:
    """The accounts of one conversation. `chosen` is None if nothing was recorded."""

    def __init__(self, conversation: Conversation, talk: MessageCounts) -> None:
        self.whole = whole = conversation.usage
        logged = [usage for usage in whole if usage.source == COMPACTION]
        self.turns = _account_of_turns(conversation.turns, talk)
        self.calls = _accounts_of_calls(conversation, talk, logged) if whole else []
        accounts = [self.turns, *self.calls, *(_accounts_of_session(whole) if whole else ())]
        accounts = [account for account in accounts if account.rows]
        self.chosen: Account | None = max(accounts, key=Account.rank, default=None)
        if any(usage.source == USAGE_RECORD for _, usage in self.turns.rows):
            self.chosen = self._of_records(conversation, talk)
        self.aside = [*self._compactions(logged, talk), *self._helpers(whole)] if whole else []

    def _of_records(self, conversation: Conversation, talk: MessageCounts) -> Account:
        """Return the records of all calls, completed by what a session store and totals have beyond them.

        The totals of a fork include those of its parent, so they add nothing.
        """
        records = [(slot, usage) for slot, usage in self.turns.rows if usage.source == USAGE_RECORD]
        records += [
            (NOWHERE, usage) for usage in conversation.usage if usage.source == USAGE_RECORD and usage.scope == "call"
        ]
        of_store = [row for account in self.calls for row in account.rows if row[1].source != USAGE_RECORD]
        lost = unrecorded([usage for _, usage in of_store], [usage for _, usage in records])
        rows = records + [(slot, usage) for slot, usage in of_store if any(usage is one for one in lost)]
        is_fork = any(relation.kind == FORK for relation in conversation.relations)
        rest = [] if is_fork else list(beyond_records(rows, conversation.usage, talk))
        if not rest:
            placed = {slot.turn for slot, _ in rows}
            rows += [(slot, usage) for slot, usage in self.turns.rows if slot.turn not in placed]
        return Account("turns", rows, has_input=True, output=output_of(usage for _, usage in rows), rest=rest)

    def _compactions(self, logged: list[Usage], talk: MessageCounts) -> list[Counted]:
        """Return the compactions to add: those of the chosen account, else those of the log.

        If another account has more of them than the log, those of that account. Empty if the chosen rows include them.
        """
        chosen = self.chosen
        if chosen is not None and chosen.kind == "turns" and any(is_compaction(usage) for _, usage in chosen.rows):
            return []
        if chosen is not None and chosen.compactions:
            return chosen.compactions
        others = max((account.compactions for account in self.calls), key=len, default=[])
        if len(others) > len(logged):
            return others  # some of them were rewound
        turns = TurnsOfCalls(list(talk.turns.values()))
        return [(Slot(turns.of(usage)), usage) for usage in logged]

    def _helpers(self, whole: list[Usage]) -> list[Counted]:
        """Return the calls of a model that served the product, such as for titles, from the source with most output.

        Empty if an account of calls or of the session is chosen, because its numbers may include them.
        """
        if self.chosen is not None and self.chosen.kind == "session":
            return []
        helpers = _by_source(usage for usage in whole if helper_of(usage) is not None)
        return [(HELPERS, usage) for usage in max(helpers.values(), key=output_of, default=[])]

    def with_credits(self, talk: MessageCounts) -> list[Counted]:
        """Return the rows with credits: of the turns, or of an account of calls, whichever has the larger sum."""
        of_turns = [
            (talk.slot(turn.index, caller_of(usage)), usage)
            for turn in talk.turns.values()
            for usage in telling([usage for usage in turn.usage if count_of(usage, "credits") is not None])
        ]
        candidates = [of_turns]
        for account in self.calls:
            rows = (*account.rows, *account.compactions)
            candidates += [[(slot, usage) for slot, usage in rows if count_of(usage, "credits") is not None]]
        return max(candidates, key=lambda rows: sum(usage.credits or 0 for _, usage in rows))


# --- the accounts ---------------------------------------------------------------------------------------------------


def _account_of_turns(turns: list[Turn], talk: MessageCounts) -> Account:
    """Return the account with one source for each turn.

    If any turn has its input, `output` sums only such turns, so that turns with output alone do not raise the rank.
    """
    rows: list[Counted] = []
    of_whole, of_output = 0, 0
    has_input = False
    for turn in turns:
        usages = [usage for usage in turn.usage if usage.input is not None or usage.output is not None]
        if not usages:
            continue
        usages = telling(usages)
        own = Slot(turn.index)
        for usage in usages:
            caller = caller_of(usage)
            rows.append((own if caller is None else talk.slot(turn.index, caller), usage))
        if any(usage.input is not None for usage in usages):
            has_input = True
            of_whole += output_of(usages)
        else:
            of_output += output_of(usages)
    return Account("turns", rows, has_input, of_whole if has_input else of_output)


def _accounts_of_calls(conversation: Conversation, talk: MessageCounts, logged: list[Usage]) -> list[Account]:
    calls = _by_source(
        usage
        for usage in conversation.usage
        if usage.scope != "session" and usage.source != COMPACTION and has_tokens(usage) and helper_of(usage) is None
    )
    if not calls:
        return []
    turns = TurnsOfCalls(conversation.turns)
    known = {(usage.input, usage.output) for usage in logged}
    made = []
    for usages in calls.values():
        rows: list[Counted] = []
        compactions: list[Counted] = []
        for usage in usages:
            slot = talk.slot(turns.of(usage), caller_of(usage))
            has_compacted = is_compaction(usage) or (usage.input, usage.output) in known
            (compactions if has_compacted else rows).append((slot, usage))
        counted = [usage for _, usage in rows]
        has_input = any(usage.input is not None for usage in counted)
        made.append(Account("calls", rows, has_input, output_of(counted), compactions))
    return made


def _accounts_of_session(whole: list[Usage]) -> list[Account]:
    """Return the accounts of session totals. `session.shutdown`, killed runs and the tail make up one account."""
    totals: list[Usage] = []
    tails: dict[str, list[Usage]] = {}
    others: dict[str, list[Usage]] = {}
    for usage in whole:
        if usage.scope != "session" or not has_tokens(usage):
            continue
        if usage.source == SHUTDOWN or is_of_cut_off_run(usage):
            totals.append(usage)
        elif is_tail(usage):
            tails.setdefault(usage.source, []).append(usage)
        else:
            others.setdefault(usage.source, []).append(usage)
    totals += max(tails.values(), key=output_of, default=[])
    made = []
    for usages in (totals, *others.values()):
        has_input = any(usage.input is not None for usage in usages)
        rows = [(NOWHERE, usage) for usage in usages]
        made.append(Account("session", rows, has_input, output_of(usages)))
    return made


# --- the most complete source ---------------------------------------------------------------------------------------


def telling(usages: list[Usage]) -> list[Usage]:
    """Return the usages of the most complete source: with input, more output, more kinds of tokens, then of calls."""
    groups: dict[tuple[str, str], list[Usage]] = {}
    for usage in usages:
        groups.setdefault((usage.source, usage.scope), []).append(usage)
    if len(groups) < 2:
        return usages
    best = min(groups.values(), key=_order)
    return _completed(best, [usage for group in groups.values() if group is not best for usage in group])


def _completed(usages: list[Usage], others: list[Usage]) -> list[Usage]:
    """Return the records; those of calls with the numbers that only another record of the same call has."""
    made: list[Usage] = []
    left = [usage for usage in others if usage.scope == "call"]
    for usage in usages:
        known = tokens_of(usage)
        twins = [one for one in left if (one.input, one.output) == (usage.input, usage.output)]
        twin = max(twins, key=lambda one: len(tokens_of(one)), default=None)
        if usage.scope == "call" and twin is not None and len(known) < len(TOKENS):
            left = [one for one in left if one is not twin]
            made.append(msgspec.structs.replace(usage, **{**tokens_of(twin), **known}))
        else:
            made.append(usage)
    return made


def _order(usages: list[Usage]) -> tuple[Any, ...]:
    best = min((usage.input is None, usage.output is None, usage.is_estimated) for usage in usages)
    kinds = {name for usage in usages for name in tokens_of(usage)}
    return best, -output_of(usages), -len(kinds), usages[0].scope != "call"


def _by_source(usages: Iterable[Usage]) -> dict[str, list[Usage]]:
    sources: dict[str, list[Usage]] = {}
    for usage in usages:
        sources.setdefault(usage.source, []).append(usage)
    return sources
