"""`copilog problems`"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import click

from copilog.cli.archives import reads_archive, searched_archive
from copilog.cli.common import Settings, json_option, pass_settings, plural, printable
from copilog.cli.json_output import print_json
from copilog.diagnostics import ADVICE, Report

if TYPE_CHECKING:
    from copilog.store.ledgers import Problem

STYLES = {"error": "red", "warning": "yellow", "info": "dim"}


@click.command(
    "problems",
    epilog="""\b
Examples:
  copilog problems
  copilog problems --level error --path chatSessions
  copilog problems --code torn-tail --json""",
)
@click.option("--code", metavar="CODE", help="Only problems with this code, such as bad-json.")
@click.option("--path", metavar="TEXT", help="Only problems of files whose path contains this text.")
@click.option(
    "--level",
    type=click.Choice(["error", "warning", "info", "all"]),
    help="Only problems of this level. Default: errors and warnings.",
)
@json_option
@pass_settings
@reads_archive
def command(settings: Settings, /, code: str | None, path: str | None, level: str | None, as_json: bool) -> int:
    """List the records and files that could not be read, and why.

    An error means that a record was lost; a warning, that one may have been. Remarks (--level info) need no action.
    No text of a conversation is quoted, so that the list can be shared.
    """
    if code is not None and code not in ADVICE:
        raise click.UsageError(_unknown_code(code))
    report = Report()
    with searched_archive(settings, report) as archive:
        problems = archive.problems(code=code, path=path, level=None if level == "all" else level)
    if level is None and code is None:
        problems = [problem for problem in problems if problem.level != "info"]
    if as_json:
        import msgspec

        rows = [{**msgspec.structs.asdict(problem), "advice": problem.advice} for problem in problems]
        print_json(rows)
    else:
        _print(settings, problems)
    files = len({problem.path for problem in problems})
    number = len(problems)
    click.echo(f"{number:,} {plural(number, 'problem')} in {files:,} {plural(files, 'file')}", err=True)
    return 0


def _unknown_code(code: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(code, ADVICE, 1)
    return f"there is no code {code!r}" + (
        f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(ADVICE)}"
    )


def _print(settings: Settings, problems: list[Problem]) -> None:
    from rich.text import Text

    for path, group in groupby(sorted(problems, key=lambda problem: problem.path), lambda problem: problem.path):
        of_file = list(group)
        line = Text(printable(path), "bold")
        line.append(f"  {of_file[0].source}" if of_file[0].source else "", "cyan")
        line.append("  gone" if of_file[0].is_gone else "", "dim")
        settings.out.print(line)
        for problem in of_file:
            place = printable((problem.place or "").lstrip(":#")) or "whole file"
            line = Text(f"    {place}: {printable(problem.reason)}", STYLES.get(problem.level, ""))
            line.append(f"  [{problem.code}]", "dim")
            settings.out.print(line)
            if problem.advice:
                settings.out.print(Text(f"        {problem.advice}", "dim"))
