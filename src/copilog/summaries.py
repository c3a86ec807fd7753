"""The fields of each conversation in a list: from an index if there is one, else from reading it."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from copilog.derive import has_nothing, model_of, without_superseded
from copilog.derive.documents import is_collection
from copilog.derive.line_counts import counted_edits
from copilog.derive.outcomes import count_failures
from copilog.derive.prompts import HISTORIES
from copilog.diagnostics import Report
from copilog.errors import BadFile
from copilog.ingest import read
from copilog.intake.files import opened
from copilog.model import Conversation, TitleOrigin, ToolCall, parts_of, title_of
from copilog.sources import Found


class Summary(msgspec.Struct, kw_only=True):
    """One line of a list. Fields that an index does not have are None."""

    id: str
    title: str
    title_origin: str | None = None
    source: str
    application: str | None = None
    assistant: str | None = None
    workspace: str | None = None
    started_at: datetime | None = None
    updated_at: datetime | None = None
    is_empty: bool | None = None
    from_index: bool = False
    turns: int | None = None
    tool_calls: int | None = None
    edits: int | None = None
    failed_calls: int | None = None
    command_errors: int | None = None  # commands that ended with an exit code other than 0
    models: list[str] | None = None
    modes: list[str] | None = None
    marks: list[str] = []
    paths: list[str] = []


def summarise(
    found: Found, *, in_full: bool = False, with_histories: bool = False, report: Report | None = None
) -> Iterator[Summary]:
    """Yield the summaries of discovered files: one each, or several for a file that holds several conversations."""
    if not (in_full or with_histories) and found.source in HISTORIES:
        return  # all conversations of the same files have to be read to decide what is left of it
    if not in_full and found.hint is not None and is_indexed(found):
        origin = _origin_of_title(found, found.hint)
        if origin is not None:
            yield _from_index(found, found.hint, origin)
            return
    for conversation in read(found, report=report):
        yield of_conversation(conversation)


def is_indexed(found: Found) -> bool:
    """Return whether an index has the fields of a list."""
    return found.hint is not None and bool(found.hint.title) and found.hint.updated_at is not None


def _origin_of_title(found: Found, hint: Conversation) -> TitleOrigin | None:
    """Return the origin that the title of the index has when the conversation is read; None if it has to be read.

    A session of Copilot CLI has files of its own that name it, and one that the index calls empty has no title there.
    """
    origin = hint.title_origin
    if origin == "placeholder" and not found.is_index_entry:
        return None
    for trace in found.traces():
        if trace.source.startswith("cli-"):
            return None
        if trace.source in SESSIONS:
            after = _after_last_title(trace.path)
            if after is None or (after and not _begins_with_title(after, hint.title or "")):
                return None
            if after:
                origin = "custom" if after.startswith(TITLE_KEYS[0]) else "computed"
    return origin


SESSIONS = ("vscode-session", "vscode-session-log")
TITLE_KEYS = (b'"customTitle"', b'"computedTitle"')


def _after_last_title(path: Path) -> bytes | None:
    """Return what follows the last key of a title in a session file, without decoding it; empty if it has none."""
    try:
        with opened(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            at = max(data.rfind(key) for key in TITLE_KEYS)
            return data[at : at + 4096] if at >= 0 else b""
    except (BadFile, ValueError):  # unreadable or empty: the reader reports it
        return None


def _begins_with_title(after: bytes, title: str) -> bool:
    spellings = (json.dumps(title, ensure_ascii=is_ascii) for is_ascii in (False, True))
    return any(spelling.encode("utf-8", "surrogatepass") in after for spelling in spellings)


def _from_index(found: Found, hint: Conversation, origin: TitleOrigin) -> Summary:
    workspace = found.workspace or hint.workspace
    return Summary(
        id=hint.id,
        title=hint.title or "",
        title_origin=origin,
        source=found.source,
        application=found.application or hint.application,
        workspace=workspace.folder if workspace else None,
        started_at=hint.started_at,
        updated_at=hint.updated_at,
        is_empty="empty" in hint.marks,
        from_index=True,
        marks=[mark for mark in hint.marks if mark != "stub" or _is_only_indexed(found)],
        paths=[str(trace.path) for trace in found.traces()],
    )


def _is_only_indexed(found: Found) -> bool:
    return found.source == "vscode-state" and not found.others


def of_conversation(conversation: Conversation) -> Summary:
    """Return the summary of a conversation that was read; superseded turns are not counted."""
    title, is_empty = title_of(conversation), has_nothing(conversation) or is_collection(conversation)
    conversation = without_superseded(conversation)
    models: dict[str, None] = {}
    modes: dict[str, None] = {}
    for turn in conversation.turns:
        if model := model_of(turn):
            models.setdefault(model)
        for mode in (turn.mode.kind if turn.mode else None, turn.custom_agent.name if turn.custom_agent else None):
            if mode:
                modes.setdefault(mode)
    calls = [part for part in parts_of(conversation) if isinstance(part, ToolCall)]
    failed_calls, command_errors = count_failures(calls)
    workspace = conversation.workspace
    return Summary(
        id=conversation.id,
        title=title,
        title_origin=conversation.title_origin,
        source=conversation.source,
        application=conversation.application,
        assistant=conversation.assistant,
        workspace=workspace.folder if workspace else None,
        started_at=conversation.started_at,
        updated_at=conversation.updated_at,
        is_empty=is_empty,
        turns=len(conversation.turns),
        tool_calls=len(calls),
        edits=len(counted_edits(conversation)),
        failed_calls=failed_calls,
        command_errors=command_errors,
        models=list(models),
        modes=list(modes),
        marks=conversation.marks,
        paths=[trace.path for trace in conversation.provenance],
    )


def last_changed_at(found: Found) -> datetime:
    """Return when a conversation was last changed, without reading it: from the index, else from its files."""
    if found.hint is not None and found.hint.updated_at is not None:
        return found.hint.updated_at
    times = []
    for trace in found.traces():
        try:
            times.append(trace.path.stat().st_mtime)
        except OSError:
            continue
    return datetime.fromtimestamp(max(times, default=0), UTC)


def fitting(wanted: str, conversations: list[Conversation]) -> list[Conversation]:
    """Return the conversations that an id may mean, which may have the prefix of VS Code or of Copilot CLI."""
    return [conversation for conversation in conversations if _begins(conversation.id, wanted)] or conversations


def find_by_id(prefix: str, founds: Iterable[Found]) -> list[Found]:
    """Return the conversations whose id begins so; only one if an id is equal.

    Files without an id get one when they are read, which is done if nothing else fits.
    """
    names = (prefix, prefix.partition(":")[2]) if ":" in prefix else (prefix,)
    matches: list[Found] = []
    unread: list[Found] = []
    for found in founds:
        native_id = found.native_id
        if native_id in names:
            return [found]
        if native_id is None or names[-1].startswith(native_id):  # one of several parts of a run has a longer id
            unread.append(found)
        # An agent in another editor has an address as its id, and only its last part is visible.
        elif any(native_id.startswith(name) or native_id.rpartition("/")[2].startswith(name) for name in names):
            matches.append(found)
    return matches or [found for found in unread if any(_begins(made.id, prefix) for made in read(found))]


def _begins(conversation_id: str, wanted: str) -> bool:
    """Return whether an id begins so, with or without its prefix."""
    return conversation_id.startswith(wanted) or conversation_id.partition(":")[2].startswith(wanted)
