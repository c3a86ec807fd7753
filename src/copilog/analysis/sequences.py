"""Measure the order of tool calls: retries, and sequences of tools that recur."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from copilog.analysis.facts import CHOSEN_CALLS, DISTINCT, Amount, Key, WalkedTable
from copilog.analysis.figures import SequenceRow
from copilog.analysis.selection import Chosen
from copilog.errors import UsageError

LENGTHS = (2, 3, 4)
FEWEST_TIMES = 3
BREAK = -1  # separates the calls of one turn from those of another

# How a call ended, and how the command that it ran ended: two facts, counted separately.
FAILED = "f.outcome = 'failed'"
ENDED = "f.outcome IN ('succeeded', 'failed')"
COMMAND_ERROR = "f.exit_code <> 0"
# 1 if a call failed, 0 if it succeeded, NULL if it did neither.
HAS_FAILED = f"CASE WHEN {ENDED} THEN {FAILED} END"

Level = tuple[int, int, str | None]  # conversation, turn, and the call whose sub-agent made it


class Call(NamedTuple):
    """One call, in the order in which they were made."""

    conversation: int
    turn: int | None
    parent: str | None
    name: str
    elapsed_ms: float | None
    is_retry: bool  # the last call of the same tool on its level failed


class CallOrder(NamedTuple):
    """The results of one pass through the calls, by tool."""

    retries: Counter[str]
    times: dict[str, list[float]]  # the durations of calls, if recorded
    conversations: Counter[str]
    sequences: list[SequenceRow]


def calls_in_order(chosen: Chosen) -> Iterator[Call]:
    """Yield the chosen calls."""
    return map(Call._make, _in_order(chosen))


def _in_order(chosen: Chosen) -> Iterator[tuple[int, int | None, str | None, str, float | None, bool]]:
    """Yield the values of each call: there are very many.

    Only calls of one level follow each other: those that a turn made itself, or those of one sub-agent in it. Calls
    that belong to no turn follow nothing.
    """
    failing: set[tuple[Level, str]] = set()
    rows = chosen.connection.execute(
        "SELECT f.conversation, f.turn, f.parent_call_id, f.name, f.elapsed_ms, "  # noqa: S608 - of our own
        f"{HAS_FAILED} FROM {CHOSEN_CALLS} ORDER BY k.conversation, f.message, f.position"
    )
    for conversation, turn, parent, name, elapsed_ms, has_failed in rows:
        is_retry = False
        if turn is not None and (has_failed or failing):
            place = (conversation, turn, parent), name
            is_retry = place in failing
            if has_failed:
                failing.add(place)
            elif has_failed == 0:
                failing.discard(place)
        yield conversation, turn, parent, name, elapsed_ms, is_retry


def call_order(chosen: Chosen, *, limit: int | None = 20) -> CallOrder:
    """Return retries, recurring sequences, and the durations that the same pass collects."""
    numbers: dict[str, int] = {}  # of tools
    levels: dict[Level, list[int]] = {}
    retries: Counter[str] = Counter()
    times: dict[str, list[float]] = {}
    places: set[tuple[int, str]] = set()
    for conversation, turn, parent, name, elapsed_ms, is_retry in _in_order(chosen):
        places.add((conversation, name))
        if elapsed_ms is not None:
            times.setdefault(name, []).append(elapsed_ms)
        if is_retry:
            retries[name] += 1
        if turn is not None:
            levels.setdefault((conversation, turn, parent), []).append(numbers.setdefault(name, len(numbers)))
    conversations = Counter(name for _, name in places)
    return CallOrder(retries, times, conversations, _recurring(levels, list(numbers), limit))


# --- sequences ------------------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """Calls that followed one another."""

    conversation: int
    turn: int
    tools: tuple[str, ...]


class SequenceTable(WalkedTable, frozen=True):
    """Sequences of tools: the key has one value for each tool."""

    def key_of(self, values: tuple[str, ...]) -> Key:
        if len(values) not in LENGTHS:
            raise UsageError(f"a sequence has {min(LENGTHS)} to {max(LENGTHS)} tools, not {len(values)}")
        return values

    def heading(self, name: str, values: tuple[str, ...]) -> str:
        return super().heading(name, (" → ".join(values),))


def _runs(chosen: Chosen) -> Iterator[Run]:
    """Yield all sequences of calls, whether they recur or not."""
    last: dict[Level, deque[str]] = {}
    for call in calls_in_order(chosen):
        if call.turn is not None:
            run = last.setdefault((call.conversation, call.turn, call.parent), deque(maxlen=max(LENGTHS)))
            run.append(call.name)
            for length in LENGTHS:
                if length <= len(run):
                    yield Run(call.conversation, call.turn, tuple(run)[-length:])


SEQUENCES = SequenceTable(
    name="tools.sequences",
    amounts={
        "times": Amount(lambda _: 1, "Calls one after another"),
        "conversations": Amount(lambda run: run.conversation, "Conversations with calls one after another", DISTINCT),
    },
    keys=("tools",),
    of=": {}",
    walk=_runs,
    key=lambda run: run.tools,
)


def _recurring(levels: dict[Level, list[int]], names: list[str], limit: int | None) -> list[SequenceRow]:
    """Return sequences that recur and are not only part of one that recurs as often."""
    tools: list[int] = []  # of all levels, one after the other
    conversations: list[int] = []
    for (conversation, _, _), run in levels.items():
        if len(run) > 1:
            tools += run
            tools.append(BREAK)
            conversations += [conversation] * (len(run) + 1)
    times: dict[tuple[int, ...], int] = {}
    for length in LENGTHS:
        times |= _often(Counter(_windows(tools, length)))
    for part in _parts_of_equals(times):
        del times[part]
    kept = sorted(times, key=lambda found: (-times[found], [names[tool] for tool in found]))[:limit]
    spread = _conversations_with(kept, tools, conversations)
    return [
        SequenceRow(tools=[names[tool] for tool in found], times=times[found], conversations=spread[found])
        for found in kept
    ]


def _windows(tools: list[int], length: int) -> Iterable[tuple[int, ...]]:
    """Return all windows of this length, including those across a break: `_often` drops them."""
    return zip(*(tools[start:] for start in range(length)), strict=False)


def _often(counted: Counter[tuple[int, ...]]) -> dict[tuple[int, ...], int]:
    return {
        found: times
        for found, times in counted.items()
        if times >= FEWEST_TIMES and BREAK not in found and len(set(found)) > 1
    }


def _parts_of_equals(times: dict[tuple[int, ...], int]) -> set[tuple[int, ...]]:
    """Return sequences that occur only as the beginning or the end of a longer one."""
    return {part for found, count in times.items() for part in (found[1:], found[:-1]) if times.get(part) == count}


def _conversations_with(
    wanted: list[tuple[int, ...]], tools: list[int], conversations: list[int]
) -> Counter[tuple[int, ...]]:
    """Return in how many conversations each of these sequences occurs."""
    are_wanted = set(wanted)
    found = {
        (conversation, piece)
        for length in {len(sequence) for sequence in wanted}
        for conversation, piece in zip(conversations, _windows(tools, length), strict=False)
        if piece in are_wanted
    }
    return Counter(piece for _, piece in found)
