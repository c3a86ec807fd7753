"""`copilog archive`: check the archive, and get back what a damaged one still has."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from copilog.cli.archives import ScanBar, bring_up_to_date, changes_archive, existing_archive
from copilog.cli.backup_commands import backup
from copilog.cli.common import (
    Settings,
    default_jobs,
    json_option,
    no_scan_option,
    one_line,
    pass_settings,
    plural,
    print_unread,
)
from copilog.errors import CopilogError, UsageError

if TYPE_CHECKING:
    from copilog.store.archive import Archive
    from copilog.store.checking import Fault

LOCK_SECONDS = 60.0


@click.group(
    "archive",
    epilog="""\b
Examples:
  copilog archive check
  copilog archive backup create archive.backup
  copilog archive salvage damaged.db""",
)
def command() -> None:
    """Check the archive, and get back what a damaged one still has.

    The archive may be the only copy of conversations whose files are gone. Nothing here changes a damaged file.
    """


@command.command(
    "check",
    epilog="""\b
Examples:
  copilog archive check
  copilog archive check --archive work.db --json""",
)
@json_option
@pass_settings
@changes_archive
def check(settings: Settings, /, as_json: bool) -> int:
    """Check that the archive is sound.

    SQLite's own checks run, then the checksums of all conversations, and of stars, labels and notes, and the full-text
    index is compared with its texts. Damage is listed with the conversation that has it. The exit code is 1 if
    anything is damaged. Each scan checks a small sample in the same way.
    """
    from copilog.store.checking import Fault, faults
    from copilog.store.database import archive_path

    path = archive_path(settings.archive)
    count = 0
    found: list[Fault]
    try:
        with existing_archive(settings) as archive:
            archive.seal()
            found = faults(archive.connection)
            if not any(fault.what == "file" for fault in found):
                count = archive.count(include_gone=True)
    except UsageError:
        raise
    except CopilogError as error:
        found = [Fault("file", None, None, str(error))]
    if as_json:
        from copilog.cli.json_output import print_json

        print_json({"archive": str(path), "is_sound": not found, "faults": [fault._asdict() for fault in found]})
    else:
        _print_faults(found)
    if found:
        lines = f"{len(found):,} {plural(len(found), 'fault')}"
        click.echo(
            f"{path}: {lines}. Keep this file: `copilog archive salvage` makes a new archive of what can be read",
            err=True,
        )
        return 1
    click.echo(f"{path}: sound, {count:,} {plural(count, 'conversation')}", err=True)
    return 0


def _print_faults(found: list[Fault]) -> None:
    for fault in found:
        click.echo(one_line(str(fault), 400))


@command.command(
    "salvage",
    epilog="""\b
