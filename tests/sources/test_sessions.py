"""A session: its title, times, location, draft, queue and assistant."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from copilog.diagnostics import Ledger
from copilog.model import Conversation, Draft, Notice, Place, Text, Workspace, title_of
from copilog.sources.base import Found, Probe
from copilog.sources.vscode.conversation import conversation_from
from copilog.sources.vscode.session_json import VSCodeSession
from tests.sources.vscode_builders import SESSION_ID, read_session, request, session

Json = dict[str, Any]


def read(tmp_path: Path, *requests: Any, **fields: Any) -> Conversation:
    return read_session(session(*requests, **fields), tmp_path)[0]


def at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


# --- versions and eras ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({}, None),
        ({"version": 2, "computedTitle": "Computed"}, "Computed"),
        ({"version": 3, "customTitle": "Custom"}, "Custom"),
        ({"version": 3, "customTitle": "Custom", "computedTitle": "Computed"}, "Custom"),
        ({"version": 3, "customTitle": ""}, None),
        ({"version": 3, "customTitle": 5}, None),
    ],
)
def test_the_title_is_read_in_every_version(fields: Json, title: str | None, tmp_path: Path) -> None:
    state = session(request("first line\nsecond"))
    del state["version"]
    conversation, _ = read_session(state | fields, tmp_path)

    assert (conversation.title or None) == title
    assert title_of(conversation) == (title or "first line")


def test_a_session_of_spring_2025(tmp_path: Path) -> None:
    conversation = read(
        tmp_path,
        request("go", [{"value": "ok"}], isCanceled=True, timestamp=1740000000000),
        requesterUsername="ana",
        requesterAvatarIconUri={"$mid": 1, "scheme": "https", "authority": "example.com", "path": "/a.png"},
        responderAvatarIconUri={"id": "copilot"},
        lastMessageDate=1740000009000,
        isImported=True,
        isNew=False,
    )

    assert conversation.turns[0].status == "cancelled"
    assert conversation.updated_at == at(1740000009000)
    assert conversation.marks == ["imported"]
    assert conversation.extra is not None
    assert conversation.extra.keys() == {
        "version",
        "requesterUsername",
        "requesterAvatarIconUri",
        "responderAvatarIconUri",
        "isNew",
    }


def test_a_session_of_winter_2025(tmp_path: Path) -> None:
    conversation = read(
        tmp_path,
        request("go", [{"value": "ok"}], modelState={"value": 1, "completedAt": 1766000009000}, modelId="copilot/m"),
        hasPendingEdits=True,
        inputState={"inputText": "", "attachments": [], "mode": {"id": "agent", "kind": "agent"}},
    )

    assert conversation.turns[0].status == "complete"
    assert conversation.has_pending_edits is True
    assert conversation.updated_at == at(1766000009000)
    assert conversation.draft is not None


def test_the_oldest_sessions_are_read(tmp_path: Path) -> None:
    old = {
        "message": "hello?",
        "response": "hello!",
        "providerResponseId": "p",
        "responseErrorDetails": {"message": "!"},
    }
    conversation = read(tmp_path, old, providerId="copilot", welcomeMessage=["hi"], providerState={"a": 1})

    assert [message.parts[0] for message in conversation.messages] == [
        Notice(topic="welcome", text="hi"),
        Text(text="hello?"),
        Text(text="hello!", native="string", position=0),
    ]
    assert conversation.turns[0].status == "failed"
    assert conversation.extra is not None
    assert "welcomeMessage" not in conversation.extra


# --- times, location --------------------------------------------------------------------------------------------


def test_without_a_date_the_last_time_of_the_last_turn_counts(tmp_path: Path) -> None:
    conversation = read(
        tmp_path, request(timestamp=1767000001000), request(timestamp=1767000002000, responseTimestamp=1767000003000)
    )

    assert conversation.started_at == at(1767000000000)
    assert conversation.updated_at == at(1767000003000)


@pytest.mark.parametrize("nonsense", [0, None, "then", -5])
def test_a_date_that_is_missing_is_not_invented(nonsense: Any, tmp_path: Path) -> None:
    conversation = read(tmp_path, creationDate=nonsense, lastMessageDate=nonsense)

    assert (conversation.started_at, conversation.updated_at) == (None, None)
    assert conversation.extra is not None
    assert conversation.extra["creationDate"] == nonsense


@pytest.mark.parametrize(
    ("recorded", "location"),
    [("panel", "panel"), ("editor", "editor"), ("terminal", "terminal"), ("notebook", "notebook"), ("moon", "moon")],
)
def test_the_location_of_the_chat_is_read(recorded: str, location: str, tmp_path: Path) -> None:
    assert read(tmp_path, initialLocation=recorded).location == location


def test_the_old_name_of_the_panel_is_recognized(tmp_path: Path) -> None:
    conversation = read(tmp_path, initialLocation="editing-session")

    assert conversation.location == "panel"
    assert conversation.extra == {"version": 3, "initialLocation": "editing-session"}


def test_the_repository_at_the_time(tmp_path: Path) -> None:
    conversation = read(
        tmp_path,
        repoData={
            "workspaceType": "remote-git",
            "remoteUrl": "https://example.com/ana/app.git",
            "localBranch": "topic",
            "localHeadCommit": "abc",
            "diffsStatus": "notCaptured",
        },
    )

    assert conversation.workspace == Workspace(
        repository="https://example.com/ana/app.git",
        branch="topic",
        commit="abc",
        extra={"workspaceType": "remote-git", "diffsStatus": "notCaptured"},
    )


def test_the_old_key_of_the_commit_is_read(tmp_path: Path) -> None:
    workspace = read(tmp_path, repoData={"headCommitHash": "abc"}).workspace

    assert workspace == Workspace(commit="abc")


def test_the_working_directory_is_a_workspace(tmp_path: Path) -> None:
    workspace = read(tmp_path, workingDirectory="file:///c%3A/Users/ana/my%20tree").workspace

    assert workspace == Workspace(folder="c:/Users/ana/my tree", uri="file:///c%3A/Users/ana/my%20tree")


def test_a_session_without_a_location_has_none(tmp_path: Path) -> None:
    assert read(tmp_path, repoData="none", workingDirectory=5).workspace is None


# --- what was not sent ------------------------------------------------------------------------------------------

FILE: Json = {"$mid": 1, "scheme": "file", "path": "/home/ana/a.py"}
INPUT: Json = {
    "inputText": "not yet sent",
    "attachments": [{"kind": "file", "name": "a.py", "value": FILE}, "odd"],
    "mode": {"id": "file:///home/ana/agents/docs.agent.md", "kind": "agent"},
    "selectedModel": {"identifier": "copilot/m", "metadata": {"family": "f"}},
    "permissionLevel": "autopilot",
    "selections": [],
    "contrib": {"a": 1},
}


def check_draft(draft: Draft | None) -> None:
    assert draft is not None
    assert draft.text == "not yet sent"
    assert [getattr(part, "place", None) for part in draft.attachments] == [
        Place(uri="file:///home/ana/a.py", path="/home/ana/a.py")
    ]
    assert draft.mode is not None
    assert (draft.mode.id, draft.mode.kind) == ("file:///home/ana/agents/docs.agent.md", "agent")
    assert (draft.mode.permission_level, draft.mode.evidence) == ("autopilot", "input box")
    assert draft.model is not None
    assert (draft.model.name, draft.model.extra) == ("m", {"metadata": {"family": "f"}})
    assert draft.extra == {"selections": [], "contrib": {"a": 1}}


def test_the_content_of_the_input_box_is_a_draft(tmp_path: Path) -> None:
    conversation, ledger = read_session(session(inputState=INPUT), tmp_path)

    check_draft(conversation.draft)
    assert [bad.pointer for bad in ledger.parts.bad] == ["/inputState/attachments/1"]


def test_the_input_box_of_older_releases_is_a_draft(tmp_path: Path) -> None:
    conversation, ledger = read_session(session(**INPUT), tmp_path)

    check_draft(conversation.draft)
    assert conversation.extra == {"version": 3}
    assert [bad.pointer for bad in ledger.parts.bad] == ["/attachments/1"]


@pytest.mark.parametrize(
    ("mode", "id_", "kind"),
    [("agent", "agent", "agent"), ({"id": "edit"}, "edit", "edit"), ({"id": "x", "kind": "ask"}, "x", "ask")],
)
def test_the_mode_of_the_input_box(mode: Any, id_: str, kind: str, tmp_path: Path) -> None:
    draft = read(tmp_path, inputState={"mode": mode}).draft

    assert draft is not None
    assert draft.mode is not None
    assert (draft.mode.id, draft.mode.kind) == (id_, kind)


def test_an_input_box_of_other_types_stays_in_extra(tmp_path: Path) -> None:
    odd = {"inputText": 5, "attachments": "none", "mode": 5, "selectedModel": {"name": "m"}, "permissionLevel": "p"}
    draft = read(tmp_path, inputState=odd).draft

    assert draft == Draft(extra=odd)


def test_queued_prompts_are_not_turns(tmp_path: Path) -> None:
    queued = {
        "id": "q-1",
        "kind": "steering",
        "request": {
            "requestId": "request_q",
            "message": {"text": "also this", "parts": []},
            "variableData": {"variables": [{"kind": "tool", "id": "t"}]},
            "timestamp": 1767000005000,
            "modelId": "copilot/m",
            "agent": {"id": "a"},
        },
        "sendOptions": {"modeInfo": {"kind": "agent", "telemetryModeName": "Docs"}, "attempt": 1},
    }
    conversation = read(tmp_path, pendingRequests=[queued])

    assert conversation.turns == []
    assert conversation.messages == []
    (prompt,) = conversation.queued
    assert (prompt.id, prompt.type) == ("q-1", "steering")
    assert (prompt.message.id, prompt.message.created_at) == ("request_q", at(1767000005000))
    assert (prompt.message.mode, prompt.message.turn) == ("Docs", None)
    assert [part.native for part in prompt.message.parts] == [None, "tool"]
    assert prompt.extra == {
        "request": {"modelId": "copilot/m", "agent": {"id": "a"}},
        "sendOptions": queued["sendOptions"],
    }


def test_an_invalid_queued_prompt_is_reported_and_stays_in_extra(tmp_path: Path) -> None:
    odd = ["text", {"id": "q"}, {"request": {"result": {"metadata": {"a": 1}}}}]
    good = {"kind": "queued", "request": {"message": "go"}}
    conversation, ledger = read_session(session(pendingRequests=[*odd, good]), tmp_path)

    assert [prompt.type for prompt in conversation.queued] == ["queued"]
    assert conversation.queued[0].extra is None
    assert conversation.extra == {"version": 3, "pendingRequests": odd}
    assert [(note.code, note.pointer) for note in ledger.notes] == [
        ("bad-request", "/pendingRequests/0/request"),
        ("bad-request", "/pendingRequests/1/request"),
        ("no-message", "/pendingRequests/2/request"),
    ]


# --- who answered -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("responder", "agents", "assistant"),
    [
        ("GitHub Copilot", ["github.copilot.default"], "GitHub Copilot"),
        ("Positron Assistant", ["positron.assistant"], "Positron Assistant"),
        ("", ["github.copilot.editor"], "GitHub Copilot"),
        ("", ["setup.agent"], "GitHub Copilot"),
        ("", ["someone.else"], "someone.else"),
        ("", [], None),
    ],
)
def test_the_name_of_the_assistant_is_read(
    responder: str, agents: list[str], assistant: str | None, tmp_path: Path
) -> None:
    requests = [request(agent={"id": agent}) for agent in agents]

    assert read(tmp_path, *requests, responderUsername=responder).assistant == assistant


def test_another_assistant_has_its_own_name(tmp_path: Path) -> None:
    agent = {"id": "other.default", "fullName": "Other Assistant", "extensionId": "other.chat"}

    assert read(tmp_path, request(agent=agent), responderUsername="").assistant == "Other Assistant"


# --- ids, and sessions that are hardly any ----------------------------------------------------------------------


def test_the_file_gives_a_session_its_id(tmp_path: Path) -> None:
    conversation = read(tmp_path, sessionId="another-id")

    assert (conversation.id, conversation.native_id) == (f"vscode:{SESSION_ID}", SESSION_ID)
    assert conversation.extra == {"version": 3, "sessionId": "another-id"}


@pytest.mark.parametrize("session_id", ["s-1", 5, ""])
def test_a_session_outside_of_its_folder_has_its_own_id(session_id: Any, tmp_path: Path) -> None:
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(session(request(), sessionId=session_id)), encoding="utf-8")
    source = VSCodeSession()
    probe = Probe(path)
    assert source.claims(probe)

    found = Found(path, source.name, native_id=source.native_id(probe))
    (first,) = source.read(found, Ledger())
    (second,) = source.read(found, Ledger())

    assert first.id == second.id
    assert first.native_id == (session_id if session_id == "s-1" else None)
    assert first.id == "vscode:s-1" if session_id == "s-1" else len(first.id) > len("vscode:")


def test_a_session_without_requests_is_empty(tmp_path: Path) -> None:
    conversation, ledger = read_session({"sessionId": SESSION_ID, "customTitle": "Nothing yet"}, tmp_path)

    assert (conversation.title, conversation.turns) == ("Nothing yet", [])
    assert not ledger.diagnostics()


@pytest.mark.parametrize("odd", [{"0": {}}, "none", 5, True])
def test_requests_that_are_not_a_list_are_one_bad_record(odd: Any, tmp_path: Path) -> None:
    conversation, ledger = read_session(session(customTitle="Odd") | {"requests": odd}, tmp_path)

    assert (conversation.title, conversation.turns) == ("Odd", [])
    assert conversation.extra == {"version": 3, "requests": odd}
    assert [(bad.code, bad.pointer) for bad in ledger.bad] == [("bad-record", "/requests")]


def test_in_a_log_lines_are_records_and_bad_requests_only_notes(tmp_path: Path) -> None:
    ledger = Ledger()
    state = {"requests": [None, 5, {"requestId": "r"}, request("words")]}
    conversation = conversation_from(state, ledger, source="vscode-session-log", native_id="s-1", count_requests=False)

    assert [turn.pointer for turn in conversation.turns] == ["/requests/3"]
    assert (ledger.seen, ledger.used, ledger.bad, ledger.ignored) == (0, 0, [], {})
    assert [(note.code, note.pointer) for note in ledger.notes] == [
        ("null-request", "/requests/0"),
        ("bad-request", "/requests/1"),
        ("no-message", "/requests/2"),
    ]
