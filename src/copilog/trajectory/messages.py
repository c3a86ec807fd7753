"""Messages of a conversation as messages of a trajectory: as a model sees them, without text that only the user saw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from copilog import jsonio
from copilog.derive.models import model_of_message
from copilog.model import (
    AnyPart,
    Attachment,
    Conversation,
    Mention,
    Message,
    Prompt,
    Reference,
    ResultItem,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Unknown,
    parts_of,
    prose_of,
)
from copilog.trajectory.line_format import TrajectoryMessage

# Under this key `extra` has the fields of a trajectory without an equivalent in the model.
KEPT = "trajectory"
UNREAD_CALL = "tool_calls"  # an entry of `tool_calls` that cannot be parsed


class _TrajectoryFields(msgspec.Struct):
    """The fields of a message that only trajectories have."""

    role: str | None = None
    tool_call_id: str | None = None
    merged: list[str] | None = None
    appended: bool | None = None
    missing: bool | None = None


class _Call(NamedTuple):
    call: ToolCall
    spelling: str  # of its id, as the model saw it


class MessageWriter:
    """A writer of the messages of one conversation in order. Context that was written before is not repeated."""

    def __init__(self, conversation: Conversation) -> None:
        self._turns = {turn.index: turn for turn in conversation.turns}
        calls = [part for part in parts_of(conversation) if isinstance(part, ToolCall)]
        self._calls = {call.id: _Call(call, _spelling(call)) for call in calls}
        self._written: set[str] = set()

    def write(self, messages: list[Message], caller: str | None = None) -> list[TrajectoryMessage]:
        """Return the messages to and from the model, and for a sub-agent also those that only its call has."""
        made = [written for message in messages for written in self._messages(message) if _has_any_field(written)]
        started = self._calls.get(caller or "")
        subagent = started.call.subagent if started is not None and made else None
        if subagent is None:
            return made
        if subagent.prompt and all(message.role != "user" for message in made):
            made.insert(0, TrajectoryMessage("user", subagent.prompt))
        if subagent.result and (made[-1].role != "assistant" or made[-1].tool_calls):
            made.append(TrajectoryMessage("assistant", subagent.result, model=subagent.model, appended=True))
        return made

    def spelled(self, call_id: str) -> str:
        """Return the id of a call as the model saw it."""
        known = self._calls.get(call_id)
        return known.spelling if known is not None else call_id

    def _messages(self, message: Message) -> Iterator[TrajectoryMessage]:
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        if message.role == "user":
            yield from self._context(message)
        written = TrajectoryMessage(message.role, self._content(message))
        if message.role == "tool" and results:
            self._answer(written, results.pop(0))
        self._annotate(written, message)
        yield written
        for result in results:
            yield self._answer(TrajectoryMessage("tool", ""), result)

    # --- words ---

    def _context(self, message: Message) -> Iterator[TrajectoryMessage]:
        """Yield the context before the user's text, which is a message of its own."""
        if not _is_of_user(message.parts):
            return
        for part in message.parts:
            if isinstance(part, Prompt) and part.scope == "conversation" and part.text not in self._written:
                self._written.add(part.text)
                yield TrajectoryMessage("user", part.text)

    def _content(self, message: Message) -> str:
        if message.role == "user":
            return _prompt_text(message.parts)
        if message.role == "system":
            return "".join(part.text for part in message.parts if isinstance(part, Prompt)) or prose_of(message.parts)
        return prose_of(message.parts)

    # --- all else ---

    def _annotate(self, written: TrajectoryMessage, message: Message) -> None:
        written.mode = message.mode or self._mode_of_turn(message)
        written.model, written.model_source = model_of_message(message, self._turn_of(message)), message.model_source
        written.model_conflict = True if message.model_conflict else None
        written.tool_calls = [made for part in message.parts if (made := self._call(part)) is not None] or None
        thoughts = [part.text for part in message.parts if isinstance(part, Thinking) and part.text]
        written.reasoning = "\n\n".join(thoughts) or None
        written.attachments = (written.attachments or 0) + sum(map(_is_image, message.parts)) or None
        kept = _trajectory_fields(message)
        written.role = kept.role or written.role
        written.tool_call_id = kept.tool_call_id or written.tool_call_id
        written.merged, written.appended, written.missing = kept.merged, kept.appended, kept.missing

    def _turn_of(self, message: Message) -> Turn | None:
        return self._turns.get(message.turn) if message.turn is not None else None

    def _mode_of_turn(self, message: Message) -> str | None:
        if message.role != "user" or message.parent_call_id is not None or not _is_of_user(message.parts):
            return None
        turn = self._turn_of(message)
        mode = turn.mode if turn is not None else None
        return mode.name or mode.kind if mode is not None else None

    def _call(self, part: AnyPart) -> Any:
        """Return a call in the form of chat completions; arguments without a record are empty text."""
        if isinstance(part, Unknown) and part.type == UNREAD_CALL:
            return part.raw
        if not isinstance(part, ToolCall) or part.status == "prepared":
            return None
        kept = _dict(part.extra, KEPT)
        function = {"name": part.name, "arguments": part.arguments or "", **_dict(kept, "function")}
        return {"id": self.spelled(part.id), "type": "function", **kept, "function": function}

    def _answer(self, written: TrajectoryMessage, result: ToolResult) -> TrajectoryMessage:
        spelling = _dict(result.extra, KEPT).get("tool_call_id")
        written.content = result.text
        written.tool_call_id = spelling if isinstance(spelling, str) else self.spelled(result.call_id) or None
        written.attachments = sum(_is_picture(item) for item in result.items) or None
        return written


