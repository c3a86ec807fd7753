"""Every text at a path that the formats documents name is found again, or has a reason by its path."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from copilog import ingest
from tests.documented import filled, vscode
from tests.sources.cli_builders import write_log
from tests.sources.cli_samples import SAMPLES
from tests.sources.extension_builders import database_from, write_lines
from tests.sources.replay_builders import export, prompt, tool_call, user
from tests.sources.replay_builders import request as replay_request
from tests.sources.test_cli_event_types import session_with
from tests.sources.vscode_builders import request, session

SESSIONS: dict[str, Any] = {
    **{f"part {name}": session(request(response=[part])) for name, part in vscode.PARTS.items()},
    **{
        f"attachment {name}": session(request(variableData={"variables": [{"id": "v", "name": "a", **variable}]}))
        for name, variable in vscode.VARIABLES.items()
    },
    **{
        f"mention {name}": session(request(message={"text": ..., "parts": [{"range": vscode.WORDS, **part}]}))
        for name, part in vscode.MESSAGE_PARTS.items()
    },
    **{f"request {name}": session(request(**fields)) for name, fields in vscode.REQUESTS.items()},
    **{f"session {name}": session(request(), **fields) for name, fields in vscode.ROOTS.items()},
}


def assert_is_accounted_for(path: Path) -> None:
    ledger = ingest.inspect_file(path)

    assert ledger.leaves is not None
    assert ledger.leaves.found > 0
    assert (ledger.leaves.unaccounted, ledger.bad) == ({}, [])


def leaves_in(value: Any, names: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The ways to all strings of a record."""
    if isinstance(value, str):
        yield names
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in below:
        yield from leaves_in(item, (*names, name))


def replaced(value: Any, names: tuple[str | int, ...], text: str) -> Any:
    made = copy.deepcopy(value)
    node = made
    for name in names[:-1]:
        node = node[name]
    node[names[-1]] = text
    return made


# Ids and times are of another shape than a text; bytes too; another type of attachment is another record.
NOT_TEXTS = ("Id", "id", "Time", "At", "assetId", "data", "hash")
TYPES = (("attachments", 0, "type"),)


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_every_documented_text_of_an_event_is_accounted_for(tmp_path: Path, kind: str) -> None:
    for names in leaves_in(SAMPLES[kind]):
        if names in TYPES or str(names[-1]).endswith(NOT_TEXTS):
            continue
        data = replaced(SAMPLES[kind], names, "zq a text of its own, found nowhere else")
        log = session_with(kind)
        log.events[-1]["data"] |= {key: value for key, value in data.items() if key != "sessionId"}

        leaves = ingest.inspect_file(write_log(tmp_path, log)).leaves

        assert leaves is not None
        assert leaves.unaccounted == {}, names


ASKED = replay_request([user("hello there")])
CHANGE = {"path": "/w/a.py", "edits": {"replacements": [{"start": 0, "newText": ...}]}}
EXPORTS: dict[str, Any] = {
    "label": export({**prompt("", ASKED), "prompt": ...}),
    "edits": export(prompt("hello there", ASKED, tool_call("c1", edits=[CHANGE]))),
    "thinking": export(prompt("hello there", ASKED, tool_call("c1", thinking={"id": "t1", "text": ...}))),
    "helper": export(
        prompt("title", replay_request([{"role": 1, "content": [{"type": 1, "text": ...}]}], name="title"))
    ),
    "prediction of a helper": export(
        prompt(
            "x",
            {**replay_request([], name="title"), "requestMessages": {"messages": [], "prediction": {"content": ...}}},
        )
    ),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_every_documented_text_of_a_debug_export_is_accounted_for(tmp_path: Path, name: str) -> None:
    path = tmp_path / "export.chatreplay.json"
    path.write_text(json.dumps(filled(EXPORTS[name])))

    assert_is_accounted_for(path)


def test_what_a_hook_of_a_span_ran_and_was_given_is_accounted_for(tmp_path: Path) -> None:
    hook = {
        "gen_ai.operation.name": "execute_hook",
        "copilot_chat.hook_type": "PreToolUse",
        "copilot_chat.hook_command": ...,
        "copilot_chat.hook_input": ...,
        "copilot_chat.hook_output": ...,
    }
    times = {"startTime": [1777888800, 0], "endTime": [1777888801, 0]}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "s-1"}
    spans = [
        {"traceId": "t1", "spanId": "c1", "name": "invoke_agent", **times, "attributes": agent},
        {"traceId": "t1", "spanId": "c2", "parentSpanId": "c1", "name": "hook", **times, "attributes": hook},
    ]

    assert_is_accounted_for(write_lines(tmp_path / "otel.jsonl", filled(spans)))


def test_a_text_that_the_search_index_alone_has_is_kept(tmp_path: Path) -> None:
    script = """
        CREATE TABLE sessions (id TEXT, cwd TEXT, summary TEXT, created_at TEXT);
        CREATE TABLE turns (session_id TEXT, turn_index INTEGER, user_message TEXT, assistant_response TEXT);
        CREATE TABLE search_index (content TEXT, session_id TEXT, source_type TEXT, source_id TEXT);
        INSERT INTO sessions VALUES ('s1', '/home/ana', 'Hello', '2025-11-01 09:00:00');
        INSERT INTO turns VALUES ('s1', 0, 'when is the tide', 'it comes at nine'), ('s1', 1, 'and then', 'it goes');
        INSERT INTO search_index VALUES
            ('when is the tide' || char(10) || 'it comes at nine', 's1', 'turn', 's1:turn:0'),
            ('and then, as it was at first' || char(10) || 'it goes', 's1', 'turn', 's1:turn:1');
    """
    path = database_from(script, tmp_path / "session-store.db")
    [conversation] = ingest.read(path)

    assert [document.kind for document in conversation.documents if document.kind == "indexed"] == ["indexed"]
    assert_is_accounted_for(path)


@pytest.mark.parametrize("name", SESSIONS)
def test_every_documented_text_of_a_session_is_accounted_for(tmp_path: Path, name: str) -> None:
    path = tmp_path / "chatSessions" / "s-1.json"
    path.parent.mkdir()
    path.write_text(json.dumps(filled(SESSIONS[name])))

    assert_is_accounted_for(path)
