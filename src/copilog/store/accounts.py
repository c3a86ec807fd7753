"""Which of the places that recorded the tokens of a conversation is believed.

Several places record the same use, and none is sure to be there. Each makes an account, and one account is chosen:
one that knows the input, then the one with more output, then the finer one.

- turns: of each turn one source, the one that tells most, with all its rows;
- calls: what a store of sessions has for each call of a model, with the number of the turn;
- session: totals by model, written when the program ends, what came after the last of them, and what came in runs
  that were killed before it.

Where a log has a record for each call (CLI 1.0.102), these count in any case. Calls that only the store has are of
turns that were rewound, and totals add what they have beyond both: the runs of an older release.

What is in no account is kept aside: compactions, and the helpers that make up titles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from copilog.derive.calls import TurnsOfCalls, unrecorded
from copilog.derive.helper_usage import helper_of
from copilog.model import Conversation, Turn, Usage
from copilog.store.details import LARGEST_NUMBER
from copilog.store.message_counts import HELPERS, NOWHERE, MessageCounts, Slot

TOKENS = ("input", "output", "cache_read", "cache_write", "reasoning")
SHUTDOWN, COMPACTION = "session.shutdown", "session.compaction_complete"
RECORD = "session.usage_record"
FORK = "fork"  # the relation of a fork to its parent
AFTER_SHUTDOWN, OF_KILLED_RUNS = "after the last shutdown", "runs that were killed"

Kind = Literal["session", "calls", "turns"]
FINENESS: dict[Kind, int] = {"session": 0, "calls": 1, "turns": 2}


Counted = tuple[Slot, Usage]  # recorded numbers, and where they belong


class Account(NamedTuple):
    """What one place recorded."""

    kind: Kind
    rows: list[Counted]
    has_input: bool
    output: int
    compactions: list[Counted] = []  # recorded there as well
    rest: list[Usage] = []  # totals of turns that have no rows

    def rank(self) -> tuple[bool, int, int]:
        return self.has_input, self.output, FINENESS[self.kind]


class Accounts:
    """The accounts of one conversation. `chosen` is None where nothing was recorded."""

    def __init__(self, conversation: Conversation, talk: MessageCounts) -> None:
        whole = conversation.usage
        logged = [usage for usage in whole if usage.source == COMPACTION]
        self.turns = _account_of_turns(conversation.turns, talk)
        self.calls = _accounts_of_calls(conversation, talk, logged) if whole else []
        accounts = [self.turns, *self.calls, *(_accounts_of_session(whole) if whole else ())]
        accounts = [account for account in accounts if account.rows]
        self.chosen: Account | None = max(accounts, key=Account.rank, default=None)
        if any(usage.source == RECORD for _, usage in self.turns.rows):
            self.chosen = self._of_records(conversation, talk)
        self.aside = [*self._compactions(logged, talk), *self._helpers(whole)] if whole else []

    def _of_records(self, conversation: Conversation, talk: MessageCounts) -> Account:
        """Return the records of all calls, completed by what a store and totals have beyond them.

        The totals of a fork hold those of its parent, whatever became of the records: they add nothing.
        """
        records = [(slot, usage) for slot, usage in self.turns.rows if usage.source == RECORD]
        records += [
            (NOWHERE, usage) for usage in conversation.usage if usage.source == RECORD and usage.scope == "call"
        ]
        of_store = [row for account in self.calls for row in account.rows if row[1].source != RECORD]
        lost = unrecorded([usage for _, usage in of_store], [usage for _, usage in records])
        rows = records + [(slot, usage) for slot, usage in of_store if any(usage is one for one in lost)]
        is_fork = any(relation.kind == FORK for relation in conversation.relations)
        covered = [usage for slot, usage in rows if slot.turn not in talk.after_shutdown]
        rest = [] if is_fork else list(_beyond(covered, conversation.usage))
        if not rest:
            placed = {slot.turn for slot, _ in rows}
            rows += [(slot, usage) for slot, usage in self.turns.rows if slot.turn not in placed]
        return Account("turns", rows, has_input=True, output=output_of(usage for _, usage in rows), rest=rest)

    def _compactions(self, logged: list[Usage], talk: MessageCounts) -> list[Counted]:
        """As the chosen account has them, else as the log does, else as any."""
        chosen = self.chosen
        if chosen is not None and chosen.kind == "turns" and any(_is_compaction(usage) for _, usage in chosen.rows):
            return []
        if chosen is not None and chosen.compactions:
            return chosen.compactions
        others = max((account.compactions for account in self.calls), key=len, default=[])
        if len(others) > len(logged):
            return others  # some of them were rewound
        turns = TurnsOfCalls(list(talk.turns.values()))
        return [(Slot(turns.of(usage)), usage) for usage in logged]

    def _helpers(self, whole: list[Usage]) -> list[Counted]:
        """Calls of a model that served the product. Totals of a session may well hold them."""
        if self.chosen is not None and self.chosen.kind != "turns":
            return []
        helpers = _by_source(usage for usage in whole if helper_of(usage) is not None)
        return [(HELPERS, usage) for usage in max(helpers.values(), key=output_of, default=[])]

    def with_credits(self, talk: MessageCounts) -> list[Counted]:
        """The rows of turns, or of calls, whose credits come to more."""
        of_turns = [
            (talk.slot(turn.index, caller_of(usage)), usage)
            for turn in talk.turns.values()
            for usage in telling([usage for usage in turn.usage if count_of(usage, "credits") is not None])
        ]
        told = [of_turns]
        for account in self.calls:
            rows = (*account.rows, *account.compactions)
            told += [[(slot, usage) for slot, usage in rows if count_of(usage, "credits") is not None]]
        return max(told, key=lambda rows: sum(usage.credits or 0 for _, usage in rows))


# --- the accounts ---------------------------------------------------------------------------------------------------


def _account_of_turns(turns: list[Turn], talk: MessageCounts) -> Account:
    """Of each turn one source. Some turns may tell the output alone: that does not speak for the account."""
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
        if usage.scope != "session" and usage.source != COMPACTION and _has_tokens(usage) and helper_of(usage) is None
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
            is_compaction = _is_compaction(usage) or (usage.input, usage.output) in known
            (compactions if is_compaction else rows).append((slot, usage))
        told = [usage for _, usage in rows]
        has_input = any(usage.input is not None for usage in told)
        made.append(Account("calls", rows, has_input, output_of(told), compactions))
    return made


def _accounts_of_session(whole: list[Usage]) -> list[Account]:
    """Totals of the session. Those of a program's end and what came after the last of them are one account."""
    totals: list[Usage] = []
    tails: dict[str, list[Usage]] = {}
    others: dict[str, list[Usage]] = {}
    for usage in whole:
        if usage.scope != "session" or not _has_tokens(usage):
            continue
        if usage.source == SHUTDOWN or is_of_killed_run(usage):
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


