"""The parts of a message: its tags, its attachments, its code, and the user's text.

One pass over the text finds all tags, nested ones too (R-36). The text of a file inside the message is the content of
that file: its tags are counted, but they have no meaning for the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from copilog import tags
from copilog.tags import Catalogue, Mark, Span, Tag

ATTACHMENTS = "attachments"  # the tag around them, and the key that the catalogue files them under
SNIPPET = 120  # characters

_INLINE_CODE = re.compile(r"`[^`\n]+`")


class TagOccurrence(NamedTuple):
    """A tag of a message, its entry in the catalogue, and whether it is only content of a file."""

    mark: Mark
    tag: Tag | None
    is_content: bool


class SplitMessage(NamedTuple):
    """A message and the positions of its parts."""

    text: str
    own: list[Span]  # the user's text
    tags: list[TagOccurrence]
    attachments: list[Mark]
    code: list[Span]  # fenced


def split_message(text: str, role: str, catalogue: Catalogue) -> SplitMessage:
    """Find all parts of a message. Only a user message has text of the user; the text of a tool is content."""
    whole = (0, len(text))
    is_user = role == "user"
    if "<" not in text:
        return SplitMessage(text, [whole] if is_user else [], [], [], _code_in(text, []))
    request = tags.request_mark(text) if is_user else None
    found = _marks_in(text, request)
    own = _user_spans(text, request, found) if is_user else []
    seen, attachments = _tags_and_attachments(found, catalogue, len(text) if role == "tool" else 0)
    code = _code_in(text, [*attachments, request] if request else attachments)
    return SplitMessage(text, own, _without_markup_in_code(text, seen, code), attachments, code)


def snippet_of(text: str, mark: Mark) -> str:
    """Return how the text of a block begins; of an empty block the tag itself."""
    beginning = text[mark.body_start : min(mark.body_end, mark.body_start + 4 * SNIPPET)]
    return " ".join(beginning.split())[:SNIPPET].rstrip() or text[mark.start : mark.end][:SNIPPET]


def _marks_in(text: str, request: Mark | None) -> list[Mark]:
    """Return all tags. The request is separate: no block crosses its limits, and its code is not searched."""
    if request is None:
        return list(tags.marks(text, (0, len(text))))
    body = (request.body_start, request.body_end)
    code = tags.fences_in(text, body)

    def is_wanted(_name: str, position: int) -> bool:
        return not tags.is_inside(code, position)

    return [
        *tags.marks(text, (0, request.start)),
        request,
        *tags.marks(text, body, is_wanted if code else None),
        *tags.marks(text, (request.end, len(text))),
    ]


def _user_spans(text: str, request: Mark | None, found: list[Mark]) -> list[Span]:
    """Return the request; without one, all text but the blocks that Copilot adds (R-36)."""
    if request is not None:
        return [(request.body_start, request.body_end)]
    if tags.begins_with_summary(text):
        return []
    injected: list[Mark] = []
    for mark in found:
        if mark.name in tags.INJECTED_ALONE and (not injected or mark.start >= injected[-1].end):
            injected.append(mark)
    return tags.gaps_between(injected, (0, len(text)))


def _tags_and_attachments(
    found: list[Mark], catalogue: Catalogue, content_until: int
) -> tuple[list[TagOccurrence], list[Mark]]:
    """Return the tags that count, and the attachments among them. Text up to `content_until` belongs to a file."""
    seen: list[TagOccurrence] = []
    attachments: list[Mark] = []
    attached_until = content_until
    for mark in _with_ends(found, catalogue):
        tag = catalogue.get(mark.name)
        is_content = mark.start < content_until
        if tag is None:
            if mark.start >= attached_until or not tags.is_html_name(mark.name):
                seen.append(TagOccurrence(mark, None, is_content))
            continue
        seen.append(TagOccurrence(mark, tag, is_content))
        is_attachment = tag.key == ATTACHMENTS and mark.name != ATTACHMENTS
        if is_attachment and not is_content:
            attachments.append(mark)
        if is_attachment or (tag.origin == "file" and mark.is_closed and mark.name != ATTACHMENTS):
            content_until = max(content_until, mark.end)
        if content_until > mark.start or mark.name == ATTACHMENTS:
            attached_until = max(attached_until, mark.end)
    return seen, attachments


def _with_ends(found: Iterable[Mark], catalogue: Catalogue) -> Iterator[Mark]:
    """Close blocks that were never closed at the end of the block around them, and drop those of unknown tags."""
    around: list[int] = []  # ends of the closed blocks around the current one
    for mark in found:
        while around and around[-1] <= mark.start:
            around.pop()
        if mark.is_closed:
            if not around or mark.end <= around[-1]:
                around.append(mark.body_end)
            yield mark
        elif catalogue.get(mark.name) is not None:
            yield mark._replace(body_end=around[-1], end=around[-1]) if around else mark


def _code_in(text: str, apart: list[Mark]) -> list[Span]:
    """Return fenced code. Some bodies are searched separately, so that an open fence in a file ends with the file."""
    if "```" not in text and "~~~" not in text:
        return []
    edges = {0, len(text), *(edge for mark in apart for edge in (mark.body_start, mark.body_end))}
    return [fence for span in pairwise(sorted(edges)) for fence in tags.fences_in(text, span)]


def _without_markup_in_code(text: str, seen: list[TagOccurrence], code: list[Span]) -> list[TagOccurrence]:
    """Return the tags without HTML names in code, which count as tags in prose only (R-37)."""
    if "`" not in text and not code:
        return seen
    inline: list[Span] | None = None
    kept: list[TagOccurrence] = []
    for one in seen:
        if one.tag is None and tags.is_html_name(one.mark.name):
            if inline is None:
                inline = [found.span() for found in _INLINE_CODE.finditer(text)]
            if tags.is_inside(code, one.mark.start) or tags.is_inside(inline, one.mark.start):
                continue
        kept.append(one)
    return kept
