"""What was asked: the user's words, what they mention, what went with them, and what the product put around them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

from copilog.model import Attachment, Mention, Message, Prompt, Text
from copilog.render.html.blocks import Block, Chip, Chips, Context, Stage, Tagged, Words
from copilog.render.html.characters import visible
from copilog.render.html.code import code_html
from copilog.render.html.notes import notes_shown
from copilog.render.html.passages import Places, long_plain
from copilog.render.request import SIGNS, typed_in
from copilog.render.safe import clean_line
from copilog.render.words import counted, place_words, size_words
from copilog.tags import Segment, segments

ASKED = (Text, Prompt, Attachment, Mention)  # the parts that are shown here
SCOPES = {
    "turn": "What was sent with these words",
    "conversation": "Context sent once for the conversation",
    "system": "System prompt",
}
LONGEST_SEARCHED = 2_000_000  # characters in which tags are looked for

_FENCE = re.compile(r"^(`{3,}|~{3,})([^\n`]*)\n(.*?)(?:^\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`[^`\n]+`)")


def request_blocks(message: Message, number: int, stage: Stage) -> Iterator[Block]:
    """A message of the user, or one that tells the model how to behave."""
    mentions = [part for part in message.parts if isinstance(part, Mention)]
    loose = [part for part in mentions if part.start is None]
    attached: list[Chip] = []
    automatic: list[Chip] = []
    contexts: list[Block] = []
    for position, part in enumerate(message.parts):
        if isinstance(part, Text):
            if message.role == "system":
                contexts.append(context_block(part.text, "system", number, position, stage))
            else:
                yield from _said(part.text, mentions, number, position, stage)
        elif isinstance(part, Prompt):
            contexts.append(context_block(part.text, part.scope, number, position, stage, typed_in(message)))
        elif isinstance(part, Attachment):
            (automatic if part.is_automatic else attached).append(attachment_chip(part, number, position, stage))
    if loose:
        yield Chips(chips=[mention_chip(part, stage) for part in loose])
    if attached:
        yield Chips(chips=attached)
    if automatic:
        yield Chips(label="added by itself", chips=automatic)
    yield from contexts


# --- words ------------------------------------------------------------------------------------------------------


def _said(text: str, mentions: list[Mention], number: int, position: int, stage: Stage) -> Iterator[Block]:
    """The words; where the product's own tags stand among them, these are folded and set apart."""
    if not text.strip():
        return
    raw = stage.addresses.raw(number, position)
    pieces = segments(text) if "<" in text and len(text) <= LONGEST_SEARCHED else []
    if all(piece.is_own for piece in pieces):
        yield Words(html=words_html(text, mentions), raw=raw)
        return
    foreign: list[Segment] = []
    for piece in pieces:
        if not piece.is_own:
            foreign.append(piece)
        elif piece.text.strip():
            yield from _set_apart(foreign, number, position, stage)
            yield Words(html=words_html(piece.text.strip("\n"), []), raw=raw)
    yield from _set_apart(foreign, number, position, stage)


def _set_apart(foreign: list[Segment], number: int, position: int, stage: Stage) -> Iterator[Block]:
    """Pieces that are not the user's, as one block. Takes them."""
    pieces = [_tagged(piece, stage) for piece in foreign if piece.inside]
    size = sum(len(piece.text) for piece in foreign)
    foreign.clear()
    if pieces:
        facts = [counted(len(pieces), "piece"), counted(size, "character")]
        raw = stage.addresses.raw(number, position)
        yield Context(title="Injected context", facts=facts, pieces=pieces, raw=raw)


def words_html(text: str, mentions: list[Mention]) -> Markup:
    """Words as they were typed, with code blocks laid out and mentions in boxes."""
    places = Places()
    text = _with_marks(places.without_marks(text), mentions, places)
    pieces: list[Markup] = []
    at = 0
    for fence in _FENCE.finditer(text):
        pieces.append(_lines(text[at : fence.start()]))
        pieces.append(code_html(fence[3].removesuffix("\n"), fence[2].strip() or None))
        at = fence.end()
    pieces.append(_lines(text[at:]))
    return places.fill(Markup("").join(pieces))


