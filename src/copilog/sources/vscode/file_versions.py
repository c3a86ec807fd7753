"""Build the versions of a file in an editing session: snapshots, and the change from one version to the next."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.model import FileChange
from copilog.uris import uri_to_path, uri_to_string

if TYPE_CHECKING:
    from copilog.textdiff import Diff

# Snapshots: the files of an editing session at one time, and the hash of each file's text.


Json = dict[str, Any]


class Entry(NamedTuple):
    """One file of a snapshot. `original` is the hash of its text before the edits that are not yet accepted."""

    uri: str
    original: str | None
    current: str | None
    is_deleted: bool
    language: str | None
    request_id: str | None  # the request that touched the file last
    raw: Json


Snapshot = dict[str, Entry]


def snapshot_from(value: object, pointer: str, ledger: Ledger) -> Snapshot:
    """Return a snapshot from an object with `entries`, or from a bare list of them."""
    entries = value.get("entries") if isinstance(value, dict) else value
    if not isinstance(entries, list):
        raise BadRecord("a snapshot without a list of entries")
    below = f"{pointer}/entries" if isinstance(value, dict) else pointer
    snapshot: Snapshot = {}
    for index, raw in enumerate(entries):
        entry = _entry_from(raw)
        if entry is None:
            ledger.note("bad-part", "an entry of a snapshot that names no file", pointer=f"{below}/{index}")
        else:
            snapshot[entry.uri] = entry
    return snapshot


def _entry_from(raw: object) -> Entry | None:
    if not isinstance(raw, dict):
        return None
    uri = uri_to_string(raw.get("resource"))
    if uri is None:
        return None
    telemetry = raw.get("telemetryInfo")
    return Entry(
        uri=uri,
        original=text_or_none(raw.get("originalHash")),
        current=text_or_none(raw.get("currentHash")),
        is_deleted=raw.get("isDeleted") is True,
        language=text_or_none(raw.get("languageId")),
        request_id=text_or_none(telemetry.get("requestId")) if isinstance(telemetry, dict) else None,
        raw=raw,
    )


def initial_hashes(value: object, ledger: Ledger) -> dict[str, str]:
    """Return the hash of each file's text when the assistant first touched it."""
    hashes: dict[str, str] = {}
    for index, pair in enumerate(list_or_note(value, "/initialFileContents", ledger)):
        uri = uri_to_string(pair[0]) if isinstance(pair, list) and len(pair) == 2 else None
        if uri is None or not isinstance(pair[1], str):
            ledger.note("bad-part", "an initial text without file or hash", pointer=f"/initialFileContents/{index}")
        else:
            hashes[uri] = pair[1]
    return hashes


def list_or_note(value: object, pointer: str, ledger: Ledger) -> list[Any]:
    """Return a list, which may be absent; report any other value in a note."""
    if isinstance(value, list):
        return value
    if value is not None:
        ledger.note("bad-part", "not a list", pointer=pointer)
    return []


def text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


# The versions of a file in an editing session, and the change from one to another.


FIRST_STEP = "start"  # the step of a request before its first undo stop, which has no id


class Absence(Enum):
    """The reason why a file has no text."""

    NOT_THERE = "the file did not exist"
    UNKNOWN = "the text was not recorded, or is lost"


Version = str | Absence
Action = Literal["edit", "create", "delete", "rename"]


class ChangeMaker:
    """Makes file changes. Compares the same two texts only once, such as those of a request and of its only step."""

    def __init__(self) -> None:
        # Keyed by the identity of the objects, because hashing a long text reads all of it. The change keeps them
        # alive.
        self._diffs: dict[tuple[int, int, str, str | None], tuple[Diff, FileChange]] = {}

    def change(
        self, uri: str, before: Version, after: Version, *, old_uri: str | None = None, **facts: Any
    ) -> FileChange:
        """Return the change of a file; without a diff if one of the two texts is not available."""
        if old_uri == uri:
            old_uri = None
        change = FileChange(
            uri=uri,
            path=uri_to_path(uri),
            old_uri=old_uri,
            action=_action(before, after, is_renamed=old_uri is not None),
            before=before if isinstance(before, str) else None,
            after=after if isinstance(after, str) else None,
            **facts,
        )
        if Absence.UNKNOWN not in (before, after):
            change.diff, change.added, change.removed = self._diff(change)
        return change

    def _diff(self, change: FileChange) -> Diff:
        key = id(change.before), id(change.after), change.uri, change.old_uri
        known = self._diffs.get(key)
        if known is not None:
            return known[0]
        from copilog.textdiff import diff_of

        diff = diff_of(
            _readable(change.before),
            _readable(change.after),
            change.path or change.uri,
            uri_to_path(change.old_uri) if change.old_uri else None,
        )
        self._diffs[key] = diff, change
        return diff


def _action(before: Version, after: Version, *, is_renamed: bool) -> Action:
    if after is Absence.NOT_THERE:
        return "delete"
    if before is Absence.NOT_THERE:
        return "create"
    return "rename" if is_renamed else "edit"


def _readable(text: str | None) -> str | None:
    """Return the text to compare: the cells of a notebook, because its stored form is one very long line."""
    if text is None:
        return None
    from copilog.sources.vscode.notebooks import cells_as_text

    cells = cells_as_text(text)
    return text if cells is None else cells
