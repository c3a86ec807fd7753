"""Prompt tags: what in a message the user typed, and what Copilot wrapped around it.

Copilot renders prompts as `<name a="x">` blocks and escapes nothing inside them, so a block is a guess that any file
or user can upset. The names are data (context_tags.json); the rules are explained in docs/tags.md.
Everything here is linear in the length of the text: a conversation may hold any text at all.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

Origin = Literal["injected", "user", "file"]
Role = Literal["system", "user", "tool", "assistant"]
Span = tuple[int, int]

REQUEST_NAMES = ("userRequest", "user_query")
OLDER_REQUEST_NAMES = frozenset({"prompt", "userPrompt", "UserRequest"})

# A user message made of nothing but these is no turn of the user. Turns are counted by this set, so it is fixed here
# and a catalogue of one's own does not change it.
INJECTED_ALONE = frozenset(
    {
        "environment_info",
        "workspace_info",
        "context",
        "todoList",
        "editorContext",
        "repoContext",
        "reminderInstructions",
        "toolReferences",
        "userMemory",
        "sessionMemory",
        "repoMemory",
        "repository_memories",
        "instructions",
        "modeInstructions",
        "customInstructions",
        "skills",
        "agents",
    }
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
_HTML_NAME = re.compile(
    r"""
    a|abbr|address|area|article|aside|audio|b|base|bdi|bdo|blockquote|body|br|button|canvas|
    caption|center|circle|cite|code|col|colgroup|data|datalist|dd|defs|del|details|dfn|dialog|div|
    dl|dt|em|embed|fieldset|figcaption|figure|font|footer|form|g|h1|h2|h3|h4|h5|h6|head|header|
    hgroup|hr|html|i|iframe|img|input|ins|kbd|label|legend|li|line|link|main|map|mark|math|menu|
    meta|meter|nav|noscript|object|ol|optgroup|option|output|p|param|path|picture|polygon|pre|
    progress|q|rect|rp|rt|ruby|s|samp|script|search|section|select|slot|small|source|span|strike|
    strong|style|sub|summary|sup|svg|table|tbody|td|template|text|textarea|tfoot|th|thead|time|
    title|tr|track|tt|u|ul|use|var|video|wbr
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NAME = re.compile(r"[A-Za-z_][\w.\-]*")
_HEAD = re.compile(rf"<(/?)({_NAME.pattern})")
_VALUE = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|[\w.+\-]+'
_TAIL = re.compile(rf"((?:\s+[\w.:\-]+=(?:{_VALUE}))*)\s*(/?)>")
_ATTRIBUTE = re.compile(rf"([\w.:\-]+)=({_VALUE})")
_FENCE_LINE = re.compile(r"^[ \t]*(`{3,}|~{3,})(.*)$", re.MULTILINE)
# The limit on the name keeps a text of nothing but beginnings from being searched again and again.
_MODE = re.compile(r'<modeInstructions>\s*You are currently running in "([^\n]{1,200}?)" mode\.')
_MENTION = re.compile(r"(?<![\w@/])@([A-Za-z][\w-]*)")


