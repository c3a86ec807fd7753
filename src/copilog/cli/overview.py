"""`copilog` alone: what is on this machine, in a few lines, and what to do next."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import click

from copilog.cli.common import Settings, plural
from copilog.cli.dates import when
from copilog.diagnostics import Report
from copilog.ingest import discover
from copilog.sources import Found
from copilog.summaries import Summary, is_indexed, moment_of, summarise

NEWEST = 5
MOST_READ = 300  # conversations that no index knows take reading; more would keep people waiting
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def show_overview(settings: Settings) -> None:
    """Say what is here. Where nothing is, say so and show the sample instead."""
    report = Report()
    places = settings.places()
    founds = list(discover(places, report=report))
    if not founds and not settings.sample:
        where = "the folders named" if settings.roots else f"the {len(places)} usual places"
        click.echo(f"No Copilot data in {where}; `copilog doctor` lists them.", err=True)
        if settings.roots:
            return
        click.echo("Here is the sample that comes with copilog, made up, instead:\n", err=True)
        settings = replace(settings, sample=True)
        founds = list(discover(settings.places(), report=report))
    summaries = _summaries(founds, report)
    _print_totals(settings, founds, summaries)
    _print_newest(settings, summaries)
    unread = sum(bool(ledger.bad or ledger.parts.bad) for ledger in report.files.values())
    if unread:
        click.echo(f"{unread:,} {plural(unread, 'file')} had records that could not be read", err=True)


def _summaries(founds: list[Found], report: Report) -> list[Summary]:
    """The summaries of all that the index knows, and of the newest of the rest; newest first."""
    known = [found for found in founds if is_indexed(found)]
    unknown = sorted((found for found in founds if not is_indexed(found)), key=moment_of, reverse=True)
    summaries = [summary for found in known + unknown[:MOST_READ] for summary in summarise(found, report=report)]
    summaries = [summary for summary in summaries if not summary.is_empty]
    return sorted(summaries, key=lambda summary: summary.updated_at or LONG_AGO, reverse=True)


def _print_totals(settings: Settings, founds: list[Found], summaries: list[Summary]) -> None:
    from rich.text import Text

    empty = sum("empty" in found.hint.marks for found in founds if found.hint is not None)
    aside = (f"  {empty:,} of them empty" if empty else "", "dim")
    settings.out.print(Text.assemble(_count(len(founds), "conversation"), aside))
    settings.out.print(Text(f"  in   {_places(founds)}"))
    times = [summary.updated_at for summary in summaries if summary.updated_at is not None]
    if times:
        settings.out.print(Text(f"  from {when(times[-1])} to {when(times[0])}"))


def _print_newest(settings: Settings, summaries: list[Summary]) -> None:
    from rich.text import Text

    out = settings.out
    out.print()
    for summary in summaries[:NEWEST]:
        out.print(
            Text.assemble(
                ("  " + short_id(summary.id), "cyan"),
                f"  {when(summary.updated_at):<12}  ",
                (_title(summary.title, 56), "bold"),
                (f"  {folder_name(summary.workspace)}", "dim"),
            )
        )
    flag = " --sample" if settings.sample else ""
    example = short_id(summaries[0].id) if summaries else "ID"
    hints = {"list": "all of them", f"show {example}": "read one", "doctor": "where copilog looked"}
    out.print()
    for number, (words, meaning) in enumerate(hints.items()):
        lead = "Next:  " if number == 0 else "       "
        out.print(Text.assemble(lead, (f"copilog{flag} {words}".ljust(34), "green"), meaning))


def _count(number: int, word: str) -> tuple[str, str]:
    return f"{number:,} {plural(number, word)}", "bold"


def _places(founds: list[Found]) -> str:
    """How many in each application, and in how many workspaces."""
    applications = Counter(found.application or "elsewhere" for found in founds)
    folders = {found.workspace.folder for found in founds if found.workspace is not None}
    names = ", ".join(f"{name} ({number:,})" for name, number in applications.most_common())
    return f"{len(folders):,} {plural(len(folders), 'workspace')} of {names}" if names else "no workspace"


def _title(text: str, limit: int) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def printable(text: str) -> str:
    """Text without characters that a terminal would obey."""
    return "".join(char if char.isprintable() or char in "\n\t" else "�" for char in text)


def short_id(conversation_id: str) -> str:
    """Enough of an id to find the conversation again."""
    native_id = conversation_id.partition(":")[2] or conversation_id
    return native_id.rpartition("/")[2][:8]


def folder_name(folder: str | None) -> str:
    return printable((folder or "").rstrip("/\\").replace("\\", "/").rpartition("/")[2])
