"""Read-only access to other programs' SQLite databases, without leaving a trace.

Even a read-only connection touches `-shm` beside a live writer, and creates `-wal` and `-shm` beside a WAL database
that was closed cleanly. So the original is not opened at all: the database and its `-wal` or `-journal` are copied
into a private folder, and the copy is opened. No lock is taken, and no writer ever waits for us. A small database
that no program is writing to is copied into memory instead: there are many of those, and folders are slow.

The one exception is a database that changes during each of several copies. That one is read over a read-only
connection, and the snapshot's notes say so.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from copilog.errors import BadFile
from copilog.intake import limits

MOST_BYTES_IN_MEMORY = 4 << 20
COPY_ATTEMPTS = 5
FIRST_WAIT_SECONDS = 0.02
BACKUP_WAIT_SECONDS = 5.0
BACKUP_NOTE = "it kept changing while it was copied; read over a read-only connection instead"

TOO_LARGE = "too-large"

_STEPS_BETWEEN_LOOKS = 100_000
_SHORTEST_LIMIT = 4 << 20
_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_WITHOUT_LOG = b"\x01\x01"  # bytes 18 and 19 of the header: written and read with a journal
_UTF8 = b"\0\0\0\x01"  # bytes 56 to 59 of the header: the encoding of texts
_SUPER_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_COPY_FOLDER = re.compile(r"copilog-([0-9]+)-.+")

# The files of a database, and the header bytes that show a change without a new size or time.
# Copied in this order: a checkpoint during the copy can only move pages from the -wal into the database, so a -wal
# that is copied later and has not started over (same salts) still holds all of them. Likewise with the -journal.
_FILES = {
    "": slice(24, 28),  # file change counter
    "-wal": slice(16, 24),  # salts
    "-journal": slice(0, 28),
}


class UnreadableDatabase(BadFile):
    """Another program's database could not be copied or queried; the message says why."""

    def __init__(self, reason: str, code: str = "unreadable-database") -> None:
        super().__init__(reason, code)


@dataclass(slots=True)
class Snapshot:
    """A database at one point in time. Text comes out as bytes, since other programs store invalid UTF-8."""

    connection: sqlite3.Connection
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _CachedCopy:
    """A copy that is used again while the database is unchanged."""

    state: tuple[int, int, int, int]
    snapshot: Snapshot
    stack: ExitStack


_cached_copies: ContextVar[dict[Path, _CachedCopy] | None] = ContextVar("kept copies", default=None)


@contextmanager
def keep_copies() -> Iterator[None]:
    """Copy each database once in this block, however often it is opened, as a store is read one session at a time."""
    copies: dict[Path, _CachedCopy] = {}
    token = _cached_copies.set(copies)
    try:
        yield
    finally:
        _cached_copies.reset(token)
        for kept in copies.values():
            kept.stack.close()


@contextmanager
def open_copy(path: Path) -> Iterator[Snapshot]:
    """Open a private copy of a database, which is deleted at the end of the block, or at that of `keep_copies`.

    Raise UnreadableDatabase if it cannot be copied or read.
    """
    copies = _cached_copies.get()
    if copies is None:
        with _new_copy(path) as snapshot:
            yield snapshot
        return
    state = fingerprint(path)
    kept = copies.get(path)
    if kept is None or kept.state != state:
        if kept is not None:
            copies.pop(path).stack.close()
        stack = ExitStack()
        kept = _CachedCopy(state, stack.enter_context(_new_copy(path)), stack)
        copies[path] = kept
    yield Snapshot(kept.snapshot.connection, list(kept.snapshot.notes))


@contextmanager
def _new_copy(path: Path) -> Iterator[Snapshot]:
    with ExitStack() as stack:
        try:
            original = _original(path)
            data = _data_at_rest(original)
            if data is not None:
                notes: list[str] = []
                connection = stack.enter_context(_connection(":memory:", data))
            else:
                copy = stack.enter_context(_private_folder()) / "copy.db"
                notes = _copy(original, copy)
                connection = stack.enter_context(_connection(copy))
        except OSError as error:
            raise _unreadable(error) from error
        except (sqlite3.Error, UnicodeDecodeError) as error:  # a damaged schema may not even be text
            raise UnreadableDatabase(f"is damaged, or not a database: {error}") from error
        yield Snapshot(connection, notes)


