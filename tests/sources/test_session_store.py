"""The session stores of Copilot CLI and of the Copilot Chat extension: every table, every version, every damage."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.diagnostics import Ledger
from copilog.model import (
    Compaction,
    Conversation,
    ReferenceDocument,
    Relation,
    SessionFileDocument,
    Text,
    parts_of,
)
from copilog.sources.base import Found, Probe
from copilog.sources.extension.session_store import SessionStore
from copilog.sources.roots import StorageFolder
from copilog.sqliteio import UnreadableDatabase
from tests.sources.extension_builders import (
    DATA,
    any_cell,
    codes,
    database_from,
    execute,
    index,
    prose_by_role,
    read,
    read_one,
    read_or_refuse,
    spoiled,
)

SOURCE = SessionStore()
ANA = "5a3e0c11-0000-4000-8000-000000000001"
BARE = "user-7-task-3"
TEXTS = ("summary", "plan", "indexed")


@pytest.fixture
def cli(tmp_path: Path) -> Path:
    return database_from(DATA / "session_store" / "cli.sql", tmp_path / ".copilot" / "session-store.db")


@pytest.fixture
def vscode(tmp_path: Path) -> Path:
    folder = tmp_path / "globalStorage" / "github.copilot-chat"
    return database_from(DATA / "session_store" / "vscode.sql", folder / "session-store.db")


def session(path: Path, native_id: str = ANA) -> Conversation:
    return read_one(SOURCE, Found(path, SOURCE.name, native_id))[0]


# --- where it is ------------------------------------------------------------------------------------------------


def test_both_programs_have_a_store_and_a_link_is_not_followed(cli: Path, vscode: Path, tmp_path: Path) -> None:
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "session-store.db").symlink_to(cli)
    folders = [
        StorageFolder(cli.parent, "copilot-home", None, None),
        StorageFolder(vscode.parent.parent, "global", "Code", None),
        StorageFolder(tmp_path / "linked", "copilot-home", None, None),
        StorageFolder(tmp_path / "nothing", "workspace", None, None),
    ]

    found = [trace for folder in folders for trace in SOURCE.locate(folder)]

    assert [(trace.path, trace.native_id, trace.application) for trace in found] == [
        (cli, None, None),
        (vscode, None, "Code"),
    ]


def test_a_store_is_recognized_by_name_or_tables(cli: Path, tmp_path: Path) -> None:
    renamed = cli.rename(tmp_path / "01-earlier.db")
    other = database_from("CREATE TABLE sessions (id); CREATE TABLE spans (id)", tmp_path / "other.db")

    assert SOURCE.claims(Probe(renamed))
    assert not SOURCE.claims(Probe(other))
    assert not SOURCE.claims(Probe(tmp_path / "missing.db"))


# --- content ----------------------------------------------------------------------------------------------------


def test_the_index_has_a_stub_for_each_session_and_counts_every_row(cli: Path) -> None:
    stubs, ledger = index(SOURCE, cli)

    assert [(stub.id, stub.title, stub.marks) for stub in stubs] == [
        (f"cli:{ANA}", "Round the gauge", ["stub", "inside"]),
        (f"cli:{BARE}", None, ["stub", "inside"]),
    ]
    assert [stub.started_at for stub in stubs] == [
        datetime(2026, 7, 1, 8, 0, 0, 120000, UTC),
        datetime(2026, 7, 2, 10, 0, 0, 0, UTC),
    ]
    assert stubs[0].workspace is not None
    assert (stubs[0].workspace.folder, stubs[0].workspace.repository) == ("/home/ana/tides", "ana/tides")
    assert (ledger.seen, ledger.used) == (19, 15)
    assert ledger.ignored == {"search-index": 2, "repository-context": 1, "skill-proposal": 1}
    assert (ledger.unknown, codes(ledger)) == ({}, [])


def test_reading_one_session_counts_nothing_again(cli: Path) -> None:
    conversation, ledger = read_one(SOURCE, Found(cli, SOURCE.name, ANA))

    assert conversation.native_id == ANA
    assert ledger.seen == 0


def test_reading_the_file_gives_what_reading_each_session_gives(cli: Path) -> None:
    everything, ledger = read(SOURCE, cli)

    assert everything == [session(cli, ANA), session(cli, BARE)]
    assert ledger.seen == index(SOURCE, cli)[1].seen


def test_a_truncated_text_of_a_turn_is_marked(cli: Path) -> None:
    conversation = session(cli)

    assert conversation.marks == ["store-row"]
    assert [words for words in prose_by_role(conversation) if words[0] != "system"] == [
        ("user", "Why is the gauge off by one?"),
        ("assistant", "It rounds up. I changed it."),
        ("user", "Thanks, and the test?"),
    ]
    assert all(part.extra == {"possibly_cut": True} for part in parts_of(conversation) if isinstance(part, Text))
    assert [turn.timing.started_at for turn in conversation.turns] == [
        datetime(2026, 7, 1, 8, 0, 5, 0, UTC),
        datetime(2026, 7, 1, 9, 29, 0, 0, UTC),
    ]


def test_a_checkpoint_follows_the_turn_it_was_made_in(cli: Path) -> None:
    conversation = session(cli)

    place = [message.role for message in conversation.messages].index("system")
    [summary] = conversation.messages[place].parts
    assert (place, conversation.messages[place].turn) == (2, 0)
    assert isinstance(summary, Compaction)
    assert summary.text.startswith("<overview>\nThe gauge rounds up.\n</overview>\n\n<work_done>\nChanged gauge.py.")
    assert (summary.title, summary.extra) == ("Gauge fixed", {"checkpoint_number": 1})


def test_usage_is_read_by_call_as_recorded(cli: Path) -> None:
    conversation = session(cli)

    aside, main = conversation.usage
    assert (aside.model, aside.input, aside.output, aside.scope, aside.source) == (
        "small-model",
        900,
        40,
        "call",
        "session-store",
    )
    assert aside.extra is not None
    assert (aside.extra["initiator"], aside.extra["parent_tool_call_id"]) == ("sub-agent", "call_1")
    assert (main.input, main.cache_read, main.cache_write, main.output, main.reasoning) == (12000, 9000, 2000, 800, 300)
    assert (main.credits, main.premium_requests) == (2.5, None)
    assert main.extra is not None
    assert (main.extra["request_multiplier"], main.extra["time_to_first_token_ms"]) == (1.0, 812.5)
    assert main.extra["token_details"][0]["tokenCount"] == 1000
    assert conversation.turns[0].model is not None
    assert conversation.turns[0].model.name == "large-model"


def test_references_name_pull_requests_and_commits_but_not_branches(cli: Path) -> None:
    assert session(cli).relations == [
        Relation(kind="pr", other_id="17", reason="named in turn 1"),
        Relation(kind="commit", other_id="a1b2c3d4e5"),
        Relation(kind="ref", other_id="fix/gauge"),
    ]


def test_files_artifacts_and_other_tables_are_read(cli: Path) -> None:
    conversation = session(cli)
    extra = conversation.extra

    assert extra is not None
    [file] = [document for document in conversation.documents if isinstance(document, SessionFileDocument)]
    assert (file.path, file.tool, file.turn) == ("/home/ana/tides/gauge.py", "edit", 0)
    assert file.created_at == datetime(2026, 7, 1, 8, 0, 20, tzinfo=UTC)
    assert [(made.type, made.value) for made in conversation.documents if isinstance(made, ReferenceDocument)] == [
        ("pr", "17"), ("commit", "a1b2c3d4e5"), ("ref", "fix/gauge"),
    ]  # fmt: skip
    assert [(made.kind, made.path, made.text) for made in conversation.documents if made.kind in TEXTS] == [
        ("summary", None, "Round the gauge\nto centimetres"),
        ("plan", "plan.md", "# Plan: fix, then test"),
        ("indexed", None, "A turn that was taken back"),
    ]
    assert [reference.place.path for reference in conversation.turns[0].references if reference.place] == [
        "/home/ana/tides/gauge.py"
    ]
    assert extra["tables"]["forge_trajectory_events"][0]["command"] == "pytest -q"
    assert extra["store_version"] == 8


def test_a_session_without_turns_is_a_conversation(cli: Path) -> None:
    conversation = session(cli, BARE)

    assert (conversation.turns, conversation.workspace, conversation.application) == ([], None, "Copilot CLI")


def test_sessions_in_a_store_of_vscode_are_of_vscode(vscode: Path) -> None:
    conversation, _ = read_one(SOURCE, vscode)

    assert conversation.id == "vscode:0c5b1d22-0000-4000-8000-000000000002"
    assert conversation.workspace is not None
    assert (conversation.workspace.repository, conversation.workspace.folder) == (
        "https://github.example.com/ana/tides",
        None,
    )
    assert conversation.extra is not None
    assert conversation.extra["session"] == {"agent_name": "GitHub Copilot Chat", "agent_description": "Agent mode"}
    assert [made.tool for made in conversation.documents if isinstance(made, SessionFileDocument)] == ["read_file"]


def test_the_program_of_a_moved_store_is_recognized_by_its_host(vscode: Path, tmp_path: Path) -> None:
    moved = vscode.rename(tmp_path / "session-store.db")

    assert [stub.id.partition(":")[0] for stub in index(SOURCE, moved)[0]] == ["vscode"]


# --- versions ---------------------------------------------------------------------------------------------------


def test_the_first_version_has_no_host_and_no_usage(tmp_path: Path) -> None:
    script = """
        CREATE TABLE sessions (id TEXT PRIMARY KEY, cwd TEXT, summary TEXT, created_at TEXT);
        CREATE TABLE turns (session_id TEXT, turn_index INTEGER, user_message TEXT);
        INSERT INTO sessions VALUES ('s1', '/home/ana', 'Hello', '2025-11-01 09:00:00');
        INSERT INTO turns VALUES ('s1', 0, 'hello');
    """
    conversation, ledger = read_one(SOURCE, database_from(script, tmp_path / "session-store.db"))

    assert (conversation.title, prose_by_role(conversation)) == ("Hello", [("user", "hello")])
    assert (conversation.updated_at, conversation.usage) == (None, [])
    assert (ledger.seen, ledger.used) == (2, 2)


@pytest.mark.parametrize(("summary", "title"), [("And the fog horn...", None), ("Lamp", "Lamp"), ("hello", "hello")])
def test_a_summary_that_is_a_later_prompt_is_not_a_title(summary: str, title: str | None, tmp_path: Path) -> None:
    script = f"""
        CREATE TABLE sessions (id TEXT PRIMARY KEY, summary TEXT);
        CREATE TABLE turns (session_id TEXT, turn_index INTEGER, user_message TEXT);
        INSERT INTO sessions VALUES ('s1', '{summary}');
        INSERT INTO turns VALUES ('s1', 0, 'hello'), ('s1', 1, 'And the fog horn, is it loud?');
    """
    conversation, _ = read_one(SOURCE, database_from(script, tmp_path / "session-store.db"))

    assert [one.text for one in conversation.titles] == ([title] if title else [])
    assert conversation.documents == []


def test_columns_and_tables_of_later_versions_are_stored_and_counted(cli: Path) -> None:
    execute(
        cli,
        "ALTER TABLE turns ADD COLUMN mood TEXT",
        "UPDATE turns SET mood = 'cheerful' WHERE id = 1",
        "CREATE TABLE session_moods (session_id TEXT, mood TEXT)",
        f"INSERT INTO session_moods VALUES ('{ANA}', 'calm')",
        "CREATE TABLE weather (day TEXT)",
        "INSERT INTO weather VALUES ('sunny')",
    )

    stubs, ledger = index(SOURCE, cli)
    conversation = session(cli)

    assert len(stubs) == 2
    assert ledger.unknown == {"table:session_moods": 1, "table:weather": 1}
    assert conversation.turns[0].extra == {"mood": "cheerful"}
    assert conversation.extra is not None
    assert conversation.extra["tables"]["session_moods"] == [{"mood": "calm"}]


def test_rows_of_a_session_without_its_own_row_are_read(cli: Path) -> None:
    execute(cli, "INSERT INTO turns (session_id, turn_index, user_message) VALUES ('lost', 4, 'still here')")

    assert f"cli:{BARE}" in [stub.id for stub in index(SOURCE, cli)[0]]
    assert "cli:lost" in [stub.id for stub in index(SOURCE, cli)[0]]
    [turn] = session(cli, "lost").turns
    assert (turn.index, turn.extra) == (0, {"turn_index": 4})


# --- damage -----------------------------------------------------------------------------------------------------


def test_a_row_without_a_session_is_bad_and_the_others_are_read(tmp_path: Path) -> None:
    script = """
        CREATE TABLE sessions (id, summary); CREATE TABLE turns (id INTEGER, session_id, turn_index, user_message);
        INSERT INTO sessions VALUES (NULL, 'nobody'), ('s1', 'somebody');
        INSERT INTO turns VALUES (7, 12, 0, 'to nobody'), (8, 's1', 0, 'to somebody');
    """
    conversation, ledger = read_one(SOURCE, database_from(script, tmp_path / "session-store.db"))

    assert prose_by_role(conversation) == [("user", "to somebody")]
    assert [(bad.table, bad.row) for bad in ledger.bad] == [("sessions", "1"), ("turns", "7")]
    assert (ledger.seen, ledger.used) == (4, 2)


def test_a_store_without_migrated_rows_is_reported(tmp_path: Path) -> None:
    path = database_from("CREATE TABLE t (a); DROP TABLE t", tmp_path / "session-store.db")

    assert read(SOURCE, path)[0] == []
    assert codes(read(SOURCE, path)[1]) == ["unreadable-database"]


def test_invalid_utf8_is_read_with_replacement_characters(tmp_path: Path) -> None:
    script = "CREATE TABLE sessions (id); CREATE TABLE turns (session_id, turn_index, user_message);"
    script += "INSERT INTO turns VALUES ('s1', 0, CAST(X'68E4' AS TEXT));"

    conversation, ledger = read_one(SOURCE, database_from(script, tmp_path / "session-store.db"))

    assert prose_by_role(conversation) == [("user", "h\ufffd")]
    assert codes(ledger) == ["invalid-utf8"]


def test_a_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "session-store.db"
    path.write_bytes(b"no database at all")

    with pytest.raises(UnreadableDatabase):
        list(SOURCE.read(Found(path, SOURCE.name), Ledger()))


@given(data=st.data())
def test_cells_of_any_type_are_read_or_refused(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("cells") / "session-store.db"
    columns: dict[str, str] = {
        "sessions": "id, cwd, repository, host_type, branch, summary, created_at, updated_at",
        "turns": "id, session_id, turn_index, user_message, assistant_response, timestamp",
        "checkpoints": "session_id, checkpoint_number, title, overview, created_at",
        "session_files": "session_id, file_path, tool_name, turn_index, first_seen_at",
        "session_refs": "session_id, ref_type, ref_value, turn_index",
        "assistant_usage_events": "session_id, turn_index, model, input_tokens, total_nano_aiu, token_details_json",
        "search_index": "content, session_id, source_type, source_id",
        "schema_version": "version",
    }
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for table, names in columns.items():
            connection.execute(f"CREATE TABLE {table} ({names})")
            width = names.count(",") + 1
            for _ in range(data.draw(st.integers(0, 3))):
                row: list[Any] = data.draw(st.lists(any_cell, min_size=width, max_size=width))
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * width)})", row)

    read_or_refuse(SOURCE, path)


@given(data=st.data())
def test_a_damaged_store_is_read_or_refused(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / "damaged-store"
    sound = folder / "sound.db"
    if not sound.exists():
        database_from(DATA / "session_store" / "cli.sql", sound)
    path = folder / "session-store.db"
    path.write_bytes(data.draw(spoiled(sound.read_bytes())))

    read_or_refuse(SOURCE, path)


# --- real files -------------------------------------------------------------------------------------------------


@pytest.mark.corpus
def test_ledgers_of_stores_in_the_corpus_balance(corpus: Path) -> None:
    stores = [path for path in corpus.rglob("*.db") if SOURCE.claims(Probe(path))]
    turns = 0
    for path in stores:
        conversations, ledger = read(SOURCE, path)
        assert ledger.bad == []
        assert ledger.unknown == {}
        turns += sum(len(conversation.turns) for conversation in conversations)

    assert len(stores) >= 6
    assert turns > 20
