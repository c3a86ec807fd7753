"""Plan the smallest change by which VS Code loads a session again.

Lines that VS Code takes stay as they are, byte for byte; of the others, what copilog's reader can use is written as a
line of its own, and the rest is dropped. Requests that cost the whole session are mended. A plan is only returned if
VS Code's rules find nothing to refuse in its result, and the result is the conversation that copilog reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from copilog import jsonio
from copilog.errors import BadFile, UsageError
from copilog.fields import Json
from copilog.intake.files import read_bytes
from copilog.recover.refusals import (
    Examined,
    Refusal,
    examine,
    examine_document,
    examine_log,
    is_json,
    is_prompt_part,
    refused_requests,
    why_request_is_refused,
)
from copilog.sources.vscode.session_log import INITIAL, PUSH

DROPPED, MENDED, ADDED = "dropped", "mended", "added"


class Change(msgspec.Struct, frozen=True):
    """One line before and after the repair; a line that is added has nothing before."""

    action: str
    why: str
    line: int | None
    before: str | None
    after: str | None


class Plan(msgspec.Struct, frozen=True):
    """The repair of a file: why it is refused, what changes, and the bytes that it will have."""

    path: Path
    refusals: list[Refusal]
    changes: list[Change]
    before: bytes
    after: bytes
    turns: int  # that VS Code shows afterwards


def plan_repair(path: Path) -> Plan:
    """Return the repair of a session file; raise UsageError if it needs none, or if nothing can be saved."""
    if path.suffix.lower() not in (".jsonl", ".json"):
        raise UsageError(f"{path}: is no session file of VS Code; those end in .jsonl or .json")
    try:
        before = read_bytes(path)
        examined = examine(path)
        is_still = read_bytes(path) == before
    except BadFile as error:
        raise UsageError(f"{path}: {error}") from None
    if not is_still:
        raise UsageError(f"{path}: has changed while it was read; repeat the command")
    if not examined.refusals:
        raise UsageError(f"{path}: VS Code does not refuse it; nothing was changed")
    if examined.state is None:
        raise UsageError(f"{path}: there is nothing left in it to repair; `copilog recover` says what else is left")
    is_log = path.suffix.lower() == ".jsonl"
    older = _older_requests(path) if is_log else []
    changes, after = _log_repair(examined, older) if is_log else _document_repair(examined, before)
    made = examine_log(after) if is_log else _examined_document(after)
    wanted = {**examined.state, "requests": _wanted_requests(examined, older)}
    if made is None or made.refusals or {"requests": [], **(made.state or {})} != wanted:
        raise UsageError(f"{path}: cannot be repaired without guessing; `copilog export ID --format chat` reads it")
    turns = len((made.state or {}).get("requests") or [])
    return Plan(path, examined.refusals, changes, before, after, turns)


# --- requests ---------------------------------------------------------------------------------------------------------


def _wanted_requests(examined: Examined, older: list[Json]) -> list[Any]:
    """Return the requests that VS Code has to show: those that are read, mended, after those of the older file."""
    requests = (examined.state or {}).get("requests")
    present = requests if isinstance(requests, list) else []
    if examined.is_headless:  # a change names a request by its position, which is that of the older file
        present = [_completed(request, older[at : at + 1]) for at, request in enumerate(present)]
    mended = [made for request in present if (made := mended_request(request, older)) is not None]
    if not examined.is_headless:
        return mended
    names = {request.get("requestId") for request in mended}
    taken_back = {each.get("requestId") for each in examined.removed if isinstance(each, dict)}
    return [each for each in older if each.get("requestId") not in names | taken_back] + mended


def _completed(request: Any, older: list[Json]) -> Any:
    """Return what is left of a request without its beginning, with the beginning that the older file has."""
    is_rest = isinstance(request, dict) and "requestId" not in request and "message" not in request
    return {**older[0], **request} if is_rest and older else request


def mended_request(request: Any, older: list[Json]) -> Json | None:
    """Return a request that VS Code accepts; None for one that holds nothing."""
    if why_request_is_refused(request) is None:
        return dict(request)
    if not isinstance(request, dict) or not request.keys() - {"requestId", "timestamp"}:
        return None
    message = request.get("message")
    if not isinstance(message, dict):
        known = (each["message"] for each in older if each.get("requestId") == request.get("requestId"))
        return {**request, "message": next(known, {"text": "", "parts": []})}
    parts = message.get("parts")
    kept = [part for part in parts if is_prompt_part(part)] if isinstance(parts, list) else []
    text = message.get("text")
    return {**request, "message": {**message, "text": text if isinstance(text, str) else "", "parts": kept}}


def _older_requests(path: Path) -> list[Json]:
    """Return the usable requests of the older file beside a log."""
    older = path.with_suffix(".json")
    if not older.is_file():
        return []
    try:
        requests = (examine_document(older).state or {}).get("requests")
    except BadFile:
        return []
    return [each for each in requests or () if why_request_is_refused(each) is None]


# --- logs -------------------------------------------------------------------------------------------------------------


def _log_repair(examined: Examined, older: list[Json]) -> tuple[list[Change], bytes]:
    wanted = _wanted_requests(examined, older)
    state = examined.state or {}
    by_line = {refusal.line: refusal for refusal in examined.refusals if refusal.line is not None}
    if examined.is_headless:
        return _with_a_beginning(examined, wanted, by_line.get(1) or examined.refusals[0])
    kept: list[bytes] = []
    changes: list[Change] = []
    for number, each in enumerate(examined.lines, start=1):
        if each.is_intact:
            kept.append(each.data)
            continue
        refusal = by_line.get(number)
        why_lost = refusal.reason if refusal is not None else "nothing of it can be used"
        kept += each.usable
        after = "\n".join(map(_text, each.usable)) or None
        changes.append(Change(MENDED if each.usable else DROPPED, why_lost, number, _text(each.data), after))
    if by_line.get(1) is not None and not any(change.line == 1 for change in changes):  # a mark before the first line
        first = _text(examined.lines[0].data)
        changes.insert(0, Change(MENDED, by_line[1].reason, 1, f"\ufeff{first}", first))
    requests = state.get("requests", [])
    if requests != wanted:
        line = _line_that_mends(requests, wanted)
        why_bad = next(refusal.reason for refusal in examined.refusals if refusal.code == "bad-request")
        while kept and not kept[-1].strip():
            kept.pop()
        kept.append(line.encode())
        changes.append(Change(ADDED, why_bad, None, None, line))
    return changes, b"\n".join(kept).rstrip(b"\n") + b"\n"


def _with_a_beginning(examined: Examined, wanted: list[Any], why: Refusal) -> tuple[list[Change], bytes]:
    """Return a log of one line: what the changes left, after the turns of the older file."""
    state = examined.state or {}
    line = jsonio.encode({"kind": INITIAL, "v": {**state, "requests": wanted}})
    back = len(wanted) - sum(1 for each in state.get("requests") or () if each in wanted)
    reason = f"{why.reason}; all is put into one" + (f", with {back} turns of the older file" if back else "")
    numbered = enumerate(examined.lines, start=1)
    dropped = [
        Change(DROPPED, reason, number, _text(each.data), None) for number, each in numbered if each.data.strip()
    ]
    return [*dropped, Change(ADDED, reason, None, None, line)], line.encode() + b"\n"


def _line_that_mends(requests: Any, wanted: list[Any]) -> str:
    """Return the change that makes the requests those that are wanted, from the first one that differs."""
    if not isinstance(requests, list):
        return jsonio.encode({"kind": 1, "k": ["requests"], "v": wanted})
    first = next((at for at, pair in enumerate(zip(requests, wanted, strict=False)) if pair[0] != pair[1]), len(wanted))
    return jsonio.encode({"kind": PUSH, "k": ["requests"], "i": first, "v": wanted[first:]})


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


# --- documents --------------------------------------------------------------------------------------------------------


def _document_repair(examined: Examined, before: bytes) -> tuple[list[Change], bytes]:
    """Return the document without what is around its value, or written anew with all that could be read."""
    wanted = _wanted_requests(examined, [])
    text = jsonio.as_utf8(before)[0].strip(b"\0 \t\r\n")
    is_kept = is_json(text) and wanted == (examined.state or {}).get("requests", [])
    after = text if is_kept else jsonio.encode({**(examined.state or {}), "requests": wanted}).encode()
    whys = "; ".join(dict.fromkeys(refusal.reason for refusal in examined.refusals))
    return [Change(MENDED, whys, examined.refusals[0].line, _text(before), _text(after))], after


def _examined_document(data: bytes) -> Examined | None:
    """Judge a document that has been made, without copilog's repairs."""
    if not is_json(data):
        return None
    state = jsonio.decode(data)[0]
    return Examined(state, refused_requests(state)) if isinstance(state, dict) else None
