"""`copilog similar`"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from copilog.cli.archives import meant_in, reads_archive, searched_archive
from copilog.cli.common import (
    COUNT,
    CsvCommand,
    Settings,
    csv_option,
    folder_name,
    json_option,
    one_line,
    pass_settings,
    plural,
    short_id,
)
from copilog.cli.dates import when
from copilog.cli.json_output import print_json
from copilog.diagnostics import Report

if TYPE_CHECKING:
    from copilog.store.similar import Similar

LAST = "last"
FOUND, FOUND_NOTHING = 0, 1  # exit codes


@click.command(
    "similar",
    cls=CsvCommand,
    epilog="""\b
Examples:
  copilog similar 115d7669
  copilog similar last
  copilog similar the lookup reads the table for each request
  copilog similar 115d7669 --json""",
)
@click.argument("wanted", nargs=-1, required=True, metavar="ID|last|TEXT...")
@click.option("-n", "--limit", metavar="N", type=COUNT, default=10, show_default=True, help="The most to print.")
@csv_option("Print the list as CSV.")
@json_option
@pass_settings
@reads_archive
def command(settings: Settings, /, wanted: tuple[str, ...], limit: int, as_csv: str | None, as_json: bool) -> int:
    """List the conversations that are related to one, or to a text.

    They share its rarest words, files and commands; what they share is listed below each. The exit code is 1 if none is
    related.
    """
    if as_json and as_csv:
        raise click.UsageError("give either --json or --csv, not both")
    with searched_archive(settings, Report()) as archive:
        text = " ".join(wanted)
        found = archive.similar(meant_in(archive, text) if text == LAST else text, limit=limit)
    if as_json:
        print_json(found)
    elif as_csv:
        _print_csv(found, for_excel=as_csv == "excel")
    else:
        for each in found:
            click.echo("\n".join(_lines(each)), color=settings.in_color())
    click.echo(f"{len(found):,} {plural(len(found), 'conversation')}", err=True)
    return FOUND if found else FOUND_NOTHING


def _print_csv(found: list[Similar], *, for_excel: bool) -> None:
    from copilog.cli.tables import print_csv_lines
    from copilog.store.similar import Similar

    names = Similar.__struct_fields__
    print_csv_lines(names, [[getattr(each, name) for name in names] for each in found], for_excel=for_excel)


def _lines(each: Similar) -> list[str]:
    touched = when(datetime.fromisoformat(each.updated_at)) if each.updated_at else "-"
    words = [click.style(short_id(each.id), fg="cyan"), touched]
    if each.workspace:
        words.append(click.style(folder_name(each.workspace), dim=True))
    shared = ", ".join([*each.words, *map(folder_name, each.files), *each.programs])
    return ["  ".join([*words, click.style(one_line(each.title), bold=True)]), f"  {one_line(shared)}"]
