"""One message as a reader sees it: the speaker, then block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from copilog.derive.models import model_of_message, names_of
from copilog.derive.notes import Note, notes_of
from copilog.model import AnyPart, Message, Prompt, Reference, Terminal, Text, Thinking, ToolCall, ToolResult, Turn
from copilog.view.blocks import NOWHERE, AnyBlock, At, EventNote, Link, Prose, Shown, Thought
from copilog.view.build_state import BuildState
from copilog.view.calls import call_block, result_block, shell_block
from copilog.view.parts import ASKED, block_of, request_blocks
from copilog.view.prose import ProseBuffer
from copilog.view.terminal_text import clean_line
from copilog.view.wording import elapsed_text, location_text, markdown_as_plain, timestamp_text

UNDONE = "From here on undone"


class Speaker:
    """Makes messages of a run: a code block that was cut may continue in the next message."""

    def __init__(self, stage: BuildState, turns: dict[int, Turn]) -> None:
        self.stage = stage
        self.turns = turns
        self._prose = ProseBuffer()
        self._thoughts: list[Thinking] = []
        self._warned: list[str] = []
        self._notes: list[Note] = []  # of the parts that are collected
        self._first: At | None = None  # the position of the first collected part

    def shown(self, number: int, before: Shown | None = None) -> Shown:
        """Return a message; `before` is the last message above it that has an author."""
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
            time=timestamp_text(message.created_at) if message.created_at is not None else "",
            facts=_facts(message, turn),
            conflict=clean_line(message.model_conflict or "", 200),
            is_continued=before is not None and (before.speaker, before.turn) == (speaker, message.turn),
            is_stray=message.parent_call_id is not None and message.parent_call_id not in stage.nesting.calls,
            is_helper=message.parent_call_id is not None,
        )

    def shown_all(self, numbers: Iterable[int]) -> Iterator[Shown]:
        """Yield consecutive messages."""
        before: Shown | None = None
        for number in numbers:
            made = self.shown(number, before)
            before = made if made.role != "event" else before
            yield made

    def _speaker(self, message: Message, role: str) -> str:
        if role in ("event", "tool"):
            return ""
        if role == "assistant":
            return self.stage.assistant
        if message.parent_call_id is not None:
            return "Task"
        if role == "system":
            return "System"
        return speaker_of(self.turns.get(message.turn) if message.turn is not None else None)

    # --- parts ----------------------------------------------------------------------------------------------------

    def _blocks(self, message: Message, number: int) -> Iterator[AnyBlock]:
        is_request = message.role in ("user", "system") and not is_event(message)
        if is_request:
            yield from request_blocks(message, number, self.stage)
        for position, part in enumerate(message.parts):
            at = number, position
            if is_request and isinstance(part, ASKED):
                continue
            if at in self.stage.undone:
                yield from self._flush()
                yield EventNote(at=at, look="undone", title=UNDONE)
            yield from self._part(part, message, at)
        yield from self._flush()

    def _part(self, part: AnyPart, message: Message, at: At) -> Iterator[AnyBlock]:
        if isinstance(part, Thinking):
            yield from self._joined_prose()
            self._first = self._first or at
            self._thoughts.append(part)
            self._notes += notes_of(part)
        elif isinstance(part, Text) or (isinstance(part, Reference) and part.type in ("inline", "code-block")):
            yield from self._thought()
            self._first = self._first or at
            self._gather(part)
        elif (block := self._block(part, message, at)) is not None:
            yield from self._flush()
            yield block

    def _block(self, part: AnyPart, message: Message, at: At) -> AnyBlock | None:
        """Return a part that is not prose as a block; None for one that is shown with its call."""
        stage = self.stage
        if isinstance(part, ToolCall):
            return call_block(part, at, stage)
        if isinstance(part, ToolResult):
            return result_block(part, at, stage) if part.call_id not in stage.nesting.calls else None
        if isinstance(part, Terminal):
            return shell_block(part, at, stage) if part.call_id not in stage.nesting.calls else None
        return block_of(part, at, message.turn, stage)

    def _gather(self, part: Text | Reference) -> None:
        where = ""
        if isinstance(part, Reference) and part.place is not None:
            where = location_text(part.place, self.stage.folder)
        if isinstance(part, Text):
            self._prose.add_text(part.text)
            self._warned += [clean_line(word, 300) for word in part.vulnerabilities]
        elif part.type == "inline":
            remark = ", ".join(f"{note.label}: {clean_line(note.text)}" for note in notes_of(part))
            words = part.text or clean_line(markdown_as_plain(where), 300)
            self._prose.add_link(Link(words=words, where=where, remark=remark))
            return
        elif where:
            self._prose.name_block(where)
        self._notes += notes_of(part)

    def _flush(self) -> Iterator[AnyBlock]:
        yield from self._thought()
        yield from self._joined_prose()

    def _joined_prose(self) -> Iterator[AnyBlock]:
        text, links = self._prose.take()
        warned, self._warned = self._warned, []
        if text:
            first, self._first = self._first, None
            notes, self._notes = self._notes, []
            yield Prose(at=first or NOWHERE, text=text, links=links, warnings=warned, notes=notes)
        elif not self._thoughts:
            self._first = None

    def _thought(self) -> Iterator[AnyBlock]:
        """Yield the collected thoughts as one block, and forget them."""
        thoughts, self._thoughts = self._thoughts, []
        if not thoughts:
            return
        first, self._first = self._first, None
        notes, self._notes = self._notes, []
        text = "\n\n".join(part.text.strip() for part in thoughts if part.text.strip())
        title = next((part.title for part in thoughts if part.title), None)
        if text or title:
            elapsed = sum(part.elapsed_ms or 0 for part in thoughts)
            yield Thought(
                at=first or NOWHERE,
                title=clean_line(title or "", 160),
                elapsed=elapsed_text(elapsed) if elapsed else "",
                text=text,
                notes=notes,
            )


def is_event(message: Message) -> bool:
    """Return whether a message records what happened: a hook, a model change, a command that the user ran."""
    if any(isinstance(part, Text | Prompt) for part in message.parts):
        return False
    return message.role == "system" or (
        message.role == "user" and any(isinstance(part, ToolCall) for part in message.parts)
    )


def speaker_of(turn: Turn | None) -> str:
    """Return the author of a turn."""
    if turn is not None and turn.is_system_initiated:
        return clean_line(turn.system_label or "", 80) or "The system"
    return "You"


def _facts(message: Message, turn: Turn | None) -> list[str]:
    """Return the model and mode of a message, if they differ from those of its turn, with their source."""
    facts: list[str] = []
    model = model_of_message(message, turn)
    if model and not (turn is not None and model in names_of(turn)):
        source = f" ({clean_line(message.model_source, 60)})" if message.model_source else ""
        facts.append(clean_line(model, 80) + source)
    mode = turn.mode if turn is not None else None
    if message.mode and (mode is None or message.mode not in (mode.kind, mode.name, mode.id)):
        facts.append(f"{clean_line(message.mode, 60)} mode")
    return facts
