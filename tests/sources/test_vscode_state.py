"""VS Code's store: the session index, sessions from before they had files, and transfers."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from copilog import ingest
from copilog.model import prose_of
from copilog.sources.vscode.agent_sessions import name_of
from copilog.sources.vscode.state_database import INDEX, OLD_TRANSFERS, SESSIONS, TRANSFERS
from tests.sources.state_builders import codes, entry, index, index_of, make_store, read, session


def at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


# --- the index --------------------------------------------------------------------------------------------------


def test_an_entry_of_the_index_is_a_stub_with_all_its_fields(tmp_path: Path) -> None:
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


def test_reading_by_index_and_reading_the_file_agree(tmp_path: Path) -> None:
    path = make_store(tmp_path / "state.vscdb", {INDEX: index_of(entry("s1"), entry("s2", isEmpty=True))})

    assert index(path)[0] == read(path)[0]
    assert [stub.marks for stub in index(path)[0]] == [["stub"], ["stub", "empty"]]


def test_times_of_release_1_108_are_read(tmp_path: Path) -> None:
    old = entry(timing={"startTime": 1766999000000, "endTime": 1766999900000})
    path = make_store(tmp_path / "state.vscdb", {INDEX: index_of(old)})

    [stub], _ = read(path)

    assert (stub.started_at, stub.updated_at) == (at(1766999000000), at(1766999900000))


def test_without_times_nothing_but_the_last_message_is_dated(tmp_path: Path) -> None:
    [stub], _ = read(make_store(tmp_path / "state.vscdb", {INDEX: index_of(entry())}))

    assert (stub.started_at, stub.updated_at) == (None, at(1767000000000))


def test_an_external_session_is_identified_by_its_address(tmp_path: Path) -> None:
    address = "claude-code:/3f2a"
    rows = {INDEX: {"version": 1, "entries": {address: entry("3f2a", isExternal=True, isImported=True)}}}

    [stub], ledger = read(make_store(tmp_path / "state.vscdb", rows))

    assert (stub.native_id, stub.marks) == (address, ["stub", "external", "imported"])
    assert ledger.diagnostics() == []


def test_an_entry_with_missing_fields_is_read_and_reported(tmp_path: Path) -> None:
    rows = {INDEX: {"version": 1, "entries": {"s1": {"title": "Tides"}, "s2": {}, "s3": "none", "s4": entry("s4")}}}

    stubs, ledger = read(make_store(tmp_path / "state.vscdb", rows))

    assert [(stub.native_id, stub.title) for stub in stubs] == [("s1", "Tides"), ("s2", None), ("s4", "Tide times")]
    assert codes(ledger) == ["wrong-index"] * 3


@pytest.mark.parametrize("version", [2, None, "1"])
def test_an_index_of_another_version_is_read(tmp_path: Path, version: Any) -> None:
    stubs, ledger = read(make_store(tmp_path / "state.vscdb", {INDEX: index_of(entry(), version=version)}))

    assert [stub.title for stub in stubs] == ["Tide times"]
    assert codes(ledger) == ["wrong-index"]


@pytest.mark.parametrize("value", [[], "text", None, 7, {"version": 1}, {"version": 1, "entries": []}])
def test_an_invalid_index_is_reported(tmp_path: Path, value: Any) -> None:
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


def test_a_repeated_session_is_listed_once(tmp_path: Path) -> None:
    transfer = {"toWorkspace": "file:///home/ana/b", "timestampInMilliseconds": 1700000000000, "chat": session("s1")}
    path = make_store(tmp_path / "state.vscdb", {SESSIONS: [session("s1"), session("s1")], OLD_TRANSFERS: [transfer]})

    stubs, _ = index(path)
    conversations, _ = read(path, "s1")

    assert [stub.native_id for stub in stubs] == ["s1"]
    assert len(conversations) == 3


def test_a_session_without_an_id_is_identified_by_its_content(tmp_path: Path) -> None:
    path = make_store(tmp_path / "state.vscdb", {SESSIONS: [session(None, "one"), session("", "two")]})

    stubs, _ = index(path)
    ids = [stub.native_id for stub in stubs]

    assert len(set(ids)) == 2
    assert [made.native_id for made in read(path)[0]] == ids
    [second], _ = read(path, ids[1])
    assert second.id == f"vscode:{ids[1]}"
    assert prose_of(second.messages[0].parts) == "two"


def test_values_that_are_not_sessions_are_bad_records_of_the_store(tmp_path: Path) -> None:
    path = make_store(tmp_path / "state.vscdb", {SESSIONS: [None, session("s1"), "text", 7, []]})

    for _, ledger in (read(path), index(path)):
        assert codes(ledger) == ["bad-record"] * 4
        assert [bad.row for bad in ledger.bad] == [f"{SESSIONS}/{position}" for position in (0, 2, 3, 4)]
    assert codes(read(path, "s1")[1]) == []


@pytest.mark.parametrize("key", [SESSIONS, OLD_TRANSFERS])
def test_a_row_of_sessions_that_is_not_a_list_is_reported(tmp_path: Path, key: str) -> None:
    path = make_store(tmp_path / "state.vscdb", {key: {"s1": session()}})

    for conversations, ledger in (read(path), index(path)):
        assert conversations == []
        assert codes(ledger) == ["bad-record"]


def test_a_bad_request_inside_the_store_does_not_affect_others(tmp_path: Path) -> None:
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
def test_the_address_of_a_local_session_contains_its_id(session_id: str) -> None:
    assert name_of(local_address(session_id)).native_id == session_id


@pytest.mark.parametrize(
    "address", ["claude-code:/3f2a", "vscode-chat-session://local/%%%", "vscode-chat-session://local/_w"]
)
def test_another_address_is_used_as_the_id(address: str) -> None:
    assert name_of(address).native_id == address


def test_an_external_entry_of_copilot_cli_is_a_stub_of_its_session(tmp_path: Path) -> None:
    entry = {"sessionId": "copilotcli:/3f2a", "title": "Elsewhere", "lastMessageDate": 1, "isExternal": True}
    index = {"version": 1, "entries": {"copilotcli:/3f2a": entry}}
    cache = [{"resource": "copilotcli:/3f2a", "label": "Elsewhere", "providerLabel": "Copilot CLI", "status": 1}]

    stubs, _ = read(make_store(tmp_path / "state.vscdb", {INDEX: index, "agentSessions.model.cache": cache}))

    assert {(stub.id, stub.native_id) for stub in stubs} == {("cli:3f2a", "3f2a")}


def test_a_session_in_transfer_is_a_stub_with_its_target(tmp_path: Path) -> None:
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
def test_an_empty_transfer_is_reported(tmp_path: Path, value: Any) -> None:
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


@pytest.mark.parametrize(("value", "expected"), [({"name": "Plan"}, 1), ([{"name": "Plan"}, "Plan", 5], 2), ([], 0)])
def test_custom_agents_that_cannot_be_read_are_reported(tmp_path: Path, value: Any, expected: int) -> None:
    path = make_store(tmp_path / "state.vscdb", {"chat.customModes": value})

    for _, ledger in (index(path), read(path)):
        assert codes(ledger) == ["bad-record"] * expected


# --- lists of things to do ----------------------------------------------------------------------------------------


def test_a_to_do_list_is_a_document_of_its_session(tmp_path: Path) -> None:
    todo = {
        "id": 1,
        "title": "Write the buoy migration",
        "description": "for the table of orders",
        "status": "completed",
    }
    encoded = base64.b64encode(b"s2").decode()
    value = {"s1": [todo], f"vscode-chat-session://local/{encoded}": [{**todo, "status": "not-started"}], "s3": []}
    path = make_store(tmp_path / "state.vscdb", {"memento/chat-todo-list": value})

    stubs, ledger = index(path)

    assert [(stub.id, stub.marks) for stub in stubs] == [("vscode:s1", ["stub"]), ("vscode:s2", ["stub"])]
    assert [stub.documents[0].text for stub in stubs] == [
        "- [x] Write the buoy migration\n  for the table of orders",
        "- [ ] Write the buoy migration\n  for the table of orders",
    ]
    assert codes(ledger) == []
    leaves = ingest.inspect_file(path).leaves
    assert leaves is not None
    assert (leaves.unaccounted, leaves.reasons) == ({}, {})


@pytest.mark.parametrize("value", [[], {"s1": "words"}, {"s1": ["words"]}])
def test_to_do_lists_of_another_shape_are_reported(tmp_path: Path, value: Any) -> None:
    stubs, ledger = index(make_store(tmp_path / "state.vscdb", {"memento/chat-todo-list": value}))

    assert (stubs, codes(ledger)) == ([], ["bad-record"])
