"""The parts of a message as blocks: separate blocks, and those of the user's request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from copilog.derive.change_text import shown_diff
from copilog.derive.line_counts import changed_lines
from copilog.derive.notes import notes_of
from copilog.derive.outcomes import is_made
from copilog.model import (
    AnyPart,
    Attachment,
    Checkpoint,
    Compaction,
    Confirmation,
    Conversation,
    FileChange,
    FileEdit,
    FileTree,
    Hook,
    Mention,
    Message,
    Notice,
    Prompt,
    Question,
    Reference,
    Terminal,
    Text,
    Thinking,
    TodoList,
    ToolCall,
    ToolResult,
    TreeNode,
    Unknown,
)
from copilog.tags import Segment, segments
from copilog.uris import base_name
from copilog.view.blocks import (
    LONGEST_SEARCHED,
    AnyBlock,
    At,
    Chip,
    Chips,
    Context,
    Edit,
    EventNote,
    QuestionForm,
    Todo,
    TypedText,
)
from copilog.view.build_state import BuildState
from copilog.view.hunks import as_hunks
from copilog.view.terminal_text import clean_line, json_text
from copilog.view.wording import (
    EDIT_OUTCOMES,
    EDIT_VERBS,
    QUESTIONS,
    SCOPES,
    SIGNS,
    TOPICS,
    UNMADE,
    VERBS,
    counted,
    elapsed_text,
    location_text,
    path_text,
    sentence,
    size_text,
)

# Parts of the user's request: shown together, whatever is between them.
ASKED = (Text, Prompt, Attachment, Mention)
LOOKS = {"warning": "warning", "mode-change": "switch", "model-change": "switch", "undone": "undone"}
ROUTINE = frozenset({"progress", "model-resolution", "mcp-servers", "cleared"})
STATES = {"completed": "done", "done": "done", "in-progress": "doing", "in_progress": "doing"}
KEPT_CONTEXT = ("skill", "skill-context")  # automatic attachments that record what the assistant knew


# --- requests -----------------------------------------------------------------------------------------------------


def request_blocks(message: Message, number: int, stage: BuildState) -> Iterator[AnyBlock]:
    """Yield the blocks of a user message, or of a system message."""
    mentions = [part for part in message.parts if isinstance(part, Mention)]
    attached: list[Chip] = []
    automatic: list[Chip] = []
    contexts: list[AnyBlock] = []
    for position, part in enumerate(message.parts):
        at = number, position
        if isinstance(part, Text):
            if message.role == "system":
                contexts.append(Context(at=at, title=SCOPES["system"], text=part.text, is_system=True))
            else:
                yield from _prompt_text(part, mentions, at, is_typed(message))
        elif isinstance(part, Prompt):
            contexts.append(_context(part, at, typed_in(message)))
        elif isinstance(part, Attachment):
            (automatic if part.is_automatic else attached).append(_attachment(part, at, stage))
    loose = [
        _mention(part, (number, position), stage)
        for position, part in enumerate(message.parts)
        if isinstance(part, Mention) and (part.start is None or _leads_elsewhere(part, message))
    ]
    yield from (Chips(chips=chips) for chips in (loose, attached, automatic) if chips)
    yield from contexts


def _leads_elsewhere(mention: Mention, message: Message) -> bool:
    """Return whether a mention means a file that neither its words nor an attachment names."""
    path = mention.place.path if mention.place is not None else None
    if not path or base_name(path) in (mention.text or ""):
        return False
    return not any(isinstance(part, Attachment) and part.place and part.place.path == path for part in message.parts)


def typed_in(message: Message) -> str:
    """Return what the user typed, as recorded separately from the prompt that was sent."""
    return "\n".join(part.text for part in message.parts if isinstance(part, Text))


def is_typed(message: Message) -> bool:
    """Return whether the text is just what the user typed, as the sent prompt is recorded separately."""
    return any(isinstance(part, Prompt) and part.scope == "turn" for part in message.parts)


def _prompt_text(part: Text, mentions: list[Mention], at: At, is_typed: bool) -> Iterator[AnyBlock]:
    """Yield the text; Copilot's own tags in it are folded as blocks of their own."""
    if not part.text.strip():
        return
    is_searched = not is_typed and "<" in part.text and len(part.text) <= LONGEST_SEARCHED
    pieces = segments(part.text) if is_searched else []
    if all(piece.is_own for piece in pieces):
        places = [
            (mention.start, mention.end, mention.type)
            for mention in mentions
            if mention.start is not None and mention.end is not None
        ]
        yield TypedText(at=at, text=part.text, mentions=places, notes=notes_of(part))
        return
    foreign: list[Segment] = []
    for piece in pieces:
        if not piece.is_own:
            foreign.append(piece)
        elif piece.text.strip():
            yield from _set_apart(foreign, at)
            yield TypedText(at=at, text=piece.text.strip("\n"))
    yield from _set_apart(foreign, at)


