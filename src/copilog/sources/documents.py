"""Read one JSON document: decode it, repair it where possible, and salvage the readable part of a torn one."""

from __future__ import annotations

import re
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.fields import Json
from copilog.intake.files import read_bytes
from copilog.intake.long_documents import LongDocument, long_document
from copilog.model import UNFINISHED, Conversation, Text

TRUNCATED_VALUE = b": value truncated for persistence"  # which VS Code writes instead of a large value

_TOKEN_OR_COMMA = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
_WHOLE_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_HALF_ESCAPE = re.compile(rb"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?\Z")
_CLOSING = {b"[": b"]", b"{": b"}"}
_MOST_STEPS_BACK = 4  # an opening bracket, a comma, a key and its colon: the syntax after the last complete value


class Torn(NamedTuple):
    """The readable part of a torn request."""

    request: Json
    is_prompt_torn: bool


def finished_values(data: bytes) -> Torn | None:
    """Return the complete values of a torn request, or None if there is neither a prompt nor an answer.

    A torn part of the response is left out. So is a string without an end, except the prompt, and a number at the very
    end, whose last digits may be missing.
    """
    open_brackets: list[bytes] = []
    steps: deque[tuple[int, bytes]] = deque(maxlen=_MOST_STEPS_BACK)  # where a value may end, and what closes the rest
    last_string = list_name = b""
    prompt: bytes | None = None  # with its beginning closed
    for token in _TOKEN_OR_COMMA.finditer(data):
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


# A string, which may have no end, or a bracket.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.?[^"\\]*)*(?:"|\Z)|[\[\]{}]', re.DOTALL)


class SessionDocument(NamedTuple):
    """A session as its file has it; damaged when it had to be salvaged."""

    state: Json
    is_damaged: bool = False
    is_last_torn: bool = False  # the last request has only the complete values of a torn one
    is_prompt_torn: bool = False  # and its prompt is torn
    is_cut: bool = False  # no request is lost before the last one


class _Text(NamedTuple):
    """The bytes of a document as UTF-8, and their offset in the file; None if offsets do not apply there."""

    data: bytes
    start: int | None

    def offset(self, position: int) -> int | None:
        return None if self.start is None else self.start + position


def read_document(path: Path, ledger: Ledger) -> Json | None:
    """Return the object of a file. Return None and report one bad record if there is none."""
    text = _read_text(path, ledger)
    if text is None:
        return None
    try:
        return _decode(text, ledger)
    except BadRecord as error:
        ledger.seen += 1
        ledger.reject(error.code, str(error), offset=0)
        return None


def read_session_document(path: Path, ledger: Ledger, *, streams: bool = False) -> SessionDocument | None:
    """Return the session of a file, or what is left of it if the file is damaged, or None if nothing can be read.

    With `streams`, the requests of a large intact file are a LongDocument, which reads them one at a time.
    """
    document = long_document(path, "requests") if streams else None
    state = _streamed(document, ledger) if document is not None else None
    if state is not None:
        return SessionDocument(state)
    text = _read_text(path, ledger)
    if text is None:
        return None
    try:
        state = _decode(text, ledger)
    except BadRecord as error:
        return _salvage(text, ledger, str(error))
    return None if state is None else SessionDocument(state)


def mark_damage(conversation: Conversation, document: SessionDocument) -> None:
    """Mark a conversation that was read from a damaged document. How its torn request ended is unknown."""
    if document.is_damaged:
        conversation.marks += ["damaged", "cut"] if document.is_cut else ["damaged"]
    if document.is_last_torn and conversation.turns and conversation.turns[-1].status in ("complete", "unanswered"):
        conversation.turns[-1].status = None
    if document.is_prompt_torn and conversation.turns:
        last = conversation.turns[-1].index
        for message in conversation.messages:
            if message.role == "user" and message.turn == last and isinstance(message.parts[0], Text):
                message.parts[0].notes = {UNFINISHED: "the file breaks off within this prompt"}


def _read_text(path: Path, ledger: Ledger) -> _Text | None:
    raw = read_bytes(path)
    data, repairs = jsonio.as_utf8(raw)
    for repair in repairs:
        ledger.note(repair.code, repair.reason, offset=0)
    is_converted = any(repair.code in ("utf-16", "utf-32") for repair in repairs)
    stripped = data.rstrip(b"\0")
    text = _Text(stripped, None if is_converted else len(raw) - len(data))
    if len(stripped) < len(data):
        ledger.note("nul-tail", f"{len(data) - len(stripped)} NUL bytes at the end", offset=text.offset(len(stripped)))
    if not stripped or stripped.isspace():
        ledger.note("empty-file", "the file is empty")
        return None
    if TRUNCATED_VALUE in stripped:
        _note_truncated(ledger)
    return text


