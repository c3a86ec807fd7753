"""Return a window of a conversation: as much as a budget of tokens allows, from a position on, with the next cursor.

If the rest does not fit, the results of tools are shortened first, then the window ends earlier. Texts of users and
models wrote is cut only where a single message is longer than the whole budget.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from copilog.derive.counting import branch_name, last_number, only_trace_of, only_traces
from copilog.derive.documents import numbered_documents
from copilog.errors import UsageError
from copilog.model import Conversation, Turn, turn_number
from copilog.view.wording import model_text
from copilog.writers.mcp import Piece, pieces_of
from copilog.writers.mcp_text import BYTES_PER_TOKEN, beginning_of, one_line, size_of, tokens_of

ToolResults = Literal["short", "full", "none"]

LIMITS = (None, 1200, 300)  # limits in characters of a tool's arguments or result: the first with which the rest fits
BEFORE = 0.35  # share of the budget for the text before the message that a window is around
SMALLEST_CUT = 400  # bytes: a message does not begin with less than this
MODES: dict[str, ToolResults] = {"s": "short", "f": "full", "n": "none"}

_CURSOR = re.compile(r"(\d{1,9})\.(\d{1,9})\.([sfn])(t?)")


@dataclass(frozen=True, slots=True)
class Cursor:
    """The start of a window, with the options that all its pages share."""

    piece: int = 0
    offset: int = 0
    tool_results: ToolResults = "short"
    thinking: bool = False

    def __str__(self) -> str:
        return f"{self.piece}.{self.offset}.{self.tool_results[0]}{'t' if self.thinking else ''}"

    @classmethod
    def parse(cls, text: str) -> Cursor:
        match = _CURSOR.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"{one_line(text, 60)!r} is not a cursor; give next_cursor of an earlier answer unchanged")
        return cls(int(match[1]), int(match[2]), MODES[match[3]], bool(match[4]))


@dataclass(frozen=True, slots=True)
class Window:
    """The text of a window. Turns count from 1; `next_cursor` is None at the end."""

    text: str
    tokens: int
    first_turn: int | None
    last_turn: int | None
    next_cursor: str | None
    is_shortened: bool
    thinking_left_out: int


class Reader:
    """Opens windows of one conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self._turns = {turn.index: turn for turn in conversation.turns}
        self._alone = only_traces(conversation)
        self._last = last_number(conversation)
        self._messages = len(conversation.messages)
        self._title = self._messages + sum(document.is_own for document in numbered_documents(conversation))
        self._pieces = pieces_of(conversation)

    def at_turn(self, number: int, tool_results: ToolResults = "short", *, thinking: bool = False) -> Cursor:
        """Return the index of the first piece of a turn, counted from 1."""
        count = len(self._turns)
        if not 1 <= number <= max(count, 1):
            raise UsageError(f"there is no turn {number}: its turns are numbered 1 to {count:,}")
        turns = [piece.turn for piece in self._pieces]
        if number - 1 in turns:
            return Cursor(turns.index(number - 1), 0, tool_results, thinking)
        later = (index for index, turn in enumerate(turns) if (turn or 0) >= number - 1)
        return Cursor(next(later, 0 if number == 1 else len(turns)), 0, tool_results, thinking)

    def around(
        self, message: int, budget: int, tool_results: ToolResults = "short", *, thinking: bool = False
    ) -> Cursor:
        """Return the index of a piece before a message, so that the window has the message and some text before it."""
        if not 0 <= message <= self._title:
            raise UsageError(f"there is no message {message}: the conversation has {self._messages:,}, counted from 0")
        if message == self._title:
            return Cursor(0, 0, tool_results, thinking)
        start = self._piece_of(message)
        room = int(budget * BYTES_PER_TOKEN * BEFORE)
        while start > 0:
            room -= size_of(self._pieces[start - 1].written(LIMITS[-1]))
            if room < 0:
                break
            start -= 1
        return Cursor(start, 0, tool_results, thinking)

    def _piece_of(self, message: int) -> int:
        """Return the first piece of a message: results are next to their calls, so pieces are not in message order."""
        numbers = [piece.message for piece in self._pieces]
        if message in numbers:
            return numbers.index(message)
        if message >= self._messages:  # a document that is only in a list, at the end
            return max(len(numbers) - 1, 0)
        return next((index for index, number in enumerate(numbers) if number >= message), 0)

    def window(self, cursor: Cursor, budget: int, focus: int | None = None) -> Window:
        """Return what fits a budget of tokens from a position on; results of the focused message are shortened less."""
        if cursor.piece > len(self._pieces):
            raise UsageError(
                f"the cursor {cursor} is after the end of the conversation; give start_turn or around instead"
            )
        return _Filling(
            self._pieces, self._turns, self._alone, self._last, cursor, budget * BYTES_PER_TOKEN, focus
        ).fill()


