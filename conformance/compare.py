"""Facts against what copilog read: equal, different, or not recorded by the program."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from conformance.facts import Compared, Fact, Truth
from conformance.scenario import Gap

Observations = Mapping[tuple[str, str], Any]  # (kind, where) -> value


def compare(truth: Truth, observed: Observations) -> list[Compared]:
    """Return what became of each fact. What was not read at all is None."""
    return [_compared(truth, fact, observed.get(fact.key)) for fact in truth.facts]


def _compared(truth: Truth, fact: Fact, value: Any) -> Compared:
    if is_as_expected(fact, value):
        return Compared(fact=fact, verdict="equal", observed=value)
    for gap in truth.gaps:
        if is_about(gap, fact) and (value == gap.records or (gap.records is None and is_nothing(value))):
            return Compared(fact=fact, verdict="not recorded", observed=value, reason=gap.reason)
    return Compared(fact=fact, verdict="different", observed=value)


def is_as_expected(fact: Fact, value: Any) -> bool:
    """Return whether a value agrees with a fact."""
    if value is None and fact.expected == 0 and fact.kind.startswith("tokens."):
        return True  # where no call was answered, programs record nothing, and nothing is known
    if fact.how == "holds":
        return isinstance(value, str) and fact.expected in value
    if fact.how == "between":
        low, high = fact.expected
        return isinstance(value, int | float) and low <= value <= high
    return bool(value == fact.expected) and type(value) is type(fact.expected)


def is_nothing(value: Any) -> bool:
    """Return whether a value says that nothing was read: a gap never excuses a wrong value."""
    return value is None or value in (0, "", [], {}, "unknown")


def is_about(gap: Gap, fact: Fact) -> bool:
    """Return whether a gap covers a fact."""
    return fnmatchcase(fact.kind, gap.kind) and fnmatchcase(fact.where, gap.where)
