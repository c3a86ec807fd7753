"""The bundled sample is what the script makes, and shows every form there is."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from copilog.sample import home
from tests import make_sample
from tests.sample_home import Home
from tests.sample_log import replayed
from tests.sample_phone import UNKNOWN_RESPONSE_KIND

Json = dict[str, Any]


def names(text: str) -> set[str]:
    return set(text.split())


RESPONSE_KINDS = names(
    """
    (markdown) (tree) (string) autoModeResolution clearToPreviousToolInvocation codeblockUri command confirmation
    disabledClaudeHooks elicitation elicitationSerialized extensions externalEdit hook info inlineReference
    markdownContent markdownVuln mcpAuthenticationRequired mcpServersInteractionRequired mcpServersStarting
    mcpServersStartingSlow multiDiffData notebookEditGroup planReview prepareToolInvocation progressMessage
    progressTask progressTaskSerialized pullRequest questionCarousel systemNotification textEditGroup thinking
    toolInvocationSerialized treeData undoStop voiceProgress warning workspaceEdit
    """
)


MESSAGE_KINDS = {"agent", "dynamic", "prompt", "slash", "subcommand", "text", "tool", "toolset", "var"}
VARIABLE_KINDS = names(
    """
    (none) agentFeedback browserView chatReference command debugEvents debugVariable diagnostic directory element
    file generic image implicit notebookOutput paste promptFile promptText scmHistoryItem scmHistoryItemChange
    scmHistoryItemChangeRange sessionReference string symbol terminalCommand tool toolset transcriptContext
    workspace
    """
)
TOOL_DATA_KINDS = names(
    """
    agentFeedbackReviewConfirmation automationConfiguration automationConfigured extensions generatedImage input
    modifiedFilesConfirmation pullRequest resources search sessionCreated simpleToolInvocation subagent terminal
    todoList
    """
)
CONFIRMATIONS = {"absent", "True", "False", "0", "1", "2", "3", "4", "5"}
TOOL_SOURCES = {"absent", "extension", "external", "internal", "mcp", "user"}
HOOK_TYPES = names(
    """
    ErrorOccurred PostToolUse PreCompact PreToolUse SessionEnd SessionStart Stop SubagentStart SubagentStop
    UserPromptSubmit
    """
)
MODEL_STATES = {0, 1, 2, 3, 4}
OPERATION_TYPES = {"create", "delete", "notebookEdit", "rename", "textEdit"}
CELL_EDITS = {1, 2, 3, 4, 5, 6, 7, 8, 9}
MODES = {"agent", "ask", "edit"}
REQUEST_FIELDS = names(
    """
    agent codeCitations completionTokens confirmation contentReferences copilotCredits editedFileEvents elapsedMs
    followups hiddenFromTranscript isCanceled isHidden isSystemInitiated message modeInfo modelConfiguration modelId
    modelState modelTotals origin outputBuffer promptTokenDetails promptTokens providerRequestId
    requestHiddenFromTranscript requestId requestSource response responseErrorDetails responseId
    responseMarkdownInfo responseTimestamp result sessionCopilotCredits shouldBeRemovedOnSend slashCommand
    systemInitiatedLabel terminalExecutionId timeSpentWaiting timestamp usedContext variableData vote voteDownReason
    workingSet
    """
)
ROOT_FIELDS = names(
    """
    computedTitle creationDate customTitle hasPendingEdits initialLocation inputState isImported isNew
    lastMessageDate pendingRequests providerId repoData requesterAvatarIconUri requesterUsername requests
    responderAvatarIconUri responderUsername sessionId version welcomeMessage workingDirectory
    """
)
RESULT_FIELDS = {"details", "errorDetails", "metadata", "nextQuestion", "timings", "usage"}
ERROR_FIELDS = names(
    """
    code confirmationButtons isExpectedError isQuotaExceeded isRateLimited level message responseIsFiltered
    responseIsIncomplete responseIsRedacted
    """
)
METADATA_FIELDS = names(
    """
    agentId cacheKey codeBlocks command filterCategory globalContextCacheKey maxToolCallsExceeded modelMessageId
    outputTokens promptTokens renderedGlobalContext renderedUserMessage resolvedModel responseId sessionId
    shouldAutoSwitchToAuto summaries summary toolCallResults toolCallRounds
    """
)
ROUND_FIELDS = names(
    """
    compaction hookContext id phase phaseModelId response statefulMarker summary thinking timestamp toolCalls
    toolInputRetry
    """
)
RESULT_PARTS = {"absent", "21", "22", "23", "24"}
PROMPT_TAGS = names(
    """
    attachment attachments context conversation-summary editorContext environment_info error prompt
    reminderInstructions repoContext repoMemory sessionMemory todoList toolReferences userMemory userRequest
    user_query workspace_info
    """
)


@pytest.fixture(scope="module")
def made() -> Home:
    return make_sample.make()


@pytest.fixture(scope="module")
def sessions(made: Home) -> list[Json]:
    """Return all sessions of all folders."""
    found: list[Json] = []
    for path, data in made.files.items():
        name = Path(path)
        if _is_session_log(path):
            complete = data[: data.rindex(b"\n")].splitlines()
            found.append(replayed([json.loads(line) for line in complete]))
        elif name.suffix == ".json" and name.parent.name.endswith(("hatSessions", "exports")):
            document = json.loads(data)
            found += [document] if "requests" in document else []
    return found + [session for rows in made.rows.values() for session in rows.get("interactive.sessions", [])]


def _is_session_log(path: str) -> bool:
    return path.endswith(".jsonl") and Path(path).parent.name.endswith("hatSessions")


@pytest.fixture(scope="module")
def requests(sessions: list[Json]) -> list[Json]:
    return [request for session in sessions for request in session["requests"]]


# --- the tree ---------------------------------------------------------------------------------------------------


def test_the_tree_is_what_the_script_makes(made: Home) -> None:
    kept = {path.relative_to(home()).as_posix(): path for path in home().rglob("*") if path.is_file()}

    assert kept.keys() == made.files.keys() | made.rows.keys()
    assert [name for name, data in made.files.items() if kept[name].read_bytes() != data] == []
    for name, rows in made.rows.items():
        assert _rows(kept[name]) == {key: make_sample.stored(value) for key, value in rows.items()}


def _rows(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (1,)
        return dict(database.execute("SELECT key, value FROM ItemTable"))


def test_the_script_writes_the_same_again(tmp_path: Path, made: Home) -> None:
    make_sample.write(tmp_path / "home")

    written = {
        path.relative_to(tmp_path / "home").as_posix() for path in (tmp_path / "home").rglob("*") if path.is_file()
    }
    assert written == made.files.keys() | made.rows.keys()


def test_the_sample_is_small() -> None:
    assert sum(path.stat().st_size for path in home().rglob("*") if path.is_file()) < 700_000


def test_all_people_and_places_are_made_up(made: Home) -> None:
    text = "\n".join(data.decode() for data in made.files.values()) + json.dumps(list(made.rows.values()))

    assert set(re.findall(r"\w+@[\w-]+\.\w+", text)) == {"ana@example.com"}
    assert {
        host for host in re.findall(r"https?://([\w.-]+)", text) if not host.endswith(("example.com", "localhost"))
    } == set()
    assert re.findall(r"/(?:Users|root|mnt)/", text) == []
    assert set(re.findall(r"/home/(\w+)", text)) == {"ana"}


def test_texts_are_named_by_their_hash(made: Home) -> None:
    texts = {path: data for path, data in made.files.items() if "/contents/" in path}

    assert texts
    assert [path for path, data in texts.items() if hashlib.sha1(data).hexdigest()[:7] != path[-7:]] == []


def test_logs_grow_line_by_line(made: Home) -> None:
    logs = [data.splitlines() for path, data in made.files.items() if _is_session_log(path)]
    lines = [
        json.loads(line) for log in logs for line in log if not line.startswith(b'{"kind":2') or line.endswith(b"}")
    ]

    assert {line["kind"] for line in lines} == {0, 1, 2, 3}
    assert all(len(log) > 1 and log[0].startswith(b'{"kind":0,') for log in logs)
    assert {"v" in line for line in lines if "i" in line} == {True, False}, "an array is cut, and mostly goes on"
    assert any(line["kind"] == 1 and "v" not in line for line in lines), "a property is taken away"


# --- every form -------------------------------------------------------------------------------------------------


def test_every_kind_of_response_part_occurs(requests: list[Json]) -> None:
    assert {_part_kind(part) for request in requests for part in _response(request)} == {
        *RESPONSE_KINDS,
        UNKNOWN_RESPONSE_KIND,
    }


def _response(request: Json) -> list[Any]:
    response = request.get("response", [])
    return [response] if isinstance(response, str) else response


def _part_kind(part: Any) -> str:
    if isinstance(part, str):
        return "(string)"
    return str(part.get("kind", "(markdown)" if "value" in part else "(tree)"))


def test_every_kind_of_message_part_occurs(requests: list[Json]) -> None:
    messages = [request["message"] for request in requests]

    assert any(isinstance(message, str) for message in messages)
    parts = [part for message in messages if isinstance(message, dict) for part in message["parts"]]
    assert {part["kind"] for part in parts} == MESSAGE_KINDS


def test_every_kind_of_variable_occurs(requests: list[Json]) -> None:
    variables = [variable for request in requests for variable in request.get("variableData", {}).get("variables", [])]

    assert {variable.get("kind", "(none)") for variable in variables} == VARIABLE_KINDS
    assert {variable["omittedState"] for variable in variables if "omittedState" in variable} == {0, 1, 2, 3}


def test_every_tool_detail_occurs(requests: list[Json]) -> None:
    calls = list(_calls(requests))

    assert {call["toolSpecificData"]["kind"] for call in calls if "toolSpecificData" in call} == TOOL_DATA_KINDS
    assert {_confirmation(call) for call in calls} == CONFIRMATIONS
    assert {call.get("source", {}).get("type", "absent") for call in calls} == TOOL_SOURCES
    assert {type(call["resultDetails"]) for call in calls if "resultDetails" in call} == {list, dict}


def _calls(requests: list[Json]) -> Iterator[Json]:
    for request in requests:
        for part in _response(request):
            if _part_kind(part) == "toolInvocationSerialized":
                yield part


def _confirmation(call: Json) -> str:
    confirmed = call.get("isConfirmed", "absent")
    return str(confirmed["type"] if isinstance(confirmed, dict) else confirmed)


def test_hooks_and_notebook_edits_of_every_kind_occur(requests: list[Json]) -> None:
    parts = [part for request in requests for part in _response(request) if isinstance(part, dict)]

    assert {part["hookType"] for part in parts if part.get("kind") == "hook"} == HOOK_TYPES
    batches = [batch for part in parts if part.get("kind") == "notebookEditGroup" for batch in part["edits"]]
    assert {edit["editType"] for batch in batches for edit in batch if "editType" in edit} == CELL_EDITS


def test_every_field_of_sessions_and_requests_occurs(sessions: list[Json], requests: list[Json]) -> None:
    assert {key for session in sessions for key in session} == ROOT_FIELDS
    assert {session.get("version") for session in sessions} == {None, 2, 3}
    assert {session["initialLocation"] for session in sessions if "initialLocation" in session} == {
        "panel",
        "editor",
        "editing-session",
    }
    assert {key for request in requests for key in request} == REQUEST_FIELDS
    assert {event["eventKind"] for request in requests for event in request.get("editedFileEvents", [])} == {1, 2, 3}
    assert {request.get("vote") for request in requests} == {None, 0, 1}


def test_every_state_a_turn_can_be_in_occurs(requests: list[Json]) -> None:
    assert {request["modelState"]["value"] for request in requests if "modelState" in request} == MODEL_STATES
    undone = [request["shouldBeRemovedOnSend"] for request in requests if "shouldBeRemovedOnSend" in request]
    assert {"afterUndoStop" in mark for mark in undone} == {True, False}
    assert {request["modeInfo"]["kind"] for request in requests if "modeInfo" in request} == MODES


def test_every_field_of_results_occurs(requests: list[Json]) -> None:
    results = [request["result"] for request in requests if "result" in request]
    records = [result["metadata"] for result in results if "metadata" in result]
    rounds = [made for record in records for made in record.get("toolCallRounds", [])]

    assert {key for result in results for key in result} == RESULT_FIELDS
    assert {key for result in results for key in result.get("errorDetails", {})} == ERROR_FIELDS
    assert {key for record in records for key in record} >= METADATA_FIELDS
    assert {key for made in rounds for key in made} == ROUND_FIELDS
    assert all("__vscode-" in call["id"] for made in rounds for call in made["toolCalls"])
    tool_results = [result for record in records for result in record.get("toolCallResults", {}).values()]
    assert {str(part.get("$mid", "absent")) for result in tool_results for part in result["content"]} == RESULT_PARTS


def test_prompts_hold_the_usual_tags(requests: list[Json]) -> None:
    prompts = "".join(
        part.get("text", "")
        for request in requests
        for key in ("renderedUserMessage", "renderedGlobalContext")
        for part in request.get("result", {}).get("metadata", {}).get(key, [])
    )

    assert set(re.findall(r"^<([A-Za-z][\w-]*)[ >]", prompts, re.MULTILINE)) >= PROMPT_TAGS


def test_editing_sessions_have_all_three_shapes(made: Home) -> None:
    states = [json.loads(data) for path, data in made.files.items() if path.endswith("/state.json")]

    assert {(state["version"], "timeline" in state) for state in states} == {(1, False), (2, False), (2, True)}
    operations = [operation for state in states for operation in state.get("timeline", {}).get("operations", [])]
    assert {operation["type"] for operation in operations} == OPERATION_TYPES
    entries = [entry for state in states for entry in state["recentSnapshot"]["entries"]]
    assert {entry["state"] for entry in entries} == {0, 1, 2}
