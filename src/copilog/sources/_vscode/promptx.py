"""What tools gave to the model: result objects and prompt-tsx trees, turned into plain text.

Format notes: docs/formats/vscode-chat.md, "Tool results".
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from copilog import jsonio
from copilog.errors import BadRecord
from copilog.model import ResultItem

PIECE, TEXT, OPAQUE = 1, 2, 3
IMAGE, DOCUMENT = 3, 4


def result_content(value: object) -> tuple[str, list[ResultItem]]:
    """The text of a tool result, and what of it is no text (images, documents, data)."""
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


def _add_part(part: object, texts: list[str], items: list[ResultItem]) -> None:
    if isinstance(part, str):
        texts.append(part)
        return
    if not isinstance(part, dict):
        return
    if "mimeType" in part or part.get("$mid") == 24:
        mime = part.get("mimeType")
        data = bytes_from(part.get("data"))
        items.append(ResultItem(mime_type=mime if isinstance(mime, str) else None, data=data))
        return
    value = part.get("value")
    if isinstance(value, str) and value.startswith('{"node"'):
        value = _parsed(value)
    if isinstance(value, dict) and "node" in value:
        text, found = tree_text(value["node"])
        texts.append(text)
        items += found
    elif isinstance(value, str):
        texts.append(value)
    elif isinstance(value, list):  # a thinking part
        texts += [item for item in value if isinstance(item, str)]
    else:
        items.append(ResultItem(extra=part))


def _parsed(text: str) -> object:
    try:
        return jsonio.decode(text.encode())[0]
    except BadRecord:
        return text


def tree_text(node: object) -> tuple[str, list[ResultItem]]:
    """The text of a prompt-tsx tree, and its images and documents."""
    out: list[str] = []
    items: list[ResultItem] = []
    if isinstance(node, dict):
        if node.get("ctor") in (IMAGE, DOCUMENT):
            items.append(_resource(node))
        elif node.get("type") == TEXT:
            out.append(_text(node))
        else:
            _walk(node, out, items)
    return "".join(out), items


def _walk(root: dict[str, Any], out: list[str], items: list[ResultItem]) -> None:
    """Add the text below a piece.

    A text starts a new line when it says so, or when it is the first of its piece and no plain text stood right
    before that piece. Each frame of the stack is one piece: its children, and whether plain text came just before.
    """
    stack = [_Frame(root, False)]
    while stack:
        frame = stack[-1]
        child = next(frame.children, None)
        if child is None:
            stack.pop()
            if stack:
                stack[-1].after_text = False
            continue
        frame.index += 1
        kind = child.get("type")
        if kind == TEXT:
            breaks = child.get("lineBreakBefore") or (frame.index == 1 and not frame.after_text)
            if breaks and out and out[-1] and out[-1][-1] != "\n":
                out.append("\n")
            text = _text(child)
            if text:
                out.append(text)
            frame.after_text = True
        elif kind == OPAQUE:
            out.append("")  # what follows starts a new run: no line break is put across it
        elif child.get("ctor") in (IMAGE, DOCUMENT):
            items.append(_resource(child))
            out.append("")
        else:
            stack.append(_Frame(child, frame.after_text))


class _Frame:
    __slots__ = ("after_text", "children", "index")

    def __init__(self, piece: dict[str, Any], after_text: bool) -> None:
        children = piece.get("children")
        self.children = iter(
            [child for child in children if isinstance(child, dict)] if isinstance(children, list) else []
        )
        self.index = 0
        self.after_text = after_text


def _text(node: dict[str, Any]) -> str:
    text = node.get("text")
    return text if isinstance(text, str) else ""


def _resource(node: dict[str, Any]) -> ResultItem:
    """An image or document of a tree; the bytes where they are inline."""
    props = node.get("props")
    if not isinstance(props, dict):
        return ResultItem()
    source = props.get("src") or props.get("data")
    mime = props.get("mediaType")
    if isinstance(source, str):
        mime_type, data = data_url(source)
        return ResultItem(
            mime_type=mime_type or (mime if isinstance(mime, str) else None),
            data=data,
            text=source if data is None else None,
        )
    return ResultItem(extra=props)


def data_url(text: str) -> tuple[str | None, bytes | None]:
    """The type and bytes of a `data:` address, or of plain base64; (None, None) for other text."""
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
    """Binary data in any of the ways VS Code wrote it: base64, a Node buffer, or a map from index to byte."""
    if isinstance(value, dict):
        text = value.get("$base64")
        if isinstance(text, str):
            return data_url(text)[1]
        inner = value.get("data")
        if isinstance(inner, list):
            value = inner
        elif value and "0" in value:
            value = [value.get(str(index)) for index in range(len(value))]
    if isinstance(value, list):
        try:
            return bytes(value)
        except (TypeError, ValueError):
            return None
    if isinstance(value, str):
        return data_url(value)[1]
    return None
