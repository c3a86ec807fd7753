"""Conversations of any source as sessions of VS Code: what comes back, and what does not, by field."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.chat_json.parts import edits_of_diff
from copilog.chat_json.sessions import made_request_id, session_id_of
from copilog.errors import UsageError
from copilog.exports.chosen import chosen_of
from copilog.exports.formats import Making, format_named
from copilog.exports.options import Options
from copilog.exports.writing import NothingToWrite, write
from copilog.ingest import read
from copilog.model import Conversation, Message, Text, TextEdit, ToolCall, ToolResult, Turn, parts_of, prose_of
from copilog.textdiff.diffs import unified_diff
from copilog.textdiff.edits import apply_edits
from tests.round_trips import chat_of, differing_fields, read_chat, session_and_back

SAMPLE = Path(__file__).parent.parent.parent / "src" / "copilog" / "sample" / "home"
VSCODE = ("vscode-session", "vscode-session-log", "vscode-state")
COMPARED = ("turns", "messages", "draft", "queued")

# What a session's file has no place for, by field; all that is not named here comes back.
FROM_EDITING_STATE = {"file-edit.diff", "file-edit.added", "file-edit.removed", "tool-call.edits"}
FROM_OTHER_TRACES = {
    "turns.extra.groups",
    "turns.extra.request_ids",
    "turns.extra.server_request_ids",
    "turns.extra.tools",
    "turns.extra.written",
    "turns.part_orders",
    "turns.ran_model.evidence",
    "turns.usage",
    "tool-call.verdicts",
    "tool-call.outcome.evidence",
    "tool-result.full_text",
    "tool-result.full_text_path",
    "terminal.notes",
}
OF_LOGS = {"messages", "messages.parts", "tool-call.id", "file-tree.native", "turns.undone_from"}
OF_EARLY_RELEASES = {
    "turns",
    "turns.extra",
    "turns.extra.shouldBeRemovedOnSend",
    "turns.request_id",
    "turns.response_id",
    "messages.id",
    "text.native",
    "notice.native",
    "prompt.extra.parts",
    "tool-call.native_ids",
    "draft.extra",
    "turns.extra.result.metadata.edits.workingSet",
}
NOT_CARRIED = FROM_EDITING_STATE | FROM_OTHER_TRACES | OF_LOGS | OF_EARLY_RELEASES


def fields_lost(conversations: list[Conversation], folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for conversation in conversations:
        again = session_and_back(conversation, folder)
        for name in COMPARED:
            old, new = (msgspec.to_builtins(getattr(each, name)) for each in (conversation, again))
            for field in differing_fields(old, new, name):
                found.setdefault(field, conversation.id)
    return found


@pytest.fixture(scope="module")
def sample() -> list[Conversation]:
    return list(read(SAMPLE))


def test_sessions_of_the_sample_come_back_but_for_named_fields(sample: list[Conversation], tmp_path: Path) -> None:
    sessions = [each for each in sample if each.source in VSCODE]
    assert len(sessions) > 10

    assert fields_lost(sessions, tmp_path).keys() <= NOT_CARRIED


def test_sessions_of_the_corpus_come_back_but_for_named_fields(corpus: Path, tmp_path: Path) -> None:
    sessions = [each for each in read(corpus / "homes") if each.source in VSCODE]
    assert len(sessions) > 50

    lost = fields_lost(sessions, tmp_path)

    assert {name: lost[name] for name in lost.keys() - NOT_CARRIED} == {}


def test_flat_files_hold_the_same_as_logs(sample: list[Conversation], tmp_path: Path) -> None:
    for conversation in sample:
        log, flat = (session_and_back(conversation, tmp_path, is_log=is_log) for is_log in (True, False))
        assert msgspec.to_builtins(log.messages) == msgspec.to_builtins(flat.messages)
        assert log.turns == flat.turns


# --- Copilot CLI ----------------------------------------------------------------------------------------------------


def test_a_session_of_the_cli_becomes_a_chat_with_its_tools(sample: list[Conversation], tmp_path: Path) -> None:
    for conversation in (each for each in sample if each.source == "cli-events"):
        again = read_chat(chat_of(conversation), tmp_path)

        assert asked(again) == asked(conversation)
        assert answered(again) == answered(conversation)
        assert called(again) == called(conversation)
        assert [turn.status for turn in again.turns] == [turn.status for turn in conversation.turns]
        assert [turn.timing.started_at for turn in again.turns] == [
            turn.timing.started_at for turn in conversation.turns
        ]


def asked(conversation: Conversation) -> list[str]:
    return [
        prose_of(message.parts)
        for message in conversation.messages
        if message.role == "user" and message.parent_call_id is None
    ]


def answered(conversation: Conversation) -> list[str]:
    texts: dict[int | None, str] = {}
    for message in conversation.messages:
        if message.role == "assistant" and message.parent_call_id is None:
            said = [part for part in message.parts if isinstance(part, Text)]
            texts[message.turn] = texts.get(message.turn, "") + prose_of(said)
    return ["".join(text.split()) for text in texts.values() if text]


def called(conversation: Conversation) -> list[tuple[str, str | None, str | None]]:
    """The calls with their arguments and what the model was told, of the conversation itself."""
    own = [message for message in conversation.messages if message.parent_call_id is None]
    results = {part.call_id: part.text for message in own for part in message.parts if isinstance(part, ToolResult)}
    calls = [part for message in own for part in message.parts if isinstance(part, ToolCall)]
    return [(call.name, call.arguments, results.get(call.id)) for call in calls]


def test_a_request_has_the_same_id_at_every_export(sample: list[Conversation], tmp_path: Path) -> None:
    conversation = next(each for each in sample if each.source == "cli-events")
    ids = [turn.request_id for turn in read_chat(chat_of(conversation), tmp_path).turns]

    again = read_chat(chat_of(conversation), tmp_path)

    assert ids == [turn.request_id or made_request_id(conversation.id, turn.index) for turn in conversation.turns]
    assert [turn.request_id for turn in again.turns] == ids
    assert [turn.request_id for turn in session_and_back(again, tmp_path).turns] == ids


# --- files ----------------------------------------------------------------------------------------------------------


def written(conversations: list[Conversation], folder: Path, **options: object) -> Making:
    kind = format_named("vscode")
    assert kind is not None
    making = Making(by="copilog", options=Options(**options))  # type: ignore[arg-type]
    write(chosen_of(conversations), kind, folder, making)
    return making


def test_sessions_come_with_the_entries_of_the_index(sample: list[Conversation], tmp_path: Path) -> None:
    sessions = [each for each in sample if each.turns]
    written(sessions, tmp_path / "out")

    index = json.loads((tmp_path / "out" / "chat.ChatSessionStore.index.json").read_text("utf-8"))
    files = {path.stem: path for path in (tmp_path / "out" / "chatSessions").iterdir()}
    assert index["version"] == 1
    assert index["entries"].keys() == files.keys() == {session_id_of(each, is_new=False) for each in sessions}
    for name, entry in index["entries"].items():
        assert entry["sessionId"] == name
        assert (entry["initialLocation"], entry["isEmpty"], entry["isExternal"]) == ("panel", False, False)
        assert isinstance(entry["title"], str)
        assert isinstance(entry["lastMessageDate"], int)
        (conversation,) = read(files[name])
        assert conversation.native_id == name


def test_releases_before_logs_get_flat_files(sample: list[Conversation], tmp_path: Path) -> None:
    one = [each for each in sample if each.turns][:1]
    written(one, tmp_path / "flat", release="1.108")
    written(one, tmp_path / "log", release="1.109.2")

    assert [path.suffix for path in (tmp_path / "flat" / "chatSessions").iterdir()] == [".json"]
    assert [path.suffix for path in (tmp_path / "log" / "chatSessions").iterdir()] == [".jsonl"]
    with pytest.raises(UsageError, match="not a release"):
        written(one, tmp_path / "other", release="insiders")


def test_new_ids_are_other_ones_and_always_the_same(sample: list[Conversation], tmp_path: Path) -> None:
    one = next(each for each in sample if each.source == "vscode-session-log" and each.turns)
    written([one], tmp_path / "new", new_id=True)

    (path,) = (tmp_path / "new" / "chatSessions").iterdir()
    assert path.stem == session_id_of(one, is_new=True) != one.native_id == session_id_of(one, is_new=False)
    (again,) = read(path)
    assert [turn.request_id for turn in again.turns] == [turn.request_id for turn in one.turns]


def test_conversations_without_a_prompt_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(NothingToWrite):
        written([Conversation(id="cli:x", source="cli-events")], tmp_path / "out")


def test_what_is_left_out_is_counted(sample: list[Conversation], tmp_path: Path) -> None:
    conversation = next(each for each in sample if each.source == "cli-events" and each.documents)

    making = written([conversation], tmp_path / "out")

    told = {each.what: each.number for each in making.left_out}
    kinds = Counter(document.kind for document in conversation.documents)
    assert len(kinds) > 1
    assert {what: told[what] for what in told if what.startswith("documents")} == {
        f"documents of the kind {kind}": number for kind, number in kinds.items()
    }
    assert told["usage of the whole session"] == len(conversation.usage)
    assert told["texts of sub-agents"] > 0


def test_turns_that_were_taken_back_are_left_out_and_counted(tmp_path: Path) -> None:
    turns = [Turn(index=0, superseded="rewound"), Turn(index=1)]
    messages = [Message(role="user", parts=[], turn=0), Message(role="user", parts=[], turn=1)]
    at = datetime(2026, 1, 1, tzinfo=UTC)
    conversation = Conversation(id="cli:x", source="cli-events", turns=turns, messages=messages, started_at=at)

    making = written([conversation], tmp_path / "out")

    assert {each.what: each.number for each in making.left_out}["turns that no longer count"] == 1
    (path,) = (tmp_path / "out" / "chatSessions").iterdir()
    assert len(json.loads(path.read_text("utf-8"))["v"]["requests"]) == 1


def test_nothing_is_counted_twice_after_an_import(sample: list[Conversation], tmp_path: Path) -> None:
    conversation = next(each for each in sample if each.source == "cli-events")
    outputs = Counter({turn.index: sum(usage.output or 0 for usage in turn.usage) for turn in conversation.turns})

    again = read_chat(chat_of(conversation), tmp_path)

    for turn in again.turns:
        assert max((usage.output or 0 for usage in turn.usage), default=0) == outputs[turn.index]
        assert len({usage.source for usage in turn.usage}) == len(turn.usage)


# --- edits ----------------------------------------------------------------------------------------------------------

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "-- x", "++ y", "@@ z"]), max_size=12)


@given(LINES, LINES)
def test_the_edits_of_a_diff_give_the_text_after_it(before: list[str], after: list[str]) -> None:
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    diff = unified_diff(old, new, "a", "b")

    edits = [
        TextEdit(
            edit["range"]["startLineNumber"],
            edit["range"]["startColumn"],
            edit["range"]["endLineNumber"],
            edit["range"]["endColumn"],
            edit["text"],
        )
        for edit in edits_of_diff(diff)
    ]

    assert apply_edits(old, edits) == new


def test_all_parts_of_the_sample_are_written(sample: list[Conversation]) -> None:
    for conversation in sample:
        left_out: Counter[str] = Counter()
        assert list(parts_of(conversation)) or not conversation.turns
        assert not [name for name in left_out if name.startswith("parts: ")]


def test_a_call_says_what_it_was_about(tmp_path: Path) -> None:
    calls = [
        ToolCall(id="a", name="view", arguments='{"path":"/home/ana/tides.py"}'),
        ToolCall(id="b", name="view", arguments="not json"),
        ToolCall(id="c", name="view", message="Read it"),
    ]
    messages = [
        Message(role="user", parts=[Text(text="hi")], turn=0),
        Message(role="assistant", parts=[*calls], turn=0),
    ]
    conversation = Conversation(id="cli:x", source="cli-events", turns=[Turn(index=0)], messages=messages)

    again = read_chat(chat_of(conversation), tmp_path)

    told = [part.message for part in parts_of(again) if isinstance(part, ToolCall)]
    assert told == ["view: /home/ana/tides.py", "view", "Read it"]
