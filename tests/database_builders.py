"""Made-up databases for tests, and programs that have them open."""

import hashlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from copilog.sqliteio import open_copy, query

is_posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals or permissions")

HOLD_OPEN = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA wal_autocheckpoint = 0")
for statement in sys.argv[2:]:
    connection.execute(statement)
print("ready", flush=True)
sys.stdin.readline()
connection.close()
"""


def make_database(path: Path, journal_mode: str = "delete", rows: int = 3) -> Path:
    path.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal_mode}")
        connection.execute("BEGIN")
        connection.execute("CREATE TABLE item (value)")
        connection.executemany("INSERT INTO item VALUES (?)", [(f"row {number}",) for number in range(rows)])
        connection.execute("COMMIT")
    return path


def values(path: Path) -> list[Any]:
    with open_copy(path) as snapshot:
        assert snapshot.notes == []
        return [value for (value,) in query(snapshot.connection, "SELECT value FROM item ORDER BY rowid")]


def listing(folder: Path) -> list[tuple[str, int, int, str]]:
    """All that an owner could notice: names, sizes, times and contents."""
    return [
        (path.name, path.stat().st_size, path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(folder.iterdir())
    ]


@contextmanager
def other_process(script: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run a script until the block ends, starting when it says that it is ready."""
    with subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()
