"""The input history of VS Code's chat: its shapes, and what is read of real ones."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from copilog import ingest
from copilog.diagnostics import Ledger
from copilog.model import prose_of
from copilog.sources import BY_NAME
from copilog.sources.base import Found
from tests.sources.state_builders import SOURCE, codes, index, make_store, read

HISTORY = "memento/interactive-session"


def store(folder: Path, value: Any) -> Path:
    return make_store(folder / "state.vscdb", {HISTORY: value})


def test_prompt_history_in_the_store_is_read_by_its_own_source(tmp_path: Path) -> None:
    path = store(tmp_path, {"history": {"copilot": ["first", {"text": "second"}, {"inputText": "third"}]}})

    [stub], _ = index(path)
    assert (stub.source, stub.marks) == ("vscode-prompts", ["stub", "inside"])
    found = Found(path, stub.source, stub.native_id)
    [history] = BY_NAME[stub.source].read(found, Ledger())
    assert (history.id, history.marks) == (stub.id, ["prompts-only"])
    assert [prose_of(message.parts) for message in history.messages] == ["first", "second", "third"]
    [same], _ = read(path)
    assert same == history


def test_prompt_history_is_changed_only_if_its_prompts_are(tmp_path: Path) -> None:
    value = {"history": {"copilot": ["first"]}}
    (tmp_path / "later").mkdir()
    later = make_store(tmp_path / "later" / "state.vscdb", {HISTORY: value, "workbench.view": "{}"})

    [stub], _ = index(store(tmp_path, value))
    [same], _ = index(later)
    assert SOURCE.state_of(stub) == SOURCE.state_of(same) is not None
    value["history"]["copilot"].append("second")
    (tmp_path / "other").mkdir()
    [other], _ = index(store(tmp_path / "other", value))
    assert SOURCE.state_of(other) != SOURCE.state_of(stub)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({}, []),
        ({"history": {}}, []),
        ({"history": {"copilot": [{"text": " "}, "", {"inputText": ""}, {}]}}, []),
        ({"history": {"copilot": [5, None, ["text"], {"text": 5}, {"attachments": {"a": 1}}]}}, ["bad-record"] * 5),
        ({"history": []}, ["bad-record"]),
        ({"history": {"copilot": "text"}}, ["bad-record"]),
        ([], ["bad-record"]),
    ],
)
def test_a_history_without_prompts_is_not_a_conversation(tmp_path: Path, value: Any, told: list[str]) -> None:
    stubs, ledger = index(store(tmp_path, value))

    assert (stubs, codes(ledger)) == ([], told)


def test_an_entry_with_attachments_and_no_text_is_read(tmp_path: Path) -> None:
    file = {"kind": "file", "name": "tides.py", "value": {"path": "/w/tides.py", "scheme": "file"}}
    entries = [
        {"inputText": "", "attachments": [file]},
        {"text": "", "state": {"chatContextAttachments": [file], "chatDynamicVariableModel": []}},
    ]

    [history], ledger = read(store(tmp_path, {"history": {"copilot": entries}}))

    assert [[type(part).__name__ for part in message.parts] for message in history.messages] == [["Attachment"]] * 2
    assert [getattr(part, "name", None) for message in history.messages for part in message.parts] == ["tides.py"] * 2
    assert codes(ledger) == []
    [stub], _ = index(tmp_path / "state.vscdb")
    assert stub.id == history.id


def test_an_entry_of_a_wrong_type_is_reported_with_its_path(tmp_path: Path) -> None:
    path = store(tmp_path, {"history": {"copilot": ["first", 5, {"text": "second"}]}})

    [history], ledger = read(path)
    assert [prose_of(message.parts) for message in history.messages] == ["first", "second"]
    for seen in (ledger, index(path)[1]):
        assert [(note.code, note.pointer) for note in seen.notes] == [("bad-record", "/history/copilot/1")]
    later = Ledger()  # the index has reported it
    list(BY_NAME["vscode-prompts"].read(Found(path, "vscode-prompts", history.native_id), later))
    assert codes(later) == []


# --- other rows with what was typed -------------------------------------------------------------------------------


def test_prompts_of_inline_chat_and_drafts_are_in_the_history(tmp_path: Path) -> None:
    rows = {
        HISTORY: {"history": {"copilot": ["list the buoys"]}},
        "inline-chat-history": ["rewrite this helper as an iterator"],
        "terminal-inline-chat-history": ["list processes by memory"],
        "memento/interactive-session-view-copilot": {"sessionId": "s1", "inputValue": "half a question on tides"},
        "memento/interactive-session-view-copilot-edits": {"inputValue": "half an edit", "inputState": {"a": 1}},
        "terminal-inline-chat-view-state": {"inputValue": "half a command"},
        "chat.untitledInputState": {"inputText": "half a new chat", "attachments": [], "mode": {"id": "ask"}},
    }
    path = make_store(tmp_path / "state.vscdb", rows)

    [stub], ledger = index(path)
    [history] = BY_NAME[stub.source].read(Found(path, stub.source, stub.native_id), Ledger())

    texts = {prose_of(message.parts): turn.extra for message, turn in zip(history.messages, history.turns, strict=True)}
    assert list(texts) == [
        "list the buoys",
        "rewrite this helper as an iterator",
        "list processes by memory",
        "half a question on tides",
        "half an edit",
        "half a command",
        "half a new chat",
    ]
    assert texts["half a question on tides"] == {"location": "draft in the chat view", "sessionId": "s1"}
    assert codes(ledger) == []
    leaves = ingest.inspect_file(path).leaves
    assert leaves is not None
    assert (leaves.unaccounted, leaves.reasons) == ({}, {})


@pytest.mark.parametrize("row", ["inline-chat-history", "terminal-inline-chat-history"])
def test_an_inline_history_that_is_not_a_list_is_reported(tmp_path: Path, row: str) -> None:
    stubs, ledger = index(make_store(tmp_path / "state.vscdb", {row: {"words": "typed"}}))

    assert (stubs, codes(ledger)) == ([], ["bad-record"])


def test_blank_drafts_are_not_prompts(tmp_path: Path) -> None:
    view = {"sessionId": "s1", "inputValue": " ", "inputState": {}}
    rows = {"memento/interactive-session-view-copilot": view, "chat.untitledInputState": {"inputText": ""}}

    assert index(make_store(tmp_path / "state.vscdb", rows))[0] == []


@pytest.mark.corpus
def test_all_prompts_of_real_histories_are_read() -> None:
    corpus = os.environ.get("COPILOG_CORPUS")
    if not corpus:
        pytest.skip("COPILOG_CORPUS is not set")
    seen = 0
    for path in sorted(Path(corpus).rglob("state.vscdb")):
        with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
            row = connection.execute("SELECT value FROM ItemTable WHERE key = ?", (HISTORY,)).fetchone()
        entries = [each for listed in json.loads(row[0])["history"].values() for each in listed] if row else []
        expected = [text for each in entries if (text := each.get("text", each.get("inputText"))).strip()]
        found = [conversation for conversation in read(path)[0] if conversation.source == "vscode-prompts"]
        prompts = [prose_of(message.parts) for history in found for message in history.messages]
        assert prompts[: len(expected)] == expected  # what was left unsent follows
        seen += len(expected)
    assert seen
