"""`copilog memories`"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

import click

from copilog.cli.archives import reads_archive, searched_archive
from copilog.cli.common import (
    CsvCommand,
    Settings,
    csv_option,
    folder_name,
    json_option,
    pass_settings,
    plural,
    printable,
    short_id,
)
from copilog.cli.dates import when
from copilog.cli.json_output import print_json
from copilog.diagnostics import Report

if TYPE_CHECKING:
    from copilog.analysis.memories import Memory

SCOPES = ("user", "repository", "workspace", "session")


@click.command(
    "memories",
    cls=CsvCommand,
    epilog="""\b
Examples:
  copilog memories
  copilog memories --scope user --full
  copilog memories -w tide-tables --json | jq '.[].path'
  copilog memories --csv > memories.csv""",
)
@click.option("-w", "--workspace", metavar="NAME", help="Only memories of workspaces whose path contains this.")
@click.option("--scope", "scopes", type=click.Choice(SCOPES), multiple=True, help="Only memories of these. Repeatable.")
@click.option("--full", "has_text", is_flag=True, help="With the texts.")
@csv_option("Print the memories as CSV.")
@json_option
@pass_settings
@reads_archive
def command(
    settings: Settings,
    /,
    workspace: str | None,
    scopes: tuple[str, ...],
    has_text: bool,
    as_csv: str | None,
    as_json: bool,
) -> int:
    """List what Copilot's memory tool wrote, over all workspaces.

    Each memory has its scope (of the user, a repository, a workspace or a session), its size, when it was changed, and
    its use: in how many turns the tool touched it or a prompt contained it. The use is empty if no conversation that
    the memory is for records any.

    In queries, `in:memory` finds them.
    """
    if as_json and as_csv:
        raise click.UsageError("give either --json or --csv, not both")
    with searched_archive(settings, Report()) as archive:
        from copilog.analysis.memories import memories

        found = memories(archive.connection, workspace=workspace, scopes=scopes, has_text=has_text)
    if as_json:
        print_json(found)
    elif as_csv:
        _print_csv(found, for_excel=as_csv == "excel")
    else:
        for line in _lines(found):
            click.echo(line, color=settings.in_color())
    click.echo(f"{len(found):,} {'memory' if len(found) == 1 else 'memories'}", err=True)
    return 0


def _print_csv(found: list[Memory], *, for_excel: bool) -> None:
    from copilog.analysis.memories import Memory
    from copilog.cli.tables import print_csv_lines

    names = Memory.__struct_fields__
    print_csv_lines(names, [[getattr(each, name) for name in names] for each in found], for_excel=for_excel)


def _lines(found: list[Memory]) -> Iterator[str]:
    for index, ((scope, workspace), group) in enumerate(groupby(found, key=lambda each: (each.scope, each.workspace))):
        if index:
            yield ""
        name = folder_name(workspace) if workspace else ""
        yield click.style(" ".join(word for word in (scope, name) if word), bold=True)
        for each in group:
            yield f"  {printable(each.path or '')}  {click.style('; '.join(_facts(each)), dim=True)}"
            if each.text is not None:
                yield from (f"    {line}".rstrip() for line in printable(each.text).rstrip("\n").split("\n"))


def _facts(memory: Memory) -> Iterator[str]:
    if memory.conversation is not None:
        yield short_id(memory.conversation)
    yield f"{memory.characters:,} {plural(memory.characters, 'character')}"
    if memory.changed_at is not None:
        yield f"changed {when(datetime.fromisoformat(memory.changed_at))}"
    if memory.uses is not None:
        last = f", last {when(datetime.fromisoformat(memory.last_used_at))}" if memory.last_used_at else ""
        yield f"used in {memory.uses:,} {plural(memory.uses, 'turn')}{last}"
    if memory.is_gone:
        yield "its file is gone"