class Tag(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the catalogue: a tag, or with a pattern a family of tags."""

    name: str
    origin: Origin
    roles: tuple[Role, ...]
    key: str | None = None  # where a context scan files the text
    pattern: str | None = None
    is_context: bool = False  # never the user's words, wherever in a user message it stands
    note: str | None = None


class Catalogue:
    """The tags we know, by name."""

    def __init__(self, tags: Iterable[Tag]) -> None:
        self.tags = tuple(tags)
        self._by_name: dict[str, Tag] = {}
        for tag in self.tags:
            if tag.name in self._by_name:
                raise ValueError(f'the tag "{tag.name}" is listed twice')
            if tag.pattern is None and not _NAME.fullmatch(tag.name):
                raise ValueError(f'"{tag.name}" cannot be a tag name; a family of tags needs a pattern')
            self._by_name[tag.name] = tag
        self._families = [(_compiled(tag.pattern, tag.name), tag) for tag in self.tags if tag.pattern is not None]
        self.context_names = frozenset(tag.name for tag in self.tags if tag.is_context)

    def get(self, name: str) -> Tag | None:
        """The tag of that exact name, or else the first family it belongs to."""
        tag = self._by_name.get(name)
        if tag is not None and tag.pattern is None:
            return tag
        return next((tag for pattern, tag in self._families if pattern.fullmatch(name)), None)


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


def load_catalogue(path: Path | None = None) -> Catalogue:
    """The bundled catalogue, or the one in a file of the same shape. ValueError tells what is wrong with the file."""
    return _bundled_catalogue() if path is None else _read_catalogue(path)


def blocks(text: str, *, any_name: bool = False, within: str = "", catalogue: Catalogue | None = None) -> list[Block]:
    """The outermost blocks of a text, in order. For what is inside a block use blocks(block.text, within=block.name).

    Only names of the catalogue count, unless any_name is set; other names must be closed, so that `List<String>`
    is no block. A request of the user is always a block of its own: what was left open before it ends there.
    """
    known = catalogue or load_catalogue()
    is_own = within in REQUEST_NAMES
    is_attached = within in ("attachment", "attachments")
    fences = _fences(text, (0, len(text))) if is_own or any_name else []

    def is_wanted(name: str, position: int) -> bool:
        if is_own and _is_inside(fences, position):
            return False
        if not any_name or known.get(name):
            return known.get(name) is not None
        return not _HTML_NAME.fullmatch(name) or not (is_attached or _is_inside(fences, position))

    def may_stay_open(name: str, _position: int) -> bool:
        return known.get(name) is not None

    request = None if within else _request_block(text)
    if request is None:
        return _scan(text, (0, len(text)), is_wanted, may_stay_open)
    before = _scan(text, (0, request.start), is_wanted, may_stay_open)
    return [*before, request, *_scan(text, (request.end, len(text)), is_wanted, may_stay_open)]


def user_text(text: str, catalogue: Catalogue | None = None) -> str | None:
    """What the user typed, out of a user message; None when the message holds nothing of the kind."""
    own = _own_words(text, catalogue or load_catalogue())
    return "".join(text[start:end] for start, end in own.spans).strip() or None


def is_injected(text: str) -> bool:
    """Whether a user message comes from Copilot alone, so that it is no turn of the user."""
    beginning = text.lstrip()
    if not beginning.startswith("<") or _request_block(text):
        return False
    if beginning.startswith("<conversation-summary>"):
        return True
    found = _scan_for(INJECTED_ALONE, text, (0, len(text)), _always)
    return bool(found) and _is_blank(text, _gaps(found, (0, len(text))))


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
    for index in _scan_for(_INDEXES, text, (0, len(text)), _always):
        for entry in _scan_for(_INDEX_ENTRIES, text, (index.body_start, index.body_end), _never):
            fields = _index_fields(entry.text)
            if "name" in fields or "file" in fields:
                found.append(msgspec.convert({"kind": entry.name, **fields}, Offered))
    return found


def agent_mentions(user_text: str) -> list[str]:
    """Names the user called with @, without the sign, each once."""
    return list(dict.fromkeys(_MENTION.findall(user_text)))


@cache
def _bundled_catalogue() -> Catalogue:
    return _read_catalogue(Path(__file__).with_name("context_tags.json"))


def _read_catalogue(path: Path) -> Catalogue:
    try:
        return Catalogue(msgspec.json.decode(path.read_bytes(), type=list[Tag]))
    except (msgspec.MsgspecError, ValueError) as error:
        raise ValueError(
            f"{path} is no tag catalogue: {error}; it should be a list of objects with name, origin and roles"
        ) from error


def _compiled(pattern: str, name: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f'the pattern of the tag "{name}" is no regular expression: {error}') from error


def _scan(
    text: str,
    span: Span,
    is_wanted: Callable[[str, int], bool],
    may_stay_open: Callable[[str, int], bool],
    heads: re.Pattern[str] = _HEAD,
) -> list[Block]:
    """The one matcher: pair openings with closings per name, then keep the outermost pairs."""
    start, end = span
    openings: list[tuple[re.Match[str], re.Match[str]]] = []
    waiting: dict[str, list[int]] = {}
    closing: dict[int, int] = {}
    for head in heads.finditer(text, start, end):
        name = head[2]
        if not is_wanted(name, head.start()):
            continue
        if head[1]:
            if waiting.get(name) and text.startswith(">", head.end(), end):
                closing[waiting[name].pop()] = head.start()
        elif tail := _TAIL.match(text, head.end(), end):
            if not tail[2]:
                waiting.setdefault(name, []).append(len(openings))
            openings.append((head, tail))
    found: list[Block] = []
    for index, (head, tail) in enumerate(openings):
        if head.start() < start:
            continue
        body_end = closing.get(index)
        if body_end is None and not tail[2] and not may_stay_open(head[2], head.start()):
            continue
        found.append(_block(text, head[2], head.start(), tail, body_end, end))
        start = found[-1].end
    return found


def _block(text: str, name: str, start: int, tail: re.Match[str], body_end: int | None, limit: int) -> Block:
    attributes = {key: _literal(value) for key, value in _ATTRIBUTE.findall(tail[1])}
    body_start = tail.end()
    if tail[2]:
        return Block(name, attributes, "", start, body_start, body_start, body_start, True)
    if body_end is None:
        return Block(name, attributes, text[body_start:limit], start, limit, body_start, limit, False)
    end = body_end + len(f"</{name}>")
    return Block(name, attributes, text[body_start:body_end], start, end, body_start, body_end, True)


def _literal(value: str) -> object:
    """The value of an attribute: a JSON literal, or the bare text where it is not (Windows paths, say)."""
    try:
        literal: object = msgspec.json.decode(value)
    except (msgspec.MsgspecError, ValueError):
        return value[1:-1] if value.startswith('"') else value
    return literal


def _scan_for(
    names: frozenset[str],
    text: str,
    span: Span,
    may_stay_open: Callable[[str, int], bool],
    hidden: Sequence[Span] = (),
) -> list[Block]:
    def is_wanted(_name: str, position: int) -> bool:
        return not _is_inside(hidden, position)

    return _scan(text, span, is_wanted, may_stay_open, _heads_of(names))


@lru_cache(maxsize=32)
def _heads_of(names: frozenset[str]) -> re.Pattern[str]:
    """A narrower _HEAD: in text full of markup four times faster than looking at every tag."""
    return re.compile(rf"<(/?)({'|'.join(map(re.escape, sorted(names)))})(?![\w.\-])")


def _always(_name: str, _position: int) -> bool:
    return True


def _never(_name: str, _position: int) -> bool:
    return False


def _request_block(text: str) -> Block | None:
    """The user's request: the last one, and the outer one where a request quotes the other tag."""
    found = [block for name in REQUEST_NAMES if (block := _last_request(text, name))]
    if not found:
        return None
    last = max(found, key=lambda block: (block.is_closed, block.start))
    return next(
        (block for block in found if block.is_closed and block.start < last.start and block.end > last.end), last
    )


def _last_request(text: str, name: str) -> Block | None:
    """From the last opening tag to the last closing tag, because the user may have typed either as well."""
    if f"<{name}" not in text:
        return None
    heads = re.finditer(f"<{name}", text)
    openings = [(head.start(), tail) for head in heads if (tail := _TAIL.match(text, head.end()))]
    if not openings:
        return None
    if len(openings) > 1:
        fences = _fences(text, (0, len(text)))
        openings = [opening for opening in openings if not _is_inside(fences, opening[0])] or openings
    start, tail = openings[-1]
    body_end = text.rfind(f"</{name}>", tail.end())
    return _block(text, name, start, tail, body_end if body_end >= 0 else None, len(text))


def _own_words(text: str, catalogue: Catalogue) -> _Own:
    request = _request_block(text)
    if request:
        return _Own(request, _without_prompt_files(text, request))
    if "<" not in text:
        return _Own(None, _trimmed(text, [(0, len(text))]))
    if is_injected(text):
        return _Own(None, [])

    def may_stay_open(_name: str, position: int) -> bool:
        return _begins_line(text, position)

    names = catalogue.context_names | OLDER_REQUEST_NAMES | _ATTACHMENT
    found = _scan_for(names, text, (0, len(text)), may_stay_open)
    for block in reversed(found):
        if block.name in OLDER_REQUEST_NAMES and _begins_line(text, block.start):
            return _Own(block, _without_prompt_files(text, block))
    context = [block for block in found if block.name in catalogue.context_names or _is_from_file(block)]
    rest = _gaps(context, (0, len(text)))
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
        found = _scan(text, span, is_wanted, _never)
        if not _is_blank(text, _gaps(found, span)):
            return _Own(None, _trimmed(text, rest))
        known += found
    holder = next((block for block in reversed(known) if block.name == "user"), None)
    return _Own(holder, _without_prompt_files(text, holder) if holder else [])


def _without_prompt_files(text: str, holder: Block) -> list[Span]:
    """The body of the user's block, less the prompt files that Copilot put in beside the words."""
    body = (holder.body_start, holder.body_end)
    if text.find("<attachment", *body) < 0:
        return _trimmed(text, [body])
    found = _scan_for(_ATTACHMENT, text, body, lambda _, position: _begins_line(text, position), _fences(text, body))
    return _trimmed(text, _gaps([block for block in found if _is_from_file(block)], body))


def _is_from_file(block: Block) -> bool:
    return block.name == "attachment" and not block.attributes.keys().isdisjoint(("filePath", "id"))


def _begins_line(text: str, position: int) -> bool:
    """Whether a tag stands where Copilot would put it. In the middle of a sentence the user talks about it."""
    return position == 0 or text[position - 1] in "\n>"


def _gaps(found: list[Block], span: Span) -> list[Span]:
    starts = [span[0], *(block.end for block in found)]
    ends = [*(block.start for block in found), span[1]]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]


