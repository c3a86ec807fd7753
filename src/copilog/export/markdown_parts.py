"""The messages of a conversation in a Markdown document, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from copilog.derive.notes import notes_of
from copilog.derive.terminal_output import beyond_output
from copilog.export.markdown_calls import (
    arguments_block,
    call_head,
    edit_blocks,
    helper_facts,
    helper_task,
    note_blocks,
    result_blocks,
    terminal_blocks,
    todo_block,
)
from copilog.export.markdown_text import details, fence, plain, prose, quoted, span
from copilog.export.missing import Missing
from copilog.model import (
    AnyPart,
    Attachment,
    Checkpoint,
    Compaction,
    Confirmation,
    Conversation,
    FileEdit,
    FileTree,
    Hook,
    Mention,
    Message,
    Notice,
    Prompt,
    Reference,
    Terminal,
    Text,
    Thinking,
    TodoList,
    ToolCall,
    ToolResult,
    Unknown,
)
from copilog.render.asides import TOPICS
from copilog.render.html.characters import visible_line
from copilog.render.html.nesting import Nesting
from copilog.render.prose import ProseBuffer
from copilog.render.safe import json_text
from copilog.render.words import counted, duration_words, place_words, size_words
from copilog.store.fates import Fates

SCOPES = {"turn": "Context sent with this prompt", "conversation": "Context sent once", "system": "System prompt"}


class Material:
    """What is known of a conversation while it is written, and what turns out to be missing."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.nesting = Nesting(conversation)
        self.fates = Fates(conversation)
        self.missing = Missing()
        workspace = conversation.workspace
        self.folder = workspace.folder if workspace is not None else None


class PartWriter:
    """Writes messages; what was gathered of an answer's prose is written when something else comes."""

    def __init__(self, material: Material) -> None:
        self._material = material
        self._conversation = material.conversation
        self._nesting = material.nesting
        self._missing = material.missing
        self._folder = material.folder
        self._prose = ProseBuffer()
        self._warned: list[str] = []

    def message(self, number: int) -> Iterator[str]:
        """The blocks of one message."""
        message = self._conversation.messages[number]
        yield from self.parts(message, number)

    def parts(self, message: Message, number: int) -> Iterator[str]:
        """The blocks of a message; `number` is its index, or -1 for one that was never sent."""
        for position, part in enumerate(message.parts):
            if isinstance(part, Text) and message.role != "system":
                self._prose.add(part.text)
                self._warned += part.vulnerabilities
            elif isinstance(part, Reference) and part.type == "inline":
                self._prose.add_reference(_inline_reference(part, self._folder))
            elif isinstance(part, Reference) and part.type == "code-block" and part.place is not None:
                self._prose.name_block(place_words(part.place, self._folder))
            else:
                yield from self._said()
                yield from self._part(part, message, number, position)
        yield from self._said()

    def _said(self) -> Iterator[str]:
        text = prose(self._prose.take())
        if text:
            yield text
        for warning in self._warned:
            yield f"*Possible vulnerability: {plain(warning)}*"
        self._warned = []

    def _part(self, part: AnyPart, message: Message, number: int, position: int) -> Iterator[str]:
        match part:
            case Text():
                yield details(f"System prompt, {counted(len(part.text), 'character')}", fence(part.text, "text"))
            case ToolCall():
                yield from self._call(part, number, position)
            case ToolResult():
                if part.call_id not in self._nesting.calls:
                    yield f"The result of a call that is not here ({span(part.call_id, 80)}):"
                    yield from result_blocks(part, self._folder, self._missing)
            case Terminal():
                if part.call_id not in self._nesting.calls:
                    yield from terminal_blocks(part, self._folder)
            case TodoList():
                yield todo_block(part)
            case FileEdit():
                fate = self._material.fates.of(part.uri, message.turn, False)
                yield from edit_blocks(part, fate, self._folder, self._missing)
            case Attachment():
                yield from self._attachment(part)
            case _:
                writer = WRITERS.get(type(part))
                yield from writer(part, self._folder) if writer is not None else ()
                yield from note_blocks(notes_of(part))

    def _call(self, call: ToolCall, number: int, position: int) -> Iterator[str]:
        """A call with all that belongs to it, and below it what its sub-agent did."""
        yield call_head(call)
        yield arguments_block(call)
        yield from note_blocks(notes_of(call))
        if self._nesting.calls.get(call.id) != (number, position):
            return  # the same id once more: what belongs to it stands with the first
        messages = self._conversation.messages
        terminals = [
            part
            for at in self._nesting.terminals.get(call.id, [])
            if isinstance(part := messages[at[0]].parts[at[1]], Terminal)
        ]
        for terminal in terminals:
            yield from terminal_blocks(terminal, self._folder, call)
        below = self._nesting.below.get(call.id, [])
        if call.subagent is not None or below:
            yield from self._helper(call, below)
        for at in self._nesting.results.get(call.id, []):
            part = messages[at[0]].parts[at[1]]
            if isinstance(part, ToolResult):
                shown = beyond_output(part, terminals)
                yield from result_blocks(shown, self._folder, self._missing, part.text, call)

    def _helper(self, call: ToolCall, below: list[int]) -> Iterator[str]:
        inner = PartWriter(self._material)
        blocks = [block for number in below for block in inner.message(number)]
        task = helper_task(call)
        answer = call.subagent.result if call.subagent is not None else None
        if answer and call.id not in self._nesting.results:
            blocks += ["**Answer**", prose(answer)]
        words = f"{helper_facts(call)}: {counted(len(below), 'message')}" if below else helper_facts(call)
        yield details(words, quoted(task) if task else "", *blocks)

    def _attachment(self, part: Attachment) -> Iterator[str]:
        where = place_words(part.place, self._folder) if part.place is not None else ""
        name = part.name or where or part.id or "without a name"
        facts = [
            where if where != name else "",
            part.mime_type or "" if part.data is not None else "",
            f"{size_words(len(part.data))}, not in this file" if part.data is not None else "",
            "added by itself" if part.is_automatic else "",
            "" if part.is_sent else "not sent",
            f"omitted: {part.omitted}" if part.omitted else "",
            part.description or "",
        ]
        said = ", ".join(plain(fact, 200) for fact in facts if fact)
        yield f"- Attached {plain(part.type, 40)} {span(name, 200)}" + (f" ({said})" if said else "")
        if part.data is not None:
            self._missing.add_bytes(part.mime_type or "unknown", len(part.data))
        if part.text and part.text.strip():
            words = f"Text of {visible_line(name, 200)}, {counted(len(part.text), 'character')}"
            yield details(words, fence(part.text, "text"))
        yield from note_blocks(notes_of(part))


