"""Homes with sessions, and exports beside them, for tests of how they become one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from copilog.ingest import find_roots
from copilog.ingest.scan_result import ScanResult
from copilog.ingest.scanning import scan
from copilog.store.archive import Archive
from tests.cli.homes import STARTED, Home

TIMES = frozenset({"stored_at", "scanned_at", "gone_at", "changed_at", "modified_ns", "removed_at"})


class Places:
    """A home with one conversation, or several, and exports beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = Home(folder / "home")
        self.exports = folder / "exports"
        self.exports.mkdir()

    def keep(self, name: str, *requests: dict[str, Any], **fields: Any) -> Path:
        state = {"version": 3, "sessionId": name, "creationDate": STARTED, "responderUsername": "GitHub Copilot"}
        return self.home.add(
            self.home.workspace(1, "/home/ana/garden"), {**state, "requests": list(requests), **fields}
        )

    def export(self, file: str, *requests: dict[str, Any], **fields: Any) -> Path:
        path = self.exports / file
        path.write_text(json.dumps({"responderUsername": "GitHub Copilot", "requests": list(requests), **fields}))
        return path

    def scan_home(self, archive: Archive) -> ScanResult:
        return scan(archive, roots=find_roots([self.home.root]))


def asked(subject: str, number: int, answer: str | None = None, **fields: Any) -> dict[str, Any]:
    """A request of its own id."""
    return {
        "requestId": f"request_{subject}_{number}",
        "timestamp": STARTED + number * 600_000,
        "message": {"text": f"Question {number} about the {subject} in the garden", "parts": []},
        "variableData": {"variables": []},
        "response": [{"value": answer or f"Answer {number}."}],
        **fields,
    }


def beans(count: int) -> list[dict[str, Any]]:
    return [asked("beans", number) for number in range(count)]


def without_ids(request: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**{name: value for name, value in request.items() if name not in ("requestId", "timestamp")}, **fields}


def rows_of(archive: Archive) -> dict[str, list[str]]:
    """All rows of all tables but times; conversations are named by their ids, as their numbers depend on the order."""
    archive.index_pending()
    names = dict(archive.connection.execute("SELECT rowid, id FROM conversation"))
    told: dict[str, list[str]] = {}
    for (table,) in archive.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        if table.startswith(("sqlite_", "words_", "word_part", "words", "word")) or table in ("meta", "checksum"):
            continue
        found = archive.connection.execute(f"SELECT * FROM {table}")
        columns = [column[0] for column in found.description]
        kept = []
        for row in found:
            values = {name: value for name, value in zip(columns, row, strict=True) if name not in TIMES}
            if "conversation" in values:
                values["conversation"] = names[values["conversation"]]
            values.pop("rowid", None)
            kept.append(repr(values))
        told[table] = sorted(kept)
    told["terms"] = sorted(map(repr, archive.connection.execute("SELECT * FROM term")))
    return told


def ids(archive: Archive) -> list[str]:
    return sorted(summary.id for summary in archive.list(include_gone=True))


def files_of(archive: Archive, wanted: str) -> set[str]:
    return {Path(trace.path).name for trace in archive.get(wanted).provenance}
