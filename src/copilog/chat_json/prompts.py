"""Write a request's message and its attachments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from copilog.chat_json.values import bytes_json, path_json, place_json, put_notes, units, value_of_text, with_texts
from copilog.derive.notes import IN_PAGE
from copilog.fields import Json
from copilog.model import AnyPart, Attachment, Mention, Text, Unknown
from copilog.uris import base_name

MENTION_NOTES = {"text": "displayText", "description": "modelDescription", "argument": "variableArg"}
MENTION_IDS = {"tool": "toolId", "var": "variableId"}
KINDS = {  # of attachments, by the model's types, where VS Code shows one of another program without more fields
    "file": "file",
    "directory": "directory",
    "image": "image",
}
OF_RECORDS = ("imageUrl", "workingSet")  # natives of attachments that only the extension's records have
FREE = ("command", "generic", "agent-feedback", "debug-events")
OMITTED = {"partial": 1, "full": 2, "image-limit": 3}
ATTACHMENT_NOTES = {
    "tooltip": "tooltip",
    "text of the element": "innerText",
    "problem": "problemMessage",
    "expression": "expression",
    "type": "type",
}
PASTE_NOTES = {"code": "code", "pasted": "pastedLines", "file": "fileName"}


def message_json(parts: Sequence[AnyPart], *, is_own: bool) -> Json | None:
    """Return the message as typed; None if there is none. `is_own`: it was read from VS Code's JSON."""
    words = next((part for part in parts if isinstance(part, Text)), None)
    mentions = [part for part in parts if isinstance(part, Mention)]
    unknown = [part for part in parts if isinstance(part, Unknown) and part.type.startswith("message:")]
    if words is None and not mentions:
        return None
    others = "" if is_own else "\n\n".join(part.text for part in parts if isinstance(part, Text) and part is not words)
    text = "\n\n".join(filter(None, (words.text if words is not None else "", others)))
    made: Json = {"text": text, "parts": _message_parts(text, mentions, is_own)}
    made["parts"] += [part.raw for part in unknown] if is_own else []
    left = words.extra if is_own and words is not None else None
    return {**made, **{key: value for key, value in (left or {}).items() if key != "parts"}}


def _message_parts(text: str, mentions: Sequence[Mention], is_own: bool) -> list[Json]:
    """Return the mentions, and the texts between them, in order."""
    made: list[Json] = []
    at = 0
    counted = _Offsets(text)
    for mention in sorted(mentions, key=lambda each: len(text) if each.start is None else each.start):
        start, end = mention.start, mention.end
        if start is None or end is None or start < at or end > len(text):
            if is_own:
                made.append(_own_mention(mention))
            continue
        written = _own_mention(mention) if is_own else _mention(mention, text[start:end])
        if written is None:
            continue
        if start > at:
            made.append({"kind": "text", "text": text[at:start], **counted.span(at, start)})
        made.append({**counted.span(start, end), **written})
        at = end
    if at < len(text):
        made.append({"kind": "text", "text": text[at:], **counted.span(at, len(text))})
    return made


def _own_mention(mention: Mention) -> Json:
    made = {"kind": mention.native, **(mention.extra or {})}
    put_notes(made, mention.notes, MENTION_NOTES)
    if mention.id is not None:
        made.setdefault(MENTION_IDS.get(mention.native or "", "id"), mention.id)
    if mention.start is None and mention.text is not None:
        made.setdefault("text", mention.text)
    return made


def _mention(mention: Mention, text: str) -> Json | None:
    """Return the mention of a file; other words of another program mean nothing to VS Code."""
    target = place_json(mention.place) if mention.place is not None else None
    if mention.type != "file" or target is None:
        return None
    name = mention.name or text
    return {"kind": "dynamic", "id": mention.id or name, "text": text, "data": target, "fullName": name, "isFile": True}


class _Offsets:
    """Offsets and lines of a text as VS Code counts them."""

    def __init__(self, text: str) -> None:
        self._text = text

    def span(self, start: int, end: int) -> Json:
        first, column = self._position(start)
        last, end_column = self._position(end)
        before = units(self._text[:start])
        return {
            "range": {"start": before, "endExclusive": before + units(self._text[start:end])},
            "editorRange": {
                "startLineNumber": first,
                "startColumn": column,
                "endLineNumber": last,
                "endColumn": end_column,
            },
        }

    def _position(self, at: int) -> tuple[int, int]:
        line = self._text.count("\n", 0, at)
        return line + 1, units(self._text[self._text.rfind("\n", 0, at) + 1 : at]) + 1


