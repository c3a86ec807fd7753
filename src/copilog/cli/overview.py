"""`copilog` alone: what is on this machine, in a few lines, and what to do next."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import click

from copilog.cli.common import Settings, plural
from copilog.cli.dates import when
from copilog.diagnostics import Report
from copilog.ingest import discover
from copilog.sources import Found
from copilog.summaries import Summary, moment_of, summarise

NEWEST = 5


def show_overview(settings: Settings) -> None:
    """Say what is here. Where nothing is, say so and show the sample instead."""
    from rich.text import Text

    report = Report()
    places = settings.places()
    founds = list(discover(places, report=report))
    out = settings.out
    if not founds and not settings.sample:
        looked = len(places)
        where = "the folders named" if settings.roots else f"the {looked} usual {plural(looked, 'place')}"
        click.echo(f"No Copilot data in {where}; `copilog doctor` lists them.", err=True)
        if settings.roots:
            return
        click.echo("Here is the sample that comes with copilog, made up, instead:\n", err=True)
        settings = replace(settings, sample=True)
        founds = list(discover(settings.places(), report=report))
    newest = sorted(founds, key=moment_of, reverse=True)
    shown = _first_with_content(newest, report)
    empty = sum("empty" in found.hint.marks for found in founds if found.hint is not None)
    out.print(
        Text.assemble(_count(len(founds), "conversation"), (f"  {empty:,} of them empty" if empty else "", "dim"))
    )
    out.print(Text(f"  in   {_places(founds)}"))
    if newest:
        out.print(Text(f"  from {when(moment_of(newest[-1]))} to {when(moment_of(newest[0]))}"))
    out.print()
    for summary in shown:
        out.print(
            Text.assemble(
                ("  " + short_id(summary.id), "cyan"),
                f"  {when(summary.updated_at):<12}  ",
                (_title(summary.title, 56), "bold"),
                (f"  {folder_name(summary.workspace)}", "dim"),
            )
        )
    flag = " --sample" if settings.sample else ""
    out.print()
    out.print(Text.assemble("Next:  ", (f"copilog{flag} list", "green"), "       all of them"))
    example = short_id(shown[0].id) if shown else "ID"
    out.print(Text.assemble("       ", (f"copilog{flag} show {example}", "green"), "   read one"))
    out.print(Text.assemble("       ", (f"copilog{flag} doctor", "green"), "     where copilog looked"))
    unread = [ledger for ledger in report.files.values() if ledger.bad]
    if unread:
        click.echo(f"{len(unread):,} {plural(len(unread), 'file')} had records that could not be read", err=True)


def _first_with_content(newest: list[Found], report: Report) -> list[Summary]:
    shown: list[Summary] = []
    for found in newest:
        if found.hint is not None and "empty" in found.hint.marks:
            continue
        for summary in summarise(found, report=report):
            if not summary.is_empty and len(shown) < NEWEST:
                shown.append(summary)
        if len(shown) >= NEWEST:
            break
    return shown


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
    return conversation_id.partition(":")[2][:8] or conversation_id


def folder_name(folder: str | None) -> str:
    return printable((folder or "").rstrip("/\\").replace("\\", "/").rpartition("/")[2])
