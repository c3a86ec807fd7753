"""Exports: chat.json as people save it, in the shape of each era."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from copilog.diagnostics import Ledger
from copilog.ingest import read
from copilog.model import Conversation, prose_of
from copilog.sources import identify
from copilog.sources.base import Found, Probe
from copilog.sources.vscode.session_json import ChatExport, VSCodeSession
from tests.sources.vscode_builders import request, session

Json = dict[str, Any]

EARLY_REQUEST: Json = {"message": {"text": "hello?", "parts": []}, "response": ["hello!"], "isCanceled": False}
E1: Json = {
    "requesterUsername": "ana",
    "requesterAvatarIconUri": {"$mid": 1, "scheme": "https", "authority": "example.com", "path": "/ana.png"},
    "responderUsername": "GitHub Copilot",
    "responderAvatarIconUri": {"id": "copilot"},
    "initialLocation": "panel",
    "requests": [request("one", [{"value": "first"}]), request("two", [{"value": "second"}])],
}
E3 = {key: value for key, value in E1.items() if not key.startswith("requester")}
E5 = {key: E1[key] for key in ("responderUsername", "initialLocation", "requests")}
EARLY: Json = {
    "requesterUsername": "ana",
    "responderUsername": "GitHub Copilot",
    "providerId": "copilot",
    "welcomeMessage": ["welcome", [{"kind": "reply", "message": "What can you do?"}]],
    "requests": [EARLY_REQUEST, EARLY_REQUEST],
}
BARE: Json = {"requests": [request("one", [{"value": "first"}])]}


def write(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")
    return path


def read_export(path: Path) -> tuple[Conversation, Ledger]:
    ledger = Ledger(path=str(path))
    (conversation,) = ChatExport().read(Found(path, "chat-export"), ledger)
    assert ledger.balances()
    return conversation, ledger


def dialogue(conversation: Conversation) -> list[str]:
    return [prose_of(message.parts) for message in conversation.messages]


@pytest.mark.parametrize("document", [E1, E3, E5])
def test_exports_of_all_versions_read_the_same(document: Json, tmp_path: Path) -> None:
    path = write(tmp_path / "chat.json", document)
    source = identify(Probe(path))
    assert source is not None
    assert source.name == "chat-export"

    conversation, ledger = read_export(path)

    assert dialogue(conversation) == ["one", "first", "two", "second"]
    assert (conversation.assistant, conversation.location) == ("GitHub Copilot", "panel")
    assert (conversation.native_id, conversation.title) == (None, None)
    assert conversation.id.startswith("export:")
    assert (ledger.seen, ledger.used) == (3, 3)
    assert [(trace.source, trace.path, trace.role) for trace in conversation.provenance] == [
        ("chat-export", str(path), "lead")
    ]


def test_the_name_of_the_requester_is_read(tmp_path: Path) -> None:
    conversation, _ = read_export(write(tmp_path / "chat.json", E1))

    assert conversation.extra == {
        key: E1[key] for key in ("requesterUsername", "requesterAvatarIconUri", "responderAvatarIconUri")
    }


def test_the_requests_of_an_early_export_stay_apart_without_ids_and_times(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.json", EARLY)
    conversation, _ = read_export(path)

    assert ChatExport().claims(Probe(path))
    assert dialogue(conversation)[1:] == ["hello?", "hello!", "hello?", "hello!"]  # after a greeting
    assert [(turn.index, turn.request_id, turn.status) for turn in conversation.turns] == [
        (0, None, "complete"),
        (1, None, "complete"),
    ]
    assert (conversation.started_at, conversation.updated_at) == (None, None)
    assert conversation.extra is not None
    assert conversation.extra["providerId"] == "copilot"


@pytest.mark.parametrize(
    "first", [request(), {"message": "hi", "response": "ho"}, {"message": "hi", "requestId": "r"}, request(response=[])]
)
def test_requests_alone_are_an_export(first: Json, tmp_path: Path) -> None:
    path = write(tmp_path / "anything.json", {"requests": [first]})

    assert ChatExport().claims(Probe(path))
    assert len(read_export(path)[0].turns) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"requests": []},
        {"requests": [{"url": "https://example.com", "method": "GET"}]},
        {"requests": "many", "total": 5},
        {"requests": [{"message": "hi"}]},
        {"prompts": []},
        session(request()),
    ],
)
def test_other_documents_are_not_exports(other: Json, tmp_path: Path) -> None:
    assert not ChatExport().claims(Probe(write(tmp_path / "chat.json", other)))


def test_a_file_among_the_sessions_is_a_session(tmp_path: Path) -> None:
    folder = tmp_path / "chatSessions"
    folder.mkdir()
    probe = Probe(write(folder / "s-1.json", E5))

    assert not ChatExport().claims(probe)
    assert VSCodeSession().claims(probe)


def test_an_export_without_requests_is_an_empty_conversation(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.json", {**E5, "requests": []})
    conversation, ledger = read_export(path)

    assert ChatExport().claims(Probe(path))
    assert (conversation.turns, conversation.messages) == ([], [])
    assert not ledger.diagnostics()


def test_an_export_of_another_assistant_has_its_name(tmp_path: Path) -> None:
    agent = {"id": "positron.assistant.chat", "fullName": "Positron Assistant"}
    named, _ = read_export(write(tmp_path / "a.json", {**E5, "responderUsername": "Positron Assistant"}))
    nameless, _ = read_export(write(tmp_path / "b.json", {"requests": [request(agent=agent)]}))

    assert named.assistant == nameless.assistant == "Positron Assistant"


def test_the_id_of_an_export_does_not_change(tmp_path: Path) -> None:
    first, _ = read_export(write(tmp_path / "chat.json", E1))
    again, _ = read_export(tmp_path / "chat.json")
    (tmp_path / "copy.json").write_text(json.dumps(E1), encoding="utf-8")
    copied, _ = read_export(tmp_path / "copy.json")

    assert first.id == again.id == copied.id


@pytest.mark.parametrize(
    "other",
    [
        {**E5, "requests": E5["requests"][:1]},
        {**E5, "requests": E5["requests"][::-1]},
        {**E5, "requests": [request("one", [{"value": "first"}], timestamp=1767000001000), E5["requests"][1]]},
        {**E5, "requests": [request("one", [{"value": "First"}]), E5["requests"][1]]},
        {**E5, "requests": []},
        {**E5, "responderUsername": "Positron Assistant"},
        {**E5, "responderUsername": "Positron Assistant", "requests": []},
    ],
)
def test_different_exports_have_different_ids(other: Json, tmp_path: Path) -> None:
    one, _ = read_export(write(tmp_path / "one.json", E5))
    two, _ = read_export(write(tmp_path / "two.json", other))

    assert one.id != two.id


def test_a_running_request_was_exported_as_cancelled(tmp_path: Path) -> None:
    running = request("go", [], modelState={"value": 2, "completedAt": 1767000001000})
    conversation, _ = read_export(write(tmp_path / "chat.json", {**E5, "requests": [running]}))

    assert conversation.turns[0].status == "cancelled"


def test_a_truncated_export_is_read_as_an_export(tmp_path: Path) -> None:
    text = json.dumps(E5, indent=2)
    path = tmp_path / "chat.json"
    path.write_text(text[: text.index("second")], encoding="utf-8")

    assert ChatExport().claims(Probe(path))
    conversation, ledger = read_export(path)
    assert dialogue(conversation) == ["one", "first", "two"]
    assert conversation.marks == ["damaged", "cut"]
    assert [bad.code for bad in ledger.bad] == ["torn-document"]


def test_an_export_is_found_by_its_path_alone(tmp_path: Path) -> None:
    (conversation,) = read(write(tmp_path / "chat.json", BARE))

    assert dialogue(conversation) == ["one", "first"]
