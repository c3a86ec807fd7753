"""The shape of a trajectory: a conversation as one line of JSON.

Field names, nesting and order are those of docs/formats/trajectories.md (R-40a of docs/formats/telemetry.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from copilog import jsonio


class TrajectoryMessage(msgspec.Struct, omit_defaults=True):
    """One message. Role and content are always written, other fields only if they have a value."""

    role: str
    content: str
    mode: str | None = None
    model: str | None = None
    model_source: str | None = None  # engine, engine-request, interactiveSession; else what another source calls it
    model_conflict: bool | None = None
    tool_calls: list[Any] | None = None
    tool_call_id: str | None = None
    reasoning: str | None = None
    attachments: int | None = None  # how many images
    merged: list[str] | None = None
    appended: bool | None = None
    missing: bool | None = None


class TrajectoryMetadata(msgspec.Struct, omit_defaults=True, rename={"detected_intent": "detectedIntent"}):
    """Fields of the snapshot; the first six are always written."""

    mode: str | None
    intent: str | None
    detected_intent: str | None
    timestamp: str | None
    turn_index: int | None = msgspec.field(name="turnIndex")
    message_id: str | None = msgspec.field(name="messageId")
    truncated: bool | None = None
    recovered: bool | None = None
    incomplete: bool | None = None
    subagent: bool | None = None
    merge_log: list[tuple[int, str, str, int]] | None = None  # message, field, file, offset


class ConversationTrajectory(msgspec.Struct):
    """One conversation, deduplicated and enriched."""

    conversation_id: str
    messages: list[TrajectoryMessage]
    context: dict[str, Any]
    metadata: TrajectoryMetadata
    mode_distribution: dict[str, int]
    telemetry_type: str | None
    file_path: str | None


_encode = msgspec.json.Encoder().encode
_MOST_IN_PASSING = 4 << 20  # bytes of one line
_NO_MESSAGES = b'"messages":[]'  # inside of a string, its quotation marks would be escaped


def encode_trajectory(trajectory: ConversationTrajectory) -> bytes:
    """Return one line without its line break. Half a surrogate pair, as in some file names, is written as U+FFFD."""
    return encoded(trajectory)


def trajectory_pieces(trajectory: ConversationTrajectory) -> Iterator[bytes]:
    """Yield the same line in pieces, a message at a time: the line of a long conversation needs much memory."""
    opening, _, end = encode_trajectory(msgspec.structs.replace(trajectory, messages=[])).partition(_NO_MESSAGES)
    yield opening + _NO_MESSAGES[:-1]
    encode, written = encoded, 0
    for position, message in enumerate(trajectory.messages):
        text = encode(message)
        written += len(text)
        if written > _MOST_IN_PASSING:
            encode = _encoded_in_passing
        yield (b"," if position else b"") + text
    yield b"]" + end


def _encoded_in_passing(value: Any) -> bytes:
    try:
        return jsonio.encode_in_passing(value)
    except UnicodeEncodeError:
        return encoded(value)


def encoded(value: Any) -> bytes:
    """Return any value of the model or of JSON as JSON. Half a surrogate pair is written as U+FFFD."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(_without_lone_surrogates(msgspec.to_builtins(value)))


def _without_lone_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_without_lone_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_lone_surrogates(key): _without_lone_surrogates(item) for key, item in value.items()}
    return value