def _trimmed(text: str, spans: list[Span]) -> list[Span]:
    """Spans without the blank ones at either end; those in between keep words apart."""
    filled = [index for index, (start, end) in enumerate(spans) if start < end and not text[start:end].isspace()]
    return spans[filled[0] : filled[-1] + 1] if filled else []


def _is_blank(text: str, spans: list[Span]) -> bool:
    return not any(text[start:end].strip() for start, end in spans)


def _foreign_segments(text: str, span: Span, catalogue: Catalogue) -> list[Segment]:
    found = _scan(text, span, lambda name, _: catalogue.get(name) is not None, _always)
    tags = {(block.start, block.end): catalogue.get(block.name) for block in found}
    pieces = sorted([*tags, *_gaps(found, span)])
    return [Segment(text[start:end], tags.get((start, end)), False) for start, end in pieces]


def _fences(text: str, span: Span) -> list[Span]:
    """Where fenced code lies. A fence that is never closed is none, or one stray line would hide the rest."""
    lines = [(line.start(), line.end(), line[1], line[2].strip()) for line in _FENCE_LINE.finditer(text, *span)]
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


def _is_inside(spans: Sequence[Span], position: int) -> bool:
    index = bisect_right(spans, position, key=lambda span: span[0]) - 1
    return index >= 0 and position < spans[index][1]


def _index_fields(entry: str) -> dict[str, str]:
    """The fields of an index entry under our names; of repeated ones the first counts."""
    fields: dict[str, str] = {}
    for block in _scan_for(frozenset(_INDEX_FIELDS), entry, (0, len(entry)), _never):
        if value := block.text.strip():
            fields.setdefault(_INDEX_FIELDS[block.name], value)
    return fields
