"""How the blocks of a conversation are drawn on a page: the functions that its templates call.

Text of a conversation is either a `str`, which the template escapes, or `Markup` made by the modules in this package,
which is safe for a browser.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from markupsafe import Markup, escape

from copilog.derive.line_counts import Lines
from copilog.view import View
from copilog.view.blocks import At, Call, Chip, EventNote, Link, Prose, Shown, TypedText
from copilog.view.prose import FIRST_MARK, without_marks
from copilog.view.terminal_text import clean_line
from copilog.view.wording import markdown_as_plain
from copilog.writers.html.addresses import Addresses
from copilog.writers.html.characters import visible
from copilog.writers.html.code import code_html
from copilog.writers.html.language_names import language_of_path
from copilog.writers.html.text_blocks import (
    Diff,
    Long,
    diff_of,
    long_markdown,
    long_plain,
    long_text,
    prose_html,
    with_things,
)

FIRST_BELOW = 30  # messages of a sub-agent that come with the page
MOST_PLACES = 30  # files of a result
MOST_COLOURED = 4_000  # characters of files that are highlighted in one window
MOST_COLOURED_WHOLE = 200_000
NOTE_FIELD = "note-"  # and its index: the name of a note's text in a link

_FENCE = re.compile(r"^(`{3,}|~{3,})([^\n`]*)\n(.*?)(?:^\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`[^`\n]+`)")


class Below(NamedTuple):
    """Messages of a sub-agent, and the address of those after them."""

    messages: list[Shown]
    more: str | None


@dataclass(slots=True)
class Page:
    """One page, or one window of it."""

    view: View
    addresses: Addresses
    is_whole: bool = False  # nothing is loaded later
    is_static: bool = False  # without scripts
    wanted: int | None = None  # a message that must be drawn, however deeply it is nested
    _coloured: int = 0  # characters of files that were highlighted so far

    def as_static(self, is_static: bool) -> Page:
        return replace(self, is_static=True) if is_static else self

    # --- addresses ------------------------------------------------------------------------------------------------

    def raw(self, at: At) -> str | None:
        return self.addresses.raw(*at) if at[0] >= 0 else None

    def raw_message(self, number: int) -> str | None:
        return self.addresses.raw(number)

    def raw_turn(self, turn: int) -> str | None:
        return self.addresses.raw_turn(turn)

    def link(self, message: int) -> str:
        return self.addresses.message(message)

    def picture(self, chip: Chip) -> str | None:
        if chip.data is None:
            return None
        return self.addresses.picture(*chip.at, chip.item, chip.data)

    @staticmethod
    def note_field(index: int) -> str:
        return f"{NOTE_FIELD}{index}"

    # --- texts ----------------------------------------------------------------------------------------------------

    def _where(self, at: At | None, field: str) -> str | None:
        return self.addresses.text(*at, field) if at is not None and at[0] >= 0 else None

    def text(self, text: str, at: At | None = None, field: str = "text", path: str = "") -> Long:
        """Return a program's text. Files are highlighted up to a limit, as that is slow and they are folded."""
        language = None
        if path and self._coloured <= (MOST_COLOURED_WHOLE if self.is_whole else MOST_COLOURED):
            language = language_of_path(path)
            self._coloured += len(text) if language is not None else 0
        return long_text(text, self._where(at, field), is_whole=self.is_whole, language=language)

    def plain(self, text: str, at: At | None = None, field: str = "text") -> Long:
        return long_plain(text, self._where(at, field), is_whole=self.is_whole)

    def markdown(self, text: str, at: At | None = None, field: str = "text") -> Long:
        return long_markdown(text, self._where(at, field), is_whole=self.is_whole)

    def diff(self, text: str, lines: Lines) -> Diff:
        return diff_of(text, lines)

    def folded(self, aside: EventNote) -> Long:
        """Return the folded text of a note."""
        draw = {"compaction": self.markdown, "withdrawn": self.plain}.get(aside.look, self.text)
        return draw(aside.text, aside.at)

    # --- prose ----------------------------------------------------------------------------------------------------

    @staticmethod
    def prose(block: Prose) -> Markup:
        return with_things(prose_html(block.text), [_link(each) for each in block.links])

    def words(self, block: TypedText) -> Markup:
        """Return text as it was typed, with code blocks laid out and mentions in boxes."""
        text, things = _with_marks(block)
        pieces: list[Markup] = []
        at = 0
        for fence in _FENCE.finditer(text):
            pieces.append(_lines(text[at : fence.start()]))
            pieces.append(code_html(fence[3].removesuffix("\n"), fence[2].strip() or None))
            at = fence.end()
        pieces.append(_lines(text[at:]))
        return with_things(Markup("").join(pieces), things)

    def typed(self, text: str) -> Markup:
        return self.words(TypedText(text=text))

    # --- calls ----------------------------------------------------------------------------------------------------

    def given(self, call: Call) -> Long | None:
        """Return arguments that no other block shows, as JSON; as text if they are not JSON."""
        given = call.given
        if given.text:
            return self.text(given.text, call.at, "arguments")
        if not given.rest:
            return None
        if len(given.rest) == 1 and "\n" in given.rest[0][1]:
            name, value = given.rest[0]
            return self.text(f"{name}:\n{value}", call.at, "arguments")
        whole = call.arguments
        if len(given.rest) > 1 and len(whole) < 100_000 and given.change is None and whole.startswith("{"):
            return self.text(whole, call.at, "arguments")
        return self.text("\n".join(f"{name}: {value}" for name, value in given.rest), call.at, "arguments")

    def some(self, chips: list[Chip]) -> list[Chip]:
        """Return the files of a result, up to a limit."""
        more = 0 if self.is_whole else len(chips) - MOST_PLACES
        if more <= 0:
            return chips
        return [*chips[:MOST_PLACES], Chip(label="file", name=f"and {more:,} more", is_faint=True)]

    def is_wanted_in(self, call: Call) -> bool:
        return self.wanted is not None and self.wanted in call.below

    def below(self, call: Call) -> Below:
        """Return the messages of a call's sub-agent, up to a limit."""
        numbers = call.below
        first = len(numbers) if self.is_whole else FIRST_BELOW
        if self.wanted is not None and not self.is_whole and numbers and numbers[-1] >= self.wanted:
            reached = next((at for at, other in enumerate(numbers) if other >= self.wanted), 0)
            first = max(first, reached + FIRST_BELOW)
        more = self.addresses.below(call.id, first) if first < len(numbers) else None
        return Below(list(self.view.messages(numbers[:first])), more)