def _prompt_text(parts: list[AnyPart]) -> str:
    """Return a user's message: the prompt as sent if it is available, else the text and the attachments."""
    if not _is_of_user(parts):
        return "".join(part.text for part in parts if isinstance(part, Prompt))
    sent = [part.text for part in parts if isinstance(part, Prompt) and part.scope != "conversation" and part.text]
    if sent:
        return sent[-1]
    words = prose_of(parts)
    attached = [
        _attachment_text(part)
        for part in parts
        if isinstance(part, Attachment) and part.is_sent and not _is_image(part)
    ]
    if not attached:
        return words
    blocks = ["<attachments>", *attached, "</attachments>"]
    return "\n".join([*blocks, "<userRequest>", words, "</userRequest>"] if words else blocks)


def _attachment_text(attachment: Attachment) -> str:
    """Return an attachment in the form that Copilot itself uses in prompts."""
    place = attachment.place
    known = {
        "id": attachment.name or attachment.id,
        "filePath": (place.path or place.uri) if place is not None else None,
    }
    attributes = "".join(
        f" {key}={jsonio.encode(jsonio.replace_lone_surrogates(value))}" for key, value in known.items() if value
    )
    text = attachment.text or attachment.description
    return f"<attachment{attributes}>\n{text}\n</attachment>" if text else f"<attachment{attributes}/>"


def _is_of_user(parts: list[AnyPart]) -> bool:
    """Return whether a message is the user's, and not only context that the product sent by itself."""
    return any(
        isinstance(part, Text | Reference | Mention)
        or (isinstance(part, Prompt) and part.scope != "conversation")
        or (isinstance(part, Attachment) and not _is_image(part))
        for part in parts
    )


def _is_image(part: AnyPart) -> bool:
    if not isinstance(part, Attachment) or not part.is_sent:
        return False
    return part.type == "image" or (part.mime_type or "").startswith("image/")


def _is_picture(item: ResultItem) -> bool:
    return (item.mime_type or "").startswith("image/")


def _spelling(call: ToolCall) -> str:
    """Return the number that the extension adds to an id of the model, as the model then sees it too."""
    return next((name for name in call.native_ids if name.startswith(f"{call.id}__vscode-")), call.id)


def _has_any_field(message: TrajectoryMessage) -> bool:
    return bool(
        message.content
        or message.tool_calls
        or message.tool_call_id
        or message.attachments
        or message.reasoning
        or message.missing
    )


def _trajectory_fields(message: Message) -> _TrajectoryFields:
    try:
        return msgspec.convert(_dict(message.extra, KEPT), _TrajectoryFields)
    except msgspec.ValidationError:
        return _TrajectoryFields()


def _dict(holder: dict[str, Any] | None, key: str) -> dict[str, Any]:
    value = (holder or {}).get(key)
    return value if isinstance(value, dict) else {}