def tables(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the columns of each table; none for a virtual table whose module this SQLite does not have."""
    names = [_text(name) for (name,) in query(connection, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        try:
            columns = [
                _text(column) for (column,) in query(connection, "SELECT name FROM pragma_table_info(?)", (name,))
            ]
        except UnreadableDatabase:
            columns = []
        found[name] = columns
    return found


def query(connection: sqlite3.Connection, sql: str, params: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query. Raise UnreadableDatabase if the database is damaged.

    A value that is too long, or a query that takes too long, raises it with the code `too-large`.
    """
    left = limits.QUERY_SECONDS
    deadline = 0.0
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_LOOKS)
    try:
        began = time.monotonic()
        deadline = began + left
        for row in connection.execute(sql, params):
            left -= time.monotonic() - began  # only the time in the database counts
            yield row
            began = time.monotonic()
            deadline = began + left
    except sqlite3.ProgrammingError:  # our mistake, not the database's
        raise
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if isinstance(error, sqlite3.DataError):
            size = limits.megabytes(connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH))
            raise UnreadableDatabase(f"holds a value of more than {size}", TOO_LARGE) from error
        if str(error) == "interrupted":
            raise UnreadableDatabase(f"a query takes longer than {limits.QUERY_SECONDS:.0f} s", TOO_LARGE) from error
        raise UnreadableDatabase(f"cannot be queried: {error}") from error


def rows_of(
    connection: sqlite3.Connection,
    table: str,
    columns: Sequence[str],
    rest: str = "",
    params: Sequence[Any] = (),
    *,
    left_out: Callable[[str, str], None],
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table, with None for values that are too long; `left_out` gets a row's number and the reason.

    `rest` follows the name of the table in the query.
    """
    shown = ", ".join(map(quoted, columns))
    count = 0
    try:
        for row in query(connection, f"SELECT {shown} FROM {quoted(table)} {rest}", params):  # noqa: S608 - quoted
            yield row
            count += 1
    except UnreadableDatabase as error:
        if error.code != TOO_LARGE:
            raise
        if not isinstance(error.__cause__, sqlite3.DataError):
            left_out(str(count + 1), f"{error}; this row and those after it were not read")
            return
    else:
        return
    numbers = list(query(connection, f"SELECT rowid FROM {quoted(table)} {rest}", params))  # noqa: S608 - quoted
    for (number,) in numbers[count:]:
        yield tuple(_value_at(connection, table, column, number, left_out) for column in columns)


def _value_at(
    connection: sqlite3.Connection, table: str, column: str, number: int, left_out: Callable[[str, str], None]
) -> Any:
    """Return one value by the number of its row, or None if it is too long."""
    try:
        sql = f"SELECT {quoted(column)} FROM {quoted(table)} WHERE rowid = ?"  # noqa: S608 - quoted
        return next(query(connection, sql, (number,)), (None,))[0]
    except UnreadableDatabase as error:
        if error.code != TOO_LARGE:
            raise
        left_out(str(number), f"{column} {error}")
        return None


def quoted(name: str) -> str:
    """Return a name as SQL takes it, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def lacks(path: Path, table: str, word: str) -> bool:
    """Return whether a small database at rest has the table and surely not the word, at the price of reading the file.

    SQLite keeps a short text in one piece. False wherever that does not tell: the database has a log, is large, not
    whole, or in another encoding.
    """
    try:
        if path.stat().st_size > MOST_BYTES_IN_MEMORY or any(
            _beside(path, log).exists() for log in ("-wal", "-journal")
        ):
            return False
        data = path.read_bytes()
    except OSError:
        return False
    page_bytes, pages = int.from_bytes(data[16:18]), int.from_bytes(data[28:32])
    is_whole = is_sqlite(data) and (page_bytes if page_bytes > 1 else 65536) * pages == len(data)
    return is_whole and data[56:60] == _UTF8 and table.encode() in data and word.encode() not in data


def is_sqlite(head: bytes) -> bool:
    """Return whether a file that begins like this is a SQLite database."""
    return head.startswith(_MAGIC)


def fingerprint(path: Path) -> tuple[int, int, int, int]:
    """Return size and modification time of the database and of its -wal, which change with each write."""
    try:
        original = Path(os.path.realpath(path, strict=True))
        status = original.stat()
    except OSError as error:
        raise _unreadable(error) from error
    try:
        log = _beside(original, "-wal").stat()
    except OSError:
        log = None
    # An empty log comes and goes as the program starts and ends, without any change.
    log_size, log_time = (log.st_size, log.st_mtime_ns) if log and log.st_size else (0, 0)
    return status.st_size, status.st_mtime_ns, log_size, log_time


def remove_stale_copies() -> list[Path]:
    """Delete the copies of earlier runs that were killed."""
    import shutil
    import tempfile

    removed = []
    for folder in Path(tempfile.gettempdir()).glob("copilog-*"):
        named = _COPY_FOLDER.fullmatch(folder.name)
        if named and _is_folder_of_this_user(folder) and not _is_running(int(named[1])):
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder)
    return removed


