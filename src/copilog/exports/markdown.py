"""Export conversations as one Markdown document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from copilog.exports.folder_index import Line
from copilog.exports.formats import Format, Making
from copilog.exports.index import Entry
from copilog.model import Conversation
from copilog.view.wording import counted
from copilog.writers.markdown import document_blocks, prompt_blocks
from copilog.writers.markdown_text import plain


def markdown_page(conversation: Conversation) -> str:
    """Return one conversation as a document."""
    return "".join(markdown_pieces([conversation], []))


def markdown_pieces(
    conversations: Iterable[Conversation],
    index: Sequence[Entry],
    *,
    title: str | None = None,
    missing: str = "",
    prompts_only: bool = False,
    notice: str = "",
) -> Iterator[str]:
    """Yield several conversations as one document with an index, piece by piece; one alone gets front matter."""
    draw = prompt_blocks if prompts_only else document_blocks
    if len(index) > 1:
        yield f"# {plain(title or counted(len(index), 'conversation'))}\n\n"
        for number, entry in enumerate(index, 1):
            yield f"{number}. {plain(entry.title)}" + (f" ({plain(entry.facts)})" if entry.facts else "") + "\n"
    for number, conversation in enumerate(conversations):
        if number or len(index) > 1:
            yield "\n---\n\n"
        for block in draw(conversation, has_front_matter=len(index) <= 1):
            if block:
                yield f"{block}\n\n"
    for words in filter(None, (missing, notice)):
        yield f"\n---\n\n{plain(words, 1000)}\n"


def _pieces(conversations: Iterable[Conversation], index: Sequence[Entry], making: Making) -> Iterator[str]:
    return markdown_pieces(conversations, index, prompts_only=bool(making.options.prompts_only), notice=making.notice)


def _folder_index(lines: Sequence[Line], making: Making) -> str:
    """Draw the index of a folder: a list with links to the files."""
    listed = [f"- [{plain(line.title)}](<{quote(line.file or '')}>), {plain(line.facts)}" for line in lines]
    written = [f"Written by {making.by}.", *([plain(making.notice, 1000)] if making.notice else [])]
    return "\n".join([f"# {counted(len(lines), 'conversation')}", "", *listed, "", *written, ""])


FORMAT = Format(
    "markdown",
    "Markdown",
    ".md",
    "text/markdown; charset=utf-8",
    _pieces,
    options=frozenset({"prompts_only"}),
    folder_index=("index.md", _folder_index),
)
