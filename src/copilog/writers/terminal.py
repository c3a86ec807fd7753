"""A conversation as text for a terminal: a head, its turns, and what belongs to no turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import RenderableType
from rich.rule import Rule
from rich.text import Text

from copilog.derive import is_counted, without_superseded
from copilog.model import Conversation, title_of, turn_number
from copilog.view import View
from copilog.view.blocks import MOST_OFFERED, Shown, ShownDocument, Tail, TurnFoot, TurnHead
from copilog.view.conversation_info import content_text, distinct, model_names, spent_text, usages_of
from copilog.view.terminal_text import clean, clean_line
from copilog.view.wording import (
    MARKS,
    conflict_text,
    counted,
    in_sentence,
    relation_text,
    size_text,
    span_text,
    superseded_text,
    title_text,
)
from copilog.writers.terminal_blocks import Drawer
from copilog.writers.terminal_layout import INDENT, Indented, Labelled, Piece, TextOptions, joined, stacked

__all__ = ["TextOptions", "render_conversation"]

KEY_COLUMNS = 11
MOST_CONFLICTS = 3  # of each trace
MOST_FILES = 5
MOST_REFERENCES = 5
STATUS_STYLES = {"complete": "green", "failed": "red"}


def render_conversation(conversation: Conversation, options: TextOptions) -> Iterator[RenderableType]:
    """Yield the conversation piece by piece, each ready to print."""
    yield from _header(conversation, options)
    first, last = options.turns or (1, len(conversation.turns))
    wanted = [turn for turn in conversation.turns if first <= turn_number(turn.index) <= last]
    if wanted and not options.superseded and not any(is_counted(turn) for turn in wanted):
        yield Text()
        yield Text(f"{superseded_text(wanted)}; --superseded shows {'it' if len(wanted) == 1 else 'them'}", "dim")
    view = View(conversation)
    yield from _Writer(view, options).items(view.items())


def render_documents(conversation: Conversation, documents: list[ShownDocument]) -> Iterator[RenderableType]:
    """Yield documents of a conversation, each below its title."""
    yield Text(clean_line(title_of(conversation)), "bold")
    for document in documents:
        yield from (Text(), Text(document.title, "bold"))
        yield from stacked([Piece(Text(clean(document.text).strip()), 1, is_prose=True)])


# --- the head -----------------------------------------------------------------------------------------------------


def _header(conversation: Conversation, options: TextOptions) -> Iterator[RenderableType]:
    """Yield the title, then one line for each fact."""
    yield Text(clean_line(title_of(conversation)), "bold")
    superseded = [turn for turn in conversation.turns if not is_counted(turn)]
    for key, values in _facts(without_superseded(conversation), options):
        lines = [value for value in values if value]
        if key == "content" and superseded:
            them = "" if options.superseded else f"; --superseded shows {'it' if len(superseded) == 1 else 'them'}"
            lines.append(superseded_text(superseded) + them)
        for number, value in enumerate(lines):
            label = Text(key if number == 0 else "", "dim")
            yield Labelled(label, Text(clean(value), "yellow" if key == "marks" else ""), KEY_COLUMNS)


def _facts(conversation: Conversation, options: TextOptions) -> Iterator[tuple[str, list[str]]]:
    places = [conversation.application or "", conversation.location or ""]
    around = ", ".join(clean_line(place) for place in places if place)
    workspace = conversation.workspace
    where: list[str] = []
    if workspace is not None:
        branch = f"branch {workspace.branch}" if workspace.branch else ""
        where = [clean_line(word) for word in (workspace.folder or workspace.uri, branch, workspace.repository) if word]
    start = conversation.started_at or conversation.updated_at
    kinds = distinct(turn.mode.kind or turn.mode.name for turn in conversation.turns if turn.mode is not None)
    agents = distinct(turn.custom_agent.name for turn in conversation.turns if turn.custom_agent is not None)
    marks = [*conversation.marks, *(["pending-edits"] if conversation.has_pending_edits else [])]
    yield "title from", [clean_line(", ".join(title_text(conversation)))]
    yield "id", [clean_line(conversation.id or "(none)")]
    yield "assistant", [" ".join([clean_line(conversation.assistant or ""), f"({around})" if around else ""]).strip()]
    yield "workspace", [" · ".join(where)]
    yield "time", [span_text(start, conversation.updated_at) if start is not None else ""]
    yield "models", [", ".join(distinct(model_names(conversation)))]
    yield "mode", [clean_line(", ".join([*kinds, *(f"custom agent {name}" for name in agents)]))]
    yield "content", [" · ".join(content_text(conversation, has_messages=False))]
    yield "spent", list(spent_text(options.charges))
    yield "usage", list(usages_of(conversation))
    yield "marks", [f"{clean_line(mark)}: {MARKS[mark]}" if mark in MARKS else clean_line(mark) for mark in marks]
    yield "related", [relation_text(relation) for relation in conversation.relations]
    yield "found in", list(_traces(conversation, options))


def _traces(conversation: Conversation, options: TextOptions) -> Iterator[str]:
    """Yield the traces, and the values of each that another one overruled."""
    for trace in conversation.provenance:
        at = f"#{trace.pointer}" if trace.pointer else ""
        if trace.table or trace.row:
            at = f" [{' '.join(word for word in (trace.table, trace.row) if word)}]"
        size = [size_text(trace.size)] if options.full and trace.size is not None else []
        yield f"{clean_line(trace.path + at)}  ({', '.join([trace.role, trace.source, *size])})"
        most = len(trace.conflicts) if options.full else MOST_CONFLICTS
        for conflict in trace.conflicts[:most]:
            yield f"  overruled: {conflict_text(conflict)}"
        if len(trace.conflicts) > most:
            yield f"  and {len(trace.conflicts) - most:,} more; --full shows them"


# --- turns --------------------------------------------------------------------------------------------------------


class _Writer:
    """Draws a conversation, turn by turn."""

    def __init__(self, view: View, options: TextOptions) -> None:
        self._options = options
        self._draw = Drawer(view, options)
        self._assistant = view.stage.assistant

    def items(self, items: Iterable[Any], depth: int = 0) -> Iterator[RenderableType]:
        """Yield drawn items in order, those of one turn together."""
        group: list[Any] = []
        for item in items:
            if item.kind == "turn-foot":
                yield from _moved(self._turn(group, item), depth)
                group = []
            elif item.kind == "message":
                group.append(item)
            else:
                yield from _moved(self._turn(group, None), depth)
                group = []
                if item.kind in ("turn-head", "continued"):
                    group = [item]
                else:
                    yield from self._others(item, depth)
        yield from _moved(self._turn(group, None), depth)

    def _others(self, item: Any, depth: int) -> Iterator[RenderableType]:
        if item.kind == "tail":
            if self._options.turns is None:
                yield from self._tail(item)
        elif item.kind == "branch":
            yield from self._branch(item, depth + 1)
        elif self._options.superseded:
            yield from self.items(item.items, depth)

    def _branch(self, frame: Any, depth: int) -> Iterator[RenderableType]:
        """Yield a copy that continued separately, indented below the turn at which it begins."""
        line = Text(frame.title, "bold cyan")
        line.append(f" · {frame.size} · {frame.trace}", "not bold dim")
        end = Text(f"End of the {in_sentence(frame.title)}", "cyan dim")
        inner = self.items(frame.items, depth)
        first = next(inner, None)
        if first is not None:
            yield from _moved((Text(), self._heading(line)), depth)
            yield first
            yield from inner
            yield from _moved((Text(), end), depth)

    def _heading(self, words: Text) -> RenderableType:
        """Return a heading, with a line on a terminal."""
        return Rule(words, align="left", style="dim") if self._options.markdown else words

    def _turn(self, group: list[Any], foot: TurnFoot | None) -> Iterator[RenderableType]:
        head = group.pop(0) if group and group[0].kind != "message" else None
        number = head.number if head is not None else None
        first, last = self._options.turns or (number, number)
        if (number is None and self._options.turns is not None) or (number is not None and not first <= number <= last):
            return
        if isinstance(head, TurnHead):
            asked, answered = _split_at_answer(group)
            yield from self._head(head)
            yield from stacked(self._request(head, asked))
        else:
            answered = group
            if head is not None:
                words = f"Turn {number}, continued" if number else "Outside of the turns"
                yield from (Text(), self._heading(Text(words, "bold")))
        pieces = [piece for message in answered for piece in self._message(message)]
        if pieces:
            yield Text()
            yield Text(self._assistant, "bold magenta")
            yield from stacked(pieces)
        for section in (self._changes(foot), self._foot(foot)) if foot is not None else ():
            pieces = list(section)
            if pieces:
                yield Text()
                yield from stacked(pieces)

    def _head(self, head: TurnHead) -> Iterator[RenderableType]:
        of = f" of {head.of}" if head.of is not None else ""
        title = Text(f"Turn {head.number}{of}", "bold")
        if head.time:
            title.append(f" · {head.time}", "not bold dim")
        for look, words in head.badges:
            said = f"{words}, no longer counts" if look == "superseded" else words
            title.append(f" · {said}", "not bold dim" if look in ("hidden", "retried") else "not bold yellow")
        yield from (Text(), self._heading(title))
        if head.only_trace:
            yield Text(head.only_trace, "dim")
        for words in head.changes:
            yield Text(words, "dim")
        yield Text(head.speaker, "bold green")

    def _request(self, head: TurnHead, messages: list[Shown]) -> Iterator[Piece]:
        for verb, names in head.before:
            shown = names if self._options.full else names[:MOST_FILES]
            more = f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
            words = f"before this, {verb} the edits to {', '.join(shown)}{more}"
            yield Piece(Text(words, "dim"), 1, hangs=True)
        pieces = [piece for message in messages for piece in self._draw.blocks(message.blocks, 1)]
        if head.pressed:
            pieces.append(Piece(Text(f"pressed [{head.pressed}]", "cyan"), 1))
        yield from pieces or [Piece(Text("(no words)", "dim"), 1)]

    def _message(self, message: Shown) -> Iterator[Piece]:
        """Yield a message of the answer, or of the user while the answer was running."""
        level = 1 + message.is_stray
        if not _has_text(message):
            yield from self._draw.blocks(message.blocks, level)
            return
        pieces = list(self._draw.blocks(message.blocks, level + 1))
        if pieces:
            yield Piece(Text(message.speaker, "bold green"), level)
            yield from pieces

    # --- below a turn ---------------------------------------------------------------------------------------------

    def _changes(self, foot: TurnFoot) -> Iterator[Piece]:
        if foot.edits:
            yield Piece(Text("file changes of this turn", "dim italic"), 1)
        for edit in foot.edits:
            yield from self._draw.edit(edit, 1, has_diff=self._options.full or edit.is_open)

    def _foot(self, foot: TurnFoot) -> Iterator[Piece]:
        if foot.error:
            line = Text("✗ ", "red").append(clean(foot.error).strip())
            known = ", ".join(foot.error_facts)
            yield Piece(line.append(f"  ({known})", "dim") if known else line, 1, hangs=True)
        first, *more = foot.times or [""]
        facts: list[Text | str] = [Text(foot.status, STATUS_STYLES.get(foot.status, "yellow")), foot.model]
        facts += [foot.details, *foot.modes, *foot.who]
        facts += [f"{first} ({', '.join(more)})" if more else first, *foot.amounts]
        if foot.vote:
            words = f"voted {foot.vote} {foot.vote_reason}".rstrip()
            facts.append(Text(words, "green" if foot.vote == "up" else "red"))
        if (line := joined(facts)).plain:
            yield Piece(line, 1, hangs=True)
        for words in self._reference_lines(foot):
            yield Piece(Text(words, "dim"), 1, hangs=True)
        yield from self._draw.notes(foot.notes, 1)
        for words in foot.followups:
            yield Piece(Text.assemble(("→ ", "cyan"), (words, "dim")), 1)

    def _reference_lines(self, foot: TurnFoot) -> Iterator[str]:
        full = self._options.full
        yield from foot.skill_facts(None if full else MOST_OFFERED)
        if full and foot.shares:
            yield f"the prompt: {', '.join(foot.shares)}"
        if foot.references:
            names = [f"{name} ({status})" if status else name for name, status in foot.references]
            shown = names if full else names[:MOST_REFERENCES]
            more = f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
            yield f"used {', '.join(shown)}{more}"
        if foot.citations:
            licences = sorted({licence for licence, _, _ in foot.citations})
            yield f"similar to public code: {counted(len(foot.citations), 'place')}, licences {', '.join(licences)}"
        for _, address, code in foot.citations if full else ():
            yield "\n".join(text for text in (address, clean(code).strip()) if text)

    # --- what belongs to no turn ----------------------------------------------------------------------------------

    def _tail(self, tail: Tail) -> Iterator[RenderableType]:
        """Yield changes and files of requests that are not here, documents, and prompts that were never sent."""
        if tail.edits:
            yield from (Text(), self._heading(Text("File changes of requests that are not here", "bold")))
            yield from stacked(piece for edit in tail.edits for piece in self._draw.edit(edit, 1))
        if tail.files:
            yield from (Text(), self._heading(Text("Files", "bold")))
        for name, outcome in tail.files:
            yield Text(f"  {name}").append(f"  {outcome}", "dim")
        for name, text in tail.unnamed:
            yield from (
                Text(),
                self._heading(Text(f"Text of a file whose name was not recorded · {clean_line(name)}", "bold")),
            )
            yield Text(clean(text))
        for document in tail.documents:
            yield from (Text(), self._heading(Text(document.title, "bold")))
            yield from stacked([Piece(Text(clean(document.text).strip()), 1, is_prose=True)])
        for heading, lines in tail.lists:
            yield from (Text(), self._heading(Text(heading, "bold")), *(Text(f"  {line}") for line in lines))
        for waiting in tail.waiting:
            yield from (Text(), self._heading(Text(waiting.title, "bold yellow")))
            yield from stacked(self._draw.blocks(waiting.blocks, 1))


def _moved(pieces: Iterable[RenderableType], depth: int) -> Iterator[RenderableType]:
    for piece in pieces:
        yield Indented(piece, INDENT * depth) if depth else piece


def _has_text(message: Shown) -> bool:
    return message.role in ("user", "system")


def _split_at_answer(messages: list[Shown]) -> tuple[list[Shown], list[Shown]]:
    """Split the messages: those before the first answer; all others, with events such as hooks and model changes."""
    asked: list[Shown] = []
    others: list[Shown] = []
    for message in messages:
        has_answer = any(other.role in ("assistant", "tool", "user") for other in others)
        (asked if _has_text(message) and not message.is_helper and not has_answer else others).append(message)
    return asked, others
