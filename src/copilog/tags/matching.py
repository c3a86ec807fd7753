"""The one matcher: where blocks of tags begin and end, what of a text is fenced code, and where the request is.

Nothing is escaped in a prompt, so a block is a guess that any file or user can upset.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from copilog.tags.catalogue import NAME, REQUEST_NAMES, Catalogue, is_html_name, load_catalogue

Span = tuple[int, int]
Question = Callable[[str, int], bool]  # of a name, and where its tag begins


def _tags_named(names: str) -> re.Pattern[str]:
    """Compile closing tags (group 1 is the name) and opening ones (2 name, 3 attributes, 4 a slash if self-closing)."""
    return re.compile(rf"<(?:/({names})>|({names}){_TAIL.pattern})")


_VALUE = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|[\w.+\-]+'
_TAIL = re.compile(rf"((?:\s+[\w.:\-]+=(?:{_VALUE}))*)\s*(/?)>")
_ATTRIBUTE = re.compile(rf"([\w.:\-]+)=({_VALUE})")
_ANY_TAG = _tags_named(NAME.pattern)
_FENCES = ("```", "~~~")
_FENCE = re.compile("`+|~+")


class Block(msgspec.Struct, frozen=True):
    """A tag and what it encloses; offsets count from the start of the text that was searched."""

    name: str
    attributes: dict[str, object]
    text: str
    start: int
    end: int
    body_start: int
    body_end: int
    is_closed: bool


class Mark(NamedTuple):
    """The offsets of a tag and its block, without copies of the text: thousands of blocks may be nested."""

    name: str
    start: int
    body_start: int
    body_end: int
    end: int
    attributes: str  # as written in the tag
    is_closed: bool


def blocks(text: str, *, any_name: bool = False, within: str = "", catalogue: Catalogue | None = None) -> list[Block]:
    """Return the outermost blocks of a text, in order. For nested blocks use blocks(block.text, within=block.name).

    Only names of the catalogue count, unless any_name is set; other names must be closed, so that `List<String>`
    is not a block. A request of the user is always a block of its own: blocks still open before it end there.
    """
    known = catalogue or load_catalogue()
    is_own = within in REQUEST_NAMES
    is_attached = within in ("attachment", "attachments")
    code = fences_in(text, (0, len(text))) if is_own or any_name else []

    def is_wanted(name: str, position: int) -> bool:
        if is_own and is_inside(code, position):
            return False
        if not any_name or known.get(name):
            return known.get(name) is not None
        return not is_html_name(name) or not (is_attached or is_inside(code, position))

    def may_stay_open(name: str, _position: int) -> bool:
        return known.get(name) is not None

    request = None if within else request_block(text)
    if request is None:
        return scan(text, (0, len(text)), is_wanted, may_stay_open)
    before = scan(text, (0, request.start), is_wanted, may_stay_open)
    return [*before, request, *scan(text, (request.end, len(text)), is_wanted, may_stay_open)]


def marks(
    text: str, span: Span, is_wanted: Question | None = None, pattern: re.Pattern[str] | None = None
) -> Iterator[Mark]:
    """Yield all blocks of a span, nested ones too, ordered by offset. A block that is never closed ends with the span.

    An opening tag matches the closing tag of its own nesting; only tags of the same name count.
    """
    limit = span[1]
    openings: list[re.Match[str]] = []
    waiting: dict[str, list[int]] = {}
    closing: dict[int, int] = {}
    for found in (pattern or _ANY_TAG).finditer(text, *span):
        closed, name, _, stroke = found.groups()
        if is_wanted is not None and not is_wanted(closed or name, found.start()):
            continue
        if closed is not None:
            if open_ones := waiting.get(closed):
                closing[open_ones.pop()] = found.start()
            continue
        if not stroke:
            waiting.setdefault(name, []).append(len(openings))
        openings.append(found)
    for index, found in enumerate(openings):
        _, name, attributes, stroke = found.groups()
        start, body_start = found.span()
        if stroke:
            yield Mark(name, start, body_start, body_start, body_start, attributes, True)
        elif index in closing:
            body_end = closing[index]
            yield Mark(name, start, body_start, body_end, body_end + len(name) + 3, attributes, True)
        else:
            yield Mark(name, start, body_start, limit, limit, attributes, False)


def scan(
    text: str,
    span: Span,
    is_wanted: Question | None,
    may_stay_open: Question,
    pattern: re.Pattern[str] | None = None,
) -> list[Block]:
    """Return the outermost blocks of a span."""
    found: list[Block] = []
    position = span[0]
    for mark in marks(text, span, is_wanted, pattern):
        if mark.start >= position and (mark.is_closed or may_stay_open(mark.name, mark.start)):
            found.append(block_at(text, mark))
            position = mark.end
    return found


def scan_for(
    names: frozenset[str], text: str, span: Span, may_stay_open: Question, hidden: Sequence[Span] = ()
) -> list[Block]:
    """Return the outermost blocks of these names, without those that begin in a hidden span."""

    def is_wanted(_name: str, position: int) -> bool:
        return not is_inside(hidden, position)

    return scan(text, span, is_wanted if hidden else None, may_stay_open, _pattern_of(names))


@lru_cache(maxsize=32)
def _pattern_of(names: frozenset[str]) -> re.Pattern[str]:
    """Return a narrower _ANY_TAG: in text full of markup four times faster than checking every tag."""
    return _tags_named("|".join(map(re.escape, sorted(names))))


def always(_name: str, _position: int) -> bool:
    return True


def never(_name: str, _position: int) -> bool:
    return False


def block_at(text: str, mark: Mark) -> Block:
    return Block(
        mark.name,
        attributes_of(mark),
        text[mark.body_start : mark.body_end],
        mark.start,
        mark.end,
        mark.body_start,
        mark.body_end,
        mark.is_closed,
    )


def attributes_of(mark: Mark) -> dict[str, object]:
    """Return the attributes of a tag. Of repeated attributes the last counts."""
    if not mark.attributes:
        return {}
    return {name: _literal(value) for name, value in _ATTRIBUTE.findall(mark.attributes)}


def _literal(value: str) -> object:
    """Return the value of an attribute: a JSON literal, or else the text itself (a Windows path, for example)."""
    try:
        literal: object = msgspec.json.decode(value)
    except (msgspec.MsgspecError, ValueError):
        return value[1:-1] if value.startswith('"') else value
    return literal


def request_block(text: str) -> Block | None:
    """Return the user's request: the last one, and the outer one where a request quotes the other tag."""
    mark = request_mark(text)
    return None if mark is None else block_at(text, mark)


