"""Databases are read from a copy: without a trace, whatever the damage, and with nothing left over."""

import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from copilog import sqliteio
from copilog.errors import BadFile
from copilog.sqliteio import UnreadableDatabase, open_copy, query
from tests.database_builders import HOLD_OPEN, is_posix, listing, make_database, other_process, values

pytestmark = pytest.mark.usefixtures("private_temp")


@pytest.mark.parametrize("journal_mode", ["delete", "wal", "persist", "truncate"])
def test_a_closed_database_is_read_without_a_trace(tmp_path: Path, private_temp: Path, journal_mode: str) -> None:
    database = make_database(tmp_path / "owner" / "state.vscdb", journal_mode)
    before = listing(database.parent)

    assert values(database) == [b"row 0", b"row 1", b"row 2"]
    assert listing(database.parent) == before
    assert list(private_temp.iterdir()) == []


def test_text_and_blobs_come_as_bytes_even_if_not_utf8(tmp_path: Path) -> None:
    database = make_database(tmp_path / "state.vscdb", rows=0)
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("INSERT INTO item VALUES (?), (CAST(? AS TEXT)), (7)", (b"\xffblob", b"\xfftext"))

    assert values(database) == [b"\xffblob", b"\xfftext", 7]


def test_a_link_leads_to_the_log_beside_its_target(tmp_path: Path) -> None:
    database = make_database(tmp_path / "owner" / "real.db", "wal")
    link = tmp_path / "link.db"
    link.symlink_to(database)

    with other_process(HOLD_OPEN, database, "INSERT INTO item VALUES ('in the log')"):
        assert values(link)[-1] == b"in the log"


def cut(database: Path, size: int) -> None:
    os.truncate(database, size)


@pytest.mark.parametrize(
    ("spoil", "reason", "code"),
    [
        (lambda database: cut(database, 0), "empty", "empty-file"),
        (lambda database: cut(database, 50), "breaks off", "unreadable-database"),
        (lambda database: cut(database, 5000), "damaged", "unreadable-database"),
        (lambda database: database.write_bytes(b"{}" * 900), "not a SQLite database", "unreadable-database"),
        (lambda database: database.write_bytes(b"SQLite format 3\0" + b"\xff" * 900), "damaged", "unreadable-database"),
        (lambda database: database.unlink(), "not there", "unreadable"),
        (lambda database: (database.unlink(), database.mkdir()), "folder", "unreadable-database"),
        (lambda database: (database.unlink(), database.symlink_to(database)), "cannot be copied", "unreadable"),
    ],
    ids=["empty", "no-header", "cut", "json", "noise", "missing", "folder", "circle"],
)
def test_a_file_that_is_not_a_database_is_reported_clearly(
    tmp_path: Path, private_temp: Path, spoil: Callable[[Path], object], reason: str, code: str
) -> None:
    database = make_database(tmp_path / "state.vscdb", rows=500)
    spoil(database)

    with pytest.raises(UnreadableDatabase, match=reason) as caught, open_copy(database):
        pass
    assert isinstance(caught.value, BadFile)
    assert caught.value.code == code
    assert list(private_temp.iterdir()) == []


@is_posix
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.db")

    with pytest.raises(UnreadableDatabase, match="regular"), open_copy(tmp_path / "pipe.db"):
        pass


@is_posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_read_permission_is_reported_clearly(tmp_path: Path) -> None:
    database = make_database(tmp_path / "state.vscdb")
    database.chmod(0)

    with pytest.raises(UnreadableDatabase, match="may not be read"), open_copy(database):
        pass