class _Filling:
    """A window while it is filled."""

    def __init__(
        self,
        pieces: list[Piece],
        turns: dict[int, Turn],
        alone: dict[int, str],
        last: int | None,
        cursor: Cursor,
        size: int,
        focus: int | None,
    ) -> None:
        self._pieces = pieces
        self._turns = turns
        self._alone = alone
        self._last = last
        self._cursor = cursor
        self._size = size
        self._focus = focus
        self._limit = self._choose_limit()
        self._texts: list[str] = []
        self._used = 0
        self._shown: list[Piece] = []
        self._is_shortened = False
        self._thoughts = 0

    def fill(self) -> Window:
        end: Cursor | None = None
        for index in range(self._cursor.piece, len(self._pieces)):
            piece = self._pieces[index]
            if not self._is_included(piece):
                self._thoughts += piece.kind == "thinking"
                continue
            end = self._add(index, piece)
            if end is not None:
                break
        text = "\n\n".join(self._texts)
        numbers = [turn_number(piece.turn) for piece in self._shown if piece.turn is not None]
        return Window(
            text=text,
            tokens=tokens_of(text),
            first_turn=numbers[0] if numbers else None,
            last_turn=numbers[-1] if numbers else None,
            next_cursor=str(end) if end is not None else None,
            is_shortened=self._is_shortened,
            thinking_left_out=self._thoughts,
        )

    def _add(self, index: int, piece: Piece) -> Cursor | None:
        """Add a piece, or as much of it as fits; return the position to continue at if it did not fit."""
        offset = self._cursor.offset if index == self._cursor.piece else 0
        heading = self._heading_of(piece, is_continued=offset > 0)
        limit = self._limit_of(piece)
        text = piece.written(limit)[offset:]
        if not text:
            return None
        room = self._size - self._used - size_of(heading) - 4  # the blank lines between pieces
        if size_of(text) > room:
            is_first = not self._texts
            is_long = piece.kind in ("prose", "thinking") and size_of(text) > self._size // 2
            if not is_first and not (is_long and room >= SMALLEST_CUT):
                return self._at(index, offset)
            text = beginning_of(text, max(room, BYTES_PER_TOKEN * 10))
            self._put(heading, text, piece)
            return self._at(index, offset + len(text))
        self._put(heading, text, piece)
        self._is_shortened |= limit is not None and len(piece.body) > limit
        return None

    def _put(self, heading: str, text: str, piece: Piece) -> None:
        block = f"{heading}\n\n{text}" if heading else text
        self._texts.append(block)
        self._used += size_of(block) + 2
        self._shown.append(piece)

    def _at(self, index: int, offset: int) -> Cursor:
        return Cursor(index, offset, self._cursor.tool_results, self._cursor.thinking)

    def _is_included(self, piece: Piece) -> bool:
        if piece.kind == "thinking":
            return self._cursor.thinking
        return piece.kind != "result" or self._cursor.tool_results != "none"

    def _choose_limit(self) -> int | None:
        """Return the limit for tool texts: none if everything from here on fits."""
        if self._cursor.tool_results == "full":
            return None
        for limit in LIMITS[:-1]:
            room = self._size
            for piece in self._pieces[self._cursor.piece :]:
                if self._is_included(piece):
                    room -= size_of(piece.written(limit)) + 40  # space for headings
                if room < 0:
                    break
            else:
                return limit
        return LIMITS[-1]

    def _limit_of(self, piece: Piece) -> int | None:
        if self._limit is not None and piece.message == self._focus:
            return max(self._limit, self._size // 8)
        return self._limit

    def _heading_of(self, piece: Piece, *, is_continued: bool) -> str:
        """Return headings if the turn or the role changes."""
        before = self._shown[-1] if self._shown else None
        lines = []
        if before is None or before.turn != piece.turn:
            lines += self._turn_heading(piece)
        if lines or before is None or before.role != piece.role:
            lines.append(f"### {piece.role}{' (continued)' if is_continued else ''}")
        return "\n\n".join(lines)

    def _turn_heading(self, piece: Piece) -> list[str]:
        turn = self._turns.get(piece.turn) if piece.turn is not None else None
        if turn is None:
            return []
        words = [f"## Turn {turn_number(turn.index)}" + (f" of {self._last}" if self._last is not None else "")]
        if turn.timing.started_at is not None:
            words.append(turn.timing.started_at.strftime("%Y-%m-%d %H:%M UTC"))
        if model := model_text(turn):
            words.append(one_line(model, 100))
        if turn.mode is not None and turn.mode.kind:
            words.append(f"{one_line(turn.mode.kind, 40)} mode")
        if turn.branch is not None:
            words.append(f"{branch_name(turn.branch)}, in {one_line(turn.branch.trace)}")
        if (path := only_trace_of(turn, self._alone)) is not None:
            words.append(f"only in {one_line(path)}")
        return [" · ".join(words)]
