"""Open the archive's file: its path, its permissions, and the migration of its tables."""

from __future__ import annotations

import os
import sqlite3
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from copilog.errors import CopilogError, UsageError
from copilog.store.checksum_tables import clear_rows
from copilog.store.migrations import MIGRATIONS
from copilog.store.schema import APPLICATION_ID

BUSY_SECONDS = 30.0
CACHE_KIB = 8_192
MAPPED_BYTES = 1 << 30
CHECKPOINT_PAGES = 4_096  # often enough that little is left for the end, when other processes are idle
OLDEST_SQLITE = (3, 35, 0)  # first with trigrams and RETURNING
FILE_SUFFIXES = ("", "-wal", "-shm", "-journal", ".lock")

# The files of the connections that this process has open. On POSIX, closing any handle of a file releases all locks
# that the process has on it, including those of SQLite: the header is read only while no connection is open. An open
# connection also keeps the file's number from being given to another file.
_open_files: dict[int, tuple[int, int]] = {}

_NO_ARCHIVE = "{}: is not an archive of copilog, and was not changed; choose another file with --archive"
_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_APPLICATION_ID = slice(68, 72)


class ArchiveError(CopilogError):
    """The archive cannot be used; the message says what to do."""


def archive_path(named: Path | None = None) -> Path:
    """Return the path of the named archive, else that of COPILOG_ARCHIVE, else the user's own."""
    if named is not None:
        return named
    variable = os.environ.get("COPILOG_ARCHIVE")
    return Path(variable) if variable else own_archive_path()


def own_archive_path() -> Path:
    """Return the path of the user's own archive, which is the default."""
    return _data_folder() / "copilog" / "archive.db"


def open_database(path: Path, *, write: bool, wait_seconds: float | None = None) -> sqlite3.Connection:
    """Open an archive; for writing, create or migrate it if needed. `wait_seconds`: the wait for a lock, to read.

    `with connection:` is one transaction, including statements that read after the first write.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise ArchiveError(f"Python's SQLite is {sqlite3.sqlite_version}; the archive needs 3.35 or newer")
    path = real_path(path)
    try:
        is_there = _is_archive(path)
        if write:
            _make_private(path)
        elif not is_there:
            raise ArchiveError(f"{path}: there is no archive yet; `copilog scan` makes one")
        connection = _connect_to_write(path, is_new=not is_there) if write else _connect_to_read(path, wait_seconds)
    except OSError as error:
        raise ArchiveError(f"{path}: the archive cannot be opened: {error.strerror or error}") from None
    except sqlite3.Error as error:
        if _code_of(error) == sqlite3.SQLITE_NOTADB:  # it was one in the last check
            raise UsageError(_NO_ARCHIVE.format(path)) from None
        reason = fault_of(error, path)
        raise ArchiveError(reason or f"{path}: the archive cannot be opened: {error}") from None
    return connection


def real_path(path: Path) -> Path:
    """Return the real path of an archive, with links resolved: other files are created next to the file itself."""
    return Path(os.path.realpath(path))


def fault_of(error: BaseException | None, path: Path) -> str | None:
    """Return the fault of an archive and what to do, if an error of SQLite shows it."""
    reason = _REASONS.get(_code_of(error))
    return f"{path}: {reason}" if reason is not None else None


def _code_of(error: BaseException | None) -> int:
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else -1


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run a transaction: all or nothing, even if the process is killed. Its reads and writes see one state.

    Within another transaction it is a part of that one.
    """
    is_within_another = connection.in_transaction
    if is_within_another:
        yield
        return
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        reason = fault_of(error, _path_of(connection))
        if reason is not None:
            raise ArchiveError(reason) from None
        raise


_REASONS = {
    sqlite3.SQLITE_READONLY: "the archive cannot be written: it was opened read-only, or the permissions of its file "
    "or folder forbid it",
    sqlite3.SQLITE_BUSY: f"another process has been writing to the archive for {BUSY_SECONDS:g} s; try again later",
    sqlite3.SQLITE_FULL: "the disk is full, so the archive cannot be written; its content is intact",
    sqlite3.SQLITE_CORRUPT: "the archive is damaged. Keep this file: it may be the only copy of conversations whose "
    "sources are gone. `copilog archive check` names what is damaged, and `copilog archive salvage` makes a new "
    "archive of everything that can still be read; the sources are unchanged",
}


