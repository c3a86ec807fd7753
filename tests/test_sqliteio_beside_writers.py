"""Databases that other programs write to are read as they stood at one moment."""

import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from copilog import sqliteio
from copilog.sqliteio import UnreadableDatabase, open_copy, query
from tests.database_builders import HOLD_OPEN, is_posix, listing, make_database, other_process, values

pytestmark = pytest.mark.usefixtures("private_temp")

# Each transaction adds ten rows to one table and ten to another, and gives up at once when something is locked.
KEEP_WRITING = """
import select, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
connection.execute("PRAGMA wal_autocheckpoint = 20")
busy = transactions = 0
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0.002)[0]:
    try:
        connection.execute("BEGIN IMMEDIATE")
        for table in ("item", "twin"):
            connection.executemany(f"INSERT INTO {table} VALUES (?)", [("x" * 300,)] * 10)
        connection.execute("COMMIT")
        transactions += 1
        if transactions % 50 == 0:
            connection.execute("BEGIN")
            connection.execute("DELETE FROM item")
            connection.execute("DELETE FROM twin")
            connection.execute("COMMIT")
    except sqlite3.OperationalError:
        busy += 1
        if connection.in_transaction:
            connection.execute("ROLLBACK")
connection.close()
print(busy, transactions, flush=True)
"""


def end(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate("\n", timeout=30)
    return output


@is_posix
def test_rows_in_the_log_of_a_live_writer_are_seen(tmp_path: Path) -> None:
    database = make_database(tmp_path / "owner" / "session-store.db", "wal")

    with other_process(HOLD_OPEN, database, "INSERT INTO item VALUES ('late')", "BEGIN", "DELETE FROM item") as writer:
        writer.send_signal(signal.SIGSTOP)
        before = listing(database.parent)
        assert [name for name, *_ in before] == ["session-store.db", "session-store.db-shm", "session-store.db-wal"]
        assert values(database) == [b"row 0", b"row 1", b"row 2", b"late"]
        assert listing(database.parent) == before
        writer.send_signal(signal.SIGCONT)
        end(writer)

    before = listing(database.parent)
    assert [name for name, *_ in before] == ["session-store.db"]
    assert values(database) == [b"row 0", b"row 1", b"row 2", b"late"]
    assert listing(database.parent) == before


@is_posix
@pytest.mark.parametrize("journal_mode", ["delete", "wal"])
def test_a_database_with_a_busy_writer_is_read_consistently(tmp_path: Path, journal_mode: str) -> None:
    database = make_database(tmp_path / "busy.db", journal_mode, rows=0)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE twin (value)")

    with other_process(KEEP_WRITING, database) as writer:
        notes = set()
        copies = items = 0
        deadline = time.monotonic() + 30
        while copies < 40 or (not items and time.monotonic() < deadline):  # the writer may be slow to begin
            copies += 1
            with open_copy(database) as snapshot:
                notes.update(snapshot.notes)
                assert list(query(snapshot.connection, "PRAGMA integrity_check")) == [(b"ok",)]
                [(items, twins)] = query(
                    snapshot.connection, "SELECT (SELECT count(*) FROM item), (SELECT count(*) FROM twin)"
                )
                assert items % 10 == 0
                assert items == twins
        busy, transactions = map(int, end(writer).split())

    assert busy == 0 or journal_mode == "delete"  # a backup of a rollback database takes a lock, if a short one
    assert transactions > 0
    assert notes <= {sqliteio.BACKUP_NOTE}


@is_posix
def test_an_unfinished_transaction_is_not_visible(tmp_path: Path) -> None:
    """With a tiny cache, the writer puts uncommitted pages into the database and the old ones into the journal."""
    database = make_database(tmp_path / "owner" / "hot.db", rows=2000)
    statements = ["PRAGMA cache_size = 2", "BEGIN", "UPDATE item SET value = 'changed'"]

    with other_process(HOLD_OPEN, database, *statements) as writer:
        before = listing(database.parent)
        assert [name for name, *_ in before] == ["hot.db", "hot.db-journal"]
        assert b"changed" in database.read_bytes()
        assert values(database)[:2] == [b"row 0", b"row 1"]
        assert listing(database.parent) == before
        writer.kill()
        writer.wait()
        assert values(database)[:2] == [b"row 0", b"row 1"]
        assert listing(database.parent) == before


def test_the_journal_of_several_databases_is_not_rolled_back(tmp_path: Path) -> None:
    database = make_database(tmp_path / "state.vscdb")
    name = b"/elsewhere/state.vscdb-mj12345678"
    journal = bytes.fromhex("d9d505f920a163d7") + bytes(600) + name + bytes(8) + bytes.fromhex("d9d505f920a163d7")
    (tmp_path / "state.vscdb-journal").write_bytes(journal)

    with pytest.raises(UnreadableDatabase, match="several databases"), open_copy(database):
        pass


@pytest.fixture
def restless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each copy look as if the database had changed meanwhile."""
    monkeypatch.setattr(sqliteio, "_state", lambda original: [object()])
    monkeypatch.setattr(sqliteio, "FIRST_WAIT_SECONDS", 0)
    monkeypatch.setattr(sqliteio, "BACKUP_WAIT_SECONDS", 0.2)


@pytest.mark.usefixtures("restless")
def test_a_constantly_changing_database_is_read_by_backup_with_a_note(tmp_path: Path) -> None:
    database = make_database(tmp_path / "100% odd? #1.db", "wal")

    with (
        other_process(HOLD_OPEN, database, "INSERT INTO item VALUES ('late')"),
        open_copy(database) as snapshot,
    ):
        assert list(query(snapshot.connection, "SELECT count(*) FROM item")) == [(4,)]
        assert snapshot.notes == [sqliteio.BACKUP_NOTE]


@pytest.mark.usefixtures("restless")
def test_a_constantly_changing_rollback_database_is_read_by_backup(tmp_path: Path) -> None:
    database = make_database(tmp_path / "owner" / "state.vscdb")
    before = listing(database.parent)

    with open_copy(database) as snapshot:
        assert list(query(snapshot.connection, "SELECT count(*) FROM item")) == [(3,)]
        assert snapshot.notes == [sqliteio.BACKUP_NOTE]
    assert listing(database.parent) == before


@pytest.mark.usefixtures("restless")
def test_a_constantly_changing_wal_database_without_a_writer_is_refused(tmp_path: Path, private_temp: Path) -> None:
    database = make_database(tmp_path / "owner" / "state.vscdb", "wal")
    before = listing(database.parent)

    with pytest.raises(UnreadableDatabase, match="kept changing") as caught, open_copy(database):
        pass
    assert caught.value.code == "changed-while-reading"
    assert listing(database.parent) == before
    assert list(private_temp.iterdir()) == []


@pytest.mark.usefixtures("restless")
def test_a_lock_is_not_waited_for_without_end(tmp_path: Path) -> None:
    database = make_database(tmp_path / "state.vscdb")

    with (
        other_process(HOLD_OPEN, database, "BEGIN EXCLUSIVE"),
        pytest.raises(UnreadableDatabase, match="locked"),
        open_copy(database),
    ):
        pass
