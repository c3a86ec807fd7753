"""A conversation on every surface, with all that each of them can show."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable

from rich.console import Console

from copilog.exports.html import html_page
from copilog.exports.markdown import markdown_page
from copilog.model import Conversation
from copilog.writers.mcp import pieces_of
from copilog.writers.terminal import TextOptions, render_conversation


def terminal(conversation: Conversation) -> str:
    page = io.StringIO()
    console = Console(file=page, width=300, no_color=True, color_system=None)
    options = TextOptions(full=True, thinking=True, context=True, superseded=True, markdown=False)
    for piece in render_conversation(conversation, options):
        console.print(piece, soft_wrap=True)
    return page.getvalue()


def agents(conversation: Conversation) -> str:
    return "\n".join(piece.written(None) for piece in pieces_of(conversation))


def page(conversation: Conversation) -> str:
    """Return a page, and its text alone."""
    drawn = html_page(conversation, made_by="copilog")
    return drawn + html.unescape(re.sub("<[^>]*>", "", drawn))


def document(conversation: Conversation) -> str:
    """Return the text of a document, without the escapes of Markdown."""
    return re.sub(r"\\([^\w\s])", r"\1", markdown_page(conversation))


WRITERS: dict[str, Callable[[Conversation], str]] = {
    "terminal": terminal,
    "HTML": page,
    "Markdown": document,
    "agents": agents,
}
