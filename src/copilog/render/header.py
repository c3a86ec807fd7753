"""The head of a conversation: what it is, who took part, and where it was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from copilog.derive import is_counted, without_superseded
from copilog.derive.helper_usage import used_by_helpers
from copilog.derive.line_counts import counted_edits, lines_words, total_lines
from copilog.derive.outcomes import count_failures
from copilog.model import ArguedEdit, Conversation, Provenance, ToolCall, parts_of, title_of
from copilog.render.branches import conflict_words, superseded_words
from copilog.render.layout import Labelled, Scene
from copilog.render.safe import clean_line
from copilog.render.words import counted, model_words, size_words, span_words, title_words, usage_words

KEY_COLUMNS = 11
MOST_CONFLICTS = 3  # of each trace
MARKS = {
    "damaged": "parts of its file could not be used",
    "cut": "if turns of it are lost, they came behind all that could be read",
    "headless": "the beginning of its log is lost",
    "stub": "only an index knows of it; what was said is not here",
    "external": "the index says that another agent keeps it",
    "empty": "the index says that nothing was asked",
    "imported": "it came from an export",
    "orphan-edits": "only its file edits are left",
    "prompts-only": "typed prompts that no known conversation has; how they were answered is lost",
    "helpers-only": "requests of helpers alone, such as one for a title; what they helped with is not in its file",
    "resource": "only spilled tool output is left of it",
    "pending-edits": "some edits were neither kept nor undone",
}

RELATIONS = {"prompts-of": "has prompts of", "prompts-in": "has prompts in", "forked-as": "forked as"}


def header_lines(conversation: Conversation, scene: Scene) -> Iterator[RenderableType]:
    """The title, then one line for each fact."""
    yield Text(clean_line(title_of(conversation)), "bold")
    for key, values in _facts(without_superseded(conversation), scene):
        if key == "content":
            values += _superseded(conversation, scene)
        for number, value in enumerate(values):
            label = Text(key if number == 0 else "", "dim")
            yield Labelled(label, Text(value, "yellow" if key == "marks" else ""), KEY_COLUMNS)


def _superseded(conversation: Conversation, scene: Scene) -> list[str]:
    turns = [turn for turn in conversation.turns if not is_counted(turn)]
    if not turns:
        return []
    them = "it" if len(turns) == 1 else "them"
    return [superseded_words(turns) + ("" if scene.options.superseded else f"; --superseded shows {them}")]


def _facts(conversation: Conversation, scene: Scene) -> Iterator[tuple[str, list[str]]]:
    yield from _line("title from", [clean_line(", ".join(title_words(conversation)))])
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
    yield from _line("found in", [line for trace in conversation.provenance for line in _trace_lines(trace, scene)])


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
    return _distinct(model_words(turn) for turn in conversation.turns)


def _usages(conversation: Conversation) -> Iterator[str]:
    """What was recorded for the whole conversation, model by model; counts of single calls are left to the JSON."""
    for usage in conversation.usage:
        if usage.scope != "call":
            facts = [clean_line(usage.model or "", 60), *usage_words(usage)]
            yield " · ".join(fact for fact in facts if fact)
    helpers = used_by_helpers(conversation)
    if helpers is not None:
        yield " · ".join([f"helpers ({clean_line(helpers.source, 100)})", *usage_words(helpers)])


def _modes(conversation: Conversation) -> list[str]:
    kinds = _distinct(turn.mode.kind or turn.mode.name for turn in conversation.turns if turn.mode is not None)
    agents = _distinct(turn.custom_agent.name for turn in conversation.turns if turn.custom_agent is not None)
    return [*kinds, *(f"custom agent {name}" for name in agents)]


def _counts(conversation: Conversation) -> Iterator[str]:
    yield counted(len(conversation.turns), "turn")
    calls = [part for part in parts_of(conversation) if isinstance(part, ToolCall)]
    if calls:
        yield counted(len(calls), "tool call")
    failed, errors = count_failures(calls)
    if failed:
        yield f"{counted(failed, 'call')} failed"
    if errors:
        yield f"{counted(errors, 'command')} ended with an error"
    yield from edited_words(conversation)
    if conversation.queued:
        yield counted(len(conversation.queued), "queued prompt")


def edited_words(conversation: Conversation) -> Iterator[str]:
    """`2 files edited +12 -3`; nothing where none was."""
    edits = counted_edits(conversation)
    files = {edit.path or (edit.uri if not isinstance(edit, ArguedEdit) else None) for edit in edits}
    if files:
        yield f"{counted(len(files), 'file')} edited {lines_words(total_lines(edits))}".rstrip()


def _relation(kind: str, other: str) -> str:
    return f"{RELATIONS.get(kind) or clean_line(kind) + ' of'} {clean_line(other)}"


def _trace_lines(trace: Provenance, scene: Scene) -> Iterator[str]:
    """Where it was found, and what this trace says that another one overruled."""
    yield _trace(trace, scene)
    most = len(trace.conflicts) if scene.options.full else MOST_CONFLICTS
    for conflict in trace.conflicts[:most]:
        yield f"  overruled: {conflict_words(conflict)}"
    if len(trace.conflicts) > most:
        yield f"  and {len(trace.conflicts) - most:,} more; --full shows them"


def _trace(trace: Provenance, scene: Scene) -> str:
    at = f"#{trace.pointer}" if trace.pointer else ""
    if trace.table or trace.row:
        at = f" [{' '.join(word for word in (trace.table, trace.row) if word)}]"
    facts = [trace.role, trace.source]
    if scene.options.full and trace.size is not None:
        facts.append(size_words(trace.size))
    return f"{clean_line(trace.path + at)}  ({', '.join(facts)})"
