"""The table of docs/conformance.md, from results of `run --json`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from conformance.running import Result
from conformance.scenario import version_key

DOCUMENT = Path(__file__).parents[1] / "docs" / "conformance.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
PROGRAMS = {"cli": "Copilot CLI", "vscode": "VS Code"}


def write_table(results: list[Result]) -> None:
    """Replace the table of the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{table_of(results)}{END}{after}", encoding="utf-8")


def table_of(results: list[Result]) -> str:
    """Return the tables as Markdown: sums by version, kinds of difference, and what is not recorded and why."""
    return "\n".join([*_sums(results), "", *_differences(results), "", *_gaps(results), ""])


def _sums(results: list[Result]) -> Iterator[str]:
    yield "| program | version | scenarios | facts | equal | different | not recorded | could not be run |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    groups: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        groups[result.program, result.version].append(result)
    order = sorted(groups, key=lambda key: (key[0], version_key(key[1])))
    for program, version in order:
        yield _row(f"{PROGRAMS[program]} | {version}", groups[program, version])
    yield _row("all | ", results)


def _row(name: str, results: list[Result]) -> str:
    counts = [sum(result.count(verdict) for result in results) for verdict in ("equal", "different", "not recorded")]
    broken = sum(result.error is not None for result in results)
    numbers = [len(results), sum(counts), *counts, broken]
    return f"| {name} | " + " | ".join(f"{number:,}" for number in numbers) + " |"


def _differences(results: list[Result]) -> Iterator[str]:
    yield "| difference | reason | scenarios | versions | facts | for example |"
    yield "|---|---|---|---|---:|---|"
    found: dict[tuple[str, str], list[tuple[Result, str]]] = defaultdict(list)
    for result in results:
        for one in result.compared:
            if one.verdict == "different":
                example = f"{result.scenario}: {one.fact.where}: {one.fact.expected!r}, read {one.observed!r}"
                found[one.fact.kind, one.reason or "**not known**"].append((result, example))
    for (kind, reason), cases in sorted(found.items(), key=lambda item: -len(item[1])):
        scenarios = sorted({result.scenario for result, _ in cases})
        versions = sorted({result.version for result, _ in cases}, key=version_key)
        shown = ", ".join(scenarios[:4]) + (f" and {len(scenarios) - 4} more" if len(scenarios) > 4 else "")
        between = versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"
        yield f"| {kind} | {reason} | {shown} | {between} | {len(cases)} | {_cell(cases[0][1])} |"


def _gaps(results: list[Result]) -> Iterator[str]:
    yield "| not recorded by the program, because | facts |"
    yield "|---|---:|"
    reasons = Counter(one.reason for result in results for one in result.compared if one.verdict == "not recorded")
    for reason, count in reasons.most_common():
        yield f"| {_cell(reason or '')} | {count} |"


def _cell(text: str) -> str:
    text = text.replace("\n", " ").replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= 140 else text[:140] + "..."
