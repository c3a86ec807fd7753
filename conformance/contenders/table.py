"""The section of docs/conformance.md on agentsview and ccusage."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from conformance.contenders.claims import ToolName, claims_of
from conformance.contenders.rows import TOOLS, Difference, Part

RESULTS = Path(__file__).with_name("results.json")
PROGRAMS = {"cli": "Copilot CLI", "vscode": "VS Code"}
LONGEST = 60
ABOUT = """\
## agentsview and ccusage

The same runs, read by two other programs: {tools}.
Each is installed as published, with updates, telemetry and downloads of prices switched off, and gets a copy of the
folder that Copilot CLI or VS Code wrote. agentsview is asked through its SQLite database after `agentsview sync`, and
through `agentsview usage daily --json`; ccusage through `ccusage copilot session --json` and
`ccusage copilot daily --json`. `python -m conformance.contenders` makes this section.

Only facts are compared that a program claims to read: in its help, its README, its documentation, its schema
(`conformance/contenders/claims.yaml` has each claim with where it is made). The help, README and schema are those of
the compared version; documentation and capability table of agentsview are those of v0.41.1-30-g538600744, the newest
that could be read. A fact that Copilot CLI or VS Code does not record is not a difference. Both sides are brought into
one form first:

- White space in texts is not compared. Answers and thinking are equal if the expected text is somewhere in what the
  program stored of the turn, as agentsview joins thinking and answers of VS Code into one text.
- Names of models are compared without provider and with hyphens (`claude-sonnet-4.5` is `claude-sonnet-4-5`), tools of
  VS Code by the id or by the name that the model used, folders by their last part, which agentsview calls a project.
- Both report input tokens without what came from a cache; the sum is compared.
- Of the outcomes of tool calls, only success and failure are compared, as agentsview has no others.
- Where Copilot CLI goes on by itself, in autopilot, turns are not compared, as what counts as one is a matter of taste;
  nor are tokens of its forks, whose logs have the calls of their parents.
- agentsview does not store results of tools that read files by default; here its setting
  `result_content_blocked_categories` is empty, so that it does.

Costs are not compared: the scripted model has no price. Durations of agentsview are not compared: it serves them from
its web server alone.
"""


def section(parts: Sequence[Part]) -> str:
    """Return the section as Markdown."""
    tools = " and ".join(sorted({f"{part.tool} {part.tool_version}" for part in parts}))
    blocks = [ABOUT.format(tools=tools), *_versions(parts), *_labels(parts), *_differences(parts), *_not_claimed(parts)]
    return "\n".join(blocks).rstrip() + "\n"


def stored_section(path: Path = RESULTS) -> str:
    """Return the section from the results that were written last."""
    return section(msgspec.json.decode(path.read_bytes(), type=list[Part]))


def _versions(parts: Sequence[Part]) -> Iterator[str]:
    yield "| Written by | Runs | Read by | Facts claimed | Equal | Different | Not recorded | Facts not claimed |"
    yield "|---|---:|---|---:|---:|---:|---:|---:|"
    for part in parts:
        numbers = [part.total(name) for name in ("claimed", "equal", "different", "not_recorded")]
        cells = [_name(part), part.runs, part.tool, *numbers, sum(part.not_claimed.values())]
        yield _line(cells)
    yield ""


def _labels(parts: Sequence[Part]) -> Iterator[str]:
    """All versions together, by what is claimed."""
    yield "By what is claimed, all versions together:\n"
    yield "| Written by | Facts | Read by | Claimed | Equal | Different | Not recorded | Claimed in |"
    yield "|---|---|---|---:|---:|---:|---:|---|"
    for tool, program, label in _claims():
        rows = [
            part.rows[label] for part in parts if (part.tool, part.program) == (tool, program) and label in part.rows
        ]
        if rows:
            names = ("claimed", "equal", "different", "not_recorded")
            sums = [sum(getattr(row, name) for row in rows) for name in names]
            yield _line([PROGRAMS[program], label, tool, *sums, rows[0].stated])
    yield ""


def _claims() -> Iterator[tuple[ToolName, str, str]]:
    for tool in TOOLS:
        for claim in claims_of(tool).claims:
            yield tool, claim.program, claim.label


def _differences(parts: Sequence[Part]) -> Iterator[str]:
    """Each reason once, with how many facts it covers and an example; differences without one by themselves."""
    found: dict[tuple[str, str, str], list[tuple[Part, Difference]]] = {}
    for part in parts:
        for row in part.rows.values():
            for one in row.differences:
                reason = one.reason or f"{row.label}: no reason found"
                found.setdefault((part.tool, part.program, reason), []).append((part, one))
    if found:
        yield "Differences, with the number of facts and an example:\n"
    for (tool, program, reason), several in sorted(found.items()):
        part, one = several[0]
        versions = _versions_of(part for part, _ in several)
        yield f"- {tool}, {PROGRAMS[program]} ({versions}), {len(several)} facts: {reason}. {_example(one)}"
    yield ""


def _versions_of(parts: Iterable[Part]) -> str:
    versions = {part.version for part in parts}
    return ", ".join(sorted(versions, key=lambda one: [int(number) for number in one.split(".")]))


def _example(one: Difference) -> str:
    place = f"`{one.kind}` at `{one.where}` of the scenario `{one.scenario}`"
    return f"Example: {place} is {_short(one.expected)}, read {_short(one.answered)}."


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text if len(text) <= LONGEST else text[:LONGEST] + '...'}`"


def _not_claimed(parts: Sequence[Part]) -> Iterator[str]:
    yield "Facts of the suite that are not claimed, and not compared:\n"
    for tool in TOOLS:
        for program, title in PROGRAMS.items():
            some = [part for part in parts if (part.tool, part.program) == (tool, program)]
            kinds = sum((Counter(part.not_claimed) for part in some), Counter[str]())
            if not some:
                continue
            if any(part.rows for part in some):
                yield f"- {tool}, {title}: {', '.join(sorted(kinds))}"
            else:
                yield f"- {tool}, {title}: all. Its help and README name no such source."


def _name(part: Part) -> str:
    return f"{PROGRAMS[part.program]} {part.version}"


def _line(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
