"""`copilog list`"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from copilog.cli.archives import finish_with, fresh_archive, reads_archive_or_disk, searched_archive
from copilog.cli.common import (
    COUNT,
    CsvCommand,
    Settings,
    csv_option,
    finish,
    folder_name,
    json_option,
    one_line,
    pass_settings,
    plural,
    printable,
    short_id,
    strict_option,
)
from copilog.cli.dates import when
from copilog.cli.json_output import print_json
from copilog.cli.selection_options import selects
from copilog.derive.documents import COLLECTION
from copilog.diagnostics import Report
from copilog.errors import UsageError
from copilog.store.selection import Selection
from copilog.store.summary import Summary as Archived

if TYPE_CHECKING:
    from rich.text import Text

    from copilog.sources import Found
    from copilog.summaries import Summary

TITLE_WIDTH, NARROWEST = 40, 8  # of a line on a terminal
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
TOLD_MARKS = ("damaged", "headless", "stub", "external", "orphan-edits", "prompts-only", "helpers-only", "memory")
# The JSON fields that only the archive has.
ARCHIVE_FIELDS = ("messages", "is_starred", "labels", "note", "stored_at", "gone_at")


@click.command(
    "list",
    cls=CsvCommand,
    epilog="""\b
Examples:
  copilog list
  copilog list --workspace tide-tables --since 30d
  copilog list --model gpt-5 --mode agent --long
  copilog list --all --csv > conversations.csv
  copilog list --json | jq '.[].title'""",
)
@click.option(
    "-n",
    "--limit",
    metavar="N",
    type=COUNT,
    help="The most conversations to list. Default: 50, or `list_limit` of the config file.",
)
@click.option("-a", "--all", "show_all", is_flag=True, help="List all conversations, including empty ones.")
@click.option("-l", "--long", "in_full", is_flag=True, help="Show turns, tools, edits and models of each conversation.")
@csv_option("Print the list as CSV.")
@json_option
@strict_option
@pass_settings
@selects
@reads_archive_or_disk
def command(
    settings: Settings,
    /,
    limit: int | None,
    show_all: bool,
    in_full: bool,
    as_csv: str | None,
    as_json: bool,
    strict: bool | None,
    selection: Selection,
) -> int:
    """List conversations, newest first.

    The list comes from the archive, which is updated first. With --live, --root or --sample, it comes from the files
    on disk: titles and times are taken from VS Code's own index if it has them, which is quick. --long, and options
    that select conversations, read the files completely. Lists of typed prompts without answers are shown only with
    these options or --all.

    If no conversation matches the name in an option, similar names are printed, and the exit code is 2.
    """
    if settings.reads_disk() and (selection.starred or selection.label):
        raise UsageError("--starred and --label need the archive, and cannot be used with --live, --root or --sample")
    if as_json and as_csv:
        raise click.UsageError("give either --json or --csv, not both")
    report = Report()
    opened = fresh_archive if selection == Selection() else searched_archive
    with opened(settings, report) as archive:
        summaries: Sequence[Summary | Archived]
        histories = 0
        if archive:
            summaries = archive.list_selected(msgspec.structs.replace(selection, include_empty=True))
        else:
            summaries, histories = _on_disk(settings, in_full, not (in_full or show_all), report)
        collections = sum(COLLECTION in summary.marks for summary in summaries)
        empty = sum(bool(summary.is_empty) and COLLECTION not in summary.marks for summary in summaries)
        if not show_all:
            summaries = [summary for summary in summaries if not summary.is_empty]
        most = limit or (len(summaries) if show_all or as_json or as_csv else settings.config.list_limit.value)
        shown = summaries[:most]
        if as_json:
            print_json([dict(zip(_names_of(summary), _values_of(summary), strict=True)) for summary in shown])
        elif as_csv:
            _print_csv(shown, archive is not None, for_excel=as_csv == "excel")
        else:
            _print_table(settings, shown, in_full or selection.model is not None or selection.mode is not None)
        hidden = (0, 0) if show_all else (empty, collections)
        what = _print_summary(len(shown), len(summaries), *hidden, histories)
        if archive is None or settings.reads_disk():
            return finish(settings, report, strict, what)
        return finish_with(settings, archive, report, strict, what)


def _print_csv(summaries: Sequence[Summary | Archived], is_of_archive: bool, *, for_excel: bool) -> None:
    from copilog.cli.tables import print_csv_lines

    names = _names_of(summaries[0]) if summaries else _fields(is_of_archive)
    rows = msgspec.to_builtins([_values_of(summary) for summary in summaries])
    print_csv_lines(names, rows, for_excel=for_excel)


def _names_of(summary: Summary | Archived) -> tuple[str, ...]:
    return _fields(isinstance(summary, Archived))


def _fields(is_of_archive: bool) -> tuple[str, ...]:
    from copilog.summaries import Summary

    fields = Summary.__struct_fields__
    return (*fields, *ARCHIVE_FIELDS) if is_of_archive else fields


def _values_of(summary: Summary | Archived) -> list[Any]:
    """Return the values of a line; `from_index` does not apply to what is read from the archive."""
    return [getattr(summary, name, False) for name in _names_of(summary)]


def _print_summary(shown: int, matching: int, hidden: int, collections: int, histories: int) -> str:
    line = f"{shown:,} {plural(shown, 'conversation')}"
    if matching > shown:
        line += f" of {matching:,} (--limit N or --all for more)"
    if hidden:
        line += f"; {hidden:,} empty not shown (--all)"
    if collections:
        line += f"; {collections:,} {plural(collections, 'collection')} of memories (copilog memories)"
    if histories:  # what one of them adds is known only once all conversations of the same folder are read
        line += f"; {histories:,} {plural(histories, 'list')} of typed prompts not read (--long or --all)"
    return line


# --- from the disk ----------------------------------------------------------------------------------------------


def _on_disk(settings: Settings, in_full: bool, skips_histories: bool, report: Report) -> tuple[list[Summary], int]:
    """Return what is on the disk, and how many lists of typed prompts were skipped."""
    from copilog.derive.prompts import HISTORIES
    from copilog.ingest import discover

    founds = list(discover(settings.places(), report=report))
    wanted = [found for found in founds if not (skips_histories and found.source in HISTORIES)]
    summaries = list(_summaries(settings, wanted, in_full, report))
    summaries.sort(key=lambda summary: summary.updated_at or summary.started_at or LONG_AGO, reverse=True)
    return summaries, len(founds) - len(wanted)


def _summaries(settings: Settings, founds: list[Found], in_full: bool, report: Report) -> Iterator[Summary]:
    from copilog.summaries import last_changed_at, summarise

    founds.sort(key=last_changed_at, reverse=True)
    with settings.progress("reading", len(founds)) as advance:
        for found in founds:
            yield from summarise(found, in_full=in_full, with_histories=True, report=report)
            advance()


# --- as text ----------------------------------------------------------------------------------------------------


def _print_table(settings: Settings, summaries: Sequence[Summary | Archived], in_full: bool) -> None:
    """Print columns side by side. On a terminal each line is cut to its width; elsewhere nothing is cut."""
    from rich.text import Text

    if not summaries:
        return
    rows = [_cells(summary, in_full) for summary in summaries]
    heads = ["id", "touched", *(["turns", "tools", "edits", "model"] if in_full else []), "workspace", "title"]
    rows.insert(0, [Text(head, "bold") for head in heads])
    is_terminal = settings.out.is_terminal
    widths = [max(row[column].cell_len for row in rows) for column in range(len(heads) - 1)]
    if is_terminal:
        widths = _fitting(widths, heads, settings.out.width)
    for row in rows:
        line = Text()
        for cell, width, head in zip(row, widths, heads, strict=False):
            cell.truncate(width, overflow="ellipsis")
            cell.align("right" if head in ("turns", "tools", "edits") else "left", width)
            line.append_text(cell).append("  ")
        line.append_text(row[-1])
        line.no_wrap = True
        if is_terminal:
            line.truncate(settings.out.width, overflow="ellipsis")
        settings.out.print(line, crop=False, overflow="ignore")


def _fitting(widths: list[int], heads: list[str], total: int) -> list[int]:
    """Narrow the columns that can be cut, so that the title keeps its share of the line."""
    fitting = [min(width, 24) for width in widths]
    wanted = min(TITLE_WIDTH, total // 3)
    for head in ("model", "workspace"):
        if head in heads:
            column = heads.index(head)
            excess = sum(fitting) + 2 * len(fitting) + wanted - total
            fitting[column] = max(min(fitting[column], NARROWEST), fitting[column] - max(0, excess))
    return fitting


def _cells(summary: Summary | Archived, in_full: bool) -> list[Text]:
    from rich.text import Text

    cells = [Text(short_id(summary.id), "cyan"), Text(when(summary.updated_at))]
    if in_full:
        cells += [Text(str(number or 0)) for number in (summary.turns, summary.tool_calls, summary.edits)]
        cells.append(Text(printable(", ".join(summary.models or [])), "dim"))
    return [*cells, Text(folder_name(summary.workspace), "dim"), _title_cell(summary)]


def _title_cell(summary: Summary | Archived) -> Text:
    from rich.text import Text

    title = Text(one_line(summary.title))
    told = [mark for mark in summary.marks if mark in TOLD_MARKS]
    if isinstance(summary, Archived):
        if summary.is_starred:
            title = Text("★ ", "yellow").append_text(title)
        for label in summary.labels:
            title.append(f"  #{one_line(label)}", "green")
        told += ["gone"] if summary.gone_at is not None else []
    if told:
        title.append(f"  [{', '.join(told)}]", "yellow")
    return title
