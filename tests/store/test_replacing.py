"""A conversation that replaces its stored state: all rows are as if it were stored for the first time."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from copilog.ingest import discover, read
from copilog.sample import home
from copilog.store.archive import Archive
from copilog.store.entries import Entry, entry_of
from copilog.store.rows import RelationRow, columns_of
from copilog.store.schema import DETAIL_TABLES

DETAILS = (
    "turns", "tool_calls", "file_edits", "usages", "skills", "traces", "spends", "shares", "relations", "commands",
    "touches",
)  # fmt: skip


@cache
def rich_entry() -> Entry:
    """Return the sample conversation with the most kinds of rows, with rows of the others where it has none."""
    entries = [entry_of(conversation) for found in discover([home()]) for conversation in read(found)]
    richest = max(entries, key=lambda entry: sum(bool(getattr(entry, name)) for name in DETAILS))
    made_up = [
        RelationRow(0, "fork", "cli:one", None),
        RelationRow(1, "possible-duplicate", "cli:two", "the same words"),
    ]
    others = {name: max((getattr(entry, name) for entry in entries), key=len) for name in DETAILS}
    others["relations"] = made_up
    return replace(richest, **{name: getattr(richest, name) or others[name] for name in DETAILS})


# Of each kind of rows: how many are left, as a part of all, and what stands at the end of which of them instead.
States = st.fixed_dictionaries(
    {
        name: st.tuples(st.floats(0, 1), st.none() | st.tuples(st.floats(0, 1), st.sampled_from(["7", "otherwise"])))
        for name in DETAILS
    }
)


def entry_in(state: dict[str, Any], number: int) -> Entry:
    changed: dict[str, Any] = {"digest": number.to_bytes(16, "big")}
    for name, (part, otherwise) in state.items():
        rows = getattr(rich_entry(), name)
        rows = rows[: round(part * len(rows))]
        if rows and otherwise is not None:
            at = round(otherwise[0] * (len(rows) - 1))
            rows[at] = replace(rows[at], **{columns_of(type(rows[at]))[-1]: otherwise[1]})
        changed[name] = rows
    return replace(rich_entry(), **changed)


def rows_after(folder: Path, entries: list[Entry]) -> dict[str, list[tuple[Any, ...]]]:
    with Archive(folder / f"{len(entries)}.db", write=True) as archive:
        for entry in entries:
            archive.put(entry, "")
        return {table: archive.connection.execute(f"SELECT * FROM {table}").fetchall() for table in DETAIL_TABLES}


def test_the_entry_has_rows_of_every_kind() -> None:
    assert all(getattr(rich_entry(), name) for name in DETAILS)


@settings(max_examples=60, deadline=None)
@given(st.lists(States, min_size=2, max_size=4))
def test_rows_are_as_if_they_were_written_for_the_first_time(states: list[dict[str, Any]]) -> None:
    entries = [entry_in(state, number) for number, state in enumerate(states)]
    with TemporaryDirectory() as folder:
        assert rows_after(Path(folder), entries) == rows_after(Path(folder), entries[-1:])
