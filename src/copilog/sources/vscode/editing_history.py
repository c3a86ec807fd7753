"""Read the older record of an editing session: a linear history of snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.model import FileChange
from copilog.sources.vscode.file_versions import (
    FIRST_STEP,
    Absence,
    ChangeMaker,
    Entry,
    Snapshot,
    Version,
    list_or_note,
    snapshot_from,
    text_or_none,
)

CLOSING_STOP = "d19944f6-f46c-4e17-911b-79a8e843c7c0"  # VS Code's fixed id of the state after a request

Content = Callable[[str], str | None]
Token = str | Absence  # a hash represents the text that it names


@dataclass(slots=True)
class Step:
    """The edits after one stop; `snapshot` is the state before them."""

    stop_id: str | None
    snapshot: Snapshot
    is_undone: bool = False


@dataclass(slots=True)
class Item:
    """The steps of one request, and the state after it where that was recorded."""

    request_id: str | None
    steps: list[Step] = field(default_factory=list)
    end: Snapshot | None = None
    stops: int = 0  # how many of the stops counted by `linearHistoryIndex` belong to it


def read_history(value: object, index: object, ledger: Ledger) -> tuple[list[Item], bool]:
    """Return the items of a history, and whether its last ones are undone.

    Each snapshot is one record of the ledger.
    """
    items = [
        _read_item(raw, f"/linearHistory/{position}", ledger)
        for position, raw in enumerate(list_or_note(value, "/linearHistory", ledger))
    ]
    total = sum(item.stops for item in items)
    if not isinstance(index, int) or index >= total:
        return items, False
    first = 0
    for item in items:
        _mark_undone(item, index - first)
        first += item.stops
    return items, True


def _read_item(raw: object, pointer: str, ledger: Ledger) -> Item:
    if not isinstance(raw, dict) or "stops" not in raw:
        return _read_first_version(raw, pointer, ledger)
    item = Item(text_or_none(raw.get("requestId")))
    for index, stop in enumerate(list_or_note(raw["stops"], f"{pointer}/stops", ledger)):
        snapshot: Snapshot = {}  # a bad stop still counts as one
        with ledger.record(pointer=f"{pointer}/stops/{index}"):
            snapshot = snapshot_from(stop, f"{pointer}/stops/{index}", ledger)
        stop_id = text_or_none(stop.get("stopId")) if isinstance(stop, dict) else None
        item.steps.append(Step(stop_id, snapshot))
    item.stops = len(item.steps)
    if item.steps and item.steps[-1].stop_id == CLOSING_STOP:
        item.end = item.steps.pop().snapshot
    if raw.get("postEdit") is not None:
        with ledger.record(pointer=f"{pointer}/postEdit"):
            item.end = {**(item.end or {}), **snapshot_from(raw["postEdit"], f"{pointer}/postEdit", ledger)}
    item.steps = item.steps or [Step(None, {})]
    return item


def _read_first_version(raw: object, pointer: str, ledger: Ledger) -> Item:
    """Read a request of version 1, which has one snapshot, without an id."""
    item = Item(None, [Step(None, {})], stops=1)
    with ledger.record(pointer=pointer):
        if not isinstance(raw, dict) or "entries" not in raw:
            raise BadRecord("a request of the history with neither stops nor entries")
        item.request_id = text_or_none(raw.get("requestId"))
        item.steps[0].snapshot = snapshot_from(raw, pointer, ledger)
    return item


def _mark_undone(item: Item, index: int) -> None:
    """Mark the steps that are undone if VS Code is at stop number `index`, counted from this item's first."""
    if index >= item.stops > 0:
        return
    if index > 0 and item.stops > len(item.steps):
        index -= 1  # where the closing stop is counted too, being at that stop means that nothing is undone
    for step in item.steps[max(index, 0) :]:
        step.is_undone = True


