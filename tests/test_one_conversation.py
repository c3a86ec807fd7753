"""One conversation in many formats is one conversation, whichever of its traces are there."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from copilog import identity, ingest
from copilog.model import Conversation, Text, ToolCall, ToolResult, parts_of, prose_of

SESSION = "5b1f6a3e-1111-4222-8333-444444444444"
ASKED = ["When is high tide in Norrvik today?", "And when is low tide, please?"]
ANSWERED = ["At 06:12, says the table.", "At 12:25."]
BEGAN = 1_776_000_000_000


def moment(turn: int, seconds: int = 0) -> str:
    stamp = datetime.fromtimestamp(BEGAN / 1000 + turn * 600 + seconds, UTC)
    return stamp.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def requests() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for turn, (asked, answered) in enumerate(zip(ASKED, ANSWERED, strict=True)):
        calls = [{"id": "call_1__vscode-1", "name": "read_file", "arguments": '{"filePath": "/home/ana/tides.csv"}'}]
        rounds = [{"id": f"round_{turn}", "response": answered, "toolCalls": calls if turn == 0 else []}]
        results = {"call_1__vscode-1": {"content": [{"value": "06:12 high"}]}} if turn == 0 else {}
        made.append(
            {
                "requestId": f"request_{SESSION}_{turn}",
                "timestamp": BEGAN + turn * 600_000,
                "message": {"text": asked, "parts": []},
                "variableData": {"variables": []},
                "response": [{"value": answered}],
                "modelState": {"value": 1, "completedAt": BEGAN + turn * 600_000 + 5_000},
                "result": {
                    "metadata": {
                        "responseId": f"answer_{SESSION}_{turn}",
                        "toolCallRounds": rounds,
                        "toolCallResults": results,
                    }
                },
            }
        )
    return made


def write_session(folder: Path) -> Path:
    path = folder / "chatSessions" / f"{SESSION}.json"
    path.parent.mkdir(parents=True)
    state = {"version": 3, "sessionId": SESSION, "creationDate": BEGAN, "responderUsername": "GitHub Copilot"}
    path.write_text(json.dumps({**state, "requests": requests()}))
    return path


def write_log(folder: Path) -> Path:
    path = folder / "elsewhere" / "chatSessions" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    state = {"version": 3, "sessionId": SESSION, "creationDate": BEGAN, "responderUsername": "GitHub Copilot"}
    lines = [{"kind": 0, "v": {**state, "requests": []}}, {"kind": 2, "k": ["requests"], "v": requests()}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def write_export(folder: Path) -> Path:
    path = folder / "chat.json"
    path.write_text(json.dumps({"responderUsername": "GitHub Copilot", "requests": requests()}))
    return path


def write_transcript(folder: Path) -> Path:
    path = folder / "GitHub.copilot-chat" / "transcripts" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    start = {"sessionId": SESSION, "version": 1, "producer": "copilot-agent", "vscodeVersion": "1.109.0"}
    events: list[tuple[str, dict[str, Any], str]] = [("session.start", start, moment(0))]
    for turn, (asked, answered) in enumerate(zip(ASKED, ANSWERED, strict=True)):
        call = {"toolCallId": "call_1", "name": "read_file", "arguments": '{"filePath": "/home/ana/tides.csv"}'}
        events += [
            ("user.message", {"content": asked, "attachments": []}, moment(turn)),
            ("assistant.turn_start", {"turnId": "0"}, moment(turn, 1)),
            (
                "assistant.message",
                {"messageId": f"m{turn}", "content": answered, "toolRequests": [call] if turn == 0 else []},
                moment(turn, 2),
            ),
            ("assistant.turn_end", {"turnId": "0"}, moment(turn, 3)),
        ]
    path.write_text(
        "".join(
            json.dumps({"type": kind, "data": data, "id": f"e{number}", "timestamp": at, "parentId": None}) + "\n"
            for number, (kind, data, at) in enumerate(events)
        )
    )
    return path


def write_replay(folder: Path) -> Path:
    prompts = []
    history: list[dict[str, Any]] = [{"role": 0, "content": [{"type": 1, "text": "You help."}]}]
    for turn, (asked, answered) in enumerate(zip(ASKED, ANSWERED, strict=True)):
        history = [
            *history,
            {"role": 1, "content": [{"type": 1, "text": f"<userRequest>\n{asked}\n</userRequest>\n"}]},
        ]
        entry = {
            "id": f"{turn:08x}",
            "kind": "request",
            "type": "ChatMLSuccess",
            "name": "panel/editAgent",
            "metadata": {
                "model": "gpt-5",
                "startTime": moment(turn, 1),
                "endTime": moment(turn, 4),
                "ourRequestId": f"answer_{SESSION}_{turn}",
                "usage": {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107},
            },
            "requestMessages": {"messages": history},
            "response": {"type": "success", "message": [answered]},
        }
        history = [*history, {"role": 2, "content": [{"type": 1, "text": answered}]}]
        prompts.append({"prompt": asked, "promptId": f"{turn:08x}-prompt", "logCount": 1, "logs": [entry]})
    path = folder / "copilot_all_prompts.chatreplay.json"
    document = {"exportedAt": moment(3), "totalPrompts": 2, "totalLogEntries": 2, "prompts": prompts, "mcpServers": []}
    path.write_text(json.dumps(document))
    return path


def write_store(folder: Path) -> Path:
    path = folder / "globalStorage" / "github.copilot-chat" / "session-store.db"
    path.parent.mkdir(parents=True)
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE schema_version (version INTEGER NOT NULL); INSERT INTO schema_version VALUES (3);"
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, cwd TEXT, repository TEXT, host_type TEXT, branch TEXT,"
        " summary TEXT, agent_name TEXT, agent_description TEXT, created_at TEXT, updated_at TEXT);"
        "CREATE TABLE turns (id INTEGER PRIMARY KEY, session_id TEXT, turn_index INTEGER, user_message TEXT,"
        " assistant_response TEXT, timestamp TEXT);"
    )
    connection.execute(
        "INSERT INTO sessions VALUES (?, NULL, 'ana/tides', 'vscode', 'main', 'Tides', NULL, NULL, ?, ?)",
        (SESSION, moment(0), moment(1)),
    )
    for turn, (asked, answered) in enumerate(zip(ASKED, ANSWERED, strict=True)):
        row = (SESSION, turn, asked, answered, moment(turn))
        connection.execute("INSERT INTO turns VALUES (NULL, ?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.close()
    return path


WRITERS: dict[str, Callable[[Path], Path]] = {
    "session": write_session,
    "log": write_log,
    "export": write_export,
    "transcript": write_transcript,
    "replay": write_replay,
    "store": write_store,
}


def read_one(folder: Path) -> Conversation:
    [conversation] = [found for found in ingest.read(folder) if "memory" not in found.marks]
    return conversation


@pytest.mark.parametrize("pair", list(combinations(WRITERS, 2)), ids="-".join)
def test_two_traces_of_one_conversation_become_one(pair: tuple[str, str], tmp_path: Path) -> None:
    paths = {str(WRITERS[name](tmp_path)) for name in pair}

    conversation = read_one(tmp_path)

    assert {place.path for place in conversation.provenance} == paths
    assert len(conversation.turns) == 2
    asked = [prose_of(message.parts) for message in conversation.messages if message.role == "user"]
    assert asked == ASKED


def test_a_session_its_transcript_and_its_replay_are_one_conversation_with_three_provenances(tmp_path: Path) -> None:
    for name in ("replay", "transcript", "session"):
        WRITERS[name](tmp_path)

    conversation = read_one(tmp_path)

    assert conversation.id == f"vscode:{SESSION}"
    assert conversation.source == "vscode-session"
    assert [place.source for place in conversation.provenance if place.role == "lead"] == ["vscode-session"]
    assert {place.source for place in conversation.provenance} == {"vscode-session", "transcripts", "chat-replay"}


def test_gaps_are_filled_from_the_other_traces(tmp_path: Path) -> None:
    for name in ("transcript", "session", "replay", "store"):
        WRITERS[name](tmp_path)

    conversation = read_one(tmp_path)

    assert [usage.input for turn in conversation.turns for usage in turn.usage] == [100, 100]
    [call] = [part for part in parts_of(conversation) if isinstance(part, ToolCall)]
    [result] = [part for part in parts_of(conversation) if isinstance(part, ToolResult)]
    assert (call.name, call.arguments) == ("read_file", '{"filePath": "/home/ana/tides.csv"}')
    assert result.text == "06:12 high"
    assert conversation.title == "Tides"


def test_all_traces_at_once_are_still_one(tmp_path: Path) -> None:
    for write in WRITERS.values():
        write(tmp_path)

    conversation = read_one(tmp_path)

    assert len(conversation.provenance) == len(WRITERS)
    answers = [prose_of(message.parts) for message in conversation.messages if message.role == "assistant"]
    assert [answer for answer in answers if answer] == ANSWERED


def write_debug_log(folder: Path) -> Path:
    path = folder / "GitHub.copilot-chat" / "debug-logs" / SESSION / "main.jsonl"
    path.parent.mkdir(parents=True)
    lines: list[dict[str, Any]] = []
    for turn, (asked, answered) in enumerate(zip(ASKED, ANSWERED, strict=True)):
        at = BEGAN + turn * 600_000
        common = {"dur": 0, "sid": SESSION, "status": "ok"}
        output = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": answered}]}])
        lines += [
            {
                "ts": at,
                "type": "user_message",
                "name": "user_message",
                "spanId": f"u{turn}",
                "attrs": {"content": asked},
            },
            {
                "ts": at + 1000,
                "type": "llm_request",
                "name": "chat:gpt-5",
                "spanId": f"l{turn}",
                "attrs": {"model": "gpt-5", "inputTokens": 90, "outputTokens": 6},
            },
            {
                "ts": at + 2000,
                "type": "agent_response",
                "name": "agent_response",
                "spanId": f"agent-msg-l{turn}",
                "attrs": {"response": output},
            },
        ]
        lines[-3:] = [{**common, **line} for line in lines[-3:]]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("other", WRITERS)
def test_a_debug_log_joins_each_other_trace(other: str, tmp_path: Path) -> None:
    paths = {str(WRITERS[other](tmp_path)), str(write_debug_log(tmp_path))}

    conversation = read_one(tmp_path)

    assert {place.path for place in conversation.provenance} == paths
    assert len(conversation.turns) == 2


# --- trajectories -----------------------------------------------------------------------------------------------


def write_trajectory(folder: Path, kind: str = "copilot-chat/engine.messages", **metadata: Any) -> Path:
    """Write telemetry of the conversation: prompts as they were sent, modes, models and the complete tool call."""
    call = {"name": "read_file", "arguments": '{"filePath": "/home/ana/tides.csv"}'}
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You help."}]
    for turn, (asked, answered) in enumerate(zip(ASKED, ANSWERED, strict=True)):
        prompt = f"<context>\nToday.\n</context>\n<userRequest>\n{asked}\n</userRequest>"
        messages.append({"role": "user", "content": prompt, "mode": ("ask", "agent")[turn]})
        if turn == 0:
            calls = [{"id": "call_1__vscode-1", "type": "function", "function": call}]
            messages.append({"role": "assistant", "content": "", "tool_calls": calls})
            messages.append({"role": "tool", "content": "06:12 high", "tool_call_id": "call_1__vscode-1"})
        answer = {"role": "assistant", "content": answered, "model": ("gpt-5", "gpt-5-mini")[turn]}
        messages.append({**answer, "model_source": "engine"})
    line = {
        "conversation_id": SESSION,
        "messages": messages,
        "context": {"contextTypes": "none"},
        "metadata": {"mode": "ask", "timestamp": moment(1, 5), "turnIndex": 1, **metadata},
        "mode_distribution": {"agent": 1, "ask": 1},
        "telemetry_type": kind,
        "file_path": "telemetry/0504.jsonl",
    }
    other = {**line, "conversation_id": "another", "messages": messages[:1]}
    path = folder / "trajectories.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in (other, line)))
    return path


def read_session_of(folder: Path) -> Conversation:
    [conversation] = [found for found in ingest.read(folder) if found.native_id == SESSION]
    return conversation


def modes_and_models(conversation: Conversation) -> list[tuple[str | None, str | None]]:
    asked = [message.mode for message in conversation.messages if message.role == "user"]
    answers = {message.turn: message.model for message in conversation.messages if message.role == "assistant"}
    return list(zip(asked, answers.values(), strict=True))


@pytest.mark.parametrize("other", [*WRITERS, "debug-log"])
def test_a_trajectory_joins_each_other_trace(other: str, tmp_path: Path) -> None:
    write = {**WRITERS, "debug-log": write_debug_log}[other]
    paths = {str(write(tmp_path)), str(write_trajectory(tmp_path))}

    conversation = read_session_of(tmp_path)

    assert conversation.id == f"vscode:{SESSION}"
    assert {place.path for place in conversation.provenance} == paths
    assert len(conversation.turns) == 2
    asked = [prose_of(message.parts) for message in conversation.messages if message.role == "user"]
    assert asked == ASKED


@pytest.mark.parametrize("other", ["session", "log", "export", "replay"])
def test_a_trajectory_fills_gaps_and_never_leads_over_the_conversation_itself(other: str, tmp_path: Path) -> None:
    lead = str(WRITERS[other](tmp_path))
    trajectory = str(write_trajectory(tmp_path))

    conversation = read_session_of(tmp_path)

    assert [(place.path, place.role) for place in conversation.provenance] == [(lead, "lead"), (trajectory, "copy")]
    assert "trajectory" not in conversation.marks
    assert modes_and_models(conversation)[0] == ("ask", "gpt-5")
    assert [turn.mode.kind if turn.mode else None for turn in conversation.turns] == ["ask", "agent"]
    first = conversation.turns[0]
    assert first.model is not None
    assert first.model.id == "gpt-5"
    assert (conversation.extra or {})["trajectory"]["context"] == {"contextTypes": "none"}


def test_a_trajectory_adds_the_result_of_a_tool(tmp_path: Path) -> None:
    write_transcript(tmp_path)  # which holds no results
    write_trajectory(tmp_path)

    [result] = [part for part in parts_of(read_session_of(tmp_path)) if isinstance(part, ToolResult)]

    assert (result.call_id, result.text) == ("call_1", "06:12 high")


def test_a_trajectory_that_begins_late_finds_its_turn_by_the_id_of_the_message(tmp_path: Path) -> None:
    write_session(tmp_path)
    path = write_trajectory(tmp_path, messageId=f"answer_{SESSION}_1")
    other, line = (json.loads(text) for text in path.read_text().splitlines())
    summary = {"role": "user", "content": "<conversation-summary>\nTides.\n</conversation-summary>"}
    line["messages"] = [line["messages"][0], summary, *line["messages"][5:]]
    path.write_text("".join(json.dumps(item) + "\n" for item in (other, line)))

    conversation = read_session_of(tmp_path)

    assert modes_and_models(conversation) == [(None, None), ("agent", "gpt-5-mini")]


def test_turns_without_ids_are_matched_by_their_distance_to_one_with_an_id(tmp_path: Path) -> None:
    write_session(tmp_path)
    write_trajectory(tmp_path, messageId=f"answer_{SESSION}_1")

    assert modes_and_models(read_session_of(tmp_path)) == [("ask", "gpt-5"), ("agent", "gpt-5-mini")]


# --- Copilot CLI ------------------------------------------------------------------------------------------------


def write_cli_log(folder: Path) -> Path:
    path = folder / ".copilot" / "session-state" / SESSION / "events.jsonl"
    path.parent.mkdir(parents=True)
    events: list[tuple[str, dict[str, Any], str]] = [
        ("session.start", {"sessionId": SESSION, "version": 1, "producer": "copilot-agent"}, moment(0))
    ]
    for turn, (asked, answered) in enumerate(zip(ASKED, ANSWERED, strict=True)):
        events += [
            ("user.message", {"content": asked, "attachments": []}, moment(turn)),
            ("assistant.message", {"messageId": f"m{turn}", "content": answered, "model": "gpt-5"}, moment(turn, 2)),
        ]
    path.write_text(
        "".join(
            json.dumps({"type": kind, "data": data, "id": f"e{number}", "timestamp": at, "parentId": None}) + "\n"
            for number, (kind, data, at) in enumerate(events)
        )
    )
    return path


def write_cli_store(folder: Path) -> Path:
    made = write_store(folder)
    path = folder / ".copilot" / "session-store.db"
    path.parent.mkdir(exist_ok=True)
    made.rename(path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE sessions SET host_type = 'github'")
    connection.commit()
    connection.close()
    return path


def write_cli_todos(folder: Path) -> Path:
    path = folder / ".copilot" / "session-state" / SESSION / "session.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE todos (id TEXT PRIMARY KEY, title TEXT, description TEXT, status TEXT, created_at TEXT,"
        " updated_at TEXT)"
    )
    connection.execute("INSERT INTO todos VALUES ('1', 'Read the table', '', 'done', ?, ?)", (moment(0), moment(0)))
    connection.commit()
    connection.close()
    return path


def test_a_log_of_copilot_cli_its_store_row_and_its_to_do_list_are_one(tmp_path: Path) -> None:
    paths = {str(write(tmp_path)) for write in (write_cli_log, write_cli_store, write_cli_todos)}

    conversation = read_one(tmp_path)

    assert conversation.id == f"cli:{SESSION}"
    assert conversation.source == "cli-events"
    assert {place.path for place in conversation.provenance} == paths
    assert conversation.title == "Tides"
    assert [message.role for message in conversation.messages] == ["user", "assistant"] * 2
    assert "store-row" not in conversation.marks


def test_without_its_log_a_session_of_copilot_cli_is_read_from_the_store(tmp_path: Path) -> None:
    write_cli_store(tmp_path)

    conversation = read_one(tmp_path)

    assert conversation.id == f"cli:{SESSION}"
    assert "store-row" in conversation.marks
    texts = [part for part in parts_of(conversation) if isinstance(part, Text)]
    assert [text.text for text in texts] == [ASKED[0], ANSWERED[0], ASKED[1], ANSWERED[1]]
    assert all(text.extra == {"possibly_cut": True} for text in texts)


def test_a_trajectory_of_copilot_cli_joins_its_log(tmp_path: Path) -> None:
    log = str(write_cli_log(tmp_path))
    trajectory = str(write_trajectory(tmp_path, "cli-events"))

    conversation = read_session_of(tmp_path)

    assert conversation.id == f"cli:{SESSION}"
    assert [(place.path, place.role) for place in conversation.provenance] == [(log, "lead"), (trajectory, "copy")]
    assert [message.mode for message in conversation.messages if message.role == "user"] == ["ask", "agent"]


def test_a_trajectory_joins_the_session_with_its_id_of_any_program() -> None:
    log = Conversation(id="cli:s", native_id="s", source="cli-events")
    told = Conversation(id="vscode:s", native_id="s", source="trajectory-file", marks=["trajectory"])
    other = Conversation(id="vscode:t", native_id="t", source="trajectory-file", marks=["trajectory"])

    assert identity.grouped_by_conversation([told, other, log]) == [[told, log], [other]]
    assert told.id == "cli:s"