def remove_own_copies() -> None:
    """Delete all copies of this process, for one that is about to end while its threads are running."""
    import shutil
    import tempfile

    for _ in range(20):  # a thread may be writing into one, or making the next
        folders = list(Path(tempfile.gettempdir()).glob(f"copilog-{os.getpid()}-*"))
        if not folders:
            return
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def _original(path: Path) -> Path:
    """Return the real path of the database, since SQLite keeps -wal and -journal beside the target of a link."""
    original = Path(os.path.realpath(path, strict=True))
    mode = original.stat().st_mode
    if stat.S_ISDIR(mode):
        raise UnreadableDatabase("is a folder, not a database")
    if not stat.S_ISREG(mode):  # opening a pipe would block
        raise UnreadableDatabase("is not a regular file")
    header = _header(original)
    if not header:
        raise UnreadableDatabase("is empty (0 bytes)", "empty-file")
    if not is_sqlite(header):
        raise UnreadableDatabase("is not a SQLite database")
    if len(header) < _HEADER_BYTES:
        raise UnreadableDatabase("breaks off within its first 100 bytes")
    return original


@contextmanager
def _private_folder() -> Iterator[Path]:
    import shutil  # which is slow to import, as is `tempfile`
    import tempfile

    folder = tempfile.mkdtemp(prefix=f"copilog-{os.getpid()}-")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _data_at_rest(original: Path) -> bytes | None:
    """Return the bytes of a small database if all of it is in its file and was not written meanwhile; else None."""
    before = _state(original)
    if before[1:] != [None, None] or original.stat().st_size > MOST_BYTES_IN_MEMORY:
        return None
    data = original.read_bytes()
    # A database with a log cannot be opened without a folder for the log.
    is_whole = data[18:20] == _WITHOUT_LOG and _state(original) == before
    return data if is_whole and hasattr(sqlite3.Connection, "deserialize") else None


def _copy(original: Path, copy: Path) -> list[str]:
    """Copy a database with its log. Return notes on the copy."""
    for attempt in range(COPY_ATTEMPTS):
        before = _state(original)
        for suffix in _FILES:
            _copy_file(_beside(original, suffix), _beside(copy, suffix), is_optional=suffix != "")
        if _state(original) == before:
            _refuse_shared_journal(_beside(copy, "-journal"))
            return []
        time.sleep(FIRST_WAIT_SECONDS * 2**attempt)
    for suffix in _FILES:
        _beside(copy, suffix).unlink(missing_ok=True)
    _back_up(original, copy)
    return [BACKUP_NOTE]


def _state(original: Path) -> list[object]:
    """Return a value that is equal before and after if no program wrote in between."""
    state: list[object] = []
    for suffix, telling in _FILES.items():
        path = _beside(original, suffix)
        try:
            status = path.stat()
            state.append((status.st_ino, status.st_size, status.st_mtime_ns, _header(path)[telling]))
        except FileNotFoundError:
            state.append(None)
    return state


