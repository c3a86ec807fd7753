"""Random tests in large numbers: COPILOG_SOAK multiplies their counts, COPILOG_SOAK_SEED chooses the cases of some.

Hypothesis tests belong to the run by themselves; others carry `@pytest.mark.soak(kind="kills")` and record how many
`cases` they tried. `make soak` runs all of them (tests/soak.py).
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator

import pytest
from hypothesis import settings

TIMES = int(os.environ.get("COPILOG_SOAK") or "1")
SEED = int(os.environ.get("COPILOG_SOAK_SEED") or "5")

_EXAMPLES = re.compile(r"(\d+) (?:passing|failing)\b")


def counted(number: int) -> int:
    """Return how many cases a test tries in this run."""
    return number * TIMES


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    scaled = set()
    for item in items:
        function = getattr(item, "function", None)
        if getattr(function, "is_hypothesis_test", False):
            if item.get_closest_marker("soak") is None:
                item.add_marker(pytest.mark.soak(kind="fuzz"))
            if TIMES > 1 and id(function) not in scaled:  # which all parameters of a test share
                scaled.add(id(function))
                scale(function)


def scale(function: object) -> None:
    """Give a Hypothesis test more examples. There is no public way for one that chooses its number itself."""
    own: settings = function._hypothesis_internal_use_settings  # type: ignore[attr-defined]
    more = settings(own, max_examples=counted(own.max_examples), derandomize=False, database=None)
    function._hypothesis_internal_use_settings = more  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Record the kind of test, and how many examples Hypothesis tried, for the table."""
    mark = item.get_closest_marker("soak")
    if mark is not None:
        item.user_properties.append(("soak", mark.kwargs["kind"]))
    try:
        return (yield)
    finally:
        if examples := sum(map(int, _EXAMPLES.findall(getattr(item, "hypothesis_statistics", "")))):
            item.user_properties.append(("cases", examples))
