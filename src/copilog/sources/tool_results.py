"""The results of tools for the model: result objects and prompt-tsx trees, converted to plain text.

Of a tree, the text and embedded data are read; hints for its layout (priorities, references) are not.
Format notes: docs/formats/vscode-chat.md, "Tool results".
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from copilog import jsonio
from copilog.errors import BadRecord
from copilog.fields import Json
from copilog.model import Place, ResultItem

PIECE, TEXT, OPAQUE = 1, 2, 3  # types of nodes
IMAGE, DOCUMENT = 3, 4  # constructors of pieces
# The $mid of parts. The numbers moved by one when thinking was added: the content of a part decides first.
TEXT_MARK, THINKING_MARK, DATA_MARK = 21, 22, 24


def result_content(value: object) -> tuple[str, list[ResultItem]]:
    """Return the text of a tool result, and its other content (images, documents, data)."""
    parts = value.get("content") if isinstance(value, dict) else value
    if isinstance(parts, str):
        return parts, []
    if not isinstance(parts, list):
        return "", []
    texts: list[str] = []
    items: list[ResultItem] = []
    for part in parts:
        _add_part(part, texts, items)
    return "".join(texts), items


def fields_beside_content(value: object) -> Json | None:
    """Return the fields of a tool result besides its content; all of them if its content cannot be read."""
    if value is None or type(value) is str or type(value) is list:
        return None
    if type(value) is not dict:
        return {"value": value}
    if len(value) == 2 and "$mid" in value and type(value.get("content")) is list:  # nearly all
        return None
    is_read = isinstance(value.get("content"), str | list)
    return {key: item for key, item in value.items() if key != "$mid" and not (is_read and key == "content")} or None


def _add_part(part: object, texts: list[str], items: list[ResultItem]) -> None:
    if isinstance(part, str):
        texts.append(part)
        return
    if not isinstance(part, dict):
        if part is not None:
            items.append(ResultItem(extra={"value": part}))
        return
    mark, value = part.get("$mid"), part.get("value")
    if "mimeType" in part or mark == DATA_MARK:
        _add_data(part, texts, items)
        return
    if isinstance(value, dict) and "mimeType" in value:
        _add_data(value, texts, items)
    elif (tree := _tree_in(value, mark)) is not None:
        text, found = tree_text(tree)
        texts.append(text)
        items += found
    elif mark == THINKING_MARK or isinstance(value, list):
        thoughts = value if isinstance(value, list) else [value]
        thought = "\n".join(text for text in thoughts if isinstance(text, str))  # reasoning is not output
        left = {key: item for key, item in part.items() if key != "value" or not thought}
        items.append(ResultItem(text=thought or None, extra=left or None))
        return
    elif isinstance(value, str):
        texts.append(value)
    else:
        items.append(ResultItem(extra=part))
        return
    if len(part) > 2 or (len(part) == 2 and mark is None):
        more = {key: item for key, item in part.items() if key not in ("$mid", "kind", "value")}
        if more:
            items.append(ResultItem(extra=more))


def _add_data(part: Json, texts: list[str], items: list[ResultItem]) -> None:
    """Add bytes with a media type: those of a text are added to the text."""
    mime, data = part.get("mimeType"), bytes_from(part.get("data"))
    item = ResultItem(mime_type=mime if isinstance(mime, str) else None, data=data)
    taken = {"$mid"} if data is None else {"$mid", "data"}
    if item.mime_type is not None:
        taken.add("mimeType")
    item.extra = {key: value for key, value in part.items() if key not in taken} or None
    text = readable_text(item.mime_type, data)
    if text is not None:
        texts.append(text)
        item.data = None
    items.append(item)


def readable_text(mime_type: str | None, data: bytes | None) -> str | None:
    """Return the text that bytes encode, judged by their media type; None for an image and the like."""
    if data is None or mime_type is None or not (mime_type.startswith("text/") or mime_type == "application/json"):
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _tree_in(value: object, mark: object) -> Json | None:
    """Return the root of a prompt-tsx tree. Old data holds the tree as JSON text."""
    if isinstance(value, str) and mark != TEXT_MARK and value.startswith('{"node"'):
        try:
            value = jsonio.decode(value.encode("utf-8", "replace"))[0]
        except BadRecord:
            return None
    node = value.get("node") if isinstance(value, dict) else None
    return node if isinstance(node, dict) else None


def tree_text(root: Json) -> tuple[str, list[ResultItem]]:
    """Return the text of a prompt-tsx tree, and its images and documents.

    A text starts a new line when it is marked so, or when it is the first child of its piece and no plain text is
    directly before that piece. Neither is true after a piece, so of the outer pieces only the position in their
    children is stored. Each session has tens of thousands of nodes.
    """
    out: list[str] = []
    items: list[ResultItem] = []
    around: list[Iterator[Any]] = []
    children: Iterator[Any] = iter((root,))
    is_first = True
    after_text = False
    is_line_open = False  # whether the text before ended within a line, directly before this node
    while True:
        for child in children:
            try:
                kind = child["type"]
            except (KeyError, TypeError):
                if type(child) is not dict:
                    continue
                kind = None
            if kind == TEXT:
                if is_line_open and ((is_first and not after_text) or child.get("lineBreakBefore")):
                    out.append("\n")
                    is_line_open = False
                text = child.get("text")
                if text and type(text) is str:
                    out.append(text)
                    is_line_open = text[-1] != "\n"
                after_text = True
            elif kind == OPAQUE:
                items.append(ResultItem(extra=child))
                is_line_open = False
            elif child.get("ctor") in (IMAGE, DOCUMENT):
                items.append(_resource(child))
                is_line_open = False
            else:
                below = child.get("children")
                if type(below) is list:
                    around.append(children)
                    children = iter(below)
                    is_first = True
                    break
                after_text = False
            is_first = False
        else:
            if not around:
                return "".join(out), items
            children = around.pop()
            is_first = after_text = False


def _resource(node: Json) -> ResultItem:
    """Return an image or document of a tree: its bytes if they are inline, else the address."""
    props = node.get("props")
    if not isinstance(props, dict):
        return ResultItem(extra=node)
    key = "src" if "src" in props else "data"
    source, mime = props.get(key), props.get("mediaType")
    if not isinstance(source, str):
        return ResultItem(extra=props)
    mime_type, data = data_url(source)
    item = ResultItem(mime_type=mime_type or (mime if isinstance(mime, str) else None), data=data)
    if data is None:
        item.place = Place(uri=source)
    item.extra = {name: value for name, value in props.items() if name not in (key, "mediaType")} or None
    return item


def data_url(text: str) -> tuple[str | None, bytes | None]:
    """Return the type and bytes of a `data:` address, or of plain base64; (None, None) for other text."""
    mime: str | None = None
    if text.startswith("data:"):
        head, comma, text = text.partition(",")
        if not comma or ";base64" not in head:
            return None, None
        mime = head[5:].partition(";")[0] or None
    try:
        return mime, base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return mime, None


def bytes_from(value: object) -> bytes | None:
    """Return binary data in any form that VS Code wrote: base64, a Node buffer, or a map from index to byte."""
    if isinstance(value, dict):
        text = value.get("$base64")
        if isinstance(text, str):
            return data_url(text)[1]
        inner = value.get("data")
        value = inner if isinstance(inner, list) else _indexed(value)
    if isinstance(value, list):
        try:
            return bytes(value)
        except (TypeError, ValueError):
            return None
    if isinstance(value, str):
        return data_url(value)[1]
    return None


def _indexed(value: Json) -> list[Any] | None:
    """Return the values of a map whose keys count from 0, which is a typed array written as JSON."""
    if "0" not in value:
        return None
    keys = [str(index) for index in range(len(value))]
    if list(value) == keys:
        return list(value.values())
    return [value[key] for key in keys] if all(key in value for key in keys) else None