def _beyond(covered: list[Usage], whole: list[Usage]) -> Iterator[Usage]:
    """Yield what the totals of a program's end have beyond calls that were recorded one by one."""
    for total in whole:
        if total.source != SHUTDOWN or total.scope != "session" or not _has_tokens(total):
            continue
        of_model = [tokens_of(usage) for usage in covered if usage.model == total.model]
        left = {name: count - sum(one.get(name, 0) for one in of_model) for name, count in tokens_of(total).items()}
        left = {name: max(0, count) for name, count in left.items()}
        if left.get("input") or left.get("output"):
            yield Usage(**left, model=total.model, scope="session", source=SHUTDOWN)


# --- what a row tells -----------------------------------------------------------------------------------------------


def telling(usages: list[Usage]) -> list[Usage]:
    """Return those of the source that tells most: input, more output, more kinds of tokens, then single calls."""
    groups: dict[tuple[str, str], list[Usage]] = {}
    for usage in usages:
        groups.setdefault((usage.source, usage.scope), []).append(usage)
    if len(groups) < 2:
        return usages
    best = min(groups.values(), key=_order)
    return _completed(best, [usage for group in groups.values() if group is not best for usage in group])


def _completed(usages: list[Usage], others: list[Usage]) -> list[Usage]:
    """Return records of calls with the numbers that only another record of the same call has."""
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


def tokens_of(usage: Usage) -> dict[str, Any]:
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning)
    return {
        name: count
        for name, count in zip(TOKENS, counts, strict=True)
        if count is not None and 0 <= count < LARGEST_NUMBER
    }


def count_of(usage: Usage, name: str) -> Any:
    """A number of a usage, if it makes sense and a table can hold it."""
    count = getattr(usage, name)
    return count if count is not None and 0 <= count < LARGEST_NUMBER else None


def output_of(usages: Iterable[Usage]) -> int:
    total = 0
    for usage in usages:
        output = usage.output
        if output is not None and 0 <= output < LARGEST_NUMBER:
            total += output
    return total


def is_tail(usage: Usage) -> bool:
    """Whether a total covers only what came after the last end of the program."""
    return usage.extra is not None and usage.extra.get("covers") == AFTER_SHUTDOWN


def is_of_killed_run(usage: Usage) -> bool:
    """Whether a total covers only runs of the program that were killed, which no other total covers."""
    return usage.extra is not None and usage.extra.get("covers") == OF_KILLED_RUNS


def _has_tokens(usage: Usage) -> bool:
    return usage.input is not None or usage.output is not None


def _is_compaction(usage: Usage) -> bool:
    return usage.extra is not None and usage.extra.get("initiator") == "compaction"


def caller_of(usage: Usage) -> str | None:
    """The call whose sub-agent used it, in whichever words a source tells it."""
    if usage.parent_call_id is not None or usage.extra is None:
        return usage.parent_call_id
    caller = usage.extra.get("parent_call_id") or usage.extra.get("parent_tool_call_id") or usage.extra.get("agent_id")
    return caller if isinstance(caller, str) and caller != "main" else None


def _by_source(usages: Iterable[Usage]) -> dict[str, list[Usage]]:
    sources: dict[str, list[Usage]] = {}
    for usage in usages:
        sources.setdefault(usage.source, []).append(usage)
    return sources
