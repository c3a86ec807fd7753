"""Draw Markdown pages of our own as HTML: with links between them, and headings that have addresses.

The texts in such a page are made harmless before they get into it. Still, HTML is text here, and what comes out goes
through the same wall as prose of answers. Only addresses that the caller knows become links within the viewer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

from copilog.writers.html.characters import visible
from copilog.writers.html.links import link_end, link_start
from copilog.writers.html.markdown import ATTRIBUTES, TAGS, new_parser

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_NO_WORD = re.compile(r"[^\w\- ]+")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n+", re.DOTALL)


def own_page_html(text: str, address_of: Callable[[str], str | None]) -> Markup:
    """Return a page; `address_of` returns the address in the viewer of a link between pages, or None for others."""
    reader = _parser()
    environment: dict[str, Any] = {"address_of": address_of}
    tokens = reader.parse(visible(_FRONT_MATTER.sub("", text)), environment)
    html = reader.renderer.render(tokens, reader.options, environment)
    attributes = {**ATTRIBUTES, **{heading: {"id"} for heading in _HEADINGS}}
    safe = nh3.clean(
        html,
        tags=TAGS | set(_HEADINGS),
        attributes=attributes,
        link_rel=None,
        url_schemes={"http", "https", "mailto"},
    )
    return Markup('<div class="prose">{}</div>').format(Markup(safe))  # noqa: S704 - that is what the walls are for


@cache
def _parser() -> MarkdownIt:
    made = new_parser()
    made.add_render_rule("heading_open", _heading)
    made.add_render_rule("heading_close", _heading)
    made.add_render_rule("link_open", _link_open)
    made.add_render_rule("link_close", _link_close)
    return made


def _heading(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _environment: Any) -> str:
    token = tokens[index]
    if token.nesting != 1:
        return f"</{token.tag}>\n"
    words = "".join(child.content for child in tokens[index + 1].children or ())
    name = _NO_WORD.sub("", words.lower()).strip().replace(" ", "-")
    return f'<{token.tag} id="{name}">' if name else f"<{token.tag}>"


def _link_open(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, environment: Any) -> str:
    href = str(tokens[index].attrs.get("href", ""))
    own = environment["address_of"](href)
    return str(Markup('<a href="{}">').format(own) if own is not None else link_start(href))


def _link_close(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, environment: Any) -> str:
    meta = tokens[index].meta
    address = meta.get("address", "")
    return "</a>" if environment["address_of"](address) is not None else str(link_end(address, meta.get("label", "")))
