"""What the archive keeps of one conversation, made ready to be written.

All of it is computed here, in whichever process has read the conversation, so that the one that writes has nothing
left to do but to fill in row numbers. The document is the whole conversation as JSON, packed in two frames: first
everything but the traces it was read from, then those, with the sizes and times of their files. The digest is taken
of the first and of the traces' names. Whatever is equal to what is there need not be written again, even if
its files were touched.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import chain
from typing import Any

import msgspec
from msgspec.structs import replace

from copilog import jsonio
from copilog.model import (
    Conversation,
    FileChange,
    FileEdit,
    Provenance,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
    duration_ms,
    title_of,
)
from copilog.store.packing import pack, unpack
from copilog.store.texts import Calls, Texts, texts_of

Row = tuple[Any, ...]

# The columns of `Entry.row`; the rest of the table is filled in by whoever writes it.
CONVERSATION_COLUMNS = (
    "id",
    "native_id",
    "source",
    "title",
    "assistant",
    "application",
    "location",
    "workspace",
    "repository",
    "branch",
    "started_at",
    "updated_at",
    "turns",
    "messages",
    "tool_calls",
    "edits",
    "errors",
    "models",
    "modes",
    "agents",
    "skills",
    "marks",
    "is_empty",
    "digest",
)

LARGEST_NUMBER = 1 << 63

_encoder = msgspec.json.Encoder()


class Entry(msgspec.Struct, array_like=True, gc=False):
    """The rows of one conversation, in the order of the tables' columns but without the number of the conversation.

    Messages begin with their position, the row of the title among them as the last.
    """

    id: str
    digest: bytes
    row: Row  # in the order of CONVERSATION_COLUMNS
    document: bytes
    messages: list[Row]
    turns: list[Row]
    tool_calls: list[Row]
    file_edits: list[Row]
    usages: list[Row]
    skills: list[Row]
    traces: list[Row]
    text_bytes: int  # about, of all that goes into the full-text index


def entry_of(conversation: Conversation) -> Entry:
    """Everything that is stored of a conversation."""
    try:
        document, digest = _document_of(conversation)
    except UnicodeEncodeError:  # a file's name may be no text at all
        conversation = _without_half_characters(conversation)
        document, digest = _document_of(conversation)
    calls = Calls(conversation)
    texts = texts_of(conversation, calls)
    tool_calls = _call_rows(conversation, calls)
    return Entry(
        id=conversation.id,
        digest=digest,
        row=(*_conversation_row(conversation, calls), digest),
        document=document,
        messages=list(_message_rows(conversation, texts)),
        turns=list(_turn_rows(conversation.turns)),
        tool_calls=tool_calls,
        file_edits=list(_edit_rows(conversation, calls)),
        usages=list(_usage_rows(conversation)),
        skills=list(_skill_rows(conversation.turns)),
        traces=[_trace_row(position, trace) for position, trace in enumerate(conversation.provenance)],
        text_bytes=sum(map(len, filter(None, chain.from_iterable(texts)))),
    )


@cache
def _decoder() -> msgspec.json.Decoder[Conversation]:
    """Made when it is needed: knowing the whole model takes a while."""
    return msgspec.json.Decoder(Conversation)


def conversation_from(document: bytes) -> Conversation:
    """The conversation that a document holds, equal to the one that was stored."""
    return _decoder().decode(unpack(document))


def moment(time: datetime | None) -> str | None:
    """A time as the archive writes it, so that texts compare as times do: `2026-05-04T06:45:00.123Z`."""
    if time is None:
        return None
    if time.tzinfo is not UTC and time.tzinfo is not None:
        time = time.astimezone(UTC)
    text = _encoder.encode(time).decode()  # in quotes; ten times faster than isoformat
    return text[1:24] + "Z" if time.microsecond else text[1:20] + ".000Z"


# --- the document -----------------------------------------------------------------------------------------------


def _document_of(conversation: Conversation) -> tuple[bytes, bytes]:
    traces = conversation.provenance
    body = _encoder.encode(replace(conversation, provenance=[]))
    packed = pack(memoryview(body)[:-1])
    names = _encoder.encode([replace(trace, size=None, modified_at=None) for trace in traces])
    digest = hashlib.blake2b(packed + names, digest_size=16).digest()
    return packed + pack(b',"provenance":' + _encoder.encode(traces) + b"}"), digest


def _without_half_characters(conversation: Conversation) -> Conversation:
    """The same with U+FFFD for what is no character: file names of any bytes, cut halves of a pair."""
    text = json.dumps(msgspec.to_builtins(conversation)).encode()
    return msgspec.convert(jsonio.decode(text)[0], Conversation)


# --- rows -------------------------------------------------------------------------------------------------------


def _conversation_row(conversation: Conversation, calls: Calls) -> Row:
    workspace = conversation.workspace
    turns = conversation.turns
    failed_turns = sum(turn.status == "failed" or turn.error is not None for turn in turns)
    return (
        conversation.id,
        conversation.native_id,
        conversation.source,
        title_of(conversation),
        conversation.assistant,
        conversation.application,
        conversation.location,
        workspace.folder if workspace else None,
        workspace.repository if workspace else None,
        workspace.branch if workspace else None,
        moment(conversation.started_at),
        moment(conversation.updated_at),
        len(turns),
        len(conversation.messages),
        len(calls.calls),
        len(calls.edits),
        failed_turns + sum(has_failed(call, calls.results.get(call.id)) for _, _, call in calls.calls),
        _names(name for turn in turns if turn.model for name in (turn.model.name, turn.model.resolved)),
        _names(_modes(turns)),
        _names(_agents(turns, calls)),
        _names(skill.name for turn in turns for skill in turn.skills if skill.is_loaded),
        _names(conversation.marks),
        int(not turns and not conversation.file_changes),
    )


def _names(names: Iterable[str | None]) -> str:
    """A JSON list of names, each once."""
    return jsonio.encode([name for name in dict.fromkeys(names) if name])


def _modes(turns: list[Turn]) -> Iterator[str | None]:
    for turn in turns:
        yield turn.mode.kind if turn.mode else None
        yield turn.custom_agent.name if turn.custom_agent else None


def _agents(turns: list[Turn], calls: Calls) -> Iterator[str | None]:
    """Custom agents and chat participants, then sub-agents."""
    for turn in turns:
        yield turn.custom_agent.name if turn.custom_agent else None
        yield (turn.agent.name or turn.agent.id) if turn.agent else None
    for _, _, call in calls.calls:
        yield call.subagent.name if call.subagent is not None else None


def _message_rows(conversation: Conversation, texts: list[Texts]) -> Iterator[Row]:
    """The messages; where one does not tell its mode and model, its turn does."""
    known = {turn.index: (_mode_of(turn), _model_of(turn)) for turn in conversation.turns}
    nothing = (None, None)
    position = -1
    for position, message in enumerate(conversation.messages):
        mode, model = known.get(message.turn, nothing) if message.turn is not None else nothing
        yield (
            position,
            message.role,
            message.turn,
            moment(message.created_at),
            message.mode or mode,
            message.model or model,
            message.parent_call_id,
            *texts[position],
        )
    yield (position + 1, "title", None, moment(conversation.updated_at), None, None, None, *texts[-1])


def _mode_of(turn: Turn) -> str | None:
    return turn.mode.kind or turn.mode.name if turn.mode else None


def _model_of(turn: Turn) -> str | None:
    return turn.model.resolved or turn.model.name if turn.model else None


def _turn_rows(turns: list[Turn]) -> Iterator[Row]:
    for turn in {turn.index: turn for turn in turns}.values():
        agent, vote = turn.agent, turn.vote
        yield (
            turn.index,
            turn.request_id,
            turn.status,
            (agent.name or agent.id) if agent else None,
            turn.custom_agent.name if turn.custom_agent else None,
            turn.command,
            _mode_of(turn),
            turn.model.name if turn.model else None,
            turn.model.resolved if turn.model else None,
            moment(turn.timing.started_at),
            _number(duration_ms(turn)),
            _number(turn.timing.first_progress_ms),
            _number(turn.timing.waited_ms),
            turn.error.message if turn.error else None,
            (1 if vote.is_up else -1) if vote else None,
        )


def _call_rows(conversation: Conversation, calls: Calls) -> list[Row]:
    return [
        _call_row(number, position, conversation.messages[number].turn, call, calls.results.get(call.id))
        for number, position, call in calls.calls
    ]


def _call_row(number: int, position: int, turn: int | None, call: ToolCall, result: ToolResult | None) -> Row:
    is_known = result is not None or call.status != "unknown"
    return (
        number,
        position,
        turn,
        call.id,
        call.name,
        call.status,
        call.origin,
        call.server,
        int(has_failed(call, result)) if is_known else None,
        moment(call.started_at),
        _size(call.arguments) if call.arguments is not None else None,
        _size(result.full_text or result.text) if result is not None else None,
    )


def has_failed(call: ToolCall, result: ToolResult | None) -> bool:
    """Whether a call says so itself, or its result does."""
    return call.status == "failed" or (result is not None and result.is_error)


def _size(text: str) -> int:
    """Bytes of a text as UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def _edit_rows(conversation: Conversation, calls: Calls) -> Iterator[Row]:
    """Edits that answers made, then those that the editing history has."""
    turns = {turn.index: turn for turn in conversation.turns} if calls.edits else {}
    for position, (number, edit) in enumerate(calls.edits):
        turn = conversation.messages[number].turn
        path, is_undone = edit.path or edit.uri, int(turn in turns and _is_undone(edit, turns[turn]))
        yield position, number, turn, path, edit.action, edit.added, edit.removed, is_undone, "answer"
    for position, change in enumerate(_whole_changes(conversation.file_changes), len(calls.edits)):
        path, is_undone = change.path or change.uri, int(change.is_undone)
        yield position, None, change.turn, path, change.action, change.added, change.removed, is_undone, "snapshot"


