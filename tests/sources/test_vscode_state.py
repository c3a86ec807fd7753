"""VS Code's store: the session index, sessions from before they had files, transfers, and nothing else of it."""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from copilog.diagnostics import Ledger
from copilog.model import Conversation, prose_of
from copilog.sources._vscode.agent_sessions import name_of
from copilog.sources.base import Found, Probe
from copilog.sources.roots import StorageFolder
from copilog.sources.vscode_state import INDEX, OLD_TRANSFERS, SESSIONS, TRANSFERS, VSCodeState
from copilog.sqliteio import UnreadableDatabase

Json = dict[str, Any]
SOURCE = VSCodeState()


def make_store(path: Path, rows: dict[str, Any], journal_mode: str = "delete") -> Path:
    """A store with these rows; what is no text or bytes is written as JSON, as VS Code does."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal_mode}")
        connection.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        for key, value in rows.items():
            raw = value if isinstance(value, str | bytes) else json.dumps(value)
            connection.execute("INSERT INTO ItemTable VALUES (?, ?)", (key, raw))
    return path


def index_of(*entries: Json, **fields: Any) -> Json:
    return {"version": 1, "entries": {entry["sessionId"]: entry for entry in entries}, **fields}


def entry(session_id: str = "s1", **fields: Any) -> Json:
    return {"sessionId": session_id, "title": "Tide times", "lastMessageDate": 1767000000000, **fields}


def session(session_id: str | None = "s1", text: str = "hi", **fields: Any) -> Json:
    request = {"requestId": f"request_{session_id}", "message": {"text": text}, "response": [{"value": "hello"}]}
    return {**({"sessionId": session_id} if session_id else {}), "requests": [request], **fields}


def read(path: Path, native_id: str | None = None) -> tuple[list[Conversation], Ledger]:
    ledger = Ledger(path=str(path), source=SOURCE.name)
    conversations = list(SOURCE.read(Found(path, SOURCE.name, native_id=native_id), ledger))
    assert ledger.balances()
    return conversations, ledger


def index(path: Path) -> tuple[list[Conversation], Ledger]:
    ledger = Ledger(path=str(path), source=SOURCE.name)
    stubs = list(SOURCE.index(Found(path, SOURCE.name), ledger))
    assert ledger.balances()
    return stubs, ledger


def codes(ledger: Ledger) -> list[str]:
    return [diagnostic.code for diagnostic in ledger.diagnostics()]


def at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


# --- the index --------------------------------------------------------------------------------------------------


def test_an_entry_of_the_index_is_a_stub_with_all_that_it_says(tmp_path: Path) -> None:
    full = entry(
        timing={"created": 1766999000000, "lastRequestStarted": 1767000000000, "lastRequestEnded": 1767000030000},
        initialLocation="panel",
        hasPendingEdits=True,
        stats={"fileCount": 2, "added": 10, "removed": 3},
        isEmpty=False,
        isExternal=False,
        lastResponseState=1,
        permissionLevel="autopilot",
        workingDirectory="file:///home/ana/tides",
        inputState={"inputText": "", "attachments": []},
        somethingNew=[1],
    )
    path = make_store(tmp_path / "state.vscdb", {INDEX: index_of(full)})

    [stub], ledger = read(path)

    assert (stub.id, stub.native_id, stub.source) == ("vscode:s1", "s1", "vscode-state")
    assert (stub.title, stub.location, stub.has_pending_edits) == ("Tide times", "panel", True)
    assert (stub.started_at, stub.updated_at) == (at(1766999000000), at(1767000030000))
    assert stub.marks == ["stub"]
    assert stub.turns == []
    [place] = stub.provenance
    assert (place.role, place.path, place.table, place.row) == ("index", str(path), "ItemTable", INDEX)
    assert stub.extra is not None
    kept = stub.extra["index"]
    assert {key: kept[key] for key in ("stats", "lastResponseState", "permissionLevel", "somethingNew")} == {
        "stats": {"fileCount": 2, "added": 10, "removed": 3},
        "lastResponseState": 1,
        "permissionLevel": "autopilot",
        "somethingNew": [1],
    }
    assert (kept["workingDirectory"], kept["inputState"]["inputText"]) == ("file:///home/ana/tides", "")
    assert kept["timing"]["lastRequestStarted"] == 1767000000000
    assert ledger.diagnostics() == []
    assert (ledger.seen, ledger.used) == (1, 1)


def test_the_index_and_the_file_read_as_a_whole_say_the_same(tmp_path: Path) -> None:
    path = make_store(tmp_path / "state.vscdb", {INDEX: index_of(entry("s1"), entry("s2", isEmpty=True))})

    assert index(path)[0] == read(path)[0]
    assert [stub.marks for stub in index(path)[0]] == [["stub"], ["stub", "empty"]]


def test_the_times_of_release_1_108_have_other_names(tmp_path: Path) -> None:
    old = entry(timing={"startTime": 1766999000000, "endTime": 1766999900000})
    path = make_store(tmp_path / "state.vscdb", {INDEX: index_of(old)})

    [stub], _ = read(path)

    assert (stub.started_at, stub.updated_at) == (at(1766999000000), at(1766999900000))


def test_without_times_nothing_but_the_last_message_is_dated(tmp_path: Path) -> None:
    [stub], _ = read(make_store(tmp_path / "state.vscdb", {INDEX: index_of(entry())}))

    assert (stub.started_at, stub.updated_at) == (None, at(1767000000000))


def test_an_external_session_is_known_by_its_address(tmp_path: Path) -> None:
    address = "claude-code:/3f2a"
    rows = {INDEX: {"version": 1, "entries": {address: entry("3f2a", isExternal=True, isImported=True)}}}

    [stub], ledger = read(make_store(tmp_path / "state.vscdb", rows))

    assert (stub.native_id, stub.marks) == (address, ["stub", "external", "imported"])
    assert ledger.diagnostics() == []


def test_an_entry_with_missing_fields_is_kept_and_told(tmp_path: Path) -> None:
    rows = {INDEX: {"version": 1, "entries": {"s1": {"title": "Tides"}, "s2": {}, "s3": "none", "s4": entry("s4")}}}

    stubs, ledger = read(make_store(tmp_path / "state.vscdb", rows))

    assert [(stub.native_id, stub.title) for stub in stubs] == [("s1", "Tides"), ("s2", None), ("s4", "Tide times")]
    assert codes(ledger) == ["wrong-index"] * 3


@pytest.mark.parametrize("version", [2, None, "1"])
def test_an_index_of_another_version_is_read_all_the_same(tmp_path: Path, version: Any) -> None:
    stubs, ledger = read(make_store(tmp_path / "state.vscdb", {INDEX: index_of(entry(), version=version)}))

    assert [stub.title for stub in stubs] == ["Tide times"]
    assert codes(ledger) == ["wrong-index"]


@pytest.mark.parametrize("value", [[], "text", None, 7, {"version": 1}, {"version": 1, "entries": []}])
def test_an_index_that_is_none_is_told(tmp_path: Path, value: Any) -> None:
    stubs, ledger = read(make_store(tmp_path / "state.vscdb", {INDEX: json.dumps(value)}))

    assert stubs == []
    assert codes(ledger) == ["wrong-index"]


# --- sessions inside the store ----------------------------------------------------------------------------------


def test_sessions_inside_the_store_are_conversations_of_any_age(tmp_path: Path) -> None:
    first = session("v1", "one")
    second = session("v2", "two", version=2, computedTitle="Second")
    third = session("v3", "three", version=3, customTitle="Third", creationDate=1700000000000)
    path = make_store(tmp_path / "state.vscdb", {SESSIONS: [first, second, third]})

    conversations, ledger = read(path)

    assert [made.id for made in conversations] == ["vscode:v1", "vscode:v2", "vscode:v3"]
    assert [made.title for made in conversations] == [None, "Second", "Third"]
    assert [prose_of(made.messages[0].parts) for made in conversations] == ["one", "two", "three"]
    assert conversations[2].started_at == at(1700000000000)
    assert [made.provenance[0].pointer for made in conversations] == ["/0", "/1", "/2"]
    assert {made.provenance[0].role for made in conversations} == {"lead"}
    assert all(made.marks == [] for made in conversations)
    assert ledger.diagnostics() == []
    assert (ledger.seen, ledger.used) == (7, 7)  # the row, three sessions, three requests


def test_one_session_of_several_can_be_read_by_its_id_and_rows_count_once(tmp_path: Path) -> None:
    path = make_store(
        tmp_path / "state.vscdb", {SESSIONS: [session("s1"), session("s2")], INDEX: index_of(entry("s3"))}
    )

    stubs, books = index(path)
    [conversation], ledger = read(path, "s2")

    assert [(stub.native_id, stub.marks) for stub in stubs] == [
        ("s3", ["stub"]),
        ("s1", ["stub", "inside"]),
        ("s2", ["stub", "inside"]),
    ]
    assert books.seen == 2
    assert conversation.native_id == "s2"
    assert ledger.seen == 2  # the session and its request


def test_a_session_that_stands_there_twice_is_announced_once(tmp_path: Path) -> None:
    transfer = {"toWorkspace": "file:///home/ana/b", "timestampInMilliseconds": 1700000000000, "chat": session("s1")}
    path = make_store(tmp_path / "state.vscdb", {SESSIONS: [session("s1"), session("s1")], OLD_TRANSFERS: [transfer]})

    stubs, _ = index(path)
    conversations, _ = read(path, "s1")

    assert [stub.native_id for stub in stubs] == ["s1"]
    assert len(conversations) == 3


def test_a_session_without_an_id_is_found_by_what_it_holds(tmp_path: Path) -> None:
    path = make_store(tmp_path / "state.vscdb", {SESSIONS: [session(None, "one"), session("", "two")]})

    stubs, _ = index(path)
    ids = [stub.native_id for stub in stubs]

    assert len(set(ids)) == 2
    assert [made.native_id for made in read(path)[0]] == ids
    [second], _ = read(path, ids[1])
    assert second.id == f"vscode:{ids[1]}"
    assert prose_of(second.messages[0].parts) == "two"


def test_what_is_no_session_is_bad_whichever_way_the_store_is_read(tmp_path: Path) -> None:
    path = make_store(tmp_path / "state.vscdb", {SESSIONS: [None, session("s1"), "text", 7, []]})

    for _, ledger in (read(path), index(path)):
        assert codes(ledger) == ["bad-record"] * 4
        assert [bad.row for bad in ledger.bad] == [f"{SESSIONS}/{position}" for position in (0, 2, 3, 4)]
    assert codes(read(path, "s1")[1]) == []


@pytest.mark.parametrize("key", [SESSIONS, OLD_TRANSFERS])
def test_a_row_of_sessions_that_is_no_list_is_told(tmp_path: Path, key: str) -> None:
    path = make_store(tmp_path / "state.vscdb", {key: {"s1": session()}})

    for conversations, ledger in (read(path), index(path)):
        assert conversations == []
        assert codes(ledger) == ["bad-record"]


def test_a_bad_request_inside_the_store_costs_that_request(tmp_path: Path) -> None:
    broken = session("s1")
    broken["requests"] = [None, "text", *broken["requests"]]

    [conversation], ledger = read(make_store(tmp_path / "state.vscdb", {SESSIONS: [broken]}))

    assert len(conversation.turns) == 1
    assert codes(ledger) == ["bad-request", "null-request"]


# --- transfers --------------------------------------------------------------------------------------------------


def local_address(session_id: str) -> str:
    encoded = base64.urlsafe_b64encode(session_id.encode()).decode().rstrip("=")
    return f"vscode-chat-session://local/{encoded}"


@pytest.mark.parametrize("session_id", ["s1", "4c9f0c5e-1d2b-4a77-9f3a-0b6a52f1f9aa", "chat-7", "münchen?>"])
def test_the_address_of_a_local_session_holds_its_id(session_id: str) -> None:
    assert name_of(local_address(session_id)).native_id == session_id


@pytest.mark.parametrize(
    "address", ["claude-code:/3f2a", "vscode-chat-session://local/%%%", "vscode-chat-session://local/_w"]
)
def test_another_address_is_an_id_itself(address: str) -> None:
    assert name_of(address).native_id == address


def test_an_external_entry_of_copilot_cli_is_a_stub_of_its_session(tmp_path: Path) -> None:
    entry = {"sessionId": "copilotcli:/3f2a", "title": "Elsewhere", "lastMessageDate": 1, "isExternal": True}
    index = {"version": 1, "entries": {"copilotcli:/3f2a": entry}}
    cache = [{"resource": "copilotcli:/3f2a", "label": "Elsewhere", "providerLabel": "Copilot CLI", "status": 1}]

    stubs, _ = read(make_store(tmp_path / "state.vscdb", {INDEX: index, "agentSessions.model.cache": cache}))

    assert {(stub.id, stub.native_id) for stub in stubs} == {("cli:3f2a", "3f2a")}


def test_a_session_on_its_way_is_a_stub_that_knows_where_to(tmp_path: Path) -> None:
    target = "file:///home/ana/b"
    parts = {"$mid": 1, "scheme": "vscode-chat-session", "authority": "local", "path": "/czI"}
    value = {
        target: {"sessionResource": local_address("s1"), "timestampInMilliseconds": 1767000000000},
        "file:///home/ana/c": {"toWorkspace": {"scheme": "file", "path": "/home/ana/c"}, "sessionResource": parts},
    }

    stubs, ledger = read(make_store(tmp_path / "state.vscdb", {TRANSFERS: value}))

    assert [(stub.native_id, stub.marks) for stub in stubs] == [("s1", ["stub"]), ("s2", ["stub"])]
    assert stubs[0].extra is not None
    assert stubs[0].extra["transfer"]["toWorkspace"] == target
    assert stubs[0].provenance[0].row == TRANSFERS
    assert ledger.diagnostics() == []


@pytest.mark.parametrize("value", [[], "text", {"file:///home/ana/b": None}, {"file:///home/ana/b": {}}])
def test_a_transfer_of_nothing_is_told(tmp_path: Path, value: Any) -> None:
    stubs, ledger = read(make_store(tmp_path / "state.vscdb", {TRANSFERS: json.dumps(value)}))

    assert stubs == []
    assert codes(ledger) == ["wrong-index"]


def test_an_old_transfer_carries_its_session(tmp_path: Path) -> None:
    transfer = {"toWorkspace": "file:///home/ana/b", "inputValue": "draft", "chat": session("s1")}
    path = make_store(tmp_path / "state.vscdb", {OLD_TRANSFERS: [transfer, {"inputValue": "alone"}, 7]})

    [conversation], ledger = read(path)

    assert conversation.provenance[0].pointer == "/0/chat"
    assert conversation.extra == {"transfer": {"toWorkspace": "file:///home/ana/b", "inputValue": "draft"}}
    assert [bad.row for bad in ledger.bad] == [f"{OLD_TRANSFERS}/1", f"{OLD_TRANSFERS}/2"]


# --- values and files -------------------------------------------------------------------------------------------


def test_text_and_blob_values_are_the_same(tmp_path: Path) -> None:
    text = json.dumps(index_of(entry(title="Ebbe 🌊")), ensure_ascii=False)
    as_text = make_store(tmp_path / "text.vscdb", {INDEX: text})
    as_blob = make_store(tmp_path / "blob.vscdb", {INDEX: text.encode()})

    [[one], [other]] = (read(path)[0] for path in (as_text, as_blob))

    assert one.title == other.title == "Ebbe 🌊"
    assert one.extra == other.extra


def test_invalid_utf8_in_a_value_is_repaired_and_told(tmp_path: Path) -> None:
    value = json.dumps(index_of(entry(title="Ebbe X Flut"))).encode().replace(b"X", b"\xff")

    [stub], ledger = read(make_store(tmp_path / "state.vscdb", {INDEX: value}))

    assert stub.title == "Ebbe \ufffd Flut"
    assert codes(ledger) == ["invalid-utf8"]


@pytest.mark.parametrize("value", [b"", b"{", b"\0\0", "not json"])
def test_a_value_that_is_no_json_costs_its_row(tmp_path: Path, value: Any) -> None:
    path = make_store(tmp_path / "state.vscdb", {INDEX: value, SESSIONS: [session()]})

    for conversations, ledger in (read(path), index(path)):
        assert [made.native_id for made in conversations] == ["s1"]
        assert [(bad.code, bad.table, bad.row) for bad in ledger.bad] == [("bad-json", "ItemTable", INDEX)]


def test_a_missing_value_costs_its_row(tmp_path: Path) -> None:
    path = make_store(tmp_path / "state.vscdb", {})
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO ItemTable VALUES (?, NULL)", (INDEX,))

    assert codes(read(path)[1]) == ["bad-json"]


def test_a_store_without_chat_is_empty_and_nothing_is_wrong(tmp_path: Path) -> None:
    conversations, ledger = read(make_store(tmp_path / "state.vscdb", {"workbench.view": "{}"}))

    assert conversations == []
    assert ledger.diagnostics() == []
    assert ledger.seen == 0


def test_a_database_without_the_table_is_told(tmp_path: Path) -> None:
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
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, data: bytes, code: str) -> None:
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
    """Another process that has written a row, is about to delete all, and holds the store open meanwhile."""
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


def test_rows_that_a_running_program_has_only_logged_are_seen(tmp_path: Path) -> None:
    path = make_store(tmp_path / "state.vscdb", {INDEX: index_of(entry(title="old"))}, "wal")

    with other_program(path, INDEX, json.dumps(index_of(entry(title="new")))):
        assert (tmp_path / "state.vscdb-wal").stat().st_size > 0
        before = files_of(tmp_path)
        [stub], ledger = read(path)
        assert files_of(tmp_path) == before

    assert stub.title == "new"
    assert ledger.diagnostics() == []
