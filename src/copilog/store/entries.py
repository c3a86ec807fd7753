"""What the archive keeps of one conversation, made ready to be written.

All of it is computed here, in whichever process has read the conversation, so that the one that writes has nothing
left to do but to fill in row numbers. Whatever is equal to what is there, by its digest, need not be written again,
even if its files were touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec

from copilog import jsonio
from copilog.model import Conversation, Turn, title_of
from copilog.store import details
from copilog.store.details import FAILED, Row, mode_of, model_of
from copilog.store.documents import Chapter, document_of, without_half_characters
from copilog.store.spending import spends_of
from copilog.store.texts import Calls, Texts, texts_of
from copilog.store.times import moment

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


class Entry(msgspec.Struct, array_like=True, gc=False):
    """The rows of one conversation, in the order of the tables' columns but without the number of the conversation.

    Messages begin with their position, the row of the title among them as the last.
    """

    id: str
    digest: bytes
    row: Row  # in the order of CONVERSATION_COLUMNS
    document: bytes
    chapters: list[Chapter]
    messages: list[Row]
    turns: list[Row]
    tool_calls: list[Row]
    file_edits: list[Row]
    usages: list[Row]
    skills: list[Row]
    traces: list[Row]
    spends: list[Row]
    shares: list[Row]
    relations: list[Row]
    text_bytes: int  # about, of all that goes into the full-text index


def entry_of(conversation: Conversation) -> Entry:
    """Everything that is stored of a conversation."""
    try:
        document = document_of(conversation)
    except UnicodeEncodeError:  # a file's name may be no text at all
        conversation = without_half_characters(conversation)
        document = document_of(conversation)
    calls = Calls(conversation)
    texts = texts_of(conversation, calls)
    call_rows = details.call_rows(conversation, calls)
    return Entry(
        id=conversation.id,
        digest=document.digest,
        row=(*_conversation_row(conversation, calls, call_rows), document.digest),
        document=document.data,
        chapters=document.chapters,
        messages=list(_message_rows(conversation, texts)),
        turns=list(details.turn_rows(conversation, texts)),
        tool_calls=call_rows,
        file_edits=list(details.edit_rows(conversation, calls)),
        usages=list(details.usage_rows(conversation)),
        skills=list(details.skill_rows(conversation.turns)),
        traces=[details.trace_row(position, trace) for position, trace in enumerate(conversation.provenance)],
        spends=spends_of(conversation, texts, calls),
        shares=list(details.share_rows(conversation)),
        relations=list(details.relation_rows(conversation)),
        text_bytes=sum(map(len, filter(None, chain.from_iterable(texts)))),
    )


# --- rows -------------------------------------------------------------------------------------------------------


def _conversation_row(conversation: Conversation, calls: Calls, call_rows: list[Row]) -> Row:
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
        failed_turns + sum(1 for row in call_rows if row[FAILED]),
        _names(name for turn in turns if turn.model for name in (turn.model.name, turn.model.resolved)),
        _names(_modes(turns)),
        _names(_agents(turns, calls)),
        _names(skill.name for turn in turns for skill in turn.skills if skill.is_loaded),
        _names(conversation.marks),
        int(not turns and not conversation.file_changes),
    )


def _names(names: Iterable[str | None]) -> str:
    """A JSON list of names, each once."""
    named = [name for name in dict.fromkeys(names) if name]
    return jsonio.encode(named) if named else "[]"


def _modes(turns: list[Turn]) -> Iterator[str | None]:
    for turn in turns:
        yield turn.mode.kind if turn.mode else None
        yield turn.custom_agent.name if turn.custom_agent else None


def _agents(turns: list[Turn], calls: Calls) -> Iterator[str | None]:
    """Custom agents and chat participants, then sub-agents."""
    for turn in turns:
        yield turn.custom_agent.name if turn.custom_agent else None
        yield (turn.agent.name or turn.agent.id) if turn.agent else None
    for _, agent in calls.delegated:
        yield agent.name


def _message_rows(conversation: Conversation, texts: list[Texts]) -> Iterator[Row]:
    """The messages; where one does not tell its mode and model, its turn does."""
    known = {turn.index: (mode_of(turn), model_of(turn)) for turn in conversation.turns}
    nothing = (None, None)
    position = -1
    for position, message in enumerate(conversation.messages):
        turn = message.turn
        mode, model = known.get(turn, nothing) if turn is not None else nothing
        yield (
            position,
            message.role,
            turn,
            moment(message.created_at),
            message.mode or mode,
            message.model or model,
            message.parent_call_id,
            *texts[position],
        )
    yield (position + 1, "title", None, moment(conversation.updated_at), None, None, None, *texts[-1])
