"""Keep copies of what cannot be scanned again: what users added, and conversations whose files are gone.

A scan makes one a day, beside the archive; three are kept. They are backups, and are restored like one.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from copilog.atomic_files import draft_folder
from copilog.errors import CopilogError
from copilog.store.backups import create, faults_of
from copilog.store.database import real_path

COPIES = 3
SECONDS_BETWEEN = 24 * 3600.0
MOST_BYTES = 64 << 20  # of packed conversations in a copy


def copies_of(archive: Path) -> list[Path]:
    """Return the paths of the copies, the newest first; they need not exist."""
    archive = real_path(archive)
    return [archive.with_name(f"{archive.name}.kept-{number}") for number in range(1, COPIES + 1)]


def keep_copy(connection: sqlite3.Connection, archive: Path) -> Path | None:
    """Make a copy if there is something to keep and the newest is a day old; return its path."""
    newest, *older = copies_of(archive)
    if not _is_due(newest) or not _has_something(connection):
        return None
    # An archive can be used without a copy, if for example the disk is full.
    with suppress(CopilogError, OSError, sqlite3.Error), draft_folder(newest) as folder:
        draft = folder / "copy"
        former = newest if newest.exists() and not faults_of(newest) else None
        create(connection, draft, former, most_bytes_of_gone=MOST_BYTES)
        draft.chmod(0o600)
        for younger, elder in reversed(list(zip([newest, *older], older, strict=False))):
            if younger.exists():
                younger.replace(elder)
        draft.replace(newest)
        return newest
    return None


def forget_copies(archive: Path) -> None:
    """Delete the copies, which may hold conversations that were removed since."""
    for path in copies_of(archive):
        path.unlink(missing_ok=True)


def _is_due(newest: Path) -> bool:
    try:
        return abs(time.time() - os.stat(newest).st_mtime) >= SECONDS_BETWEEN  # noqa: PTH116
    except OSError:
        return True


def _has_something(connection: sqlite3.Connection) -> bool:
    query = (
        "SELECT EXISTS (SELECT 1 FROM annotation) OR EXISTS (SELECT 1 FROM label)"
        " OR EXISTS (SELECT 1 FROM conversation WHERE gone_at IS NOT NULL)"
    )
    return bool(connection.execute(query).fetchone()[0])
