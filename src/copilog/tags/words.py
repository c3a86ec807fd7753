"""What of a message the user typed, and what Copilot put around it: rules in docs/tags.md."""

import re
from itertools import pairwise
from typing import Literal, NamedTuple

import msgspec

from copilog.tags.catalogue import INJECTED_ALONE, OLDER_REQUEST_NAMES, Catalogue, Tag, load_catalogue
from copilog.tags.matching import (
    Block,
    Span,
    always,
    fences_in,
    gaps_between,
    never,
    request_block,
    request_mark,
    scan,
    scan_for,
)

_ATTACHMENT = frozenset({"attachment"})
_INDEXES = frozenset({"skills", "agents", "instructions"})
_INDEX_ENTRIES = frozenset({"skill", "agent", "instruction"})
_INDEX_FIELDS = {
    "name": "name",
    "description": "description",
    "argumentHint": "argument_hint",
    "applyTo": "apply_to",
    **dict.fromkeys(("file", "path", "location", "uri"), "file"),
}
# The limit on the name keeps a text of nothing but beginnings from being searched again and again.
_MODE = re.compile(r'<modeInstructions>\s*You are currently running in "([^\n]{1,200}?)" mode\.')
_MENTION = re.compile(r"(?<![\w@/])@([A-Za-z][\w-]*)")


class Segment(msgspec.Struct, frozen=True):
    """A piece of a message; the tag is None between blocks."""

    text: str
    tag: Tag | None
    is_own: bool


class Offered(msgspec.Struct, frozen=True):
    """A skill, agent or instruction file the model could have used. It does not mean that it did."""

    kind: Literal["skill", "agent", "instruction"]
    name: str | None = None
    description: str | None = None
    file: str | None = None
    argument_hint: str | None = None
    apply_to: str | None = None


class _Own(NamedTuple):
    holder: Block | None  # the block that holds the user's words, if one does
    spans: list[Span]


def user_text(text: str, catalogue: Catalogue | None = None) -> str | None:
    """What the user typed, out of a user message; None when the message holds nothing of the kind."""
    own = _own_words(text, catalogue or load_catalogue())
    return "".join(text[start:end] for start, end in own.spans).strip() or None


def is_injected(text: str) -> bool:
    """Whether a user message comes from Copilot alone, so that it is no turn of the user."""
    if not text.lstrip().startswith("<") or request_mark(text):
        return False
    if begins_with_summary(text):
        return True
    found = scan_for(INJECTED_ALONE, text, (0, len(text)), always)
    return bool(found) and _is_blank(text, gaps_between(found, (0, len(text))))


def begins_with_summary(text: str) -> bool:
    """Whether a message stands for the conversation so far, compacted."""
    return text.lstrip().startswith("<conversation-summary>")


def segments(text: str, catalogue: Catalogue | None = None) -> list[Segment]:
    """The message in consecutive pieces that join to the text again; the user's own ones add up to user_text."""
    known = catalogue or load_catalogue()
    holder, spans = _own_words(text, known)
    holder_tag = known.get(holder.name) if holder else None
    own = set(spans)
    edges = {0, len(text), *(edge for span in spans for edge in span)}
    marks: set[Span] = set()
    if holder:
        marks = {(holder.start, holder.body_start), (holder.body_end, holder.end)}
        edges.update(edge for mark in marks for edge in mark)
    pieces: list[Segment] = []
    for span in pairwise(sorted(edges)):
        if span in own or span in marks:
            pieces.append(Segment(text[slice(*span)], holder_tag, span in own))
        else:
            pieces += _foreign_segments(text, span, known)
    return pieces


def mode_name(text: str) -> str | None:
    """The mode a prompt says it runs in. Modes that come with VS Code say so too: it need not be a custom one."""
    found = _MODE.search(text)
    return found[1] if found else None


def offered(text: str) -> list[Offered]:
    """The skills, agents and instruction files that a prompt offers, in its order."""
    found: list[Offered] = []
    for index in scan_for(_INDEXES, text, (0, len(text)), always):
        for entry in scan_for(_INDEX_ENTRIES, text, (index.body_start, index.body_end), never):
            fields = _index_fields(entry.text)
            if "name" in fields or "file" in fields:
                found.append(msgspec.convert({"kind": entry.name, **fields}, Offered))
    return found


