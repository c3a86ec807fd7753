"""What was answered in one turn, part by part, sub-agents below the calls that started them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text as Line

from copilog.derive.outcomes import is_done
from copilog.derive.terminal_output import beyond_output
from copilog.derive.tool_names import key_of
from copilog.model import (
    AnyPart,
    FileEdit,
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
    prose_of,
)
from copilog.render.arguments import arguments_of
from copilog.render.asides import aside_blocks
from copilog.render.changes import edit_blocks
from copilog.render.layout import Block, Scene, joined
from copilog.render.prose import ProseBuffer, prose
from copilog.render.request import request_blocks
from copilog.render.safe import clean, clean_line
from copilog.render.tools import call_blocks, result_blocks, shortened, terminal_blocks, todo_block
from copilog.render.words import counted, duration_words, place_words

DEEPEST_CALL = 40  # levels: calls nested deeper are shown after the others


class Answer:
    """The answer of one turn. Iterate over `blocks` once."""

    def __init__(self, messages: list[Message], scene: Scene, undone_from: int | None = None) -> None:
        self.scene = scene
        self.messages = messages
        self.undone_from = undone_from
        parts = [part for message in messages for part in message.parts]
        self.calls = {part.id for part in parts if isinstance(part, ToolCall)}
        self.results = {part.call_id: part for part in parts if isinstance(part, ToolResult)}
        self.terminals: dict[str | None, list[Terminal]] = {}
        for part in parts:
            if isinstance(part, Terminal):
                self.terminals.setdefault(part.call_id, []).append(part)
        self.todos = {part.call_id for part in parts if isinstance(part, TodoList)}
        self.diffs = {part.call_id for part in parts if isinstance(part, FileEdit) and part.diff}
        self.told: set[str | None] = set()  # calls that have shown the change they made
        self.below: dict[str, list[Message]] = {}
        for message in messages:
            if message.parent_call_id in self.calls and message.parent_call_id is not None:
                self.below.setdefault(message.parent_call_id, []).append(message)

    def blocks(self, level: int) -> Iterator[Block]:
        top = [message for message in self.messages if message.parent_call_id not in self.calls]
        yield from self._stream(top, level)
        while self.below:  # calls nested too deeply, or in a circle, as no program writes them
            yield from self._below(next(iter(self.below)), level)

    def _below(self, call_id: str, level: int) -> Iterator[Block]:
        """What the sub-agent of a call did."""
        if level <= DEEPEST_CALL and call_id in self.below:
            yield from self._stream(self.below.pop(call_id), level)

    def _stream(self, messages: list[Message], level: int) -> Iterator[Block]:
        """The parts of messages in order; prose and thoughts are gathered until something else comes."""
        gathered = ProseBuffer()
        thoughts: list[Thinking] = []
        warned: list[str] = []  # told after the prose: a note in the middle would cut through a code block
        for part, offset in self._parts(messages):
            if isinstance(part, Thinking):
                yield from self._flush(gathered, level)
                thoughts.append(part)
            elif isinstance(part, Text) or (isinstance(part, Reference) and part.type in ("inline", "code-block")):
                yield from self._thinking(thoughts, level)
                self._gather(part, gathered)
                warned += part.vulnerabilities if isinstance(part, Text) else []
            elif blocks := list(self._part(part, level + offset)):
                yield from self._thinking(thoughts, level)
                yield from self._flush(gathered, level)
                yield from blocks
        yield from self._thinking(thoughts, level)
        yield from self._flush(gathered, level)
        if warned:
            yield Block(Line("⚠ vulnerabilities: " + clean_line(", ".join(warned)), "yellow"), level)

    def _parts(self, messages: list[Message]) -> Iterator[tuple[AnyPart | Message, int]]:
        """All parts, those of a sub-agent whose call is not here one level deeper; what the user said stays whole."""
        for message in messages:
            if message.role in ("user", "system") and not is_event(message):
                yield message, 0
                continue
            is_stray = message.parent_call_id is not None and message.parent_call_id not in self.calls
            for part in message.parts:
                if self.undone_from is not None and part.position is not None and part.position >= self.undone_from:
                    self.undone_from = None
                    yield Notice(topic="undone", text="from here on undone"), 0
                yield part, int(is_stray)

    def _said(self, message: Message, level: int) -> Iterator[Block]:
        """Words that came while the answer was under way, or the task of a sub-agent."""
        blocks = list(request_blocks(message, self.scene, level + 1))
        if blocks:
            who = "asked" if message.parent_call_id is not None else "You" if message.role == "user" else "system"
            yield Block(Line(who, "bold green"), level)
            yield from blocks

    def _gather(self, part: Text | Reference, gathered: ProseBuffer) -> None:
        if isinstance(part, Text):
            gathered.add(clean(part.text))
        elif part.type == "inline":
            gathered.add_reference(clean(part.text))
        elif part.place is not None:
            gathered.name_block(place_words(part.place, self.scene.folder))

    def _flush(self, gathered: ProseBuffer, level: int) -> Iterator[Block]:
        text = gathered.take()
        if text:
            yield Block(prose(text, markdown=self.scene.options.markdown), level, is_prose=True)

    def _thinking(self, thoughts: list[Thinking], level: int) -> Iterator[Block]:
        """Thoughts in a row as one. Takes them."""
        text = "\n\n".join(clean(part.text).strip() for part in thoughts if part.text.strip())
        title = next((part.title for part in thoughts if part.title), None)
        elapsed = sum(part.elapsed_ms or 0 for part in thoughts)
        thoughts.clear()
        if not text and not title:
            return
        facts = ["thinking", clean_line(title or "", 120), counted(len(text), "character") if text else ""]
        facts.append(duration_words(elapsed) if elapsed else "")
        yield Block(joined(facts, style="dim italic"), level)
        if self.scene.options.thinking and text:
            yield Block(Line(text, "dim italic"), level + 1)

    def _part(self, part: AnyPart | Message, level: int) -> Iterator[Block]:
        match part:
            case Message():
                yield from self._said(part, level)
            case ToolCall():
                yield from self._call(part, level)
            case ToolResult():
                yield from self._result(part, level)
            case Terminal():
                if part.call_id not in self.calls:  # else it is shown with its call
                    yield from terminal_blocks(part, self.scene, level + 2)
            case TodoList():
                yield todo_block(part, self.scene, level + 2)
            case FileEdit():
                if self.scene.options.full or part.diff or part.call_id not in self.told:
                    yield from edit_blocks(part, self.scene, level)
            case _:
                yield from aside_blocks(part, self.scene, level)

    def _call(self, call: ToolCall, level: int) -> Iterator[Block]:
        hidden = {"command", "isBackground"} if call.id in self.terminals else set()
        hidden |= {"todoList", "operation"} if call.id in self.todos else set()
        hidden |= {"prompt", "agentName"} if call.subagent is not None else set()
        arguments = arguments_of(call, self.scene.folder, hidden, full=self.scene.options.full)
        if arguments.patch and call.id in self.diffs:
            arguments.patch = ""  # the edit itself follows, with true line numbers
        elif arguments.patch:
            self.told.add(call.id)
        result = self._result_of(call)
        remark = self._length_of_file(call, result) if result is not None else ""
        yield from call_blocks(call, arguments, self.scene, level, remark)
        terminals = self.terminals.pop(call.id, [])
        for terminal in terminals:
            yield from terminal_blocks(terminal, self.scene, level + 2, call)
        last_words = self._last_words(call.id)
        yield from self._below(call.id, level + 2)
        is_said = bool(arguments.patch) or any(terminal.output for terminal in terminals)
        is_said = is_said or (result is not None and result.text.strip() in (last_words, "Intent logged"))
        if result is not None and not remark and self._is_worth_showing(call, result, is_said):
            yield from result_blocks(result, self.scene, level + 2, call)
        elif result is None and call.subagent is not None and call.subagent.result:
            yield Block(shortened(call.subagent.result, self.scene), level + 2)

    def _result_of(self, call: ToolCall) -> ToolResult | None:
        """The result of a call without the output of its terminal, which is shown by itself; None if that is all."""
        result = self.results.get(call.id)
        if result is None or call.id not in self.terminals:
            return result
        beyond = beyond_output(result, self.terminals[call.id])
        is_output = bool(result.text.strip()) and not (beyond.text.strip() or beyond.display or beyond.full_text)
        return None if is_output and not result.items else beyond

    def _last_words(self, call_id: str) -> str | None:
        """What a sub-agent said last: its caller gets the same as the call's result."""
        messages = [message for message in self.below.get(call_id, []) if message.role == "assistant"]
        return prose_of(messages[-1].parts).strip() if messages else None

    def _length_of_file(self, call: ToolCall, result: ToolResult) -> str:
        """Of a file that was read, the number of lines is enough, unless all is to be shown."""
        if self.scene.options.full or not is_done(call) or not result.text or key_of(call) != "readfile":
            return ""
        return counted(len(result.text.splitlines()), "line")

    def _is_worth_showing(self, call: ToolCall, result: ToolResult, is_said: bool) -> bool:
        """A result that says no more than the command's output, the list or the edit beside it is left out."""
        is_said = is_said or call.id in self.todos or call.id in self.diffs
        return self.scene.options.full or not is_done(call) or bool(result.items) or not is_said

    def _result(self, result: ToolResult, level: int) -> Iterator[Block]:
        if result.call_id in self.calls:
            return
        yield Block(Line(f"? the result of a call that is not here ({clean_line(result.call_id, 80)})", "dim"), level)
        yield from result_blocks(result, self.scene, level + 2)


def is_event(message: Message) -> bool:
    """Return whether a message records what happened: a hook, a model change, a command that the user ran."""
    if any(isinstance(part, Text | Prompt) for part in message.parts):
        return False
    return message.role == "system" or (
        message.role == "user" and any(isinstance(part, ToolCall) for part in message.parts)
    )
