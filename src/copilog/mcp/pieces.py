"""A conversation as pieces of Markdown: what was said and done, in order, one piece after the other.

What surrounds a prompt (system prompts, tags) and the thinking of another model are of little use to a reader with a
budget: the former is left out, the latter is marked so that it can be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from copilog.derive import superseded_indexes
from copilog.derive.exit_codes import code_beside, exit_code_of
from copilog.derive.failures import has_failed
from copilog.derive.line_counts import changed_lines, lines_of_call, lines_words
from copilog.derive.notes import Note, followup_words, notes_of, notes_of_turn
from copilog.derive.outcomes import is_failure, is_made, outcome_of
from copilog.derive.running import status_words
from copilog.derive.terminal_output import beyond_output
from copilog.mcp.plain import fenced, one_line, plain, shortened
from copilog.model import (
    AnyPart,
    Attachment,
    Compaction,
    Confirmation,
    Conversation,
    FileChange,
    FileEdit,
    FileTree,
    Hook,
    Message,
    Notice,
    Place,
    Reference,
    Terminal,
    Text,
    Thinking,
    TodoList,
    ToolCall,
    ToolResult,
    Turn,
    Unknown,
    parts_of,
    prose_of,
)

Kind = Literal["prose", "thinking", "tool", "result", "note"]

ROLES = {"user": "User", "assistant": "Assistant", "tool": "Assistant", "system": "System"}
CHECKS = {"completed": "x", "done": "x", "in-progress": "~", "in_progress": "~"}
SILENT_TOPICS = frozenset({"progress", "model-resolution", "mcp-servers", "cleared"})
MOST_TREE_LINES = 60


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece. `text` is short or prose; `body` is what may be shortened: arguments, results, diffs, output."""

    message: int
    turn: int | None
    role: str
    kind: Kind
    text: str
    body: str = ""
    language: str = ""

    def written(self, limit: int | None) -> str:
        """The piece as Markdown, its body no longer than so many characters; 0 leaves the body out."""
        if not self.body or limit == 0:
            return self.text
        block = fenced(shortened(self.body, limit), self.language)
        return f"{self.text}\n{block}" if self.text else block


@dataclass(frozen=True, slots=True)
class Scrap:
    """A piece that does not know yet where it stands."""

    kind: Kind
    text: str
    body: str = ""
    language: str = ""


def pieces_of(conversation: Conversation) -> list[Piece]:
    """All pieces of a conversation, those that are often left out included, but for superseded turns."""
    turns = {turn.index: turn for turn in conversation.turns}
    superseded = superseded_indexes(conversation)
    changes = _changes_by_turn(conversation)
    calls = _Calls.of(conversation)
    pieces: list[Piece] = []
    last = len(conversation.messages) - 1
    for position, message in enumerate(conversation.messages):
        if message.turn in superseded:
            continue
        role = _role_of(message)
        pieces += [
            Piece(position, message.turn, role, scrap.kind, scrap.text, scrap.body, scrap.language)
            for scrap in _scraps_of(message, calls)
        ]
        turn = turns.get(message.turn) if message.turn is not None else None
        ends = position == last or conversation.messages[position + 1].turn != message.turn
        if turn is not None and ends:
            noted = _note_lines(notes_of_turn(turn, conversation))
            lines = [*noted, *_ending_of(turn), *changes.get(turn.index, [])]
            if lines:
                pieces.append(Piece(position, turn.index, "Assistant", "note", "\n".join(lines)))
    for document in conversation.documents:  # of the conversation as a whole: they come last
        name = one_line(document.title or document.path or "", 120)
        text = f"- {document.kind}: {name}" if name else f"- {document.kind}"
        pieces.append(Piece(max(last, 0), None, "System", "note", text, document.text))
    return pieces


@dataclass(frozen=True, slots=True)
class _Calls:
    """What is told of a tool call elsewhere, so that it is not told twice."""

    calls: dict[str, ToolCall]
    terminals: dict[str, list[Terminal]]
    with_list: frozenset[str]

    @classmethod
    def of(cls, conversation: Conversation) -> _Calls:
        calls: dict[str, ToolCall] = {}
        terminals: dict[str, list[Terminal]] = {}
        lists: set[str] = set()
        for part in parts_of(conversation):
            if isinstance(part, ToolCall):
                calls[part.id] = part
            elif isinstance(part, Terminal) and part.call_id is not None:
                terminals.setdefault(part.call_id, []).append(part)
            elif isinstance(part, TodoList) and part.call_id is not None:
                lists.add(part.call_id)
        return cls(calls, terminals, frozenset(lists))


