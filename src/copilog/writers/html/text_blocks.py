"""Texts of any length and kind, prepared for the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from copilog.derive.line_counts import Lines
from copilog.text_cache import cached_by_text
from copilog.view.prose import FIRST_MARK, MARKS
from copilog.view.wording import counted
from copilog.writers.html.code import code_html, json_html, text_html
from copilog.writers.html.diffs import side_by_side_html, unified_html
from copilog.writers.html.markdown import markdown_html
from copilog.writers.html.terminal import terminal_html

SHORT = 12_000  # characters of a tool's text that are shown at first
KEPT_LENGTH = 10_000
SPLIT_LIMIT = 60_000  # characters of a diff that is shown in both ways

_TAG_OR_MARK = re.compile('<(?:[^"<>]|"[^"]*")*>|[\U00100000-\U0010fffd]')


class Long(NamedTuple):
    """A text ready for the page, perhaps only its beginning."""

    html: Markup
    left_out: str = ""  # how much of it is shown
    link: str | None = None  # the address of the full text


class Diff(NamedTuple):
    """A diff in one column, and in two."""

    unified: Markup
    split: Markup | None = None


def long_text(text: str, link: str | None = None, *, is_whole: bool = False, language: str | None = None) -> Long:
    """Return the text of a program: JSON, a diff, code of a language, output with colours, or plain text."""
    shown, left_out = _beginning(text, is_whole)
    stripped = shown.lstrip()
    if not left_out and stripped[:1] in ("{", "[") and stripped.rstrip()[-1:] in ("}", "]"):
        html = json_html(shown)
    elif stripped.startswith(("diff --git ", "--- a/")) and "\n@@ " in stripped:
        html = unified_html(stripped)
    elif language is not None and "\x1b" not in shown:
        html = code_html(shown, language)
    else:
        html = terminal_html(shown)
    return Long(html=html, left_out=left_out, link=link if left_out else None)


def long_plain(text: str, link: str | None = None, *, is_whole: bool = False) -> Long:
    """Return text as it is, with its lines."""
    shown, left_out = _beginning(text, is_whole)
    return Long(html=text_html(shown), left_out=left_out, link=link if left_out else None)


@cached_by_text(1000, longest=KEPT_LENGTH)
def prose_html(text: str) -> Markup:
    """Return Markdown as HTML. Recent results are cached: a growing page shows most of them again."""
    return markdown_html(text)


def long_markdown(text: str, link: str | None = None, *, is_whole: bool = False) -> Long:
    """Return Markdown, laid out."""
    shown, left_out = _beginning(text, is_whole)
    return Long(html=prose_html(shown), left_out=left_out, link=link if left_out else None)


def diff_of(text: str, lines: Lines) -> Diff:
    """Return the diff of an edit with so many added and removed lines, in both layouts; a long one only in one."""
    split = side_by_side_html(text, lines) if len(text) <= SPLIT_LIMIT else None
    return Diff(unified=unified_html(text, lines), split=split)


def _beginning(text: str, is_whole: bool) -> tuple[str, str]:
    if is_whole or len(text) <= SHORT:
        return text, ""
    return text[:SHORT], counted(len(text) - SHORT, "more character")


def with_things(html: Markup, things: Sequence[tuple[Markup, str]]) -> Markup:
    """Replace marks by elements. Within a tag, as in the title of a link, only text is possible."""

    def at(mark: str) -> tuple[Markup, str]:
        index = ord(mark) - FIRST_MARK
        return things[index] if index < len(things) else (Markup("\ufffd"), "\ufffd")

    def filled(match: re.Match[str]) -> str:
        if match[0][0] == "<":
            return MARKS.sub(lambda mark: str(Markup.escape(at(mark[0])[1])), match[0])
        return str(at(match[0])[0])

    return Markup(_TAG_OR_MARK.sub(filled, str(html))) if things else html  # noqa: S704 - things and words are safe
