"""The tables of docs/conformance.md, from results of `run --json`; what they are made of is kept in results.json."""

from __future__ import annotations

import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from conformance.running import Result
from conformance.scenario import version_key

DOCUMENT = Path(__file__).parents[1] / "docs" / "conformance.md"
STORED = Path(__file__).with_name("results.json")
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
CONTENDERS_BEGIN, CONTENDERS_END = "<!-- contenders: begin -->", "<!-- contenders: end -->"
PROGRAMS = {"cli": "Copilot CLI", "vscode": "VS Code"}


class Difference(msgspec.Struct, kw_only=True):
    """A fact that copilog reads otherwise."""

    kind: str
    reason: str
    scenario: str
    example: str


class Summary(msgspec.Struct, kw_only=True):
    """What became of all runs of one version."""

    program: str
    version: str
    runs: int = 0
    equal: int = 0
    different: int = 0
    not_recorded: int = 0
    broken: int = 0  # runs that did not go as their scenario says
    differences: list[Difference] = []
    gaps: dict[str, int] = {}  # reason -> facts
    commit: str = ""  # of the suite that compared

    @property
    def numbers(self) -> list[int]:
        """The columns of the table."""
        facts = self.equal + self.different + self.not_recorded
        return [self.runs, facts, self.equal, self.different, self.not_recorded, self.broken]


def write_table(results: list[Result]) -> None:
    """Keep results, and replace the tables of the document."""
    from conformance.contenders.table import stored_section

    summaries = summaries_of(results)
    for one in summaries:
        one.commit = _commit()
    STORED.write_bytes(msgspec.json.format(msgspec.json.encode(summaries)) + b"\n")
    text = DOCUMENT.read_text(encoding="utf-8")
    text = _between(text, BEGIN, END, table_of(summaries))
    text = _between(text, CONTENDERS_BEGIN, CONTENDERS_END, stored_section())
    DOCUMENT.write_text(text, encoding="utf-8")


def stored_table() -> str:
    """Return the tables from the results that were written last."""
    return table_of(msgspec.json.decode(STORED.read_bytes(), type=list[Summary]))


def _between(text: str, begin: str, end: str, new: str) -> str:
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{new}{end}{after}"


def summaries_of(results: list[Result]) -> list[Summary]:
    """Return the sums of results, by program and version."""
    found: dict[tuple[str, str], Summary] = {}
    for result in results:
        key = (result.program, result.version)
        made = found.setdefault(key, Summary(program=result.program, version=result.version))
        made.runs += 1
        made.broken += result.error is not None
        made.equal += result.count("equal")
        made.different += result.count("different")
        made.not_recorded += result.count("not recorded")
        for one in result.compared:
            if one.verdict == "not recorded":
                made.gaps[one.reason or ""] = made.gaps.get(one.reason or "", 0) + 1
            elif one.verdict == "different":
                example = f"{result.scenario}: {one.fact.where}: {one.fact.expected!r}, read {one.observed!r}"
                reason = one.reason or "**not known**"
                made.differences.append(
                    Difference(kind=one.fact.kind, reason=reason, scenario=result.scenario, example=example)
                )
    return [found[key] for key in sorted(found, key=lambda key: (key[0], version_key(key[1])))]


def table_of(summaries: Sequence[Summary]) -> str:
    """Return the tables as Markdown: sums by version, kinds of difference, and what is not recorded and why."""
    return "\n".join([*_made(summaries), *_sums(summaries), "", *_differences(summaries), "", *_gaps(summaries), ""])


def _made(summaries: Sequence[Summary]) -> Iterator[str]:
    """Say which comparison made the numbers: one that was added later is not in them."""
    commits = sorted({one.commit for one in summaries if one.commit})
    if commits:
        yield f"Made by the comparison of commit {', '.join(commits)}; what was added to it since is not counted."
        yield ""


def _commit() -> str:
    command = ["git", "-C", str(DOCUMENT.parent), "rev-parse", "--short=7", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _sums(summaries: Sequence[Summary]) -> Iterator[str]:
    yield "| program | version | scenarios | facts | equal | different | not recorded | could not be run |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for one in summaries:
        yield _row(f"{PROGRAMS[one.program]} | {one.version}", one.numbers)
    yield _row("all | ", [sum(column) for column in zip(*(one.numbers for one in summaries), strict=True)])


def _row(name: str, numbers: list[int]) -> str:
    return f"| {name} | " + " | ".join(f"{number:,}" for number in numbers) + " |"


def _differences(summaries: Sequence[Summary]) -> Iterator[str]:
    found: dict[tuple[str, str], list[tuple[Summary, Difference]]] = defaultdict(list)
    for summary in summaries:
        for one in summary.differences:
            found[one.kind, one.reason].append((summary, one))
    if not found:
        yield "No fact is read otherwise."
        return
    yield "| difference | reason | scenarios | versions | facts | for example |"
    yield "|---|---|---|---|---:|---|"
    for (kind, reason), cases in sorted(found.items(), key=lambda item: -len(item[1])):
        scenarios = sorted({one.scenario for _, one in cases})
        versions = sorted({summary.version for summary, _ in cases}, key=version_key)
        shown = ", ".join(scenarios[:4]) + (f" and {len(scenarios) - 4} more" if len(scenarios) > 4 else "")
        between = versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"
        yield f"| {kind} | {reason} | {shown} | {between} | {len(cases)} | {_cell(cases[0][1].example)} |"


def _gaps(summaries: Sequence[Summary]) -> Iterator[str]:
    yield "| not recorded by the program, because | facts |"
    yield "|---|---:|"
    reasons = sum((Counter(one.gaps) for one in summaries), Counter[str]())
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        yield f"| {_cell(reason)} | {count} |"


def _cell(text: str) -> str:
    text = text.replace("\n", " ").replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= 140 else text[:140] + "..."