def agent_mentions(user_text: str) -> list[str]:
    """Names the user called with @, without the sign, each once."""
    return list(dict.fromkeys(_MENTION.findall(user_text)))


def _own_words(text: str, catalogue: Catalogue) -> _Own:
    request = request_block(text)
    if request:
        return _Own(request, _without_prompt_files(text, request))
    if "<" not in text:
        return _Own(None, _trimmed(text, [(0, len(text))]))
    if is_injected(text):
        return _Own(None, [])

    def may_stay_open(_name: str, position: int) -> bool:
        return _begins_line(text, position)

    names = catalogue.context_names | OLDER_REQUEST_NAMES | _ATTACHMENT
    found = scan_for(names, text, (0, len(text)), may_stay_open)
    for block in reversed(found):
        if block.name in OLDER_REQUEST_NAMES and _begins_line(text, block.start):
            return _Own(block, _without_prompt_files(text, block))
    context = [block for block in found if block.name in catalogue.context_names or _is_from_file(block)]
    rest = gaps_between(context, (0, len(text)))
    if not context:
        return _Own(None, _trimmed(text, rest))
    return _words_beside_context(text, rest, catalogue)


def _words_beside_context(text: str, rest: list[Span], catalogue: Catalogue) -> _Own:
    """What is left of a message after its context: the user's words, unless all of it is in tags we know."""

    def is_wanted(name: str, _position: int) -> bool:
        tag = catalogue.get(name)
        return tag is not None and "user" in tag.roles

    known: list[Block] = []
    for span in rest:
        found = scan(text, span, is_wanted, never)
        if not _is_blank(text, gaps_between(found, span)):
            return _Own(None, _trimmed(text, rest))
        known += found
    holder = next((block for block in reversed(known) if block.name == "user"), None)
    return _Own(holder, _without_prompt_files(text, holder) if holder else [])


def _without_prompt_files(text: str, holder: Block) -> list[Span]:
    """The body of the user's block, less the prompt files that Copilot put in beside the words."""
    body = (holder.body_start, holder.body_end)
    if text.find("<attachment", *body) < 0:
        return _trimmed(text, [body])
    found = scan_for(_ATTACHMENT, text, body, lambda _, position: _begins_line(text, position), fences_in(text, body))
    return _trimmed(text, gaps_between([block for block in found if _is_from_file(block)], body))


def _is_from_file(block: Block) -> bool:
    return block.name == "attachment" and not block.attributes.keys().isdisjoint(("filePath", "id"))


def _begins_line(text: str, position: int) -> bool:
    """Whether a tag stands where Copilot would put it. In the middle of a sentence the user talks about it."""
    return position == 0 or text[position - 1] in "\n>"


def _trimmed(text: str, spans: list[Span]) -> list[Span]:
    """Spans without the blank ones at either end; those in between keep words apart."""
    filled = [index for index, (start, end) in enumerate(spans) if start < end and not text[start:end].isspace()]
    return spans[filled[0] : filled[-1] + 1] if filled else []


def _is_blank(text: str, spans: list[Span]) -> bool:
    return not any(text[start:end].strip() for start, end in spans)


def _foreign_segments(text: str, span: Span, catalogue: Catalogue) -> list[Segment]:
    found = scan(text, span, lambda name, _: catalogue.get(name) is not None, always)
    tags = {(block.start, block.end): catalogue.get(block.name) for block in found}
    pieces = sorted([*tags, *gaps_between(found, span)])
    return [Segment(text[start:end], tags.get((start, end)), False) for start, end in pieces]


def _index_fields(entry: str) -> dict[str, str]:
    """The fields of an index entry under our names; of repeated ones the first counts."""
    fields: dict[str, str] = {}
    for block in scan_for(frozenset(_INDEX_FIELDS), entry, (0, len(entry)), never):
        if value := block.text.strip():
            fields.setdefault(_INDEX_FIELDS[block.name], value)
    return fields
