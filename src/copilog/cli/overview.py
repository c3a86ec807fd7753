"""`copilog` without a command: what is on this machine, in a few lines, and what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import click

from copilog.cli.archives import fresh_archive
from copilog.cli.common import Settings, folder_name, one_line, plural, printable, short_id
from copilog.cli.dates import when
from copilog.diagnostics import Report
from copilog.ingest import discover
from copilog.sources import Found
from copilog.summaries import Summary, is_indexed, last_changed_at, summarise

if TYPE_CHECKING:
    from copilog.store.archive import Archive
    from copilog.store.summary import Summary as Archived

NEWEST = 5
MOST_READ = 300  # conversations that are not in an index have to be read; reading more would take too long
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)

__all__ = ["folder_name", "printable", "short_id", "show_overview"]


class Overview(NamedTuple):
    """The figures of all conversations."""

    number: int
    empty: int
    places: str
    newest_first: Sequence[Summary | Archived]  # those that have messages
    unread_files: int


def show_overview(settings: Settings) -> None:
    """Print what is on this machine. If there is nothing, say so and show the sample instead."""
    with fresh_archive(settings, Report()) as archive:
        overview = _of_disk(settings) if archive is None else _of_archive(archive)
    if not overview.number and not settings.sample:
        places = settings.places()
        where = "the folders named" if settings.roots else f"the {len(places)} usual folders"
        click.echo(f"No Copilot data in {where}; `copilog doctor` lists them.", err=True)
        if settings.roots:
            return
        click.echo("Here is the made-up sample that comes with copilog instead:\n", err=True)
        settings = replace(settings, sample=True)
        overview = _of_disk(settings)
    _print_totals(settings, overview)
    _print_newest(settings, overview.newest_first)
    if overview.unread_files:
        number = overview.unread_files
        click.echo(f"{number:,} {plural(number, 'file')} had records that could not be read", err=True)


def _of_archive(archive: Archive) -> Overview:
    summaries = archive.list(include_empty=True)
    places = _application_counts(
        (summary.application for summary in summaries), {summary.workspace for summary in summaries} - {None}
    )
    said = [summary for summary in summaries if not summary.is_empty]
    unread = {problem.path for problem in archive.problems(level="error", include_gone=False)}
    return Overview(len(summaries), len(summaries) - len(said), places, said, len(unread))


def _of_disk(settings: Settings) -> Overview:
    report = Report()
    founds = list(discover(settings.places(), report=report))
    summaries = _summaries(founds, report)
    places = _application_counts(
        (found.application for found in founds),
        {found.workspace.folder for found in founds if found.workspace is not None},
    )
    empty = sum("empty" in found.hint.marks for found in founds if found.hint is not None)
    unread = sum(bool(ledger.bad or ledger.parts.bad) for ledger in report.files.values())
    return Overview(len(founds), empty, places, summaries, unread)


def _summaries(founds: list[Found], report: Report) -> list[Summary]:
    """Return the summaries of all indexed conversations and of the newest others; newest first."""
    known = [found for found in founds if is_indexed(found)]
    unknown = sorted((found for found in founds if not is_indexed(found)), key=last_changed_at, reverse=True)
    summaries = [summary for found in known + unknown[:MOST_READ] for summary in summarise(found, report=report)]
    summaries = [summary for summary in summaries if not summary.is_empty]
    return sorted(summaries, key=lambda summary: summary.updated_at or LONG_AGO, reverse=True)


def _print_totals(settings: Settings, overview: Overview) -> None:
    from rich.text import Text

    aside = (f"  {overview.empty:,} of them empty" if overview.empty else "", "dim")
    settings.out.print(Text.assemble(_count(overview.number, "conversation"), aside))
    settings.out.print(Text(f"  in   {overview.places}"))
    times = [summary.updated_at for summary in overview.newest_first if summary.updated_at is not None]
    if times:
        settings.out.print(Text(f"  from {when(times[-1])} to {when(times[0])}"))


def _print_newest(settings: Settings, summaries: Sequence[Summary | Archived]) -> None:
    from rich.text import Text

    out = settings.out
    out.print()
    for summary in summaries[:NEWEST]:
        out.print(
            Text.assemble(
                ("  " + short_id(summary.id), "cyan"),
                f"  {when(summary.updated_at):<12}  ",
                (one_line(summary.title, 56), "bold"),
                (f"  {folder_name(summary.workspace)}", "dim"),
            )
        )
    flag = " --sample" if settings.sample else ""
    example = short_id(summaries[0].id) if summaries else "ID"
    hints = {
        "list": "all of them",
        f"show {example}": "read one",
        "search WORDS": "find one",
        "doctor": "where copilog looked",
    }
    out.print()
    for number, (words, meaning) in enumerate(hints.items()):
        lead = "Next:  " if number == 0 else "       "
        out.print(Text.assemble(lead, (f"copilog{flag} {words}".ljust(34), "green"), meaning))


def _count(number: int, word: str) -> tuple[str, str]:
    return f"{number:,} {plural(number, word)}", "bold"


def _application_counts(applications: Iterable[str | None], folders: Iterable[str | None]) -> str:
    """Return how many conversations each application has, and in how many workspaces."""
    counts = Counter(application or "elsewhere" for application in applications)
    workspaces = len(set(folders))
    names = ", ".join(f"{name} ({number:,})" for name, number in counts.most_common())
    return f"{workspaces:,} {plural(workspaces, 'workspace')} of {names}" if names else "no workspace"
