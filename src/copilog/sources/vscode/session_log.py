"""Read sessions as a log (`chatSessions/<id>.jsonl`): an initial state, and the changes made to it, one per line.

Format notes: docs/formats/vscode-chat.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.intake.records import JsonLines
from copilog.model import Conversation
from copilog.sources.base import Found, Probe, Source, marks_of_trace, provenance_of
from copilog.sources.folders import SESSION_FOLDERS, session_files
from copilog.sources.roots import StorageFolder
from copilog.sources.vscode.replaced_texts import DRAFT_FIELDS, Lost, Overwritten
from copilog.text_cache import SharedTexts


class VSCodeSessionLog(Source):
    name = "vscode-session-log"
    title = "VS Code session (.jsonl)"

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        return session_files(folder, ".jsonl", self.name)

    def claims(self, file: Probe) -> bool:
        if file.suffix == ".jsonl" and file.is_directly_in(*SESSION_FOLDERS):
            return True
        first = file.first_record if file.suffix == ".jsonl" else None
        if first is None or not isinstance(first.get("kind"), int):
            return False
        return isinstance(first.get("v"), dict) if first["kind"] == 0 else isinstance(first.get("k"), list)

    def native_id(self, file: Probe) -> str | None:
        if file.is_directly_in(*SESSION_FOLDERS):
            return file.path.stem
        state = (file.first_record or {}).get("v")
        session_id = state.get("sessionId") if isinstance(state, dict) else None
        return session_id if isinstance(session_id, str) else file.path.stem

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:

        from copilog.sources.vscode.conversation import conversation_from
        from copilog.sources.vscode.replaced_texts import drafts_as_documents

        log = replay(found.path, ledger)
        if log.state is None:
            return
        native_id = found.native_id or found.path.stem
        removed = log.removed_requests()
        lost, drafts = log.lost_texts(), log.overwritten.lost_drafts(log.state, removed)
        conversation = conversation_from(
            log.state,
            ledger,
            source=self.name,
            native_id=native_id,
            count_requests=False,
            removed=removed,
            lost=lost,
        )
        conversation.documents += drafts_as_documents(drafts)
        if log.is_headless:
            conversation.marks.append("headless")
        if log.is_damaged:
            conversation.marks.append("damaged")
        conversation.provenance = [provenance_of(found, marks=marks_of_trace(ledger))]
        yield conversation


# The session log: an initial state and the changes that were made to it since, one per line. It is replayed by VS
# Code's own rules, but continues where VS Code gives up: a bad line costs only that line, and a log without its
# beginning is built up from the lines that there are. Format notes: docs/formats/vscode-chat.md, "The session log".


INITIAL, SET, PUSH, DELETE = 0, 1, 2, 3
MOST_HOLES = 10_000  # in one log; more would be an attack on memory
FIELDS_WITHOUT_TEXT = (
    "modelState",
    "responseMarkdownInfo",
    "selections",
    "selectedModel",
)  # fields without text of users
NOTED_FIELDS = ("requests", *DRAFT_FIELDS)
RequestKey = str | tuple[str, str]  # the id of a request, or its content if it has no id
_ABSENT: Any = msgspec.UNSET
_FALSY = (None, False, 0, "")  # what is false in JavaScript; an empty object or array is not


class Change(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One line of a log: an initial state, or a change at a path. `v` and `i` are not decoded yet."""

    kind: Literal[0, 1, 2, 3]
    k: list[str | int] | None = None
    v: Any = _ABSENT
    i: Any = None


decode_change = msgspec.json.Decoder(Change).decode