def test_damage_that_shows_late_is_the_same_error(tmp_path: Path) -> None:
    database = make_database(tmp_path / "state.vscdb", rows=5000)
    content = bytearray(database.read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    database.write_bytes(content)

    with open_copy(database) as snapshot:
        with pytest.raises(UnreadableDatabase, match="malformed"):
            list(query(snapshot.connection, "SELECT value FROM item"))
        with pytest.raises(UnreadableDatabase, match="no such table"):
            list(query(snapshot.connection, "SELECT 1 FROM elsewhere"))
        with pytest.raises(sqlite3.ProgrammingError):
            list(query(snapshot.connection, "SELECT ?", (1, 2)))


@is_posix
def test_a_copy_is_private_and_gone_after_an_error(tmp_path: Path, private_temp: Path) -> None:
    database = make_database(tmp_path / "state.vscdb", "wal")
    database.chmod(0o644)

    with open_copy(database):
        [folder] = private_temp.iterdir()
        assert folder.name.startswith(f"copilog-{os.getpid()}-")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert list(private_temp.iterdir()) == []
    with pytest.raises(RuntimeError, match="ours"), open_copy(database):
        raise RuntimeError("ours")
    assert list(private_temp.iterdir()) == []


def test_the_copy_cannot_be_written_by_mistake(tmp_path: Path) -> None:
    with (
        open_copy(make_database(tmp_path / "state.vscdb")) as snapshot,
        pytest.raises(UnreadableDatabase, match="readonly"),
    ):
        list(query(snapshot.connection, "DELETE FROM item"))


def test_stale_copies_are_deleted_and_others_stay(private_temp: Path, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    names = [f"copilog-{ended.pid}-abc", f"copilog-{os.getpid()}-abc", "copilog-notes", "else-1-abc"]
    for name in names:
        (private_temp / name).mkdir()
        (private_temp / name / "copy.db").touch()
    (private_temp / f"copilog-{ended.pid}-link").symlink_to(tmp_path)
    (private_temp / f"copilog-{ended.pid}-file").touch()

    assert sqliteio.remove_stale_copies() == [private_temp / names[0]]
    assert sorted(path.name for path in private_temp.iterdir() if path.is_dir() and not path.is_symlink()) == sorted(
        names[1:]
    )
    assert len(list(private_temp.iterdir())) == 5


def test_tables_and_their_columns(tmp_path: Path) -> None:
    database = make_database(tmp_path / "session-store.db")
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute('CREATE TABLE "odd ""name" (id INTEGER PRIMARY KEY, "two words")')
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "INSERT INTO sqlite_master VALUES"
            " ('table', 'strange', 'strange', 0, 'CREATE VIRTUAL TABLE strange USING missing(a)')"
        )

    with open_copy(database) as snapshot:
        assert sqliteio.tables(snapshot.connection) == {
            "item": ["value"],
            'odd "name': ["id", "two words"],
            "strange": [],
        }


def test_a_fingerprint_changes_with_the_log(tmp_path: Path) -> None:
    database = make_database(tmp_path / "state.vscdb", "wal")
    at_rest = sqliteio.fingerprint(database)

    (tmp_path / "state.vscdb-wal").touch()
    assert sqliteio.fingerprint(database) == at_rest
    with other_process(HOLD_OPEN, database, "INSERT INTO item VALUES ('late')"):
        assert sqliteio.fingerprint(database)[:2] == at_rest[:2]
        assert sqliteio.fingerprint(database) != at_rest

    with pytest.raises(UnreadableDatabase, match="not there"):
        sqliteio.fingerprint(tmp_path / "missing.db")


def test_is_sqlite() -> None:
    assert sqliteio.is_sqlite(b"SQLite format 3\0and so on")
    assert not sqliteio.is_sqlite(b"SQLite format 2")
    assert not sqliteio.is_sqlite(b"")


class Watch:
    """What Python does below a folder; audit hooks stay for good, so this one only listens while `folder` is set."""

    CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.utime", "os.chmod", "os.truncate", "os.link")

    def __init__(self) -> None:
        self.folder: str | None = None
        self.reads: list[str] = []
        self.offences: list[tuple[str, tuple[Any, ...]]] = []
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None or not arguments or not str(arguments[0]).removeprefix("file:").startswith(self.folder):
            return
        if event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND):
            self.reads.append(str(arguments[0]))
        elif event in ("open", "sqlite3.connect", *self.CHANGES):
            self.offences.append((event, arguments))


@pytest.fixture(scope="module")
def watch() -> Watch:
    return Watch()


