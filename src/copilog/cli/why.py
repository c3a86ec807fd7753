"""`copilog why`: one answer to why a line is there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from copilog.cli.archives import reads_archive, searched_archive
from copilog.cli.blame import headline, target_from
from copilog.cli.common import Settings, json_option, one_line, pass_settings, printable
from copilog.cli.selection_options import selects
from copilog.diagnostics import Report

if TYPE_CHECKING:
    from copilog.analysis.lineage.why import CommandAfter, Reasons
    from copilog.analysis.selection import Selection

FOUND, FOUND_NOTHING = 0, 1  # exit codes
MOST_LINES = 12  # of a prompt or an excerpt


@click.command(
    "why",
    epilog="""\b
Examples:
  copilog why src/tides.py:120
  copilog why src/tides.py:120 --json""",
)
@click.argument("target", metavar="FILE:LINE")
@json_option
@pass_settings
@selects
@reads_archive
def command(settings: Settings, /, target: str, selection: Selection, as_json: bool) -> int:
    """Explain why a line of a file is there.

    The answer is one: the conversation that wrote the line as the file is now, with its evidence as `copilog blame`
    has it, the commit, the prompt of the turn, the questions that the user answered in it, plans, checkpoints and
    summaries that name the file, and the commands that ran after the edit, with their exit codes. What is uncertain
    is said.

    The exit code is 0 if a conversation was found, and 1 if none was.
    """
    path, first, last = target_from(target)
    if first is None or first != last:
        raise click.UsageError("name one line of a file, such as src/tides.py:120")
    with searched_archive(settings, Report()) as archive:
        from copilog.analysis.lineage.why import reasons_for
        from copilog.analysis.selection import choose

        reasons = reasons_for(choose(archive, selection), path, first)
    if as_json:
        from copilog.cli.json_output import print_json

        print_json(reasons)
    else:
        for line in _lines(reasons):
            click.echo(line, color=settings.in_color())
    for note in reasons.notes:
        click.echo(printable(note), err=True)
    return FOUND if reasons.origin is not None else FOUND_NOTHING


def _lines(reasons: Reasons) -> Iterator[str]:
    yield click.style(f"{one_line(reasons.path)}:{reasons.line}", bold=True) + f"  {one_line(reasons.text)}"
    if reasons.origin is None:
        yield "no conversation is found that wrote it"
    else:
        turn = f"  --turn {reasons.number}" if reasons.number is not None else ""
        yield headline(reasons.origin) + click.style(turn, fg="green")
        yield from (f"  {item.kind}: {one_line(item.text)}" for item in reasons.origin.evidence)
    if reasons.prompt is not None:
        yield from _block("prompt", reasons.prompt)
    for asked in reasons.considered:
        options = f" ({', '.join(map(one_line, asked.options))})" if asked.options else ""
        yield from _block(f"asked{options}", asked.text)
        if asked.answer is not None:
            yield f"    answer: {one_line(asked.answer)}"
    for record in reasons.records:
        yield from _block(f"{record.kind} {one_line(record.title or '')}".rstrip(), record.excerpt)
    if reasons.commit is not None:
        yield f"  commit: {reasons.commit.sha[:10]}  {one_line(reasons.commit.subject)}"
    for made in reasons.commands:
        is_check = made is reasons.verified_by
        yield f"  ran after it: {_command(made)}" + (click.style("  the first that succeeded", dim=True) * is_check)
    for doubt in reasons.doubts:
        yield f"  {click.style('doubt', fg='red')}: {one_line(doubt)}"
    for other in reasons.others:
        yield f"  or {headline(other)}"


def _command(made: CommandAfter) -> str:
    code = "exit unknown" if made.exit_code is None else f"exit {made.exit_code}"
    return f"$ {one_line(made.command)}  ({code}, turn {made.number})"


def _block(label: str, text: str) -> Iterator[str]:
    lines = printable(text).split("\n")
    yield f"  {label}: {lines[0]}"
    yield from (f"    {line}" for line in lines[1:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield f"    and {len(lines) - MOST_LINES:,} more lines (--json has all)"
