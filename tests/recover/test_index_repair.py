"""The index of a workspace is completed from its session files; other rows of the store stay as they are."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.homes import entry, move_in, run, session
from tests.database_builders import other_process
from tests.recover.lost_homes import INDEX, LostHome, healthy, log_bytes, storage_id

LOCKING = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LostHome:
    made = healthy(tmp_path)
    move_in(monkeypatch, tmp_path, made)
    return made


@pytest.fixture
def store(home: LostHome) -> Path:
    path = home.user / "workspaceStorage" / storage_id(home.project("tides")) / "state.vscdb"
    home.put_rows(path.parent, {"another.key": "its value", "chat.customModes": "[]"})
    return path


def rows(store: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(store)) as connection:
        return connection.execute("SELECT key, value, typeof(value) FROM ItemTable ORDER BY key").fetchall()


def put(store: Path, value: Any) -> None:
    raw = value if isinstance(value, str | bytes) else json.dumps(value)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("INSERT INTO ItemTable VALUES (?, ?)", (INDEX, raw))


def lost() -> list[str]:
    return sorted(loss["id"].partition(":")[2] for loss in run("recover", "--json").json["losses"])


def entries(store: Path) -> dict[str, Any]:
    value = next(value for key, value, _ in rows(store) if key == INDEX)
    found: dict[str, Any] = json.loads(value)["entries"]
    return found


BROKEN = [
    {"version": 1, "entries": {}},
    {"version": 1, "entries": {"s2": entry("s2", "two")}},
    {"version": 7, "entries": {"s1": entry("s1", "one")}},
    {"version": 1, "entries": {"s1": {"sessionId": "s1"}, "x": None, "s2": entry("s2", "two")}},
    {"version": 1, "entries": {"s1": entry("s1", "one", isEmpty=True), "s2": entry("s2", "two", initialLocation=1)}},
    b'{"version": 1, "entries": {"s1"',
    b'{"version": 1, "entries": {"\xff": 7}}',
    "[]",
]  # fmt: skip


@pytest.mark.parametrize("value", BROKEN, ids=range(len(BROKEN)))
def test_a_repaired_index_lists_all_and_is_undone_to_the_byte(value: Any, store: Path) -> None:
    put(store, value)
    before = rows(store)
    assert lost()
    shown = run("repair", store)
    assert (shown.code, rows(store)) == (0, before), shown.err
    applied = run("repair", store, "--apply")
    assert applied.code == 0, applied.err
    assert lost() == []
    assert [row for row in rows(store) if row[0] != INDEX] == [row for row in before if row[0] != INDEX]
    assert {name for name, made in entries(store).items() if made["initialLocation"] == "panel"} == {"s1", "s2"}
    assert run("repair", store, "--apply").code == 2
    assert run("repair", "--undo").code == 0
    assert rows(store) == before


def test_a_text_that_is_no_utf8_is_put_back_to_the_byte(store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("INSERT INTO ItemTable VALUES (?, CAST(? AS TEXT))", (INDEX, b'{"version": "\xff\xfe'))
    bytes_of = "SELECT typeof(value), CAST(value AS BLOB) FROM ItemTable ORDER BY key"
    with closing(sqlite3.connect(store)) as connection:
        before = connection.execute(bytes_of).fetchall()
    assert run("repair", store, "--apply").code == 0
    assert lost() == []
    assert run("repair", "--undo").code == 0
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute(bytes_of).fetchall() == before


def test_a_store_without_an_index_gets_one(store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("DELETE FROM ItemTable WHERE key = ?", (INDEX,))
    before = rows(store)
    assert run("repair", store, "--apply").code == 0
    assert lost() == []
    assert run("repair", store, "--undo").code == 0
    assert rows(store) == before


def test_entries_that_vscode_lists_and_those_of_other_agents_stay(store: Path) -> None:
    kept = {
        "s2": entry("s2", "my own title", stats={"fileCount": 1}),
        "other-agent:/1": entry("other-agent:/1", "theirs", isExternal=True),
    }
    put(store, {"version": 1, "entries": kept})
    data = run("repair", store, "--apply", "--json").json["indexes"][0]
    assert [(change["session_id"], change["action"]) for change in data["changes"]] == [("s1", "added")]
    made = entries(store)
    assert {name: made[name] for name in kept} == kept
    assert made["s1"]["title"] == "first"
    assert made["s1"]["timing"]["created"] == 1_776_000_000_000


def test_sessions_that_vscode_refuses_or_that_are_empty_get_no_entry(home: LostHome, store: Path) -> None:
    home.put_log(store.parent, "torn", log_bytes("torn")[:-9])
    home.add(store.parent, session("empty"))
    put(store, {"version": 1, "entries": {}})
    assert run("repair", store, "--apply").code == 0
    assert set(entries(store)) == {"s1", "s2"}


def test_a_complete_index_and_sessions_that_vscode_takes_over_itself_are_left_alone(store: Path) -> None:
    before = rows(store)
    assert "nothing was changed" in run("repair", store, "--apply").err
    assert rows(store) == before
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE ItemTable SET key = 'interactive.sessions', value = '[]' WHERE key = ?", (INDEX,))
    before = rows(store)
    assert run("repair", store, "--apply").code == 2
    assert rows(store) == before


def test_an_index_that_changed_since_is_left_as_it_is(store: Path) -> None:
    put(store, BROKEN[0])
    assert run("repair", store, "--apply").code == 0
    put(store, BROKEN[1])
    before = rows(store)
    assert "has changed since" in run("repair", "--undo").err
    assert rows(store) == before


def test_a_store_that_another_process_writes_is_left_alone(store: Path) -> None:
    put(store, BROKEN[0])
    before = rows(store)
    with other_process(LOCKING, store):
        assert run("repair", store, "--apply").code == 2
    assert rows(store) == before


def test_a_lock_alone_keeps_the_index_from_being_written(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on systems where nothing tells that the process is there."""
    put(store, BROKEN[0])
    before = rows(store)
    monkeypatch.setattr("copilog.recover.journal.require_idle", lambda _: None)
    with other_process(LOCKING, store):
        outcome = run("repair", store, "--apply")
        assert (outcome.code, "cannot be written" in outcome.err) == (2, True)
    assert rows(store) == before
