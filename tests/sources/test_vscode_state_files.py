"""VS Code's store as a file: odd values, other databases, and one that VS Code is writing to."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from copilog.sources.base import Found, Probe
from copilog.sources.roots import StorageFolder
from copilog.sources.vscode.state_database import INDEX, SESSIONS
from copilog.sqliteio import UnreadableDatabase
from tests.sources.state_builders import SOURCE, codes, entry, index, index_of, make_store, read, session

# --- values and files -------------------------------------------------------------------------------------------


def test_text_and_blob_values_are_the_same(tmp_path: Path) -> None:
    text = json.dumps(index_of(entry(title="Ebbe 🌊")), ensure_ascii=False)
    as_text = make_store(tmp_path / "text.vscdb", {INDEX: text})
    as_blob = make_store(tmp_path / "blob.vscdb", {INDEX: text.encode()})

    [[one], [other]] = (read(path)[0] for path in (as_text, as_blob))

    assert one.title == other.title == "Ebbe 🌊"
    assert one.extra == other.extra


def test_invalid_utf8_in_a_value_is_repaired_and_reported(tmp_path: Path) -> None:
    value = json.dumps(index_of(entry(title="Ebbe X Flut"))).encode().replace(b"X", b"\xff")

    [stub], ledger = read(make_store(tmp_path / "state.vscdb", {INDEX: value}))

    assert stub.title == "Ebbe \ufffd Flut"
    assert codes(ledger) == ["invalid-utf8"]


@pytest.mark.parametrize("value", [b"", b"{", b"\0\0", "not json"])
def test_a_value_that_is_not_json_loses_only_its_row(tmp_path: Path, value: Any) -> None:
    path = make_store(tmp_path / "state.vscdb", {INDEX: value, SESSIONS: [session()]})

    for conversations, ledger in (read(path), index(path)):
        assert [made.native_id for made in conversations] == ["s1"]
        assert [(bad.code, bad.table, bad.row) for bad in ledger.bad] == [("bad-json", "ItemTable", INDEX)]


def test_a_missing_value_loses_only_its_row(tmp_path: Path) -> None:
    path = make_store(tmp_path / "state.vscdb", {})
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO ItemTable VALUES (?, NULL)", (INDEX,))

    assert codes(read(path)[1]) == ["bad-json"]


def test_a_store_without_chats_is_empty_without_problems(tmp_path: Path) -> None:
    conversations, ledger = read(make_store(tmp_path / "state.vscdb", {"workbench.view": "{}"}))

    assert conversations == []
    assert ledger.diagnostics() == []
    assert ledger.seen == 0


def test_a_database_without_the_table_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "state.vscdb"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE other (key, value)")

    for conversations, ledger in (read(path), index(path)):
        assert conversations == []
        assert codes(ledger) == ["unreadable-database"]


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"", "empty-file"), (b"{}", "unreadable-database"), (b"SQLite format 3\0", "unreadable-database")],
)
def test_a_store_that_is_not_a_database_is_refused(tmp_path: Path, data: bytes, code: str) -> None:
    path = tmp_path / "state.vscdb"
    path.write_bytes(data)

    assert SOURCE.claims(Probe(path))
    with pytest.raises(UnreadableDatabase) as caught:
        read(path)
    assert caught.value.code == code


def test_a_table_of_another_shape_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.vscdb"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE ItemTable (name, content)")

    with pytest.raises(UnreadableDatabase):
        read(path)


def test_a_store_is_claimed_by_its_name_or_its_table(tmp_path: Path) -> None:
    renamed = make_store(tmp_path / "copy.db", {})
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE sessions (id)")

    assert SOURCE.claims(Probe(renamed))
    assert SOURCE.claims(Probe(make_store(tmp_path / "state.vscdb.backup", {})))
    assert not SOURCE.claims(Probe(other))


def test_the_store_of_a_folder_is_located_unless_it_is_a_link(tmp_path: Path) -> None:
    folder = StorageFolder(tmp_path, "global", "Code", None)
    assert list(SOURCE.locate(folder)) == []

    make_store(tmp_path / "real.vscdb", {})
    (tmp_path / "state.vscdb").symlink_to(tmp_path / "real.vscdb")
    assert list(SOURCE.locate(folder)) == []

    (tmp_path / "state.vscdb").unlink()
    path = make_store(tmp_path / "state.vscdb", {})
    assert list(SOURCE.locate(folder)) == [Found(path, "vscode-state", application="Code")]


# --- the backup -------------------------------------------------------------------------------------------------


def test_the_backup_is_located_if_the_store_is_gone(tmp_path: Path) -> None:
    folder = StorageFolder(tmp_path, "workspace", "Code", None)
    backup = make_store(tmp_path / "state.vscdb.backup", {INDEX: index_of(entry()), SESSIONS: [session("s2")]})

    assert [found.path for found in SOURCE.locate(folder)] == [backup]
    stubs, ledger = index(backup)
    assert [stub.native_id for stub in stubs] == ["s1", "s2"]
    assert stubs[0].provenance[0].path == str(backup)
    assert codes(ledger) == ["read-from-backup"]

    make_store(tmp_path / "state.vscdb", {})
    assert [found.path.name for found in SOURCE.locate(folder)] == ["state.vscdb"]
    assert codes(read(backup)[1]) == []  # the caller named it, and nothing is wrong


@pytest.mark.parametrize("data", [b"", b"no database", b"SQLite format 3\0", None])
def test_the_backup_is_read_if_the_store_cannot_be_read(tmp_path: Path, data: bytes | None) -> None:
    path, backup = tmp_path / "state.vscdb", tmp_path / "state.vscdb.backup"
    make_store(backup, {INDEX: index_of(entry()), SESSIONS: [session("s2")]})
    if data is None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE other (key, value)")
    else:
        path.write_bytes(data)

    stubs, ledger = index(path)
    assert [stub.native_id for stub in stubs] == ["s1", "s2"]
    assert {stub.provenance[0].path for stub in stubs} == {str(backup)}
    assert codes(ledger) == ["read-from-backup"]
    [conversation], ledger = read(path, "s2")
    assert (conversation.native_id, conversation.provenance[0].path) == ("s2", str(backup))
    assert codes(ledger) == []  # `index` has reported it


def test_a_broken_store_with_a_broken_backup_is_refused(tmp_path: Path) -> None:
    for name in ("state.vscdb", "state.vscdb.backup"):
        (tmp_path / name).write_bytes(b"no database")

    with pytest.raises(UnreadableDatabase):
        index(tmp_path / "state.vscdb")


def test_secrets_are_never_read(tmp_path: Path) -> None:
    marker = "top-secret-marker"
    rows = {
        'secret://{"extensionId":"vscode.github-authentication","key":"github.auth"}': f'{{"token":"{marker}"}}',
        f"secret://{marker}": marker,
        f"{INDEX}.backup": json.dumps(index_of(entry(title=marker))),
        "memento/interactive-session": json.dumps({"history": [marker]}),
        INDEX: index_of(entry()),
        SESSIONS: [session("s2")],
    }
    path = make_store(tmp_path / "state.vscdb", rows)

    for conversations, ledger in (read(path), index(path), read(path, "s2")):
        assert conversations
        assert marker not in msgspec.json.encode([conversations, ledger, ledger.diagnostics()]).decode()


# --- beside a running VS Code -----------------------------------------------------------------------------------

HOLD_OPEN = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA wal_autocheckpoint = 0")
connection.execute("INSERT INTO ItemTable VALUES (?, ?)", sys.argv[2:4])
connection.execute("BEGIN")
connection.execute("DELETE FROM ItemTable")
print("ready", flush=True)
sys.stdin.readline()
"""


@contextmanager
def other_program(path: Path, key: str, value: str) -> Iterator[None]:
    """Run another process that has written a row, is about to delete all, and holds the store open meanwhile."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_OPEN, str(path), key, value],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield
        finally:
            process.kill()


def files_of(folder: Path) -> dict[str, tuple[int, str]]:
    return {
        path.name: (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in folder.iterdir()
        if not path.name.endswith("-shm")  # the other program's own notes
    }


def test_rows_that_are_only_in_the_write_ahead_log_are_read(tmp_path: Path) -> None:
    path = make_store(tmp_path / "state.vscdb", {INDEX: index_of(entry(title="old"))}, "wal")

    with other_program(path, INDEX, json.dumps(index_of(entry(title="new")))):
        assert (tmp_path / "state.vscdb-wal").stat().st_size > 0
        before = files_of(tmp_path)
        [stub], ledger = read(path)
        assert files_of(tmp_path) == before

    assert stub.title == "new"
    assert ledger.diagnostics() == []