class Replayed:
    """The result of a log: the state, and the damage that was found."""

    __slots__ = ("holes_left", "is_damaged", "is_headless", "is_pathless", "overwritten", "removed", "state")

    def __init__(self) -> None:
        self.state: Any = None
        self.is_damaged = False  # a line was lost, and later lines may build on it
        self.is_headless = False  # there was no initial state
        self.is_pathless = False  # requests were pushed without a path
        self.holes_left = MOST_HOLES
        self.removed: dict[RequestKey, Any] = {}  # the last form of requests that a line removed
        self.overwritten = Overwritten()

    def removed_requests(self) -> list[Any]:
        """Return the requests that lines removed and that no later line brought back, in the order of removal."""
        if not self.removed:
            return []
        requests = self.state.get("requests") if isinstance(self.state, dict) else None
        left = requests if isinstance(requests, list) else []
        present: set[RequestKey | None] = {_request_id(request) for request in left}
        if not all(isinstance(key, str) for key in self.removed):
            present.update(_content_key(request) for request in left)
        return [request for key, request in self.removed.items() if key not in present]

    def note_removal(self, requests: Any) -> None:
        """Remember requests that a line removes. Those that are sent again are identified by id, else by content."""
        for request in requests if isinstance(requests, list) else ():
            key = _request_id(request) or _content_key(request)
            if key is None:
                continue
            before = self.removed.pop(key, None)
            if before is not None and isinstance(key, str):
                self.overwritten.in_requests.append((key, None, None, before))
            self.removed[key] = request

    def lost_texts(self) -> Lost:
        """Return by request the texts that later lines replaced by others."""
        if not self.removed and not self.overwritten.in_requests:
            return {}
        requests = self.state.get("requests") if isinstance(self.state, dict) else None
        present = requests if isinstance(requests, list) else []
        removed = self.removed_requests()
        gone = {id(request) for request in removed}
        for key, request in self.removed.items():
            if isinstance(key, str) and id(request) not in gone:  # removed, and sent again in another form
                self.overwritten.in_requests.append((key, None, None, request))
        return self.overwritten.lost_of_requests([*present, *removed])


def _request_id(request: Any) -> str | None:
    name = request.get("requestId") if isinstance(request, dict) else None
    return name if isinstance(name, str) else None


def _content_key(request: Any) -> tuple[str, str] | None:
    """Return a key for a request without an id: its text and time, or its full content; None for a hole."""
    if not isinstance(request, dict) or not request:
        return None
    message, at = request.get("message"), request.get("timestamp")
    text = message.get("text") if isinstance(message, dict) else message
    if isinstance(text, str) and isinstance(at, int | float):
        return text, str(at)
    return "", jsonio.encode(request)


def is_change(record: dict[str, Any]) -> bool:
    """Return whether an object inside a damaged line is a line of a log; parts of answers have kinds, too."""
    is_numbered = type(record.get("kind")) is int and record.keys() <= {"kind", "k", "v", "i"}
    return is_numbered and ("k" in record or isinstance(record.get("v"), dict))


def replay(source: Path | bytes, ledger: Ledger, shared: SharedTexts | None = None) -> Replayed:
    """Replay all lines of a log; each is one record. Texts that are among the shared ones take no more memory."""
    from copilog.sources.documents import TRUNCATED_VALUE

    log = Replayed()
    has_truncated = False

    def decode(line: bytes) -> Change:
        nonlocal has_truncated
        has_truncated = has_truncated or TRUNCATED_VALUE in line
        return decode_change(line)

    lines = JsonLines(source, ledger, is_change, decode=decode)
    for record, line, offset, _ in lines:
        log.is_damaged, lines.is_damaged = log.is_damaged or lines.is_damaged, False
        if shared is not None:
            _share_texts(record, shared)
        try:
            if type(record) is Change:
                apply_change(record, log)
            else:
                apply_mutation(record, log)
            ledger.used += 1
        except BadRecord as error:
            ledger.reject(error.code, str(error), line=line, offset=offset)
            log.is_damaged = True
    log.is_damaged = log.is_damaged or lines.is_damaged
    _note_health(log, ledger, has_truncated)
    return log


