"""Made-up editing sessions: what happened to files, in each of the three shapes that VS Code has written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from benchmarks.sessions import Session
from benchmarks.words import Json, Words, text_range, uri

SHAPES = ("timeline", "untouched", "history", "untouched", "timeline", "first-history")
REPEATED_RESULTS = 0.3  # part of the baselines that carry the whole result of their request


@dataclass(slots=True)
class EditingSession:
    """A state.json, and the texts beside it by hash."""

    state: Json
    contents: dict[str, str] = field(default_factory=dict)


def editing_session(session: Session, words: Words, shape: str) -> EditingSession:
    if shape == "timeline":
        return _timeline(session, words)
    if shape == "untouched":
        return EditingSession(_timeline_state(session, [_checkpoint(words, 0)], [], [], 1))
    return _history(session, words, is_first_version=shape == "first-history")


# --- timelines ------------------------------------------------------------------------------------------------------


def _timeline(session: Session, words: Words) -> EditingSession:
    """Files that the requests edit line by line; each operation is one streamed edit."""
    files = {f"{session.folder}/{words.path()}": words.code(words.rng.choice((60, 200, 600))) for _ in range(3)}
    made = EditingSession({})
    initial = [[f"file://{path}", _keep(made, text)] for path, text in files.items()]
    checkpoints, baselines, operations = [_checkpoint(words, 0)], [], []
    epoch = 1
    for request in session.requests[:8]:
        checkpoints.append(_checkpoint(words, epoch, request["requestId"]))
        epoch += 1
        path = words.rng.choice(list(files))
        baselines.append(_baseline(request, path, files[path], epoch, words))
        lines = files[path].split("\n")
        for _ in range(words.rng.choice((1, 2, 5, 40))):
            number = words.rng.randrange(len(lines))
            text = words.line()
            edit = {"range": text_range(number + 1, number + 1, len(lines[number]) + 1), "text": text}
            operations.append(
                {
                    "type": "textEdit",
                    "uri": uri(path),
                    "requestId": request["requestId"],
                    "epoch": epoch,
                    "edits": [edit],
                }
            )
            lines[number] = text
            epoch += 1
        files[path] = "\n".join(lines)
    made.state = _timeline_state(session, checkpoints, baselines, operations, epoch)
    made.state["initialFileContents"] = initial
    entries = [
        _entry(address, first, _keep(made, text))
        for (address, first), text in zip(initial, files.values(), strict=True)
    ]
    made.state["recentSnapshot"] = {"entries": entries}
    return made


def _timeline_state(
    session: Session, checkpoints: list[Json], baselines: list[list[object]], operations: list[Json], epoch: int
) -> Json:
    return {
        "version": 2,
        **({} if session.is_new else {"sessionId": session.native_id}),
        "initialFileContents": [],
        "timeline": {
            "checkpoints": checkpoints,
            "currentEpoch": epoch,
            "fileBaselines": baselines,
            "operations": operations,
            "epochCounter": epoch,
        },
        "recentSnapshot": {"entries": []},
    }


def _checkpoint(words: Words, epoch: int, request_id: str | None = None) -> Json:
    if request_id is None:
        return {
            "checkpointId": words.uuid(),
            "epoch": epoch,
            "label": "Initial State",
            "description": "Before all edits",
        }
    return {"checkpointId": words.uuid(), "requestId": request_id, "epoch": epoch, "label": "Request"}


def _baseline(request: Json, path: str, text: str, epoch: int, words: Words) -> list[object]:
    request_id = request["requestId"]
    told: Json = {"requestId": request_id, "agentId": request["agent"]["id"], "modelId": request["modelId"]}
    if words.chance(REPEATED_RESULTS):
        told["result"] = request["result"]
    baseline = {"uri": uri(path), "requestId": request_id, "content": text, "epoch": epoch, "telemetryInfo": told}
    return [f"file://{path}::{request_id}", baseline]


# --- histories ------------------------------------------------------------------------------------------------------


def _history(session: Session, words: Words, *, is_first_version: bool) -> EditingSession:
    """Snapshots before each request, the texts kept beside them."""
    made = EditingSession({})
    address = f"file://{session.folder}/{words.path()}"
    text = words.code(words.rng.choice((40, 150, 400)))
    first = current = _keep(made, text)
    items: list[Json] = []
    for request in session.requests[:8]:
        entry = _entry(address, first, current, request["requestId"])
        lines = text.split("\n")
        lines[words.rng.randrange(len(lines))] = words.sentence()
        text = "\n".join(lines)
        current = _keep(made, text)
        after = _entry(address, first, current, request["requestId"])
        if is_first_version:
            items.append({"requestId": request["requestId"], "workingSet": [], "entries": [entry]})
        else:
            stops = [{"entries": [entry]}, {"stopId": words.uuid(), "entries": [after]}]
            items.append({"requestId": request["requestId"], "stops": stops})
    recent: Json = {"entries": [_entry(address, first, current)]}
    if is_first_version:
        recent["workingSet"] = []
    made.state = {
        "version": 1 if is_first_version else 2,
        "sessionId": session.native_id,
        "linearHistory": items,
        "linearHistoryIndex": len(items) if is_first_version else 2 * len(items),
        "initialFileContents": [[address, first]],
        "recentSnapshot": recent,
    }
    return made


def _entry(address: str, original: str, current: str, request_id: str = "") -> Json:
    return {
        "resource": address,
        "languageId": "python",
        "originalHash": original,
        "currentHash": current,
        "state": 1,
        "snapshotUri": address.replace("file:", "chat-editing-snapshot-text-model:"),
        "telemetryInfo": {"requestId": request_id} if request_id else {},
    }


def _keep(made: EditingSession, text: str) -> str:
    """Put a text beside the state, under its hash."""
    name = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:7]
    made.contents[name] = text
    return name
