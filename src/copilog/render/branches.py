"""Branches, superseded turns and turns of one trace alone, in words that every writer uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from copilog.derive import Placed
from copilog.derive.counting import branch_name, only_trace_of, reasons_of
from copilog.model import Branch, Conflict, Turn
from copilog.render.safe import clean_line, json_text
from copilog.render.words import counted

MOST_VALUE = 120  # characters of what was overruled


def branch_title(branch: Branch) -> str:
    """Return what a branch is called at the beginning of a line."""
    name = branch_name(branch)
    return f"{name[0].upper()}{name[1:]}"


def shared_depth(one: Sequence[Branch], other: Sequence[Branch]) -> int:
    """Return through how many of the same branches two turns are reached."""
    depth = 0
    while depth < min(len(one), len(other)) and one[depth] == other[depth]:
        depth += 1
    return depth


def sizes_of(placed: Iterable[Placed]) -> Counter[tuple[int | None, str]]:
    """Return how many turns each branch has of its own, by `branch_key`."""
    return Counter(branch_key(each.branches[-1]) for each in placed if each.branches)


def branch_key(branch: Branch) -> tuple[int | None, str]:
    return branch.leaves_from, branch.trace


def superseded_words(turns: Sequence[Turn]) -> str:
    """Return how many turns no longer count, and why: `2 turns no longer count (removed, undone)`."""
    reasons = ", ".join(clean_line(reason, 80) for reason in reasons_of(turns))
    verb = "counts" if len(turns) == 1 else "count"
    return f"{counted(len(turns), 'turn')} no longer {verb} ({reasons})"


def only_trace_words(turn: Turn, only_traces: dict[int, str]) -> str:
    """Return which trace alone has a turn; empty if several have it, or if the turn's branch says so already."""
    path = only_trace_of(turn, only_traces)
    return f"only in {clean_line(path)}" if path is not None else ""


def conflict_words(conflict: Conflict) -> str:
    """Return what a trace says and another one overruled: `status of turn 3: cancelled`."""
    where = f" of turn {conflict.turn + 1}" if conflict.turn is not None else ""
    value = conflict.value if isinstance(conflict.value, str) else json_text(conflict.value)
    return f"{clean_line(conflict.field, 60)}{where}: {clean_line(value, MOST_VALUE)}"
