"""Blocks of a conversation as HTML: conversation.py, page.py, text_blocks.py, outline_page.py and addresses.py.

The other modules turn untrusted text into HTML. They accept any text of a conversation, and what they return is safe:

    markdown.py    prose: Markdown without HTML, links that lead only to the web
    code.py        highlighted code, JSON laid out, plain text
    terminal.py    terminal output, with its colours
    diffs.py       changes to files, in one column or two; diff_lines.py parses them, changed_words.py marks words
    links.py       where a link may lead, and its title
    language_names.py  names of languages
    characters.py  invisible or misleading characters, made visible

Each of these takes text and returns `Markup` that is complete in itself: every element that opens also closes. Time and
size are linear in the text; text that is too long is shown without markup, or cut with a note that says so.
"""

from __future__ import annotations

from copilog.writers.html.code import code_html, json_html, text_html
from copilog.writers.html.diffs import side_by_side_html, unified_html
from copilog.writers.html.language_names import language_of_path
from copilog.writers.html.markdown import markdown_html
from copilog.writers.html.terminal import terminal_html

__all__ = [
    "code_html",
    "json_html",
    "language_of_path",
    "markdown_html",
    "side_by_side_html",
    "terminal_html",
    "text_html",
    "unified_html",
]
