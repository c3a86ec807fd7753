"""Stores are read while the program that owns them writes: at one moment, in nobody's way, and without a trace."""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from copilog.diagnostics import Ledger
from copilog.model import Conversation, prose_of
from copilog.sources.base import Found, Source
from copilog.sources.extension.session_store import SessionStore
from copilog.sources.vscode.state_database import INDEX, TRANSFERS, VSCodeState

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals"),
    pytest.mark.usefixtures("private_temp"),
]

READS, MOST_READS = 25, 5000

# Both writers work in transactions, give up at once when something is locked, and tell at the end how often it was.
BEGINNING = """
import json, select, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
connection.execute("PRAGMA wal_autocheckpoint = 20")
busy = written = 0
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0.002)[0]:
    try:
        connection.execute("BEGIN IMMEDIATE")
"""
END = """
        connection.execute("COMMIT")
        written += 1
    except sqlite3.OperationalError:
        busy += 1
        if connection.in_transaction:
            connection.execute("ROLLBACK")
connection.close()
print(busy, written, flush=True)
"""

# Each transaction adds a session with three turns; now and then the oldest are deleted.
WRITE_SESSIONS = (
    BEGINNING
    + """
        connection.execute("INSERT INTO sessions (id, summary) VALUES (?, ?)", (f"s{written}", "x" * 200))
        for turn in range(3):
            row = (f"s{written}", turn, f"s{written} asks {turn}", "y" * 400)
            connection.execute("INSERT INTO turns (session_id, turn_index, user_message, assistant_response)"
                " VALUES (?, ?, ?, ?)", row)
        if written % 40 == 39:
            connection.execute("DELETE FROM turns WHERE session_id <> ?", (f"s{written}",))
            connection.execute("DELETE FROM sessions WHERE id <> ?", (f"s{written}",))
"""
    + END
)

# Each transaction writes two rows anew, and all of both is of the same generation.
WRITE_STATE = (
    BEGINNING
    + """
        entries = {f"s{n}": {"sessionId": f"s{n}", "title": f"{written}", "lastMessageDate": 1} for n in range(30)}
        transfer = {"file:///home/ana": {"sessionResource": "vscode-chat-session:/t", "generation": f"{written}"}}
        for key, value in ((sys.argv[2], {"version": 1, "entries": entries}), (sys.argv[3], transfer)):
            connection.execute("INSERT OR REPLACE INTO ItemTable VALUES (?, ?)", (key, json.dumps(value)))
"""
    + END
)


def make_store(folder: Path) -> Path:
    return make_database(
        folder / "owner" / "session-store.db",
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, summary TEXT, created_at TEXT DEFAULT (datetime('now')))",
        "CREATE TABLE turns (id INTEGER PRIMARY KEY, session_id TEXT, turn_index INTEGER, user_message TEXT,"
        " assistant_response TEXT, timestamp TEXT DEFAULT (datetime('now')))",
    )


def make_state(folder: Path) -> Path:
    create = "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"
    return make_database(folder / "owner" / "state.vscdb", create)


def make_database(path: Path, *statements: str) -> Path:
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = wal")
        for statement in statements:
            connection.execute(statement)
    return path


def listing(folder: Path) -> list[tuple[str, int, int, str]]:
    """All that an owner could notice: names, sizes, times and contents."""
    return [
        (path.name, path.stat().st_size, path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(folder.iterdir())
    ]


@contextmanager
def writer(script: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes until the block ends."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def end(process: subprocess.Popen[str]) -> tuple[int, int]:
    """Let a writer finish; how often something was locked, and how many transactions it wrote."""
    output, _ = process.communicate("\n", timeout=30)
    busy, written = map(int, output.split())
    return busy, written


def read(source: Source, path: Path) -> list[Conversation]:
    ledger = Ledger(path=str(path), source=source.name)
    conversations = list(source.read(Found(path, source.name), ledger))
    assert ledger.balances()
    assert ledger.bad == []
    assert {note.code for note in ledger.notes} <= {"copied-while-busy"}
    return conversations


def generations_of(conversations: list[Conversation]) -> set[str | None]:
    """The generations that the rows of a state.vscdb are of."""
    transfers = [(stub.extra or {}).get("transfer") for stub in conversations]
    titles = {stub.title for stub, transfer in zip(conversations, transfers, strict=True) if transfer is None}
    return titles | {transfer["generation"] for transfer in transfers if transfer is not None}


def test_sessions_are_read_whole_while_they_are_written(tmp_path: Path, private_temp: Path) -> None:
    store, source = make_store(tmp_path), SessionStore()
    with writer(WRITE_SESSIONS, store) as process:
        wait_for_rows(source, store)
        for _ in range(READS):
            for conversation in read(source, store):
                asked = [prose_of(message.parts) for message in conversation.messages if message.role == "user"]
                assert asked == [f"{conversation.native_id} asks {turn}" for turn in range(3)]
            stubs = list(source.index(Found(store, source.name), Ledger()))
            assert all(stub.title for stub in stubs)
        busy, written = end(process)

    assert busy == 0
    assert written > 0
    assert list(private_temp.iterdir()) == []


def test_rows_of_the_store_of_vscode_are_a_consistent_snapshot(tmp_path: Path, private_temp: Path) -> None:
    state, source = make_state(tmp_path), VSCodeState()
    seen: set[str | None] = set()
    with writer(WRITE_STATE, state, INDEX, TRANSFERS) as process:
        for number in range(MOST_READS):
            generations = generations_of(read(source, state))
            assert len(generations) <= 1
            seen |= generations
            if number >= READS and len(seen) > 1:
                break
        busy, written = end(process)

    assert busy == 0
    assert written > 0
    assert len(seen) > 1  # it did change meanwhile
    assert list(private_temp.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "script", "source"),
    [("session-store.db", WRITE_SESSIONS, SessionStore()), ("state.vscdb", WRITE_STATE, VSCodeState())],
)
def test_nothing_changes_while_a_writer_is_suspended_or_has_ended(
    name: str, script: str, source: Source, tmp_path: Path
) -> None:
    path = make_store(tmp_path) if name == "session-store.db" else make_state(tmp_path)
    with writer(script, path, INDEX, TRANSFERS) as process:
        wait_for_rows(source, path)

        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        paused = listing(path.parent)
        assert [entry[0] for entry in paused] == [name, f"{name}-shm", f"{name}-wal"]
        assert read(source, path)
        list(source.index(Found(path, source.name), Ledger()))
        assert listing(path.parent) == paused

        process.send_signal(signal.SIGCONT)
        busy, _ = end(process)
    assert busy == 0

    closed = listing(path.parent)
    assert [entry[0] for entry in closed] == [name]
    assert read(source, path)
    assert listing(path.parent) == closed


def wait_for_rows(source: Source, path: Path) -> None:
    """Wait until the writer has written something."""
    assert any(read(source, path) for _ in range(MOST_READS))


def test_what_a_killed_writer_left_in_its_log_is_read_and_left_there(tmp_path: Path) -> None:
    store, source = make_store(tmp_path), SessionStore()
    with writer(WRITE_SESSIONS, store) as process:
        wait_for_rows(source, store)
        process.kill()
        process.wait()
    before = listing(store.parent)
    assert [entry[0] for entry in before] == ["session-store.db", "session-store.db-shm", "session-store.db-wal"]

    conversations = read(source, store)

    assert conversations
    assert all(len(conversation.turns) == 3 for conversation in conversations)
    assert listing(store.parent) == before