def _copy_file(source: Path, target: Path, *, is_optional: bool) -> None:
    from shutil import copyfileobj

    target.unlink(missing_ok=True)
    try:
        reader = source.open("rb")
    except FileNotFoundError:
        if is_optional:
            return
        raise
    with reader, _create(target) as writer:
        copyfileobj(reader, writer, 1 << 20)


def _refuse_shared_journal(journal: Path) -> None:
    """Refuse a journal of a transaction over several databases.

    Rolling it back would make SQLite search the other databases' journals at their original paths, and delete them.
    """
    if not journal.exists() or journal.stat().st_size < _HEADER_BYTES:
        return
    with journal.open("rb") as file:
        is_hot = file.read(1) != b"\0"
        file.seek(-len(_SUPER_JOURNAL_MAGIC), os.SEEK_END)
        is_shared = file.read() == _SUPER_JOURNAL_MAGIC
    if is_hot and is_shared:
        raise UnreadableDatabase("was left in the middle of a transaction over several databases")


def _back_up(original: Path, copy: Path) -> None:
    """Read the original over a read-only connection, if that creates no file beside it."""
    is_wal = _header(original)[18:20] == b"\x02\x02" or _beside(original, "-wal").exists()
    if is_wal and not (_beside(original, "-wal").exists() and _beside(original, "-shm").exists()):
        raise UnreadableDatabase("kept changing while it was copied", "changed-while-reading")
    deadline = time.monotonic() + BACKUP_WAIT_SECONDS

    def give_up_when_late(status: int, _remaining: int, _total: int) -> None:
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() > deadline:
            raise UnreadableDatabase("is locked by the program that uses it", "changed-while-reading")

    location = original.as_posix()
    location = location if location.startswith("/") else "/" + location  # a Windows drive
    address = f"file://{quote(os.fsencode(location))}?mode=ro"
    _create(copy).close()
    with (
        closing(sqlite3.connect(address, uri=True, timeout=0.1)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target, progress=give_up_when_late, sleep=0.005)


@contextmanager
def _connection(copy: Path | str, data: bytes | None = None) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        if data is not None:
            connection.deserialize(data)
        held = len(data) if data is not None else _size_on_disk(Path(copy))
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _longest_value(held))
        connection.text_factory = bytes
        connection.execute("PRAGMA trusted_schema = OFF")  # the schema comes from another program
        connection.execute("PRAGMA synchronous = OFF")  # the copy is worthless after a power cut
        connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # damage shows here, not later
        yield connection


def _size_on_disk(copy: Path) -> int:
    return sum(path.stat().st_size for suffix in _FILES if (path := _beside(copy, suffix)).exists())


def _longest_value(size: int) -> int:
    """Return how long a value may be: a stored one fits into its database, a computed one is hardly longer."""
    return min(limits.largest_record(), max(2 * size, _SHORTEST_LIMIT))


def _beside(database: Path, suffix: str) -> Path:
    return database.with_name(database.name + suffix)


def _header(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEADER_BYTES)


def _create(path: Path) -> BinaryIO:
    """Create a file that only this user can read."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb")


def _text(name: bytes | str) -> str:
    return name.decode("utf-8", errors="replace") if isinstance(name, bytes) else name


def _unreadable(error: OSError) -> UnreadableDatabase:
    if isinstance(error, FileNotFoundError):
        return UnreadableDatabase("is not there", "unreadable")
    if isinstance(error, PermissionError):
        return UnreadableDatabase("may not be read by this user", "unreadable")
    return UnreadableDatabase(f"cannot be copied: {error.strerror or error}", "unreadable")


def _is_folder_of_this_user(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and (sys.platform == "win32" or status.st_uid == os.getuid())


def _is_running(pid: int) -> bool:
    if sys.platform == "win32":  # on Windows, os.kill(pid, 0) would send Ctrl+C
        import ctypes

        query_limited_information, still_active = 0x1000, 259
        kernel = ctypes.WinDLL("kernel32")
        process = kernel.OpenProcess(query_limited_information, False, pid)
        if not process:
            return False
        code = ctypes.c_ulong()
        kernel.GetExitCodeProcess(process, ctypes.byref(code))
        kernel.CloseHandle(process)
        return code.value == still_active
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True
