"""Results as text."""

from __future__ import annotations

import json
from typing import Any, TextIO

from conformance.running import Result

LONGEST = 160


def print_result(result: Result, file: TextIO) -> None:
    """Print one line for a run, and one for each difference."""
    equal, different, missing = (result.count(verdict) for verdict in ("equal", "different", "not recorded"))
    print(
        f"{result.program} {result.version} {result.scenario}: {equal} equal, {different} different, "
        f"{missing} not recorded ({result.seconds:.1f} s)",
        file=file,
        flush=True,
    )
    for failed in result.failed_tries:
        print(f"    tried again: {failed}", file=file)
    if result.error:
        print(f"    {result.error}", file=file)
    for one in result.compared:
        if one.verdict == "different":
            fact = one.fact
            mark = "known: " if one.reason else ""
            print(
                f"    {mark}{fact.kind} at {fact.where}: {_short(fact.expected)}, read {_short(one.observed)}",
                file=file,
            )


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."
