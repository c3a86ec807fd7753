"""Replay the newer record of an editing session: a timeline of operations on files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.jsonio import encode
from copilog.model import FileChange, TextEdit
from copilog.sources.vscode.file_versions import FIRST_STEP, Absence, ChangeMaker, Version, list_or_note, text_or_none
from copilog.sources.vscode.notebooks import Notebook, check_cell_edit, notebook_from, notebook_uri
from copilog.sources.vscode.parts import text_edit_from
from copilog.textdiff import EditableText
from copilog.uris import uri_to_string

# The operations of an editing session's timeline, decoded and checked; and a file while they are replayed on it.


Json = dict[str, Any]

KNOWN_TYPES = frozenset({"create", "delete", "rename", "textEdit", "notebookEdit"})


@dataclass(slots=True)
class Operation:
    """One operation on one file. `uri` is the name before it; cells count as their notebook."""

    type: str
    uri: str
    epoch: int
    request_id: str | None
    raw: Json
    text: str | None = None  # of the file that was created or deleted
    new_uri: str | None = None
    edits: list[TextEdit] = field(default_factory=list)
    cell_index: int | None = None
    cell_edits: list[Json] = field(default_factory=list)


def operation_from(raw: object) -> Operation | None:
    """Return an operation, or None for one of an unknown type.

    Raise BadRecord if a field that its type needs is missing.
    """
    if not isinstance(raw, dict) or not isinstance(kind := raw.get("type"), str):
        raise BadRecord("an operation without a type")
    if kind not in KNOWN_TYPES:
        return None
    operation = Operation(
        type=kind,
        uri=_file(raw, "oldUri" if kind == "rename" else "uri"),
        epoch=whole_number(raw, "epoch"),
        request_id=_optional_text(raw, "requestId"),
        raw=raw,
    )
    if kind == "create":
        operation.text = _optional_text(raw, "initialContent")
        if operation.text is None:
            raise BadRecord("a created file without its text")
    elif kind == "delete":
        operation.text = _optional_text(raw, "finalContent")
    elif kind == "rename":
        operation.new_uri = _file(raw, "newUri")
    elif kind == "textEdit":
        operation.edits = [_edit(edit) for edit in _list(raw, "edits")]
        if raw.get("cellIndex") is not None:
            operation.cell_index = whole_number(raw, "cellIndex")
    else:
        operation.cell_edits = [check_cell_edit(edit) for edit in _list(raw, "cellEdits")]
    return operation


def whole_number(raw: Json, key: str) -> int:
    """Return an integer of an object; raise BadRecord if it is not one."""
    value = raw.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRecord(f"{key} is not an integer")
    return value


def _optional_text(raw: Json, key: str) -> str | None:
    value = raw.get(key)
    if value is not None and not isinstance(value, str):
        raise BadRecord(f"{key} is not a text")
    return value


def _list(raw: Json, key: str) -> list[Any]:
    value = raw.get(key)
    if not isinstance(value, list):
        raise BadRecord(f"{key} is not a list")
    return value


def _file(raw: Json, key: str) -> str:
    uri = uri_to_string(raw.get(key))
    if uri is None:
        raise BadRecord(f"{key} names no file")
    return notebook_uri(uri) or uri


def _edit(raw: object) -> TextEdit:
    edit = text_edit_from(raw)
    if edit is None:
        raise BadRecord("a text edit without range or text")
    return edit


class Document:
    """A file during a replay."""

    def __init__(self, version: Version) -> None:
        self._version: Version | None = version  # None while `_body` is newer
        self._body: EditableText | Notebook | None = None

    def version(self) -> Version:
        """Return the file in its present state."""
        if self._version is None:
            assert self._body is not None
            self._version = self._body.text()
        return self._version

    @property
    def is_unknown(self) -> bool:
        return self._version is Absence.UNKNOWN

    def replace(self, version: Version) -> None:
        self._version, self._body = version, None

    def edit(self, edits: Sequence[TextEdit]) -> None:
        """Edit the text; a text that is not available, or does not exist, stays that way."""
        if not isinstance(self._body, EditableText):
            text = self.version()
            if not isinstance(text, str):
                self.replace(Absence.UNKNOWN)
                return
            self._body = EditableText(text)
        self._body.apply(edits)
        self._version = None

    def edit_cell(self, index: int, edits: Sequence[TextEdit]) -> None:
        notebook = self._notebook()
        if notebook is None or not notebook.edit_cell(index, edits):
            self.replace(Absence.UNKNOWN)
        else:
            self._version = None

    def edit_cells(self, cell_edits: Sequence[Json]) -> bool:
        """Edit the list of cells; return False if some of the edits could not be replayed."""
        notebook = self._notebook()
        if notebook is None:
            self.replace(Absence.UNKNOWN)
            return False
        self._version = None
        replayed = [notebook.edit_cells(edit) for edit in cell_edits]
        return all(replayed)

    def _notebook(self) -> Notebook | None:
        if not isinstance(self._body, Notebook):
            text = self.version()
            self._body = notebook_from(text) if isinstance(text, str) else None
        return self._body


# The newer record of an editing session: operations on files, replayed once from the first to the last. Checkpoints and
# operations share one sequence of epochs. A file starts each request from its recorded baseline, because users edit
# files between requests, and no operation records that. Format notes: docs/formats/vscode-editing.md


FileOfRequest = tuple[str, str | None]


class Checkpoint(NamedTuple):
    epoch: int
    stop_id: str | None


class Scope(NamedTuple):
    """The unit that a change is counted for: a request or one of its steps, and whether it is undone."""

    request_id: str | None
    checkpoint: str | None
    is_undone: bool


@dataclass(slots=True)
class Timeline:
    """A decoded timeline."""

    operations: list[Operation] = field(default_factory=list)  # by epoch
    unknown: list[Json] = field(default_factory=list)  # operations of unrecognized types
    baselines: dict[FileOfRequest, str] = field(default_factory=dict)
    checkpoints: dict[str | None, list[Checkpoint]] = field(default_factory=dict)  # of each request, by epoch
    current_epoch: int | None = None

    def undone_requests(self) -> list[str]:
        """Return the requests that were undone completely: the user went back to the checkpoint before them."""
        if self.current_epoch is None:
            return []
        begun = {name: checkpoints[0].epoch for name, checkpoints in self.checkpoints.items() if name is not None}
        return [name for name, epoch in begun.items() if epoch >= self.current_epoch]

    def scopes_of(self, operation: Operation) -> list[Scope]:
        is_undone = self.current_epoch is not None and operation.epoch >= self.current_epoch
        scopes = [Scope(operation.request_id, None, is_undone)]
        checkpoints = self.checkpoints.get(operation.request_id, [])
        if len(checkpoints) > 1:
            position = bisect_right(checkpoints, operation.epoch, key=lambda checkpoint: checkpoint.epoch)
            stop_id = checkpoints[position - 1].stop_id if position else None
            scopes.append(Scope(operation.request_id, stop_id or FIRST_STEP, is_undone))
        return scopes


def read_timeline(raw: Json, ledger: Ledger) -> Timeline:
    """Decode a timeline. Each operation is one record of the ledger."""
    timeline = Timeline()
    current = raw.get("currentEpoch")
    if isinstance(current, int):
        timeline.current_epoch = current
    else:
        ledger.note("bad-part", "no current epoch: no operation is treated as undone", pointer="/timeline/currentEpoch")
    _read_checkpoints(raw, timeline, ledger)
    _read_baselines(raw, timeline, ledger)
    for index, item in enumerate(list_or_note(raw.get("operations"), "/timeline/operations", ledger)):
        with ledger.record(pointer=f"/timeline/operations/{index}"):
            operation = operation_from(item)
            if operation is not None:
                timeline.operations.append(operation)
            else:
                ledger.count_unknown(f"operation:{item['type']}")
                timeline.unknown.append(item)
    timeline.operations.sort(key=lambda operation: operation.epoch)
    return timeline


def _read_checkpoints(raw: Json, timeline: Timeline, ledger: Ledger) -> None:
    for index, item in enumerate(list_or_note(raw.get("checkpoints"), "/timeline/checkpoints", ledger)):
        try:
            if not isinstance(item, dict):
                raise BadRecord("a checkpoint that is not an object")
            checkpoint = Checkpoint(whole_number(item, "epoch"), text_or_none(item.get("undoStopId")))
        except BadRecord as error:
            ledger.note("bad-part", str(error), pointer=f"/timeline/checkpoints/{index}")
            continue
        timeline.checkpoints.setdefault(text_or_none(item.get("requestId")), []).append(checkpoint)
    for checkpoints in timeline.checkpoints.values():
        checkpoints.sort(key=lambda checkpoint: checkpoint.epoch)


def _read_baselines(raw: Json, timeline: Timeline, ledger: Ledger) -> None:
    for index, pair in enumerate(list_or_note(raw.get("fileBaselines"), "/timeline/fileBaselines", ledger)):
        baseline = pair[1] if isinstance(pair, list) and len(pair) == 2 else None
        uri = uri_to_string(baseline.get("uri")) if isinstance(baseline, dict) else None
        if uri is None or baseline is None or not isinstance(baseline.get("content"), str):
            ledger.note("bad-part", "a baseline without file or text", pointer=f"/timeline/fileBaselines/{index}")
            continue
        timeline.baselines[uri, text_or_none(baseline.get("requestId"))] = baseline["content"]


@dataclass(slots=True)
class Touch:
    """The changes of one file within one scope."""

    uri: str
    before: Version
    old_uri: str | None = None
    after: Version = Absence.UNKNOWN
    not_replayed: list[Json] = field(default_factory=list)
    of_cells: list[Json] = field(default_factory=list)  # operations on cells that were replayed


def _overwritten(touch: Touch) -> list[Json]:
    """Return the operations on cells that a later one of the same change overwrote."""
    after = touch.after if isinstance(touch.after, str) else ""
    return [raw for raw in touch.of_cells if any(encode(source)[1:-1] not in after for source in _sources_in(raw))]


def _sources_in(operation: Json) -> Iterator[str]:
    for edit in operation["cellEdits"]:
        for cell in edit.get("cells") or []:
            if isinstance(cell, dict) and isinstance(cell.get("source"), str):
                yield cell["source"]


class Playing(NamedTuple):
    """A file and the touches that an operation on it adds to, for all operations in these scopes."""

    scopes: list[Scope]
    document: Document
    touches: list[Touch]


class Replay:
    """One pass over the operations of a timeline, which records each file where a request or a step begins and ends."""

    def __init__(self, timeline: Timeline, initial_text: Callable[[str], str | None]) -> None:
        self._timeline = timeline
        self._initial_text = initial_text
        self._documents: dict[str, Document] = {}
        self._met: set[FileOfRequest] = set()
        self._touches: dict[Scope, list[Touch]] = {}
        self._open: dict[str, dict[Scope, Touch]] = {}  # of each file, what its next operation may add to
        self._last: dict[str, Playing] = {}  # of each file, the result of its last operation

    def changes(self, maker: ChangeMaker) -> Iterator[FileChange]:
        for operation in self._timeline.operations:
            self._play(operation)
        for uri in self._open:
            self._close(uri, keep=())
        for scope, touches in self._touches.items():
            for touch in touches:
                yield maker.change(
                    touch.uri,
                    touch.before,
                    touch.after,
                    old_uri=touch.old_uri,
                    request_id=scope.request_id,
                    checkpoint=scope.checkpoint,
                    is_undone=scope.is_undone,
                    unapplied=[*touch.not_replayed, *_overwritten(touch)],
                )

    def _play(self, operation: Operation) -> None:
        scopes = self._timeline.scopes_of(operation)
        playing = self._last.get(operation.uri)
        if playing is None or playing.scopes != scopes:  # usually the scopes are those of the last operation
            self._close(operation.uri, keep=scopes)
            document = self._document_for(operation)
            touches = [self._touch(scope, operation.uri, document) for scope in scopes]
            playing = self._last[operation.uri] = Playing(scopes, document, touches)
        is_applied = self._apply(operation, playing.document)
        if not is_applied or operation.cell_edits:
            for touch in playing.touches:
                (touch.of_cells if is_applied else touch.not_replayed).append(operation.raw)

    def _apply(self, operation: Operation, document: Document) -> bool:
        """Apply an operation to a file; return False if its effect cannot be shown."""
        if operation.type == "textEdit":
            if operation.cell_index is None:
                document.edit(operation.edits)
            else:
                document.edit_cell(operation.cell_index, operation.edits)
        elif operation.type == "create":
            document.replace(operation.text or "")
        elif operation.type == "delete":
            document.replace(Absence.NOT_THERE)
        elif operation.type == "rename":
            self._rename(operation, document)
        else:
            return document.edit_cells(operation.cell_edits)
        return not document.is_unknown

    def _document_for(self, operation: Operation) -> Document:
        """Return the file as it is before an operation."""
        uri, key = operation.uri, (operation.uri, operation.request_id)
        if key not in self._met:
            self._met.add(key)
            baseline = self._timeline.baselines.get(key)
            if baseline is None and operation.type == "delete":
                baseline = operation.text
            if baseline is not None:
                self._documents[uri] = Document(baseline)
        if uri not in self._documents:
            self._documents[uri] = Document(self._first_version(operation))
        return self._documents[uri]

    def _first_version(self, operation: Operation) -> Version:
        if operation.type == "create":
            return Absence.NOT_THERE
        text = self._initial_text(operation.uri)
        return Absence.UNKNOWN if text is None else text

    def _touch(self, scope: Scope, uri: str, document: Document) -> Touch:
        open_touches = self._open.setdefault(uri, {})
        touch = open_touches.get(scope)
        if touch is None:
            known = self._touches.setdefault(scope, [])
            touch = next((touch for touch in known if touch.uri == uri), None)
            if touch is None:
                touch = Touch(uri, document.version())
                known.append(touch)
            open_touches[scope] = touch
        return touch

    def _close(self, uri: str, keep: tuple[()] | list[Scope]) -> None:
        """Record how a file ends for all scopes except those that continue."""
        open_touches = self._open.get(uri, {})
        for scope in [scope for scope in open_touches if scope not in keep]:
            open_touches.pop(scope).after = self._documents[uri].version()

    def _rename(self, operation: Operation, document: Document) -> None:
        old_uri, new_uri = operation.uri, operation.new_uri
        assert new_uri is not None
        if new_uri == old_uri:
            return
        self._last.clear()
        self._close(new_uri, keep=())
        self._documents[old_uri] = Document(Absence.NOT_THERE)
        self._documents[new_uri] = document
        self._open[new_uri] = self._open.pop(old_uri)
        for touch in self._open[new_uri].values():
            touch.uri, touch.old_uri = new_uri, touch.old_uri or old_uri
        self._met.add((new_uri, operation.request_id))
