"""Run the programs over kept runs of the suite, and count what became of each claimed fact."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from conformance.compare import Observations, compare
from conformance.contenders.answers import from_agentsview, from_ccusage
from conformance.contenders.claims import Reason, ToolName, claim_about, claimed, claims_of, reason_of, unclaimed
from conformance.contenders.tools import VERSIONS, ask_agentsview, ask_ccusage
from conformance.facts import Compared, Truth
from conformance.running import TRUTH

TOOLS: tuple[ToolName, ...] = ("agentsview", "ccusage")
HOME = "home"  # in the folder of a run


class Difference(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A fact that a program answers otherwise."""

    scenario: str
    kind: str
    where: str
    expected: Any
    answered: Any
    reason: str | None = None


class Row(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One row of the table: facts of one kind that a program claims to read from what a version wrote."""

    label: str
    stated: str  # where the program claims it
    claimed: int = 0  # facts
    equal: int = 0
    different: int = 0
    not_recorded: int = 0
    differences: list[Difference] = []


class Part(msgspec.Struct, kw_only=True):
    """One program on the runs of one version of Copilot CLI or VS Code."""

    tool: str
    tool_version: str
    program: str
    version: str
    runs: int = 0
    rows: dict[str, Row] = {}  # by label
    not_claimed: dict[str, int] = {}  # kind -> facts

    def total(self, name: str) -> int:
        """Return the sum of a number of the rows."""
        return sum(getattr(row, name) for row in self.rows.values())


def runs_below(folder: Path) -> list[Path]:
    """Return the folders of runs: those with a truth and a home."""
    return sorted(path.parent for path in folder.rglob(TRUTH) if (path.parent / HOME).is_dir())


def parts_of_runs(folders: Iterable[Path]) -> list[Part]:
    """Ask every program about every run, and return the parts of the table."""
    parts: dict[tuple[str, str, str], Part] = {}
    for folder in folders:
        truth = msgspec.json.decode((folder / TRUTH).read_bytes(), type=Truth)
        for tool in TOOLS:
            add(parts, tool, truth, _answers(tool, folder / HOME, truth))
    return sorted(parts.values(), key=_order)


def add(parts: dict[tuple[str, str, str], Part], tool: ToolName, truth: Truth, answers: Observations) -> None:
    """Compare what a program answers about one run, and count it."""
    key = (tool, truth.program, truth.version)
    part = parts.setdefault(
        key, Part(tool=tool, tool_version=VERSIONS[tool], program=truth.program, version=truth.version)
    )
    part.runs += 1
    for kind in unclaimed(tool, truth):
        part.not_claimed[kind] = part.not_claimed.get(kind, 0) + 1
    for one in compare(claimed(tool, truth), answers):
        claim = claim_about(tool, truth.program, one.fact)
        if claim is None:
            raise AssertionError(one.fact)  # `claimed` leaves such out
        row = part.rows.setdefault(claim.label, Row(label=claim.label, stated=claim.stated))
        _count(row, one, reason_of(tool, truth, one), truth.scenario)


def _count(row: Row, one: Compared, reason: Reason | None, scenario: str) -> None:
    row.claimed += 1
    if one.verdict == "equal":
        row.equal += 1
    elif one.verdict == "not recorded" or (reason is not None and not reason.is_recorded):
        row.not_recorded += 1
    else:
        row.different += 1
        row.differences.append(
            Difference(
                scenario=scenario,
                kind=one.fact.kind,
                where=one.fact.where,
                expected=one.fact.expected,
                answered=one.observed,
                reason=reason.reason if reason else None,
            )
        )


def _answers(tool: ToolName, home: Path, truth: Truth) -> Observations:
    if not any(claim.program == truth.program for claim in claims_of(tool).claims):
        return {}
    if tool == "agentsview":
        return from_agentsview(ask_agentsview(home), truth)
    return from_ccusage(ask_ccusage(home), truth)


def _order(part: Part) -> tuple[str, list[int], str]:
    return part.program, [int(number) for number in part.version.split(".")], part.tool