def _role_of(message: Message) -> str:
    return "Sub-agent" if message.parent_call_id is not None else ROLES[message.role]


def _scraps_of(message: Message, calls: _Calls) -> Iterator[Scrap]:
    """The pieces of a message: prose that belongs together as one, everything else by itself."""
    prose: list[AnyPart] = []
    for part in message.parts:
        is_prose = isinstance(part, Text | Reference) or (isinstance(part, Notice) and part.is_prose)
        scrap = None if is_prose else _scrap_of(part, calls)
        if is_prose:
            prose.append(part)
        is_told = is_prose or scrap is not None or isinstance(part, Hook | Notice)
        lines = _note_lines(notes_of(part)) if is_told else []
        if scrap is not None or lines:
            yield from _prose_scrap(prose)
            prose = []
        if scrap is not None:
            yield scrap
        if lines:
            yield Scrap("note", "\n".join(lines))
    yield from _prose_scrap(prose)


def _note_lines(notes: list[Note]) -> list[str]:
    """What is shown with a part beyond its own text, without details."""
    return [f"- {one_line(note.label, 80)}: {one_line(note.text, 300)}" for note in notes if not note.is_detail]


def _prose_scrap(parts: list[AnyPart]) -> Iterator[Scrap]:
    text = plain(prose_of(parts)).strip()
    if text.strip("`\n"):  # VS Code leaves the fences of a block of code whose content became an edit
        yield Scrap("prose", text)


def _scrap_of(part: AnyPart, calls: _Calls) -> Scrap | None:
    """What a part that is no prose reads like; None for what a reader does not miss."""
    match part:
        case Thinking():
            return Scrap("thinking", "(thinking)\n" + plain(part.text).strip()) if part.text.strip() else None
        case ToolCall():
            return _call_scrap(part, calls)
        case ToolResult():
            return _result_scrap(part, calls)
        case Terminal():
            return _terminal_scrap(part, calls.calls.get(part.call_id or ""))
        case FileEdit():
            counts = _line_counts(part)
            path = one_line(part.path or part.uri or "a file")
            return Scrap("tool", f"- {part.action} `{path}`{counts}", plain(part.diff or ""), "diff")
        case TodoList():
            items = [f"- [{CHECKS.get(item.status or '', ' ')}] {one_line(item.title)}" for item in part.items]
            return Scrap("note", "\n".join(items)) if items else None
        case Attachment():
            return _attachment_scrap(part)
        case Confirmation():
            return _question_scrap(part)
        case Compaction():
            return Scrap("result", "- the history before was replaced by a summary", plain(part.text))
        case FileTree():
            return Scrap("note", _tree_text(part))
        case Hook():
            words = one_line(" ".join(filter(None, (part.reason, part.message))))
            return Scrap("note", f"- hook {one_line(part.type, 60)}: {words}") if words else None
        case Notice():
            is_silent = part.topic in SILENT_TOPICS or not part.text.strip()
            return None if is_silent else Scrap("note", f"- {one_line(part.topic, 40)}: {one_line(part.text, 300)}")
        case Unknown():
            return Scrap("note", f"- (a part of unknown kind {one_line(part.type, 60)})")
        case _:
            return None  # prompts as rendered, mentions (they stand in the text), checkpoints


def _line_counts(edit: FileEdit | FileChange) -> str:
    if isinstance(edit, FileEdit) and not is_made(edit):
        return " (not made)"
    words = lines_words(changed_lines(edit))
    return f" ({words})" if words else ""


def _call_scrap(call: ToolCall, calls: _Calls) -> Scrap:
    words = [f"- called `{one_line(call.name, 80)}`"]
    if call.origin == "mcp" and call.server:
        words.append(f"of {one_line(call.server, 60)}")
    if call.subagent is not None:
        words.append(f"(sub-agent {one_line(call.subagent.name or '', 60)})".replace(" )", ")"))
    outcome = outcome_of(call)
    if outcome.kind not in ("succeeded", "unknown"):
        words.append(f"({outcome.kind})")
    if code := exit_code_of(call):
        words.append(f"(exit code {code})")
    if outcome.against:
        words.append(f"(recorded to the contrary: {one_line(', '.join(outcome.against), 200)})")
    if lines := lines_words(lines_of_call(call)):
        words.append(f"({lines})")
    arguments = "" if call.id in calls.with_list else plain(call.arguments or "")
    return Scrap("tool", " ".join(words), arguments, "json")


