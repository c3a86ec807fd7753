"""Calls of a debug log beside those of the session: other spellings of their arguments make no second call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from copilog import ingest
from copilog.model import Conversation, ToolCall, ToolResult, parts_of

SESSION = "5b1f6a3e-1111-4222-8333-444444444444"
BEGAN = 1_776_000_000_000
FOUND = "06:12 high, 12:25 low, 18:40 high: the table of the harbour of Norrvik"

Call = tuple[str, str, str, str | None]  # id, name, arguments, result

OF_SESSION = {"filePath": "/home/ana/tides of Norrvik.csv", "startLine": 1, "endLine": 20}
LONG = "The tide at Norrvik is high at " + ", ".join(f"{hour}:12" for hour in range(600))
# The arguments of the session's call, and as a debug log has them.
SPELLINGS: dict[str, tuple[dict[str, Any], str]] = {
    "the same": (OF_SESSION, json.dumps(OF_SESSION)),
    "other white space": (OF_SESSION, json.dumps(OF_SESSION, indent=4)),
    "other order of keys": (OF_SESSION, json.dumps(dict(reversed(OF_SESSION.items())))),
    "cut": ({"text": LONG}, json.dumps({"text": LONG})[:400] + "[truncated]"),
    "cut with a number": ({"text": LONG}, json.dumps({"text": LONG})[:400] + "...[truncated, original 4800 chars]"),
    "a URI": (OF_SESSION, json.dumps({**OF_SESSION, "filePath": "file:///home/ana/tides%20of%20Norrvik.csv"})),
    "a Windows path": (
        {"filePath": "C:\\Users\\ana\\tides.csv"},
        json.dumps({"filePath": "file:///c%3A/Users/ana/tides.csv"}),
    ),
    "a field more": (OF_SESSION, json.dumps({**OF_SESSION, "includeIgnored": False})),
    "a field less": (OF_SESSION, json.dumps({"filePath": OF_SESSION["filePath"]})),
    "a number as text": (OF_SESSION, json.dumps({**OF_SESSION, "startLine": "1"})),
    "other text": ({"command": "make tides"}, json.dumps({"command": "make -j2 tides"})),
}


def requests(calls: list[Call]) -> list[dict[str, Any]]:
    rounds = [
        {
            "id": f"round_{number}",
            "response": "",
            "toolCalls": [{"id": f"{name}__vscode-{number}", "name": tool, "arguments": arguments}],
        }
        for number, (name, tool, arguments, _) in enumerate(calls)
    ]
    results = {
        f"{name}__vscode-{number}": {"content": [{"value": result}]}
        for number, (name, _, _, result) in enumerate(calls)
        if result is not None
    }
    return [
        {
            "requestId": f"request_{SESSION}",
            "timestamp": BEGAN,
            "message": {"text": "When is high tide in Norrvik today?", "parts": []},
            "variableData": {"variables": []},
            "response": [{"value": "At 06:12, says the table."}],
            "modelState": {"value": 1, "completedAt": BEGAN + 5_000},
            "result": {"metadata": {"toolCallRounds": rounds, "toolCallResults": results}},
        }
    ]


def write_session(folder: Path, calls: list[Call]) -> None:
    path = folder / "chatSessions" / f"{SESSION}.json"
    path.parent.mkdir(parents=True)
    state = {"version": 3, "sessionId": SESSION, "creationDate": BEGAN, "responderUsername": "GitHub Copilot"}
    path.write_text(json.dumps({**state, "requests": requests(calls)}))


def write_debug_log(folder: Path, calls: list[Call], *, announces: bool) -> None:
    """Write the debug log. Its answers name their calls, unless they were cut; a call's run has no id."""
    path = folder / "GitHub.copilot-chat" / "debug-logs" / SESSION / "main.jsonl"
    path.parent.mkdir(parents=True)
    common = {"dur": 5, "sid": SESSION, "status": "ok", "parentSpanId": "agent"}
    lines: list[dict[str, Any]] = [
        {
            **common,
            "ts": BEGAN,
            "type": "user_message",
            "name": "user_message",
            "spanId": "u0",
            "attrs": {"content": "When is high tide in Norrvik today?"},
        }
    ]
    for number, (name, tool, arguments, result) in enumerate(calls):
        at = BEGAN + 500 * (number + 1)
        span = f"{number:016x}"
        part = {"type": "tool_call", "name": tool, "arguments": arguments, **({"id": name} if name else {})}
        response = json.dumps([{"role": "assistant", "parts": [part]}])
        if not announces:
            response = response[: len(response) // 2] + "[truncated]"
        attributes = {"args": arguments, **({"result": result} if result is not None else {})}
        lines += [
            {
                **common,
                "ts": at,
                "type": "llm_request",
                "name": "chat:m",
                "spanId": f"l{span}",
                "attrs": {"model": "m"},
            },
            {
                **common,
                "ts": at + 50,
                "type": "agent_response",
                "name": "agent_response",
                "spanId": f"agent-msg-l{span}",
                "attrs": {"response": response},
            },
            {**common, "ts": at + 100, "type": "tool_call", "name": tool, "spanId": span, "attrs": attributes},
        ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def read_one(folder: Path) -> Conversation:
    [conversation] = list(ingest.read(folder))
    assert len(conversation.turns) == 1
    assert len(conversation.provenance) == 2
    return conversation


def calls_in(conversation: Conversation) -> list[ToolCall]:
    return [part for part in parts_of(conversation) if isinstance(part, ToolCall)]


def results_in(conversation: Conversation) -> list[str]:
    return [part.text for part in parts_of(conversation) if isinstance(part, ToolResult)]


def conflicts_in(conversation: Conversation) -> str:
    return json.dumps([conflict.value for place in conversation.provenance for conflict in place.conflicts])


@pytest.mark.parametrize(("asked", "logged"), SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("name", ["call_1", ""], ids=["one id", "no id"])
@pytest.mark.parametrize("announces", [True, False], ids=["announced", "run alone"])
def test_other_spellings_of_arguments_are_the_same_call(
    asked: dict[str, Any], logged: str, name: str, announces: bool, tmp_path: Path
) -> None:
    write_session(tmp_path, [("call_1", "read_file", json.dumps(asked), FOUND)])
    write_debug_log(tmp_path, [(name, "read_file", logged, FOUND)], announces=announces)

    found = read_one(tmp_path)

    [call] = calls_in(found)
    assert (call.id, json.loads(call.arguments or "")) == ("call_1", asked)
    assert call.elapsed_ms == 5
    assert results_in(found) == [FOUND]
    assert "tool-result" not in conflicts_in(found)


@pytest.mark.parametrize("name", ["call_1", ""], ids=["one id", "no id"])
@pytest.mark.parametrize("announces", [True, False], ids=["announced", "run alone"])
def test_arguments_that_truly_differ_are_in_the_provenance(name: str, announces: bool, tmp_path: Path) -> None:
    write_session(tmp_path, [("call_1", "run_in_terminal", '{"command": "make tides"}', FOUND)])
    logged = '{"command": "make -j2 tides"}'
    write_debug_log(tmp_path, [(name, "run_in_terminal", logged, FOUND)], announces=announces)

    found = read_one(tmp_path)

    assert [call.arguments for call in calls_in(found)] == ['{"command": "make tides"}']
    assert "make -j2 tides" in conflicts_in(found)


@pytest.mark.parametrize("announces", [True, False], ids=["announced", "run alone"])
def test_calls_between_the_same_neighbours_are_the_same_without_results(announces: bool, tmp_path: Path) -> None:
    of_session = [(f"call_{at}", "read_file", f'{{"filePath": "/home/ana/{at}.csv"}}', None) for at in range(3)]
    logged = [("", tool, arguments, None) for _, tool, arguments, _ in of_session]
    logged[1] = ("", "read_file", '{"path": "1.csv"}', None)
    write_session(tmp_path, of_session)  # type: ignore[arg-type]
    write_debug_log(tmp_path, logged, announces=announces)  # type: ignore[arg-type]

    assert [call.id for call in calls_in(read_one(tmp_path))] == ["call_0", "call_1", "call_2"]


@pytest.mark.parametrize("announces", [True, False], ids=["announced", "run alone"])
def test_repeated_calls_with_other_arguments_are_matched_by_their_results(announces: bool, tmp_path: Path) -> None:
    files = ["buoys", "cranes", "docks"]
    of_session = [(f"call_{at}", "read_file", f'{{"filePath": "/{at}"}}', f"{FOUND} {at}") for at in files]
    logged = [("", "read_file", f'{{"path": "{at}"}}', f"{FOUND} {at}") for at in ("cranes", "docks")]
    write_session(tmp_path, of_session)  # type: ignore[arg-type]
    write_debug_log(tmp_path, logged, announces=announces)  # type: ignore[arg-type]

    found = read_one(tmp_path)

    assert [(call.id, call.elapsed_ms) for call in calls_in(found)] == [
        ("call_buoys", None),
        ("call_cranes", 5),
        ("call_docks", 5),
    ]


def test_calls_with_the_same_arguments_are_matched_by_their_results(tmp_path: Path) -> None:
    arguments = '{"filePath": "/home/ana/tides.csv"}'
    write_session(tmp_path, [(f"call_{at}", "read_file", arguments, f"{FOUND} at {at}") for at in range(3)])
    logged = [("", "read_file", arguments, f"{FOUND} at {at}") for at in range(3)]
    logged[0] = ("", "read_file", '{"filePath": "/home/ana/tides.csv", "limit": 5}', f"{FOUND} at 0")
    write_debug_log(tmp_path, logged, announces=True)  # type: ignore[arg-type]

    found = read_one(tmp_path)

    assert [call.id for call in calls_in(found)] == ["call_0", "call_1", "call_2"]
    assert results_in(found) == [f"{FOUND} at {at}" for at in range(3)]


def test_a_call_with_other_arguments_and_another_result_is_a_second_call(tmp_path: Path) -> None:
    write_session(tmp_path, [("call_1", "read_file", '{"filePath": "/home/ana/buoys.csv"}', FOUND)])
    other = ("", "read_file", '{"filePath": "/home/ana/cranes.csv"}', "Two cranes, one of them out of order")
    write_debug_log(tmp_path, [other], announces=True)

    found = read_one(tmp_path)

    assert len(calls_in(found)) == 2
    assert sorted(results_in(found)) == sorted([FOUND, "Two cranes, one of them out of order"])
