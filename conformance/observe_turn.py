"""What copilog reads of one turn: texts, thinking, calls with their results, edits and sub-agents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any

from copilog.model import (
    Attachment,
    Confirmation,
    Conversation,
    FileEdit,
    Message,
    Text,
    Thinking,
    TodoList,
    ToolCall,
    ToolResult,
    Turn,
    messages_of,
    prose_of,
)

Seen = Iterator[tuple[str, str, Any]]  # kind, where, value


def observe_turn(conversation: Conversation, turn: Turn, where: str) -> Seen:
    """Yield all that was read of a turn."""
    messages = messages_of(conversation, turn.index)
    own = [message for message in messages if message.parent_call_id is None]
    yield "prompt", where, _prompt(own)
    yield "images", where, _images(own)
    yield "status", where, turn.status
    yield "error", where, turn.error.message if turn.error else None
    yield "agent", where, turn.custom_agent.name if turn.custom_agent else None
    yield "mode", where, (turn.mode.name or turn.mode.kind) if turn.mode else None
    yield "model", where, turn.ran_model.name if turn.ran_model else None
    yield "model.asked", where, turn.model.name if turn.model else None
    yield "vote", where, ("up" if turn.vote.is_up else "down") if turn.vote else None
    yield "began", where, turn.timing.started_at.timestamp() * 1000 if turn.timing.started_at else None
    yield "duration", where, turn.duration.elapsed_ms if turn.duration else None
    yield "skills", where, sorted(skill.name for skill in turn.skills if skill.is_loaded)
    asked = [part for message in messages for part in message.parts if isinstance(part, Confirmation)]
    yield "asked of the user", where, [[part.type, part.state] for part in asked]
    yield "answers of the user", where, [one.answer for part in asked for one in part.questions]
    yield from _texts(own, where)
    yield from _calls(messages, where)


def _prompt(own: list[Message]) -> str | None:
    texts = [text for message in own if message.role == "user" and (text := prose_of(message.parts))]
    return "\n".join(texts) if texts else None


def _images(own: list[Message]) -> int:
    parts = (part for message in own if message.role == "user" for part in message.parts)
    return sum(isinstance(part, Attachment) and (part.mime_type or "").startswith("image/") for part in parts)


def _answers(messages: Iterable[Message]) -> list[str]:
    texts = (
        "".join(part.text for part in message.parts if isinstance(part, Text)).strip()
        for message in messages
        if message.role == "assistant"
    )
    return [text for text in texts if text]


def _texts(own: list[Message], where: str) -> Seen:
    answers = _answers(own)
    yield "answers", where, len(answers)
    for number, text in enumerate(answers, 1):
        yield "answer", f"{where}/{number}", text
    thoughts = [
        part.text
        for message in own
        if message.role == "assistant"
        for part in message.parts
        if isinstance(part, Thinking) and part.text
    ]
    yield "thoughts", where, len(thoughts)
    for number, text in enumerate(thoughts, 1):
        yield "thinking", f"{where}/{number}", text


def _calls(messages: list[Message], where: str) -> Seen:
    results: dict[str, list[ToolResult]] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResult):
                results.setdefault(part.call_id, []).append(part)
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                at = f"{where}/{part.id}"
                yield from _call(part, message.parent_call_id or "main", at)
                yield from _results(results.get(part.id, []), at)
                yield from _argued(part, at)
                yield from _subagent(part, messages, at)
            elif isinstance(part, FileEdit) and part.call_id is not None:
                yield from _edit(part, f"{where}/{part.call_id}")
            elif isinstance(part, TodoList) and part.call_id is not None:
                yield "call.todos", f"{where}/{part.call_id}", [item.title for item in part.items]
    calls = [part for message in messages for part in message.parts if isinstance(part, ToolCall)]
    of_program = [call for call in calls if call.origin == "program"]
    yield "calls", where, len(calls) - len(of_program)  # a call that is there twice counts twice
    yield "calls of the program", where, [call.name for call in of_program]
    edits = [part for message in messages for part in message.parts if isinstance(part, FileEdit)]
    yield "edits", where, len(edits) + sum(len(call.edits) for call in calls)


def _call(call: ToolCall, caller: str, at: str) -> Seen:
    yield "call.name", at, call.name
    yield "call.title", at, call.title
    yield "call.arguments", at, _value(call.arguments)
    yield "call.outcome", at, call.outcome.kind if call.outcome else None
    yield "call.reason", at, call.outcome.reason if call.outcome else None
    yield "call.caller", at, caller
    yield "call.exit code", at, call.concluded_exit_code
    yield "call.server", at, call.server


def _results(results: list[ToolResult], at: str) -> Seen:
    texts = [text for result in results for text in (result.text, result.display, result.full_text) if text]
    texts += [item.text for result in results for item in result.items if item.text]
    yield "call.result", at, "\n".join(texts) if results else None


def _argued(call: ToolCall, at: str) -> Seen:
    """Edits that only the arguments of the call record."""
    for edit in call.edits:
        place = f"{at}/{PurePath(edit.path).name}"
        yield "edit", place, edit.action
        yield "edit.outcome", place, call.outcome.kind if call.outcome else None
        yield "edit.added", place, edit.added
        yield "edit.removed", place, edit.removed


def _edit(edit: FileEdit, at: str) -> Seen:
    place = f"{at}/{PurePath(edit.path or edit.uri or '').name}"
    yield "edit", place, edit.action
    yield "edit.outcome", place, edit.outcome
    yield "edit.added", place, edit.added
    yield "edit.removed", place, edit.removed


def _subagent(call: ToolCall, messages: list[Message], at: str) -> Seen:
    if call.subagent is not None:
        yield "subagent.prompt", at, call.subagent.prompt
        yield "subagent.name", at, call.subagent.name
        yield "subagent.model", at, call.subagent.model
    answers = _answers(message for message in messages if message.parent_call_id == call.id)
    yield "subagent.answers", at, len(answers)
    for number, text in enumerate(answers, 1):
        yield "subagent.answer", f"{at}/{number}", text


def _value(text: str | None) -> Any:
    """Return the value of a JSON text; the text itself if it is not JSON."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text
