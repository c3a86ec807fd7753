"""`copilog scan`"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from copilog.cli.archives import ScanBar, changes_archive, origins_in, warn_of_damage
from copilog.cli.common import (
    COUNT,
    Settings,
    default_jobs,
    end_with,
    json_option,
    pass_settings,
    plural,
    print_unread,
    reading_options,
    strict_option,
    unread_files,
)
from copilog.cli.json_output import print_json
from copilog.cli.root_summary import list_roots, roots_as_data
from copilog.errors import UsageError

if TYPE_CHECKING:
    from copilog.diagnostics import Report
    from copilog.ingest.origins import Origins
    from copilog.ingest.scan_result import ScanResult
    from copilog.store.archive import Archive

WAIT_SECONDS = 600.0  # how long to wait for another scan


@click.command(
    "scan",
    epilog="""\b
Examples:
  copilog scan
  copilog scan ~/Downloads/chat.json backup/
  copilog scan --root /mnt/backup/home/ana --archive ana.db
  copilog scan --json | jq .conversations.new""",
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, exists=True), metavar="[PATH...]")
@click.option("--jobs", type=COUNT, metavar="N", help="The number of processes; default: the number of cores.")
@json_option
@strict_option
@reading_options
@pass_settings
@changes_archive
def command(
    settings: Settings,
    /,
    paths: tuple[Path, ...],
    jobs: int | None,
    as_json: bool,
    strict: bool | None,
    roots: tuple[Path, ...],
    sample: bool,
) -> int:
    """Update the archive from the files on disk.

    Without a PATH, copilog checks the usual folders, or those that the archive was made from, and reads only what has
    changed. A PATH is a file or folder of any known format, including telemetry. Conversations stay in the archive
    when their files are deleted. Only one scan runs on an archive at a time; another one waits for it.
    """
    from copilog.diagnostics import Report
    from copilog.ingest.origins import named_origins
    from copilog.store.archive import Archive
    from copilog.store.database import archive_path
    from copilog.store.ledgers import recorded_below

    settings = settings.with_reading(roots, sample)
    if settings.sample and settings.archive is None:
        raise UsageError("the sample is not stored in your own archive; name another one with --archive")
    started = time.monotonic()
    report = Report()
    found, skipped = settings.search_named_roots() if settings.names_roots() else ([], [])
    if settings.roots:
        list_roots(found, skipped)
    with Archive(archive_path(settings.archive), write=True) as archive:
        named = named_origins(found, paths) if found or paths else origins_in(settings, archive)
        result = _scan(settings, archive, named, jobs or default_jobs(), report)
        if as_json:
            document = _document(archive, result, report, time.monotonic() - started)
            document |= roots_as_data(named.roots, skipped)
            print_json(document)
        in_paths = recorded_below(archive.connection, paths)
    print_unread(settings, report)
    warn_of_damage(result)
    crashed = sum(diagnostic.code == "crash" for diagnostic in report.diagnostics())
    what = _print_summary(result, time.monotonic() - started)
    unread = unread_files(in_paths.codes)
    return end_with(
        settings, max(report.bad_records(), in_paths.bad), crashed, strict, what, "copilog problems", unread
    )


def _scan(settings: Settings, archive: Archive, origins: Origins, jobs: int, report: Report) -> ScanResult:
    from copilog.ingest.scanning import update

    _report_other_scan(archive.path)
    with ScanBar(settings) as progress:
        return update(
            archive,
            origins,
            jobs=jobs,
            report=report,
            progress=progress,
            definitions=settings.definitions if origins.has_machine or origins.paths else None,
            lock_seconds=WAIT_SECONDS,
        )


def _report_other_scan(path: Path) -> None:
    """Report that another scan is running, before waiting for it."""
    from copilog.store.database import ArchiveError, ScanLock

    try:
        with ScanLock(path, wait_seconds=0):
            pass
    except ArchiveError:
        click.echo("another scan is running on this archive; waiting for it", err=True)


def _document(archive: Archive, result: ScanResult, report: Report, seconds: float) -> dict[str, Any]:
    """Return the scan as data."""
    from copilog.cli.inspecting import totals_of

    return {
        "archive": str(archive.path),
        "conversations": {
            "new": result.new,
            "changed": result.changed,
            "unchanged": result.unchanged,
            "gone": result.gone,
            "removed": result.removed,
            "refused": result.refused,
        },
        "messages": {
            "new": result.messages_new,
            "changed": result.messages_changed,
            "unchanged": result.messages_unchanged,
            "gone": archive.count_messages(result.gone_ids),
        },
        "files": {"seen": result.files, "read": result.files_read, "bytes_read": result.bytes_read},
        "ledger": totals_of([*report.files.values(), report.quiet], len(report.files) + report.quiet_files),
        "seconds": round(seconds, 3),
    }


def _print_summary(result: ScanResult, seconds: float) -> str:
    """Print the scan in one line."""
    counts = {
        "new": result.new,
        "changed": result.changed,
        "unchanged": result.unchanged,
        "gone": result.gone,
        "skipped (copilog rm)": result.removed,
        "too long (copilog problems)": result.refused,
    }
    counted = [f"{number:,} {word}" for word, number in counts.items() if number]
    line = f"conversations: {', '.join(counted) or 'none'}"
    return line + f"; {result.files_read:,} of {result.files:,} {plural(result.files, 'file')} read in {seconds:.1f} s"
