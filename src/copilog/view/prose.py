"""The answer's Markdown: its pieces joined up to the next block, with marks for files and symbols."""

from __future__ import annotations

import re
from collections.abc import Callable

from copilog.model import ends_with_fence
from copilog.view.blocks import Link

MARKS = re.compile("[\U00100000-\U0010fffd]")  # private-use characters: the first is the mark of the first link
FIRST_MARK = 0x100000
_MOST_MARKS = 0xFFF0

_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_CLOSING = re.compile(r"\s*(`{3,}|~{3,})[ \t]*(?:\n|$)")


def without_marks(text: str) -> str:
    """Return the text with all mark characters in it replaced, so that they are not taken for marks."""
    return MARKS.sub("\ufffd", text)


def with_links(text: str, links: list[Link], draw: Callable[[Link], str]) -> str:
    """Return prose with its links drawn at their marks."""

    def drawn(mark: re.Match[str]) -> str:
        index = ord(mark[0]) - FIRST_MARK
        return draw(links[index]) if index < len(links) else "\ufffd"

    return MARKS.sub(drawn, text)


class ProseBuffer:
    """Collects pieces of Markdown. If an edit cuts a code block in two, its halves are repaired or dropped."""

    def __init__(self) -> None:
        self._text = ""
        self._links: list[Link] = []
        self._cut_fence: str | None = None  # the line that opened the block in which the last piece ends

    def add_text(self, text: str) -> None:
        """Append a piece of text."""
        self._add(without_marks(text))

    def _add(self, text: str) -> None:
        if self._cut_fence is not None and text.strip():
            closing = _CLOSING.match(text)
            if closing and _closes(closing[1], self._cut_fence):
                text = text[closing.end() :]
            elif _continues_code(text):
                self._text += self._cut_fence + "\n"
            self._cut_fence = None
        self._text += text

    def add_link(self, link: Link) -> None:
        """Append a mark for a file or symbol, on a new line after a fence; its label if there are too many."""
        text = without_marks(f"{link.words} ({link.remark})" if link.remark else link.words)
        if len(self._links) < _MOST_MARKS:
            text = chr(FIRST_MARK + len(self._links))
            self._links.append(link)
        self._add("\n" + text if ends_with_fence(self._text) else text)

    def name_block(self, path: str) -> None:
        """Write the file name beside the language of a code block that was just opened."""
        opened = _open_fence(self._text)
        if opened is not None and not self._text[opened.end() :].strip():
            label = " " + without_marks(path.replace("`", "'")) if path else ""
            self._text = self._text[: opened.end()].rstrip() + label + self._text[opened.end() :]

    def take(self) -> tuple[str, list[Link]]:
        """Return the collected text, without empty code blocks; empty if there is nothing to show."""
        text, self._text = self._text, ""
        links, self._links = self._links, []
        opened = _open_fence(text)
        if opened is not None:
            self._cut_fence = opened[0]
            if not text[opened.end() :].strip():
                text = text[: opened.start()]
        return (_without_empty_blocks(text).strip("\n") if text.strip() else ""), links


def _continues_code(text: str) -> bool:
    """Return whether a piece ends a block that it did not begin."""
    pairs = _blocks(text)
    return bool(pairs) and pairs[-1][1] is None and not pairs[0][0][2].strip()


def _closes(fence: str, opening: str) -> bool:
    mark = opening.lstrip(" \t>")
    width = len(mark) - len(mark.lstrip(mark[0]))
    return fence[0] == mark[0] and len(fence) >= width


def _blocks(text: str) -> list[tuple[re.Match[str], re.Match[str] | None]]:
    """Return the fences of a text in pairs; the last one may be open."""
    pairs: list[tuple[re.Match[str], re.Match[str] | None]] = []
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opening is None:
            if "`" not in fence[2] or fence[1][0] == "~":  # else it is inline code
                opening = fence
        elif not fence[2].strip() and _closes(fence[1], opening[1]):
            pairs.append((opening, fence))
            opening = None
    if opening is not None:
        pairs.append((opening, None))
    return pairs


def _open_fence(text: str) -> re.Match[str] | None:
    pairs = _blocks(text)
    return pairs[-1][0] if pairs and pairs[-1][1] is None else None


def _without_empty_blocks(text: str) -> str:
    kept: list[str] = []
    at = 0
    for opening, closing in _blocks(text):
        if closing is not None and not text[opening.end() : closing.start()].strip():
            kept.append(text[at : opening.start()])
            at = closing.end()
    return "".join([*kept, text[at:]])
