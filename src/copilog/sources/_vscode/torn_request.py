"""The last request of a document that breaks off: what was finished of it."""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple

from copilog import jsonio
from copilog.errors import BadRecord
from copilog.sources._vscode.take import Json

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
_WHOLE_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_HALF_ESCAPE = re.compile(rb"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?\Z")
_CLOSING = {b"[": b"]", b"{": b"}"}
_MOST_STEPS_BACK = 4  # an opening bracket, a comma, a key and its colon: what follows the last finished value


class Torn(NamedTuple):
    """What is there of a torn request."""

    request: Json
    is_prompt_torn: bool


def finished_values(data: bytes) -> Torn | None:
    """Return the values of a torn request that are finished, or None if there is neither a prompt nor an answer.

    A part of the response counts as a whole: one that breaks off is left out. So is a string that has no end, but for
    the prompt, and a number at the very end, of which digits may be missing.
    """
    open_brackets: list[bytes] = []
    steps: deque[tuple[int, bytes]] = deque(maxlen=_MOST_STEPS_BACK)  # where a value may end, and what closes the rest
    last_string = list_name = b""
    prompt: bytes | None = None  # with its beginning closed
    for token in _TOKEN.finditer(data):
        found = token[0]
        if found in _CLOSING:
            if len(open_brackets) == 1:
                list_name = last_string
            open_brackets.append(_CLOSING[found])
        elif found in (b"]", b"}"):
            if not open_brackets or open_brackets.pop() != found:
                return None
        elif found != b",":
            if _WHOLE_STRING.fullmatch(found) is None and _is_prompt(last_string, list_name, len(open_brackets)):
                prompt = _HALF_ESCAPE.sub(rb"\1", data) + b'"' + b"".join(reversed(open_brackets))
            last_string = found
        end = token.start() if found == b"," else token.end()
        steps.append((end, b"".join(reversed(open_brackets))))
    request = _decoded(prompt) if prompt is not None else None
    if request is not None and _has_prompt(request):
        return Torn(request, is_prompt_torn=True)
    request = _first_that_decodes(data, steps)
    if request is None:
        return None
    response = request.get("response")
    if list_name == b'"response"' and len(open_brackets) > 2 and isinstance(response, list):
        del response[-1:]
    return Torn(request, is_prompt_torn=False) if request.get("message") or response else None


def _is_prompt(key: bytes, outer: bytes, depth: int) -> bool:
    """Return whether a string is the text of the message: `message` itself, or its `text`."""
    return (depth, key) == (1, b'"message"') or (depth, outer, key) == (2, b'"message"', b'"text"')


def _has_prompt(request: Json) -> bool:
    message = request.get("message")
    return bool(message.get("text") if isinstance(message, dict) else message)


def _first_that_decodes(data: bytes, steps: deque[tuple[int, bytes]]) -> Json | None:
    for end, closing in reversed(steps):
        try:
            value = jsonio.decode(data[:end] + closing)[0]
        except BadRecord:
            continue
        return value if isinstance(value, dict) else None
    return None


def _decoded(data: bytes) -> Json | None:
    try:
        value = jsonio.decode(data)[0]
    except BadRecord:
        return None
    return value if isinstance(value, dict) else None