def _path_of(connection: sqlite3.Connection) -> Path:
    (name,) = connection.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()
    return Path(os.fsdecode(name))


def _data_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path(os.environ.get("XDG_DATA_HOME", "").strip() or Path.home() / ".local" / "share")


# --- the file -------------------------------------------------------------------------------------------------------


def _is_archive(path: Path) -> bool:
    """Return whether there is an archive at a path; raise if the path is anything else. Nothing is written."""
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; the archive is a file, such as {path / 'archive.db'}")
    try:
        if (
            path.stat().st_size == 0
        ):  # a file whose process ended after creating it, or another file that had this inode number
            return False
        if _file_id(path) in list(_open_files.values()):
            return True
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except FileNotFoundError:
        return False
    if not header.startswith(_MAGIC) or int.from_bytes(header[_APPLICATION_ID], "big") != APPLICATION_ID:
        raise UsageError(_NO_ARCHIVE.format(path))
    return True


def _file_id(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_dev, state.st_ino


def _make_private(path: Path) -> None:
    """Let only the user read the archive, whatever the umask is. SQLite's other files get the same permissions."""
    _make_folder(path.parent)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    if sys.platform == "win32":  # on Windows, the user's folders are private by default
        return
    if path.parent == (_data_folder() / "copilog"):
        _restrict_permissions(path.parent, 0o700)
    for suffix in FILE_SUFFIXES:
        _restrict_permissions(path.with_name(path.name + suffix), 0o600)
    if os.access(path, os.W_OK):
        for suffix in ("-wal", "-shm"):  # created while the archive itself was read-only
            _make_writable(path.with_name(path.name + suffix))


def _make_folder(folder: Path) -> None:
    """Create a folder and its parents, for this user only."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _restrict_permissions(path: Path, mode: int) -> None:
    with suppress(FileNotFoundError, PermissionError):  # leave the permissions of other users' files alone
        if path.stat().st_mode & 0o777 & ~mode:
            path.chmod(mode)


def _make_writable(path: Path) -> None:
    with suppress(FileNotFoundError, PermissionError):
        if not path.stat().st_mode & 0o200:
            path.chmod(0o600)


# --- connections ----------------------------------------------------------------------------------------------------


class _ArchiveConnection(sqlite3.Connection):
    """A connection that counts as open in `_open_files` until it is closed or collected."""

    def remember_file(self, path: Path) -> None:
        _open_files[id(self)] = _file_id(path)
        weakref.finalize(self, _open_files.pop, id(self), None)

    def close(self) -> None:
        super().close()
        _open_files.pop(id(self), None)


def _connect_to_write(path: Path, *, is_new: bool) -> _ArchiveConnection:
    connection = sqlite3.connect(
        path,
        timeout=BUSY_SECONDS,
        isolation_level="IMMEDIATE",
        cached_statements=256,
        factory=_ArchiveConnection,
    )
    connection.remember_file(path)
    try:
        # Another process that was creating it may have been killed: SQLite rolls back partial writes, also of the mark.
        if is_new or connection.execute("PRAGMA page_count").fetchone() == (0,):
            # Before anything else, and into the file itself: from now on it is recognised as an archive.
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        _refuse_others(connection, path)
        _set_wal(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = FAST")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        connection.execute("PRAGMA temp_store = MEMORY")
        _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_wal(connection: sqlite3.Connection) -> None:
    """Let readers continue while another process writes. Two that create the archive at once may briefly collide."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _connect_to_read(path: Path, wait_seconds: float | None) -> _ArchiveConnection:
    address = path.as_uri() + "?mode=ro"
    wait = BUSY_SECONDS if wait_seconds is None else wait_seconds
    try:
        return _reader(address, path, wait)
    except sqlite3.OperationalError:
        log = path.with_name(path.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise
        # A read-only folder: SQLite cannot create its -shm file, and no other process writes either.
        return _reader(address + "&immutable=1", path, wait)


def _reader(address: str, path: Path, wait_seconds: float) -> _ArchiveConnection:
    connection = sqlite3.connect(
        address, uri=True, timeout=wait_seconds, check_same_thread=False, factory=_ArchiveConnection
    )
    connection.remember_file(path)
    try:
        map_file(connection)
        connection.execute("PRAGMA temp_store = MEMORY")
        _refuse_others(connection, path)
        version = _version(connection)
        _refuse_newer(version, path)
        if version < len(MIGRATIONS):
            raise ArchiveError(
                f"{path}: was made by an older copilog (schema {version}, this one needs {len(MIGRATIONS)}); "
                "`copilog scan` brings it up to date"
            )
    except BaseException:
        connection.close()
        raise
    return connection


def map_file(connection: sqlite3.Connection) -> None:
    """Map the file into memory: quicker, but it counts as memory of a process that reads all of it."""
    connection.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")


@contextmanager
def unmapped(connection: sqlite3.Connection) -> Iterator[None]:
    """Read a large value without mapping the file, of which all pages that are read would count as memory."""
    (size,) = connection.execute("PRAGMA mmap_size").fetchone() or (0,)
    connection.execute("PRAGMA mmap_size = 0")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA mmap_size = {size}")


# --- migrations -----------------------------------------------------------------------------------------------------


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    _refuse_newer(_version(connection), path)
    while _version(connection) < len(MIGRATIONS):
        with transaction(connection):
            version = _version(connection)  # another process may have been faster
            if version < len(MIGRATIONS):
                for statement in _statements(MIGRATIONS[version]):
                    connection.execute(statement)
                clear_rows(connection)
                connection.execute(f"PRAGMA user_version = {version + 1}")


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _refuse_others(connection: sqlite3.Connection, path: Path) -> None:
    """Raise if the file was replaced by one that is not an archive since its header was read."""
    if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
        raise UsageError(_NO_ARCHIVE.format(path))


def _refuse_newer(version: int, path: Path) -> None:
    if version > len(MIGRATIONS):
        raise ArchiveError(
            f"{path.name} was made by a newer copilog (schema {version}, this one supports {len(MIGRATIONS)}); "
            f"upgrade, or use --archive PATH"
        )


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script, each of which ends at the end of a line."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        raise ValueError(f"a migration breaks off: {statement.strip()[:60]}")


# --- one scan at a time ---------------------------------------------------------------------------------------------


class ScanLock:
    """The lock of the only process that scans into an archive; the system releases it when the process ends.

    Another process waits for `wait_seconds` and then raises ArchiveError, which names the process with the lock.
    """

    def __init__(self, archive: Path, wait_seconds: float = 60.0) -> None:
        archive = real_path(archive)
        self.path = archive.with_name(archive.name + ".lock")
        self.wait_seconds = wait_seconds
        self._handle: int | None = None

    def __enter__(self) -> ScanLock:
        _make_folder(self.path.parent)
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._wait(handle)
        except BaseException:
            os.close(handle)
            raise
        _restrict_permissions(self.path, 0o600)
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, b"%d\n" % os.getpid())
        self._handle = handle
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            os.close(self._handle)  # releases the lock; the file stays, as another process may wait with it open
            self._handle = None

    def _wait(self, handle: int) -> None:
        deadline = time.monotonic() + self.wait_seconds
        while not _try_lock(handle):
            if time.monotonic() >= deadline:
                raise ArchiveError(
                    f"{self.path.with_suffix('')}: another scan ({self._holder()}) is running on this archive; "
                    f"gave up after {self.wait_seconds:g} s, try again when it has ended"
                )
            time.sleep(0.05)

    def _holder(self) -> str:
        try:
            number = self.path.read_text(encoding="ascii").strip()
        except OSError:
            number = ""
        return f"process {number}" if number.isdigit() else "another process"


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, 1 << 20, os.SEEK_SET)  # after the written bytes, so that others can read the number
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
