"""Read the list of sessions that VS Code keeps in `state.vscdb`, and judge it by VS Code's own rules.

One entry of a wrong shape, or another version, and VS Code discards the whole list; the files of the sessions stay.
Format notes: docs/formats/vscode-chat.md, "The session index"
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

from copilog.diagnostics import Ledger
from copilog.errors import BadFile
from copilog.fields import Json
from copilog.sources.base import Found
from copilog.sources.folders import is_plain_file
from copilog.sources.vscode.state_database import INDEX, REQUIRED
from copilog.sources.vscode.state_rows import BACKUP, STORE, read_rows

PANEL = "panel"
FULL = 25  # entries in an index of releases before 1.109; more recent ones keep 400

IndexState = Literal["read", "no-store", "no-index", "discarded", "unreadable"]


class Index(NamedTuple):
    """The list of a storage folder: whether VS Code takes it, why not, and the entries in it."""

    path: Path
    state: IndexState
    why: str | None
    entries: dict[str, Any]

    def why_not_listed(self, session_id: str, changed_ms: float | None) -> tuple[str, str] | None:
        """Return the cause and the reason why VS Code does not list a session; None if it lists it."""
        if self.state == "discarded":
            return "index-discarded", f"VS Code discards the whole index: {self.why}"
        if self.state == "unreadable":
            return "index-unreadable", f"{STORE} {self.why}"
        if self.state != "read":
            return "not-in-index", self.why or ""
        entry = self.entries.get(session_id)
        if entry is None:
            return "not-in-index", self._why_missing(changed_ms)
        if entry.get("isEmpty") is True:
            return "hidden-entry", "its entry says that it is empty, and VS Code does not list those"
        if entry.get("initialLocation") != PANEL:
            return (
                "hidden-entry",
                f'its entry has no "initialLocation": "{PANEL}", without which VS Code does not list it',
            )
        return None

    def _why_missing(self, changed_ms: float | None) -> str:
        own = [entry["lastMessageDate"] for entry in self.entries.values() if not entry.get("isExternal")]
        if len(own) >= FULL and changed_ms is not None and changed_ms < min(own):
            return f"the index has no entry for it: it was trimmed, as all {len(own)} entries are newer"
        return "the index has no entry for it: it was never written, or was lost"


def read_index(folder: Path) -> Index:
    """Return the index in the store of a storage folder."""
    path = folder / STORE
    if not is_plain_file(path):
        return Index(path, "no-store", f"there is no {STORE}", {})
    entries, why, state = _entries_in(path)
    return Index(path, state, why, entries)


def entries_of_backup(folder: Path) -> dict[str, Any]:
    """Return the entries of the backup that VS Code makes of a store; none if there is none."""
    path = folder / BACKUP
    return _entries_in(path)[0] if is_plain_file(path) else {}


def _entries_in(path: Path) -> tuple[dict[str, Any], str | None, IndexState]:
    ledger = Ledger(path=str(path))
    try:
        found, rows = read_rows(Found(path, "vscode-state"), (INDEX,), ledger, counts=True)
    except BadFile as error:
        return {}, str(error), "unreadable"
    value = dict(rows).get(INDEX)
    if found.path != path:
        return _usable_entries(value), "cannot be read; VS Code goes back to its backup", "unreadable"
    if ledger.bad or any(note.reason.startswith(INDEX) for note in ledger.notes):
        problem = next(iter(ledger.diagnostics()))
        return {}, f"it is not JSON ({problem.reason.removeprefix(f'{INDEX}: ')})", "discarded"
    if INDEX not in dict(rows):
        return {}, f"{path.name} has no index of sessions", "no-index"
    why = why_discarded(value)
    return _usable_entries(value), why, "read" if why is None else "discarded"


def _usable_entries(value: Any) -> dict[str, Any]:
    entries = value.get("entries") if isinstance(value, dict) else None
    return {key: entry for key, entry in entries.items() if is_entry(entry)} if isinstance(entries, dict) else {}


def why_discarded(value: Any) -> str | None:
    """Return why VS Code discards an index; None if it takes it."""
    if not isinstance(value, dict):
        return "it is not an object"
    if value.get("version") != 1:
        return f"its version is {str(value.get('version'))[:40]}, not 1"
    entries = value.get("entries")
    if not isinstance(entries, dict):
        return "it has no entries"
    for key, entry in entries.items():
        if not is_entry(entry):
            return f"the entry {key[:80]} {_fault_of(entry)}"
    return None


def is_entry(entry: Any) -> bool:
    """Return whether an entry has the shape that VS Code demands of each."""
    return isinstance(entry, dict) and _fault_of(entry) is None


def _fault_of(entry: Any) -> str | None:
    if not isinstance(entry, dict):
        return "is not an object"
    types: dict[str, Any] = {"lastMessageDate": int | float}
    wrong = [name for name in REQUIRED if not _is(entry, name, types.get(name, str))]
    return f"has no usable {' and no usable '.join(wrong)}" if wrong else None


def _is(entry: Json, name: str, kind: Any) -> bool:
    value = entry.get(name)
    return isinstance(value, kind) and not isinstance(value, bool)
