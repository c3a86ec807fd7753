"""Parts of raw messages as parts of the model's: prose, prompts, thinking, images, documents, tool results."""

from __future__ import annotations

import re
from typing import Any, Literal

from copilog.diagnostics import Ledger
from copilog.model import (
    AnyPart,
    Attachment,
    Compaction,
    Place,
    Prompt,
    ResultItem,
    Text,
    Thinking,
    ToolCall,
    Unknown,
)
from copilog.sources._replay.raw import CACHE_BREAKPOINT, DOCUMENT, IMAGE, OPAQUE, TEXT, RawMessage, text_of, type_of
from copilog.sources._vscode.promptx import data_url
from copilog.sources._vscode.take import Json, rest, take_dict, take_str

Scope = Literal["turn", "conversation"]

SUMMARY, SUMMARY_END = "<conversation-summary>", "</conversation-summary>"
_IMAGE_TAG = re.compile(r'<promptTsxImg src="([^"]*)"\s*/>')


def assistant_parts(message: RawMessage, ledger: Ledger) -> tuple[list[AnyPart], Json]:
    """What the model said, in its order, and what of the message is for machines alone."""
    parts: list[AnyPart] = []
    beside: Json = {}
    for position, part in enumerate(_counted(message, ledger)):
        text = text_of(part)
        if text is None:
            _add_other(part, position, parts, beside, ledger)
        elif parts and isinstance(parts[-1], Text):
            parts[-1].text += text
        elif text:
            parts.append(Text(text=text))
    ledger.parts.seen += len(message.calls)
    ledger.parts.used += len(message.calls)
    parts += [
        ToolCall(
            id=call.id,
            name=call.name,
            arguments=call.arguments,
            native_ids=[call.native_id] if call.native_id != call.id else [],
            extra=call.extra,
        )
        for call in message.calls
    ]
    return parts, beside


def prompt_parts(message: RawMessage, ledger: Ledger, scope: Scope) -> tuple[list[AnyPart], Json]:
    """What went to the model in a message of the user's or of the product's."""
    parts: list[AnyPart] = []
    beside: Json = {}
    if message.text:
        parts += _words_and_prompt(message, scope)
    for position, part in enumerate(_counted(message, ledger)):
        if text_of(part) is None:
            _add_other(part, position, parts, beside, ledger)
    return parts, beside


def _words_and_prompt(message: RawMessage, scope: Scope) -> list[AnyPart]:
    text = message.text
    if message.role == "system":
        return [Prompt(text=text, scope="system")]
    if message.words == text.strip():
        return [Text(text=text)]
    parts: list[AnyPart] = [] if message.words is None else [Text(text=message.words)]
    parts.append(Prompt(text=text, scope=scope))
    if text.lstrip().startswith(SUMMARY):
        summary = text.lstrip().removeprefix(SUMMARY).partition(SUMMARY_END)[0]
        parts.insert(0, Compaction(text=summary.strip()))
    return parts


def _counted(message: RawMessage, ledger: Ledger) -> list[Any]:
    ledger.parts.seen += len(message.content)
    ledger.parts.used += len(message.content)
    return message.content


def _add_other(part: Any, position: int, parts: list[AnyPart], beside: Json, ledger: Ledger) -> None:
    """Add a part that is no text; what only machines can read goes beside the parts."""
    kind = type_of(part)
    if kind == IMAGE:
        parts.append(_attachment(part, "image", "imageUrl", "url", position))
    elif kind == DOCUMENT:
        parts.append(_attachment(part, "document", "documentData", "data", position))
    elif kind == CACHE_BREAKPOINT:
        beside.setdefault("cache_breakpoints", []).append(part.get("cacheType"))
    elif kind == OPAQUE and (thinking := _thinking_from(part, position)) is not None:
        parts.append(thinking)
    elif kind == OPAQUE:
        beside.setdefault("opaque", []).append({key: value for key, value in part.items() if key != "type"})
    else:
        name = f"content:{part.get('type') if isinstance(part, dict) else type(part).__name__}"
        ledger.parts.meet_unknown("content:text" if kind == TEXT else name)
        parts.append(Unknown(type=name, raw=part, position=position))


def _thinking_from(part: Json, position: int) -> Thinking | None:
    value = part.get("value")
    if not isinstance(value, dict) or value.get("type") != "thinking" or not isinstance(value.get("thinking"), dict):
        return None
    thought: Json = dict(value["thinking"])
    text = thinking_text(thought)
    more = {key: item for key, item in part.items() if key not in ("type", "value")}
    more |= {key: item for key, item in value.items() if key not in ("type", "thinking")}
    made = Thinking(text=text or "", id=take_str(thought, "id"), position=position)
    made.extra = rest({**thought, **more})
    return made


def thinking_text(thought: Json) -> str | None:
    """Take the readable part of a thought: a text, or a list of them."""
    text = thought.get("text")
    if isinstance(text, list) and all(isinstance(item, str) for item in text):
        text = "\n".join(text)
    if not isinstance(text, str):
        return None
    del thought["text"]
    return text


def _attachment(part: Json, kind: str, holder: str, key: str, position: int) -> Attachment:
    """An image or a document: its bytes where they are inline, else the address."""
    raw = {name: value for name, value in part.items() if name != "type"}
    inner = take_dict(raw, holder) or take_dict(raw, "image_url") or {}
    inner = dict(inner)
    source = take_str(inner, key)
    made = Attachment(type=kind, position=position)
    if source is not None:
        mime_type, made.data = data_url(source)
        made.mime_type = mime_type or take_str(inner, "mediaType")
        if made.data is None:
            made.place = Place(uri=source)
    if inner:
        raw[holder] = inner
    made.extra = rest(raw)
    return made


# --- what tools gave back ---------------------------------------------------------------------------------------


def result_from_message(message: RawMessage, ledger: Ledger) -> tuple[str, list[ResultItem], Json]:
    """What the model saw of a tool's output: its text, what is no text, and what is for machines alone."""
    items: list[ResultItem] = []
    beside: Json = {}
    for position, part in enumerate(_counted(message, ledger)):
        if text_of(part) is not None:
            continue
        parts: list[AnyPart] = []
        _add_other(part, position, parts, beside, ledger)
        for made in parts:
            if isinstance(made, Attachment):
                items.append(ResultItem(mime_type=made.mime_type, data=made.data, place=made.place, extra=made.extra))
            else:
                items.append(ResultItem(extra={"part": part}))
    return message.text, items, beside


def result_from_log(response: list[Any]) -> tuple[str, list[ResultItem]]:
    """What a tool gave back, as it was logged: one string for each piece, images as addresses that hold them."""
    text = ""
    items: list[ResultItem] = []
    for piece in response:
        if not isinstance(piece, str):
            if piece is not None:
                items.append(ResultItem(extra={"value": piece}))
            continue
        if piece.startswith("data:"):
            item = _inline(piece)
            if item.data is not None:
                items.append(item)
                continue
        items += [_inline(source) for source in _IMAGE_TAG.findall(piece)]
        text += "\n" + piece if text and not text.endswith("\n") else piece
    return _IMAGE_TAG.sub(_placeholder, text), items


def _inline(source: str) -> ResultItem:
    mime_type, data = data_url(source) if source.startswith("data:") else (None, None)
    return ResultItem(mime_type=mime_type, data=data, place=Place(uri=source) if data is None else None)


def _placeholder(found: re.Match[str]) -> str:
    """An image within a text stays as a mark; its bytes are an item of the result."""
    return "[image]" if data_url(found[1])[1] is not None and found[1].startswith("data:") else found[0]
