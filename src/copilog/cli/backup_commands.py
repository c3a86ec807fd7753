"""`copilog archive backup`: one file with everything that cannot be made again."""

from __future__ import annotations

from pathlib import Path

import click

from copilog.cli.archives import changes_archive, existing_archive
from copilog.cli.common import Settings, json_option, one_line, pass_settings, plural
from copilog.errors import CopilogError, UsageError

FILE = click.Path(path_type=Path, dir_okay=False)


@click.group("backup")
def backup() -> None:
    """Back the archive up to one file, verify such a file, and restore an archive from it."""


@backup.command(
    "create",
    epilog="""\b
Examples:
  copilog archive backup create copilog.backup
  copilog archive backup create /media/disk/copilog.backup --sources""",
)
@click.argument("file", type=FILE, metavar="FILE")
@click.option("--sources", "with_sources", is_flag=True, help="Back up the raw files, too.")
@pass_settings
@changes_archive
def create_backup(settings: Settings, /, file: Path, with_sources: bool) -> int:
    """Write all conversations, stars, labels and notes to one compressed file with checksums.

    If FILE is an earlier backup, only what has changed is written, and the file is replaced at the end: a backup that
    is interrupted leaves the earlier one. Raw files stay in it after they are deleted. What is damaged in the archive
    does not replace what an earlier backup has of it; the exit code is 1 then.
    """
    from copilog.atomic_files import draft_folder
    from copilog.store.backups import create, is_backup

    former = file if file.exists() else None
    if former is not None and not is_backup(former):
        raise UsageError(f"{file}: exists already, and is not a backup that copilog wrote")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{file}: there is no folder {file.absolute().parent}; create it first")
    with existing_archive(settings) as archive, draft_folder(file.absolute()) as folder:
        archive.seal()
        draft = folder / "backup"
        made = create(archive.connection, draft, former, with_sources=with_sources)
        draft.chmod(0o600)
        draft.replace(file)
    for name in made.damaged:
        click.echo(f"{name}: is damaged in the archive", err=True)
    for name in made.unreadable:
        click.echo(one_line(f"{name}: could not be read"), err=True)
    files = f" and {made.files:,} {plural(made.files, 'file')}" if made.files else ""
    conversations = f"{made.conversations:,} {plural(made.conversations, 'conversation')}"
    click.echo(f"{file}: {conversations}{files}; {made.written:,} {plural(made.written, 'piece')} written", err=True)
    return 1 if made.damaged else 0


@backup.command(
    "verify",
    epilog="""\b
Examples:
  copilog archive backup verify copilog.backup""",
)
@click.argument("file", type=FILE, metavar="FILE")
@json_option
def verify_backup(file: Path, as_json: bool) -> int:
    """Compare everything in a backup with its checksums.

    The exit code is 1 if anything is damaged or missing.
    """
    from copilog.store.backups import faults_of

    found = faults_of(file)
    if as_json:
        from copilog.cli.json_output import print_json

        print_json({"file": str(file), "is_sound": not found, "faults": found})
    else:
        for fault in found:
            click.echo(one_line(fault, 400))
    click.echo(f"{file}: {'sound' if not found else f'{len(found):,} ' + plural(len(found), 'fault')}", err=True)
    return 1 if found else 0


@backup.command(
    "restore",
    epilog="""\b
Examples:
  copilog archive backup restore copilog.backup
  copilog archive backup restore copilog.backup --archive restored.db
  copilog archive backup restore copilog.backup --archive restored.db --sources raw/""",
)
@click.argument("file", type=FILE, metavar="FILE")
@click.option(
    "--sources",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write the raw files into this new folder, below their paths.",
)
@pass_settings
@changes_archive
def restore_backup(settings: Settings, /, file: Path, folder: Path | None) -> int:
    """Make an archive from a backup, where there is none yet.

    The archive is that of --archive, or your own. What the backup has lost is listed; the exit code is 1 then.
    """
    import sqlite3

    from copilog.atomic_files import draft_folder
    from copilog.cli.archive_commands import finish_new_archive
    from copilog.store.archive import Archive
    from copilog.store.backups import read_backup
    from copilog.store.database import archive_path, real_path
    from copilog.store.salvaging import fill

    target = real_path(archive_path(settings.archive))
    if target.exists():
        raise UsageError(f"{target}: exists already; name another file with --archive")
    if folder is not None and folder.exists():
        raise UsageError(f"{folder}: exists already; name a new folder")
    try:
        found = read_backup(file)
    except (sqlite3.DatabaseError, ValueError, TypeError) as error:
        raise CopilogError(f"{file}: is damaged: {error}; `copilog archive backup verify` lists what is") from None
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with draft_folder(target) as draft:
        with Archive(draft / "archive.db", write=True) as archive:
            kept, lost = fill(archive.connection, found)
            finish_new_archive(archive)
        from copilog.cli.archive_commands import put_in_place

        put_in_place(draft / "archive.db", target)
    if folder is not None:
        _write_sources(file, folder)
    for each in lost:
        click.echo(one_line(f"{each.id}: {each.reason}", 400))
    click.echo(f"{target}: {len(kept):,} {plural(len(kept), 'conversation')} restored, {len(lost):,} lost", err=True)
    return 1 if lost else 0


def _write_sources(file: Path, folder: Path) -> None:
    """Write raw files below a new folder, which appears when it is complete."""
    from copilog.atomic_files import atomic_folder
    from copilog.store.backups import sources_in

    with atomic_folder(folder.absolute()) as draft:
        for name, data in sources_in(file):
            parts = [part.replace(":", "") for part in name.replace("\\", "/").split("/")]
            below = draft.joinpath(*(part for part in parts if part not in ("", ".", "..")))
            below.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with below.open("ab") as stream:
                stream.write(data)
