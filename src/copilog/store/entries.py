"""Prepare everything that the archive stores of one conversation.

All of it is computed in the process that has read the conversation, so that the writing process only fills in
row numbers. Rows whose digest is equal to the stored one need not be written again,
even if its files were touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import msgspec

from copilog import jsonio
from copilog.derive import agent_name, has_nothing, model_of, superseded_indexes, without_superseded
from copilog.derive.documents import NumberedDocument, is_collection, numbered_documents
from copilog.derive.failures import has_failed
from copilog.derive.models import model_of_message
from copilog.derive.outcomes import count_failures
from copilog.derive.prompts import queued_keys
from copilog.derive.replayed_calls import Replays
from copilog.model import Conversation, Turn, title_of
from copilog.store import details, touched
from copilog.store.calibrating import sample_rows
from copilog.store.details import mode_of
from copilog.store.document_rows import document_rows, memory_rows
from copilog.store.documents import Chapter, document_of, without_half_characters
from copilog.store.rows import (
    NO_CONVERSATION,
    CommandRow,
    ConversationRow,
    DocumentRow,
    EstimateSampleRow,
    FileEditRow,
    FileTouchRow,
    MemoryUseRow,
    MessageRow,
    PromptShareRow,
    QueuedPromptRow,
    RelationRow,
    SkillRow,
    SpendRow,
    TokenUsageRow,
    ToolCallRow,
    TraceRow,
    TurnRow,
)
from copilog.store.spending import spends_of
from copilog.store.texts import Calls, Texts, texts_of
from copilog.store.times import time_text


class Entry(msgspec.Struct, array_like=True, gc=False):
    """The rows of one conversation. The last of the messages are those of documents and of the title."""

    id: str
    digest: bytes
    row: ConversationRow
    document: bytes
    chapters: Sequence[Chapter]
    messages: list[MessageRow]
    turns: list[TurnRow]
    tool_calls: list[ToolCallRow]
    file_edits: list[FileEditRow]
    usages: list[TokenUsageRow]
    skills: list[SkillRow]
    traces: list[TraceRow]
    spends: list[SpendRow]
    shares: list[PromptShareRow]
    relations: list[RelationRow]
    queued: list[QueuedPromptRow]
    samples: list[EstimateSampleRow]
    commands: list[CommandRow]
    touches: list[FileTouchRow]
    documents: list[DocumentRow]
    memory_uses: list[MemoryUseRow]
    text_bytes: int  # approximately, of all texts for the full-text index


def entry_of(conversation: Conversation) -> Entry:
    """Return everything to store of a conversation. The caller has drawn the conclusions."""
    calls = Calls(conversation)
    try:
        document = document_of(conversation)
    except UnicodeEncodeError:  # a file name may be invalid text
        conversation = without_half_characters(conversation)
        document = document_of(conversation)
        calls = Calls(conversation)
    documents = numbered_documents(conversation)
    texts, replays = texts_of(conversation, calls, documents), Replays(conversation)
    call_rows = details.call_rows(conversation, calls)
    file_edits = list(details.edit_rows(conversation, calls))
    messages = list(_message_rows(conversation, texts, documents))
    turns = list(details.turn_rows(conversation, texts))
    _note_answer_models(turns, messages)
    return Entry(
        id=conversation.id,
        digest=document.digest,
        row=_counted_row(conversation, calls, file_edits, document.digest),
        document=document.data,
        chapters=document.chapters,
        messages=messages,
        turns=turns,
        tool_calls=call_rows,
        file_edits=file_edits,
        usages=list(details.usage_rows(conversation)),
        skills=list(details.skill_rows(conversation.turns)),
        traces=[details.trace_row(position, trace) for position, trace in enumerate(conversation.provenance)],
        spends=spends_of(conversation, texts, calls, replays),
        shares=list(details.share_rows(conversation)),
        relations=list(details.relation_rows(conversation)),
        queued=[QueuedPromptRow(position, key) for position, key in enumerate(queued_keys(conversation))],
        samples=sample_rows(conversation, replays),
        commands=list(touched.command_rows(conversation, call_rows)),
        touches=list(touched.touch_rows(conversation)),
        documents=list(document_rows(documents)),
        memory_uses=list(memory_rows(conversation)),
        text_bytes=sum(map(len, filter(None, chain.from_iterable(texts)))),
    )


def conversation_row(conversation: Conversation) -> ConversationRow:
    """Return the row of a conversation alone, without a digest."""
    calls = Calls(conversation)
    return _counted_row(conversation, calls, list(details.edit_rows(conversation, calls)), b"")


# --- rows -------------------------------------------------------------------------------------------------------


def _counted_row(
    conversation: Conversation, calls: Calls, edit_rows: list[FileEditRow], digest: bytes
) -> ConversationRow:
    """Return the row of the conversation, its counts without superseded turns."""
    title = title_of(conversation)
    superseded = superseded_indexes(conversation)
    edits = sum(row.is_counted for row in edit_rows if row.turn not in superseded)
    is_empty = has_nothing(conversation)
    if superseded:
        conversation = without_superseded(conversation)
        calls = Calls(conversation)
    row = _conversation_row(conversation, title, calls, edits, digest)
    row.is_empty = NO_CONVERSATION if is_collection(conversation) else int(is_empty)
    return row


def _conversation_row(
    conversation: Conversation, title: str, calls: Calls, edits: int, digest: bytes
) -> ConversationRow:
    workspace = conversation.workspace
    turns = conversation.turns
    failed_turns = sum(map(has_failed, turns))
    failed_calls, command_errors = count_failures(call for _, _, call in calls.calls)
    return ConversationRow(
        id=conversation.id,
        native_id=conversation.native_id,
        source=conversation.source,
        title=title,
        title_origin=conversation.title_origin,
        assistant=conversation.assistant,
        application=conversation.application,
        location=conversation.location,
        workspace=workspace.folder if workspace else None,
        repository=workspace.repository if workspace else None,
        branch=workspace.branch if workspace else None,
        started_at=time_text(conversation.started_at),
        updated_at=time_text(conversation.updated_at),
        turns=len(turns),
        messages=len(conversation.messages),
        tool_calls=len(calls.calls),
        edits=edits,
        errors=failed_turns + failed_calls,
        failed_calls=failed_calls,
        command_errors=command_errors,
        models=_names(model_of(turn) for turn in turns),
        modes=_names(_modes(turns)),
        agents=_names(_agents(turns, calls)),
        skills=_names(skill.name for turn in turns for skill in turn.skills if skill.is_loaded),
        marks=_names(conversation.marks),
        is_empty=0,  # set by the caller, who knows the superseded turns
        digest=digest,
    )


def _names(names: Iterable[str | None]) -> str:
    """Return a JSON list of names, each once."""
    named = [name for name in dict.fromkeys(names) if name]
    return jsonio.encode(named) if named else "[]"


def _modes(turns: list[Turn]) -> Iterator[str | None]:
    for turn in turns:
        yield turn.mode.kind if turn.mode else None
        yield turn.custom_agent.name if turn.custom_agent else None


def _agents(turns: list[Turn], calls: Calls) -> Iterator[str | None]:
    """Yield custom agents and chat participants, then sub-agents."""
    for turn in turns:
        yield turn.custom_agent.name if turn.custom_agent else None
        yield agent_name(turn.agent) if turn.agent else None
    for _, agent in calls.delegated:
        yield agent.name


def _message_rows(
    conversation: Conversation, texts: list[Texts], documents: list[NumberedDocument]
) -> Iterator[MessageRow]:
    """Yield the rows of messages, with the turn's mode and model if the message has none; documents; the title."""
    known = {turn.index: (turn, mode_of(turn), model_of(turn)) for turn in conversation.turns}
    nothing = (None, None, None)
    position = -1
    for position, message in enumerate(conversation.messages):
        turn, mode, model = known.get(message.turn, nothing) if message.turn is not None else nothing
        yield MessageRow(
            position,
            message.role,
            message.turn,
            time_text(message.created_at),
            message.mode or mode,
            model_of_message(message, turn) or model,
            message.parent_call_id,
            *texts[position],
        )
    for document, _, is_own in documents:
        if is_own:
            position += 1
            at = time_text(document.updated_at or document.created_at)
            yield MessageRow(position, "document", document.turn, at, None, None, None, *texts[position])
    yield MessageRow(position + 1, "title", None, time_text(conversation.updated_at), None, None, None, *texts[-1])


def _note_answer_models(turns: list[TurnRow], messages: list[MessageRow]) -> None:
    """Set the models of each turn's answers: to find them later, all messages would have to be read."""
    models: dict[int | None, dict[str, None]] = {}
    for message in messages:
        if message.role == "assistant" and message.model is not None and message.parent_call_id is None:
            models.setdefault(message.turn, {})[message.model] = None
    for turn in turns:
        turn.answer_models = _names(models[turn.position]) if turn.position in models else None
