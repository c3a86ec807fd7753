"""Read one JSON document: decode it, repair it where possible, and salvage the readable part of a torn one."""

from __future__ import annotations

import re
from collections import deque
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.fields import Json
from copilog.intake.long_documents import DocumentText, LongDocument, Span, document_text, document_with_list
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


REQUESTS = "requests"
# A value other than an object or a list. A string may contain commas.
_OTHER_VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"|[^\s,"]+|"', re.DOTALL)


class SessionDocument(NamedTuple):
    """A session as its file has it; damaged when it had to be salvaged."""

    state: Json
    is_damaged: bool = False
    is_last_torn: bool = False  # the last request has only the complete values of a torn one
    is_prompt_torn: bool = False  # and its prompt is torn
    is_cut: bool = False  # no request is lost before the last one


def read_document(path: Path, ledger: Ledger) -> Json | None:
    """Return the object of a file. Return None and report one bad record if there is none."""
    text = document_text(path)
    return _read_whole(text, ledger) if _has_content(text, ledger) else None


def read_session_document(path: Path, ledger: Ledger) -> SessionDocument | None:
    """Return the session of a file, or what is left of it if the file is damaged, or None if nothing can be read.

    The requests of a large file are a LongDocument, which reads them one at a time.
    """
    text = document_text(path)
    if not _has_content(text, ledger):
        return None
    if not text.is_large:
        try:
            state = jsonio.decode_strictly(text.read())
        except (ValueError, RecursionError):
            pass
        else:
            return SessionDocument(state) if _is_object(state, ledger) else None
    document = document_with_list(text, REQUESTS)
    session = _read_by_request(document, ledger) if document is not None else None
    if session is None:
        whole = _read_whole(text, ledger)
        session = SessionDocument(whole) if whole is not None else None
    return session


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


def _has_content(text: DocumentText, ledger: Ledger) -> bool:
    """Return whether a document is not empty. Report how its text was repaired, and what VS Code left out."""
    for repair in text.repairs:
        ledger.note(repair.code, repair.reason, offset=0)
    if text.nuls:
        ledger.note("nul-tail", f"{text.nuls} NUL bytes at the end", offset=text.offset(text.end))
    if text.is_blank():
        ledger.note("empty-file", "the file is empty")
        return False
    if text.has(TRUNCATED_VALUE):
        ledger.note("value-truncated", "VS Code shortened a value when it saved the conversation", "info")
    return True


def _read_whole(text: DocumentText, ledger: Ledger) -> Json | None:
    """Return the object of a document. Return None and report one bad record if there is none."""
    try:
        value, repairs = jsonio.decode(text.read())
    except BadRecord as error:
        ledger.seen += 1
        ledger.reject(error.code, str(error), offset=0)
        return None
    for repair in repairs:
        ledger.note(repair.code, repair.reason, "info")
    return value if _is_object(value, ledger) else None


def _is_object(value: Any, ledger: Ledger) -> bool:
    """Return whether a document is an object, or report that it is not."""
    if isinstance(value, dict):
        return True
    ledger.seen += 1
    ledger.reject("bad-record", f"the document is {type(value).__name__}, not an object", pointer="")
    return False


# --- request by request -----------------------------------------------------------------------------------------


class _Gap(NamedTuple):
    """What is between two requests: a comma, and perhaps values that are not requests."""

    position: int
    others: list[Span]
    is_intact: bool


class _Request(NamedTuple):
    """The position of a request, and how it was repaired, or why it cannot be read."""

    span: Span
    repairs: list[jsonio.Repair]
    error: BadRecord | None


class _Checked(NamedTuple):
    """The requests of a document in order, with what is before each, and in the end what is after the last."""

    gaps: list[_Gap]
    requests: list[_Request]

    def is_intact(self) -> bool:
        return all(gap.is_intact for gap in self.gaps) and all(request.error is None for request in self.requests)

    def values(self) -> list[Span]:
        """Return the positions of all values of an intact list."""
        return sorted([span for gap in self.gaps for span in gap.others] + [request.span for request in self.requests])


