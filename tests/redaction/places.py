"""Where secrets are planted in a conversation, and how to read what is left there."""

from __future__ import annotations

import base64
import gzip
import json
import random
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from copilog.model import Conversation, FileEdit, Message, Part, Terminal, Text, Thinking, ToolCall, ToolResult
from copilog.redaction import leaves_in
from tests.redaction.shapes import Planted, Shape

BEFORE, AFTER = "First look at this: ", " and tell me what it does."


class Place(NamedTuple):
    """`plant` makes a conversation; `read` decodes a text of it as far as the place encodes it."""

    name: str
    plant: Callable[[Planted, random.Random], list[Message]]
    read: Callable[[str], str] = lambda text: text
    needs_word: bool = False


def fits(shape: Shape, place: Place) -> bool:
    return shape.is_word or not place.needs_word


def is_left(planted: Planted, place: Place, conversation: Conversation) -> bool:
    """Return whether the secret, or a half of it, can still be read in the conversation."""
    texts = [leaf.text for leaf in leaves_in(conversation)]
    shown = "\x00".join([*texts, "".join(texts), *(place.read(text) for text in texts)])
    half = max(5, (len(planted.secret) + 1) // 2)
    return planted.secret in shown or (
        len(planted.secret) >= 16 and (planted.secret[:half] in shown or planted.secret[-half:] in shown)
    )


def conversation_with(planted: Planted, place: Place, rng: random.Random) -> Conversation:
    return Conversation(id="vscode:1", source="vscode-session", messages=place.plant(planted, rng))


def _of(role: Any, *parts: Part) -> list[Message]:
    return [Message(role=role, parts=list(parts), turn=0)]  # type: ignore[arg-type]


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _read_base64(text: str) -> str:
    words = [word for word in text.replace("\n", " ").split(" ") if len(word) > 20]
    read = []
    for word in words:
        try:
            read.append(base64.b64decode(word).decode("utf-8", "replace"))
        except ValueError:
            continue
    return "\x00".join(read)


def _read_json(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    for key in ("body", "content", "inner"):
        if isinstance(value, dict) and isinstance(value.get(key), str):
            return _read_json(value[key])
    return "\x00".join(map(str, value.values())) if isinstance(value, dict) else str(value)


def _cut(planted: Planted, rng: random.Random) -> list[Message]:
    begin = planted.text.index(planted.secret)
    size = len(planted.secret)
    at = begin + rng.randrange(size // 4 + 1, max(size // 4 + 2, size * 3 // 4))
    return _of("assistant", Text(text=BEFORE + planted.text[:at]), Text(text=planted.text[at:] + AFTER))


def _chunks(planted: Planted, rng: random.Random) -> list[Message]:
    text = BEFORE + planted.text + AFTER
    size = rng.randrange(9, 20)
    from copilog.model import ResultItem

    items = [ResultItem(text=text[at : at + size]) for at in range(0, len(text), size)]
    return _of("tool", ToolResult(call_id="1", items=items))


def _hidden(make: Callable[[str], str]) -> Callable[[Planted, random.Random], list[Message]]:
    return lambda planted, _: _of("tool", ToolResult(call_id="1", text=make(f"{BEFORE}{planted.text}{AFTER}")))


def _read_hexadecimal(text: str) -> str:
    try:
        return bytes.fromhex(text).decode("utf-8", "replace")
    except ValueError:
        return ""


def _read_cut_base64(text: str) -> str:
    return _read_base64("x" * (CUT % 4) + text)


def _read_gzip(text: str) -> str:
    try:
        return gzip.decompress(base64.b64decode(text)).decode()
    except (ValueError, OSError, EOFError):
        return ""


CUT = 5  # characters that are missing at the beginning of a piece of Base64
# Encodings that are not decoded; that secrets in them are missed is known.
HARD_PLACES = [
    Place("hexadecimal", _hidden(lambda text: text.encode().hex()), _read_hexadecimal),
    Place("reversed", _hidden(lambda text: text[::-1]), lambda text: text[::-1]),
    Place(
        "base64 without its beginning",
        _hidden(lambda text: base64.b64encode(text.encode()).decode()[CUT:]),
        _read_cut_base64,
    ),
    Place("base64 of gzip", _hidden(lambda text: base64.b64encode(gzip.compress(text.encode())).decode()), _read_gzip),
    Place("spaces between the characters", _hidden(" ".join), lambda text: text.replace(" ", "")),
]

PLACES = [
    Place("prompt", lambda p, _: _of("user", Text(text=BEFORE + p.text + AFTER))),
    Place("answer", lambda p, _: _of("assistant", Text(text=f"It is:\n```\n{p.text}\n```\n{AFTER}"))),
    Place("thinking", lambda p, _: _of("assistant", Thinking(text=f"The user gave `{p.text}`.{AFTER}"))),
    Place(
        "arguments",
        lambda p, _: _of("assistant", ToolCall(id="1", name="run", arguments=_json_text({"command": f"run {p.text}"}))),
        _read_json,
    ),
    Place("output", lambda p, _: _of("tool", Terminal(command="env", output=f"\x1b[32mA\x1b[0m=1\r\n{p.text}\r\nB=2"))),
    Place(
        "diff",
        lambda p, _: _of(
            "assistant", FileEdit(diff="@@ -1 +1,2 @@\n a\n" + "\n".join(f"+{x}" for x in p.text.split("\n")))
        ),
    ),
    Place("file name", lambda p, _: _of("assistant", FileEdit(path=f"/srv/app/{p.text}.txt")), needs_word=True),
    Place(
        "URL", lambda p, _: _of("user", Text(text=f"GET https://api.example.com/v1?a=1&x={quote(p.text)}&b=2")), unquote
    ),
    Place(
        "base64",
        lambda p, _: _of(
            "tool", ToolResult(call_id="1", text="out: " + base64.b64encode(f"{BEFORE}{p.text}\n".encode()).decode())
        ),
        _read_base64,
    ),
    Place(
        "percent-encoding",
        lambda p, _: _of("tool", ToolResult(call_id="1", text=quote(f"{BEFORE}{p.text}\n", safe=""))),
        unquote,
    ),
    Place(
        "JSON within JSON",
        lambda p, _: _of(
            "assistant",
            ToolCall(
                id="1", name="post", arguments=_json_text({"body": _json_text({"inner": _json_text({"v": p.text})})})
            ),
        ),
        _read_json,
    ),
    Place("cut over two parts", _cut),
    Place("cut into chunks", _chunks),
    Place(
        "key of extra",
        lambda p, _: [Message(role="user", parts=[], extra={"seen": {p.text: [True]}})],
    ),
]
