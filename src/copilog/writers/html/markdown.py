"""Prose: Markdown as assistants write it, with tables, and without any HTML.

Two layers protect the page: markdown-it treats HTML as text, and its output goes through nh3, which allows only the few
elements and attributes that this module writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup, escape

from copilog.writers.html.characters import cut, visible
from copilog.writers.html.code import LONGEST_TEXT, code_html, cut_note
from copilog.writers.html.links import LONGEST_ADDRESS, image_chip, link_end, link_start

LONGEST_MARKDOWN = 200_000
DEEPEST_BLOCK = 40  # lists in quotes in lists; deeper ones are shown as source text
MOST_TOKENS = 150_000
MOST_BRACKETS = 10_000  # each may begin a link, and takes time to check
MOST_IN_LINKS = 2_000_000  # characters of addresses: one short label may have a long address, a thousand times

_BARE_ADDRESS = re.compile(r"https?://[^\s<>\"'`|\\]{1,2000}", re.IGNORECASE)
_AFTER_ADDRESS = ".,;:!?*_~'\")]}"
_BOX = re.compile(r"\[([ xX])\] ")

TAGS = {
    "a", "blockquote", "br", "button", "code", "del", "div", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre",
    "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {
    "a": {"href", "title", "rel", "target", "class"},
    "button": {"type", "class"},
    "div": {"class", "tabindex"},
    "ol": {"start"},
    "p": {"class"},
    "pre": {"tabindex", "class"},
    "span": {"class", "title"},
    "td": {"class"},
    "th": {"class"},
}


def markdown_html(text: str) -> Markup:
    """Return prose as HTML, in one element of the class `prose`."""
    if len(text) > LONGEST_MARKDOWN or text.count("[") > MOST_BRACKETS:
        return _plain(text)
    reader = parser()
    environment: dict[str, Any] = {}
    tokens = reader.parse(visible(text), environment)
    if _is_too_much(tokens):
        return _plain(text)
    html = reader.renderer.render(tokens, reader.options, environment)
    safe = nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES, link_rel=None, url_schemes={"http", "https", "mailto"})
    return Markup('<div class="prose">{}</div>').format(Markup(safe))  # noqa: S704 - that is what the walls are for


def _plain(text: str) -> Markup:
    kept, left_out = cut(text, LONGEST_TEXT)
    note = cut_note(left_out, "character") if left_out else ""
    return Markup('<div class="prose"><pre class="plain">{}</pre>{}</div>').format(visible(kept), note)


def _is_too_much(tokens: Sequence[Token]) -> bool:
    count = length = 0
    for token in tokens:
        children = token.children or ()
        count += 1 + len(children)
        length += sum(len(str(child.attrs.get("href", child.attrs.get("src", "")))) for child in children)
        if count > MOST_TOKENS or length > MOST_IN_LINKS:
            return True
    return False


# --- the parser -----------------------------------------------------------------------------------------------------


class _Parser(MarkdownIt):
    def normalizeLink(self, url: str) -> str:  # noqa: N802 - as the library calls it
        """Return an address as browsers would write it; one that is invalid is returned as it is, for the title."""
        if len(url) > LONGEST_ADDRESS:
            return url
        try:
            return super().normalizeLink(url)
        except (ValueError, IndexError, OverflowError):
            return url

    def validateLink(self, url: str) -> bool:  # noqa: ARG002, N802 - what becomes of a link is decided when it is shown
        return True


@cache
def parser() -> MarkdownIt:
    """Return the parser of answers."""
    return new_parser()


def new_parser() -> MarkdownIt:
    """Return a parser of our Markdown: no HTML, a bounded depth, and rules that draw each element."""
    made = _Parser("commonmark", {"html": False, "xhtmlOut": False, "maxNesting": 2 * DEEPEST_BLOCK})
    made.enable(["table", "strikethrough"])
    made.block.ruler.before("table", "deep", _deep)
    made.core.ruler.push("links", _links)
    made.core.ruler.push("boxes", _boxes)
    for name, rule in RULES.items():
        made.add_render_rule(name, rule)
    return made


@cache
def block_parser() -> MarkdownIt:
    """Return a parser that finds the blocks of a text, but not what is in them."""
    made = MarkdownIt("commonmark", {"html": False, "maxNesting": 2 * DEEPEST_BLOCK})
    made.enable("table")
    made.block.ruler.before("table", "deep", _deep)
    made.core.ruler.enableOnly(["normalize", "block"])
    return made


def _deep(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """Beyond some depth, treat the rest as source text."""
    if state.level < DEEPEST_BLOCK:
        return False
    if not silent:
        block = state.push("code_block", "code", 0)
        block.content = state.getLines(start_line, end_line, state.blkIndent, False)
        state.line = end_line
    return True


def _links(state: StateCore) -> None:
    """Pass the label of a link to its end, and make links of bare addresses."""
    for block in state.tokens:
        if block.type != "inline" or not block.children:
            continue
        children: list[Token] = []
        opened: Token | None = None
        label: list[str] = []
        for child in block.children:
            if child.type == "link_open":
                opened, label = child, []
            elif child.type == "link_close" and opened:
                child.meta = {"address": str(opened.attrs.get("href", "")), "label": "".join(label)}
                opened = None
            elif opened:
                label.append(child.content)
                child.meta = {"is_linked": True}
            elif child.type == "text" and "://" in child.content:
                children += _with_links(child)
                continue
            children.append(child)
        block.children = children


def _with_links(text: Token) -> list[Token]:
    tokens: list[Token] = []
    at = 0
    for match in _BARE_ADDRESS.finditer(text.content):
        address = _without_end(match[0])
        if at < match.start():
            tokens.append(_text(text.content[at : match.start()]))
        tokens.append(Token("link_open", "a", 1, attrs={"href": parser().normalizeLink(address)}))
        tokens.append(_text(address))
        tokens.append(Token("link_close", "a", -1, meta={"address": address, "label": ""}))
        at = match.start() + len(address)
    tokens.append(_text(text.content[at:]))
    return tokens


def _without_end(address: str) -> str:
    """Return the address without the punctuation of the sentence; a parenthesis belongs to it if opened in it."""
    kept = address.rstrip(_AFTER_ADDRESS)
    missing = kept.count("(") - kept.count(")")
    end = address[len(kept) :]
    return kept + end[: missing if missing > 0 and end.startswith(")" * missing) else 0]


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _boxes(state: StateCore) -> None:
    """Turn `[ ]` and `[x]` at the beginning of a list's item into boxes."""
    for index, block in enumerate(state.tokens):
        if block.type == "inline" and index > 1 and state.tokens[index - 2].type == "list_item_open" and block.children:
            first = block.children[0]
            box = _BOX.match(first.content) if first.type == "text" else None
            if box:
                first.content = ("☐ " if box[1] == " " else "☑ ") + first.content[box.end() :]


