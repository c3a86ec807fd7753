"""Texts that people and models wrote in places that few files have: each is in the conversation, outside of `extra`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from copilog import ingest
from copilog.ingest.leaves.lookup import Lookup
from copilog.sources.vscode.state_database import INDEX
from copilog.store.texts import texts_of
from tests.sources.cli_builders import Log
from tests.sources.extension_builders import write_lines
from tests.sources.state_builders import entry, index_of, make_store
from tests.sources.test_debug_logs import asked, chat, log
from tests.sources.test_debug_logs import entry as logged
from tests.sources.test_transcripts import event, transcript
from tests.sources.vscode_builders import request, session

WORDS = "zq words that somebody wrote"


def tool_round(result: list[Any], name: str = "look", **metadata: Any) -> dict[str, Any]:
    """Return the result of a request, with one call of a tool."""
    call = {"id": "c1", "name": name, "arguments": '{"depth": 3}'}
    rounds = [{"id": "round-1", "response": "", "toolInputRetry": 0, "toolCalls": [call]}]
    results = {"c1": {"$mid": 20, "content": [{"$mid": 21, "value": "three fathoms"}, *result]}}
    return {"metadata": {"toolCallRounds": rounds, "toolCallResults": results, **metadata}}


def called(**data: Any) -> dict[str, Any]:
    """Return the part of a call of a tool."""
    return {
        "kind": "toolInvocationSerialized", "toolId": "look", "toolCallId": "c1", "isComplete": True,
        "isConfirmed": {"type": 1}, "toolSpecificData": data,
    }  # fmt: skip


REQUESTS: dict[str, dict[str, Any]] = {
    "a reply to a comment": request(
        variableData={
            "variables": [
                {"kind": "agentFeedback", "id": "v", "name": "feedback", "value": "x",
                 "feedbackItems": [{"id": "1", "text": "no", "replies": [WORDS, {"text": "and another text"}]}]}
            ]
        }
    ),
    "an input beside the arguments": request(
        response=[called(kind="simpleToolInvocation", input=WORDS)], result=tool_round([])
    ),
    "an output beside the result": request(
        response=[called(kind="simpleToolInvocation", input="{}", output=WORDS)], result=tool_round([])
    ),
    "thinking within a result": request(response=[called()], result=tool_round([{"$mid": 22, "value": WORDS}])),
    "thinking about a summary": request(
        result=tool_round([], summaries=[{"toolCallRoundId": "round-1", "text": "So far.", "thinking": WORDS}])
    ),
}  # fmt: skip


def of_session(folder: Path, made: dict[str, Any]) -> Path:
    path = folder / "chatSessions" / "s-1.json"
    path.parent.mkdir()
    path.write_text(json.dumps(session(made)))
    return path


def of_cli(folder: Path, made: Log) -> Path:
    return write_lines(folder / "session-state" / "s1" / "events.jsonl", made.events)


def assert_found(path: Path) -> None:
    """Check that the words are in a conversation outside of `extra`, and that no text of the file is unaccounted."""
    leaves = ingest.inspect_file(path).leaves
    conversations = list(ingest.read(path))

    assert leaves is not None
    assert leaves.unaccounted == {}
    assert Lookup(conversations).has(WORDS)
    assert any(WORDS in text for each in conversations for row in texts_of(each) for text in row if text is not None)


@pytest.mark.parametrize("name", REQUESTS)
def test_texts_of_a_session_of_vscode(name: str, tmp_path: Path) -> None:
    assert_found(of_session(tmp_path, REQUESTS[name]))


def test_draft_of_a_session_that_only_the_index_has(tmp_path: Path) -> None:
    box = {
        "inputText": WORDS,
        "attachments": [{"kind": "paste", "id": "p", "name": "Pasted", "value": "pasted by Ana"}],
    }

    assert_found(make_store(tmp_path / "state.vscdb", {INDEX: index_of(entry(inputState=box))}))


@pytest.mark.parametrize("readable", [None, "Shorter thoughts."])
def test_thinking_in_the_form_of_the_provider(readable: str | None, tmp_path: Path) -> None:
    blocks = {"provider": "lamps", "blocks": [{"type": "reasoning", "summary": [{"type": "text", "text": WORDS}]}]}
    data = {"content": "Done.", "reasoningBlocks": blocks, **({"reasoningText": readable} if readable else {})}

    assert_found(of_cli(tmp_path, Log().start().ask().add("assistant.message", data)))


def test_description_of_a_linked_resource(tmp_path: Path) -> None:
    link = {"type": "resource_link", "uri": "file:///home/ana/a", "name": "a", "description": WORDS}

    assert_found(of_cli(tmp_path, Log().start().ask().run("c1", "docs", result={"content": "x", "contents": [link]})))


@pytest.mark.parametrize("parent", ["lost", "agent"])
@pytest.mark.parametrize("where", ["description", "error"])
def test_sub_agent_of_a_debug_log_that_no_call_started(where: str, parent: str, tmp_path: Path) -> None:
    status = {"status": "error"} if where == "error" else {}
    agent = logged("subagent", "inner", 40, {"agentName": "Explore", where: WORDS}, parentSpanId=parent, **status)

    assert_found(log(tmp_path, asked("go", 0), agent, *chat("c2", 50, "found it", parent="inner")))


def test_attachments_of_a_transcript(tmp_path: Path) -> None:
    attachments = [
        {"type": "file", "path": "/home/ana/lights.md", "displayName": "lights.md"},
        {"type": "selection", "text": "the selected lines of a file", "hint": {"why": WORDS}},
        "/home/ana/another_file.md",
        ["odd words of an attachment"],
    ]
    prompt = event("user.message", {"content": "Are the lights green?", "attachments": attachments})

    assert_found(transcript(tmp_path, event("session.start", {"sessionId": "s1"}), prompt))
