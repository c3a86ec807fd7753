"""`copilog secrets`"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from copilog.cli.archives import reads_archive, searched_archive
from copilog.cli.common import COUNT, Settings, default_jobs, json_option, pass_settings, plural, printable
from copilog.cli.redacting import decisions_for, private_in
from copilog.cli.selection_options import selects
from copilog.diagnostics import Report
from copilog.redaction import NotRedacted, Private, Redactor
from copilog.redaction.conversations import Leak, leaks_in
from copilog.redaction.decisions import fingerprint
from copilog.redaction.findings import PERSONAL
from copilog.store.archive import Archive

if TYPE_CHECKING:
    from copilog.analysis import Selection
    from copilog.redaction import Finding
    from copilog.redaction.decisions import Decisions

EXIT_INCOMPLETE, EXIT_FOUND = 3, 4
TOGETHER = 16  # conversations that a process gets at once
LONGEST_TITLE = 60


class Work(NamedTuple):
    """Conversations that one process scans."""

    archive: Path
    ids: list[str]
    private: Private
    key: bytes


class Scanned(NamedTuple):
    """A conversation, and what is in it; or why it could not be scanned."""

    id: str
    title: str
    leaks: list[Leak]
    failure: str | None = None


class Row(msgspec.Struct, kw_only=True):
    """A secret in a conversation, as it is listed."""

    conversation: str
    title: str
    number: int | None  # of the turn, from 1
    at: datetime | None
    age_days: int | None
    kind: str
    masked: str
    places: int
    field: str
    evidence: str
    confidence: str
    fingerprint: str
    is_new: bool


@click.command(
    "secrets",
    epilog="""\b
Examples:
  copilog secrets
  copilog secrets --new --json
  copilog secrets -w tide-tables --since 90d""",
)
@click.option("--new", "only_new", is_flag=True, help="Only what no earlier `copilog secrets` has listed.")
@click.option(
    "--all",
    "with_all",
    is_flag=True,
    help="Also list e-mail addresses, user names, hosts and listed words, tokens whose checksum does not fit, and "
    "passwords that may be plain words.",
)
@click.option("--jobs", type=COUNT, metavar="N", help="The number of processes. Default: the number of cores.")
@json_option
@pass_settings
@selects
@reads_archive
def command(
    settings: Settings, /, only_new: bool, with_all: bool, jobs: int | None, as_json: bool, selection: Selection
) -> int:
    """List secrets that conversations contain, so that you can replace them where they are valid.

    A secret is shown by its first characters and its length, and is never stored. Each line is one secret in one
    conversation, with the turn where it first occurs and the time of that turn.

    The exit code is 0 if nothing was found, 4 if something is listed, and 3 if a conversation could not be scanned.
    """
    with searched_archive(settings, Report()) as archive:
        decisions = decisions_for(archive.path)
        ids = [summary.id for summary in archive.list_selected(selection)]
        rows, failures = _rows(settings, archive, ids, decisions, jobs or default_jobs(), with_all=with_all)
        shown = [row for row in rows if row.is_new or not only_new]
        for row in shown:
            decisions.looked(row.conversation, [row.fingerprint])
        if shown:
            decisions.save()
    if as_json:
        from copilog.cli.json_output import print_json

        print_json(shown)
    else:
        _print(settings, shown)
    _print_end(shown, len(ids), failures)
    return EXIT_INCOMPLETE if failures else EXIT_FOUND if shown else 0


def scan(work: Work) -> list[Scanned]:
    """Return what is in some conversations of an archive. Runs in a process of its own."""

    def mark(finding: Finding) -> str:
        return fingerprint(work.key, finding)

    scanned = []
    with Archive(work.archive) as archive:
        titles = {each: summary.title for each, summary in archive.summaries(work.ids).items()}
        for conversation_id in work.ids:
            title = titles.get(conversation_id, "")
            try:
                leaks = leaks_in(archive.get(conversation_id), mark, work.private)
                scanned.append(Scanned(conversation_id, Redactor(work.private, key=work.key).text(title), leaks))
            except NotRedacted as error:
                scanned.append(Scanned(conversation_id, "", [], str(error)))
    return scanned


def _rows(
    settings: Settings, archive: Archive, ids: list[str], decisions: Decisions, jobs: int, *, with_all: bool
) -> tuple[list[Row], list[str]]:
    """Return all rows, newest conversations first, and why conversations could not be scanned."""
    from copilog.engine import engine_for

    private = private_in(settings)
    batches = [ids[at : at + TOGETHER] for at in range(0, len(ids), TOGETHER)]
    parts = [Work(archive.path, batch, private, decisions.key) for batch in batches]
    rows: list[Row] = []
    failures: list[str] = []
    with engine_for(min(jobs, len(parts))) as engine, settings.progress("scanning", len(ids)) as advance:
        for results in engine.map(scan, parts):
            for scanned in results:
                advance()
                if scanned.failure is not None:
                    failures.append(f"{scanned.id}: {scanned.failure}")
                rows += _rows_of(scanned, decisions, with_all=with_all)
    return rows, failures


def _rows_of(scanned: Scanned, decisions: Decisions, *, with_all: bool) -> Iterator[Row]:
    now = datetime.now(UTC)
    for leak in scanned.leaks:
        if not with_all and (leak.kind in PERSONAL or leak.confidence == "possible"):
            continue
        values: dict[str, Any] = msgspec.structs.asdict(leak)
        yield Row(
            conversation=scanned.id,
            title=scanned.title,
            age_days=None if leak.at is None else max(0, (now - leak.at).days),
            is_new=decisions.is_new(scanned.id, leak.fingerprint),
            **values,
        )


def _print(settings: Settings, rows: list[Row]) -> None:
    from rich.text import Text

    from copilog.cli.common import one_line, short_id
    from copilog.cli.dates import when

    widths = [max((len(text) for text in texts), default=0) for texts in zip(*map(_cells, rows), strict=True)]
    for row in rows:
        kind, masked, turn, age = (cell.ljust(width) for cell, width in zip(_cells(row), widths, strict=True))
        line = Text(kind, "bold")
        line.append(f"  {masked}", "red")
        line.append(f"  {short_id(row.conversation)}  {turn}  {when(row.at):<12}  {age}", "cyan")
        line.append(f"  {one_line(row.title, LONGEST_TITLE)}")
        settings.out.print(line)


def _cells(row: Row) -> tuple[str, str, str, str]:
    turn = "-" if row.number is None else f"turn {row.number}"
    age = "-" if row.age_days is None else f"{row.age_days:,} {plural(row.age_days, 'day')} old"
    return row.kind, printable(row.masked), turn, age


def _print_end(rows: list[Row], scanned: int, failures: list[str]) -> None:
    number, distinct = len(rows), len({row.fingerprint for row in rows})
    found = len({row.conversation for row in rows})
    line = f"{distinct:,} {plural(distinct, 'secret')} in {found:,} of {scanned:,} {plural(scanned, 'conversation')}"
    if number != distinct:
        line += f" ({number:,} {plural(number, 'line')})"
    click.echo(f"{line}; known shapes only: what prose tells, and pictures, cannot be recognised", err=True)
    for failure in failures:
        click.echo(f"  ! not scanned: {printable(failure)}", err=True)
