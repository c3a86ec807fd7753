"""The bundled sample reads without surprises."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from copilog import ingest
from copilog.diagnostics import Report
from copilog.model import (
    Compaction,
    Confirmation,
    Conversation,
    FileEdit,
    Hook,
    TodoList,
    ToolCall,
    Unknown,
    parts_of,
    title_of,
)
from copilog.sample import home
from copilog.sources import BY_NAME
from tests import make_sample, sample_cli, sample_drag, sample_lookup, sample_release_end
from tests.sample_home import Home
from tests.sample_phone import UNKNOWN_RESPONSE_KIND

TITLES = [
    "/fix The phase drifts by half a day each month",
    "A frost date for each bed",
    "A map with both ports",
    "Calendar: tides to subscribe to",
    "Compare two gauges",
    "Drag beds around the plan",
    "Mail me when the water is high",
    "New Chat",
    "Open a pull request for 1.4",
    "Plan the 1.4 release",
    "Plot the tidal constituents",
    "Rename photos by date",
    "Review the forecast cache",
    "Seeds to order for May",
    "Speed up the tide lookup",
    "Stations by distance",
    "The plan on a phone",
    "The sensor stops at midnight",
    "What is the difference between neap and spring tides?",
]


# --- read -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def books() -> Report:
    return Report()


@pytest.fixture(scope="module")
def conversations(books: Report) -> dict[str, Conversation]:
    """Return all conversations by their title."""
    found = [
        conversation
        for one in ingest.discover([home()], report=books)
        for conversation in ingest.read(one, report=books)
    ]
    return {title_of(conversation): conversation for conversation in found}


def test_all_conversations_are_read(conversations: dict[str, Conversation]) -> None:
    assert sorted(conversations) == TITLES


def test_the_ledger_balances_with_the_written_records(books: Report, conversations: dict[str, Conversation]) -> None:
    assert books.balances()
    assert [(found.code, Path(found.path).suffix) for found in books.diagnostics()] == [
        ("not-searched", ".json"),  # exports in Documents
        ("torn-tail", ".jsonl"),
    ]
    unknown = [kind for ledger in books.files.values() for kind in (*ledger.unknown, *ledger.parts.unknown)]
    assert unknown == [f"response:{UNKNOWN_RESPONSE_KIND}"]
    assert [type(part) for part in parts_of(conversations["The plan on a phone"]) if isinstance(part, Unknown)] == [
        Unknown
    ]


def test_each_file_alone_is_of_a_known_format_and_balances() -> None:
    ledgers = list(ingest.inspect([home()]))

    assert len(ledgers) > 60
    assert [ledger.path for ledger in ledgers if not ledger.balances()] == []
    unknown = [ledger.path for ledger in ledgers if ledger.source is None]
    assert [path for path in unknown if "transcripts" in BY_NAME or "/transcripts/" not in Path(path).as_posix()] == []
    sources = Counter(ledger.source for ledger in ledgers)
    assert {name: sources[name] for name in ("cli-events", "chat-replay")} == {"cli-events": 10, "chat-replay": 1}


def test_copies_and_repeated_ids_are_one_conversation(conversations: dict[str, Conversation]) -> None:
    def files(title: str) -> list[str]:
        return sorted(
            Path(trace.path).suffix for trace in conversations[title].provenance if trace.role in ("lead", "copy")
        )

    assert files("Speed up the tide lookup") == [".json", ".jsonl"]
    assert files("A map with both ports") == [".jsonl", ".jsonl"]
    assert len(conversations["A map with both ports"].turns) == 3


def test_conversations_have_their_workspace(conversations: dict[str, Conversation]) -> None:
    places = {
        title: (conversation.application, conversation.workspace.folder if conversation.workspace else None)
        for title, conversation in conversations.items()
    }

    assert places["Rename photos by date"] == ("Code", None)
    assert places["The plan on a phone"] == ("Code - Insiders", "/home/ana/code/garden-planner")
    assert places["Compare two gauges"] == ("Positron", "/home/ana/code/gauge-study")
    assert places["A map with both ports"] == ("Code", "/home/ana/code/shoreline.code-workspace")
    assert places["The sensor stops at midnight"] == ("Code", "/home/ana/tide-sensor")
    remote = conversations["The sensor stops at midnight"].workspace
    assert remote is not None
    assert remote.authority == "ssh-remote+harbour-pi"


def test_edits_have_their_diffs(conversations: dict[str, Conversation]) -> None:
    for title in (
        "Stations by distance",
        "A frost date for each bed",
        "Drag beds around the plan",
        "Plot the tidal constituents",
    ):
        conversation = conversations[title]
        assert any(isinstance(part, FileEdit) and part.diff for part in parts_of(conversation)), title
        assert all(change.diff or change.action == "rename" for change in conversation.file_changes), title
    undone = [change for change in conversations["Drag beds around the plan"].file_changes if change.is_undone]
    assert {change.path for change in undone} == {"/home/ana/code/garden-planner/test/drag.test.ts"}


def test_the_todo_list_makes_progress(conversations: dict[str, Conversation]) -> None:
    lists = [part for part in parts_of(conversations["Drag beds around the plan"]) if isinstance(part, TodoList)]

    assert [sum(item.status == "completed" for item in part.items) for part in lists] == [0, 1, 4]


def test_exports_are_read_at_their_path() -> None:
    books = Report()
    found = list(ingest.read(home() / "Documents/exports", report=books))

    assert sorted(len(conversation.turns) for conversation in found) == [2, 2, 3]
    assert books.balances()
    assert list(books.diagnostics()) == []


# --- Copilot CLI and the extension ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made() -> Home:
    return make_sample.make()


@pytest.fixture(scope="module")
def by_id() -> dict[str, Conversation]:
    """Return all conversations of the folder by id, with exports without an id merged."""
    return {conversation.id: conversation for conversation in ingest.read(home())}


def test_a_session_of_the_command_line_has_its_turns_and_tools(by_id: dict[str, Conversation]) -> None:
    conversation = by_id[f"cli:{sample_cli.SESSION}"]

    assert [turn.status for turn in conversation.turns] == ["complete"] * 3
    assert [turn.model.id for turn in conversation.turns if turn.model] == [sample_cli.SONNET, *[sample_cli.OPUS] * 2]
    calls = [part for part in parts_of(conversation) if isinstance(part, ToolCall)]
    assert Counter(call.name for call in calls) == {
        "report_intent": 4,
        "edit": 5,
        "create": 3,
        "bash": 3,
        "view": 3,
        "task": 1,
        "grep": 1,
        "skill": 1,
        "harbour-station_info": 1,
    }
    assert [call.name for call in calls if call.status != "complete"] == ["view"]
    kinds = Counter(type(part) for part in parts_of(conversation))
    assert (kinds[Hook], kinds[Confirmation], kinds[Unknown]) == (2, 3, 0)
    assert all(part.diff for part in parts_of(conversation) if isinstance(part, FileEdit))
    assert [skill.name for skill in conversation.turns[2].skills] == ["changelog"]


def test_messages_of_a_helper_are_below_the_call_that_started_it(by_id: dict[str, Conversation]) -> None:
    conversation = by_id[f"cli:{sample_cli.SESSION}"]
    task = next(part for part in parts_of(conversation) if isinstance(part, ToolCall) and part.name == "task")

    nested = [message for message in conversation.messages if message.parent_call_id == task.id]
    called = [part.name for message in nested for part in message.parts if isinstance(part, ToolCall)]
    assert called == ["grep", "view"]


def test_usage_of_a_resumed_session_counts_once(by_id: dict[str, Conversation]) -> None:
    conversation = by_id[f"cli:{sample_cli.SESSION}"]

    took = {usage.model: usage for usage in conversation.usage if usage.scope == "session"}
    assert {model: usage.input for model, usage in took.items()} == {
        sample_cli.SONNET: 61200,
        sample_cli.HAIKU: 18300,
        sample_cli.OPUS: 203500,
        None: None,
    }
    assert (took[None].premium_requests, took[None].credits) == (7, 5.1)
    said = [usage.output or 0 for turn in conversation.turns for usage in turn.usage]
    assert sum(said) == sum(usage.output or 0 for usage in took.values())


def test_a_compaction_has_its_summary(by_id: dict[str, Conversation]) -> None:
    conversation = by_id[f"cli:{sample_cli.SESSION}"]

    assert [part.text for part in parts_of(conversation) if isinstance(part, Compaction)] == [sample_cli.SUMMARY]
    assert [document.text for document in conversation.documents if document.kind == "plan"] == [sample_cli.PLAN]


def test_a_background_session_records_an_error_and_an_abort(by_id: dict[str, Conversation]) -> None:
    conversation = by_id[f"cli:{sample_release_end.DELEGATED}"]

    assert title_of(conversation) == "Open a pull request for 1.4"
    assert [turn.status for turn in conversation.turns] == ["complete", "failed", "cancelled", "complete"]
    error = conversation.turns[1].error
    assert error is not None
    assert "502" in (error.message or "")
    assert conversation.workspace is not None
    assert conversation.workspace.folder == "/home/ana/code/garden-planner", "not the worktree"
    agent = conversation.turns[0].custom_agent
    assert agent is not None
    assert agent.name == "release-helper"


def test_the_replay_joins_the_conversation_that_it_was_exported_from(by_id: dict[str, Conversation]) -> None:
    conversation = by_id[f"vscode:{sample_lookup.SESSION}"]

    assert "chat-replay" in {trace.source for trace in conversation.provenance}
    assert not any(found.source == "chat-replay" for found in by_id.values())
    assert len(conversation.turns) == 3
    assert [len(turn.usage) for turn in conversation.turns][:2] == [3, 5], "one for each call of the model"


def test_the_transcript_is_of_the_same_conversation(made: Home, by_id: dict[str, Conversation]) -> None:
    (path,) = [path for path in made.files if "/transcripts/" in path]
    lines = [json.loads(line) for line in made.files[path].splitlines()]
    conversation = by_id[f"vscode:{sample_drag.SESSION}"]

    assert [line["parentId"] for line in lines[1:]] == [line["id"] for line in lines[:-1]]
    asked = [line["data"]["content"] for line in lines if line["type"] == "user.message"]
    assert len(asked) == len(conversation.turns) == 3
    told = {line["data"]["toolCallId"] for line in lines if line["type"] == "tool.execution_start"}
    assert told <= {part.id for part in parts_of(conversation) if isinstance(part, ToolCall)}
    if "transcripts" in BY_NAME:
        assert "transcripts" in {trace.source for trace in conversation.provenance}
