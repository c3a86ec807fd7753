"""`copilog blame` and `copilog commit`: where a file, a line or a commit comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from copilog.cli.archives import existing_archive, reads_archive, searched_archive
from copilog.cli.common import Settings, folder_name, json_option, one_line, pass_settings, plural, printable, short_id
from copilog.cli.dates import when
from copilog.cli.selection_options import selects
from copilog.diagnostics import Report

if TYPE_CHECKING:
    from copilog.analysis.lineage.blame import BlameResult, Touch
    from copilog.analysis.lineage.commits import CommitResult, CommitTouch
    from copilog.analysis.lineage.evidence import Evidence, Origin, Strength
    from copilog.analysis.lineage.line_origins import LineOrigin
    from copilog.analysis.lineage.survival import Survival
    from copilog.analysis.selection import Selection
    from copilog.store.archive import Archive

FOUND, FOUND_NOTHING = 0, 1  # exit codes
COLOURS = {"strong": "green", "medium": "yellow", "weak": "red"}
MOST_FILES = 20
MOST_TOUCHES = 20  # that are printed; --json prints all
MOST_EVIDENCE = 20  # of one conversation that are printed: a commit may change thousands of files
TEXT_WIDTH = 100

_PLACE = re.compile(r"(?P<file>.+?):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?", re.DOTALL)


@click.command(
    "blame",
    epilog="""\b
Examples:
  copilog blame src/tides.py
  copilog blame src/tides.py:120
  copilog blame src/tides.py:120-140 --since 90d
  copilog blame deleted/file.py --json
  copilog blame --survival ~/src/tide-tables""",
)
@click.argument("target", metavar="FILE[:LINE]", default=".")
@click.option(
    "--survival", "asks_survival", is_flag=True, help="How much of what conversations wrote is still in a repository."
)
@json_option
@pass_settings
@selects
@reads_archive
def blame(settings: Settings, /, target: str, asks_survival: bool, selection: Selection, as_json: bool) -> int:
    """Find the conversations that edited a file, and those that wrote a line of it.

    FILE:LINE and FILE:FROM-TO mean lines of the file as it is now. Each answer is printed with its evidence and a
    strength: strong, medium or weak; anything but strong is uncertain. The file may have been deleted since. In a git
    repository, the times of commits and earlier names of the file are used, too.

    With --survival FILE is a folder of a repository, the current one if none is named: each file that a conversation
    edited is compared with what it wrote. The archive keeps the result with its date and what it covers.

    The exit code is 0 when something was found, and 1 when nothing was.
    """
    if asks_survival:
        return _survival(settings, Path(target), selection, as_json)
    path, first, last = target_from(target)
    with searched_archive(settings, Report()) as archive:
        from copilog.analysis.lineage import blame as blaming
        from copilog.analysis.selection import choose

        result = blaming.blame(choose(archive, selection), path, first, last)
        result.notes += _index_note(archive)
    if as_json:
        _print_json(result)
    else:
        _echo(settings, _blame_lines(result))
    _print_summary(result.verdict, result.notes, bool(result.touches))
    return FOUND if result.touches else FOUND_NOTHING


def _survival(settings: Settings, folder: Path, selection: Selection, as_json: bool) -> int:
    with searched_archive(settings, Report()) as archive:
        from copilog.analysis.lineage.survival import survival
        from copilog.analysis.selection import choose

        result = survival(choose(archive, selection), folder)
        _keep(settings, archive, result)
    if as_json:
        from copilog.cli.json_output import print_json

        print_json(result)
    else:
        _print_survival(settings, result)
    return FOUND if result.rows else FOUND_NOTHING


def _keep(settings: Settings, archive: Archive, result: Survival) -> None:
    """Store the result in the archive, which --no-scan opens to read."""
    from copilog.store.database import ArchiveError
    from copilog.store.survival import Measured, store_survival

    rows = [Measured(row.id, row.added, row.still_there, row.files) for row in result.rows]
    coverage = result.files, result.files_known
    is_read_only = settings.no_scan and not (settings.live or settings.names_roots())
    try:
        with existing_archive(settings) if is_read_only else nullcontext(archive) as kept:
            store_survival(kept.connection, result.repository, result.measured_at, coverage, rows)
    except ArchiveError as error:
        click.echo(f"the result is not kept: {error}", err=True)


def _print_survival(settings: Settings, result: Survival) -> None:
    from copilog.cli.tables import print_table

    columns = ("id", "title", "files", "added", "still_there", "share")
    print_table(settings, result.rows[:MOST_TOUCHES], title=one_line(result.repository), columns=columns)
    share = f" ({result.share:.0%})" if result.share is not None else ""
    settings.out.print(f"{result.still_there:,} of {result.added:,} lines are still there{share}")
    covered = f"{result.files:,} of {result.files_known:,} edited files compared"
    gone = f"; {result.files_gone:,} of them are gone" if result.files_gone else ""
    unknown = f"; of {result.files_without_lines:,} no lines are known" if result.files_without_lines else ""
    settings.out.print(f"{covered}{gone}{unknown}")


@click.command(
    "commit",
    epilog="""\b