# --- elements -------------------------------------------------------------------------------------------------------


def _code(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _environment: Any) -> str:
    token = tokens[index]
    code = token.content.removesuffix("\n")
    language, _, about = token.info.strip().partition(" ")
    return str(code_html(code, language or None, about.strip()))


def _heading(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _environment: Any) -> str:
    """Draw the headings of an answer below those of the page."""
    level = min(int(tokens[index].tag[1:]) + 2, 6)
    return f"<h{level}>" if tokens[index].nesting == 1 else f"</h{level}>\n"


def _link_open(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _environment: Any) -> str:
    attributes = tokens[index].attrs
    return str(link_start(str(attributes.get("href", "")), str(attributes.get("title", ""))))


def _link_close(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _environment: Any) -> str:
    meta = tokens[index].meta
    return str(link_end(meta.get("address", ""), meta.get("label", "")))


def _image(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _environment: Any) -> str:
    token = tokens[index]
    is_linked = bool(token.meta.get("is_linked"))
    return str(image_chip(str(token.attrs.get("src", "")), token.content, is_linked=is_linked))


def _table(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _environment: Any) -> str:
    return '<div class="wide" tabindex="0"><table>\n' if tokens[index].nesting == 1 else "</table></div>\n"


def _cell(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _environment: Any) -> str:
    side = str(tokens[index].attrs.get("style", "")).removeprefix("text-align:")
    return f'<{tokens[index].tag} class="{escape(side)}">' if side else f"<{tokens[index].tag}>"


RULES = {
    "fence": _code,
    "code_block": _code,
    "heading_open": _heading,
    "heading_close": _heading,
    "link_open": _link_open,
    "link_close": _link_close,
    "image": _image,
    "table_open": _table,
    "table_close": _table,
    "th_open": _cell,
    "td_open": _cell,
}