def _link(link: Link) -> tuple[Markup, str]:
    """Return a file or symbol within a sentence."""
    words = clean_line(markdown_as_plain(link.words), 300) or link.where
    remark = f" ({link.remark})" if link.remark else ""
    return Markup('<span class="ref" title="{}">{}</span>{}').format(link.where, words, remark), words + remark


def _with_marks(block: TypedText) -> tuple[str, list[tuple[Markup, str]]]:
    """Return the text with a mark for each mention, the last one first, so that offsets remain valid."""
    text = without_marks(block.text)
    things: list[tuple[Markup, str]] = []
    end = len(text)
    for first, last, kind in sorted(block.mentions, reverse=True):
        if not 0 <= first < last <= end:
            continue
        words = text[first:last]
        box = Markup('<span class="mention" title="{}">{}</span>').format(clean_line(kind, 40), words)
        things.append((box, words))
        text = f"{text[:first]}{chr(FIRST_MARK + len(things) - 1)}{text[last:]}"
        end = first
    return text, things


def _lines(text: str) -> Markup:
    """Return lines of prose, with the text in backticks as code."""
    text = visible(text.strip("\n"))
    if not text.strip():
        return Markup("")
    pieces = [
        Markup("<code>{}</code>").format(piece[1:-1]) if _CODE.fullmatch(piece) else escape(piece)
        for piece in _CODE.split(text)
    ]
    return Markup('<div class="plain">{}</div>').format(Markup("").join(pieces))