def _result_scrap(result: ToolResult, calls: _Calls) -> Scrap | None:
    beyond = beyond_output(result, calls.terminals.get(result.call_id, ()))
    text = beyond.full_text or beyond.text or "\n".join(item.text for item in result.items if item.text)
    if not text.strip():
        text = "\n".join(_place_words(place) for place in result.places)
    call = calls.calls.get(result.call_id)
    has_failed = is_failure(result, call)
    if text.strip() or has_failed:
        name = one_line(call.name, 80) if call is not None else None
        line = f"- {'error' if has_failed else 'result'}{f' of `{name}`' if name else ''}:"
        return Scrap("result", line, plain(text).strip("\n"))
    return None


def _terminal_scrap(part: Terminal, call: ToolCall | None) -> Scrap:
    code = code_beside(call, part)
    ending = f" (exit code {code})" if code is not None else ""
    output = plain(part.output or "").strip("\n")
    return Scrap("tool", f"- ran in a terminal{ending}:", f"$ {plain(part.command)}\n{output}".rstrip(), "console")


def _attachment_scrap(part: Attachment) -> Scrap | None:
    if (part.is_automatic and part.type not in ("skill", "skill-context")) or not part.is_sent:
        return None
    where = _place_words(part.place) if part.place is not None else ""
    name = one_line(part.name or "", 120)
    words = " ".join(dict.fromkeys(filter(None, (name, where))))
    return Scrap("tool", f"- attached {one_line(part.type, 40)}: {words}", plain(part.text or ""))


def _question_scrap(part: Confirmation) -> Scrap:
    asked = one_line(" ".join(filter(None, (part.title, part.message))), 400) or part.type
    lines = [f"- asked the user: {asked}"]
    for question in part.questions:
        words = one_line(question.text or question.title or "", 300)
        lines.append(f"  - {words} → {one_line(question.answer or 'no answer', 300)}")
    if part.answer or part.state:
        lines.append(f"  → {one_line(part.answer or part.state or '', 300)}")
    return Scrap("note", "\n".join(lines))


def _tree_text(part: FileTree) -> str:
    lines: list[str] = []
    waiting = [(part.root, 0)]
    while waiting and len(lines) < MOST_TREE_LINES:
        node, depth = waiting.pop()
        lines.append(f"{'  ' * depth}- {one_line(node.label, 120)}")
        waiting += [(child, depth + 1) for child in reversed(node.children)]
    return "\n".join([*lines, "- …"] if waiting else lines)


def _place_words(place: Place) -> str:
    words = one_line(place.path or place.uri or place.name or "")
    return f"{words}:{place.range.start_line}-{place.range.end_line}" if place.range is not None else words


def _ending_of(turn: Turn) -> Iterator[str]:
    """How a turn ended, where that is worth a line."""
    if turn.is_undone:
        yield "- the user undid this turn"
    if turn.error is not None and has_failed(turn):
        yield f"- the turn failed: {one_line(turn.error.message, 300)}"
    elif turn.status not in (None, "complete"):
        words = f": {one_line(turn.error.message, 300)}" if turn.error is not None else ""
        yield f"- the turn is {status_words(turn)}{words}"
    if turn.error is not None and turn.error.buttons:
        yield f"- offered: {one_line(', '.join(turn.error.buttons), 300)}"
    for followup in turn.followups:
        yield f"- suggested next: {one_line(followup_words(followup), 300)}"


def _changes_by_turn(conversation: Conversation) -> dict[int, list[str]]:
    """The files that each turn changed, from the history of edits that the editor kept."""
    lines: dict[int, list[str]] = {}
    for change in conversation.file_changes:
        if change.turn is not None and change.checkpoint is None:
            counts = _line_counts(change)
            undone = ", undone" if change.is_undone else ""
            path = one_line(change.path or change.uri)
            lines.setdefault(change.turn, []).append(f"- file on disk: {change.action} `{path}`{counts}{undone}")
    return lines
