"""Texts of any kind in a Markdown document, each escaped so that it cannot affect the text around it.

An answer is Markdown and stays as it was written, with three exceptions: HTML in it is text, so that it closes no
element of ours; an open code block is closed; and pictures from the web are links, so that opening the file fetches
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from copilog.writers.html.characters import visible, visible_line
from copilog.writers.html.markdown import LONGEST_MARKDOWN, block_parser

_BACKTICKS = re.compile("`+")
_SPECIAL = re.compile(r"([\\`*_\[\]<>~|#&!])")
_TAG_START = re.compile(r"(\\*)<(?=[A-Za-z/!?])(?!https?://[^\s<>]*>)")
_PICTURE = re.compile(r"(\\*)!(?=\[)")
_BLANK_LINE = re.compile(r"(\n[ \t]*\n)")


def plain(text: str, limit: int = 300) -> str:
    """Return text on one line, with all Markdown in it escaped."""
    return _SPECIAL.sub(r"\\\1", visible_line(text, limit))


def span(text: str, limit: int = 300) -> str:
    """Return a name as inline code."""
    line = visible_line(text, limit) or " "
    ticks = "`" * (_longest_run(line) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def fence(text: str, language: str = "") -> str:
    """Return a code block whose fence is longer than any in the text."""
    text = visible(text).strip("\n")
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def details(summary: str, *blocks: str) -> str:
    """Return folded blocks; the summary is our own Markdown."""
    body = "\n\n".join(block for block in blocks if block)
    return f"<details>\n<summary>{_as_html(summary)}</summary>\n\n{body}\n\n</details>"


def quoted(text: str) -> str:
    """Return blocks as a quotation."""
    return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))


def prose(text: str) -> str:
    """Return an answer, or the user's text."""
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
    """Return the end of a fence that the text leaves open."""
    last = lines[-1].strip()
    is_closed = len(lines) - 1 > first and len(last) >= len(markup) and not last.strip(markup[0])
    return "" if is_closed else f"\n{markup}"


def _harmless_runs(lines: list[str], code: list[bool]) -> list[str]:
    """Return the lines, those of prose without HTML."""
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
    """Return prose with tags and pictures escaped, except in code spans."""
    return outside_spans(text, _escaped)


def outside_spans(text: str, change: Callable[[str], str]) -> str:
    """Return prose with everything changed that is not in a code span.

    Code is only what every reader of Markdown takes for code: a span that ends in its line, in a paragraph without
    other backticks, and not in a row of a table. What looks like a span across lines may be two items of a list.
    """
    return "".join(_paragraph(piece, change) for piece in _BLANK_LINE.split(text))


def _paragraph(text: str, change: Callable[[str], str]) -> str:
    lines = [_spans_of(line) for line in text.split("\n")]
    if any(spans is None for spans in lines):
        return change(text)
    made = []
    for line, spans in zip(text.split("\n"), lines, strict=True):
        at = 0
        for start, end in spans or ():
            made += [change(line[at:start]), line[start:end]]
            at = end
        made += [change(line[at:]), "\n"]
    return "".join(made[:-1])


def _spans_of(line: str) -> list[tuple[int, int]] | None:
    """Return where the code spans of a line are; None if it has other backticks, or may be a row of a table."""
    runs = list(_BACKTICKS.finditer(line))
    if runs and ("|" in line or "\\`" in line):
        return None
    spans: list[tuple[int, int]] = []
    start: re.Match[str] | None = None
    for run in runs:
        if start is None:
            start = run
        elif len(run[0]) == len(start[0]):
            spans.append((start.start(), run.end()))
            start = None
    return spans if start is None else None


def _escaped(text: str) -> str:
    return _PICTURE.sub(_with_backslash, _TAG_START.sub(_with_backslash, text))


def _with_backslash(match: re.Match[str]) -> str:
    """Return the character with a backslash before it, unless it is escaped already."""
    sign = match[0][-1]
    return match[0] if len(match[1]) % 2 else f"{match[1]}\\{sign}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _as_html(words: str) -> str:
    """Return text for an HTML element of ours, with HTML and Markdown escaped."""
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