Examples:
  copilog commit HEAD
  copilog commit 1a2b3c4 --repository ~/src/tide-tables
  copilog commit v1.2~3 --json""",
)
@click.argument("revision", metavar="SHA")
@click.option(
    "--repository",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path(),
    metavar="DIR",
    help="The git repository of the commit; default: that of the current folder.",
)
@json_option
@pass_settings
@selects
@reads_archive
def commit(settings: Settings, /, revision: str, repository: Path, selection: Selection, as_json: bool) -> int:
    """Find the conversations that wrote the lines of a commit.

    SHA may be any revision that git accepts. Each line that the commit adds counts for at most one conversation: the
    last that wrote it before the commit. Lines that no conversation wrote are counted separately. Each answer is
    printed with its evidence and a strength: strong, medium or weak; anything but strong is uncertain.

    The exit code is 0 if a conversation was found, and 1 if none was.
    """
    with searched_archive(settings, Report()) as archive:
        from copilog.analysis.lineage.commits import trace_commit
        from copilog.analysis.selection import choose

        result = trace_commit(choose(archive, selection), revision, repository)
        result.notes += _index_note(archive)
    if as_json:
        _print_json(result)
    else:
        _echo(settings, _commit_lines(result))
    _print_summary(result.verdict, result.notes, bool(result.touches))
    return FOUND if result.touches else FOUND_NOTHING


def target_from(target: str) -> tuple[Path, int | None, int | None]:
    """Return the file and lines that an argument names; an existing file with such a name is the file."""
    place = _PLACE.fullmatch(target)
    try:
        is_file = place is None or Path(target).exists()
    except (OSError, ValueError):
        is_file = False
    if "\0" in target:
        raise click.UsageError("a file name cannot contain a NUL character")
    if place is None or is_file:
        return Path(target), None, None
    first = int(place["first"])
    return Path(place["file"]), first, int(place["last"] or first)


def _index_note(archive: Archive) -> list[str]:
    """Return a note if texts are not in the index yet, as with --no-scan after an interrupted scan."""
    if not archive.has_pending():
        return []
    return [
        "some conversations are not in the index yet, and were not searched for file names; `copilog scan` adds them"
    ]


# --- how it ends ------------------------------------------------------------------------------------------------


def _print_json(result: BlameResult | CommitResult) -> None:
    from copilog.cli.json_output import print_json

    print_json(result)


def _echo(settings: Settings, lines: Iterator[str]) -> None:
    for line in lines:
        click.echo(line, color=settings.in_color())


def _print_summary(verdict: str, notes: list[str], has_found: bool) -> None:
    click.echo(verdict + ("; `copilog show ID --turn N` opens one" if has_found else ""), err=True)
    for note in notes:
        click.echo(printable(note), err=True)


# --- for people -------------------------------------------------------------------------------------------------


def _blame_lines(result: BlameResult) -> Iterator[str]:
    yield click.style(one_line(result.path), bold=True) + _about_file(result)
    if result.origins:
        for _, group in groupby(result.origins, key=_same_origin):
            yield ""
            yield from _lines_of_origin(list(group))
        return
    for touch in result.touches[:MOST_TOUCHES]:
        yield ""
        yield headline(touch)
        yield f"  {_counts(touch)}"
        yield from _evidence(touch.evidence)
    yield from _omitted_line(len(result.touches))


def _about_file(result: BlameResult) -> str:
    if result.lines is None:
        return "" if result.exists else "  (not on disk)"
    parts = [f"{result.lines:,} {plural(result.lines, 'line')}"]
    if result.still_there:
        parts.append(f"{result.still_there:,} written in conversations")
        parts.append(f"{result.unexplained:,} in no known conversation")
    return f"  {', '.join(parts)}"


def _same_origin(line: LineOrigin) -> tuple[object, ...]:
    origin = line.origin
    known = (origin.conversation, origin.turn, origin.strength) if origin is not None else ()
    return (*known, line.is_uncertain, line.reason, line.commit)


def _lines_of_origin(lines: list[LineOrigin]) -> Iterator[str]:
    """Print consecutive lines that have the same origin."""
    for line in lines:
        yield f"{click.style(f'{line.line:>6}', dim=True)}  {printable(line.text)[:TEXT_WIDTH].expandtabs(4)}"
    first = lines[0]
    if first.origin is not None:
        yield headline(first.origin)
        yield from _evidence(first.origin.evidence)
    if first.is_uncertain:
        yield f"  {click.style('uncertain', fg='red')}: {printable(first.reason or 'no record of its origin')}"
    for other in first.others:
        yield f"  or {headline(other)}"
    if first.commit:
        yield click.style(f"  git: {first.commit[:10]}, {_day(first.committed_at)}", dim=True)


def _counts(touch: Touch) -> str:
    if not touch.edits:
        return f"named {touch.mentions:,} {plural(touch.mentions, 'time')}, not edited"
    from copilog.derive.line_counts import line_counts_text

    lines = line_counts_text((touch.added, touch.removed))
    parts = [f"{touch.edits:,} {plural(touch.edits, 'edit')}", *([lines] if lines else [])]
    if touch.still_there:
        parts.append(f"{touch.still_there:,} {plural(touch.still_there, 'line')} still there")
    if touch.undone:
        parts.append(f"{touch.undone:,} undone")
    return ", ".join(parts)


def _commit_lines(result: CommitResult) -> Iterator[str]:
    yield f"{click.style(result.sha[:10], fg='cyan')}  {_day(result.committed_at)}  " + click.style(
        one_line(result.subject), bold=True
    )
    for file in result.files[:MOST_FILES]:
        name = f"{one_line(file.old_path)} -> {one_line(file.path)}" if file.old_path else one_line(file.path)
        size = "binary" if file.is_binary else f"+{file.added:,} -{file.removed:,}"
        written = f", {file.written:,} written in conversations" if file.written else ""
        yield f"  {name}  {click.style(size + written, dim=True)}"
    if len(result.files) > MOST_FILES:
        yield f"  and {len(result.files) - MOST_FILES:,} more files"
    for touch in result.touches[:MOST_TOUCHES]:
        yield ""
        yield headline(touch)
        yield from _share(touch)
        yield from _evidence(touch.evidence)
    yield from _omitted_line(len(result.touches))
    if result.is_uncertain:
        yield ""
        yield f"{click.style('uncertain', fg='red')}: {_why_uncertain(result)}"


def _omitted_line(touches: int) -> Iterator[str]:
    if touches > MOST_TOUCHES:
        left = touches - MOST_TOUCHES
        yield ""
        yield f"and {left:,} more {plural(left, 'conversation')} (--json has all)"


def _share(touch: CommitTouch) -> Iterator[str]:
    if touch.lines:
        files = f"{len(touch.files):,} {plural(len(touch.files), 'file')}"
        yield f"  {touch.lines:,} {plural(touch.lines, 'line')} ({touch.share:.0%}) in {files}"


def _why_uncertain(result: CommitResult) -> str:
    if not result.touches:
        return "there is no evidence for any conversation"
    best = result.touches[0]
    return f"the strongest evidence is {best.strength} ({printable(best.evidence[0].text)})"


def headline(origin: Origin) -> str:
    """Return a conversation as the origin of something, in one line."""
    words = [_strength(origin.strength), click.style(short_id(origin.conversation), fg="cyan"), _day(origin.at)]
    if origin.workspace:
        words.append(click.style(folder_name(origin.workspace), dim=True))
    return "  ".join([*words, click.style(one_line(origin.title), bold=True)])


def _strength(strength: Strength) -> str:
    return click.style(f"{strength:<6}", fg=COLOURS[strength])


def _evidence(evidence: list[Evidence]) -> Iterator[str]:
    for item in evidence[:MOST_EVIDENCE]:
        place = f"--turn {item.number}" if item.number is not None else ""
        kind = click.style(f"{item.kind:<9}", dim=True)
        yield f"  {click.style(f'{place:<9}', fg='green')}  {kind}  {one_line(item.text)}"
    if len(evidence) > MOST_EVIDENCE:
        yield f"  and {len(evidence) - MOST_EVIDENCE:,} more (--json has all)"


def _day(at: str | None) -> str:
    return when(datetime.fromisoformat(at)) if at else "-"