def _is_undone(edit: FileEdit, turn: Turn) -> bool:
    if turn.undone_from is not None and edit.position is not None:
        return edit.position >= turn.undone_from
    return turn.is_undone


def _whole_changes(changes: list[FileChange]) -> Iterator[FileChange]:
    """The change of each file by each request; the steps of a request only where the whole is not told."""
    whole = {(change.request_id, change.uri) for change in changes if change.checkpoint is None}
    for change in changes:
        if change.checkpoint is None or (change.request_id, change.uri) not in whole:
            yield change


def _usage_rows(conversation: Conversation) -> Iterator[Row]:
    usages: list[tuple[int | None, Usage]] = [
        (turn.index, usage) for turn in conversation.turns for usage in turn.usage
    ]
    usages += [(None, usage) for usage in conversation.usage]
    for position, (turn, usage) in enumerate(usages):
        yield (
            position,
            turn,
            usage.scope,
            usage.source,
            usage.model,
            _number(usage.input),
            _number(usage.output),
            _number(usage.cache_read),
            _number(usage.cache_write),
            _number(usage.reasoning),
            _number(usage.last_prompt),
            _number(usage.premium_requests),
            _number(usage.credits),
            int(usage.is_estimated),
        )


def _number(recorded: float | None) -> float | None:
    """A number as it was recorded, unless it is larger than a table can hold; the document has it in any case."""
    return None if recorded is None or abs(recorded) >= LARGEST_NUMBER else recorded


def _skill_rows(turns: list[Turn]) -> Iterator[Row]:
    skills = ((turn.index, skill) for turn in turns for skill in turn.skills)
    for position, (turn, skill) in enumerate(skills):
        yield position, turn, skill.name, skill.file, int(skill.is_loaded), skill.evidence or None


def _trace_row(position: int, trace: Provenance) -> Row:
    row = f"{trace.table} {trace.row or ''}".rstrip() if trace.table else None
    return position, trace.source, trace.path, trace.role, trace.pointer or row
