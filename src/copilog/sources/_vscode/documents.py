"""One JSON document of VS Code's: read whole, repaired where that is possible, salvaged where it breaks off."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.sources._vscode.mutations import TRUNCATED_VALUE
from copilog.sources._vscode.take import Json

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def read_document(path: Path, ledger: Ledger) -> Json | None:
    """The object that a file holds. None, and one bad record, when there is none to be had."""
    data, repairs = jsonio.as_utf8(jsonio.read_bytes(path))
    for repair in repairs:
        ledger.note(repair.code, repair.reason, offset=0)
    stripped = data.rstrip(b"\0")
    if len(stripped) < len(data):
        ledger.note("nul-tail", f"{len(data) - len(stripped)} NUL bytes at the end", offset=len(stripped))
    if not stripped.strip():
        ledger.note("empty-file", "the file is empty")
        return None
    if TRUNCATED_VALUE in stripped:
        ledger.note("value-truncated", "VS Code shortened a value when it saved the conversation", "info")
    try:
        value, repairs = jsonio.decode(stripped)
    except BadRecord as error:
        return _salvage(stripped, ledger, str(error))
    for repair in repairs:
        ledger.note(repair.code, repair.reason, "info")
    if not isinstance(value, dict):
        ledger.seen += 1
        ledger.reject("bad-record", f"the document is {type(value).__name__}, not an object", pointer="")
        return None
    return value


def _salvage(data: bytes, ledger: Ledger, reason: str) -> Json | None:
    """Keep the requests that are complete in a document that breaks off."""
    ledger.seen += 1
    value, end = complete_requests(data)
    if value is None:
        ledger.reject("bad-json", reason, offset=0)
        return None
    ledger.reject("torn-document", "the document breaks off here", offset=end)
    ledger.note("salvaged-document", "read up to the last complete request", offset=end)
    return value


def complete_requests(data: bytes) -> tuple[Json | None, int]:
    """The object cut after the last complete request, and where that cut is."""
    depth = 0
    array_depth: int | None = None
    end = 0
    last_string = b""
    for token in _TOKEN.finditer(data):
        text = token[0]
        if text[:1] == b'"':
            last_string = text
        elif text in (b"[", b"{"):
            if depth == 1 and text == b"[" and last_string == b'"requests"':
                array_depth = depth + 1
                end = token.end()
            depth += 1
        else:
            depth -= 1
            if array_depth is not None and depth == array_depth:
                end = token.end()
            elif array_depth is not None and depth < array_depth:
                break
    if array_depth is None:
        return None, 0
    try:
        value: Any = jsonio.decode(data[:end] + b"]}")[0]
    except BadRecord:
        return None, 0
    return (value, end) if isinstance(value, dict) else (None, 0)
