"""Outcomes of real calls, where there are files of other people: a second, independent look at their texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from copilog import ingest
from copilog.derive.line_counts import changed_lines, counted_edits
from copilog.model import Conversation, FileEdit, ToolCall, ToolResult

pytestmark = pytest.mark.corpus

ERRORS = ("ERROR while calling tool:", "ERROR: Your input to the tool was invalid", 'ERROR: The tool "')
EDIT_ERRORS = (*ERRORS, "String replacement failed", "Applying patch failed", "File does not exist: ")


@pytest.fixture(scope="module")
def conversations(corpus: Path) -> list[Conversation]:
    return list(ingest.read(corpus))


def answered(conversation: Conversation) -> Iterator[tuple[ToolCall, ToolResult]]:
    parts = [part for message in conversation.messages for part in message.parts]
    calls = {part.id: part for part in parts if isinstance(part, ToolCall)}
    for part in parts:
        if isinstance(part, ToolResult) and part.call_id in calls:
            yield calls[part.call_id], part


def test_every_error_text_of_the_extension_is_a_failure(conversations: list[Conversation]) -> None:
    """The beginning is enough here: no content that these tools return begins with such a text."""
    outcomes = [
        call.outcome.kind if call.outcome else None
        for conversation in conversations
        if not conversation.id.startswith("cli:")
        for call, result in answered(conversation)
        if result.text.startswith(ERRORS)
    ]

    assert len(outcomes) >= 10
    assert set(outcomes) == {"failed"}


def test_content_is_no_failure(conversations: list[Conversation]) -> None:
    """A call without an error flag whose result is not one of the extension's own texts has succeeded."""
    own = (*EDIT_ERRORS, "ERROR: ", "The user c", "Canceled", "The user has not opened a valid workspace folder")
    plain = [
        call
        for conversation in conversations
        for call, result in answered(conversation)
        if not result.is_error and call.status == "complete" and not result.text.startswith(own)
    ]

    assert plain
    assert [call for call in plain if call.outcome is None or call.outcome.kind != "succeeded"] == []


def test_edits_count_unless_their_call_was_answered_with_an_error(conversations: list[Conversation]) -> None:
    refused, made = 0, 0
    for conversation in conversations:
        counted = {id(edit) for edit in counted_edits(conversation)}
        with_history = {(change.turn, change.path or change.uri) for change in conversation.file_changes}
        texts: dict[str, list[ToolResult]] = {}
        for call, result in answered(conversation):
            texts.setdefault(call.id, []).append(result)
        for message in conversation.messages:
            for edit in message.parts:
                if not isinstance(edit, FileEdit) or edit.call_id not in texts:
                    continue
                if any(result.text.startswith(EDIT_ERRORS) for result in texts[edit.call_id]):
                    refused += 1
                    assert id(edit) not in counted
                    assert changed_lines(edit) == (None, None)
                elif not any(result.is_error for result in texts[edit.call_id]):
                    made += 1
                    assert id(edit) in counted or (message.turn, edit.path or edit.uri) in with_history

    assert refused
    assert made > 100
