"""Texts of any kind in a Markdown document, each so that it cannot break out of its place.

An answer is Markdown itself and stays as it was written, but for three things: HTML in it is text, so that it closes
nothing of ours; a block of code that was never closed is closed; and pictures from elsewhere are links, so that nobody
fetches them who only opens the file.
"""

from __future__ import annotations

import re
from collections import deque

from copilog.writers.html.characters import visible, visible_line
from copilog.writers.html.markdown import LONGEST_MARKDOWN, block_parser

_BACKTICKS = re.compile("`+")
_SPECIAL = re.compile(r"([\\`*_\[\]<>~|#&!])")
_TAG_START = re.compile(r"(\\*)<(?=[A-Za-z/!?])(?!https?://[^\s<>]*>)")
_PICTURE = re.compile(r"(\\*)!(?=\[)")
_BLANK_LINE = re.compile(r"(\n[ \t]*\n)")


def plain(text: str, limit: int = 300) -> str:
    """Words on one line, with nothing in them that means something to Markdown."""
    return _SPECIAL.sub(r"\\\1", visible_line(text, limit))


def span(text: str, limit: int = 300) -> str:
    """A name as code within a line."""
    line = visible_line(text, limit) or " "
    ticks = "`" * (_longest_run(line) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def fence(text: str, language: str = "") -> str:
    """A block of code, its fence longer than any inside."""
    text = visible(text).strip("\n")
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def details(summary: str, *blocks: str) -> str:
    """Blocks that are folded; the summary is Markdown of ours."""
    body = "\n\n".join(block for block in blocks if block)
    return f"<details>\n<summary>{_as_html(summary)}</summary>\n\n{body}\n\n</details>"


def quoted(text: str) -> str:
    """Blocks within a quotation."""
    return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))


def prose(text: str) -> str:
    """An answer, or what the user wrote."""
    text = visible(text).strip("\n")
    if not text.strip():
        return ""
    if len(text) > LONGEST_MARKDOWN:
        return fence(text)
    lines = text.split("\n")
    code = [False] * len(lines)
    end = ""
    for token in block_parser().parse(text):
        if token.type in ("fence", "code_block") and token.map is not None:
            first, last = token.map
            code[first:last] = [True] * (last - first)
            if token.type == "fence" and token.level == 0 and last == len(lines):
                end = _missing_end(lines, first, token.markup)
    return "\n".join(_harmless_runs(lines, code)) + end


def _missing_end(lines: list[str], first: int, markup: str) -> str:
    """What closes a fence that the text leaves open."""
    last = lines[-1].strip()
    is_closed = len(lines) - 1 > first and len(last) >= len(markup) and not last.strip(markup[0])
    return "" if is_closed else f"\n{markup}"


def _harmless_runs(lines: list[str], code: list[bool]) -> list[str]:
    """The lines, those of prose without HTML."""
    made: list[str] = []
    run: list[str] = []
    for line, is_code in zip([*lines, ""], [*code, True], strict=True):
        if not is_code:
            run.append(line)
            continue
        if run:
            made += _without_html("\n".join(run)).split("\n")
            run = []
        made.append(line)
    return made[:-1]


def _without_html(text: str) -> str:
    """Prose whose tags and pictures are escaped, except in spans of code, which end with their paragraph."""
    return "".join(_paragraph(piece) for piece in _BLANK_LINE.split(text))


def _paragraph(text: str) -> str:
    runs: dict[int, deque[re.Match[str]]] = {}
    for match in _BACKTICKS.finditer(text):
        runs.setdefault(len(match[0]), deque()).append(match)
    made: list[str] = []
    at = 0
    for match in _BACKTICKS.finditer(text):
        waiting = runs[len(match[0])]
        while waiting and waiting[0].start() <= match.start():
            waiting.popleft()
        if match.start() < at or not waiting or text[match.start() - 1 : match.start()] == "\\":
            continue
        end = waiting[0].end()
        made.append(_escaped(text[at : match.start()]))
        made.append(text[match.start() : end])
        at = end
    made.append(_escaped(text[at:]))
    return "".join(made)


def _escaped(text: str) -> str:
    return _PICTURE.sub(_with_backslash, _TAG_START.sub(_with_backslash, text))


def _with_backslash(match: re.Match[str]) -> str:
    """The sign with a backslash before it, unless it has one that counts."""
    sign = match[0][-1]
    return match[0] if len(match[1]) % 2 else f"{match[1]}\\{sign}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _as_html(words: str) -> str:
    """Words in a tag of ours: Markdown means nothing there, and HTML must not."""
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