def _lines(text: str) -> Markup:
    """Lines of prose, with what stands in backticks as code."""
    text = visible(text.strip("\n"))
    if not text.strip():
        return Markup("")
    pieces = [
        Markup("<code>{}</code>").format(piece[1:-1]) if _CODE.fullmatch(piece) else escape(piece)
        for piece in _CODE.split(text)
    ]
    return Markup('<div class="plain">{}</div>').format(Markup("").join(pieces))


def _with_marks(text: str, mentions: list[Mention], places: Places) -> str:
    """The text with a mark in place of each mention, the last one first, so that offsets hold."""
    end = len(text)
    for mention in sorted(mentions, key=lambda part: part.start or 0, reverse=True):
        first, last = mention.start, mention.end
        if first is None or last is None or not 0 <= first < last <= end:
            continue
        words = text[first:last]
        chip = Markup('<span class="mention" title="{}">{}</span>').format(clean_line(mention.type, 40), words)
        text = text[:first] + places.mark(chip, words) + text[last:]
        end = first
    return text


def mention_chip(part: Mention, stage: Stage) -> Chip:
    """A word that stands for something and has no place in the text."""
    words = part.text or SIGNS.get(part.type, "#") + part.name
    where = place_words(part.place, stage.folder) if part.place is not None else ""
    return Chip(label=clean_line(part.type, 40), name=clean_line(words, 100), where=where)


# --- what went with them ----------------------------------------------------------------------------------------


def attachment_chip(part: Attachment, number: int, position: int, stage: Stage) -> Chip:
    """A file, a selection, a picture, an instruction file."""
    name = clean_line(part.name or "", 120)
    where = place_words(part.place, stage.folder) if part.place is not None else ""
    picture = stage.addresses.picture(number, position, None, part.data) if part.data is not None else None
    facts = [
        clean_line(part.mime_type or "", 60) if part.data is not None else "",
        size_words(len(part.data)) if part.data is not None else "",
        counted(len(part.text), "character") if part.text else "",
        "" if part.is_sent else "not sent",
        f"omitted: {clean_line(part.omitted, 40)}" if part.omitted else "",
        clean_line(part.description or "", 200),
    ]
    link = stage.addresses.text(number, position, "text")
    return Chip(
        label=clean_line(part.type, 40),
        name=name or where or clean_line(part.id or "", 120) or "without a name",
        where=where if where != name else "",
        facts=[fact for fact in facts if fact],
        picture=picture,
        body=long_plain(part.text, link, is_whole=stage.is_whole) if part.text else None,
        notes=notes_shown(part, number, position, stage),
        is_faint=part.is_automatic or not part.is_sent,
    )


# --- what the product put around them ---------------------------------------------------------------------------


def context_block(text: str, scope: str, number: int, position: int, stage: Stage, typed: str = "") -> Context:
    """A prompt as it was sent with what the user `typed`, piece by piece."""
    is_short = len(text) <= LONGEST_SEARCHED
    found = segments(text, is_system=scope != "turn", typed=typed) if is_short else [Segment(text, None, False)]
    pieces = [_tagged(piece, stage) for piece in found if piece.inside]
    facts = [counted(len(pieces), "piece"), counted(len(text), "character")]
    raw = stage.addresses.raw(number, position)
    return Context(title=SCOPES.get(scope, "Context"), facts=facts, pieces=pieces, raw=raw)


def _tagged(piece: Segment, stage: Stage) -> Tagged:
    text = piece.inside
    return Tagged(
        name=clean_line(piece.name or "", 80),
        origin=piece.tag.origin if piece.tag is not None else "injected",
        note=clean_line(piece.tag.note or "", 200) if piece.tag is not None else "",
        size=counted(len(text), "character"),
        body=long_plain(text, None, is_whole=stage.is_whole),
        is_own=piece.is_own,
    )
