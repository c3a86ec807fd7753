"""What the user asked: the words, what they mention, what went with them, and what the product put around them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text as Line

from copilog.derive.notes import notes_of
from copilog.model import Attachment, EditedFileEvent, Mention, Message, Prompt, Text, Unknown
from copilog.render.layout import Block, Scene, folded
from copilog.render.notes import note_blocks
from copilog.render.safe import clean, clean_line
from copilog.render.words import counted, path_words, place_words, size_words
from copilog.tags import segments

CONTEXT_LINES = 3
MOST_FILES = 5
SIGNS = {"agent": "@", "command": "/", "prompt": "/"}
EDIT_VERBS = {"keep": "kept", "undo": "undid", "modify": "modified"}


def request_blocks(message: Message, scene: Scene, level: int) -> Iterator[Block]:
    """The user's message: words, mentions, attachments, and with --context the prompt around them."""
    if message.role == "system":
        for part in message.parts:
            if isinstance(part, Text):
                yield from context_blocks(Prompt(text=part.text, scope="system"), scene, level)
    words = [part for part in message.parts if isinstance(part, Text)] if message.role != "system" else []
    mentions = [part for part in message.parts if isinstance(part, Mention)]
    for text in words:
        if text.text.strip():
            yield Block(_words(text.text, mentions), level, is_prose=True)
    loose = [part for part in mentions if part.start is None]
    if loose:
        yield Block(Line("  ").join([_mention(part) for part in loose]), level)
    for part in message.parts:
        if isinstance(part, Attachment):
            yield from _attachment_blocks(part, scene, level)
        elif isinstance(part, Prompt):
            yield from context_blocks(part, scene, level, typed_in(message))
        elif isinstance(part, Unknown):
            yield Block(Line(f"unknown part {clean_line(part.type, 80)}", "yellow"), level)


def _attachment_blocks(part: Attachment, scene: Scene, level: int) -> Iterator[Block]:
    options = scene.options
    if not (_is_the_users(part) or options.context):
        return
    yield Block(chip(part, scene), level, hangs=True)
    if part.text and (options.context or options.full):
        yield Block(folded(clean(part.text), None if options.full else CONTEXT_LINES, "dim"), level + 1)
    yield from note_blocks(notes_of(part), scene, level + 1)


def _is_the_users(part: Attachment) -> bool:
    """Whether the user chose it, or could see it: not a text that the product added by itself."""
    return not part.is_automatic or part.place is not None


def _words(text: str, mentions: list[Mention]) -> Line:
    """The words as typed, with what they mention in colour."""
    body = Line(clean(text).rstrip())
    if body.plain == text.rstrip():  # else the offsets do not hold
        for mention in mentions:
            if mention.start is not None and mention.end is not None:
                body.stylize("bold cyan", mention.start, mention.end)
    return body


def _mention(part: Mention) -> Line:
    words = part.text or SIGNS.get(part.type, "#") + part.name
    return Line(clean_line(words, 100), "bold cyan")


def chip(part: Attachment, scene: Scene) -> Line:
    """`[file] src/app.py:3-10`"""
    line = Line(f"[{clean_line(part.type, 40)}] ", "cyan")
    name = clean_line(part.name or "", 120)
    where = place_words(part.place, scene.folder) if part.place is not None else ""
    if where and name and name not in where:
        line.append(f"{name}  ").append(where, "dim")
    else:
        line.append(where or name or clean_line(part.id or "", 120) or "without a name")
    facts = [
        clean_line(part.mime_type or "", 60) if part.data is not None else "",
        size_words(len(part.data)) if part.data is not None else "",
        counted(len(part.text), "character") if part.text else "",
        "automatic" if part.is_automatic else "",
        "" if part.is_sent else "not sent",
        f"omitted: {clean_line(part.omitted, 40)}" if part.omitted else "",
    ]
    known = ", ".join(fact for fact in facts if fact)
    return line.append(f"  ({known})", "dim") if known else line


def typed_in(message: Message) -> str:
    """Return what the user typed, as recorded beside the prompt that was sent."""
    return "\n".join(part.text for part in message.parts if isinstance(part, Text))


def context_blocks(prompt: Prompt, scene: Scene, level: int, typed: str = "") -> Iterator[Block]:
    """What the product put around what the user `typed`, block by block; nothing unless it was asked for."""
    if not scene.options.context:
        return
    scope = {"turn": "sent with this prompt", "conversation": "sent once", "system": "system prompt"}[prompt.scope]
    yield Block(Line(f"context · {scope} · {counted(len(prompt.text), 'character')}", "dim italic"), level)
    for segment in segments(prompt.text, is_system=prompt.scope != "turn", typed=typed):
        text = segment.inside
        if not text or (segment.is_own and text in typed):  # shown already
            continue
        name = f"<{clean_line(segment.name, 80)}>" if segment.name is not None else "text without a tag"
        yield Block(Line(f"{name} · {counted(len(segment.text), 'character')}", "dim bold"), level + 1)
        limit = None if scene.options.full else CONTEXT_LINES
        yield Block(folded(clean(text), limit, "dim"), level + 2)


def edited_blocks(events: list[EditedFileEvent], scene: Scene, level: int) -> Iterator[Block]:
    """What the user did with earlier edits before sending this."""
    by_action: dict[str, list[str]] = {}
    for event in events:
        by_action.setdefault(event.action, []).append(path_words(event.uri or "", scene.folder) or "a file")
    for action, names in by_action.items():
        verb = EDIT_VERBS.get(action, clean_line(action, 40))
        shown = names if scene.options.full else names[:MOST_FILES]
        more = f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
        yield Block(Line(f"before this, {verb} the edits to {', '.join(shown)}{more}", "dim"), level, hangs=True)
