"""The user's side of a request: the words as typed, what they mention, what went with them, and the real prompt."""

from __future__ import annotations

from typing import Any, Literal

from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.model import AnyPart, Mention, Prompt, Text, Unknown
from copilog.sources._vscode.attachments import attachments_from
from copilog.sources._vscode.places import place_from
from copilog.sources._vscode.take import Json, rest, take_dict, take_list, take_str


def user_parts(request: Json, ledger: Ledger, pointer: str) -> list[AnyPart]:
    """The parts of the user's message. Takes `message` and `variableData` out of the request."""
    if "message" not in request or request["message"] is None:
        raise BadRecord("a request without a message", "no-message")
    message = request.pop("message")
    if isinstance(message, str):
        parts: list[AnyPart] = [Text(text=message)]
    elif isinstance(message, dict):
        parts = _typed_parts(message, ledger, f"{pointer}/message/parts")
    else:
        raise BadRecord(f"a message that is neither text nor an object but {type(message).__name__}", "no-message")
    variable_data = take_dict(request, "variableData")
    if variable_data is not None:
        variables = take_list(variable_data, "variables")
        parts += attachments_from(variables, ledger, f"{pointer}/variableData/variables")
        if variable_data:
            request["variableData"] = variable_data
    return parts


def _typed_parts(message: Json, ledger: Ledger, pointer: str) -> list[AnyPart]:
    items = take_list(message, "parts") or []
    text = take_str(message, "text")
    if text is None:  # most kinds store no text of their own: only what is there can be joined
        text = "".join(item["text"] for item in items if isinstance(item, dict) and isinstance(item.get("text"), str))
    parts: list[AnyPart] = [Text(text=text, extra=rest(message))]
    tally = ledger.parts
    for position, item in enumerate(items):
        tally.seen += 1
        if isinstance(item, dict):
            tally.used += 1
            mention = _mention_from(item, text, position, ledger)
            if mention is not None:
                parts.append(mention)
        elif isinstance(item, str):
            tally.used += 1  # its words stand in the message's text
        elif item is None:
            tally.ignore("null-part")
        else:
            ledger.reject_part("a message part that is no object", f"{pointer}/{position}")
    return parts


def _mention_from(item: Json, text: str, position: int, ledger: Ledger) -> AnyPart | None:
    kind = item.get("kind")
    if kind == "text" or (kind is None and isinstance(item.get("text"), str)):
        return None  # its words stand in the message's text
    reader = MENTIONS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        ledger.parts.meet_unknown(f"message:{kind}")
        return Unknown(type=f"message:{kind}", raw=item, position=position)
    del item["kind"]
    mention_type, name_of = reader
    start, end = _offsets(item, text)
    place = None
    if kind == "dynamic":
        place = place_from(item.get("data"))
    native_id = take_str(item, "id") or take_str(item, "toolId") or take_str(item, "variableId")
    return Mention(
        type=mention_type,
        name=name_of(item) or "",
        text=text[start:end] if start is not None else take_str(item, "text"),
        start=start,
        end=end,
        id=native_id,
        place=place,
        native=kind,
        position=position,
        extra=rest(item),
    )


def _offsets(item: Json, text: str) -> tuple[int | None, int | None]:
    """Where a part stands in the text. VS Code counts UTF-16 units, Python counts characters."""
    span = item.get("range")
    if not isinstance(span, dict):
        return None, None
    start, end = span.get("start"), span.get("endExclusive")
    if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start <= end:
        return None, None
    if text.isascii() or max(text, default="") < "\U00010000":
        return start, end
    units = text.encode("utf-16-le", "surrogatepass")
    before = len(units[: 2 * start].decode("utf-16-le", "replace"))
    inside = len(units[2 * start : 2 * end].decode("utf-16-le", "replace"))
    return before, before + inside


def _inner(key: str, name_key: str) -> Any:
    def name_of(item: Json) -> str | None:
        inner = item.get(key)
        name = inner.get(name_key) if isinstance(inner, dict) else None
        return name if isinstance(name, str) else None

    return name_of


def _own(*keys: str) -> Any:
    def name_of(item: Json) -> str | None:
        return next((item[key] for key in keys if isinstance(item.get(key), str)), None)

    return name_of


MENTIONS: dict[str, tuple[str, Any]] = {
    "agent": ("agent", _inner("agent", "name")),
    "subcommand": ("command", _inner("command", "name")),
    "slash": ("command", _inner("slashCommand", "command")),
    "prompt": ("prompt", _own("name", "slashPromptCommand")),
    "tool": ("tool", _own("toolName")),
    "toolset": ("toolset", _own("name")),
    "dynamic": ("file", _own("fullName", "text")),
    "var": ("variable", _own("variableName")),
}


def prompts_from(metadata: Json) -> list[AnyPart]:
    """The prompt as it was sent: this turn's last user message, and the context that came first."""
    prompts: list[AnyPart] = []
    for key, scope in PROMPTS.items():
        value = metadata.get(key)
        if not isinstance(value, str | list):
            continue
        del metadata[key]
        text, others = _raw_text([value] if isinstance(value, str) else value)
        extra = {"parts": others} if others else None
        prompts.append(Prompt(text=text, scope=scope, native=key, extra=extra))
    return prompts


PROMPTS: dict[str, Literal["turn", "conversation"]] = {
    "renderedGlobalContext": "conversation",
    "renderedUserMessage": "turn",
}


def _raw_text(parts: list[Any]) -> tuple[str, list[Any]]:
    """The text of raw prompt parts; what is no text (images, cache marks) beside it."""
    texts: list[str] = []
    others: list[Any] = []
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            texts.append(text)
        else:
            others.append(part)
    return "".join(texts), others
