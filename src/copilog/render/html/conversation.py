"""A conversation in windows: so many messages at a time, with the heads and feet of the turns they belong to.

    view = View(conversation, ServedAddresses(conversation.id), fate_of=Fates(conversation).of)
    window = view.window(first=0, count=40)       # for the page and what it loads later
    whole = View(conversation).whole()            # for a page that stands alone

A window is drawn by the macro `window` of turn.html.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeGuard

from copilog.derive import only_traces, repeated_prompts, turns_before
from copilog.model import Conversation, Message, Prompt, Text, Thinking, ToolCall, Turn, unnamed_files
from copilog.render.html.addresses import Addresses
from copilog.render.html.blocks import Block, Edit, FateOf, Shown, Stage, nothing_known
from copilog.render.html.edits import change_block, whole_changes
from copilog.render.html.frames import Framed, Frames
from copilog.render.html.messages import FIRST_BELOW, Speaker
from copilog.render.html.nesting import Nesting
from copilog.render.html.outline import first_prompts, turn_foot, turn_head
from copilog.render.html.requests import request_blocks
from copilog.render.pages import environment, render_page
from copilog.render.safe import clean, clean_line
from copilog.render.words import document_words, path_words

WINDOW = 40  # messages, those that are shown in others included
MOST_PARTS = 300  # a window ends early when its messages have more


@dataclass(slots=True, kw_only=True)
class Continued:
    """Stands at the top of a window that begins in the middle of a turn."""

    kind: ClassVar[str] = "continued"
    number: int


@dataclass(slots=True, kw_only=True)
class Waiting:
    """A prompt that was never sent, or what stood in the input box."""

    title: str
    blocks: list[Block]


@dataclass(slots=True, kw_only=True)
class Tail:
    """What belongs to no turn: it stands at the very end."""

    kind: ClassVar[str] = "tail"
    edits: list[Edit] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)  # name, what became of it
    unnamed: list[tuple[str, str]] = field(default_factory=list)  # what stands for the name, text
    waiting: list[Waiting] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Window:
    """Some messages of a conversation, ready to be drawn. Numbers are indexes of messages."""

    first: int
    next: int | None  # where the window after this one begins; None at the end
    previous: int | None  # where this one begins, for the window before it; None at the beginning
    items: list[Any]  # TurnHead, Shown, TurnFoot, Continued, Tail, and frames around them


class View:
    """How one conversation is shown."""

    def __init__(
        self,
        conversation: Conversation,
        addresses: Addresses | None = None,
        *,
        fate_of: FateOf = nothing_known,
        is_whole: bool = False,
    ) -> None:
        self.conversation = conversation
        self.nesting = Nesting(conversation)
        self.stage = Stage(
            conversation,
            self.nesting,
            addresses or Addresses(),
            fate_of,
            is_whole=is_whole or addresses is None,
            only_traces=only_traces(conversation),
        )
        self._frames = Frames(conversation)
        self._sizes = Counter(self.nesting.holders)  # how many messages one at the top shows
        self._turns = {turn.index: turn for turn in conversation.turns}
        self._starts: dict[int, list[Turn]] = {}  # at a position among the messages at the top
        self._ends: dict[int, list[Turn]] = {}
        self._place_turns()
        self._repeated = repeated_prompts(conversation, first_prompts(conversation))
        self._before = turns_before(conversation)

    def _place_turns(self) -> None:
        """Find where turns begin and end. One without messages stands before the next that has some."""
        firsts: dict[int, int] = {}
        lasts: dict[int, int] = {}
        for place, number in enumerate(self.nesting.top):
            index = self.conversation.messages[number].turn
            if index is not None and index in self._turns:
                firsts.setdefault(index, place)
                lasts[index] = place
        empty: list[Turn] = []
        for turn in self._frames.order:
            if turn.index not in firsts:
                empty.append(turn)
                continue
            self._starts.setdefault(firsts[turn.index], []).extend([*empty, turn])
            self._ends.setdefault(lasts[turn.index], []).append(turn)
            empty = []
        self._last_empty = empty

    # --- windows -------------------------------------------------------------------------------------------------

    def window(self, first: int = 0, count: int = WINDOW) -> Window:
        """The window that begins with this message, or with the one that shows it."""
        place = self.nesting.place_of(first)
        return self._window(place, self._reach(place, count), self.stage)

    def window_around(self, message: int, count: int = WINDOW) -> Window:
        """A window that holds this message, a few others above it."""
        place = self.nesting.place_of(message)
        first = self._reach(place, count // 4, step=-1)
        end = max(place + 1, self._reach(first, count))
        return self._window(first, end, replace(self.stage, wanted=message))

    def window_before(self, message: int, count: int = WINDOW) -> Window:
        """The window that ends above this message."""
        end = self.nesting.place_of(message)
        return self._window(self._reach(end, count, step=-1), end, self.stage)

    def start_before(self, message: int, count: int = WINDOW) -> int | None:
        """Where the window above this message begins; None at the beginning."""
        place = self.nesting.place_of(message)
        return self.nesting.top[self._reach(place, count, step=-1)] if place else None

    def whole(self) -> Window:
        """All of the conversation."""
        return self._window(0, len(self.nesting.top), self.stage)

    def items(self) -> Iterator[Any]:
        """The same, one after another: what was drawn need not be held."""
        return self._items(0, len(self.nesting.top), replace(self.stage, coloured=0))

    def first_message_of(self, turn: int) -> int:
        """Where a turn begins; the end for one that has no messages."""
        for number in self.nesting.top:
            if self.conversation.messages[number].turn == turn:
                return number
        return self.nesting.top[-1] if self.nesting.top else 0

    def messages_below(self, call: str, skip: int, count: int = WINDOW) -> tuple[list[Shown], str | None]:
        """Messages of a sub-agent, and the address of those after them."""
        below = self.nesting.below.get(call, [])
        stage = replace(self.stage, coloured=0)
        shown = Speaker(stage, self._turns).shown_all(below[skip : skip + count])
        rest = skip + count < len(below)
        return shown, self.stage.addresses.below(call, skip + count) if rest else None

    def _window(self, place: int, end: int, stage: Stage) -> Window:
        top = self.nesting.top
        return Window(
            first=top[place] if place < len(top) else 0,
            next=top[end] if end < len(top) else None,
            previous=top[place] if 0 < place < len(top) else None,
            items=list(self._items(place, end, replace(stage, coloured=0))),
        )

    def _reach(self, place: int, count: int, step: int = 1) -> int:
        """The place that so many messages lead to, from here up or down: at least one further, if there is one."""
        top = self.nesting.top
        messages = parts = 0
        while messages < count and parts < MOST_PARTS:
            at = place if step > 0 else place - 1
            if not 0 <= at < len(top):
                break
            messages += min(self._sizes[top[at]], FIRST_BELOW)
            parts += len(self.conversation.messages[top[at]].parts)
            place += step
        return place

    def _items(self, place: int, end: int, stage: Stage) -> Iterator[Any]:
        wanted = self.conversation.messages[stage.wanted].turn if self._has_message(stage.wanted) else None
        return self._frames.around(self._with_turns(place, end, stage), wanted)

    def _has_message(self, number: int | None) -> TypeGuard[int]:
        return number is not None and 0 <= number < len(self.conversation.messages)

    def _with_turns(self, place: int, end: int, stage: Stage) -> Iterator[Framed]:
        """What is drawn, and the turn that it belongs to, by which it is framed."""
        top = self.nesting.top
        speaker = Speaker(stage, self._turns)
        before: Shown | None = None
        for at in range(place, end):
            message = self.conversation.messages[top[at]]
            index = message.turn if message.turn in self._turns else None
            if at == place and at not in self._starts and message.turn is not None:
                yield Framed(Continued(number=message.turn + 1), index)
            for turn in self._starts.get(at, ()):
                yield Framed(self._head(turn), turn.index)
                if turn.index != message.turn:  # one without messages
                    yield Framed(turn_foot(turn, [], stage), turn.index)
                before = None
            shown = speaker.shown(top[at], before)
            before = shown if shown.role != "event" else before
            yield Framed(shown, index)
            for turn in self._ends.get(at, ()):
                yield Framed(turn_foot(turn, self._numbers_of(turn), stage), turn.index)
        if end >= len(top):
            for turn in self._last_empty:
                yield Framed(self._head(turn), turn.index)
                yield Framed(turn_foot(turn, [], stage), turn.index)
            yield from (Framed(tail, None) for tail in self._tail(stage))

    def _head(self, turn: Turn) -> Any:
        return turn_head(turn, self._before.get(turn.index), self._repeated, self.stage)

    def _numbers_of(self, turn: Turn) -> list[int]:
        if not self.conversation.file_changes:
            return []
        messages = self.conversation.messages
        return [number for number, message in enumerate(messages) if message.turn == turn.index]

    # --- what belongs to no turn ---------------------------------------------------------------------------------

    def _tail(self, stage: Stage) -> Iterator[Tail]:
        conversation = self.conversation
        strays = {change.turn for change in conversation.file_changes if change.turn not in self._turns}
        tail = Tail(
            edits=[change_block(change, stage, is_open=True) for change in whole_changes(conversation, strays)],
            files=[
                (
                    path_words(file.path or file.uri, stage.folder),
                    " ".join(word for word in (file.decision or "", "deleted" if file.is_deleted else "") if word),
                )
                for file in conversation.files
            ],
            unnamed=[(file.uri, clean(file.current or "")) for file in unnamed_files(conversation)],
            waiting=list(self._waiting()),
        )
        if tail.edits or tail.files or tail.waiting:
            yield tail

    def _waiting(self) -> Iterator[Waiting]:
        alone = Stage(self.conversation, self.nesting, is_whole=True)
        for document in self.conversation.documents:
            message = Message(role="user", parts=[Text(text=document.text)])
            yield Waiting(title=document_words(document), blocks=list(request_blocks(message, -1, alone)))
        for queued in self.conversation.queued:
            kind = clean_line(queued.type or "queued", 40)
            blocks = list(request_blocks(queued.message, -1, alone))
            yield Waiting(title=f"Never sent ({kind})", blocks=blocks)
        draft = self.conversation.draft
        if draft is not None and (draft.text.strip() or draft.attachments):
            message = Message(role="user", parts=[Text(text=draft.text), *draft.attachments])
            yield Waiting(title="Draft in the input box", blocks=list(request_blocks(message, -1, alone)))


def window_of(conversation: Conversation, first: int = 0, count: int = WINDOW) -> Window:
    """A window without addresses and fates; `View` has them."""
    return View(conversation, is_whole=False).window(first, count)


def warm_up() -> None:
    """Have templates compiled, and tags and languages loaded, before somebody waits for the first page."""
    words = Text(text="```python\npass\n```\n\n| a |\n|---|\n| `b` |")
    messages = [
        Message(role="user", parts=[Text(text="<context>a</context> b"), Prompt(text="<context>a</context>")], turn=0),
        Message(role="assistant", parts=[words, Thinking(text="a"), ToolCall(id="a", name="a")], turn=0),
    ]
    made_up = Conversation(id="", source="", turns=[Turn(index=0)], messages=messages)
    for template in ("conversation.html", "conversation_part.html"):
        environment().get_template(template)
    render_page("conversation_part.html", what="window", messages=View(made_up).whole())