def _inline_reference(part: Reference, folder: str | None) -> str:
    where = place_words(part.place, folder) if part.place is not None else ""
    return visible_line(part.text, 300) or span(where or "a reference")


# --- parts that stand alone -----------------------------------------------------------------------------------------


def _thinking(part: Thinking, folder: str | None) -> Iterator[str]:  # noqa: ARG001
    if part.text.strip() or part.title:
        title = f": {visible_line(part.title, 160)}" if part.title else ""
        taken = f" ({duration_words(part.elapsed_ms)})" if part.elapsed_ms is not None else ""
        yield details(f"Thinking{title}{taken}", prose(part.text))


def _prompt(part: Prompt, folder: str | None) -> Iterator[str]:  # noqa: ARG001
    words = f"{SCOPES.get(part.scope, 'Context')}, {counted(len(part.text), 'character')}"
    yield details(words, fence(part.text, "text"))


def _mention(part: Mention, folder: str | None) -> Iterator[str]:
    if part.start is None:  # else it is one of the words
        where = f" ({span(place_words(part.place, folder))})" if part.place is not None else ""
        yield f"- Mentioned {plain(part.type, 40)} {span(part.text or part.name, 100)}{where}"


def _reference(part: Reference, folder: str | None) -> Iterator[str]:
    where = f" ({span(place_words(part.place, folder))})" if part.place is not None else ""
    yield f"- {plain(part.type, 40).capitalize()} {span(part.text, 200) if part.text else ''}{where}"


def _tree(part: FileTree, folder: str | None) -> Iterator[str]:  # noqa: ARG001
    waiting = [(part.root, 0)]
    lines: list[str] = []
    while waiting:
        node, depth = waiting.pop()
        lines.append("  " * min(depth, 20) + visible_line(node.label or "/") + ("/" if node.children else ""))
        waiting += [(child, depth + 1) for child in reversed(node.children)]
    yield fence("\n".join(lines), "text")


def _confirmation(part: Confirmation, folder: str | None) -> Iterator[str]:  # noqa: ARG001
    state = f" ({plain(part.state, 40)})" if part.state else ""
    yield f"**Asked** {plain(part.title or part.type)}{state}"
    if part.message:
        yield quoted(prose(part.message))
    asked = [(question.text or question.title or "", question.options, question.answer) for question in part.questions]
    for words, options, answer in [*asked, ("", part.options, part.answer)]:
        lines = [plain(words)] if words else []
        lines += [f"- {plain(option)}" for option in options]
        if lines:
            yield "\n".join(lines)
        if answer is not None:
            yield f"Answer: {plain(answer, 2000)}"


def _compaction(part: Compaction, folder: str | None) -> Iterator[str]:  # noqa: ARG001
    yield details("The history up to here was replaced by a summary", prose(part.text))


def _hook(part: Hook, folder: str | None) -> Iterator[str]:  # noqa: ARG001
    facts = [
        part.tool or "",
        f"stopped it: {part.reason or 'without a reason'}" if part.is_blocking else "",
        part.message or "",
    ]
    yield f"**Hook** {plain(part.type, 60)}: {', '.join(plain(fact) for fact in facts if fact) or 'ran'}"


def _notice(part: Notice, folder: str | None) -> Iterator[str]:  # noqa: ARG001
    if part.topic == "cleared":  # VS Code shows nothing of it, so it is folded
        if part.text.strip():
            yield details("Text that was withdrawn", fence(part.text, "text"))
        return
    label = TOPICS.get(part.topic, part.topic) or part.topic
    text = prose(part.text)
    yield quoted(f"**{plain(label[:1].upper() + label[1:], 60)}**" + (f"\n\n{text}" if text else ""))


def _unknown(part: Unknown, folder: str | None) -> Iterator[str]:  # noqa: ARG001
    yield details(f"A part of unknown kind: {visible_line(part.type, 80)}", fence(json_text(part.raw), "json"))


def _nothing(part: Checkpoint, folder: str | None) -> Iterator[str]:  # noqa: ARG001
    return iter(())


WRITERS: dict[type, Callable[[Any, str | None], Iterator[str]]] = {
    Thinking: _thinking,
    Prompt: _prompt,
    Mention: _mention,
    Reference: _reference,
    FileTree: _tree,
    Confirmation: _confirmation,
    Checkpoint: _nothing,
    Compaction: _compaction,
    Hook: _hook,
    Notice: _notice,
    Unknown: _unknown,
}