Examples:
  copilog archive salvage
  copilog archive salvage --to rescued.db
  copilog archive salvage --archive work.db --no-scan""",
)
@click.option(
    "--to", "target", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="The new archive."
)
@no_scan_option
@json_option
@pass_settings
@changes_archive
def salvage(settings: Settings, /, target: Path | None, no_scan: bool, as_json: bool) -> int:
    """Make a new archive of everything that can be read of a damaged one.

    The damaged file is only read, page by page, whatever SQLite says of it. What users added is taken over, and removed
    conversations stay removed. Then the files that the archive was made from are scanned, for what could not be read.
    What is lost is listed; the exit code is 1 if anything is. Without --to, the new archive gets the name of the old
    one with `.salvaged` in it. An existing file is never replaced.
    """
    from copilog.atomic_files import draft_folder
    from copilog.store.archive import Archive
    from copilog.store.database import archive_path, real_path
    from copilog.store.salvaging import fill, read_damaged

    path = real_path(archive_path(settings.archive))
    target = target or path.with_name(f"{path.stem}.salvaged{path.suffix}")
    if not path.is_file():
        raise UsageError(f"{path}: there is no archive")
    if target.exists():
        raise UsageError(f"{target}: exists already; choose another file with --to")
    with draft_folder(target) as folder:
        draft = folder / "archive.db"
        found = read_damaged(path)
        with Archive(draft, write=True) as archive:
            kept, lost = fill(archive.connection, found)
            if not no_scan:
                scan_for_the_rest(settings, archive)
            stored = {summary.id for summary in archive.list(include_gone=True)}
            finish_new_archive(archive)
        put_in_place(draft, target)
    again = stored - set(kept)
    lost = [each for each in lost if each.id not in again]
    if as_json:
        from copilog.cli.json_output import print_json

        print_json({"archive": str(path), "salvaged": str(target), "conversations": len(stored), "lost": lost})
    else:
        for each in lost:
            title = f" ({each.title})" if each.title else ""
            click.echo(one_line(f"{each.id or 'unknown'}{title}: {each.reason}", 400))
    click.echo(
        f"{target}: {len(kept):,} {plural(len(kept), 'conversation')} salvaged, {len(again):,} read again from files; "
        f"{len(lost):,} lost or doubtful. "
        f"{path} is unchanged: keep it, and use the new one with --archive or in its place",
        err=True,
    )
    return 1 if lost else 0


def scan_for_the_rest(settings: Settings, archive: Archive) -> None:
    """Scan what the archive is made from, reporting as a scan does."""
    from copilog.diagnostics import Report

    report = Report()
    with ScanBar(settings) as progress:
        bring_up_to_date(
            settings, archive, jobs=default_jobs(), report=report, progress=progress, lock_seconds=LOCK_SECONDS
        )
    print_unread(settings, report)


def finish_new_archive(archive: Archive) -> None:
    """Index and seal an archive, and leave everything in its one file."""
    archive.index_pending()
    archive.recalibrate()
    archive.seal()
    archive.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def put_in_place(draft: Path, target: Path) -> None:
    """Give a complete file its name, unless another process has taken that."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise UsageError(f"{target}: exists already; choose another file") from None
    except OSError:  # a file system without links
        draft.rename(target)


@click.group("notes")
def notes() -> None:
    """Write stars, labels and notes to a text file, and read them from one."""


@notes.command(
    "export",
    epilog="""\b
Examples:
  copilog archive notes export notes.jsonl
  copilog archive notes export | jq -r .note""",
)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default=Path("-"), metavar="[FILE]")
@pass_settings
@changes_archive
def export_notes(settings: Settings, /, file: Path) -> int:
    """Write stars, labels and notes, one line of JSON for each conversation.

    Without a FILE they are printed.
    """
    from copilog.atomic_files import atomic_file
    from copilog.store.notes_file import notes_lines

    with existing_archive(settings) as archive:
        lines = list(notes_lines(archive.connection))
    if str(file) == "-":
        for line in lines:
            click.echo(line, nl=False)
        return 0
    with atomic_file(file, is_private=True) as stream:
        stream.writelines(lines)
    click.echo(f"{file}: {len(lines):,} {plural(len(lines), 'conversation')}", err=True)
    return 0


@notes.command(
    "import",
    epilog="""\b
Examples:
  copilog archive notes import notes.jsonl""",
)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True, dir_okay=False), metavar="FILE")
@pass_settings
@changes_archive
def import_notes(settings: Settings, /, file: Path) -> int:
    """Add the stars, labels and notes of a file to those that are there.

    Stars and labels are united; a note is added below the one that is there, unless that contains it. If a line is
    wrong, nothing is imported. Lines of conversations that the archive does not have are kept for when it has them.
    """
    from copilog.store.notes_file import add_notes

    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from None
    with existing_archive(settings) as archive:
        try:
            count = add_notes(archive.connection, data.splitlines())
        except UsageError as error:
            raise UsageError(f"{file}: {error}") from None
    click.echo(f"{file}: {count:,} {plural(count, 'conversation')}", err=True)
    return 0


command.add_command(backup)
command.add_command(notes)
