"""Texts of a conversation in pages that other programs turn into websites and notes.

Such programs read Markdown in several dialects, and most keep HTML. So nothing here depends on the dialect: HTML is
written with entities, code stands in fences at the beginning of a line, only addresses of the web are links, and
headings are lower than those of the page.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from copilog.writers.html.characters import visible, visible_line
from copilog.writers.html.markdown import LONGEST_MARKDOWN, block_parser
from copilog.writers.markdown_text import fence, outside_spans

LOWEST_HEADING = 6
_SPECIAL = re.compile(r"([\\`*_\[\]#!{}])")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "|": "&#124;", "~": "&#126;", "%": "&#37;", "=": "&#61;",
             "{": "&#123;"}  # fmt: skip
# HTML, entities, lists of attributes such as {onclick=...} that some programs read, and Obsidian's comments.
_MARKUP = re.compile(r"<(?!https?://[A-Za-z0-9._~:/?#@&=+%-]{1,2000}>)|&(?=#?\w{1,40};)|\{|%(?=%)|(?<=%)%")
_PICTURE = re.compile(r"!(?=\[)")
_LINK = re.compile(r"\](\((?!\s*https?://)|\[|:)")
_LINE_START = re.compile(r"^(\s*)<", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_LANGUAGE = re.compile(r"[A-Za-z0-9+#-]{1,20}")


def words(text: str, limit: int = 300) -> str:
    """Return text on one line, as text."""
    line = _SPECIAL.sub(r"\\\1", visible_line(text, limit))
    return re.sub(r"[<>&|~%=]", lambda match: _ENTITIES[match[0]], line)


def link(label: str, target: str, anchor: str = "") -> str:
    """Return a link to another page; the label is Markdown already."""
    return f"[{label}]({quote(target)}{f'#{anchor}' if anchor else ''})"


def passage(text: str, level: int) -> str:
    """Return a recorded text, its headings at this level and below."""
    text = visible(text).strip("\n")
    if len(text) > LONGEST_MARKDOWN:
        return fence(text)
    lines = text.split("\n")
    made: list[str] = []
    start = 0
    tokens = block_parser().parse(text)
    highest = min((int(token.tag[1]) for token in tokens if token.type == "heading_open"), default=1)
    for token in tokens:
        if token.level or token.map is None or token.type not in ("fence", "code_block", "heading_open"):
            continue
        first, last = token.map
        made += _prose(lines[start:first])
        start = last
        if token.type == "heading_open":
            made += ["", _heading(lines[first:last], int(token.tag[1]) - highest + level), ""]
        else:
            language = _LANGUAGE.match(token.info.strip())
            made += ["", fence(token.content, language[0] if language else ""), ""]
    made += _prose(lines[start:])
    return re.sub(r"\n{3,}", "\n\n", "\n".join(made)).strip("\n")


def _heading(lines: list[str], level: int) -> str:
    match = _HEADING.match(lines[0])
    text = match[2] if match is not None else " ".join(line.strip() for line in lines[:-1])
    return f"{'#' * min(level, LOWEST_HEADING)} {outside_spans(text, _escaped)}"


def _prose(lines: list[str]) -> list[str]:
    text = outside_spans("\n".join(lines), _escaped)
    return _LINE_START.sub(r"\1&lt;", text).split("\n") if lines else []


def _escaped(text: str) -> str:
    """Return prose without HTML, pictures, and links to anything but the web. A backslash changes no entity."""
    text = _MARKUP.sub(lambda match: _ENTITIES[match[0]], text)
    return _LINK.sub(lambda match: f"]&#{ord(match[1])};", _PICTURE.sub("&#33;", text))