def _set_apart(foreign: list[Segment], at: At) -> Iterator[AnyBlock]:
    """Yield the collected pieces that are not the user's as one block, and forget them."""
    pieces = [piece for piece in foreign if piece.inside]
    text = "".join(piece.text for piece in foreign)
    foreign.clear()
    if pieces:
        yield Context(at=at, title="Injected context", text=text, given=pieces)


def _context(part: Prompt, at: At, typed: str = "") -> Context:
    is_system = part.scope != "turn"
    return Context(
        at=at,
        title=SCOPES.get(part.scope, "Context"),
        text=part.text,
        is_system=is_system,
        typed=typed,
        notes=notes_of(part),
    )


def _mention(part: Mention, at: At, stage: BuildState) -> Chip:
    """Return a mention that has no position in the text."""
    return Chip(
        at=at,
        label=clean_line(part.type, 40),
        name=clean_line(part.text or SIGNS.get(part.type, "#") + part.name, 100),
        where=location_text(part.place, stage.folder) if part.place is not None else "",
        notes=notes_of(part),
        role="mentioned",
    )


def _attachment(part: Attachment, at: At, stage: BuildState) -> Chip:
    """Return a file, a selection, a picture or an instruction file."""
    name = clean_line(part.name or "", 120)
    where = location_text(part.place, stage.folder) if part.place is not None else ""
    facts = [
        clean_line(part.mime_type or "", 60) if part.data is not None else "",
        size_text(len(part.data)) if part.data is not None else "",
        counted(len(part.text), "character") if part.text else "",
        "added by itself" if part.is_automatic else "",
        "" if part.is_sent else "not sent",
        f"omitted: {clean_line(part.omitted, 40)}" if part.omitted else "",
        clean_line(part.description or "", 200),
    ]
    return Chip(
        at=at,
        label=clean_line(part.type, 40),
        name=name or where or clean_line(part.id or "", 120) or "without a name",
        where=where if where != name and name else "",
        facts=[fact for fact in facts if fact],
        text=part.text or "",
        data=part.data,
        mime_type=part.mime_type or "data",
        notes=notes_of(part),
        is_hidden=part.is_automatic and part.place is None,
        is_faint=(part.is_automatic and part.type not in KEPT_CONTEXT) or not part.is_sent,
    )


def edits_before(events: list[tuple[str, str | None]], folder: str | None) -> list[tuple[str, list[str]]]:
    """Return what the user did with earlier edits before sending a request: the verb, and the files."""
    by_action: dict[str, list[str]] = {}
    for action, uri in events:
        by_action.setdefault(action, []).append(path_text(uri or "", folder) or "a file")
    return [(EDIT_VERBS.get(action, clean_line(action, 40)), names) for action, names in by_action.items()]


# --- separate parts -----------------------------------------------------------------------------------------------


