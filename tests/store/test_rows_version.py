"""A rule that makes rows does not change without `ROWS_VERSION`: archives would keep what the old rule made.

`tests/data/rows` has conversations as the archive stores them, and a digest of the rows that each table has of them,
with the `ROWS_VERSION` that they were made by. The conversations are fixed, so that rows differ only where conclusions
or rows are made in another way, whatever became of the readers. `pytest --update-golden` takes the conversations of the
bundled sample anew, and refuses to where the version would have to be raised first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import astuple

from copilog.derive import conclude
from copilog.ingest import find_roots
from copilog.ingest.scanning import scan
from copilog.model import Conversation
from copilog.sample import home
from copilog.store.archive import Archive
from copilog.store.documents import stored_conversation
from copilog.store.entries import Entry, entry_of
from copilog.store.rows import Row
from copilog.store.schema import DETAIL_TABLES, ROWS_VERSION
from copilog.store.writing import details_of
from tests.branched import branched_conversation
from tests.made_up_documents import documented_conversation
from tests.measured import measured_conversations

FOLDER = Path(__file__).parents[1] / "data" / "rows"
CONVERSATIONS, DIGESTS = FOLDER / "conversations.jsonl", FOLDER / "digests.json"
SAMPLE_HOME = "/home/ana"  # stands for where the sample lies on the machine that took the conversations
HOW = "run `pytest --update-golden tests/store/test_rows_version.py`"
RAISE = (
    "rows of {tables} are made in another way, but ROWS_VERSION is still {version}, so that archives would keep the old"
    " ones: raise it in src/copilog/store/schema.py, then " + HOW
)


class Golden(msgspec.Struct):
    """What was made of the conversations when they were taken."""

    rows_version: int
    digests: dict[str, str]  # by table


def digests_of(conversations: Iterable[Conversation]) -> dict[str, str]:
    """Return a digest for each table, of its rows of all these conversations."""
    rows: dict[str, list[Row]] = {table: [] for table in ("conversation", "message", *DETAIL_TABLES)}
    for conversation in conversations:
        conclude(conversation)
        for table, made in rows_of(entry_of(conversation)):
            rows[table] += made
    return {table: hashlib.sha256(plain(made).encode()).hexdigest()[:16] for table, made in rows.items()}


def rows_of(entry: Entry) -> Iterable[tuple[str, Sequence[Row]]]:
    """Yield the rows of a conversation by table."""
    yield "conversation", [entry.row]
    yield "message", entry.messages
    yield from details_of(entry)


def plain(rows: list[Row]) -> str:
    """Return rows as text that is the same with every Python: later versions add floats more exactly.

    The digest of a document depends on how that is packed.
    """
    values = ([one for one in astuple(row) if not isinstance(one, bytes)] for row in rows)
    return json.dumps([[f"{one:.9g}" if isinstance(one, float) else one for one in row] for row in values])


def changed_tables(golden: Golden) -> list[str]:
    made = digests_of(stored_conversations())
    return [table for table in made.keys() | golden.digests.keys() if made.get(table) != golden.digests.get(table)]


def stored_conversations() -> list[Conversation]:
    return [msgspec.json.decode(line, type=Conversation) for line in CONVERSATIONS.read_bytes().splitlines()]


def take_conversations(archive_path: Path) -> bytes:
    """Write the conversations of the sample, and of the corpora of other tests, one per line."""
    with Archive(archive_path, write=True) as archive:
        scan(archive, roots=find_roots([home()]))
        rowids = archive.connection.execute("SELECT rowid FROM conversation ORDER BY id").fetchall()
        found = [stored_conversation(archive.connection, rowid) for (rowid,) in rowids]
    made = [
        one
        for one in (*found, *measured_conversations(), branched_conversation(), documented_conversation())
        if one is not None
    ]
    for trace in (trace for conversation in made for trace in conversation.provenance):
        trace.modified_at = None  # of a checkout
    lines = b"".join(msgspec.json.encode(conversation) + b"\n" for conversation in made)
    return lines.replace(msgspec.json.encode(str(home()))[1:-1], SAMPLE_HOME.encode())


# --- the test -------------------------------------------------------------------------------------------------------


def test_rows_are_those_of_their_version(updates_golden: bool, tmp_path: Path) -> None:
    golden = msgspec.json.decode(DIGESTS.read_bytes(), type=Golden)
    changed = changed_tables(golden)
    if changed and golden.rows_version == ROWS_VERSION:
        pytest.fail(RAISE.format(tables=", ".join(sorted(changed)), version=ROWS_VERSION))
    if updates_golden:
        CONVERSATIONS.write_bytes(take_conversations(tmp_path / "archive.db"))
        made = Golden(ROWS_VERSION, digests_of(stored_conversations()))
        DIGESTS.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n")
    elif golden.rows_version != ROWS_VERSION:
        pytest.fail(f"ROWS_VERSION is {ROWS_VERSION}, and the rows are those of {golden.rows_version}: {HOW}")


def test_every_table_has_rows() -> None:
    """A rule without rows could change unnoticed."""
    entries = [entry_of(conversation) for conversation in stored_conversations()]
    with_rows = {table for entry in entries for table, rows in rows_of(entry) if rows}
    assert with_rows == {"conversation", "message", *DETAIL_TABLES}


def test_a_rule_that_changes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    golden = msgspec.json.decode(DIGESTS.read_bytes(), type=Golden)
    monkeypatch.setattr("copilog.store.details.mode_of", lambda _: "changed")

    assert changed_tables(golden) == ["turn"]
