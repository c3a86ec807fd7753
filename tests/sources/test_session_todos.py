"""What an agent of Copilot CLI noted for itself in a session's own database."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.sources.base import Probe
from copilog.sources.cli.session_todos import SessionTodos
from copilog.sources.roots import StorageFolder
from tests.sources.extension_builders import (
    DATA,
    any_cell,
    codes,
    database_from,
    read,
    read_one,
    read_or_refuse,
    spoiled,
)

SOURCE = SessionTodos()
SESSION = "5a3e0c11-0000-4000-8000-000000000001"
GAUGE = DATA / "session_todos" / "gauge.sql"


@pytest.fixture
def gauge(tmp_path: Path) -> Path:
    return database_from(GAUGE, tmp_path / "session-state" / SESSION / "session.db")


def test_a_session_may_have_a_database_of_its_own(gauge: Path) -> None:
    home = StorageFolder(gauge.parent.parent.parent, "copilot-home", None, None)

    assert [(trace.path, trace.native_id) for trace in SOURCE.locate(home)] == [(gauge, SESSION)]
    assert list(SOURCE.locate(StorageFolder(home.path, "workspace", None, None))) == []


def test_a_session_database_is_recognised_by_its_path_or_tables(gauge: Path, tmp_path: Path) -> None:
    other = database_from("CREATE TABLE todos (id)", tmp_path / "session.db")
    copied = database_from(GAUGE, tmp_path / "copy.db")

    assert [SOURCE.claims(Probe(path)) for path in (gauge, copied, other)] == [True, True, False]
    assert [SOURCE.native_id(Probe(path)) for path in (gauge, copied)] == [SESSION, None]


def test_todo_items_have_vscodes_states_and_their_dependencies(gauge: Path) -> None:
    conversation, ledger = read_one(SOURCE, gauge)

    assert (conversation.id, conversation.marks) == (f"cli:{SESSION}", ["todos"])
    assert conversation.extra is not None
    assert [(todo["title"], todo["status"]) for todo in conversation.extra["todos"]] == [
        ("Fix the gauge", "completed"),
        ("Test the gauge", "in-progress"),
        ("Ask Ana about feet", "blocked"),
    ]
    assert conversation.extra["todos"][1]["depends_on"] == ["fix-gauge"]
    assert conversation.extra["todo_dependencies"] == [["gone", "fix-gauge"]]
    assert (ledger.seen, ledger.used, codes(ledger)) == (7, 7, [])


def test_the_inbox_and_the_agents_own_tables_are_documents(gauge: Path) -> None:
    extra = read_one(SOURCE, gauge)[0].extra

    assert extra is not None
    assert extra["inbox"][0]["content"] == "The gauge is in gauge.py."
    assert extra["tables"] == {"measurements": [{"place": "Büsum", "metres": 3.25}]}


def test_a_single_todo_item_is_a_list_too(tmp_path: Path) -> None:
    path = database_from(DATA / "session_todos" / "one_thing.sql", tmp_path / "session-state" / "s" / "session.db")

    conversation, _ = read_one(SOURCE, path)

    todo = {"id": "moon", "title": "Look up the moon", "status": "not-started"}
    assert (conversation.id, conversation.extra) == ("cli:s", {"todos": [todo]})


def test_an_empty_database_yields_nothing(tmp_path: Path) -> None:
    script = "CREATE TABLE todos (id, title); CREATE TABLE todo_deps (todo_id, depends_on)"

    conversations, ledger = read(SOURCE, database_from(script, tmp_path / "session-state" / "s" / "session.db"))

    assert (conversations, ledger.seen) == ([], 0)


def test_the_version_of_the_programs_own_tables_is_not_a_note_of_the_agent(tmp_path: Path) -> None:
    script = "CREATE TABLE workflow_store_schema (version); INSERT INTO workflow_store_schema VALUES (1)"

    conversations, ledger = read(SOURCE, database_from(script, tmp_path / "session-state" / "s" / "session.db"))

    assert (conversations, ledger.ignored) == ([], {"schema-version": 1})


@given(data=st.data())
def test_cells_of_any_type_are_read(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("cells") / "session.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for table, width in (("todos", 4), ("todo_deps", 2), ('odd "one', 3)):
            names = {"todos": "id, title, status, created_at", "todo_deps": "todo_id, depends_on"}.get(table, "a, b, c")
            name = '"' + table.replace('"', '""') + '"'
            connection.execute(f"CREATE TABLE {name} ({names})")
            for _ in range(data.draw(st.integers(0, 3))):
                row = data.draw(st.lists(any_cell, min_size=width, max_size=width))
                connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * width)})", row)

    read_or_refuse(SOURCE, path)


@given(data=st.data())
def test_a_damaged_database_is_read_or_refused(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / "damaged-todos"
    sound = folder / "sound.db"
    if not sound.exists():
        database_from(GAUGE, sound)
    path = folder / "session.db"
    path.write_bytes(data.draw(spoiled(sound.read_bytes())))

    read_or_refuse(SOURCE, path)
