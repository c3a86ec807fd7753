"""`copilog watch`"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from copilog.cli.archives import ScanBar, bring_up_to_date, changes_archive
from copilog.cli.common import (
    Settings,
    default_jobs,
    folder_name,
    json_option,
    one_line,
    pass_settings,
    plural,
    reading_options,
    short_id,
)
from copilog.cli.json_output import print_json
from copilog.errors import CopilogError, UsageError

if TYPE_CHECKING:
    from copilog.ingest.scan_result import ScanResult
    from copilog.ingest.watching import Watcher
    from copilog.sources.roots import Root
    from copilog.store.archive import Archive

LOCK_SECONDS = 1.0  # how long to wait for another scan, before trying again
RETRY_SECONDS, LONGEST_RETRY_SECONDS = 2.0, 60.0  # each time twice as long
MOST_NAMED = 20  # conversations of one batch that are listed by name


@click.command(
    "watch",
    epilog="""\b
Examples:
  copilog watch
  copilog watch --json | jq -r '.new[]'
  copilog watch --root /mnt/c/Users/ana --poll --interval 2""",
)
@click.option("--poll", is_flag=True, help="Check at every interval, even if the system reports changes.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="The time between checks, if the system does not report changes.",
)
@json_option
@reading_options
@pass_settings
@changes_archive
def command(
    settings: Settings,
    /,
    poll: bool,
    interval: float,
    as_json: bool,
    roots: tuple[Path, ...],
    sample: bool,
) -> int:
    """Update the archive whenever files change, until Ctrl-C.

    copilog scans once, then again soon after each change on disk. New and changed conversations are printed to
    standard error. With --json, a line is printed to standard output for the first scan, and for each scan that
    changed the archive.
    """
    from copilog.ingest.watching import Watcher
    from copilog.store.archive import Archive
    from copilog.store.database import archive_path

    settings = settings.with_reading(roots, sample)
    if settings.sample and settings.archive is None:
        raise UsageError("the sample is not stored in your own archive; name another one with --archive")
    path = archive_path(settings.archive)
    Archive(path, write=True).close()  # an unusable archive is reported before anything else
    try:
        with Watcher(
            lambda: _folders_to_watch(settings, path), poll=poll or None, interval_seconds=interval
        ) as watcher:
            _follow(settings, watcher, path, as_json)
    except KeyboardInterrupt:  # the normal end of a watch
        click.echo("watching ended", err=True)
    return 0


def _folders_to_watch(settings: Settings, path: Path) -> list[Root]:
    """Return the folders to watch: the named ones, else those that the archive was made from."""
    from copilog.ingest.origins import roots_of

    return settings.places() if settings.names_roots() else roots_of(path, settings.places)


def _follow(settings: Settings, watcher: Watcher, path: Path, as_json: bool) -> None:
    """Scan at once, and then after every change; try again later if a scan fails."""
    is_first, last_failure, delay = True, "", RETRY_SECONDS
    while True:
        failure = _scan_and_print(settings, path, as_json, is_first)
        if failure is None:
            if is_first:
                _print_watch_method(watcher)
            is_first, last_failure, delay = False, "", RETRY_SECONDS
            _wait(watcher, None)
            continue
        if failure != last_failure:
            click.echo(f"{failure}; trying again", err=True)
        _wait(watcher, time.monotonic() + delay)
        last_failure, delay = failure, min(2 * delay, LONGEST_RETRY_SECONDS)


def _wait(watcher: Watcher, deadline: float | None) -> None:
    """Wait for a batch of changes, or for the time to try again."""
    for _ in watcher.batches(lambda: deadline is not None and time.monotonic() >= deadline):
        return


def _scan_and_print(settings: Settings, path: Path, as_json: bool, is_first: bool) -> str | None:
    """Update the archive once; return why it could not be done, or None."""
    from copilog.store.archive import Archive

    started = time.monotonic()
    try:
        # It is opened each time, as the user may move it meanwhile.
        with Archive(path, write=True) as archive, ScanBar(settings) as progress:
            result = bring_up_to_date(
                settings, archive, jobs=default_jobs(), progress=progress, lock_seconds=LOCK_SECONDS
            )
            titles = _titles(archive, result)
    except Exception as error:  # the next change may be readable whatever failed now
        if settings.debug:
            raise
        return str(error) if isinstance(error, (CopilogError, OSError)) else f"{type(error).__name__}: {error}"
    if is_first or result.new_ids or result.changed_ids or result.gone_ids:
        seconds = time.monotonic() - started
        _print_json(result, seconds) if as_json else _print_summary(result, titles, seconds, is_first)
    return None


def _titles(archive: Archive, result: ScanResult) -> dict[str, str]:
    """Return the titles and folders of the conversations of one batch."""
    ids = [*result.new_ids, *result.changed_ids, *result.gone_ids][:MOST_NAMED]
    return {
        name: f"{one_line(summary.title, 60)}  {folder_name(summary.workspace)}".rstrip()
        for name, summary in archive.summaries(ids).items()
    }


def _print_json(result: ScanResult, seconds: float) -> None:

    document: dict[str, Any] = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "new": result.new_ids,
        "changed": result.changed_ids,
        "gone": result.gone_ids,
        "seconds": round(seconds, 3),
    }
    print_json(document, is_compact=True)


def _print_summary(result: ScanResult, titles: dict[str, str], seconds: float, is_first: bool) -> None:
    """Print one line for each conversation that changed; of the first scan only the counts."""
    if is_first:
        total = result.new + result.changed + result.unchanged
        line = f"{total:,} {plural(total, 'conversation')}: {result.new:,} new, {result.changed:,} changed"
        click.echo(f"{line}, {result.gone:,} gone; {seconds:.1f} s", err=True)
        return
    now = datetime.now().astimezone().strftime("%H:%M:%S")
    ids_by_change = {"new": result.new_ids, "changed": result.changed_ids, "gone": result.gone_ids}
    lines = [(word, name) for word, names in ids_by_change.items() for name in names]
    for word, name in lines[:MOST_NAMED]:
        click.echo(f"{now}  {word:<7}  {short_id(name)}  {titles.get(name, '')}".rstrip(), err=True)
    if len(lines) > MOST_NAMED:
        click.echo(f"{now}  and {len(lines) - MOST_NAMED:,} more", err=True)


def _print_watch_method(watcher: Watcher) -> None:
    heard, polled = watcher.counts()
    ways = [f"{heard:,} {plural(heard, 'folder')}"] if heard or not polled else []
    if polled:
        why = f": {watcher.why_polling}" if watcher.why_polling else ""
        ways.append(f"{polled:,} {plural(polled, 'folder')} by polling{why}")
    click.echo(f"watching {' and '.join(ways)}; Ctrl-C ends it", err=True)
