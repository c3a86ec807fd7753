"""The head of a conversation: what it is, who took part, and where it was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from copilog.model import Conversation, FileChange, FileEdit, Provenance, ToolCall, parts_of, title_of
from copilog.render.layout import Labelled, Scene
from copilog.render.safe import clean_line
from copilog.render.words import counted, size_words, span_words, usage_words

KEY_COLUMNS = 11
MARKS = {
    "damaged": "parts of its file could not be used",
    "headless": "the beginning of its log is lost",
    "stub": "only an index knows of it; what was said is not here",
    "external": "the index says that another agent keeps it",
    "empty": "the index says that nothing was asked",
    "imported": "it came from an export",
    "orphan-edits": "only its file edits are left",
    "resource": "only spilled tool output is left of it",
    "pending-edits": "some edits were neither kept nor undone",
}


def header_lines(conversation: Conversation, scene: Scene) -> Iterator[RenderableType]:
    """The title, then one line for each fact."""
    yield Text(clean_line(title_of(conversation)), "bold")
    for key, values in _facts(conversation, scene):
        for number, value in enumerate(values):
            label = Text(key if number == 0 else "", "dim")
            yield Labelled(label, Text(value, "yellow" if key == "marks" else ""), KEY_COLUMNS)


def _facts(conversation: Conversation, scene: Scene) -> Iterator[tuple[str, list[str]]]:
    yield "id", [clean_line(conversation.id or "(none)")]
    places = [conversation.application or "", conversation.location or ""]
    around = ", ".join(clean_line(place) for place in places if place)
    who = [clean_line(conversation.assistant or ""), f"({around})" if around else ""]
    yield from _line("assistant", [" ".join(word for word in who if word)])
    yield from _line("workspace", _workspace(conversation))
    if conversation.started_at or conversation.updated_at:
        start = conversation.started_at or conversation.updated_at
        assert start is not None
        yield "time", [span_words(start, conversation.updated_at)]
    yield from _line("models", [", ".join(_models(conversation))])
    yield from _line("mode", [", ".join(_modes(conversation))])
    yield "content", [" · ".join(_counts(conversation))]
    yield from _line("usage", list(_usages(conversation)))
    marks = [*conversation.marks, *(["pending-edits"] if conversation.has_pending_edits else [])]
    yield from _line(
        "marks", [f"{clean_line(mark)}: {MARKS[mark]}" if mark in MARKS else clean_line(mark) for mark in marks]
    )
    yield from _line("related", [_relation(relation.kind, relation.other_id) for relation in conversation.relations])
    yield from _line("found in", [_trace(trace, scene) for trace in conversation.provenance])


def _line(key: str, values: list[str]) -> Iterator[tuple[str, list[str]]]:
    values = [value for value in values if value]
    if values:
        yield key, values


def _workspace(conversation: Conversation) -> list[str]:
    workspace = conversation.workspace
    if workspace is None:
        return []
    branch = f"branch {workspace.branch}" if workspace.branch else ""
    words = [workspace.folder or workspace.uri or "", branch, workspace.repository or ""]
    return [" · ".join(clean_line(word) for word in words if word)]


def _distinct(words: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(clean_line(word) for word in words if word))


def _models(conversation: Conversation) -> list[str]:
    models = [turn.model for turn in conversation.turns if turn.model is not None]
    return _distinct(model.resolved or model.name for model in models)


def _usages(conversation: Conversation) -> Iterator[str]:
    """What was recorded for the whole conversation, model by model; counts of single calls are left to the JSON."""
    for usage in conversation.usage:
        if usage.scope != "call":
            facts = [clean_line(usage.model or "", 60), *usage_words(usage)]
            yield " · ".join(fact for fact in facts if fact)


def _modes(conversation: Conversation) -> list[str]:
    kinds = _distinct(turn.mode.kind or turn.mode.name for turn in conversation.turns if turn.mode is not None)
    agents = _distinct(turn.custom_agent.name for turn in conversation.turns if turn.custom_agent is not None)
    return [*kinds, *(f"custom agent {name}" for name in agents)]


def _counts(conversation: Conversation) -> Iterator[str]:
    yield counted(len(conversation.turns), "turn")
    calls = sum(isinstance(part, ToolCall) for part in parts_of(conversation))
    if calls:
        yield counted(calls, "tool call")
    edits = [part for part in parts_of(conversation) if isinstance(part, FileEdit)]
    changes = [change for change in conversation.file_changes if change.checkpoint is None]
    files = {edit.uri or edit.path for edit in edits} | {change.uri for change in changes}
    if files:
        yield counted(len(files), "file") + " edited" + _lines_changed(changes or edits)
    if conversation.queued:
        yield counted(len(conversation.queued), "queued prompt")


def _lines_changed(changes: Iterable[FileChange | FileEdit]) -> str:
    known = [(change.added or 0, change.removed or 0) for change in changes if change.added is not None]
    if not known:
        return ""
    return f" +{sum(added for added, _ in known):,} -{sum(removed for _, removed in known):,}"


def _relation(kind: str, other: str) -> str:
    return f"{clean_line(kind)} of {clean_line(other)}"


def _trace(trace: Provenance, scene: Scene) -> str:
    at = f"#{trace.pointer}" if trace.pointer else ""
    if trace.table or trace.row:
        at = f" [{' '.join(word for word in (trace.table, trace.row) if word)}]"
    facts = [trace.role, trace.source]
    if scene.options.full and trace.size is not None:
        facts.append(size_words(trace.size))
    return f"{clean_line(trace.path + at)}  ({', '.join(facts)})"
