"""What of a message the user typed, and what Copilot put around it. The rules are in docs/tags.md."""

import re
from itertools import pairwise
from typing import Literal, NamedTuple

import msgspec

from copilog.tags.catalogue import INJECTED_ALONE, OLDER_REQUEST_NAMES, Catalogue, Tag, is_html_name, load_catalogue
from copilog.tags.matching import (
    Block,
    Mark,
    Span,
    always,
    fences_in,
    gaps_between,
    is_inside,
    marks,
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
# The limit on the name keeps a text of many beginnings from being searched repeatedly.
_MODE = re.compile(r'<modeInstructions>\s*You are currently running in "([^\n]{1,200}?)" mode\.')
_TAG_AROUND = re.compile(r"\A<[^<>]{1,300}>|</[^<>]{1,100}>\Z")
_DEEPEST_INDENT = 100
_MENTION = re.compile(r"(?<![\w@/])@([A-Za-z][\w-]*)")


class Segment(msgspec.Struct, frozen=True):
    """A piece of a message: `name` of its tag and the `tag` of that name in the catalogue, None between blocks."""

    text: str
    tag: Tag | None
    is_own: bool
    name: str | None = None
    is_frame: bool = False  # only an opening or closing tag of the block that holds the user's text

    @property
    def inside(self) -> str:
        """Return the text inside the tag, or the tag itself if it is empty, so that no piece but a frame is lost."""
        if self.is_frame:
            return ""
        whole = self.text.strip()
        return whole if self.name is None or self.is_own else _TAG_AROUND.sub("", whole).strip() or whole


class Offered(msgspec.Struct, frozen=True):
    """A skill, agent or instruction file the model could have used. It may not have used it."""

    kind: Literal["skill", "agent", "instruction"]
    name: str | None = None
    description: str | None = None
    file: str | None = None
    argument_hint: str | None = None
    apply_to: str | None = None


class _Own(NamedTuple):
    holder: Block | None  # the block that holds the user's text, if there is one
    spans: list[Span]


def user_text(text: str, catalogue: Catalogue | None = None) -> str | None:
    """Return what the user typed in a user message, or None if the message has no such text."""
    own = _user_spans(text, catalogue or load_catalogue())
    return "".join(text[start:end] for start, end in own.spans).strip() or None


def is_injected(text: str) -> bool:
    """Return whether a user message comes from Copilot alone, so that it is not a turn of the user."""
    if not text.lstrip().startswith("<") or request_mark(text):
        return False
    if begins_with_summary(text):
        return True
    found = scan_for(INJECTED_ALONE, text, (0, len(text)), always)
    return bool(found) and _is_blank(text, gaps_between(found, (0, len(text))))


def begins_with_summary(text: str) -> bool:
    """Return whether a message contains a summary of the conversation so far, after a compaction."""
    return text.lstrip().startswith("<conversation-summary>")


def segments(
    text: str, catalogue: Catalogue | None = None, *, is_system: bool = False, typed: str | None = None
) -> list[Segment]:
    """Return the message in consecutive pieces that join to the text again. The user's own ones add up to user_text.

    Nothing in a message of the system is the user's own, with or without tags. If there is a record of what the user
    `typed` (empty for nothing), only that text and a block for the request are the user's.
    """
    known = catalogue or load_catalogue()
    holder, spans = _Own(None, []) if is_system else _user_spans(text, known)
    if typed is not None and holder is None:
        spans = _lines_of(typed.strip(), text)
    holder_tag = known.get(holder.name) if holder else None
    own = set(spans)
    edges = {0, len(text), *(edge for span in spans for edge in span)}
    around: set[Span] = set()  # the tags of the block that holds the user's text
    if holder:
        around = {(holder.start, holder.body_start), (holder.body_end, holder.end)}
        edges.update(edge for mark in around for edge in mark)
    pieces: list[Segment] = []
    for span in pairwise(sorted(edges)):
        if span in own or span in around:
            name = holder.name if holder else None
            pieces.append(Segment(text[slice(*span)], holder_tag, span in own, name, is_frame=span in around))
        else:
            pieces += _foreign_segments(text, span, known)
    return pieces


def mode_name(text: str) -> str | None:
    """Return the mode that a prompt names. Modes of VS Code itself are named too, so it need not be a custom one."""
    found = _MODE.search(text)
    return found[1] if found else None


def offered(text: str) -> list[Offered]:
    """Return the skills, agents and instruction files that a prompt offers, in its order."""
    found: list[Offered] = []
    for index in scan_for(_INDEXES, text, (0, len(text)), always):
        for entry in scan_for(_INDEX_ENTRIES, text, (index.body_start, index.body_end), never):
            fields = _index_fields(entry.text)
            if "name" in fields or "file" in fields:
                found.append(msgspec.convert({"kind": entry.name, **fields}, Offered))
    return found


def agent_mentions(user_text: str) -> list[str]:
    """Return the names that the user mentioned with @, without the sign, each once."""
    return list(dict.fromkeys(_MENTION.findall(user_text)))


def _user_spans(text: str, catalogue: Catalogue) -> _Own:
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
    return _text_after_context(text, rest, catalogue)


def _lines_of(typed: str, text: str) -> list[Span]:
    """Return the last lines of a text that are what the user typed; forward, as searching backward is quadratic."""
    lines, within = f"\n{typed}\n", f"\n{text}\n"
    last, position = -1, within.find(lines) if typed else -1
    while position >= 0:
        last, position = position, within.find(lines, position + len(lines) - 1)
    return [(last, last + len(typed))] if last >= 0 else []


def _text_after_context(text: str, rest: list[Span], catalogue: Catalogue) -> _Own:
    """Return the text of a message after its context: the user's text, unless all of it is in known tags."""

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
    """Return the text of the user's block without the prompt files that Copilot added."""
    body = (holder.body_start, holder.body_end)
    if text.find("<attachment", *body) < 0:
        return _trimmed(text, [body])
    found = scan_for(_ATTACHMENT, text, body, lambda _, position: _begins_line(text, position), fences_in(text, body))
    return _trimmed(text, gaps_between([block for block in found if _is_from_file(block)], body))


def _is_from_file(block: Block) -> bool:
    return block.name == "attachment" and not block.attributes.keys().isdisjoint(("filePath", "id"))


def _begins_line(text: str, position: int) -> bool:
    """Return whether a tag is where Copilot would put it. In the middle of a sentence it is text of the user."""
    return position == 0 or text[position - 1] in "\n>"


def _trimmed(text: str, spans: list[Span]) -> list[Span]:
    """Return spans without the blank ones at either end; those in between separate words."""
    filled = [index for index, (start, end) in enumerate(spans) if start < end and not text[start:end].isspace()]
    return spans[filled[0] : filled[-1] + 1] if filled else []


def _is_blank(text: str, spans: list[Span]) -> bool:
    return not any(text[start:end].strip() for start, end in spans)


def _foreign_segments(text: str, span: Span, catalogue: Catalogue) -> list[Segment]:
    """Return the pieces that are not the user's: blocks, also those of unknown names, and the text between them.

    A block of an unknown name begins a line outside of fenced code; any other is probably an example. If it is never
    closed, its tag has a line of its own, and the next block ends it.
    """
    code = fences_in(text, span)
    found: list[Mark] = []
    position = span[0]
    for mark in marks(text, span):
        is_known = catalogue.get(mark.name) is not None
        if mark.start < position or not (is_known or _is_unknown_block(text, mark, code)):
            continue
        if found and found[-1].end > mark.start:
            found[-1] = found[-1]._replace(body_end=mark.start, end=mark.start)
        found.append(mark)
        position = mark.end if is_known or mark.is_closed else mark.body_start
    names = {(mark.start, mark.end): mark.name for mark in found}
    pieces = sorted([*names, *gaps_between(found, span)])
    return [_foreign_segment(text[slice(*piece)], names.get(piece), catalogue) for piece in pieces]


def _is_unknown_block(text: str, mark: Mark, code: list[Span]) -> bool:
    _, newline, indent = text[max(0, mark.start - _DEEPEST_INDENT) : mark.start].rpartition("\n")
    is_indented = indent.isspace() and (newline or mark.start < _DEEPEST_INDENT)
    if not (is_indented or _begins_line(text, mark.start)) or is_inside(code, mark.start):
        return False
    return mark.is_closed or (text.startswith(("\n", "\r\n"), mark.body_start) and not is_html_name(mark.name))


def _foreign_segment(text: str, name: str | None, catalogue: Catalogue) -> Segment:
    return Segment(text, catalogue.get(name) if name is not None else None, False, name)


def _index_fields(entry: str) -> dict[str, str]:
    """Return the fields of an index entry under our names. Of repeated ones the first counts."""
    fields: dict[str, str] = {}
    for block in scan_for(frozenset(_INDEX_FIELDS), entry, (0, len(entry)), never):
        if value := block.text.strip():
            fields.setdefault(_INDEX_FIELDS[block.name], value)
    return fields
