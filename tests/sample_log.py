"""Session logs as VS Code writes them: an initial state, then what changed from one save to the next, line by line."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tests.sample_forms import Json, encoded, span

# What a request has before its answer is complete; everything else is set when it is.
EARLY = (
    "requestId",
    "timestamp",
    "responseTimestamp",
    "agent",
    "slashCommand",
    "modelId",
    "modelConfiguration",
    "modeInfo",
    "responseId",
    "timeSpentWaiting",
    "confirmation",
    "editedFileEvents",
    "isSystemInitiated",
    "systemInitiatedLabel",
    "requestHiddenFromTranscript",
    "hiddenFromTranscript",
    "requestSource",
    "terminalExecutionId",
    "origin",
    "message",
    "variableData",
)
ALWAYS = ("contentReferences", "codeCitations")
LAST = ("modelState", "response")


class Log:
    """The lines of a log, each with the effect it has in VS Code."""

    def __init__(self, state: Json) -> None:
        self.lines: list[Json] = [{"kind": 0, "v": deepcopy(state)}]

    def set(self, *path: str | int, to: Any) -> None:
        self.lines.append({"kind": 1, "k": list(path), "v": deepcopy(to)})

    def unset(self, *path: str | int) -> None:
        """A property that became undefined: set without a value."""
        self.lines.append({"kind": 1, "k": list(path)})

    def delete(self, *path: str | int) -> None:
        self.lines.append({"kind": 3, "k": list(path)})

    def push(self, *path: str | int, items: list[Any] | None = None, at: int | None = None) -> None:
        """Append to an array; with `at`, cut it there first; without items, only cut."""
        line: Json = {"kind": 2, "k": list(path)}
        if items is not None:
            line["v"] = deepcopy(items)
        if at is not None:
            line["i"] = at
        self.lines.append(line)

    def data(self) -> bytes:
        return "".join(f"{encoded(line)}\n" for line in self.lines).encode()


def log_of(session: Json, *, begun: int = 0, passing: dict[int, list[Json]] | None = None) -> Log:
    """The log of a session that was saved while it grew.

    The first `begun` requests stand in the initial state, because the log was rewritten, or made from a plain file.
    `passing` are parts that stood at the end of a request's answer when it was saved, and were gone at the next save.
    """
    log = Log(_initial_state(session, begun))
    if not begun:
        log.set("responderUsername", to=session["responderUsername"])
    for number, request in enumerate(session["requests"][begun:], start=begun):
        _type(log, request["message"]["text"])
        _send(log, number, request, (passing or {}).get(number, []))
        if number == 0 and "customTitle" in session:
            log.set("customTitle", to=session["customTitle"])
        _answer(log, number, request, (passing or {}).get(number, []))
    _finish(log, session, begun)
    return log


def _initial_state(session: Json, begun: int) -> Json:
    state = {key: value for key, value in session.items() if key != "customTitle" or begun}
    state |= {"requests": session["requests"][:begun], "pendingRequests": []}
    if not begun:
        state |= {"responderUsername": "", "hasPendingEdits": False}
    if "inputState" in session:
        state["inputState"] = {**session["inputState"], "inputText": "", "selections": [_cursor("")], "attachments": []}
    return state


def _cursor(text: str) -> Json:
    line, column = text.count("\n") + 1, len(text.rpartition("\n")[2]) + 1
    caret = {"selectionStartLineNumber": line, "selectionStartColumn": column}
    return {**span(line, column, line, column), **caret, "positionLineNumber": line, "positionColumn": column}


def _type(log: Log, text: str) -> None:
    """The input box was saved while the prompt stood in it."""
    if len(text) < 200:
        log.set("inputState", "inputText", to=text)
        log.set("inputState", "selections", to=[_cursor(text)])


def _send(log: Log, number: int, request: Json, passing: list[Json]) -> None:
    """The request appears, with the first third of its answer."""
    sent = {key: request[key] for key in EARLY if key in request}
    sent |= {key: [] for key in ALWAYS if key in request}
    if "response" in request:
        sent |= {"modelState": {"value": 0}, "response": [*_beginning(request["response"]), *passing]}
    log.push("requests", items=[sent])
    log.set("inputState", "inputText", to="")
    log.set("inputState", "selections", to=[_cursor("")])


def _beginning(parts: list[Json]) -> list[Json]:
    """The parts that had arrived at the first save, the last one perhaps not whole."""
    arrived = parts[: (len(parts) + 2) // 3]
    if arrived and "kind" not in arrived[-1] and len(arrived[-1].get("value", "")) > 60:
        cut = arrived[-1]["value"].rindex(" ", 0, 50)
        arrived = [*arrived[:-1], {**arrived[-1], "value": arrived[-1]["value"][:cut]}]
    return arrived


def _answer(log: Log, number: int, request: Json, passing: list[Json]) -> None:
    """The answer is complete, or as complete as it ever was."""
    for key, value in request.items():
        if key not in EARLY and key not in LAST and not (key in ALWAYS and not value):
            log.set("requests", number, key, to=value)
    state = request.get("modelState", {"value": 0})
    if state != {"value": 0}:
        log.set("requests", number, "modelState", to=state)
    if "response" not in request:
        return
    parts = request["response"]
    before = [*_beginning(parts), *passing]
    same = next((at for at, pair in enumerate(zip(before, parts, strict=False)) if pair[0] != pair[1]), None)
    same = min(len(before), len(parts)) if same is None else same
    left = parts[same:]
    if left or same < len(before):
        log.push("requests", number, "response", items=left or None, at=same if same < len(before) else None)


def _finish(log: Log, session: Json, begun: int) -> None:
    if session.get("hasPendingEdits") and not begun:
        log.set("hasPendingEdits", to=True)
    if session.get("pendingRequests"):
        log.push("pendingRequests", items=session["pendingRequests"])
    draft = session.get("inputState")
    if draft and (draft["inputText"] or draft["attachments"]):
        log.set("inputState", "attachments", to=draft["attachments"])
        log.set("inputState", "inputText", to=draft["inputText"])
        log.set("inputState", "selections", to=draft["selections"])


def draft(text: str = "", mode: str = "agent", model: Json | None = None, **more: Any) -> Json:
    """What stands in the input box."""
    made: Json = {"attachments": [], "mode": {"id": mode, "kind": mode}}
    if model is not None:
        made["selectedModel"] = model
    made |= {"inputText": text, "selections": [_cursor(text)], "contrib": {"chatDynamicVariableModel": []}}
    return made | more


def replayed(lines: list[Json]) -> Json:
    """The state that the lines of a log come to."""
    state: Json = {}
    for line in deepcopy(lines):
        if line["kind"] == 0:
            state = line["v"]
            continue
        *path, key = line["k"]
        parent: Any = state
        for step in path:
            parent = parent[step]
        if line["kind"] == 2:
            parent[key] = [*parent.get(key, [])[: line.get("i")], *line.get("v", [])]
        elif "v" in line:
            parent[key] = line["v"]
        else:
            del parent[key]
    return state
