"""The context of a trajectory: from its events, and from the bodies of its user messages (R-34 to R-39)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

from copilog import tags
from copilog.tags import Catalogue, Mark
from copilog.telemetry.events import decoded
from copilog.telemetry.message_tags import SplitMessage, snippet_of, split_message
from copilog.telemetry.tag_inventory import TagSummary
from copilog.trajectory import TrajectoryMessage

__all__ = ["KEYS", "PROPERTIES", "TagSummary", "context_of", "message_context", "property_value"]

PROPERTIES = (
    "attachedContext",
    "contextTypes",
    "fileExcerpt",
    "activeSelection",
    "detectedParticipant",
    "assignedIntent",
)
KEYS = (
    "environment_info",
    "workspace_info",
    "context_info",
    "editor_context",
    "repo_context",
    "reminder_instructions",
    "user_request",
    "attachments",
    "file_references",
    "code_snippets",
    "code_to_edit",
    "agent_mentions",
    "other_tags",
)
# Keys that are not simply the text of a tag. Further keys of a catalogue are.
COMPOSED = frozenset(KEYS[6:]) | {"message_index", "mode"}
CODE_TO_EDIT = "code_to_edit"
ATTACHMENT_TEXT = 400  # characters

_MENTION = re.compile(r"(?<![\w@/])@(workspace|terminal|vscode|[A-Za-z][\w-]*)")
_FILE_MENTION = re.compile(r"""(?<![\w#])#file:(?:'([^'\n]+)'|"([^"\n]+)"|([^\s'"`]+))""")
_CURRENT_FILE = re.compile(r"current (?:file|notebook) is ([^\n]+)")
_PATH_COMMENT = re.compile(r"\s*(?://|#|--|;|%|<!--|/\*)\s*filepath:([^\n]+)", re.IGNORECASE)
_AFTER_A_PATH = ".,;:!?)]}>"

Item = dict[str, str | None]


def context_of(
    messages: list[TrajectoryMessage],
    properties: dict[str, Any],
    catalogue: Catalogue,
    summary: TagSummary | None = None,
) -> dict[str, Any]:
    """Return the context of a conversation. A summary, if given, gets the tags of its messages."""
    context = {name: property_value(properties[name]) for name in PROPERTIES if name in properties}
    contexts: list[dict[str, Any]] = []
    scanned: list[SplitMessage] = []
    for index, message in enumerate(messages):
        if message.role == "user":
            scanned.append(split_message(message.content, "user", catalogue))
            contexts.append(_context_from(scanned[-1], index, message.mode))
    if summary is not None:
        summary.add_conversation(("user", message) for message in scanned)
    context["message_contexts"] = contexts
    context["message_context"] = {f"has_{key}": any(key in one for one in contexts) for key in _keys_of(catalogue)}
    return context


def message_context(text: str, index: int, mode: str | None, catalogue: Catalogue) -> dict[str, Any]:
    """Return the context of a user message, under the keys of R-35. Empty ones are absent."""
    return _context_from(split_message(text, "user", catalogue), index, mode)


def property_value(value: Any) -> Any:
    """Return a context property; JSON text of a list or an object is decoded (R-34)."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        inner = decoded(value)
        return inner if isinstance(inner, (list, dict)) else value
    return value


def _keys_of(catalogue: Catalogue) -> tuple[str, ...]:
    return (*KEYS, *sorted(set(catalogue.keys) - COMPOSED - set(KEYS)))


def _context_from(message: SplitMessage, index: int, mode: str | None) -> dict[str, Any]:
    filed = _blocks_by_key(message)
    found: dict[str, Any] = {
        key: _joined(message.text[mark.body_start : mark.body_end] for mark in marks)
        for key, marks in filed.items()
        if key not in COMPOSED
    }
    found["user_request"] = "".join(message.text[start:end] for start, end in message.own).strip()
    found["attachments"] = _distinct(_attachment(message.text, mark) for mark in message.attachments)
    found["file_references"] = _file_references(message, filed.get("editor_context", []))
    found["code_snippets"], found["code_to_edit"] = _code(message, filed.get(CODE_TO_EDIT, []))
    found["agent_mentions"] = list(dict.fromkeys(mention[1] for mention in _in_user_text(message, "@", _MENTION)))
    found["other_tags"] = _other_tags(message)
    context = {"message_index": index, "mode": mode}
    context.update((key, found[key]) for key in KEYS if found.get(key))
    context.update((key, found[key]) for key in sorted(found.keys() - set(KEYS)) if found[key])
    return context


def _blocks_by_key(message: SplitMessage) -> dict[str, list[Mark]]:
    """Return the blocks that the catalogue has a key for; one inside another of the same key is part of that."""
    filed: dict[str, list[Mark]] = {}
    for mark, tag, is_content in message.tags:
        if tag is not None and tag.key is not None and not is_content:
            marks = filed.setdefault(tag.key, [])
            if not marks or mark.start >= marks[-1].end:
                marks.append(mark)
    return filed


def _joined(texts: Iterable[str]) -> str:
    """Return several blocks of one key as paragraphs, without repeated ones."""
    return "\n\n".join(dict.fromkeys(trimmed for text in texts if (trimmed := text.strip())))


def _distinct(items: Iterable[Item]) -> list[Item]:
    """Return each item once, where it came first (R-38)."""
    first: dict[tuple[str | None, ...], Item] = {}
    for item in items:
        first.setdefault(tuple(item.values()), item)
    return list(first.values())


def _attachment(text: str, mark: Mark) -> Item:
    attributes = tags.attributes_of(mark)
    return {
        "id": _text(attributes.get("id")),
        "path": _path_in(attributes) or _text(attributes.get("folderPath")),
        "kind": _kind_of(attributes),
        "text": text[mark.body_start : mark.body_end].strip()[:ATTACHMENT_TEXT],
    }


def _kind_of(attributes: dict[str, object]) -> str | None:
    if "kind" in attributes:
        return _text(attributes["kind"])
    if str(attributes.get("id", "")).startswith("prompt:"):
        return "prompt"
    kinds = {"filePath": "file", "path": "file", "folderPath": "folder", "tool": "tool"}
    return next((kind for name, kind in kinds.items() if name in attributes), None)


def _path_in(attributes: dict[str, object]) -> str | None:
    return _text(attributes.get("filePath")) or _text(attributes.get("path"))


def _text(value: object) -> str | None:
    return None if value is None else str(value).strip() or None


def _file_references(message: SplitMessage, editor_contexts: list[Mark]) -> list[str]:
    """Return paths in attributes, in the editor context and after #file:, in the order of the text."""
    found: list[tuple[int, str]] = []
    for mark, _, is_content in message.tags:
        if "ath=" in mark.attributes and not is_content:
            attributes = tags.attributes_of(mark)
            paths = (_text(attributes.get(name)) for name in ("filePath", "path"))
            found += [(mark.start, path) for path in paths if path]
    for mark in editor_contexts:
        for named in _CURRENT_FILE.finditer(message.text, mark.body_start, mark.body_end):
            path = named[1].partition(". The ")[0].strip().removesuffix(".")
            found.append((named.start(), path))
    for mention in _in_user_text(message, "#file:", _FILE_MENTION):
        path = mention[1] or mention[2] or mention[3].rstrip(_AFTER_A_PATH)
        found.append((mention.start(), path.strip()))
    found.sort(key=lambda reference: reference[0])
    return list(dict.fromkeys(path for _, path in found if path))


def _in_user_text(message: SplitMessage, sign: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the matches in the user's own text: not in code, and not in attached files."""
    if sign not in message.text:
        return
    files = [(mark.start, mark.end) for mark in message.attachments]
    for span in message.own:
        for found in pattern.finditer(message.text, *span):
            if not tags.is_inside(message.code, found.start()) and not tags.is_inside(files, found.start()):
                yield found


def _code(message: SplitMessage, to_edit: list[Mark]) -> tuple[list[Item], list[Item]]:
    """Return fenced code: first outside of code-to-edit tags, then inside."""
    snippets: list[Item] = []
    edited: list[Item] = []
    around_edited = [(mark.body_start, mark.body_end) for mark in to_edit]
    holders = sorted([*message.attachments, *to_edit], key=lambda mark: mark.start)
    for fence in message.code:
        code = _fenced(message.text, fence, holders)
        if code["text"]:
            (edited if tags.is_inside(around_edited, fence[0]) else snippets).append(code)
    return _distinct(snippets), _distinct(edited)


def _fenced(text: str, fence: tuple[int, int], holders: list[Mark]) -> Item:
    """Return language, path and text of fenced code. The path is in its first line, or in the tag around it."""
    body_start = text.index("\n", fence[0]) + 1
    body_end = text.rindex("\n", fence[0], fence[1])
    info = text[fence[0] : body_start].strip().lstrip("`~").split()
    path = None
    if comment := _PATH_COMMENT.match(text, body_start, max(body_start, body_end)):
        path = comment[1].strip().removesuffix("-->").removesuffix("*/").strip() or None
    else:
        holder = _around(holders, fence[0])
        path = _path_in(tags.attributes_of(holder)) if holder else None
    return {"language": info[0] if info else None, "path": path, "text": text[body_start:body_end].rstrip()}


def _around(holders: list[Mark], position: int) -> Mark | None:
    index = bisect_right(holders, position, key=lambda mark: mark.start) - 1
    return holders[index] if index >= 0 and position < holders[index].end else None


def _other_tags(message: SplitMessage) -> list[dict[str, Any]]:
    """Return the tags that are not in the catalogue (R-37)."""
    others: dict[str, dict[str, Any]] = {}
    for mark, tag, _ in message.tags:
        if tag is not None:
            continue
        if mark.name in others:
            others[mark.name]["count"] += 1
        else:
            others[mark.name] = {"name": mark.name, "count": 1, "snippet": snippet_of(message.text, mark)}
    return list(others.values())
