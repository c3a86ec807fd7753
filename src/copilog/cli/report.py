"""`copilog report`"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from copilog.cli.archives import reads_archive, searched_archive
from copilog.cli.common import COUNT, Settings, json_option, pass_settings, plural
from copilog.cli.redacting import own_archive, print_replaced, redact_option, redactor_for
from copilog.cli.selection_options import selects
from copilog.diagnostics import Report
from copilog.store.selection import FLAGS, NAME_FIELDS

if TYPE_CHECKING:
    from copilog.analysis import Selection
    from copilog.analysis.figures import Stats

MOST_ROWS = 20
PRIVATE = 0o077  # only the user may read the page
# The names of filters on the page, if not the field's name; the period has a line of its own.
CHOICES = {"source": "Format", "query": "Search"}


@click.command(
    "report",
    epilog="""\b
Examples:
  copilog report -o report.html --since 30d
  copilog report -o team.html --anonymous --title 'Our spring with Copilot'
  copilog report -o - -w tide-tables | less
  copilog report --sample -o sample.html""",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="The file to write; only you may read it. `-` is standard output.",
)
@click.option("--anonymous", is_flag=True, help="Replace names by numbers, and leave out paths, ids and texts.")
@click.option("--title", metavar="TEXT", help="The heading of the page.")
@click.option(
    "-n",
    "--limit",
    metavar="N",
    type=COUNT,
    default=MOST_ROWS,
    show_default=True,
    help="The most rows of a table.",
)
@redact_option
@json_option
@pass_settings
@selects
@reads_archive
def command(
    settings: Settings,
    /,
    output: Path | None,
    anonymous: bool,
    title: str | None,
    limit: int,
    redact: bool | None,
    selection: Selection,
    as_json: bool,
) -> int:
    """Write all figures of a period to one HTML page that you can share.

    The page is a single file without scripts, and loads nothing from the network. With --anonymous, workspaces,
    conversations, files, agents and skills have numbers instead of names, and the page contains no text of any
    conversation; your --title is used as it is. With --redact, names stay, and secrets and private names in them are
    replaced.

    With --json, the figures of the page are printed, and the page itself is written only if -o names a file.
    """
    if output is None and not as_json:
        raise click.UsageError("no output is named; use `copilog report -o report.html`, or `-o -` for standard output")
    if as_json and output == Path("-"):
        raise click.UsageError("--json and the page cannot both go to standard output; name a file with -o")
    stats = _measured(settings, selection, limit, anonymous)
    redactor = redactor_for(settings, redact, own_archive(settings))
    choices = _choices(selection, anonymous)
    if redactor is not None:
        stats, choices = redactor.value(stats), redactor.value(choices)
    if output is not None:
        page = _page(stats, choices, title, anonymous).encode()
        with _target(output) as file:
            file.write(page)
    if as_json:
        from copilog.cli.json_output import print_json

        print_json(stats)
    click.echo(_summary_line(stats, output), err=True)
    if redactor is not None:
        print_replaced(redactor.counts)
    return 0


def _measured(settings: Settings, selection: Selection, limit: int, is_anonymous: bool) -> Stats:
    from copilog.analysis import choose, measure_chosen
    from copilog.cli.agents import definitions_for

    with searched_archive(settings, Report()) as archive:
        chosen = choose(archive, selection, plan=settings.config.plan)
        stats = measure_chosen(chosen, defined=definitions_for(settings, chosen), limit=limit)
    if not is_anonymous:
        return stats
    from copilog.analysis.anonymity import anonymous

    return anonymous(stats)


def _page(stats: Stats, choices: list[tuple[str, str]], title: str | None, is_anonymous: bool) -> str:
    from datetime import UTC, datetime

    from copilog import __version__
    from copilog.render.report import Cover, report_page

    cover = Cover(
        made_at=datetime.now(UTC),
        made_by=f"copilog {__version__}",
        title=title,
        selection=choices,
        is_anonymous=is_anonymous,
    )
    return report_page(stats, cover)


def _choices(selection: Selection, is_anonymous: bool) -> list[tuple[str, str]]:
    """Return the filters as text; on an anonymous page only which fields are filtered."""
    fields = [*NAME_FIELDS, "query", "conversation"]
    chosen = [(name, getattr(selection, name)) for name in fields]
    made = [(CHOICES.get(name, name.capitalize()), value) for name, value in chosen if value is not None]
    made += [
        (name.capitalize(), f"only conversations {flag.about}")
        for name, flag in FLAGS.items()
        if getattr(selection, name)
    ]
    if not is_anonymous:
        return made
    return [("Chosen by", ", ".join(name.lower() for name, _ in made))] if made else []


@contextmanager
def _target(output: Path) -> Iterator[IO[bytes]]:
    from copilog.atomic_files import atomic_file

    if output == Path("-"):
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    mask = os.umask(PRIVATE)
    try:
        with atomic_file(output) as file:
            yield file
    finally:
        os.umask(mask)


def _summary_line(stats: Stats, output: Path | None) -> str:
    turns, conversations = stats.totals.turns, stats.totals.conversations
    line = f"{turns:,} {plural(turns, 'turn')} of {conversations:,} {plural(conversations, 'conversation')}"
    return line if output is None or output == Path("-") else f"{output}: {line}"
