"""Record the paths that were not read in ledgers of their own: links, closed folders, pipes, devices."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from copilog.diagnostics import Ledger, Report
from copilog.intake.folders import code_of_skipped, is_gone, take_skipped_paths
from copilog.sources.root_search import NOT_SEARCHED

CODES = frozenset({"broken-link", "not-a-file", "unreadable"})


def note_skipped(report: Report, skipped: Iterable[tuple[Path, str]] = ()) -> None:
    """Record these paths, and those that this process skipped since the last call."""
    for path, reason in [*skipped, *take_skipped_paths()]:
        ledger = report.open(str(path), None)
        if reason.startswith(NOT_SEARCHED):
            ledger.note("not-searched", reason, "info")
        else:
            code = code_of_skipped(path)
            if all(note.code != code for note in ledger.notes):
                ledger.note(code, reason)


def is_skipped(ledger: Ledger) -> bool:
    """Return whether nothing was read at the path of a ledger, as it is a link, closed, or not a file."""
    return ledger.source is None and any(note.code in CODES for note in ledger.notes)


def closed_in(report: Report) -> list[str]:
    """Return the folders that could not be read."""
    ledgers = report.files.values()
    return [ledger.path for ledger in ledgers if any(note.code == "unreadable" for note in ledger.notes)]


def file_of(ledger: Ledger) -> str:
    """Return the path of the file; the ledger of one session in a database is called `path#id`."""
    if not is_gone(ledger.path):
        return ledger.path
    return ledger.path.rpartition("#")[0] or ledger.path


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
