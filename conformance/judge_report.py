"""Print what VS Code says of exports, and write the table of docs/vscode.md."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from conformance.judge_cases import all_cases, one_of_each_kind
from conformance.judge_equal import reason_for
from conformance.judging import Verdict, judge

DOCUMENT = Path(__file__).parent.parent / "docs" / "vscode.md"
BEGIN, END = "<!-- judged: begin -->", "<!-- judged: end -->"
KINDS = {"sample": "the bundled sample", "cli": "sessions of Copilot CLI", "odd": "generated odd ones"}
MOST_SHOWN = 12


def judge_and_report(versions: Sequence[str], given: argparse.Namespace) -> int:
    """Judge with each version, print what is not as expected, and return the exit status."""
    if given.load:
        found: dict[str, list[Verdict]] = _loaded(given.load)
        write_table(found)
        return _status(found)
    cases = one_of_each_kind() if given.ci else all_cases()
    if given.case:
        cases = [case for case in cases if any(text in case.name for text in given.case)]
    found = {}
    for version in versions:
        found[version] = []
        for verdict in judge(version, cases, pictures=given.pictures):
            found[version].append(verdict)
            for line in lines_of(verdict):
                print(line, flush=True)
        print(summary_of(version, found[version]), flush=True)
    if given.save:
        given.save.write_bytes(msgspec.json.encode(found))
    if given.table:
        write_table(found)
    return _status(found)


def _status(found: Mapping[str, Sequence[Verdict]]) -> int:
    return 0 if all(verdict.is_good for verdicts in found.values() for verdict in verdicts) else 1


def _loaded(paths: Sequence[Path]) -> dict[str, list[Verdict]]:
    """Return the verdicts of earlier runs, explained by what is known now; a later one on a conversation counts."""
    latest: dict[str, dict[str, Verdict]] = {}
    for path in paths:
        for version, verdicts in msgspec.json.decode(path.read_bytes(), type=dict[str, list[Verdict]]).items():
            latest.setdefault(version, {}).update({f"{each.kind}: {each.name}": each for each in verdicts})
    found = {version: list(verdicts.values()) for version, verdicts in latest.items()}
    for version, verdicts in found.items():
        for verdict in verdicts:
            for each in verdict.exported:
                each.reason = reason_for(each.field, each.example, version)
    return found


def lines_of(verdict: Verdict) -> Iterator[str]:
    """Yield what is not as expected with one conversation."""
    yield f"{'good' if verdict.is_good else 'BAD '} {verdict.seconds:5.1f} s  {verdict.kind}: {verdict.name}"
    told = [f"chat: {line}" for line in verdict.chat] + [f"session: {line}" for line in verdict.session]
    told += [f"export: {verdict.not_exported}"] if verdict.not_exported else []
    told += [f"export: {each.field} ({each.count}): {each.example}" for each in verdict.unexplained]
    yield from (f"     {line}" for line in told[:MOST_SHOWN])


def summary_of(version: str, verdicts: Sequence[Verdict]) -> str:
    good = sum(verdict.is_good for verdict in verdicts)
    seconds = sum(verdict.seconds for verdict in verdicts)
    return f"VS Code {version}: {good} of {len(verdicts)} conversations as expected, {seconds:.0f} s"


# --- the table ------------------------------------------------------------------------------------------------------


def write_table(found: Mapping[str, Sequence[Verdict]]) -> None:
    """Write the table into the document, between its marks."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    DOCUMENT.write_text(f"{before}{BEGIN}\n{table_of(found)}\n{END}{after}", encoding="utf-8")


def table_of(found: Mapping[str, Sequence[Verdict]]) -> str:
    """Return the tables as Markdown: what was judged by version and kind, and what VS Code itself changes."""
    return "\n".join([*_sums(found), "", *_changes(found), "", *_wrong(found)]).rstrip() + "\n"


def _sums(found: Mapping[str, Sequence[Verdict]]) -> Iterator[str]:
    yield (
        "| VS Code | conversations | | imported, all on the screen | tool calls looked for | listed and opened, all on "
        "the screen | exported again, equal |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|"
    for version, verdicts in found.items():
        for kind, name in KINDS.items():
            some = [verdict for verdict in verdicts if verdict.kind == kind]
            numbers = (
                len(some),
                sum(not verdict.chat for verdict in some),
                sum(verdict.calls for verdict in some),
                sum(not verdict.session for verdict in some),
                sum(not (verdict.unexplained or verdict.not_exported) for verdict in some),
            )
            if some:
                yield f"| {version} | {name} | " + " | ".join(f"{number:,}" for number in numbers) + " |"


def _changes(found: Mapping[str, Sequence[Verdict]]) -> Iterator[str]:
    counts: Counter[tuple[str, str]] = Counter()
    fields: dict[tuple[str, str], dict[str, None]] = {}
    for version, verdicts in found.items():
        for verdict in verdicts:
            for each in verdict.exported:
                if each.reason is not None:
                    counts[version, each.reason] += 1
                    fields.setdefault((version, each.reason), {})[each.field] = None
    if counts:
        yield "| VS Code | what it changes itself in its export of a session | fields | differences |"
        yield "|---|---|---|---:|"
    for (version, reason), count in sorted(counts.items()):
        names = ", ".join(f"`{name}`" for name in sorted(fields[version, reason]))
        yield f"| {version} | {reason} | {names} | {count:,} |"


def _wrong(found: Mapping[str, Sequence[Verdict]]) -> Iterator[str]:
    wrong = [(version, verdict) for version, verdicts in found.items() for verdict in verdicts if not verdict.is_good]
    if not wrong:
        yield "Nothing else differs."
        return
    yield "| VS Code | conversation | not as expected |"
    yield "|---|---|---|"
    for version, verdict in wrong:
        told = "; ".join(line.strip() for line in list(lines_of(verdict))[1:4])
        yield f"| {version} | {_cell(verdict.name)} | {_cell(told)} |"


def _cell(text: str) -> str:
    text = text.replace("\n", " ").replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= 300 else f"{text[:297]}..."
