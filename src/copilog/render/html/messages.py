"""One message as the page shows it: who spoke, and block by block what was said and done."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from copilog.derive.models import model_of_message, names_of
from copilog.model import (
    AnyPart,
    FileEdit,
    Message,
    Notice,
    Reference,
    Terminal,
    Text,
    Thinking,
    TodoList,
    ToolCall,
    ToolResult,
    Turn,
)
from copilog.render.answer import is_event
from copilog.render.html.asides import aside_blocks
from copilog.render.html.blocks import Block, Call, Prose, Shown, Stage, Thought
from copilog.render.html.calls import call_block, result_block, shell_block, todo_block
from copilog.render.html.edits import edit_block
from copilog.render.html.passages import Places, long_markdown, prose_html
from copilog.render.html.requests import ASKED, request_blocks
from copilog.render.prose import ProseBuffer
from copilog.render.safe import clean_line
from copilog.render.words import counted, duration_words, markdown_words, moment_words, place_words

FIRST_BELOW = 30  # messages of a sub-agent that come with the page


class Speaker:
    """Makes messages of a run: the assistant's prose may go on from one to the next."""

    def __init__(self, stage: Stage, turns: dict[int, Turn]) -> None:
        self.stage = stage
        self.turns = turns
        self._gathered = ProseBuffer()
        self._places = Places()
        self._thoughts: list[Thinking] = []
        self._warned: list[str] = []
        self._raw: str | None = None  # of the first part of what is gathered
        self._undone: set[int] = set()  # turns of which it was told that they are undone from some part on

    def shown(self, number: int, before: Shown | None = None) -> Shown:
        """A message; `before` is the last one above it that somebody wrote."""
        stage = self.stage
        message = stage.conversation.messages[number]
        blocks = list(self._blocks(message, number))
        role = "event" if is_event(message) else message.role
        speaker = self._speaker(message, role)
        turn = self.turns.get(message.turn) if message.turn is not None else None
        return Shown(
            number=number,
            role=role,
            speaker=speaker,
            blocks=blocks,
            turn=message.turn,
            time=moment_words(message.created_at) if message.created_at is not None else "",
            facts=_facts(message, turn),
            conflict=clean_line(message.model_conflict or "", 200),
            is_continued=before is not None and (before.speaker, before.turn) == (speaker, message.turn),
            is_stray=message.parent_call_id is not None and message.parent_call_id not in stage.nesting.calls,
            link=stage.addresses.message(number),
            raw=stage.addresses.raw(number),
        )

    def shown_all(self, numbers: list[int]) -> list[Shown]:
        """Messages below one another."""
        made: list[Shown] = []
        before: Shown | None = None
        for number in numbers:
            made.append(self.shown(number, before))
            before = made[-1] if made[-1].role != "event" else before
        return made

    def _speaker(self, message: Message, role: str) -> str:
        if role in ("event", "tool"):
            return ""
        if role == "assistant":
            return self.stage.assistant
        if message.parent_call_id is not None:
            return "Task"
        if role == "system":
            return "System"
        turn = self.turns.get(message.turn) if message.turn is not None else None
        if turn is not None and turn.is_system_initiated:
            return clean_line(turn.system_label or "", 80) or "The system"
        return "You"

    # --- parts ---------------------------------------------------------------------------------------------------

    def _blocks(self, message: Message, number: int) -> Iterator[Block]:
        if message.role in ("user", "system") and not is_event(message):
            yield from request_blocks(message, number, self.stage)
            for position, part in enumerate(message.parts):
                if not isinstance(part, ASKED):
                    yield from self._part(part, message, number, position)
            yield from self._flush(number)
            return
        turn = self.turns.get(message.turn) if message.turn is not None else None
        for position, part in enumerate(message.parts):
            if turn is not None and self._is_undone_from(turn, part.position):
                yield from self._flush(number)
                yield from aside_blocks(
                    Notice(topic="undone", text="From here on undone"), number, position, self.stage
                )
            yield from self._part(part, message, number, position)
        yield from self._flush(number)

    def _is_undone_from(self, turn: Turn, position: int | None) -> bool:
        """Whether this is the first part of a turn that was undone."""
        if turn.undone_from is None or position is None or turn.index in self._undone:
            return False
        if position >= turn.undone_from:
            self._undone.add(turn.index)
        return position == turn.undone_from

    def _part(self, part: AnyPart, message: Message, number: int, position: int) -> Iterator[Block]:
        stage = self.stage
        if isinstance(part, Thinking):
            yield from self._prose()
            self._raw = self._raw or stage.addresses.raw(number, position)
            self._thoughts.append(part)
            return
        if isinstance(part, Text) or (isinstance(part, Reference) and part.type in ("inline", "code-block")):
            yield from self._thinking(number)
            self._raw = self._raw or stage.addresses.raw(number, position)
            self._gather(part)
            return
        for block in self._other(part, message, number, position):
            yield from self._flush(number)
            yield block

    def _other(self, part: AnyPart, message: Message, number: int, position: int) -> Iterator[Block]:
        stage = self.stage
        match part:
            case ToolCall():
                yield self._call(part, number, position)
            case ToolResult():
                if part.call_id not in stage.nesting.calls:
                    result = result_block(part, (number, position), stage)
                    result.title = f"The result of a call that is not here ({clean_line(part.call_id, 80)})"
                    yield result
            case Terminal():
                if part.call_id not in stage.nesting.calls:  # else it is shown with its call
                    yield shell_block(part, number, position, stage)
            case TodoList():
                yield todo_block(part, number, position, stage)
            case FileEdit():
                yield edit_block(part, message.turn, number, position, stage)
            case _:
                yield from aside_blocks(part, number, position, stage)

    def _call(self, call: ToolCall, number: int, position: int) -> Call:
        """A call, and below it what its sub-agent did, as much as comes with the page."""
        stage = self.stage
        block = call_block(call, number, position, stage)
        if stage.nesting.calls.get(call.id) != (number, position):
            return block
        below = stage.nesting.below.get(call.id, [])
        block.number_below = len(below)
        first = len(below) if stage.is_whole else FIRST_BELOW
        if stage.wanted is not None and not stage.is_whole:
            reached = next((at for at, other in enumerate(below) if other >= stage.wanted), 0)
            first = max(first, reached + FIRST_BELOW) if below and below[-1] >= stage.wanted else first
            block.is_open = block.is_open or stage.wanted in below
        block.below = Speaker(stage, self.turns).shown_all(below[:first])
        if first < len(below):
            block.more_below = stage.addresses.below(call.id, first)
        if below and not block.helper:
            block.helper = "Sub-agent"
        return block

    # --- prose ---------------------------------------------------------------------------------------------------

    def _gather(self, part: Text | Reference) -> None:
        if isinstance(part, Text):
            self._gathered.add(Places.without_marks(part.text))
            self._warned += part.vulnerabilities
        elif part.type == "inline":
            self._gathered.add_reference(self._reference(part))
        elif part.place is not None:
            self._gathered.name_block(place_words(part.place, self.stage.folder))

    def _reference(self, part: Reference) -> str:
        """A mark for a file or symbol in the middle of a sentence."""
        where = place_words(part.place, self.stage.folder) if part.place is not None else ""
        words = clean_line(markdown_words(part.text), 300) or where
        chip = Markup('<span class="ref" title="{}">{}</span>').format(where, words)
        return self._places.mark(chip, words)

    def _flush(self, number: int) -> Iterator[Block]:
        yield from self._thinking(number)
        yield from self._prose()

    def _prose(self) -> Iterator[Block]:
        text = self._gathered.take()
        places, self._places = self._places, Places()
        warned, self._warned = self._warned, []
        if text:
            raw, self._raw = self._raw, None
            html = places.fill(prose_html(text))
            yield Prose(html=html, warnings=[clean_line(word, 200) for word in warned], raw=raw)
        elif not self._thoughts:
            self._raw = None

    def _thinking(self, number: int) -> Iterator[Block]:
        """Thoughts in a row as one. Takes them."""
        thoughts, self._thoughts = self._thoughts, []
        if not thoughts:
            return
        raw, self._raw = self._raw, None
        text = "\n\n".join(part.text.strip() for part in thoughts if part.text.strip())
        title = next((part.title for part in thoughts if part.title), None)
        if not text and not title:
            return
        elapsed = sum(part.elapsed_ms or 0 for part in thoughts)
        facts = [counted(len(text), "character") if text else "", duration_words(elapsed) if elapsed else ""]
        message = self.stage.conversation.messages[number]
        position = next((at for at, part in enumerate(message.parts) if part is thoughts[0]), 0)
        link = self.stage.addresses.text(number, position, "text")
        yield Thought(
            title=clean_line(title or "", 160),
            facts=[fact for fact in facts if fact],
            body=long_markdown(text, link, is_whole=self.stage.is_whole) if text else None,
            raw=raw,
        )


def _facts(message: Message, turn: Turn | None) -> list[str]:
    """The model and the mode of a message, where they are not those of its turn, and how we know."""
    facts: list[str] = []
    model = model_of_message(message, turn)
    if model and not (turn is not None and model in names_of(turn)):
        source = f" ({clean_line(message.model_source, 60)})" if message.model_source else ""
        facts.append(clean_line(model, 80) + source)
    mode = turn.mode if turn is not None else None
    if message.mode and (mode is None or message.mode not in (mode.kind, mode.name, mode.id)):
        facts.append(f"{clean_line(message.mode, 60)} mode")
    return facts
