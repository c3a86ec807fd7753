"""`copilog list`"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from copilog.cli.common import Settings, finish, json_option, pass_settings, plural, reading_options, strict_option
from copilog.cli.dates import as_moment, when
from copilog.cli.overview import folder_name, printable, short_id
from copilog.diagnostics import Report
from copilog.ingest import discover
from copilog.sources import SOURCES, Found
from copilog.summaries import Summary, moment_of, summarise

if TYPE_CHECKING:
    from rich.text import Text

SOURCE_NAMES = [source.name for source in SOURCES]
TITLE_WIDTH, NARROWEST = 40, 8  # of a line on a terminal
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@click.command(
    "list",
    epilog="""\b
Examples:
  copilog list
  copilog list --workspace tide-tables --since 30d
  copilog list --model gpt-5 --mode agent --long
  copilog list --json | jq '.[].title'""",
)
@click.option("-w", "--workspace", metavar="TEXT", help="Only those whose folder has this in its name.")
@click.option(
    "-s", "--source", metavar="NAME", type=click.Choice(SOURCE_NAMES), help="Only those with a trace of this format."
)
@click.option("-m", "--model", metavar="TEXT", help="Only those in which a model of this name was used.")
@click.option("--mode", metavar="TEXT", help="Only those in this mode: ask, edit, agent, or a custom agent's name.")
@click.option(
    "--since", metavar="WHEN", callback=as_moment, help="Only those touched after this: 2026-03-01, 7d, yesterday."
)
@click.option("--until", metavar="WHEN", callback=as_moment, help="Only those touched before this.")
@click.option("-n", "--limit", type=click.IntRange(min=1), help="How many at most (default 50, from the config file).")
@click.option("-a", "--all", "show_all", is_flag=True, help="All of them, and empty ones too.")
@click.option("-l", "--long", "in_full", is_flag=True, help="Read each conversation: turns, tools, edits, models.")
@json_option
@strict_option
@reading_options
@pass_settings
def command(
    settings: Settings,
    workspace: str | None,
    source: str | None,
    model: str | None,
    mode: str | None,
    since: datetime | None,
    until: datetime | None,
    limit: int | None,
    show_all: bool,
    in_full: bool,
    as_json: bool,
    strict: bool | None,
    roots: tuple[Path, ...],
    sample: bool,
) -> int:
    """List conversations, newest first.

    Titles and times come from VS Code's own index where it has them, so that the list is quick; --long, --model and
    --mode read the conversations themselves.
    """
    settings = settings.with_reading(roots, sample)
    report = Report()
    founds = [found for found in discover(settings.places(), report=report) if _may_match(found, workspace, source)]
    in_full = in_full or bool(model or mode)
    summaries = [
        summary
        for summary in _summaries(settings, founds, in_full, report)
        if _matches(summary, workspace, model, mode, since, until)
    ]
    summaries.sort(key=lambda summary: summary.updated_at or summary.started_at or LONG_AGO, reverse=True)
    empty = sum(bool(summary.is_empty) for summary in summaries)
    if not show_all:
        summaries = [summary for summary in summaries if not summary.is_empty]
    most = limit or (len(summaries) if show_all or as_json else settings.config.list_limit.value)
    shown = summaries[:most]
    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(shown), indent=2))
    else:
        _print_table(settings, shown, in_full)
    return finish(settings, report, strict, _tell(len(shown), len(summaries), 0 if show_all else empty))


def _tell(shown: int, matching: int, hidden: int) -> str:
    line = f"{shown:,} {plural(shown, 'conversation')}"
    if matching > shown:
        line += f" of {matching:,} (--limit N or --all for more)"
    if hidden:
        line += f"; {hidden:,} empty not shown (--all)"
    return line


def _summaries(settings: Settings, founds: list[Found], in_full: bool, report: Report) -> Iterator[Summary]:
    founds.sort(key=moment_of, reverse=True)
    with settings.progress("reading", len(founds)) as advance:
        for found in founds:
            yield from summarise(found, in_full=in_full, report=report)
            advance()


def _may_match(found: Found, workspace: str | None, source: str | None) -> bool:
    """Whether it is worth reading, as far as that can be told before."""
    if source is not None and all(trace.source != source for trace in found.traces()):
        return False
    if workspace is None:
        return True
    folders = [trace.workspace.folder or "" for trace in found.traces() if trace.workspace is not None]
    return not folders or any(workspace.lower() in folder.lower() for folder in folders)


def _matches(
    summary: Summary,
    workspace: str | None,
    model: str | None,
    mode: str | None,
    since: datetime | None,
    until: datetime | None,
) -> bool:
    touched = summary.updated_at or summary.started_at
    if workspace is not None and workspace.lower() not in (summary.workspace or "").lower():
        return False
    if model is not None and not any(model.lower() in name.lower() for name in summary.models or []):
        return False
    if mode is not None and mode.lower() not in [name.lower() for name in summary.modes or []]:
        return False
    if since is not None and (touched is None or touched < since):
        return False
    return until is None or (touched is not None and touched < until)


def _print_table(settings: Settings, summaries: list[Summary], in_full: bool) -> None:
    """Columns side by side. On a terminal each line fits its width; elsewhere nothing is cut off."""
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


def _cells(summary: Summary, in_full: bool) -> list[Text]:
    from rich.text import Text

    cells = [Text(short_id(summary.id), "cyan"), Text(when(summary.updated_at))]
    if in_full:
        cells += [Text(str(number or 0)) for number in (summary.turns, summary.tool_calls, summary.edits)]
        cells.append(Text(printable(", ".join(summary.models or [])), "dim"))
    return [*cells, Text(folder_name(summary.workspace), "dim"), _title_cell(summary)]


def _title_cell(summary: Summary) -> Text:
    from rich.text import Text

    title = Text(" ".join(printable(summary.title).split()))
    told = [mark for mark in summary.marks if mark in ("damaged", "headless", "stub", "external", "orphan-edits")]
    if told:
        title.append(f"  [{', '.join(told)}]", "yellow")
    return title
