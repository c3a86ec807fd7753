"""Conversations whose turns are spread over files of several formats come out whole, by a count of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from copilog import ingest
from copilog.model import Conversation, Text, ToolCall, ToolResult, prose_of
from tests.cli.homes import STARTED, Home

WORDS = ("harbour", "tide", "pilot", "ferry", "light", "chart", "anchor", "whale", "storm", "reef", "cargo", "crane")
KINDS = ("session", "transcript", "debug log")
Json = dict[str, Any]


class Call(NamedTuple):
    """A call that was made."""

    id: str
    arguments: str
    result: str


class Exchange(NamedTuple):
    """A turn that took place, and the files that have it."""

    at: int
    prompt: str
    answer: str
    calls: list[Call]
    kinds: set[str]


def exchanges(session: int, random: Random) -> Iterator[Exchange]:
    at = STARTED + random.randint(0, 10**8)
    for number in range(random.randint(1, 5)):
        at += random.randint(150_000, 900_000)
        is_common = number > 0 and random.random() < 0.25
        about = f"{random.choice(WORDS)} and {random.choice(WORDS)}, part {session}.{number}"
        calls = [
            Call(
                f"call_{session}_{number}_{step}",
                json.dumps({"filePath": f"/home/ana/{session}/{number}/{step}.py"}),
                f"result {session}.{number}.{step}: " + " ".join(random.choices(WORDS, k=6)),
            )
            for step in range(random.randint(0, 3))
        ]
        answer = f"Answer {session}.{number}: " + " ".join(random.choices(WORDS, k=12))
        kinds = set(random.sample(KINDS, random.randint(1, len(KINDS))))
        if is_common and kinds == {"debug log"}:
            kinds.add("transcript")
        yield Exchange(at, "continue" if is_common else f"Please explain {about}", answer, calls, kinds)


def add_session(home: Home, name: str, turns: list[Exchange]) -> None:
    requests = []
    for turn in turns:
        rounds = [
            {
                "id": f"round {call.id}",
                "response": "",
                "toolCalls": [{"id": f"{call.id}__vscode-1", "name": "read_file", "arguments": call.arguments}],
            }
            for call in turn.calls
        ]
        results = {f"{call.id}__vscode-1": {"content": [{"value": call.result}]} for call in turn.calls}
        requests.append(
            {
                "requestId": f"request_{turn.at}",
                "timestamp": turn.at,
                "message": {"text": turn.prompt},
                "response": [{"value": turn.answer}],
                "modelState": {"value": 1, "completedAt": turn.at + 60_000},
                "result": {"metadata": {"toolCallRounds": rounds, "toolCallResults": results}},
            }
        )
    home.add(home.workspace(1), {"version": 3, "sessionId": name, "creationDate": STARTED, "requests": requests})


def add_transcript(home: Home, name: str, turns: list[Exchange]) -> None:
    events: list[tuple[str, Json, int]] = [
        ("session.start", {"sessionId": name, "version": 1, "producer": "copilot-agent"}, turns[0].at)
    ]
    for turn in turns:
        events.append(("user.message", {"content": turn.prompt, "attachments": []}, turn.at + 300))
        for step, call in enumerate(turn.calls):
            asked = {"toolCallId": call.id, "name": "read_file", "arguments": call.arguments, "type": "function"}
            events.append(
                (
                    "assistant.message",
                    {"messageId": f"m{call.id}", "content": "", "toolRequests": [asked]},
                    turn.at + 1_000 * (step + 1),
                )
            )
        said = {"messageId": f"m{turn.at}", "content": turn.answer, "toolRequests": []}
        events.append(("assistant.message", said, turn.at + 10_000))
    lines = [
        {"type": kind, "data": data, "id": f"e{number}", "timestamp": stamp(at), "parentId": None}
        for number, (kind, data, at) in enumerate(events)
    ]
    write(home.workspace(1) / "GitHub.copilot-chat" / "transcripts" / f"{name}.jsonl", lines)


def add_debug_log(home: Home, name: str, turns: list[Exchange], random: Random) -> None:
    lines: list[Json] = []
    for turn in turns:
        common = {"dur": 5, "sid": name, "status": "ok", "parentSpanId": f"agent {turn.at}"}
        asked = {"content": turn.prompt}
        lines.append({**common, "ts": turn.at + 5, "type": "user_message", "name": "", "spanId": "u", "attrs": asked})
        has_ids = random.random() < 0.5
        for step, call in enumerate(turn.calls):
            at, span = turn.at + 1_000 * (step + 1), f"{random.getrandbits(64):016x}"
            part = {"type": "tool_call", "name": "read_file", "arguments": call.arguments}
            lines += answer(common, at, span, part | ({"id": call.id} if has_ids else {}))
            ran = {"args": call.arguments, "result": call.result}
            lines.append(
                {**common, "ts": at + 20, "type": "tool_call", "name": "read_file", "spanId": span, "attrs": ran}
            )
        text = {"type": "text", "content": turn.answer}
        lines += answer(common, turn.at + 10_000, f"{random.getrandbits(64):016x}", text)
    write(home.workspace(1) / "GitHub.copilot-chat" / "debug-logs" / name / "main.jsonl", lines)


def answer(common: Json, at: int, span: str, part: Json) -> Iterator[Json]:
    """Yield the entries of one call of a model that answered with this part."""
    response = {"response": json.dumps([{"role": "assistant", "parts": [part]}])}
    asked = {"model": "m"}
    yield {**common, "ts": at, "type": "llm_request", "name": "chat:m", "spanId": f"l{span}", "attrs": asked}
    name = "agent_response"
    yield {**common, "ts": at + 10, "type": name, "name": name, "spanId": f"agent-msg-l{span}", "attrs": response}


def write(path: Path, lines: list[Json]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def stamp(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] + "Z"


def found(conversation: Conversation) -> list[tuple[str, str, list[str], list[str]]]:
    """Return the turns: prompt, answer, arguments and results."""
    turns = []
    for turn in conversation.turns:
        assert turn.superseded is None
        assert turn.branch is None
        messages = [message for message in conversation.messages if message.turn == turn.index]
        parts = [part for message in messages for part in message.parts]
        prompt = "".join(prose_of(message.parts) for message in messages if message.role == "user")
        said = "".join(part.text for message in messages if message.role == "assistant"
                       for part in message.parts if isinstance(part, Text))  # fmt: skip
        arguments = [part.arguments or "" for part in parts if isinstance(part, ToolCall)]
        results = [part.text for part in parts if isinstance(part, ToolResult)]
        turns.append((prompt, said.strip(), sorted(arguments), sorted(results)))
    return turns


@pytest.mark.parametrize("seed", range(4))
def test_conversations_divided_over_files_come_out_whole(seed: int, tmp_path: Path) -> None:
    random, home = Random(seed), Home(tmp_path)
    expected: dict[str, list[Exchange]] = {}
    for session in range(12):
        name = f"{session:08x}-0000-4000-8000-{seed:012x}"
        turns = expected[name] = list(exchanges(session, random))
        turns[0].kinds.add("session")
        by_kind = {kind: [turn for turn in turns if kind in turn.kinds] for kind in KINDS}
        add_session(home, name, by_kind["session"])
        if by_kind["transcript"]:
            add_transcript(home, name, by_kind["transcript"])
        if by_kind["debug log"]:
            add_debug_log(home, name, by_kind["debug log"], random)

    read = {one.native_id or "": one for one in ingest.read(tmp_path)}

    assert read.keys() == expected.keys()
    for name, turns in expected.items():
        assert found(read[name]) == [
            (
                turn.prompt,
                turn.answer,
                sorted(call.arguments for call in turn.calls),
                sorted(call.result for call in turn.calls if turn.kinds != {"transcript"}),
            )
            for turn in turns
        ]
        assert not any(place.conflicts for place in read[name].provenance)
