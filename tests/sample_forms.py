"""The shapes in which VS Code writes times, ids, addresses, prompts and edits. The bundled sample is built of these."""

from __future__ import annotations

import hashlib
import json
import re
import struct
import uuid
import zlib
from datetime import UTC, datetime
from textwrap import dedent
from typing import Any
from urllib.parse import quote

Json = dict[str, Any]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
BLOCK_START = re.compile(r"\s*([-*>] |[|#]|\d+\. )|\s*$")
LINK = re.compile(r"\[[^\]]*\]\((file|vscode-remote)(://[^)#]*)(?:#([^)]*))?\)")


def ms(moment: str) -> int:
    """Milliseconds since 1970 of a moment such as `2026-04-02 09:14:05`, in UTC."""
    return int(datetime.strptime(moment, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp() * 1000)


def made_up_id(*names: str) -> str:
    """A UUID that is always the same for the same names."""
    return str(uuid.UUID(bytes=_digest(*names)[:16], version=4))


def made_up_word(length: int, *names: str) -> str:
    """Letters and digits that are always the same for the same names."""
    return "".join(LETTERS[byte % len(LETTERS)] for byte in (_digest(*names) + _digest("more", *names))[:length])


def _digest(*names: str) -> bytes:
    return hashlib.sha256("/".join(names).encode()).digest()


def prose(text: str) -> str:
    """A text written indented between triple quotes."""
    return dedent(text).strip("\n")


def answer(text: str) -> str:
    """Markdown written indented between triple quotes; the lines of a paragraph or list item become one line."""
    lines: list[str] = []
    is_code = False
    for line in prose(text).splitlines():
        goes_on = bool(lines and lines[-1]) and not is_code and not BLOCK_START.match(line)
        if line.startswith("```"):
            is_code = not is_code
            goes_on = False
        if goes_on and not lines[-1].startswith("```"):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines)


def encoded(value: Any) -> str:
    """JSON as VS Code writes it: on one line, with all characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- places -----------------------------------------------------------------------------------------------------


def uri(path: str, scheme: str = "file", *, is_cached: bool = False, **parts: Any) -> Json:
    """A URI as an object. VS Code adds caches (`fsPath`, `external`) to those it has worked with."""
    made: Json = {"$mid": 1}
    if is_cached:
        made |= {"fsPath": path, "external": address(path)}
    return made | {"path": path, "scheme": scheme} | parts


def address(path: str) -> str:
    """A file's URI as a string."""
    return f"file://{quote(path)}"


def span(first: int, column: int, last: int, end: int) -> Json:
    return {"startLineNumber": first, "startColumn": column, "endLineNumber": last, "endColumn": end}


def location(path: str, first: int, last: int | None = None, **parts: Any) -> Json:
    """Some lines of a file."""
    return {"uri": uri(path, **parts), "range": span(first, 1, last or first, 80)}


def symbol(name: str, kind: int, path: str, line: int, container: str = "") -> Json:
    """A symbol as an inline reference holds it."""
    return {"name": name, "kind": kind, "containerName": container, "location": location(path, line)}


# --- texts ------------------------------------------------------------------------------------------------------


def md(text: str, **flags: Any) -> Json:
    """A markdown object."""
    return {"value": text, "isTrusted": False, "supportThemeIcons": False, "supportHtml": False, **flags}


def says(text: str, base: str | None = None) -> Json:
    """A piece of the answer's prose; `base` is the folder that relative links start from."""
    made: Json = {"value": text, "supportThemeIcons": False, "supportHtml": False}
    return made if base is None else {**made, "supportAlertSyntax": False, "baseUri": uri(base)}


def tool_md(text: str) -> Json:
    """A tool's message, with the links in it listed beside the text."""
    uris = {}
    for scheme, rest, fragment in LINK.findall(text):
        whole = f"{scheme}{rest}#{fragment}" if fragment else f"{scheme}{rest}"
        authority, _, path = rest.removeprefix("://").partition("/")
        uris[whole] = uri(f"/{path}", scheme)
        if authority:
            uris[whole]["authority"] = authority.replace("%2B", "+")
        if fragment:
            uris[whole]["fragment"] = fragment
    return {"value": text, "supportThemeIcons": False, "supportHtml": False, "uris": uris}


