"""What commands that use the archive share: opening it, the quick scan before it is read, and resolving ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from copilog.cli.common import (
    Function,
    Settings,
    archive_option,
    archive_options,
    default_jobs,
    end_with,
    no_scan_option,
    plural,
    print_unread,
    reading_options,
)
from copilog.cli.dates import when
from copilog.errors import UsageError
from copilog.store.archive import Archive
from copilog.store.database import ArchiveError, archive_path

if TYPE_CHECKING:
    from rich.progress import Progress

    from copilog.diagnostics import Report
    from copilog.ingest.origins import Origins
    from copilog.ingest.scan_result import ScanResult
    from copilog.store.summary import Summary
    from copilog.summaries import Summary as SummaryOnDisk

    Candidate = Summary | SummaryOnDisk

MOST_CANDIDATES = 20
QUICK_WAIT_SECONDS = 2.0  # how long to wait for another scan, before the archive is shown without an update


def reads_archive_or_disk(function: Function) -> Function:
    """Add the options of commands that read the archive or the disk; the function gets settings that include them."""

    @wraps(function)
    def with_settings(
        settings: Settings,
        /,
        archive: Path | None,
        live: bool,
        no_scan: bool,
        roots: tuple[Path, ...],
        sample: bool,
        **chosen: Any,
    ) -> Any:
        return function(settings.with_reading(roots, sample).with_archive(archive, live, no_scan), **chosen)

    return archive_options(reading_options(with_settings))  # type: ignore[return-value]


def reads_archive(function: Function) -> Function:
    """Add the options of commands that always need an archive; for named folders a temporary one is made."""

    @wraps(function)
    def with_settings(
        settings: Settings,
        /,
        archive: Path | None,
        no_scan: bool,
        roots: tuple[Path, ...],
        sample: bool,
        **chosen: Any,
    ) -> Any:
        return function(settings.with_reading(roots, sample).with_archive(archive, no_scan=no_scan), **chosen)

    return archive_option(no_scan_option(reading_options(with_settings)))  # type: ignore[return-value]


def changes_archive(function: Function) -> Function:
    """Add the options of commands that change the archive; the function gets settings that include them."""

    @wraps(function)
    def with_settings(settings: Settings, /, archive: Path | None, **chosen: Any) -> Any:
        return function(settings.with_archive(archive), **chosen)

    return archive_option(with_settings)  # type: ignore[return-value]


# --- opening it -------------------------------------------------------------------------------------------------


@contextmanager
def existing_archive(settings: Settings) -> Iterator[Archive]:
    """Return the archive without a scan, for commands that change it by hand. Never create one."""
    if settings.live or settings.names_roots():
        raise UsageError("this command changes the archive, and cannot be used with --root, --sample or --live")
    path = archive_path(settings.archive)
    if not _exists(path):
        raise UsageError(f"{path}: there is no archive yet; `copilog scan` makes one")
    with Archive(path, write=True) as archive:
        yield archive


@contextmanager
def fresh_archive(settings: Settings, report: Report) -> Iterator[Archive | None]:
    """Return the archive after a quick scan, or as it is if it cannot be updated; None if only the disk can be read."""
    if settings.reads_disk():
        if settings.archive is not None:
            click.echo("--archive is ignored, because --live reads the files on disk", err=True)
        yield None
        return
    path = archive_path(settings.archive)
    is_new = not _exists(path)
    archive, is_writable = _opened(path, is_new, settings)
    if archive is None:
        yield None
        return
    with archive:
        if is_writable:
            _scan_quickly(settings, archive, report, is_new)
        yield archive


@contextmanager
def searched_archive(settings: Settings, report: Report) -> Iterator[Archive]:
    """Return the archive after a quick scan; for named folders, or if none can be written, return a temporary one."""
    with fresh_archive(settings, report) as archive:
        if archive is not None:
            yield archive
            return
    from copilog.telemetry.spool import spool_folder

    with spool_folder() as folder, Archive(Path(folder, "archive.db"), write=True) as passing:
        _scanned(settings, passing, report)
        yield passing


def _opened(path: Path, is_new: bool, settings: Settings) -> tuple[Archive | None, bool]:
    """Return the archive and whether it can be written; None if none can be created."""
    if settings.no_scan:
        return Archive(path), False
    try:
        return Archive(path, write=True), True
    except ArchiveError as error:
        if is_new:
            click.echo(f"{error}; reading from disk instead", err=True)
            return None, False
        archive = Archive(path)  # its message says more if the archive cannot be read either
        click.echo(f"{error}; showing the archive without an update", err=True)
        return archive, False


def _exists(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > 0
    except OSError:
        return False


def _scan_quickly(settings: Settings, archive: Archive, report: Report, is_new: bool) -> None:
    """Update the archive. If that fails, report it; the archive can still be read."""
    import sqlite3

    try:
        new = _scanned(settings, archive, report)
    except (ArchiveError, OSError, sqlite3.OperationalError) as error:
        if settings.debug:
            raise
        click.echo(f"{error}; showing the archive without an update", err=True)
        return
    if is_new and new:
        click.echo(f"created the archive with {new:,} {plural(new, 'conversation')}: {archive.path}", err=True)


def _scanned(settings: Settings, archive: Archive, report: Report) -> int:
    """Scan, and return how many conversations are new."""
    with ScanBar(settings) as progress:
        result = bring_up_to_date(
            settings,
            archive,
            jobs=default_jobs(),
            report=report,
            progress=progress,
            lock_seconds=QUICK_WAIT_SECONDS,
        )
    print_unread(settings, report)
    warn_of_damage(result)
    return result.new


def warn_of_damage(result: ScanResult) -> None:
    """Report damage that the check of a sample found after a scan."""
    if result.damage is not None:
        click.echo(f"the archive is damaged: {result.damage}; `copilog archive check` lists everything", err=True)


def bring_up_to_date(settings: Settings, archive: Archive, **options: Any) -> ScanResult:
    """Scan the paths that the user named; without any, what the archive was made from and nothing else."""
    from copilog.ingest.scanning import scan, update

    if settings.names_roots():
        return scan(archive, roots=settings.places(), definitions=settings.definitions, **options)
    origins = origins_in(settings, archive)
    return update(archive, origins, definitions=settings.definitions if origins.has_machine else None, **options)


def origins_in(settings: Settings, archive: Archive) -> Origins:
    """Return what the archive was made from. Print once which of it is not scanned."""
    from copilog.ingest.origins import origins_of

    origins = origins_of(archive, settings.places)
    if origins.notes and not settings.__dict__.get("_has_noted"):
        settings.__dict__["_has_noted"] = True
        click.echo("\n".join(f"{archive.path}: {note}" for note in origins.notes), err=True)
    return origins


def finish_with(settings: Settings, archive: Archive, report: Report, strict: bool | None, what: str) -> int:
    """Print in one line what was read and what could not be; return the exit code."""
    totals = archive.ledger_totals()
    crashed = sum(diagnostic.code == "crash" for diagnostic in report.diagnostics())
    return end_with(settings, totals.bad + totals.parts.bad, crashed, strict, what, "copilog problems")


# --- resolving ids ----------------------------------------------------------------------------------------------


def meant_in(archive: Archive, target: str) -> str:
    """Return the id of the conversation that `target` names: the beginning of an id, or `last`."""
    if target == "last":
        newest = archive.list(limit=1)
        if not newest:
            raise UsageError("the archive is empty; `copilog doctor` shows which folders were searched")
        return newest[0].id
    try:
        return archive.find_id(target)
    except UsageError:
        candidates = [summary for summary in archive.list(include_empty=True) if _may_match(summary, target)]
        if len(candidates) < 2:
            raise
        fits = f"{target!r} matches {len(candidates):,} ids; type more characters of one of these:"
        raise UsageError(f"{fits}\n{candidate_rows(candidates)}") from None


def _may_match(summary: Summary, target: str) -> bool:
    native_id = summary.native_id or summary.id.partition(":")[2]
    return any(text.startswith(target) for text in (summary.id, native_id, native_id.rpartition("/")[2]))


def candidate_rows(summaries: Sequence[Candidate], rest: int = 0, *, with_path: bool = False) -> str:
    """Return one line for each conversation, for the user to choose from."""
    from copilog.view.terminal_text import clean_line

    rows = []
    for summary in summaries[:MOST_CANDIDATES]:
        row = f"  {clean_line(summary.id)}  {when(summary.updated_at):<12}  {clean_line(summary.title, 70)}"
        rows.append(row + (f"  {clean_line(summary.paths[0])}" if with_path and summary.paths else ""))
    rest += max(0, len(summaries) - MOST_CANDIDATES)
    return "\n".join([*rows, f"  and {rest:,} more"] if rest else rows)


# --- progress ---------------------------------------------------------------------------------------------------


class ScanBar:
    """A progress bar on standard error, shown once there is something to read; nothing if that is not a terminal."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._bar: Progress | None = None

    def __enter__(self) -> Callable[[int, int], None]:
        return self._show if self._settings.has_bars() else lambda _done, _total: None

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _show(self, done: int, total: int) -> None:
        if not total:
            return
        if self._bar is None:
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=self._settings.err, transient=True)
            self._bar.add_task("reading", total=total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done, total=total)