def block_of(part: AnyPart, at: At, turn: int | None, stage: BuildState) -> AnyBlock | None:
    """Return a part that is neither prose nor a call; None for one that is shown with another part."""
    match part:
        case TodoList():
            return _todo(part, at)
        case FileEdit():
            return _edit(part, at, turn, stage)
        case Reference():
            return _reference(part, at, stage)
        case FileTree():
            return EventNote(
                at=at, look="tree", title="Files", text="\n".join(_tree_lines(part.root)), notes=notes_of(part)
            )
        case Confirmation():
            return _form(part, at)
        case Checkpoint():
            facts = [clean_line(part.id, 80)]
            return EventNote(
                at=at, look="checkpoint", title="Checkpoint", facts=facts, is_detail=True, notes=notes_of(part)
            )
        case Compaction():
            return _compaction(part, at)
        case Hook():
            return _hook(part, at)
        case Notice():
            return _notice(part, at)
        case Unknown():
            return _unknown(part, at)
        case Attachment():
            return Chips(at=at, chips=[_attachment(part, at, stage)])
        case Mention():
            return Chips(at=at, chips=[_mention(part, at, stage)])
        case Prompt():
            return _context(part, at)
        case Text() | Thinking() | ToolCall() | ToolResult() | Terminal():
            return None  # prose, and parts of a call
        case _:
            assert_never(part)


def _todo(part: TodoList, at: At) -> Todo:
    tasks = [
        (STATES.get(item.status or "", "open"), clean_line(item.title, 300), clean_line(item.description or "", 500))
        for item in part.items
    ]
    return Todo(at=at, tasks=tasks, notes=notes_of(part))


def _reference(part: Reference, at: At, stage: BuildState) -> Chips:
    where = location_text(part.place, stage.folder) if part.place is not None else ""
    name = clean_line(part.text, 200)
    chip = Chip(at=at, role="linked", label=clean_line(part.type, 40), name=name or where, where=where if name else "")
    return Chips(at=at, chips=[chip], notes=notes_of(part))


def _tree_lines(root: TreeNode) -> Iterator[str]:
    """Yield the tree as indented lines, without recursion: a tree may be deeper than the stack."""
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        yield "  " * min(depth, 20) + clean_line(node.label or "/") + ("/" if node.children else "")
        waiting += [(child, depth + 1) for child in reversed(node.children)]


def _form(part: Confirmation, at: At) -> QuestionForm:
    questions = [
        (
            clean_line(_question_text(question)),
            [clean_line(option, 200) for option in question.options],
            question.answer,
        )
        for question in part.questions
    ]
    if part.options or part.answer is not None:
        questions.append(("", [clean_line(option, 200) for option in part.options], part.answer))
    return QuestionForm(
        at=at,
        title=clean_line(part.title or "", 300) or QUESTIONS.get(part.type, sentence(clean_line(part.type, 40))),
        state=clean_line(part.state or "", 40),
        message=part.message or "",
        is_plan=part.type == "plan",
        questions=questions,
        notes=notes_of(part),
    )


def _question_text(question: Question) -> str:
    """Return a question below its title, unless they are the same."""
    title, text = question.title or "", question.text or ""
    if title and text and title not in text:
        return f"{title}: {text}"
    return text or title or "a question without words"


def _compaction(part: Compaction, at: At) -> EventNote:
    facts = [
        clean_line(part.trigger or "", 60),
        clean_line(part.model or "", 60),
        counted(len(part.text), "character"),
        elapsed_text(part.elapsed_ms) if part.elapsed_ms is not None else "",
    ]
    return EventNote(
        at=at,
        look="compaction",
        title="The history up to here was replaced by a summary",
        facts=[fact for fact in facts if fact],
        text=part.text if part.text.strip() else "",
        notes=notes_of(part),
    )


def _hook(part: Hook, at: At) -> EventNote:
    facts = [
        clean_line(part.tool or "", 80),
        f"stopped it: {clean_line(part.reason or '', 300)}".rstrip(": ") if part.is_blocking else "",
        clean_line(part.reason or "", 300) if not part.is_blocking else "",
        clean_line(part.message or "", 300),
    ]
    title = f"Hook {clean_line(part.type, 60)}"
    return EventNote(
        at=at,
        look="hook",
        title=title,
        facts=[fact for fact in facts if fact],
        is_serious=part.is_blocking,
        notes=notes_of(part),
    )