def _note_truncated(ledger: Ledger) -> None:
    ledger.note("value-truncated", "VS Code shortened a value when it saved the conversation", "info")


def _streamed(document: LongDocument, ledger: Ledger) -> Json | None:
    """Return the session of a large file with its requests as a LongDocument; None if it has to be read whole."""
    if not document.is_intact():
        return None
    state = jsonio.decode(document.shell)[0]
    if not isinstance(state, dict) or state.get("requests") != []:  # there is a second list of this name
        return None
    state["requests"] = document
    if document.has(TRUNCATED_VALUE):
        _note_truncated(ledger)
    return state


def _decode(text: _Text, ledger: Ledger) -> Json | None:
    value, repairs = jsonio.decode(text.data)
    for repair in repairs:
        ledger.note(repair.code, repair.reason, "info")
    if not isinstance(value, dict):
        ledger.seen += 1
        ledger.reject("bad-record", f"the document is {type(value).__name__}, not an object", pointer="")
        return None
    return value


# --- damaged sessions -------------------------------------------------------------------------------------------


class _Outline(NamedTuple):
    """The offsets of the requests of a document: the list, each complete request, and the list's end if it has one."""

    start: int
    requests: list[tuple[int, int]]
    end: int | None
    torn: int | None = None  # where a request without an end begins


def _salvage(text: _Text, ledger: Ledger, reason: str) -> SessionDocument | None:
    """Keep the complete requests, the complete values of a torn one, and the readable fields of the session."""
    outline = _outline_of(text.data)
    if outline is None:
        ledger.seen += 1
        ledger.reject("bad-json", reason, offset=0)
        return None
    data = text.data
    bad = ledger.bad_count()
    requests = _readable_requests(text, outline, ledger)
    is_cut = ledger.bad_count() == bad
    before = _decoded(data[: outline.start] + b"[]}")
    after = None if outline.end is None else _decoded(b'{"requests":[]' + data[outline.end :])
    if before is None or after is None:
        last = outline.requests[-1][1] if outline.requests else outline.start
        torn_at = last if outline.end is None else outline.end
        ledger.seen += 1
        ledger.reject("torn-document", "the document breaks off here", offset=text.offset(torn_at))
    torn = None if outline.torn is None else finished_values(data[outline.torn :])
    also = ", and the complete part of the one that breaks off" if torn is not None else ""
    ledger.note("salvaged-document", f"{len(requests)} complete requests were read{also}")
    requests += [] if torn is None else [torn.request]
    state = {**(before or {}), **(after or {}), "requests": requests}
    is_prompt_torn = torn is not None and torn.is_prompt_torn
    return SessionDocument(state, True, torn is not None, is_prompt_torn, is_cut)


def _readable_requests(text: _Text, outline: _Outline, ledger: Ledger) -> list[Any]:
    """Return the requests one by one. Each unreadable request or other value in the list is one bad record."""
    requests: list[Any] = []
    after_last = outline.start + 1
    for start, end in outline.requests:
        _reject_strays(text, after_last, start, ledger)
        after_last = end
        try:
            value, repairs = jsonio.decode(text.data[start:end])
        except BadRecord as error:
            ledger.seen += 1
            ledger.reject(error.code, str(error), offset=text.offset(start), pointer=f"/requests/{len(requests)}")
            continue
        requests.append(value)
        for repair in repairs:
            ledger.note(repair.code, repair.reason, "info", offset=text.offset(start))
    if outline.end is not None:
        _reject_strays(text, after_last, outline.end - 1, ledger)
    return requests


def _reject_strays(text: _Text, start: int, end: int, ledger: Ledger) -> None:
    """Report anything but commas between two requests."""
    if text.data[start:end].strip(b" \r\n\t,"):
        ledger.seen += 1
        ledger.reject("bad-json", "a value between the requests that is not a request", offset=text.offset(start))


def _outline_of(data: bytes) -> _Outline | None:
    """Find the requests by their brackets alone. Return None if the document has no list of them."""
    depth = 0
    last_string = b""
    start: int | None = None
    begun = 0
    requests: list[tuple[int, int]] = []
    for token in _TOKEN.finditer(data):
        text = token[0]
        if text[:1] == b'"':
            last_string = text
        elif text in (b"[", b"{"):
            depth += 1
            if start is None and depth == 2 and text == b"[" and last_string == b'"requests"':
                start = token.start()
            elif depth == 3:
                begun = token.start()
        else:
            depth -= 1
            if start is not None and depth == 2:
                requests.append((begun, token.end()))
            elif start is not None and depth < 2:
                return _Outline(start, requests, token.end())
    return None if start is None else _Outline(start, requests, None, begun if depth > 2 else None)
