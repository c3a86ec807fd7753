"""Differences that are known, with their reason: `known.yaml`. Any other difference is a failure."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from conformance.facts import Compared
from conformance.scenario import Data, applies

KNOWN = Path(__file__).with_name("known.yaml")


class Known(Data, kw_only=True):
    """Differences with one reason: shell patterns of kind, place and scenario, and versions."""

    kind: str
    where: str = "*"
    scenario: str = "*"
    program: str = "cli"
    since: str | None = None
    until: str | None = None
    read: Any = None  # the value that is read instead; None: any
    missing: bool = False  # only where nothing is read
    reason: str


@cache
def known() -> tuple[Known, ...]:
    """Return all known differences."""
    with KNOWN.open(encoding="utf-8") as file:
        return msgspec.convert(yaml.safe_load(file) or [], tuple[Known, ...])


def explain(
    compared: list[Compared], program: str, scenario: str, version: str, rules: Sequence[Known] | None = None
) -> list[Compared]:
    """Give each known difference its reason."""
    for one in compared:
        if one.verdict == "different":
            one.reason = next(
                (
                    rule.reason
                    for rule in (known() if rules is None else rules)
                    if _covers(rule, one, program, scenario, version)
                ),
                None,
            )
    return compared


def _covers(rule: Known, one: Compared, program: str, scenario: str, version: str) -> bool:
    return (
        rule.program == program
        and applies(rule.since, rule.until, version)
        and fnmatchcase(scenario, rule.scenario)
        and fnmatchcase(one.fact.kind, rule.kind)
        and fnmatchcase(one.fact.where, rule.where)
        and (rule.read is None or one.observed == rule.read)
        and not (rule.missing and one.observed is not None)
    )
