"""The session log: an initial state and the changes that were made to it since, one per line.

Replays by VS Code's own rules, but goes on where VS Code gives up: a bad line costs that line, and a log without
its beginning is built up from what is there. Format notes: docs/formats/vscode-chat.md, "The session log".
"""

from __future__ import annotations

from typing import Any

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord

INITIAL, SET, PUSH, DELETE = 0, 1, 2, 3
TRUNCATED_VALUE = b": value truncated for persistence"
_ABSENT: Any = object()


class Replayed:
    """What a log came to: the state, and what is to be said about its health."""

    __slots__ = ("is_damaged", "is_headless", "state")

    def __init__(self) -> None:
        self.state: Any = None
        self.is_damaged = False  # a line was lost, and what came later may build on it
        self.is_headless = False  # there was no initial state


def replay(data: bytes, ledger: Ledger) -> Replayed:
    """Replay all lines of a log; each is one record."""
    log = Replayed()
    data, repairs = jsonio.as_utf8(data)
    for repair in repairs:
        ledger.note(repair.code, repair.reason, line=1, offset=0)
    if not data:
        ledger.note("empty-file", "the log is empty")
    for line in jsonio.split_lines(data):
        ledger.seen += 1
        try:
            if _replay_line(line, log, ledger):
                ledger.used += 1
        except BadRecord as error:
            ledger.reject(error.code, str(error), line=line.number, offset=line.offset)
            log.is_damaged = log.is_damaged or not line.is_last_open
    if TRUNCATED_VALUE in data:
        ledger.note("value-truncated", "VS Code shortened a value when it saved the conversation", "info")
    if log.is_headless:
        ledger.note("headless-log", "the log has no initial state; rebuilt from its changes", line=1, offset=0)
    elif log.is_damaged and log.state is not None:
        ledger.note("damaged-log", "lines of the log could not be used; later changes were replayed without them")
    return log


def _replay_line(line: jsonio.Line, log: Replayed, ledger: Ledger) -> bool:
    """Apply one line; False when it is ignored. Raises BadRecord when it cannot be used."""
    data = line.data
    if data.endswith(b"\0") or data.startswith(b"\0"):
        data = data.strip(b"\0")
        ledger.note("nul-tail", "NUL bytes around the line", line=line.number, offset=line.offset)
        if not data.strip():
            ledger.ignore("nul-padding")
            return False
    if not data.strip():
        ledger.ignore("blank-line")
        return False
    records, repairs = _decode(data, line)
    for repair in repairs:
        ledger.note(repair.code, repair.reason, "info", line=line.number, offset=line.offset)
    for record in records:
        apply_mutation(record, log)
    return True


def _decode(data: bytes, line: jsonio.Line) -> tuple[list[Any], list[jsonio.Repair]]:
    separated = any(mark in data for mark in jsonio.LINE_SEPARATORS)
    try:
        record, repairs = jsonio.decode(data)
    except BadRecord as error:
        if separated and (pieces := _split_at_separators(data)):
            return pieces, [jsonio.Repair("raw-line-separator", "records separated by U+2028 or U+2029")]
        if line.is_last_open:
            raise BadRecord("the last line breaks off", "torn-tail") from None
        raise error from None
    if separated:
        repairs = [*repairs, jsonio.Repair("raw-line-separator", "a raw U+2028 or U+2029 inside the line")]
    return [record], repairs


def _split_at_separators(data: bytes) -> list[Any]:
    for mark in jsonio.LINE_SEPARATORS:
        data = data.replace(mark, b"\n")
    try:
        return [jsonio.decode(piece)[0] for piece in data.split(b"\n") if piece.strip()]
    except BadRecord:
        return []


def apply_mutation(record: Any, log: Replayed) -> None:
    """Apply one change to the state, as VS Code does; raise BadRecord when it cannot be."""
    kind = record.get("kind") if isinstance(record, dict) else None
    if kind == INITIAL and kind is not False:
        value = record.get("v")
        if not isinstance(value, dict):
            raise BadRecord("an initial state that is no object")
        log.state = value
        log.is_headless = log.is_damaged = False
        return
    if kind not in (SET, PUSH, DELETE) or isinstance(kind, bool):
        what = f"kind {kind!r}" if isinstance(record, dict) else type(record).__name__
        raise BadRecord(f"{what} is no change that VS Code knows", "unknown-mutation")
    path = record.get("k")
    if not isinstance(path, list) or not all(isinstance(key, str | int) and not isinstance(key, bool) for key in path):
        raise BadRecord("a change without a usable path")
    if log.state is None:
        log.state = {"version": 3, "requests": []}
        log.is_headless = True
    if not path:
        if kind == PUSH:
            raise BadRecord("a push to no array")
        return
    parent = _walk(log.state, path, log.is_headless)
    if kind == PUSH:
        _push(parent, path[-1], record)
    else:
        _assign(parent, path[-1], record.get("v", _ABSENT) if kind == SET else _ABSENT)


def _walk(state: Any, path: list[Any], creates: bool) -> Any:
    """The container that holds the last key of a path."""
    node = state
    for index, key in enumerate(path[:-1]):
        below = _get(node, key)
        if below is None and creates:
            below = [] if isinstance(path[index + 1], int) else {}
            _assign(node, key, below)
        if not isinstance(below, dict | list):
            raise BadRecord(f"nothing to change at /{'/'.join(map(str, path[: index + 1]))}", "orphan-mutation")
        node = below
    return node


def _push(parent: Any, key: Any, record: dict[str, Any]) -> None:
    array = _get(parent, key)
    if array is None:
        array = []
    if not isinstance(array, list):
        raise BadRecord("a push to something that is no array", "orphan-mutation")
    items = record.get("v")
    if items is not None and not isinstance(items, list):
        raise BadRecord("a push of something that is no array")
    cut = record.get("i")
    if cut is not None:
        if not isinstance(cut, int) or isinstance(cut, bool) or cut < 0:
            raise BadRecord("a push with an unusable index")
        del array[cut:]
    if items:
        array += items
    _assign(parent, key, array)


def _get(node: Any, key: Any) -> Any:
    if isinstance(node, dict):
        return node.get(str(key))
    index = _index(key)
    return node[index] if index is not None and index < len(node) else None


def _assign(node: Any, key: Any, value: Any) -> None:
    """Set a property or an array slot, as JavaScript does. Absent removes a property and empties a slot."""
    if isinstance(node, dict):
        if value is _ABSENT:
            node.pop(str(key), None)
        else:
            node[str(key)] = value
        return
    index = _index(key)
    if index is None:
        raise BadRecord("an array has no such slot", "orphan-mutation")
    if index > len(node) + MOST_HOLES:
        raise BadRecord("an array index far behind the array's end", "orphan-mutation")
    if index >= len(node):
        node += [None] * (index + 1 - len(node))
    node[index] = None if value is _ABSENT else value


MOST_HOLES = 100_000  # more is no history but an attack on memory


def _index(key: Any) -> int | None:
    if isinstance(key, str):
        return int(key) if key.isdecimal() else None
    return key if key >= 0 else None
