"""Exports of VS Code: read and written again they are equal as JSON, and always the same bytes."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from copilog.exports.formats import Making, format_named
from copilog.exports.options import Options
from copilog.ingest import read
from copilog.model import Conversation
from tests.round_trips import chat_of, read_chat, stored
from tests.samples import DATA

URI = {
    "$mid": 1,
    "fsPath": "/home/ana/a.py",
    "external": "file:///home/ana/a.py",
    "path": "/home/ana/a.py",
    "scheme": "file",
}


def assert_equal_json(text: str, wanted: Any) -> None:
    """Equal, in which true is not 1."""
    assert json.dumps(json.loads(text), sort_keys=True) == json.dumps(wanted, sort_keys=True)


def exported(requests: list[Any], folder: Path, **root: Any) -> tuple[Any, Conversation]:
    wanted = {"responderUsername": "GitHub Copilot", "initialLocation": "panel", **root, "requests": requests}
    return wanted, read_chat(json.dumps(wanted), folder)


def a_request(*response: Any, **fields: Any) -> dict[str, Any]:
    return {"requestId": "request_1", "message": {"text": "hi", "parts": []}, "response": list(response), **fields}


@pytest.mark.parametrize("path", sorted((DATA / "chat_export").glob("*[a-z].json")), ids=lambda path: path.stem)
def test_an_export_of_the_tests_is_written_again(path: Path, tmp_path: Path) -> None:
    if path.name.endswith(".expected.json"):
        pytest.skip("what is read of another one")
    check_again(path, tmp_path)


def test_every_export_of_the_corpus_is_written_again(corpus: Path, tmp_path: Path) -> None:
    paths = sorted((corpus / "files" / "chat-export").glob("*.json"))
    assert paths
    for path in paths:
        check_again(path, tmp_path)


def check_again(path: Path, folder: Path) -> None:
    (conversation,) = read(path)
    text = chat_of(stored(conversation))

    assert_equal_json(text, json.loads(path.read_bytes()))
    assert chat_of(stored(read_chat(text, folder))) == text


TOOL = {
    "kind": "toolInvocationSerialized",
    "toolId": "copilot_readFile",
    "toolCallId": "call_1",
    "invocationMessage": {"value": "Reading [](file:///a.py)", "isTrusted": False, "uris": {}},
    "isConfirmed": {"type": 1},
    "isComplete": True,
    "source": {"type": "extension", "label": "Chat", "extensionId": {"value": "GitHub.copilot-chat"}},
}
ODD_RESPONSES: dict[str, list[Any]] = {
    "caches of a URI": [{"kind": "inlineReference", "inlineReference": URI}],
    "fences around edits": [
        {"value": "Look:\n```\n"},
        {"kind": "undoStop", "id": "stop"},
        {"kind": "codeblockUri", "uri": URI, "isEdit": True},
        {"kind": "textEditGroup", "uri": URI, "edits": [[]], "done": True},
        {"value": "\n```\nDone."},
    ],
    "a preparation": [{"kind": "prepareToolInvocation", "toolName": "copilot_readFile"}, TOOL],
    "an empty slot": [None, {"value": "after"}],
    "confirmed as a flag": [{**TOOL, "isConfirmed": True}],
    "text of the output": [{**TOOL, "resultDetails": {"input": "{ }", "output": "as text"}}],
    "a kind of tomorrow": [{"kind": "tomorrow", "value": {"deep": [1, 2.5, None, True]}}],
    "thinking in pieces": [{"kind": "thinking", "value": ["a", "b"], "id": "t"}],
    "withdrawn text": [{"value": "wrong"}, {"kind": "clearToPreviousToolInvocation", "reason": 2}, {"value": "right"}],
}


@pytest.mark.parametrize("name", ODD_RESPONSES)
def test_an_odd_response_is_written_again(name: str, tmp_path: Path) -> None:
    wanted, conversation = exported([a_request(*ODD_RESPONSES[name])], tmp_path)

    assert_equal_json(chat_of(conversation), wanted)
    assert_equal_json(chat_of(stored(conversation)), wanted)


PIXEL = b"\x89PNG\r\n\x1a\n12"
ODD_FIELDS: dict[str, dict[str, Any]] = {
    "bytes by index": {"variableData": {"variables": [{"kind": "image", "value": dict(enumerate(PIXEL))}]}},
    "bytes as base64": {
        "variableData": {"variables": [{"kind": "image", "value": {"$base64": base64.b64encode(PIXEL).decode()}}]}
    },
    "a message as text": {"message": "only text"},
    "a flag of early releases": {"isCanceled": True},
    "an empty result": {"result": {}},
    "summaries": {"result": {"metadata": {"summary": {"toolCallRoundId": "r", "text": "So far."}}}},
    "rounds without a part": {
        "result": {
            "metadata": {
                "toolCallRounds": [
                    {"id": "r", "response": "x", "toolCalls": [{"id": "c", "name": "t", "arguments": "{}"}]}
                ],
                "toolCallResults": {"c": {"$mid": 20, "content": [{"$mid": 21, "value": "said"}]}},
            }
        }
    },
    "unknown fields": {"tomorrow": {"a": [1, {"b": None}]}, "modelState": {"value": 7, "more": 1}},
    "a vote with a reason": {"vote": 0, "voteDownReason": "other"},
}


@pytest.mark.parametrize("name", ODD_FIELDS)
def test_odd_fields_are_written_again(name: str, tmp_path: Path) -> None:
    wanted, conversation = exported([a_request({"value": "x"}, **ODD_FIELDS[name])], tmp_path)

    assert_equal_json(chat_of(stored(conversation)), json.loads(json.dumps(wanted)))


def test_early_releases_get_a_user_without_a_name(tmp_path: Path) -> None:
    _, conversation = exported([a_request({"value": "x"})], tmp_path)
    kind = format_named("chat")
    assert kind is not None

    roots = [
        json.loads("".join(map(str, kind.pieces([conversation], [], Making(by="", options=Options(release=release))))))
        for release in (None, "1.107", "1.108")
    ]

    assert [root.get("requesterUsername") for root in roots] == [None, "", None]


def test_the_root_of_an_early_export_is_written_again(tmp_path: Path) -> None:
    wanted, conversation = exported([], tmp_path, requesterUsername="ana", responderAvatarIconUri={"id": "copilot"})

    assert_equal_json(chat_of(conversation), wanted)
