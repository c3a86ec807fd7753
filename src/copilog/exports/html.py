"""Export conversations as one self-contained HTML file, from the viewer's templates.

Styles are in the page, pictures are data in it, and one script of ours finds words and marks the turn in view. The
policy of the page allows just these: opened from a disk or sent by mail, it loads nothing and sends nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from urllib.parse import quote

from markupsafe import Markup

from copilog.derive import is_counted, without_superseded
from copilog.exports.folder_index import Line
from copilog.exports.formats import Format, Making
from copilog.exports.index import Entry, entry_of
from copilog.model import Conversation, title_of
from copilog.render.pages import environment, script, stylesheet
from copilog.render.report.page import content_policy
from copilog.view.conversation_info import panel_of
from copilog.view.terminal_text import clean_line
from copilog.view.turns import framed_outline, outline_of
from copilog.view.wording import counted, superseded_text
from copilog.writers.html.conversation import Pages

STYLES = ("tokens", "page", "code", "conversation", "export")

_TAG = re.compile(r'<(?:[^"<>]|"[^"]*")*>')
_ANCHOR = re.compile(r' (id="|href="#)(?=[mt]-\d)')
_COPY_BUTTON = '<button type="button" class="copy">Copy</button>'
_PICTURE_LINK = re.compile(r'<a class="picture" href="data:[^"]*"[^<>]*>')


def html_page(conversation: Conversation, *, made_by: str, made_at: datetime | None = None) -> str:
    """Return one conversation as an HTML document."""
    return "".join(html_pieces([conversation], [entry_of(conversation)], made_by=made_by, made_at=made_at))


def html_pieces(
    conversations: Iterable[Conversation],
    index: Sequence[Entry],
    *,
    made_by: str,
    title: str | None = None,
    made_at: datetime | None = None,
    missing: str = "",
    notice: str = "",
) -> Iterator[str]:
    """Yield several conversations as one document with an index, piece by piece: only one is in memory at a time.

    The end lists `missing`: conversations that were selected and could not be read.
    """
    style, finding = stylesheet(*STYLES), script("export")
    only = index[0].title if len(index) == 1 else counted(len(index), "conversation")
    return (
        environment()
        .get_template("export.html")
        .generate(
            style=Markup(style),  # noqa: S704 - files of ours
            script=Markup(finding),  # noqa: S704 - a file of ours
            policy=content_policy(style, finding),
            title=clean_line(title or only, 200),
            index=index,
            conversations=(_Section(each, number) for number, each in enumerate(conversations, 1)),
            made_by=made_by,
            made_at=made_at,
            missing=missing,
            notice=notice,
        )
    )


class _Section:
    """One conversation in a document, with its messages rendered one by one."""

    def __init__(self, conversation: Conversation, number: int) -> None:
        self.anchor = f"c{number}"
        superseded = [turn for turn in conversation.turns if not is_counted(turn)]
        self.superseded = superseded_text(superseded) if superseded else ""
        conversation = without_superseded(conversation)
        self.title = clean_line(title_of(conversation), 200)
        self.about = panel_of(conversation, is_whole=True)
        self.number_of_turns = len(conversation.turns)
        self.entries = framed_outline(conversation, outline_of(conversation))
        pages = Pages(conversation)
        self.page = pages.page.as_static(True)
        self.messages = pages.items()

    def for_paper(self, drawn: Markup) -> Markup:
        """Return the output of a template with the anchors of this conversation, without elements that need scripts."""
        return Markup(_TAG.sub(self._tag_for_paper, str(drawn).replace(_COPY_BUTTON, "")))  # noqa: S704 - a template

    def _tag_for_paper(self, match: re.Match[str]) -> str:
        tag = _PICTURE_LINK.sub('<a class="picture">', match[0])  # a picture does not link to itself
        return _ANCHOR.sub(rf" \1{self.anchor}-", tag)


def _pieces(conversations: Iterable[Conversation], index: Sequence[Entry], making: Making) -> Iterator[str]:
    return html_pieces(conversations, index, made_by=making.by, made_at=making.at, notice=making.notice)


def _folder_index(lines: Sequence[Line], making: Making) -> str:
    """Draw the index of a folder: a page with links to the files."""
    style = stylesheet(*STYLES)
    return (
        environment()
        .get_template("export_index.html")
        .render(
            style=Markup(style),  # noqa: S704 - files of ours
            policy=content_policy(style),
            title=counted(len(lines), "conversation"),
            lines=[(quote(line.file or ""), line.title, line.facts) for line in lines],
            made_by=making.by,
            made_at=making.at,
            notice=making.notice,
        )
    )


FORMAT = Format(
    "html", "HTML", ".html", "text/html; charset=utf-8", _pieces, folder_index=("index.html", _folder_index)
)
