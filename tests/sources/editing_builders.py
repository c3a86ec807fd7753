"""Made-up editing sessions for tests."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from copilog.diagnostics import Ledger
from copilog.model import Conversation
from copilog.sources.base import Found
from copilog.sources.vscode.editing import VSCodeEditing

SOURCE = VSCodeEditing()
FILE = "file:///w/a.txt"
OTHER = "file:///w/b.txt"

Json = dict[str, Any]


class Session:
    """An editing session in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "chatEditingSessions" / "key-1"
        (self.folder / "contents").mkdir(parents=True)

    def store(self, text: str) -> str:
        """Store a text, and give its hash."""
        name = hashlib.sha1(text.encode()).hexdigest()[:7]
        (self.folder / "contents" / name).write_text(text, newline="")
        return name

    def entry(self, current: str, original: str | None = None, uri: str = FILE, **fields: Any) -> dict[str, Any]:
        return {
            "resource": uri,
            "languageId": "plaintext",
            "originalHash": self.store(current if original is None else original),
            "currentHash": self.store(current),
            "state": 0,
            **fields,
        }

    def read(self, state: object) -> tuple[list[Conversation], Ledger]:
        path = self.folder / "state.json"
        path.write_text(state if isinstance(state, str) else json.dumps(state))
        ledger = Ledger(path=str(path))
        conversations = list(SOURCE.read(Found(path, SOURCE.name, native_id="key-1"), ledger))
        assert ledger.balances()
        return conversations, ledger

    def read_one(self, **state: Any) -> tuple[Conversation, Ledger]:
        (conversation,), ledger = self.read({"version": 2, **state})
        return conversation, ledger


def uri_object(uri: str) -> Json:
    return {"$mid": 1, "scheme": "file", "path": uri.removeprefix("file://"), "external": uri}


def replacing(line: int, text: str) -> Json:
    """Make an edit that replaces a line, but not its end."""
    span = {"startLineNumber": line, "startColumn": 1, "endLineNumber": line, "endColumn": 999}
    return {"range": span, "text": text}


class Timeline:
    """Writes a timeline, one epoch after the other."""

    def __init__(self) -> None:
        self.epoch = 0
        self.current_epoch: int | None = None
        self.checkpoints: list[Json] = []
        self.baselines: list[Any] = []
        self.operations: list[Any] = []
        self.request = ""
        self.checkpoint()

    def checkpoint(self, request: str | None = None, stop: str | None = None) -> None:
        point = {"checkpointId": f"c{self.epoch}", "epoch": self._next(), "label": "", "requestId": request}
        self.checkpoints.append({**point, "undoStopId": stop} if stop else point)
        self.request = request or ""

    def baseline(self, content: str, uri: str = FILE) -> None:
        baseline = {"uri": uri_object(uri), "requestId": self.request, "content": content, "epoch": self._next()}
        self.baselines.append([f"{uri}::{self.request}", baseline])

    def operation(self, kind: str, uri: str = FILE, **fields: Any) -> None:
        common = {"type": kind, "uri": uri_object(uri), "requestId": self.request, "epoch": self._next()}
        self.operations.append({**common, **fields})

    def edit(self, line: int, text: str, uri: str = FILE, **fields: Any) -> None:
        self.operation("textEdit", uri, edits=[replacing(line, text)], **fields)

    def rename(self, old: str, new: str) -> None:
        self.operation("rename", new, oldUri=uri_object(old), newUri=uri_object(new))

    def as_json(self) -> Json:
        current = self.epoch if self.current_epoch is None else self.current_epoch
        return {
            "checkpoints": self.checkpoints,
            "fileBaselines": self.baselines,
            "operations": self.operations,
            "currentEpoch": current,
            "epochCounter": self.epoch,
        }

    def _next(self) -> int:
        self.epoch += 1
        return self.epoch - 1


def whole_requests(conversation: Conversation) -> list[tuple[str | None, str | None, str | None]]:
    """Return what each request did, without its steps."""
    return [(it.request_id, it.before, it.after) for it in conversation.file_changes if it.checkpoint is None]


def steps(conversation: Conversation) -> list[tuple[str | None, str | None, str | None]]:
    return [(it.checkpoint, it.before, it.after) for it in conversation.file_changes if it.checkpoint is not None]