def link(path: str, first: int | None = None, last: int | None = None) -> str:
    """A link without a label, as tool messages have them."""
    return f"[]({address(path)}" + (f"#{first}-{last or first}" if first else "") + ")"


def thinks(key: str, text: str | list[str], **more: Any) -> Json:
    return {"kind": "thinking", "value": text, "id": f"thinking_{made_up_word(8, key)}", **more}


def refers(target: Json, **more: Any) -> Json:
    """A link in the middle of a sentence."""
    return {"kind": "inlineReference", "inlineReference": target, **more}


def message(text: str, *marks: tuple[str, Json]) -> Json:
    """A prompt; `marks` are words of it that stand for something, in order."""
    parts: list[Json] = []
    position = 0
    for word, fields in marks:
        start = text.index(word, position)
        if start > position:
            parts.append({**_ranges(text, position, start), "text": text[position:start], "kind": "text"})
        parts.append({**_ranges(text, start, start + len(word)), **fields})
        position = start + len(word)
    if position < len(text):
        parts.append({**_ranges(text, position, len(text)), "text": text[position:], "kind": "text"})
    return {"text": text, "parts": parts}


def utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _ranges(text: str, start: int, end: int) -> Json:
    """Where a part stands: offsets in UTF-16 units, and lines and columns of the input box."""
    before, upto = text[:start], text[:end]
    return {
        "range": {"start": utf16_length(before), "endExclusive": utf16_length(upto)},
        "editorRange": span(
            before.count("\n") + 1,
            utf16_length(before.rpartition("\n")[2]) + 1,
            upto.count("\n") + 1,
            utf16_length(upto.rpartition("\n")[2]) + 1,
        ),
    }


# --- edits ------------------------------------------------------------------------------------------------------


class File:
    """A file of one of Ana's projects, whose text changes as a conversation goes on."""

    def __init__(self, path: str, text: str = "", **uri_parts: Any) -> None:
        self.path = path
        self.text = text
        self.uri = uri(path, **uri_parts)

    @property
    def hash(self) -> str:
        return content_name(self.text)

    def edit(self, old: str, new: str) -> Json:
        """Replace a piece that occurs once; gives back the edit as VS Code writes it."""
        assert self.text.count(old) == 1, f"{old!r} occurs {self.text.count(old)} times in {self.path}"
        start = self.text.index(old)
        made = {"text": new, "range": self._span(start, start + len(old))}
        self.text = self.text.replace(old, new)
        return made

    def insert(self, line: int, new: str) -> Json:
        """Put some lines before a line, counted from 1."""
        lines = self.text.splitlines(keepends=True)
        self.text = "".join([*lines[: line - 1], new, *lines[line - 1 :]])
        return {"text": new, "range": span(line, 1, line, 1)}

    def line_of(self, words: str) -> int:
        """The line on which some words first stand."""
        return self.text[: self.text.index(words)].count("\n") + 1

    def _span(self, start: int, end: int) -> Json:
        return _ranges(self.text, start, end)["editorRange"]  # type: ignore[no-any-return]


def content_name(text: str) -> str:
    """The name under which an editing session keeps a text."""
    return sha1(text)[:7]


def sha1(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def edit_parts(file: File, *batches: list[Json], stop: str, **more: Any) -> list[Json]:
    """The parts that an edited file leaves in an answer: an empty code block with a checkpoint and the edits in it."""
    return [
        says("\n```\n"),
        {"kind": "undoStop", "id": stop},
        {"kind": "codeblockUri", "uri": file.uri, "isEdit": True},
        {"kind": "textEditGroup", "uri": file.uri, "edits": [*batches, []], "done": True, **more},
        says("\n```\n"),
    ]


# --- pictures ---------------------------------------------------------------------------------------------------


def picture(drawing: str, colours: dict[str, tuple[int, int, int]]) -> bytes:
    """A PNG from a drawing in letters, one for each pixel."""
    rows = prose(drawing).splitlines()
    pixels = b"".join(b"\0" + b"".join(bytes(colours[letter]) for letter in row) for row in rows)
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", _deflated(pixels)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _deflated(data: bytes) -> bytes:
    """Stored without compression: the same bytes whichever zlib is installed."""
    return b"\x78\x01\x01" + struct.pack("<HH", len(data), len(data) ^ 0xFFFF) + data + zlib.adler32(data).to_bytes(4)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
