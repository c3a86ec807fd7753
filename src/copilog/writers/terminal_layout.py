"""Pieces, indentation and folding: the layout of terminal output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

from copilog.derive.charges import Charge

INDENT = 2
TAB_COLUMNS = 4
DEEPEST = 12  # levels of indentation; deeper pieces are shown at this level
NARROWEST = 30  # columns for the content: on a narrow terminal there is less indentation
LINE_LIMIT = 400  # characters of a line that is not shown in full
ABSURD_LINE = 20_000  # a line of so many characters is data, not text


@dataclass(frozen=True, slots=True)
class TextOptions:
    """Which content of a conversation is shown, and how."""

    full: bool = False  # arguments, results and diffs in full; checkpoints too
    thinking: bool = False
    context: bool = False  # the context that Copilot added to the prompts
    markdown: bool = True  # laid out for a terminal; else as Markdown source
    turns: tuple[int, int] | None = None  # the first and the last turn to show, counted from 1
    superseded: bool = False  # superseded turns, too
    charges: tuple[Charge, ...] = ()  # what the archive knows of the cost of turns


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the output. Prose has blank lines around it; other blocks have none."""

    body: RenderableType
    level: int = 0
    is_prose: bool = False
    hangs: bool = False  # indent all lines but the first


class Indented:
    """An indented renderable, its first line perhaps less. Its lines are neither padded nor cut."""

    def __init__(self, body: RenderableType, columns: int, first: int | None = None) -> None:
        self.body = body
        self.columns = columns
        self.first = columns if first is None else first

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = max(0, options.max_width - NARROWEST)
        rest = min(self.columns, room)
        columns = min(self.first, room)
        inner = options.update(width=options.max_width - rest)
        for line in Segment.split_lines(console.render(self.body, inner)):
            line = _without_padding(line)
            if line:
                yield Segment(" " * columns)
                yield from line
            yield Segment.line()
            columns = rest


def _without_padding(line: list[Segment]) -> list[Segment]:
    """Return a line without trailing blanks, with which it could be wider than the terminal."""
    while line and not line[-1].text.strip():
        line.pop()
    if line:
        last = line[-1]
        line[-1] = Segment(last.text.rstrip(), last.style, last.control)
    return line


class Labelled:
    """A renderable beside a label, in a column of its own."""

    def __init__(self, label: Text, body: RenderableType, columns: int) -> None:
        self.label = label
        self.body = body
        self.columns = columns

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        label = self.label.copy()
        label.end = " " * max(1, self.columns - label.cell_len)
        yield label
        body = list(console.render(Indented(self.body, self.columns, first=0), options))
        yield from body or [Segment.line()]


def stacked(pieces: Iterable[Piece]) -> Iterator[RenderableType]:
    """Yield the pieces below one another, each at its level."""
    before: Piece | None = None
    for piece in pieces:
        if before is not None and (before.is_prose or piece.is_prose):
            yield Text()
        columns = INDENT * min(piece.level, DEEPEST)
        yield Indented(piece.body, columns + 2 * INDENT * piece.hangs, first=columns)
        before = piece


def folded(text: str, limit: int | None, style: str = "", keep: Literal["head", "tail"] = "head") -> Text:
    """Return clean text of at most so many lines, with a note on what is left out; without a limit, all of it."""
    lines = text.strip("\n").split("\n")
    left_out = 0 if limit is None else len(lines) - limit
    if left_out == 1:  # the note would take as many lines as it saves
        left_out = 0
    shown = lines if left_out <= 0 else (lines[:limit] if keep == "head" else lines[left_out:])
    if limit is not None:
        shown = [_cut(line) for line in shown]
    body = Text("\n".join(shown), style, tab_size=TAB_COLUMNS)
    if left_out > 0:
        remark = Text(f"… {left_out:,} more lines" if keep == "head" else f"… {left_out:,} lines before", "dim italic")
        body = Text("\n").join([body, remark] if keep == "head" else [remark, body])
    return body


def _cut(line: str) -> str:
    if len(line) <= LINE_LIMIT:
        return line
    return f"{line[:LINE_LIMIT]}… {len(line) - LINE_LIMIT:,} more characters"


def joined(facts: Iterable[Text | str], separator: str = " · ", style: str = "dim") -> Text:
    """Return short facts in one line; empty ones are left out, and `Text` facts have their own style."""
    line = Text()
    for fact in facts:
        text = Text(fact, style) if isinstance(fact, str) else fact
        if text.plain:
            if line.plain:
                line.append(separator, style)
            line.append_text(text)
    return line