def _share_texts(record: Any, shared: SharedTexts) -> None:
    """Replace the long texts of a line by equal ones that are in memory already."""
    if type(record) is Change:
        record.v = shared.share_in(record.v)
    else:
        shared.share_in(record)


def _note_health(log: Replayed, ledger: Ledger, has_truncated: bool) -> None:
    if ledger.seen == ledger.ignored.get("blank-line", 0):
        ledger.note("empty-file", "the log is empty")
    if has_truncated:
        ledger.note("value-truncated", "VS Code shortened a value when it saved the conversation", "info")
    if log.is_pathless:
        ledger.note("pathless-change", "requests were added without a path; they were read as requests of the session")
    if log.is_headless:
        ledger.note("headless-log", "the log has no initial state; rebuilt from its changes", line=1, offset=0)
    elif log.is_damaged and log.state is not None:
        ledger.note("damaged-log", "lines of the log could not be used; later changes were replayed without them")


# --- VS Code's rules --------------------------------------------------------------------------------------------


def apply_mutation(record: Any, log: Replayed) -> None:
    """Apply one decoded line, of any type, to the state; raise BadRecord if that is not possible."""
    kind = record.get("kind") if isinstance(record, dict) else None
    if isinstance(kind, bool) or kind not in (INITIAL, SET, PUSH, DELETE):
        what = f"a change of kind {kind}" if isinstance(kind, int) else "a line without a kind"
        raise BadRecord(f"{what}, which VS Code does not support", "unknown-mutation")
    path = record.get("k")
    is_path = isinstance(path, list) and all(isinstance(key, str | int) and not isinstance(key, bool) for key in path)
    apply_change(Change(kind, path if is_path else None, record.get("v", _ABSENT), record.get("i")), log)


def apply_change(change: Change, log: Replayed) -> None:
    """Apply one change to the state, as VS Code does; raise BadRecord if that is not possible."""
    kind, path = change.kind, change.k
    if kind == INITIAL:
        _begin(change.v, log)
        return
    if path is None and kind == PUSH and _are_requests(change.v):
        path = ["requests"]
        log.is_pathless = True
    if path is None:
        raise BadRecord("a change without a usable path")
    if not path:
        if kind == PUSH:
            raise BadRecord("a push to the root, which is not an array")
        return
    if log.state is None:
        log.state = {"version": 3, "requests": []}
        log.is_headless = True
    parent = _walk(path, log)
    if path[0] == "requests" and len(path) <= 2:
        _note_removal(path, change, log)
    elif path[0] in NOTED_FIELDS and (kind != PUSH or change.i is not None):
        _note_overwritten(path, parent, change, log)
    if kind == PUSH:
        _push(parent, path[-1], change, log)
    else:
        _assign(parent, path[-1], change.v if kind == SET else _ABSENT, log)


def _note_removal(path: list[Any], change: Change, log: Replayed) -> None:
    """Remember the requests that a change to the list of requests, or to one of its slots, removes."""
    requests = log.state.get("requests")
    if not isinstance(requests, list):
        return
    if len(path) == 2:
        index = _index(path[1])
        if change.kind != PUSH and index is not None:
            log.note_removal(requests[index : index + 1])
    elif change.kind != PUSH:
        log.note_removal(requests)
    elif isinstance(change.i, int) and change.i >= 0:
        log.note_removal(requests[change.i :])


def _are_requests(items: Any) -> bool:
    return isinstance(items, list) and bool(items) and all(_request_id(item) is not None for item in items)


