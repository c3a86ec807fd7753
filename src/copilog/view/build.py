"""A conversation as a reader sees it, from its first turn to prompts that were never sent, or any range of it.

    view = View(conversation)
    for item in view.items():          # TurnHead, Shown, TurnFoot, Continued, Tail, and frames around them
        ...
    view.messages(call.below)          # what a sub-agent did

Messages are one flat list. The results of a call are shown with the call, wherever in the list they are, and the
messages of a sub-agent below the call that started it; the other messages are at the top level, and make the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from copilog.derive import repeated_prompts, turns_before, without_superseded
from copilog.model import Conversation, Message, Text, Turn, unnamed_files
from copilog.view.blocks import Continued, Shown, Tail, TurnHead, Waiting
from copilog.view.build_state import BuildState
from copilog.view.documents import document_lists, shown_documents
from copilog.view.frames import Framed, Frames
from copilog.view.messages import Speaker
from copilog.view.parts import change_block, changes_in, request_blocks
from copilog.view.terminal_text import clean_line
from copilog.view.turns import first_prompts, turn_foot, turn_head
from copilog.view.wording import path_text

MOST_PARTS = 300  # a range ends early if its messages have more
MOST_BELOW = 30  # messages of a sub-agent that count in a range


class View:
    """The blocks of one conversation, in reading order."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.stage = BuildState.of(conversation)
        self.nesting = self.stage.nesting
        self._frames = Frames(conversation)
        self._sizes = Counter(self.nesting.holders)  # how many messages each top-level message shows
        self._turns = {turn.index: turn for turn in conversation.turns}
        self._starts: dict[int, list[Turn]] = {}  # at a position among the top-level messages
        self._ends: dict[int, list[Turn]] = {}
        self._numbers: dict[int | None, list[int]] = {}  # of each turn, all its messages
        self._locate_turns()
        self._repeated = repeated_prompts(conversation, first_prompts(conversation))
        self._before = turns_before(conversation)

    def _locate_turns(self) -> None:
        """Find where turns begin and end. A turn without messages is placed before the next one that has some."""
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
        for number, message in enumerate(self.conversation.messages):
            self._numbers.setdefault(message.turn, []).append(number)

    # --- all items, and ranges of them ----------------------------------------------------------------------------

    def items(self, first: int = 0, end: int | None = None, opened: int | None = None) -> Iterator[Any]:
        """Yield the items at these positions of the top-level messages; the folded frame with turn `opened` is open."""
        return self._frames.around(self._with_turns(first, len(self.nesting.top) if end is None else end), opened)

    def messages(self, numbers: Iterable[int]) -> Iterator[Shown]:
        """Return the blocks of some messages, such as those of a sub-agent, without heads and feet of turns."""
        return Speaker(self.stage, self._turns).shown_all(numbers)

    def reach(self, place: int, count: int, step: int = 1) -> int:
        """Return the position after so many messages, up or down from here: at least one further, if there is one."""
        top = self.nesting.top
        messages = parts = 0
        while messages < count and parts < MOST_PARTS:
            at = place if step > 0 else place - 1
            if not 0 <= at < len(top):
                break
            messages += min(self._sizes[top[at]], MOST_BELOW)
            parts += len(self.conversation.messages[top[at]].parts)
            place += step
        return place

    def first_message_of(self, turn: int) -> int:
        """Return the position of a turn's first message; the end if it has none."""
        for number in self.nesting.top:
            if self.conversation.messages[number].turn == turn:
                return number
        return self.nesting.top[-1] if self.nesting.top else 0

    def _with_turns(self, place: int, end: int) -> Iterator[Framed]:
        """Yield each item with the turn that it belongs to, which determines its frame."""
        top = self.nesting.top
        speaker = Speaker(self.stage, self._turns)
        before: Shown | None = None
        current: int | None = None
        for at in range(place, end):
            message = self.conversation.messages[top[at]]
            index = message.turn if message.turn in self._turns else None
            if at not in self._starts and index != current:
                yield Framed(Continued(number=index + 1 if index is not None else None), index)
            for turn in self._starts.get(at, ()):
                yield Framed(self._head(turn), turn.index)
                if turn.index != message.turn:  # one without messages
                    yield Framed(turn_foot(turn, [], self.stage), turn.index)
                before = None
            current = index
            shown = speaker.shown(top[at], before)
            before = shown if shown.role != "event" else before
            yield Framed(shown, index)
            for turn in self._ends.get(at, ()):
                yield Framed(turn_foot(turn, self._numbers[turn.index], self.stage), turn.index)
        if end >= len(top):
            for turn in self._last_empty:
                yield Framed(self._head(turn), turn.index)
                yield Framed(turn_foot(turn, [], self.stage), turn.index)
            yield from (Framed(tail, None) for tail in self._tail())

    def _head(self, turn: Turn) -> TurnHead:
        return turn_head(turn, self._before.get(turn.index), self._repeated, self.stage)

    # --- what belongs to no turn ----------------------------------------------------------------------------------

    def _tail(self) -> Iterator[Tail]:
        conversation, stage = self.conversation, self.stage
        strays = {change.turn for change in conversation.file_changes if change.turn not in self._turns}
        changes = changes_in(conversation, strays) if strays else []
        counted = without_superseded(conversation)  # files of superseded turns are in no list
        tail = Tail(
            edits=[change_block(change, stage, is_open=True) for change in changes],
            files=[
                (
                    path_text(file.path or file.uri, stage.folder),
                    " ".join(word for word in (file.decision or "", "deleted" if file.is_deleted else "") if word),
                )
                for file in counted.files
            ],
            unnamed=[(file.uri, file.current or "") for file in unnamed_files(counted)],
            documents=shown_documents(conversation),
            lists=document_lists(conversation, stage.folder),
            waiting=list(self._waiting()),
        )
        if tail.edits or tail.files or tail.unnamed or tail.documents or tail.lists or tail.waiting:
            yield tail

    def _waiting(self) -> Iterator[Waiting]:
        conversation = self.conversation
        for queued in conversation.queued:
            kind = clean_line(queued.type or "queued", 40)
            yield Waiting(title=f"Never sent ({kind})", blocks=list(request_blocks(queued.message, -1, self.stage)))
        draft = conversation.draft
        if draft is not None and (draft.text.strip() or draft.attachments):
            message = Message(role="user", parts=[Text(text=draft.text), *draft.attachments])
            yield Waiting(title="Draft in the input box", blocks=list(request_blocks(message, -1, self.stage)))