def _read_by_request(document: LongDocument, ledger: Ledger) -> SessionDocument | None:
    """Return the session, or what is left of it. Return None if it has to be read at once."""
    checked = _checked(document)
    shell = document.shell()
    if shell is None or not checked.is_intact():
        return _salvage(document, checked, ledger)
    try:
        state, repairs = jsonio.decode(shell)
    except BadRecord:
        return _salvage(document, checked, ledger)
    if not isinstance(state, dict) or state.get(REQUESTS) != []:  # there is a second list of this name
        return None
    for repair in repairs:
        ledger.note(repair.code, repair.reason, "info")
    for request in checked.requests:
        _note_repairs(request, document.text, ledger)
    state[REQUESTS] = _requests_of(document._replace(items=checked.values()))
    return SessionDocument(state)


def _requests_of(document: LongDocument) -> LongDocument | list[Any]:
    """Return the requests of a small document as a list."""
    return document if document.text.is_large else list(document.values())


def _checked(document: LongDocument) -> _Checked:
    checked = _Checked([], [])
    at = document.start
    for position, before, item in document.pieces():
        checked.gaps.append(_gap(before, at, is_first=not checked.requests, is_last=item is None))
        if item is not None:
            try:
                _, repairs = jsonio.decode(item)
                checked.requests.append(_Request((position, len(item)), repairs, None))
            except BadRecord as error:
                checked.requests.append(_Request((position, len(item)), [], error))
            at = position + len(item)
    return checked


def _gap(data: bytes, position: int, *, is_first: bool, is_last: bool) -> _Gap:
    if data.strip(b" \r\n\t") == (b"" if is_first or is_last else b","):
        return _Gap(position, [], True)
    others = [(position + found.start(), len(found[0])) for found in _OTHER_VALUE.finditer(data)]
    try:
        jsonio.decode(b"[" + b"0" * (not is_first) + data + b"0" * (not is_last) + b"]")
    except BadRecord:
        return _Gap(position, others, False)
    return _Gap(position, others, True)


def _note_repairs(request: _Request, text: DocumentText, ledger: Ledger) -> None:
    for repair in request.repairs:
        ledger.note(repair.code, repair.reason, "info", offset=text.offset(request.span[0]))


# --- damaged sessions -------------------------------------------------------------------------------------------


def _salvage(document: LongDocument, checked: _Checked, ledger: Ledger) -> SessionDocument:
    """Keep the complete requests, the complete values of a torn one, and the readable fields of the session."""
    text = document.text
    bad = ledger.bad_count()
    requests = _readable_requests(document, checked, ledger)
    is_cut = ledger.bad_count() == bad
    before = _decoded(text.read(text.start, document.start) + b"]}")
    after = None if document.end is None else _decoded(b'{"requests":[' + text.read(document.end))
    if before is None or after is None:
        last = sum(document.items[-1]) if document.items else document.start - 1
        torn_at = last if document.end is None else document.end + 1
        ledger.seen += 1
        ledger.reject("torn-document", "the document breaks off here", offset=text.offset(torn_at))
    torn = None if document.torn is None else finished_values(text.read(document.torn))
    also = ", and the complete part of the one that breaks off" if torn is not None else ""
    ledger.note("salvaged-document", f"{len(requests)} complete requests were read{also}")
    readable = document._replace(items=requests, last=torn.request if torn is not None else None)
    state = {**(before or {}), **(after or {}), REQUESTS: _requests_of(readable)}
    is_prompt_torn = torn is not None and torn.is_prompt_torn
    return SessionDocument(state, True, torn is not None, is_prompt_torn, is_cut)


def _readable_requests(document: LongDocument, checked: _Checked, ledger: Ledger) -> list[Span]:
    """Return the requests one by one. Each unreadable request or other value in the list is one bad record."""
    text = document.text
    readable: list[Span] = []
    for gap, request in zip_longest(checked.gaps, checked.requests):
        if gap is not None and gap.others:
            ledger.seen += 1
            reason = "a value between the requests that is not a request"
            ledger.reject("bad-json", reason, offset=text.offset(gap.position))
        if request is None:
            continue
        if request.error is None:
            readable.append(request.span)
            _note_repairs(request, text, ledger)
        else:
            ledger.seen += 1
            offset, pointer = text.offset(request.span[0]), f"/{REQUESTS}/{len(readable)}"
            ledger.reject(request.error.code, str(request.error), offset=offset, pointer=pointer)
    return readable
