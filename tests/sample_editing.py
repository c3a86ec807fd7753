"""What an editing session keeps about files, in the three shapes it has had."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.sample_forms import File, Json, address, content_name, encoded, made_up_id
from tests.sample_home import request_id

MODIFIED, ACCEPTED, REJECTED = 0, 1, 2


def entry(
    path: str, language: str, original: str, current: str, *, by: str, state: int = MODIFIED, **more: Any
) -> Json:
    """A file in a snapshot: its text before the edits that nobody has decided on, and its text now."""
    key = by.partition("/")[0]
    query = quote(encoded({"sessionId": made_up_id(key), "requestId": "", "undoStop": ""}), safe="")
    return {
        "resource": address(path),
        "languageId": language,
        "originalHash": content_name(original),
        "currentHash": content_name(current),
        "state": state,
        "snapshotUri": f"chat-editing-snapshot-text-model:{path}?{query}",
        "telemetryInfo": {"requestId": request_id(by), "agentId": "github.copilot.editsAgent"},
        **more,
    }


def stop(*entries: Json, stop_id: str | None = None) -> Json:
    made: Json = {} if stop_id is None else {"stopId": stop_id}
    return {**made, "entries": list(entries)}


class Timeline:
    """A timeline in the making: checkpoints and operations share one row of numbers."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.checkpoints: list[Json] = []
        self.baselines: list[list[Any]] = []
        self.operations: list[Json] = []
        self.epoch = 0
        self._checkpoint("Initial State", description="Starting point before any edits")

    def begin(self, request: str) -> None:
        """A request starts."""
        self.request = request_id(request)
        self._checkpoint(f"Request {self.request}", requestId=self.request)

    def stop(self, stop_id: str) -> None:
        """A place within the request to which its edits can be undone."""
        self._checkpoint(f"Request {self.request} - Stop {stop_id}", requestId=self.request, undoStopId=stop_id)

    def _checkpoint(self, label: str, **fields: Any) -> None:
        checkpoint_id = made_up_id(self.key, "checkpoint", str(self.epoch))
        self.checkpoints.append({"checkpointId": checkpoint_id, "epoch": self.epoch, "label": label, **fields})
        self.epoch += 1

    def baseline(self, file: File, **more: Any) -> None:
        """The text of a file right before the request first edits it."""
        about = {"uri": file.uri, "requestId": self.request, "content": file.text, "epoch": self.epoch}
        key = f"{address(file.path)}::{self.request}"
        self.baselines.append([key, {**about, "telemetryInfo": {"requestId": self.request}, **more}])
        self.epoch += 1

    def operation(self, kind: str, file: File, **fields: Any) -> None:
        about = {"type": kind, "uri": file.uri, "requestId": self.request, "epoch": self.epoch}
        self.operations.append({**about, **fields})
        self.epoch += 1

    def state(self, recent: list[Json], initial: list[tuple[str, str]], undone: int = 0) -> Json:
        """The whole document. The last `undone` numbers are undone."""
        return {
            "version": 2,
            "initialFileContents": [[address(path), content_name(text)] for path, text in initial],
            "timeline": {
                "checkpoints": self.checkpoints,
                "currentEpoch": self.epoch - undone,
                "fileBaselines": self.baselines,
                "operations": self.operations,
                "epochCounter": self.epoch,
            },
            "recentSnapshot": {"entries": recent},
        }
