"""Conversations of any source as trajectories, the same kind of line that telemetry gives.

The fields, and what is left out: docs/formats/trajectories.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec

from copilog.derive import ends_of
from copilog.model import Conversation, Message, Turn
from copilog.trajectory.line_format import ConversationTrajectory, TrajectoryMessage, TrajectoryMetadata
from copilog.trajectory.messages import KEPT, MessageWriter

MARK = "trajectory"  # of conversations that were read from a trajectory
BROKEN = frozenset({"damaged", "headless"})
_NOTHING_KNOWN: dict[str, Any] = dict.fromkeys(
    ("mode", "intent", "detectedIntent", "timestamp", "turnIndex", "messageId")
)


def trajectories_of(conversation: Conversation) -> Iterator[ConversationTrajectory]:
    """Yield the conversation itself, and then each of its sub-agents, without those that have no messages.

    Of a conversation with branches there is one for each end (`ends_of`), with the turns that lead to it; a sub-agent
    of shared turns comes once. Superseded turns are in none of them.
    """
    callers: set[str | None] = set()
    for end in ends_of(conversation):
        for caller, trajectory in _trajectories_of_end(end):
            if caller is None or caller not in callers:
                yield trajectory
            callers.add(caller)


def _trajectories_of_end(conversation: Conversation) -> Iterator[tuple[str | None, ConversationTrajectory]]:
    by_caller: dict[str | None, list[Message]] = {None: []}
    for message in conversation.messages:
        by_caller.setdefault(message.parent_call_id, []).append(message)
    writer = MessageWriter(conversation)
    for caller, messages in by_caller.items():
        trajectory = _trajectory(conversation, writer, messages, caller)
        if trajectory.messages:
            yield caller, trajectory


def trajectory_of(conversation: Conversation) -> ConversationTrajectory:
    """Return the conversation itself, without its sub-agents. The context of its messages is not scanned here.

    Of a conversation with branches it is the trunk.
    """
    conversation = ends_of(conversation)[0]
    own = [message for message in conversation.messages if message.parent_call_id is None]
    return _trajectory(conversation, MessageWriter(conversation), own, None)


def _trajectory(
    conversation: Conversation, writer: MessageWriter, messages: list[Message], caller: str | None
) -> ConversationTrajectory:
    written = writer.write(messages, caller)
    name = conversation_id(conversation)
    made = ConversationTrajectory(
        conversation_id=name if caller is None else f"{name}#{writer.spelled(caller)}",
        messages=written,
        context={},
        metadata=_metadata(conversation, written, messages, caller),
        mode_distribution=_modes_of(written),
        telemetry_type=conversation.source,
        file_path=conversation.provenance[0].path if conversation.provenance else None,
    )
    _restore(made, _original_line(conversation, caller))
    return made


def conversation_id(conversation: Conversation) -> str:
    """Return the id that a writer gave to a conversation, as telemetry has it; ours for one without an id."""
    return conversation.id if conversation.native_id is None else conversation.id.partition(":")[2]


def _modes_of(messages: list[TrajectoryMessage]) -> dict[str, int]:
    modes = Counter(message.mode for message in messages if message.role == "user" and message.mode is not None)
    return dict(sorted(modes.items()))


def _metadata(
    conversation: Conversation, written: list[TrajectoryMessage], messages: list[Message], caller: str | None
) -> TrajectoryMetadata:
    said = [message.created_at for message in messages if message.created_at is not None]
    if caller is None:
        at = conversation.updated_at or max(said, default=None) or conversation.started_at
    else:
        at = max(said, default=None)
    last = _last_turn(conversation, messages)
    return TrajectoryMetadata(
        mode=next((message.mode for message in written if message.role == "user" and message.mode is not None), None),
        intent=None,
        detected_intent=None,
        timestamp=_iso(at) if at is not None else None,
        turn_index=last.index if last is not None else None,
        message_id=_message_id(last) if last is not None else None,
        incomplete=None if BROKEN.isdisjoint(conversation.marks) else True,
        subagent=True if caller is not None else None,
    )


def _last_turn(conversation: Conversation, messages: list[Message]) -> Turn | None:
    last = max((message.turn for message in messages if message.turn is not None), default=None)
    return next((turn for turn in conversation.turns if turn.index == last), None)


def _message_id(turn: Turn) -> str | None:
    """Return the id of a turn: the extension's own, which telemetry has, if it is available."""
    result = (turn.extra or {}).get("result")
    metadata = result.get("metadata") if isinstance(result, dict) else None
    name = metadata.get("responseId") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) and name else turn.response_id or turn.request_id


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# --- what was a trajectory before -------------------------------------------------------------------------------


def _original_line(conversation: Conversation, caller: str | None) -> dict[str, Any]:
    """Return the line's own fields, if it is a line that the conversation was read from."""
    kept = (conversation.extra or {}).get(KEPT) if MARK in conversation.marks else None
    if caller is not None and isinstance(kept, dict):
        subagents = kept.get("subagents")
        kept = subagents.get(caller) if isinstance(subagents, dict) else None
    return kept if isinstance(kept, dict) else {}


def _restore(made: ConversationTrajectory, kept: dict[str, Any]) -> None:
    """Restore a line's own fields that are of the right type."""
    for name in ("conversation_id", "telemetry_type", "file_path"):
        if isinstance(kept.get(name), str):
            setattr(made, name, kept[name])
    if isinstance(kept.get("context"), dict):
        made.context = kept["context"]
    if isinstance(kept.get("metadata"), dict):
        with suppress(msgspec.ValidationError):
            made.metadata = msgspec.convert(_NOTHING_KNOWN | kept["metadata"], TrajectoryMetadata)