@pytest.mark.parametrize("journal_mode", ["delete", "wal"])
def test_nothing_is_opened_for_writing_beside_the_original(watch: Watch, tmp_path: Path, journal_mode: str) -> None:
    database = make_database(tmp_path / "owner" / "state.vscdb", journal_mode)
    watch.reads.clear()
    watch.folder = str(database.parent)
    try:
        assert len(values(database)) == 3
        sqliteio.fingerprint(database)
    finally:
        watch.folder = None

    assert str(database) in watch.reads
    assert watch.offences == []


def test_a_database_is_copied_once_while_copies_are_cached(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE a (b)")
    with sqliteio.keep_copies():
        connections = []
        for _ in range(3):
            with sqliteio.open_copy(path) as snapshot:
                connections.append(snapshot.connection)
        assert len(set(map(id, connections))) == 1

        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("INSERT INTO a VALUES (1)")
        with sqliteio.open_copy(path) as snapshot:
            assert list(sqliteio.query(snapshot.connection, "SELECT b FROM a")) == [(1,)]
    with pytest.raises(sqlite3.ProgrammingError):
        connections[0].execute("SELECT 1")
    assert not list(Path(tempfile.gettempdir()).glob(f"copilog-{os.getpid()}-*"))


@pytest.mark.parametrize("journal_mode", ["delete", "truncate", "persist", "wal"])
@pytest.mark.parametrize("kept", [10_000, 5_000, 150])
def test_a_copy_in_memory_is_like_one_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal_mode: str, kept: int
) -> None:
    path = make_database(tmp_path / "some" / "state.vscdb", journal_mode, rows=200)
    path.write_bytes(path.read_bytes()[:kept])  # whole, or cut off somewhere

    def seen() -> Any:
        try:
            with open_copy(path) as snapshot:
                rows = list(query(snapshot.connection, "SELECT value FROM item ORDER BY rowid"))
                return rows, sqliteio.tables(snapshot.connection), snapshot.notes
        except UnreadableDatabase as error:
            return str(error), error.code

    in_memory = seen()
    monkeypatch.setattr(sqliteio, "MOST_BYTES_IN_MEMORY", 0)

    assert in_memory == seen()


def test_a_small_database_at_rest_needs_no_folder(tmp_path: Path, private_temp: Path) -> None:
    path = make_database(tmp_path / "some" / "state.vscdb")

    with open_copy(path) as snapshot:
        assert not list(private_temp.iterdir())
        with pytest.raises(UnreadableDatabase):
            list(query(snapshot.connection, "INSERT INTO item VALUES (1)"))


def _store(path: Path, key: str, *, encoding: str = "UTF-8", journal_mode: str = "delete") -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA encoding = '{encoding}'")
        connection.execute(f"PRAGMA journal_mode = {journal_mode}")
        connection.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        connection.executemany(
            "INSERT INTO ItemTable VALUES (?, ?)", [(f"other {number}", b"x" * 9000) for number in range(50)]
        )
        connection.execute("INSERT INTO ItemTable VALUES (?, ?)", (key, b"y" * 90_000))
    return path


def test_a_word_counts_as_missing_only_in_a_complete_database_at_rest(tmp_path: Path) -> None:
    without = _store(tmp_path / "without.db", "something else")
    torn = tmp_path / "torn.db"
    torn.write_bytes(without.read_bytes()[:-4096])
    busy = _store(tmp_path / "busy.db", "something else")
    (tmp_path / "busy.db-wal").write_bytes(b"more")

    assert sqliteio.lacks(without, "ItemTable", "chat.customModes")
    assert not sqliteio.lacks(_store(tmp_path / "with.db", "chat.customModes"), "ItemTable", "chat.customModes")
    assert not sqliteio.lacks(without, "OtherTable", "chat.customModes")
    assert not sqliteio.lacks(torn, "ItemTable", "chat.customModes")
    assert not sqliteio.lacks(busy, "ItemTable", "chat.customModes")
    assert not sqliteio.lacks(tmp_path / "missing.db", "ItemTable", "chat.customModes")
    wide = _store(tmp_path / "wide.db", "chat.customModes", encoding="UTF-16")
    assert not sqliteio.lacks(wide, "ItemTable", "chat.customModes")
