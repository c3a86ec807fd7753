"""Read messages as OpenTelemetry's conventions for generative AI write them, also from truncated JSON."""

from __future__ import annotations

import base64
import binascii
import re
from collections import deque
from typing import Any

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.fields import Json, json_text, rest, take_str, text_from
from copilog.model import AnyPart, Attachment, Place, Text, Thinking, ToolCall, ToolResult, Unknown
from copilog.sources.tool_rounds import clean_id

# JSON text that was truncated: the values before the cut can still be read.


# The marks that writers put at the cut: a debug log at 5,000 characters, spans at a length that can be set.
_CUT_MARK = re.compile(r"(?:\[truncated\]|\.\.\.\[truncated, original \d+ chars\])\Z")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
_HALF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_CLOSING = {"[": "]", "{": "}"}
MOST_STEPS_BACK = 6


def is_cut(text: str) -> bool:
    """Return whether a text ends with a writer's mark of truncation."""
    return _CUT_MARK.search(text) is not None


def without_cut_mark(text: str) -> str:
    return _CUT_MARK.sub("", text)


def decode_cut(text: str) -> tuple[Any, bool]:
    """Return the value of JSON text, and whether its end is missing. The value is None if nothing can be read."""
    try:
        return jsonio.decode(text.encode("utf-8", "replace"))[0], False
    except BadRecord:
        return _close_containers(without_cut_mark(text)), True


def _close_containers(text: str) -> Any:
    """Close the containers that are open at the end; if that fails, go back to the beginnings of the last values."""
    open_brackets: list[str] = []
    steps: deque[tuple[int, str]] = deque(
        maxlen=MOST_STEPS_BACK
    )  # commas and opening brackets, with their closing brackets
    is_in_string = False
    for token in _TOKEN.finditer(text):
        found = token[0]
        if found in ("[", "{"):
            open_brackets.append(_CLOSING[found])
            steps.append((token.end(), "".join(reversed(open_brackets))))
        elif found in ("]", "}"):
            if not open_brackets or open_brackets.pop() != found:
                return None
        elif found == ",":
            steps.append((token.start(), "".join(reversed(open_brackets))))
        else:
            is_in_string = token.end() == len(text) and not (len(found) > 1 and _ends_string(found))
    end = _HALF_ESCAPE.sub("", text) + '"' if is_in_string else text
    candidates = [end + "".join(reversed(open_brackets))]
    candidates += [text[:position] + closing for position, closing in reversed(steps)]
    for candidate in candidates:
        try:
            return jsonio.decode(candidate.encode("utf-8", "replace"))[0]
        except BadRecord:
            continue
    return None


def _ends_string(token: str) -> bool:
    """Return whether a string token has its closing quote, which is not an escaped one."""
    if not token.endswith('"'):
        return False
    backslashes = len(token[:-1]) - len(token[:-1].rstrip("\\"))
    return backslashes % 2 == 0


# Messages as OpenTelemetry's conventions for generative AI write them: roles, and parts distinguished by `type`. Format
# notes: docs/formats/copilot-chat-extension.md, "Spans".


CUT = {"possibly_cut": True}


class GenAiMessage:
    """One message of a list, as it was sent to a model or came back."""

    __slots__ = ("is_cut", "parts", "raw", "role")

    def __init__(self, raw: Json, *, is_cut: bool) -> None:
        self.role = take_str(raw, "role") or ""
        parts = raw.pop("parts", None)
        self.parts: list[Any] = parts if isinstance(parts, list) else []
        if not self.parts and isinstance(parts, str):
            self.parts = [{"type": "text", "content": parts}]
        self.raw = raw
        self.is_cut = is_cut  # its end is missing


def messages_from(value: object) -> list[GenAiMessage]:
    """Return the messages of a list, or of JSON text of one, even if that was truncated."""
    is_text_cut = False
    if isinstance(value, str):
        value, is_text_cut = decode_cut(value)
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    return [GenAiMessage(item, is_cut=is_text_cut and item is items[-1]) for item in items]