class HistoryReader:
    """Turns a history into file changes."""

    def __init__(self, initial: dict[str, str], content: Content, maker: ChangeMaker) -> None:
        self._initial = initial
        self._content = content
        self._maker = maker
        self._known: dict[str, Token] = {}  # the last state of each file
        self._edits: dict[tuple[str, Token], list[Any]] = {}  # of each state of a file, until a change takes them

    def changes(self, items: list[Item], last: Snapshot) -> Iterator[FileChange]:
        """Yield the changes of all requests; `last` is the state after the last one, unless that recorded its own."""
        for item, following in zip(items, [*items[1:], None], strict=False):
            after = following.steps[0].snapshot if following else last
            yield from self._changes_of(item, _edited_by(item, after) if item.end is None else item.end)
        for (uri, token), edits in self._edits.items():  # of states that no request of the history produced
            if isinstance(token, str) and self._content(token) is None:
                yield self._maker.change(uri, Absence.UNKNOWN, Absence.UNKNOWN, unapplied=edits)

    def _changes_of(self, item: Item, end: Snapshot) -> Iterator[FileChange]:
        snapshots = [*(step.snapshot for step in item.steps), end]
        uris = list(dict.fromkeys(uri for snapshot in snapshots for uri in snapshot))
        tokens = {uri: self._tokens(uri, snapshots) for uri in uris}
        for entry in (entry for snapshot in snapshots for entry in snapshot.values()):
            if edits := entry.raw.get("originalToCurrentEdit"):
                self._edits[entry.uri, _token(entry)] = edits if isinstance(edits, list) else [edits]
        self._known.update((uri, states[-1]) for uri, states in tokens.items())
        languages = {uri: entry.language for snapshot in snapshots for uri, entry in snapshot.items()}

        def changes(start: int, stop: int, **facts: Any) -> Iterator[FileChange]:
            for uri in uris:
                before, after = tokens[uri][start], tokens[uri][stop]
                if before != after:
                    yield self._change(uri, before, after, request_id=item.request_id, language=languages[uri], **facts)

        numbered = enumerate(item.steps)
        for is_undone, steps in groupby(numbered, key=lambda pair: pair[1].is_undone):
            positions = [position for position, _ in steps]
            yield from changes(positions[0], positions[-1] + 1, is_undone=is_undone)
        if len(item.steps) > 1:
            for position, step in enumerate(item.steps):
                checkpoint = step.stop_id or FIRST_STEP
                yield from changes(position, position + 1, checkpoint=checkpoint, is_undone=step.is_undone)

    def _tokens(self, uri: str, snapshots: list[Snapshot]) -> list[Token]:
        """Return the state of a file before each step and after the last one."""
        first = next(position for position, snapshot in enumerate(snapshots) if uri in snapshot)
        entry = snapshots[first][uri]
        state = _token(entry)
        # A file that is first touched in the middle of a request starts as it was before the edit, unless it already
        # has edits to decide on.
        if first and (first == len(snapshots) - 1 or entry.original != entry.current):
            state = self._known.get(uri) or self._initial.get(uri) or entry.original or Absence.UNKNOWN
        tokens: list[Token] = []
        for snapshot in snapshots:
            if uri in snapshot:
                state = _token(snapshot[uri])
            tokens.append(state)
        return tokens

    def _change(self, uri: str, before: Token, after: Token, **facts: Any) -> FileChange:
        texts: list[Version] = []
        lost: dict[str, str] = {}
        for name, token in (("beforeHash", before), ("afterHash", after)):
            text = self._content(token) if isinstance(token, str) else None
            if isinstance(token, str) and text is None:
                lost[name] = token
                texts.append(Absence.UNKNOWN)
            else:
                texts.append(token if text is None else text)
        unapplied = [edit for token in (before, after) for edit in self._edits.pop((uri, token), [])] if lost else []
        return self._maker.change(uri, texts[0], texts[1], unapplied=unapplied, extra=lost or None, **facts)


def _edited_by(item: Item, after: Snapshot) -> Snapshot:
    """Return a later snapshot without the files that another request, or the user, edited last."""
    if item.request_id is None:
        return after
    return {uri: entry for uri, entry in after.items() if entry.request_id in (None, item.request_id)}


def _token(entry: Entry) -> Token:
    if entry.is_deleted:
        return Absence.NOT_THERE
    return entry.current or Absence.UNKNOWN
