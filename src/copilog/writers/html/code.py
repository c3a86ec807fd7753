"""Code with its colours, JSON laid out, and plain text."""

from __future__ import annotations

import re
import time
from functools import cache
from typing import Any

from markupsafe import Markup, escape
from pygments import token  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

from copilog import jsonio
from copilog.errors import BadRecord
from copilog.writers.html.characters import cut, visible, visible_line
from copilog.writers.html.language_names import language_called

LONGEST_CODE = 50_000  # characters; what is longer is shown without colours
LONGEST_SECONDS = 0.5  # for the colours of one block; code that takes longer gets those found until then
LONGEST_LINE = 1_000
LONGEST_TEXT = 2_000_000
DEEPEST_INDENT = 40

# From the specific to the general; the rest has no colour. Each class has a colour in code.css.
CLASSES: dict[Any, str] = {
    token.Comment.Preproc: "hl-meta",
    token.Comment.PreprocFile: "hl-meta",
    token.Comment: "hl-comment",
    token.Keyword.Constant: "hl-constant",
    token.Keyword.Type: "hl-type",
    token.Keyword: "hl-keyword",
    token.Operator.Word: "hl-keyword",
    token.Literal.String.Escape: "hl-constant",
    token.Literal.String.Doc: "hl-comment",
    token.Literal.String: "hl-string",
    token.Literal.Number: "hl-number",
    token.Literal: "hl-number",
    token.Name.Attribute: "hl-attribute",
    token.Name.Builtin: "hl-builtin",
    token.Name.Class: "hl-type",
    token.Name.Constant: "hl-constant",
    token.Name.Decorator: "hl-meta",
    token.Name.Exception: "hl-type",
    token.Name.Function: "hl-function",
    token.Name.Namespace: "hl-type",
    token.Name.Tag: "hl-tag",
    token.Name.Variable: "hl-variable",
    token.Generic.Deleted: "hl-deleted",
    token.Generic.Inserted: "hl-inserted",
    token.Generic.Heading: "hl-heading",
    token.Generic.Subheading: "hl-heading",
    token.Generic.Emph: "hl-emphasis",
    token.Generic.Strong: "hl-strong",
    token.Generic.Prompt: "hl-meta",
    token.Generic.Output: "hl-comment",
    token.Generic.Error: "hl-deleted",
}
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


def code_html(code: str, language: str | None, about: str = "") -> Markup:
    """Return a block of code below a bar with the language's name, what else is known, and a button to copy it."""
    label = " ".join(filter(None, (visible_line(language or "", 40) or "text", visible_line(about, 300))))
    body = highlighted(visible(code), language)
    return Markup(
        '<div class="code"><div class="code-bar"><span>{}</span>'
        '<button type="button" class="copy">Copy</button></div>'
        '<pre tabindex="0"><code>{}</code></pre></div>'
    ).format(label, body)


def json_html(text: str) -> Markup:
    """Return JSON laid out line by line, exactly as it was written; other text is plain."""
    if len(text) > LONGEST_TEXT:
        return text_html(text)
    try:
        jsonio.decode(text.encode("utf-8", "surrogatepass"))
    except BadRecord:
        return text_html(text)
    return code_html(laid_out(text), "json")


def text_html(text: str) -> Markup:
    """Return text as it is, with its lines."""
    kept, left_out = cut(text, LONGEST_TEXT)
    note = cut_note(left_out, "character") if left_out else ""
    return Markup('<div class="plain">{}</div>{}').format(visible(kept), note)


def cut_note(count: int, what: str) -> Markup:
    words = f"{count:,} more {what}" + ("" if count == 1 else "s")
    return Markup('<p class="cut">{}</p>').format(f"{words} not shown here")


def highlighted(code: str, language: str | None) -> Markup:
    """Return escaped code with a span around each coloured token; no character is added or lost."""
    code, left_out = cut(code, LONGEST_TEXT)
    name = language_called(language)
    if left_out or name is None or len(code) > LONGEST_CODE or _has_long_line(code):
        return escape(code) + (f"\n… {left_out:,} more characters not shown here" if left_out else "")
    pieces: list[str] = []
    at = 0
    open_class = ""
    end = time.monotonic() + LONGEST_SECONDS
    for kind, value in _lexer(name).get_tokens(code):
        if not code.startswith(value, at) or time.monotonic() > end:
            break
        at += len(value)
        css_class = _class_of(kind)
        if css_class != open_class and not value.isspace():
            if open_class:
                pieces.append("</span>")
            if css_class:
                pieces.append(f'<span class="{css_class}">')
            open_class = css_class
        pieces.append(str(escape(value)))
    if open_class:
        pieces.append("</span>")
    pieces.append(str(escape(code[at:])))
    return Markup("".join(pieces))  # noqa: S704 - every value was escaped above


def laid_out(text: str) -> str:
    """Return valid JSON with line breaks and indents; numbers, escapes and repeated keys are not changed."""
    pieces: list[str] = []
    depth = 0
    previous = ""
    for match in _JSON_TOKEN.finditer(text):
        piece = match[0]
        if piece in "}]":
            depth -= 1
            if previous not in ("{", "["):
                pieces.append(_line_break(depth))
        elif previous in ("{", "[", ","):
            pieces.append(_line_break(depth))
        pieces.append(": " if piece == ":" else piece)
        if piece in "{[":
            depth += 1
        previous = piece
    return "".join(pieces)


def _line_break(depth: int) -> str:
    return "\n" + "  " * min(depth, DEEPEST_INDENT)


def _has_long_line(code: str) -> bool:
    return any(len(line) > LONGEST_LINE for line in code.split("\n"))


@cache
def _lexer(name: str) -> Any:
    # The lexer of Markdown would load the lexer of any language that a block names.
    options = {"handlecodeblocks": False} if name == "markdown" else {}
    return get_lexer_by_name(name, stripnl=False, ensurenl=False, **options)


@cache
def _class_of(kind: Any) -> str:
    while kind is not None:
        if kind in CLASSES:
            return CLASSES[kind]
        kind = kind.parent
    return ""
