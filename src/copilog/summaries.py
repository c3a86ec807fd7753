"""What a list shows of each conversation: from an index where there is one, else from reading it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import msgspec

from copilog.diagnostics import Report
from copilog.ingest import read
from copilog.model import Conversation, FileEdit, ToolCall, parts_of, title_of
from copilog.sources import Found

NAMESPACES = ("vscode", "cli", "atif")  # what ids begin with; people may leave it out


class Summary(msgspec.Struct, kw_only=True):
    """One line of a list. What only reading can tell is None when it came from an index."""

    id: str
    title: str
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
    models: list[str] | None = None
    modes: list[str] | None = None
    marks: list[str] = []
    paths: list[str] = []


def summarise(found: Found, *, in_full: bool = False, report: Report | None = None) -> Iterator[Summary]:
    """The summaries of what was found: one, or several for a file that holds several conversations."""
    if not in_full and found.hint is not None and is_indexed(found) and not _is_of_two_programs(found):
        yield _from_index(found, found.hint)
        return
    for conversation in read(found, report=report):
        yield of_conversation(conversation)


def is_indexed(found: Found) -> bool:
    """Whether an index has what a list shows."""
    return found.hint is not None and bool(found.hint.title) and found.hint.updated_at is not None


def _is_of_two_programs(found: Found) -> bool:
    """Whether VS Code and Copilot CLI each have a conversation of this id."""
    return {"vscode", "cli"} <= {trace.source.partition("-")[0] for trace in found.traces()}


def _from_index(found: Found, hint: Conversation) -> Summary:
    workspace = found.workspace or hint.workspace
    return Summary(
        id=hint.id,
        title=hint.title or "",
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
    """The summary of a conversation that was read."""
    models: dict[str, None] = {}
    modes: dict[str, None] = {}
    for turn in conversation.turns:
        if turn.model is not None:
            models.setdefault(turn.model.name)
            if turn.model.resolved:
                models.setdefault(turn.model.resolved)
        for mode in (turn.mode.kind if turn.mode else None, turn.custom_agent.name if turn.custom_agent else None):
            if mode:
                modes.setdefault(mode)
    parts = list(parts_of(conversation))
    workspace = conversation.workspace
    return Summary(
        id=conversation.id,
        title=title_of(conversation),
        source=conversation.source,
        application=conversation.application,
        assistant=conversation.assistant,
        workspace=workspace.folder if workspace else None,
        started_at=conversation.started_at,
        updated_at=conversation.updated_at,
        is_empty=not conversation.turns and not conversation.file_changes,
        turns=len(conversation.turns),
        tool_calls=sum(isinstance(part, ToolCall) for part in parts),
        edits=sum(isinstance(part, FileEdit) for part in parts),
        models=list(models),
        modes=list(modes),
        marks=conversation.marks,
        paths=[trace.path for trace in conversation.provenance],
    )


def moment_of(found: Found) -> datetime:
    """When a conversation was last touched, without reading it: from the index, else from its files."""
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
    """Those of them that an id may mean, which may say whether it is one of VS Code or of Copilot CLI."""
    return [conversation for conversation in conversations if conversation.id.startswith(wanted)] or conversations


def find_by_id(prefix: str, founds: Iterable[Found]) -> list[Found]:
    """What has an id that begins so; just that one if an id is exactly so."""
    namespace, colon, rest = prefix.partition(":")
    wanted = rest if colon and namespace in NAMESPACES else prefix
    matches: list[Found] = []
    for found in founds:
        native_id = found.native_id
        if native_id is None:
            continue
        if native_id == wanted:
            return [found]
        # An agent elsewhere has an address for an id: its last part is what people see.
        if native_id.startswith(wanted) or native_id.rpartition("/")[2].startswith(wanted):
            matches.append(found)
    return matches