def _note_overwritten(path: list[Any], parent: Any, change: Change, log: Replayed) -> None:
    """Note the values that a change replaces: items that are cut off, or a value that is set again."""
    old = _get(parent, path[-1])
    if not old or type(old) not in (dict, list, str) or path[-1] in FIELDS_WITHOUT_TEXT:
        return
    first, new = 0, change.v
    if change.kind == PUSH:
        if not isinstance(old, list) or type(change.i) is not int or change.i < 0:
            return  # the push itself reports this
        first, old = change.i, old[change.i :]
    if isinstance(old, str) and isinstance(new, str) and new.startswith(old):
        return
    if path[0] != "requests":
        log.overwritten.drafts.append(old)
        return
    name = _request_id(_get(_get(log.state, "requests"), path[1]))
    if name is None:
        return
    field = str(path[2])
    if isinstance(old, list) and len(path) == 3:
        log.overwritten.add_items(name, field, first, old, new if isinstance(new, list) else [])
    else:
        item = path[3] if len(path) > 3 and type(path[3]) is int else None
        log.overwritten.in_requests.append((name, field, item, old))


def _begin(state: Any, log: Replayed) -> None:
    """Start over from a complete state: earlier damage no longer matters."""
    if not isinstance(state, dict):
        raise BadRecord("an initial state that is not an object")
    if log.state is not None:
        log.note_removal(log.state.get("requests"))
        log.overwritten.drafts += [log.state.get(field) for field in DRAFT_FIELDS]
    log.state = state
    log.is_headless = log.is_damaged = False


def _walk(path: list[Any], log: Replayed) -> Any:
    """Return the container that holds the last key of a path.

    In a headless log, create the containers that are missing.
    """
    node = log.state
    for index, key in enumerate(path[:-1]):
        below = _get(node, key)
        if below is None and log.is_headless:
            below = [] if isinstance(path[index + 1], int) else {}
            _assign(node, key, below, log)
        if type(below) is not dict and type(below) is not list:
            raise BadRecord(f"nothing to change at {_pointer(path[: index + 1])}", "orphan-mutation")
        node = below
    return node


def _pointer(path: list[Any]) -> str:
    return "".join(f"/{str(key)[:40]}" for key in path)


def _push(parent: Any, key: Any, change: Change, log: Replayed) -> None:
    array = _get(parent, key)
    if not isinstance(array, list):
        if array not in _FALSY:
            raise BadRecord("a push to a value that is not an array", "orphan-mutation")
        array = []
    items = None if change.v is _ABSENT else change.v
    if items is not None and not isinstance(items, list):
        raise BadRecord("a push of a value that is not an array")
    length = change.i
    if length is not None:
        if not isinstance(length, int) or isinstance(length, bool) or length < 0:
            raise BadRecord("a push with an unusable index")
        del array[length:]
        _lengthen(array, length, log)
    if items:
        array += items
    _assign(parent, key, array, log)


def _get(node: Any, key: Any) -> Any:
    if isinstance(node, dict):
        return node.get(key if type(key) is str else str(key))
    index = key if type(key) is int and key >= 0 else _index(key)
    return node[index] if index is not None and index < len(node) else None


def _assign(node: Any, key: Any, value: Any, log: Replayed) -> None:
    """Set a property or an array slot, as JavaScript does.

    A value that is absent removes a property and empties a slot.
    """
    if isinstance(node, dict):
        if value is _ABSENT:
            node.pop(str(key), None)
        else:
            node[str(key)] = value
        return
    index = _index(key)
    if index is None:
        raise BadRecord("an array has no such slot", "orphan-mutation")
    _lengthen(node, index, log)
    if index == len(node):
        node.append(None)
    node[index] = None if value is _ABSENT else value


def _lengthen(array: list[Any], length: int, log: Replayed) -> None:
    """Fill an array up to a length with holes, as JavaScript does."""
    holes = max(0, length - len(array))
    if holes > log.holes_left:
        raise BadRecord("an array index far beyond the end of the array", "orphan-mutation")
    log.holes_left -= holes
    array += [None] * holes


def _index(key: str | int) -> int | None:
    """Return the array slot that a key names; JavaScript takes "7" for 7, but not "07"."""
    if isinstance(key, str):
        return int(key) if re.fullmatch("0|[1-9][0-9]{0,9}", key) else None
    return key if key >= 0 else None
