"""`copilog commands`"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

import click
import msgspec

from copilog.cli.archives import meant_in, reads_archive, searched_archive
from copilog.cli.common import (
    COUNT,
    CsvCommand,
    Settings,
    csv_option,
    json_option,
    one_line,
    pass_settings,
    plural,
    printable,
    short_id,
)
from copilog.cli.dates import when
from copilog.cli.selection_options import selects
from copilog.diagnostics import Report

if TYPE_CHECKING:
    from copilog.analysis.commands import CommandRun
    from copilog.store.selection import Selection

MOST = 200


@click.command(
    "commands",
    cls=CsvCommand,
    epilog="""\b
Examples:
  copilog commands last
  copilog commands --command pytest --exit error --since 30d
  copilog commands 5f0c2a9e --script > again.sh
  copilog commands -w tide-tables --json | jq -r '.[].command'""",
)
@click.argument("target", metavar="[ID|last]", required=False)
@click.option("--command", "text", metavar="TEXT", help="Only commands that contain this; * stands for any text.")
@click.option(
    "--exit", "exit_code", metavar="CODE", help="Only commands that ended with this code; `error` is any but 0."
)
@click.option("-n", "--limit", metavar="N", type=COUNT, help=f"The most commands to print. Default: {MOST}.")
@click.option(
    "--script", "as_script", is_flag=True, help="Print a script of the commands, in their order. It is not run."
)
@csv_option("Print the commands as CSV.")
@json_option
@pass_settings
@selects
@reads_archive
def command(
    settings: Settings,
    /,
    target: str | None,
    text: str | None,
    exit_code: str | None,
    limit: int | None,
    as_script: bool,
    as_csv: str | None,
    as_json: bool,
    selection: Selection,
) -> int:
    """List the commands that conversations ran in a shell.

    Each is printed as it was executed, and as the model had requested it if the user or the tool edited it, with its
    directory, exit code, duration, and who approved it, as far as they were recorded. Commands that were denied or
    skipped are listed, too. In queries, `command:` and `exit:` find the turns that ran them.

    --script prints the commands as a script, without those that did not run. Read it before you run it: what the
    commands need may no longer be there.
    """
    if sum((as_script, as_csv is not None, as_json)) > 1:
        raise click.UsageError("--script, --csv and --json cannot be combined")
    with searched_archive(settings, Report()) as archive:
        from copilog.analysis.commands import command_runs
        from copilog.analysis.selection import choose

        if target is not None:
            selection = msgspec.structs.replace(selection, conversation=meant_in(archive, target))
        runs = command_runs(choose(archive, selection), text=text, exit_code=exit_code)
    is_for_people = not (as_script or as_csv or as_json)
    shown = runs[: limit or (MOST if is_for_people else len(runs))]
    if as_json:
        from copilog.cli.json_output import print_json

        print_json(shown)
    elif as_csv:
        from copilog.cli.tables import print_csv

        print_csv(shown, for_excel=as_csv == "excel")
    else:
        for line in _script_lines(shown) if as_script else _lines(shown):
            click.echo(line, color=settings.in_color())
    conversations = len({run.id for run in shown})
    what = f"{len(shown):,} {plural(len(shown), 'command')} of"
    rest = f"; {len(runs) - len(shown):,} more, which -n prints" if len(runs) > len(shown) else ""
    click.echo(f"{what} {conversations:,} {plural(conversations, 'conversation')}{rest}", err=True)
    return 0


# --- for people -------------------------------------------------------------------------------------------------------


def _lines(runs: list[CommandRun]) -> Iterator[str]:
    for index, (conversation, group) in enumerate(groupby(runs, key=lambda run: run.id)):
        made = list(group)
        if index:
            yield ""
        title = click.style(one_line(made[0].title or ""), bold=True)
        yield f"{click.style(short_id(conversation), fg='cyan')}  {title}"
        for run in made:
            yield "  " + click.style("; ".join(_facts(run)), dim=True)
            for number, line in enumerate(printable(run.command).rstrip("\n").split("\n")):
                yield f"    {'$' if not number else '>'} {line}"
            if run.requested is not None:
                yield f"    requested: {one_line(run.requested)}"


def _facts(run: CommandRun) -> list[str]:
    from copilog.cli.tables import duration
    from copilog.exports.command_script import facts_of_run

    return facts_of_run(run, when=lambda at: when(datetime.fromisoformat(at)), duration=duration)


def _script_lines(runs: list[CommandRun]) -> Iterator[str]:
    from copilog.exports.command_script import script_lines

    return script_lines(runs, _facts)