def _notice(part: Notice, at: At) -> AnyBlock | None:
    if part.topic == "cleared":  # Copilot does not show it, so it is folded
        text, is_detail = part.text, True
        if not text.strip():
            return None
        return EventNote(
            at=at, look="withdrawn", title="Text that was withdrawn", text=text, is_detail=is_detail, is_routine=True
        )
    words = part.text if part.text.strip() else ""
    look = LOOKS.get(part.topic, "notice")
    title = "" if look in ("warning", "undone") else clean_line(TOPICS.get(part.topic, part.topic), 60)
    return EventNote(
        at=at,
        look=look,
        title=sentence(title if words or title else clean_line(part.topic, 60)),
        words=words,
        notes=notes_of(part),
        is_detail=not (words or part.notes),
        is_routine=part.topic in ROUTINE,
    )


def _unknown(part: Unknown, at: At) -> EventNote:
    return EventNote(
        at=at,
        look="unknown",
        title="A part of unknown kind",
        facts=[clean_line(part.type, 80)],
        text=json_text(part.raw),
        notes=notes_of(part),
    )


# --- edits --------------------------------------------------------------------------------------------------------


def _edit(edit: FileEdit, at: At, turn: int | None, stage: BuildState) -> Edit:
    """Return one edit of the answer, with its outcome."""
    ranges = [change for batch in edit.batches for change in batch]
    facts = [
        counted(len(ranges), "text edit") if edit.diff is None and ranges else "",
        counted(len(edit.cells), "notebook operation") if edit.cells else "",
    ]
    warnings = [
        "not finished" if edit.is_done is False else "",
        "not applied" if edit.is_applied is False else "",
        f"not made: the call {UNMADE.get(edit.outcome or '', edit.outcome)}" if not is_made(edit) else "",
    ]
    outcome = stage.fates.of(edit.uri, turn, False) or ""
    return Edit(
        at=at,
        action=edit.action,
        verb=VERBS.get(edit.action, clean_line(edit.action, 40)),
        path=_name(edit.path or edit.uri, stage),
        new_path=path_text(edit.new_uri, stage.folder) if edit.new_uri else "",
        lines=changed_lines(edit),
        outcome=outcome,
        outcome_words=EDIT_OUTCOMES.get(outcome, ""),
        facts=[fact for fact in facts if fact],
        warnings=[word for word in warnings if word],
        diff=edit.diff or (as_hunks(ranges) if ranges else ""),
        is_recorded=bool(edit.diff or ranges or edit.cells) or edit.action in ("delete", "rename"),
        is_in_call=not edit.diff and stage.shows_patch(edit.call_id),
        cells="\n".join(json_text(cell) for cell in edit.cells),
        notes=notes_of(edit),
    )


def change_block(change: FileChange, stage: BuildState, *, is_open: bool = False) -> Edit:
    """Return one change of the editing history."""
    old = change.old_uri if change.action == "rename" else None
    path = change.path or change.uri
    outcome = stage.fates.of(change.uri, change.turn, change.is_undone) or ""
    return Edit(
        action=change.action,
        verb=VERBS.get(change.action, clean_line(change.action, 40)),
        path=_name(old or path, stage),
        new_path=_name(path, stage) if old else "",
        lines=changed_lines(change),
        outcome=outcome,
        outcome_words=EDIT_OUTCOMES.get(outcome, ""),
        diff=shown_diff(change) or "",
        is_open=is_open,
    )


def _name(path: str | None, stage: BuildState) -> str:
    return path_text(path, stage.folder) if path else "an unknown file"


def changes_of(turn: int, numbers: list[int], stage: BuildState) -> Iterator[Edit]:
    """Yield the changes of a turn that its answer does not show, from the editing history."""
    messages = stage.conversation.messages
    parts = [part for number in numbers for part in messages[number].parts if isinstance(part, FileEdit)]
    edited = {uri for part in parts for uri in (part.uri, part.new_uri)}
    with_diff = {part.uri for part in parts if part.diff}
    for change in changes_in(stage.conversation, {turn}):
        if change.uri not in with_diff and (change.uri not in edited or change.added or change.removed):
            yield change_block(change, stage, is_open=change.uri not in edited)


def changes_in(conversation: Conversation, turns: set[int | None]) -> list[FileChange]:
    """Return the changes of these turns; those of single steps only if there are no others."""
    changes = [change for change in conversation.file_changes if change.turn in turns]
    return [change for change in changes if change.checkpoint is None] or changes
