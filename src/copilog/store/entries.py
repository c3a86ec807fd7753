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
from copilog.derive import agent_name, model_of, superseded_indexes, without_superseded
from copilog.derive.failures import has_failed
from copilog.derive.models import model_of_message
from copilog.derive.outcomes import count_failures
from copilog.derive.prompts import queued_keys
from copilog.model import Conversation, Turn, is_empty, title_of
from copilog.store import details
from copilog.store.details import Row, mode_of
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
    "title_origin",
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
    "failed_calls",
    "command_errors",
    "models",
    "modes",
    "agents",
    "skills",
    "marks",
    "is_empty",
    "digest",
)


TURN_OF_EDIT = 2  # in a row of `file_edit`, whose last says whether it counts


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
    queued: list[Row]
    text_bytes: int  # about, of all that goes into the full-text index


def entry_of(conversation: Conversation) -> Entry:
    """Return everything that is stored of a conversation, with the conclusions that the caller has made about it."""
    calls = Calls(conversation)
    try:
        document = document_of(conversation)
    except UnicodeEncodeError:  # a file's name may be no text at all
        conversation = without_half_characters(conversation)
        document = document_of(conversation)
        calls = Calls(conversation)
    texts = texts_of(conversation, calls)
    call_rows = details.call_rows(conversation, calls)
    file_edits = list(details.edit_rows(conversation, calls))
    return Entry(
        id=conversation.id,
        digest=document.digest,
        row=(*_counted_row(conversation, calls, file_edits), document.digest),
        document=document.data,
        chapters=document.chapters,
        messages=list(_message_rows(conversation, texts)),
        turns=list(details.turn_rows(conversation, texts)),
        tool_calls=call_rows,
        file_edits=file_edits,
        usages=list(details.usage_rows(conversation)),
        skills=list(details.skill_rows(conversation.turns)),
        traces=[details.trace_row(position, trace) for position, trace in enumerate(conversation.provenance)],
        spends=spends_of(conversation, texts, calls),
        shares=list(details.share_rows(conversation)),
        relations=list(details.relation_rows(conversation)),
        queued=list(enumerate(queued_keys(conversation))),
        text_bytes=sum(map(len, filter(None, chain.from_iterable(texts)))),
    )


# --- rows -------------------------------------------------------------------------------------------------------


def _counted_row(conversation: Conversation, calls: Calls, edit_rows: list[Row]) -> Row:
    """The row of the conversation, its counts without superseded turns."""
    title = title_of(conversation)
    superseded = superseded_indexes(conversation)
    edits = sum(row[-1] for row in edit_rows if row[TURN_OF_EDIT] not in superseded)
    if superseded:
        conversation = without_superseded(conversation)
        calls = Calls(conversation)
    return _conversation_row(conversation, title, calls, edits)


def _conversation_row(conversation: Conversation, title: str, calls: Calls, edits: int) -> Row:
    workspace = conversation.workspace
    turns = conversation.turns
    failed_turns = sum(map(has_failed, turns))
    failed_calls, command_errors = count_failures(call for _, _, call in calls.calls)
    return (
        conversation.id,
        conversation.native_id,
        conversation.source,
        title,
        conversation.title_origin,
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
        edits,
        failed_turns + failed_calls,
        failed_calls,
        command_errors,
        _names(model_of(turn) for turn in turns),
        _names(_modes(turns)),
        _names(_agents(turns, calls)),
        _names(skill.name for turn in turns for skill in turn.skills if skill.is_loaded),
        _names(conversation.marks),
        int(is_empty(conversation)),
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
        yield agent_name(turn.agent) if turn.agent else None
    for _, agent in calls.delegated:
        yield agent.name


def _message_rows(conversation: Conversation, texts: list[Texts]) -> Iterator[Row]:
    """The messages; where one does not tell its mode and model, its turn does."""
    known = {turn.index: (turn, mode_of(turn), model_of(turn)) for turn in conversation.turns}
    nothing = (None, None, None)
    position = -1
    for position, message in enumerate(conversation.messages):
        turn, mode, model = known.get(message.turn, nothing) if message.turn is not None else nothing
        yield (
            position,
            message.role,
            message.turn,
            moment(message.created_at),
            message.mode or mode,
            model_of_message(message, turn) or model,
            message.parent_call_id,
            *texts[position],
        )
    yield (position + 1, "title", None, moment(conversation.updated_at), None, None, None, *texts[-1])
