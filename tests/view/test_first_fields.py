"""What VS Code writes beside the words, in files as it writes them, is on every surface."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from copilog.ingest import read
from copilog.model import Conversation
from tests.cli.homes import request, session
from tests.view.surfaces import WRITERS

FILE = {"$mid": 1, "path": "/home/ana/tides.py", "scheme": "file"}
OTHER = {"$mid": 1, "path": "/home/ana/moon.py", "scheme": "file"}
EDIT = {"filePath": "/home/ana/tides.py", "explanation": "Shift the zero", "oldString": "a", "newString": "b"}
LOGIN = {"uri": FILE, "range": {"startLineNumber": 3, "startColumn": 1, "endLineNumber": 9, "endColumn": 1}}

RESPONSE: list[dict[str, Any]] = [
    {"value": "See "},
    {"kind": "inlineReference", "inlineReference": {"name": "login", "location": LOGIN}},
    {"kind": "markdownVuln", "content": {"value": " there."}, "vulnerabilities": [
        {"title": "Injection", "description": "The query is built from words"},
    ]},
    {"kind": "multiDiffData", "multiDiffData": {"title": "Changes", "resources": [
        {"goToFileUri": FILE, "added": 31, "removed": 7}, {"goToFileUri": OTHER, "added": 3, "removed": 0},
    ]}},
    {"kind": "pullRequest", "title": "Count from zero", "owner": "harbour", "repo": "tides", "number": 5252},
    {"kind": "toolInvocationSerialized", "toolCallId": "t1", "toolId": "copilot_replaceString", "isComplete": True,
     "invocationMessage": "Editing", "pastTenseMessage": {"value": "Edited the tide table"}},
]  # fmt: skip
VARIABLES: list[dict[str, Any]] = [
    {"kind": "diagnostic", "id": "d", "name": "problem", "problemMessage": "No name 'low'", "filterUri": FILE},
    {"kind": "terminalCommand", "id": "t", "name": "$ make", "value": "make tides", "command": "make tides -B",
     "output": "nothing to be done", "exitCode": 77},
    {"kind": "debugVariable", "id": "v", "name": "x", "value": "42", "expression": "level - zero"},
    {"kind": "scmHistoryItem", "id": "c", "name": "4be02c8", "value": FILE,
     "historyItem": {"subject": "Shift", "message": "Shift\n\nThe chart begins lower."}},
]  # fmt: skip


@pytest.fixture(scope="module")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> Conversation:
    rounds = [
        {"id": "r1", "response": "", "toolCalls": [{"id": "t1", "name": "edit_file", "arguments": json.dumps(EDIT)}]}
    ]
    metadata = {"toolCallRounds": rounds, "toolCallResults": {"t1": {"content": [{"value": "ok"}]}}}
    asked = request(1, "Do it", response=RESPONSE, result={"metadata": metadata})
    asked |= {"variableData": {"variables": VARIABLES}, "followups": [{"kind": "reply", "message": "And at noon?"}]}
    file = tmp_path_factory.mktemp("fields") / "session.json"
    file.write_text(json.dumps(session("1111-aaaa") | {"requests": [asked]}), encoding="utf-8")
    [found] = read(file)
    return found


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(
    "words",
    [
        "No name 'low'",
        "make tides -B",
        "nothing to be done",
        r"exit code\W*77",
        "The chart begins lower.",
        "level - zero",
        "The query is built from words",
        r"/home/ana/tides.py \+31 -7",
        r"/home/ana/moon.py \+3 -0",
        "/home/ana/tides.py:3-9",
        "harbour/tides",
        "#5252",
        "And at noon?",
        "Edited the tide table",
        "Shift the zero",
    ],
)
def test_every_block_is_on_every_surface(conversation: Conversation, words: str, writer: str) -> None:
    assert re.search(words, WRITERS[writer](conversation))
