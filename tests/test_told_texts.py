"""Texts that a person wrote or read beside the main text of a record: found again, on every surface, and searched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from copilog import ingest
from copilog.model import Conversation
from tests.sources import vscode_builders
from tests.sources.cli_builders import Log, write_log
from tests.sources.replay_builders import export, prompt, request, tool_call, user
from tests.test_notes import EVERYWHERE, WHERE_ALL_IS_SHOWN, WORDS, has_words


def read_whole(path: Path) -> Conversation:
    """Read a file whose texts are all accounted for, and none of them by a reason that hides the words."""
    leaves = ingest.inspect_file(path).leaves
    assert leaves is not None
    assert leaves.unaccounted == {}
    assert "diagnostic" not in leaves.reasons
    [conversation] = ingest.read(path)
    return conversation


# --- Copilot CLI --------------------------------------------------------------------------------------------------


def asked() -> Log:
    return Log().start().ask().call("c1", "bash", {"command": "ls"})


def permission(**fields: Any) -> dict[str, Any]:
    return {"requestId": "p1", "permissionRequest": {"kind": "shell", "toolCallId": "c1", **fields}}


def answered(**result: Any) -> dict[str, Any]:
    return {"requestId": "p1", "result": {"kind": "denied-interactively-by-user", **result}}


def ended(**fields: Any) -> dict[str, Any]:
    return {"toolCallId": "c1", "success": False, **fields}


def hooked(**fields: Any) -> Log:
    start = {"hookInvocationId": "h1", "hookType": "preToolUse", "input": {"toolName": "bash"}}
    end = {"hookInvocationId": "h1", "hookType": "preToolUse", "success": True, **fields}
    return asked().add("hook.start", start).add("hook.end", end)


def delegated() -> Log:
    started = {"toolCallId": "c1", "agentName": "explore", "agentDisplayName": "Explore", "agentDescription": "d"}
    log = Log().start().ask().call("c1", "task", {"prompt": "x"}).begin("c1", "task", {"prompt": "x"})
    return log.add("subagent.started", started)


LOGS = {
    "feedback": asked().add("permission.requested", permission()).add("permission.completed", answered(feedback=WORDS)),
    "warning": asked().add("permission.requested", permission(fullCommandText="ls", warning=WORDS)),
    "failed sub-agent": delegated().add(
        "subagent.failed", {"toolCallId": "c1", "agentName": "explore", "error": WORDS}
    ),
    "handoff": Log().start().ask().add("session.handoff", {"sourceType": "remote", "context": WORDS, "summary": "s"}),
    "objective": Log()
    .start()
    .ask()
    .add("session.autopilot_objective_changed", {"operation": "update", "status": "active", "objective": WORDS}),
    "modified arguments": hooked(output={"modifiedArgs": {"command": WORDS}}),
    "context from a hook": hooked(output={"systemMessage": "hello there", "additionalContext": WORDS}),
    "failed summary": Log()
    .start()
    .ask()
    .add("session.compaction_complete", {"success": False, "error": "no room", "summaryContent": WORDS}),
    "other arguments at the start": asked().begin("c1", "bash", {"command": WORDS}),
    "plan": Log().start().ask().pass_by("exit_plan_mode.requested", requestId="q1", summary="s", planContent=WORDS),
    "answer to a form": Log()
    .start()
    .ask()
    .pass_by("elicitation.requested", requestId="q1", message="Which?")
    .pass_by("elicitation.completed", requestId="q1", action="accept", content={"name": WORDS}),
    "terminal text": asked()
    .begin("c1", "bash", {"command": "ls"})
    .add(
        "tool.execution_complete",
        {
            "toolCallId": "c1",
            "success": True,
            "result": {"content": "some files", "contents": [{"type": "terminal", "text": WORDS}]},
        },
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_text_of_an_event_log_is_on_every_surface(tmp_path: Path, name: str) -> None:
    assert has_words(read_whole(write_log(tmp_path, LOGS[name]))) == EVERYWHERE


@pytest.mark.parametrize("field", ["diff", "newFileContents"])
def test_a_change_that_the_user_was_asked_to_allow_is_where_all_is_shown(tmp_path: Path, field: str) -> None:
    log = asked().add("permission.requested", permission(fileName="/a/b.py", **{field: WORDS}))

    assert has_words(read_whole(write_log(tmp_path, log))) == {**WHERE_ALL_IS_SHOWN, "search": True}


def test_a_permission_does_not_repeat_what_its_call_shows(tmp_path: Path) -> None:
    log = asked().add("permission.requested", permission(intention="List files", fullCommandText="ls"))
    [part] = [part for message in read_whole(write_log(tmp_path, log)).messages for part in message.parts][-1:]

    assert part.notes == {}


@pytest.mark.parametrize("result", [{}, {"result": {"content": "half of it"}}])
def test_the_error_of_a_call_is_shown_with_its_result(tmp_path: Path, result: dict[str, Any]) -> None:
    log = asked().begin("c1", "view", {"path": "a"})
    log.add("tool.execution_complete", ended(error={"message": WORDS}, **result))

    surfaces = has_words(read_whole(write_log(tmp_path, log)))

    assert [surfaces[name] for name in ("show --full", "html", "markdown", "search")] == [True] * 4


# --- chat replay --------------------------------------------------------------------------------------------------


def failed(native_id: str, kind: str = "failure") -> dict[str, Any]:
    made = request([user("When?")], native_id=native_id)
    return {**made, "type": "ChatMLFailure", "response": {"type": kind, "reason": WORDS}}


LOGGED: dict[str, list[Any]] = {
    "failed": [failed("aaaa0001")],
    "failed, as others write it": [failed("aaaa0001", "failed")],
    "failed, and made again": [failed("aaaa0001"), request([user("When?")], native_id="aaaa0002")],
    "tool call": [request([user("When?")]), {**tool_call("c1"), "error": WORDS}],
    "entry that could not be written": [request([user("When?")]), {"id": "x", "kind": "error", "error": WORDS}],
}


@pytest.mark.parametrize("name", LOGGED)
def test_an_error_of_a_chat_replay_is_on_every_surface(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.chatreplay.json"
    path.write_text(json.dumps(export(prompt("When?", *LOGGED[name]))))

    assert has_words(read_whole(path)) == EVERYWHERE


def test_a_call_of_a_chat_replay_with_an_error_failed(tmp_path: Path) -> None:
    path = tmp_path / "a.chatreplay.json"
    path.write_text(json.dumps(export(prompt("When?", *LOGGED["tool call"]))))
    calls = [part for message in read_whole(path).messages for part in message.parts if part.native is None]

    assert [getattr(part, "status", None) for part in calls if hasattr(part, "arguments")] == ["failed"]


# --- transcripts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tool.execution_end", "tool.execution_complete"])
@pytest.mark.parametrize("result", [{}, {"result": {"content": "half of it"}}])
def test_the_error_of_a_call_in_a_transcript_is_shown(tmp_path: Path, name: str, result: dict[str, Any]) -> None:
    start = {"sessionId": "s-1", "version": 1, "producer": "copilot-agent", "copilotVersion": "0.40"}
    call = {"toolCallId": "c1", "toolName": "list_dir", "arguments": {"path": "/"}}
    events = [
        ("session.start", start),
        ("user.message", {"content": "list the folder", "attachments": []}),
        ("tool.execution_start", call),
        (name, ended(error={"message": WORDS}, **result)),
    ]
    lines = [
        {"type": kind, "data": data, "id": f"e{at}", "timestamp": f"2026-01-01T00:00:0{at}.000Z", "parentId": None}
        for at, (kind, data) in enumerate(events)
    ]
    path = tmp_path / "GitHub.copilot-chat" / "transcripts" / "s-1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    surfaces = has_words(read_whole(path))

    assert [surfaces[surface] for surface in ("show --full", "html", "markdown", "search")] == [True] * 4


# --- VS Code ------------------------------------------------------------------------------------------------------


def attached(**fields: Any) -> dict[str, Any]:
    return {"variableData": {"variables": [{"id": "a-1", "name": "d", "value": "x", **fields}]}}


def tool(**fields: Any) -> dict[str, Any]:
    made = {"kind": "toolInvocationSerialized", "toolId": "mcp_x", "toolCallId": "c1", "isComplete": True}
    return {"response": [{**made, "invocationMessage": "r", "pastTenseMessage": "r", **fields}]}


def asking(question: dict[str, Any], **fields: Any) -> dict[str, Any]:
    asked = {"id": "q1", "type": "text", "title": "Which?", **question}
    return {"response": [{"kind": "questionCarousel", "questions": [asked], **fields}]}


SERVER = {"serverId": "s", "serverLabel": "lab", "errorMessage": WORDS}
OUTPUT = {"content": [{"type": "text", "text": WORDS}]}
REQUESTS: dict[str, dict[str, Any]] = {
    "command of a terminal": attached(kind="terminalCommand", command=WORDS, output="three tests failed"),
    "expression": attached(kind="debugVariable", expression=WORDS),
    "server": {"response": [{"kind": "mcpServersInteractionRequired", "isDone": True, "servers": [SERVER]}]},
    "output of a server": tool(resultDetails={"input": "{}", "output": [], "mcpOutput": OUTPUT}),
    "structured output of a server": tool(
        resultDetails={"input": "{}", "output": [], "mcpOutput": {"structuredContent": {"tide": WORDS}}}
    ),
    "command to be confirmed": tool(
        toolSpecificData={
            "kind": "terminal",
            "language": "sh",
            "commandLine": {"original": "ls"},
            "confirmation": {"commandLine": WORDS},
        }
    ),
    "folder to be confirmed": tool(
        toolSpecificData={
            "kind": "terminal",
            "language": "sh",
            "commandLine": {"original": "ls"},
            "confirmation": {"commandLine": "ls", "cwdLabel": WORDS},
        }
    ),
    "default answer": asking({"defaultValue": WORDS}),
    "value of an option": asking({"options": [{"id": "a", "label": "Nine", "value": WORDS}]}),
    "automatic reply to questions": asking({}, autoReply=WORDS),
    "automatic reply to a form": {
        "response": [{"kind": "elicitationSerialized", "title": "Which?", "message": "?", "autoReply": {"name": WORDS}}]
    },
    "button that starts servers": {
        "response": [
            {
                "kind": "mcpServersInteractionRequired",
                "servers": [{"serverId": "s", "serverLabel": "lab"}],
                "startCommand": {"id": "mcp.start", "title": WORDS},
            }
        ]
    },
    "lines that were pasted": attached(kind="paste", code="x", pastedLines=WORDS),
    "reason to vote down": {"voteDownReason": WORDS},
    "origin of a call": tool(originMessage={"value": WORDS}),
    "next question": {"result": {"nextQuestion": {"prompt": WORDS, "participant": "copilot"}}},
}


def session_file(folder: Path, *requests: dict[str, Any], **fields: Any) -> Path:
    path = folder / "chatSessions" / "s-1.json"
    path.parent.mkdir()
    path.write_text(json.dumps(vscode_builders.session(*requests, **fields)))
    return path


@pytest.mark.parametrize("name", REQUESTS)
def test_a_text_of_a_session_is_on_every_surface(tmp_path: Path, name: str) -> None:
    path = session_file(tmp_path, vscode_builders.request(**REQUESTS[name]))

    assert has_words(read_whole(path)) == EVERYWHERE


def test_the_page_that_a_server_showed_for_a_call_is_where_all_is_shown(tmp_path: Path) -> None:
    app = {"kind": "local", "resourceUri": "ui://tides/page", "html": f"<p>{WORDS}</p>"}
    part = tool(toolSpecificData={"kind": "input", "rawInput": {"page": 1}, "mcpAppData": app})
    path = session_file(tmp_path, vscode_builders.request(**part))

    assert has_words(read_whole(path)) == {**WHERE_ALL_IS_SHOWN, "search": True}


@pytest.mark.parametrize("more", [False, True])
def test_what_a_button_passes_on_is_where_all_is_shown(tmp_path: Path, more: bool) -> None:
    button = {"id": "workbench.action.chat.open", "title": "Try", "arguments": [{"query": WORDS}]}
    other = {"id": "x.y", "title": "Open"}
    part = {"kind": "command", "command": other if more else button, "additionalCommands": [button] if more else []}
    path = session_file(tmp_path, vscode_builders.request(response=[part]))

    assert has_words(read_whole(path)) == {**WHERE_ALL_IS_SHOWN, "search": True}


def test_changes_that_were_not_committed_are_on_every_surface(tmp_path: Path) -> None:
    diff = {
        "relativePath": "a.py",
        "changeType": "modified",
        "unifiedDiff": f"@@ -1 +1 @@\n-ebb\n+{WORDS}",
        "status": "x",
    }
    path = session_file(tmp_path, vscode_builders.request(), repoData={"workspaceType": "local-git", "diffs": [diff]})
    conversation = read_whole(path)

    assert has_words(conversation) == EVERYWHERE
    assert (conversation.file_changes, conversation.documents[0].path) == ([], "a.py")