def text_of(message: GenAiMessage) -> str:
    """Return the text of a message, without calls, results and thinking."""
    texts = [part.get("content") for part in message.parts if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def parts_from(message: GenAiMessage, ledger: Ledger, place: str) -> list[AnyPart]:
    """Return the parts of a message as parts of the model, each counted."""
    made: list[AnyPart] = []
    tally = ledger.parts
    if message.is_cut and message.parts and _is_only_begun(message.parts[-1]):
        message.parts.pop()
    for position, raw in enumerate(message.parts):
        tally.seen += 1
        part = _part_from(raw) if isinstance(raw, dict) else None
        if part is None:
            ledger.reject_part("a part that cannot be read", f"{place}/parts/{position}")
            continue
        tally.used += 1
        if isinstance(part, Unknown):
            tally.count_unknown(f"part:{part.type}")
        if message.is_cut and position == len(message.parts) - 1:
            part.extra = {**(part.extra or {}), **CUT}
        made.append(part)
    return made


def _is_only_begun(raw: object) -> bool:
    """Return whether a text was truncated before this part has any content."""
    return not isinstance(raw, dict) or raw.keys() <= {"type", "id"}


def _part_from(raw: Json) -> AnyPart | None:
    kind = raw.get("type")
    if kind in ("text", "reasoning"):
        text = text_from(raw.pop("content", None)) or ""
        del raw["type"]
        return Text(text=text, extra=rest(raw)) if kind == "text" else Thinking(text=text, extra=rest(raw))
    if kind == "tool_call":
        return _call_from(raw)
    if kind == "tool_call_response":
        return _result_from(raw)
    if kind in ("blob", "uri", "file"):
        return _attachment_from(raw)
    return Unknown(type=kind if isinstance(kind, str) else "", raw=raw)


def _call_from(raw: Json) -> ToolCall | None:
    native_id = take_str(raw, "id")
    name = take_str(raw, "name")
    if native_id is None and name is None:
        return None
    del raw["type"]
    arguments = raw.pop("arguments", None)
    call = ToolCall(id=clean_id(native_id or ""), name=name or "")
    call.arguments = arguments if isinstance(arguments, str) or arguments is None else json_text(arguments)
    call.native_ids = [native_id] if native_id and native_id != call.id else []
    call.server, call.tool_id = take_str(raw, "mcp_server_name"), take_str(raw, "mcp_tool_name")
    call.origin = "mcp" if call.server else None
    call.extra = rest(raw)
    return call


def _result_from(raw: Json) -> ToolResult | None:
    native_id = take_str(raw, "id")
    if native_id is None:
        return None
    del raw["type"]
    text = result_text(raw)
    return ToolResult(call_id=clean_id(native_id), text=text, origin="model", extra=rest(raw))


def result_text(raw: Json) -> str:
    """Take the output of a tool, under the name that each release uses; texts of a list are joined."""
    for key in ("response", "content", "result"):
        if key in raw:
            return joined_text(raw.pop(key))
    return ""


def joined_text(value: object) -> str:
    """Return a value as text: the texts of a list of blocks, or anything else unchanged."""
    if isinstance(value, list) and value and all(isinstance(block, dict) for block in value):
        texts = [block.get("text", block.get("content")) for block in value]
        if all(isinstance(text, str) for text in texts):
            return "\n".join(texts)
    return text_from(value) or ""


def _attachment_from(raw: Json) -> Attachment:
    kind = raw.pop("type")
    modality = take_str(raw, "modality")
    made = Attachment(type=modality or "file", mime_type=take_str(raw, "mime_type"), native=kind)
    if raw.get("mime_type") is None:
        raw.pop("mime_type", None)
    content = raw.get("content")
    if isinstance(content, str):
        try:
            made.data = base64.b64decode(content, validate=True)
            del raw["content"]
        except (binascii.Error, ValueError):
            pass  # it stays unchanged
    uri = take_str(raw, "uri")
    made.place = Place(uri=uri) if uri is not None else None
    made.id = take_str(raw, "file_id")
    made.extra = rest(raw)
    return made
