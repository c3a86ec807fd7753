"""Made-up session logs for tests, and what comes of replaying them."""

from __future__ import annotations

import json
from typing import Any

from copilog.diagnostics import Ledger
from copilog.sources.vscode.session_log import Replayed, replay

Json = dict[str, Any]


def line(kind: Any, path: Any = None, **fields: Any) -> bytes:
    """Return one line of a log as VS Code writes it."""
    record = {"kind": kind, **({} if path is None else {"k": path}), **fields}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def replayed(*lines: bytes) -> tuple[Replayed, Ledger]:
    ledger = Ledger(path="session.jsonl")
    log = replay(b"".join(lines), ledger)
    assert ledger.balances()
    return log, ledger


def notes_by_line(ledger: Ledger) -> list[tuple[int | None, str]]:
    return [(diagnostic.line, diagnostic.code) for diagnostic in ledger.diagnostics()]


def written(records: list[Json]) -> list[bytes]:
    return [json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records]


def is_complete(rest: bytes) -> bool:
    try:
        json.loads(rest)
    except ValueError:
        return False
    return True
