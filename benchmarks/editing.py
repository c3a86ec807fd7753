"""Made-up editing sessions: what happened to files, in each of the three shapes that VS Code has written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from urllib.parse import quote

import msgspec

from benchmarks.sessions import Session
from benchmarks.words import Json, Words, text_range, uri

SHAPES = (
    *("timeline", "history", "first-history", "timeline", "history", "timeline", "history"),
    *("timeline", "history", "timeline", "history", "timeline", "history", "timeline", "untouched"),
)
REPEATED_RESULTS = 0.03  # part of the baselines that carry the whole result of their request
OWN = 0.3  # part of the lines that no other line is like
TOUCHED = 0.85  # part of the files that a request changes
LONG = 3  # requests: such sessions work on more and larger files
# Means. A baseline is the whole text of a file.
FILE_BYTES = 7_000
LARGE_FILE_BYTES = 50_000
FILES = 1.4
MORE_FILES = 2
OPERATIONS = 3.5  # after one baseline
WITH_STOP = 0.7  # part of the operations after which one can go back
OPERATION_BYTES = 1_500
STOPS = 3.3  # in one request


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
    """Files that the requests edit; each operation is one edit."""
    files = _files(session, words, LARGE_FILE_BYTES if len(session.requests) >= LONG else FILE_BYTES)
    made = EditingSession({})
    initial = [[f"file://{path}", _keep(made, text)] for path, text in files.items()]
    checkpoints, baselines, operations = [_checkpoint(words, 0)], [], []
    epoch = 1
    for request in session.requests:
        checkpoints.append(_checkpoint(words, epoch, request["requestId"]))
        for path in files:
            if not words.chance(TOUCHED):
                continue
            epoch += 1
            baselines.append(_baseline(request, path, files[path], epoch, words))
            lines = files[path].split("\n")
            for _ in range(words.size(OPERATIONS)):
                operations.append(_operation(words, path, lines, request["requestId"], epoch))
                if words.chance(WITH_STOP):
                    checkpoints.append(_checkpoint(words, epoch, request["requestId"], words.uuid()))
                epoch += 1
            files[path] = "\n".join(lines)
    made.state = _timeline_state(session, checkpoints, baselines, operations, epoch)
    made.state["initialFileContents"] = initial
    entries = [
        _entry(session.native_id, address, first, _keep(made, text))
        for (address, first), text in zip(initial, files.values(), strict=True)
    ]
    made.state["recentSnapshot"] = {"entries": entries}
    return made


def _files(session: Session, words: Words, size: int) -> dict[str, str]:
    count = words.size(MORE_FILES if len(session.requests) >= LONG else FILES, 0.9)
    paths = {f"{session.folder}/{words.path()}": None for _ in range(count)}
    return {path: _text(words, words.size(size, 0.9)) for path in paths}


def _text(words: Words, size: int) -> str:
    """A file of about this size. As in real files, half of its lines are there once only."""
    lines = words.code_of(size).split("\n")
    return "\n".join(f"{line}  # {words.word()} {words.word()}" if words.chance(OWN) else line for line in lines)


def _operation(words: Words, path: str, lines: list[str], request_id: str, epoch: int) -> Json:
    """Put other lines into the place of a few, also in `lines`."""
    first = words.rng.randrange(len(lines))
    last = min(first + words.rng.randrange(4), len(lines) - 1)
    text = words.code_of(words.size(OPERATION_BYTES, 1.6)).rstrip("\n")
    edit = {"range": text_range(first + 1, last + 1, len(lines[last]) + 1), "text": text}
    lines[first : last + 1] = text.split("\n")
    return {"type": "textEdit", "uri": uri(path), "requestId": request_id, "epoch": epoch, "edits": [edit]}


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


def _checkpoint(words: Words, epoch: int, request_id: str | None = None, stop_id: str | None = None) -> Json:
    if request_id is None:
        return {
            "checkpointId": words.uuid(),
            "epoch": epoch,
            "label": "Initial State",
            "description": "Starting point before any edits",
        }
    made = {"checkpointId": words.uuid(), "requestId": request_id, "epoch": epoch, "label": f"Request {request_id}"}
    if stop_id is not None:
        made |= {"undoStopId": stop_id, "label": f"{made['label']} - Stop {stop_id}"}
    return made


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
    files = {f"file://{path}": text for path, text in _files(session, words, FILE_BYTES).items()}
    first = {address: _keep(made, text) for address, text in files.items()}
    current = dict(first)
    items: list[Json] = []
    for request in session.requests:
        request_id = request["requestId"]
        before = [_entry(session.native_id, address, first[address], current[address], request_id) for address in files]
        stops: list[Json] = [{"entries": before}]
        for _ in range(1 if is_first_version else words.size(STOPS)):
            address = words.rng.choice(list(files))
            files[address] = _changed(words, files[address])
            current[address] = _keep(made, files[address])
            after = [_entry(session.native_id, each, first[each], current[each], request_id) for each in files]
            stops.append({"stopId": words.uuid(), "entries": after})
        if is_first_version:
            items.append({"requestId": request_id, "workingSet": [], "entries": before})
        else:
            items.append({"requestId": request_id, "stops": stops})
    stop_count = sum(len(item.get("stops", ())) for item in items)
    recent: Json = {
        "entries": [_entry(session.native_id, address, first[address], current[address]) for address in files]
    }
    if is_first_version:
        recent["workingSet"] = []
    made.state = {
        "version": 1 if is_first_version else 2,
        "sessionId": session.native_id,
        "linearHistory": items,
        "linearHistoryIndex": len(items) if is_first_version else stop_count,
        "initialFileContents": [[address, name] for address, name in first.items()],
        "recentSnapshot": recent,
    }
    return made


def _changed(words: Words, text: str) -> str:
    """A text with another line somewhere."""
    lines = text.split("\n")
    lines[words.rng.randrange(len(lines))] = words.sentence()
    return "\n".join(lines)


def _entry(session: str, address: str, original: str, current: str, request_id: str = "") -> Json:
    query = msgspec.json.encode({"session": session, "requestId": request_id, "undoStop": ""}).decode()
    told = {"requestId": request_id, "agentId": "github.copilot.editsAgent", "sessionId": session}
    return {
        "resource": address,
        "languageId": "python",
        "originalHash": original,
        "currentHash": current,
        "state": 1,
        "snapshotUri": f"{address.replace('file:', 'chat-editing-snapshot-text-model:')}?{quote(query)}",
        "telemetryInfo": told if request_id else {},
    }


def _keep(made: EditingSession, text: str) -> str:
    """Put a text beside the state, under its hash."""
    name = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:7]
    made.contents[name] = text
    return name
