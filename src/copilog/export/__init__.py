"""Conversations as files that others can read without copilog.

    html.py            one page that holds everything: the templates of the viewer, styles, pictures; no scripts
    markdown.py        one Markdown document: heads and feet of conversations and turns
    markdown_parts.py  how each kind of part is written there
    markdown_calls.py  tool calls, what they changed, and what came back
    markdown_text.py   prose, code and names, so that none of them breaks out of its place
    file_names.py      names for files, safe on every system

    html_page(conversation, made_by="copilog 1.0")     a text
    html_pieces(conversations, index, made_by=...)     the same for many, piece by piece, with an index on top

What a file does not carry, it says at its end.
"""

from __future__ import annotations

from copilog.export.file_names import FORMATS, Format, content_disposition, file_name
from copilog.export.html import html_page, html_pieces
from copilog.export.index import Entry, entry_of
from copilog.export.markdown import markdown_page, markdown_pieces

__all__ = [
    "FORMATS",
    "Entry",
    "Format",
    "content_disposition",
    "entry_of",
    "file_name",
    "html_page",
    "html_pieces",
    "markdown_page",
    "markdown_pieces",
]