# --- attachments ----------------------------------------------------------------------------------------------------


def variables_json(parts: Sequence[AnyPart], left_out: Counter[str], *, is_own: bool) -> list[Any]:
    """Return the attachments of a message."""
    made: list[Any] = []
    for part in parts:
        if isinstance(part, Attachment) and not (is_own and part.native in OF_RECORDS):
            variable = _own_variable(part) if is_own else _variable(part, left_out)
            made.append(variable)
            if is_own and part.text is not None:
                left_out["texts of attachments"] += not _has_text(variable, part.text)
        elif isinstance(part, Unknown) and part.type.startswith("variable:"):
            made.append(part.raw)
    return made


def _has_text(value: Any, text: str) -> bool:
    """Return whether a value contains a text, or is what it says as JSON."""
    if isinstance(value, str):
        return text in value
    if isinstance(value, dict):
        return any(_has_text(each, text) for each in value.values()) or value == value_of_text(text)
    return isinstance(value, list) and (any(_has_text(each, text) for each in value) or value == value_of_text(text))


def _own_variable(part: Attachment) -> Json:
    made: Json = {"kind": part.native} if part.native is not None else {}
    made |= part.extra or {}
    made = with_texts(made, id=part.id, name=part.name, mimeType=part.mime_type, modelDescription=part.description)
    put_notes(made, part.notes, ATTACHMENT_NOTES)
    if (described := part.notes.get(IN_PAGE)) is not None and isinstance(fields := value_of_text(described), dict):
        made |= {key: value for key, value in fields.items() if key not in made}
    if part.type == "implicit" or not part.is_sent:
        made["enabled"] = part.is_sent
    if part.omitted is not None:
        made["omittedState"] = OMITTED[part.omitted]
    place = place_json(part.place) if part.place is not None else None
    if part.data is not None:
        made.setdefault("imageData" if part.type == "element" else "value", bytes_json(part.data))
    if part.text is not None:
        _put_text(made, part, part.text)
    if place is not None and not _is_place((part.extra or {}).get("value")):
        key = "copiedFrom" if part.type == "paste" else "uri" if "value" in made else "value"
        made.setdefault(key, place)
    if part.type == "paste":
        put_notes(made, part.notes, PASTE_NOTES)
        if part.text is not None:
            made.setdefault("code", part.text)
    return made


def _is_place(value: Any) -> bool:
    return isinstance(value, dict) and not value.keys().isdisjoint({"$mid", "scheme", "uri", "location"})


def _put_text(made: Json, part: Attachment, text: str) -> None:
    held = made.get("value")
    if isinstance(held, dict) and part.type == "implicit":
        made["value"] = {**held, "value": text}
    elif part.type in FREE:
        made.setdefault("value", value_of_text(text))
    elif part.type == "terminal-command" and "command" not in made and "value" in made:
        made["command"] = text
    elif part.type not in ("commit", "commit-change", "commit-range"):
        made.setdefault("value", text)


def _variable(part: Attachment, left_out: Counter[str]) -> Json:
    """Return an attachment of another program."""
    kind = KINDS.get(part.type, "generic")
    place = part.place
    target = (place_json(place) if place.uri else path_json(place.path or "")) if place is not None else None
    if kind == "image" and part.data is None:
        kind = "file" if target is not None else "generic"
    if kind in ("file", "directory") and target is None:
        kind = "generic"
    name = part.name or base_name((place.path or place.uri or "") if place is not None else "") or part.type
    made = with_texts({"kind": kind, "id": part.id or name, "name": name}, modelDescription=part.description)
    if kind == "image":
        assert part.data is not None
        return with_texts({**made, "value": bytes_json(part.data)}, mimeType=part.mime_type)
    if kind != "generic" and target is not None:
        left_out["texts of attached files"] += part.text is not None
        left_out["contents of attached files"] += part.data is not None
        return {**made, "value": target}
    left_out["contents of attachments"] += part.data is not None
    return {**made, "value": part.text if part.text is not None else target if target is not None else name}