def request_mark(text: str) -> Mark | None:
    """Return the position of the user's request."""
    found = [mark for name in REQUEST_NAMES if (mark := _last_request(text, name))]
    if not found:
        return None
    last = max(found, key=lambda mark: (mark.is_closed, mark.start))
    return next((mark for mark in found if mark.is_closed and mark.start < last.start and mark.end > last.end), last)


def _last_request(text: str, name: str) -> Mark | None:
    """Return the span from the last opening tag to the last closing tag, as the user may have typed either as well."""
    if f"<{name}" not in text:
        return None
    heads = re.finditer(f"<{name}", text)
    openings = [(head.start(), tail) for head in heads if (tail := _TAIL.match(text, head.end()))]
    if not openings:
        return None
    if len(openings) > 1:
        code = fences_in(text, (0, len(text)))
        openings = [opening for opening in openings if not is_inside(code, opening[0])] or openings
    start, tail = openings[-1]
    body_end = text.rfind(f"</{name}>", tail.end())
    if body_end < 0:
        return Mark(name, start, tail.end(), len(text), len(text), tail[1], False)
    return Mark(name, start, tail.end(), body_end, body_end + len(name) + 3, tail[1], True)


def fences_in(text: str, span: Span) -> list[Span]:
    """Return the spans of fenced code. A fence without an end is ignored, or one stray line would hide the rest."""
    lines = sorted(line for fence in _FENCES for line in _fence_lines(text, span, fence))
    longest_closing = {"`": 0, "~": 0}
    has_closing = [False] * len(lines)
    for index in range(len(lines) - 1, -1, -1):
        _, _, run, info = lines[index]
        has_closing[index] = longest_closing[run[0]] >= len(run)
        if not info:
            longest_closing[run[0]] = max(longest_closing[run[0]], len(run))
    fences: list[Span] = []
    opened: tuple[int, str] | None = None
    for (start, end, run, info), is_closed_later in zip(lines, has_closing, strict=True):
        if opened is None:
            if is_closed_later and "`" not in info:
                opened = (start, run)
        elif not info and run.startswith(opened[1]):
            fences.append((opened[0], end))
            opened = None
    return fences


def _fence_lines(text: str, span: Span, fence: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield lines that begin with a fence: the offset, the fence in its length, and the rest of the line.

    Searching for the fence and then for its line is ten times faster than checking every line.
    """
    start, end = span
    position = text.find(fence, start, end)
    while position >= 0:
        line_start = text.rfind("\n", 0, position) + 1
        line_end = text.find("\n", position, end)
        line_end = end if line_end < 0 else line_end
        if line_start >= start and not text[line_start:position].strip(" \t"):
            run = _FENCE.match(text, position, line_end)
            assert run is not None
            yield line_start, line_end, run[0], text[run.end() : line_end].strip()
        position = text.find(fence, line_end, end)


def is_inside(spans: Sequence[Span], position: int) -> bool:
    index = bisect_right(spans, position, key=lambda span: span[0]) - 1
    return index >= 0 and position < spans[index][1]


def gaps_between(found: Sequence[Block | Mark], span: Span) -> list[Span]:
    """Return the spans outside of these blocks, which are in order."""
    starts = [span[0], *(block.end for block in found)]
    ends = [*(block.start for block in found), span[1]]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]
