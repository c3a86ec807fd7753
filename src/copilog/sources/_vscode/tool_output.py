"""What VS Code itself kept of a tool's output: `resultDetails` in its shapes, and the error."""

from __future__ import annotations

from typing import Any

import msgspec

from copilog.model import Place, ResultItem, ToolResult
from copilog.sources._vscode.promptx import beside_content, bytes_from, readable_text, result_content
from copilog.sources._vscode.take import Json, is_same_json, json_text, put_back, rest, take_bool, take_str, texts_at
from copilog.sources._vscode.take_place import take_place


class Output(msgspec.Struct, gc=False):
    """The output as far as it is known; `text` is None until some place tells it."""

    text: str | None = None
    origin: str = "display"
    is_borrowed: bool = False  # the text belongs to another part, and need not be said twice
    items: list[ResultItem] = []
    places: list[Place] = []
    is_error: bool = False
    given: str | None = None  # what the tool was called with, as shown

    def offer(self, text: str | None, origin: str) -> None:
        """Borrow the text of another part as output, where there is no better one."""
        if self.text is None and text is not None:
            self.text = text
            self.origin = origin
            self.is_borrowed = True


def output_from(item: Json) -> Output:
    """Read the places that a tool found, or its input and output, or binary data."""
    output = Output()
    if "resultError" not in item and "resultDetails" not in item:
        return output
    error = item.get("resultError")
    if error is not None and error is not False:
        output.is_error = True
        output.text = error if isinstance(error, str) else None
    details = item.get("resultDetails")
    if isinstance(details, list):
        output.places = take_places(item, "resultDetails")
    elif isinstance(details, dict):
        output.given = take_str(details, "input")
        output.is_error = take_bool(details, "isError") or output.is_error
        _read_entries(details, output)
        _read_server_output(details.get("mcpOutput"), output)
        if not details:
            del item["resultDetails"]
    return output


def take_places(obj: Json, key: str) -> list[Place]:
    """The places of the list under a key; the list stays when one of its items says more, or is no place."""
    values = obj.get(key)
    if not isinstance(values, list):
        return []
    places: list[Place] = []
    is_told = True
    for value in values:
        holder = {"place": value}
        place = take_place(holder, "place")
        if place is not None:
            places.append(place)
        is_told = is_told and not holder
    if is_told:
        del obj[key]
    return places


def _read_entries(details: Json, output: Output) -> None:
    value = details.pop("output", None)
    if isinstance(value, str):
        output.text = value
        return
    texts: list[str] = []
    left: list[Any] = []
    for entry in value if isinstance(value, list) else [value]:
        if isinstance(entry, dict):
            text, made = _entry(entry)
            if text is not None:
                texts.append(text)
            if made is not None:
                output.items.append(made)
        elif entry is not None:
            left.append(entry)
    put_back(details, "output", left)
    if texts:
        output.text = "\n".join(texts)


def _read_server_output(value: object, output: Output) -> None:
    """Add what an MCP server sent as text and is not among the entries."""
    if not isinstance(value, dict):
        return
    structured = value.get("structuredContent")
    texts = [texts_at(value.get("content"), "text"), (json_text(structured) if structured else None) or ""]
    for text in texts:
        if not text or text in (output.text or "") or is_same_json(text, output.text):
            continue
        if output.text is None:
            output.text = text
        else:
            output.items.append(ResultItem(text=text))


def _entry(entry: Json) -> tuple[str | None, ResultItem | None]:
    """One piece of output: its text, and an item for what is no text or says more about it."""
    kind = entry.pop("type", None)
    made = ResultItem(mime_type=take_str(entry, "mimeType"))
    text: str | None = None
    if kind == "ref":
        made.place = take_place(entry, "uri")
    elif kind == "data":
        made.data = bytes_from(entry.get("base64Data"))
        if made.data is not None:
            del entry["base64Data"]
    elif isinstance(entry.get("value"), str):
        text = entry.pop("value")
        is_text = entry.get("isText") is True
        made.data = None if is_text else bytes_from(text)
        if made.data is not None:
            text = readable_text(made.mime_type, made.data)
        if is_text or made.data is not None:  # else it should be base64, and is none
            take_bool(entry, "isText")
    if text is not None:
        made.data = None
    if kind not in ("ref", "data", "embed") and kind is not None:
        entry["type"] = kind
    made.extra = rest(entry)
    says_nothing = made.data is None and made.place is None and made.extra is None
    return text, None if says_nothing and made.mime_type in (None, "text/plain") else made


def result_of(recorded: Any, output: Output, call_id: str) -> ToolResult | None:
    """What came back: as the model saw it where that was recorded, else as VS Code showed it."""
    if recorded is None and output.text is None and not output.items and not output.places and not output.is_error:
        return None
    result = ToolResult(
        call_id=call_id,
        text=output.text or "",
        origin=output.origin,
        is_error=output.is_error,
        items=output.items,
        places=output.places,
    )
    if recorded is not None:
        text, items = result_content(recorded)
        if output.text is not None and output.text != text and not output.is_borrowed:
            result.display = output.text
        result.origin = "model"
        result.text = text
        result.items = [*items, *output.items]
        result.extra = beside_content(recorded)
        if result.extra is not None and result.extra.get("hasError") is True:
            result.is_error = True
    return result
