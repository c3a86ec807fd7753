"""Count the leaves of one file: those that are stored, ids and times, those with a reason, and the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from copilog.diagnostics import Diagnostic, LeafCounts, Ledger
from copilog.errors import BadFile
from copilog.ingest.leaves.lookup import Lookup, decoded_json
from copilog.ingest.leaves.rules import is_id_or_time, is_protected, reason_for
from copilog.ingest.leaves.walk import ENTRY, JOINED, Raw, leaves_below, name_in_path, records_of
from copilog.text_cache import LONGEST_TEXT


def leaves_of(path: Path, source: str, stored: Sequence[object], ledger: Ledger | None = None) -> LeafCounts:
    """Walk the leaves of a file, and search for each in the stored conversations of the file."""
    lookup = Lookup(stored)
    walk = _Walk(source, lookup)
    bad = [*ledger.bad, *ledger.parts.bad] if ledger is not None else []
    with suppress(BadFile):  # the ledger reports it
        for raw in records_of(path, source, lookup.shared):
            for kept in _without_bad(raw, bad, walk):
                for leaf_path, text in leaves_below(kept.value, kept.path):
                    walk.add(leaf_path, text)
    return walk.counts()


class _Walk:
    """Counts leaves one by one."""

    def __init__(self, source: str, lookup: Lookup) -> None:
        self._source = source
        self._lookup = lookup
        self._known: dict[str, bool] = {}
        self._found = self._ids = 0
        self._reasons: Counter[str] = Counter()
        self._unaccounted: Counter[str] = Counter()

    def add(self, path: str, text: str) -> None:
        if is_id_or_time(path, text) and not is_protected(self._source, path):
            self._ids += 1
            return
        is_known = self._lookup.has_unchanged(text) or self._known.get(text)
        if is_known is None:
            is_known = self._lookup.has(text) or (path in JOINED and self._lookup.has_joined(text))
            if len(text) <= LONGEST_TEXT:
                self._known[text] = is_known
        if is_known:
            self._found += 1
        elif (reason := reason_for(self._source, path)) is not None:
            self._reasons[reason] += 1
        elif (value := decoded_json(text)) is not None:
            for inner_path, inner in leaves_below(value, f"{path}/#"):
                self.add(inner_path, inner)
        else:
            self._unaccounted[path] += 1

    def add_bad(self, value: Any, path: str) -> None:
        """Count the leaves of a record that the ledger reports as bad. Texts of users and models count as usual."""
        for leaf_path, text in leaves_below(value, path):
            if is_protected(self._source, leaf_path):
                self.add(leaf_path, text)
            else:
                self._reasons["bad-record"] += 1

    def counts(self) -> LeafCounts:
        return LeafCounts(self._found, self._ids, dict(self._reasons), dict(self._unaccounted))


def _without_bad(raw: Raw, bad: list[Diagnostic], walk: _Walk) -> Iterator[Raw]:
    """Yield the record without the values that the ledger reports as bad."""
    value = raw.value
    for diagnostic in bad:
        is_line = diagnostic.line is not None and str(diagnostic.line) == raw.place
        if is_line or raw.place == f"{ENTRY}{diagnostic.pointer or ''}":
            walk.add_bad(value, raw.path)
            return
        pointer = diagnostic.pointer or ""
        if pointer and pointer == raw.place:
            walk.add_bad(value, raw.path)
            return
        if pointer.startswith(f"{raw.place}/"):
            names = pointer.removeprefix(raw.place).split("/")[1:]
            walk.add_bad(_taken(value, names), "/" + "/".join(map(name_in_path, pointer.split("/")[1:])))
    yield raw


def _taken(value: Any, names: list[str]) -> Any:
    """Remove the value at a pointer from a document and return it."""
    for name in names[:-1]:
        value = _below(value, name)
    taken = _below(value, names[-1])
    if taken is not None:
        value[int(names[-1]) if isinstance(value, list) else names[-1]] = None
    return taken


def _below(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, list) and name.isdigit() and int(name) < len(value):
        return value[int(name)]
    return None
