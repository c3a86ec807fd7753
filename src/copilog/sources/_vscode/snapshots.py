"""Snapshots: which files of an editing session there are at some moment, and the hash of each one's text."""

from __future__ import annotations

from typing import Any, NamedTuple

from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.sources._vscode.uris import uri_to_string

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
    """A snapshot from an object with `entries`, or from a bare list of them."""
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
    """The hash of each file's text when the assistant first touched it."""
    hashes: dict[str, str] = {}
    for index, pair in enumerate(list_or_note(value, "/initialFileContents", ledger)):
        uri = uri_to_string(pair[0]) if isinstance(pair, list) and len(pair) == 2 else None
        if uri is None or not isinstance(pair[1], str):
            ledger.note("bad-part", "an initial text without file or hash", pointer=f"/initialFileContents/{index}")
        else:
            hashes[uri] = pair[1]
    return hashes


def list_or_note(value: object, pointer: str, ledger: Ledger) -> list[Any]:
    """A list, which may be absent; anything else is worth a note."""
    if isinstance(value, list):
        return value
    if value is not None:
        ledger.note("bad-part", "not a list", pointer=pointer)
    return []


def text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None
