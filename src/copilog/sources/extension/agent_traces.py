"""Read the span database of the Copilot Chat extension: agent-traces.db, the agents' operations of recent days.

It is read from a private copy. Format notes: docs/formats/copilot-chat-extension.md
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import TYPE_CHECKING

from copilog import jsonio, sqliteio
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.fields import Json
from copilog.model import Conversation
from copilog.sources.base import Found, Probe, Source
from copilog.sources.database_rows import read_rows
from copilog.sources.folders import extension_folders, is_plain_file
from copilog.sources.roots import StorageFolder

if TYPE_CHECKING:
    from copilog.sources.extension.spans import Span

FILE = "agent-traces.db"
SPANS, ATTRIBUTES, EVENTS = "spans", "span_attributes", "span_events"


class AgentTraces(Source):
    name = "agent-traces"
    title = "Copilot agent traces (agent-traces.db)"
    is_index = True

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        for place in extension_folders(folder):
            if is_plain_file(place / FILE):
                yield Found(place / FILE, self.name, application=folder.application)

    def claims(self, file: Probe) -> bool:
        return file.name == FILE or {SPANS, ATTRIBUTES} <= file.tables.keys()

    def index(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield one stub for each session; all rows are counted here, so that reading a session counts none again."""
        from copilog.sources.extension.span_conversations import stubs_from

        yield from stubs_from(_load(found, ledger), found)

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources.extension.span_conversations import conversations_from

        ledger = ledger if found.native_id is None else Ledger()
        yield from conversations_from(_load(found, ledger), found, ledger)


def _load(found: Found, ledger: Ledger) -> list[Span]:
    """Return the spans of a database, each row of its tables being one record."""
    from copilog.sources.extension.spans import span_from_row

    with sqliteio.open_copy(found.path) as snapshot:
        for note in snapshot.notes:
            ledger.note("copied-while-busy", note, "info")
        tables = sqliteio.tables(snapshot.connection)
        if "span_id" not in tables.get(SPANS, []):
            ledger.note("unreadable-database", f"the database has no table {SPANS}")
            return []
        attributes = _attributes(snapshot.connection, tables, ledger)
        spans: dict[str, Span] = {}
        for row in read_rows(snapshot.connection, SPANS, tables[SPANS], ledger, order=("start_time_ms", "span_id")):
            ledger.seen += 1
            name = str(row.values.get("span_id", row.name))
            try:
                span = span_from_row(row.values, attributes.pop(name, {}))
            except BadRecord as error:
                ledger.reject(error.code, str(error), table=SPANS, row=name)
                continue
            ledger.used += 1
            spans[span.id] = span
        _add_events(snapshot.connection, tables, ledger, spans)
    if attributes:
        ledger.note("bad-record", f"attributes of {len(attributes)} missing spans")
    return list(spans.values())


def _attributes(connection: sqlite3.Connection, tables: dict[str, list[str]], ledger: Ledger) -> dict[str, Json]:
    found: dict[str, Json] = {}
    columns = ["span_id", "key", "value"]
    if not set(columns) <= set(tables.get(ATTRIBUTES, [])):
        return found
    for row in read_rows(connection, ATTRIBUTES, columns, ledger):
        ledger.seen += 1
        owner, key = row.values.get("span_id"), row.values.get("key")
        if isinstance(owner, str) and isinstance(key, str):
            found.setdefault(owner, {})[key] = row.values.get("value")
            ledger.used += 1
        else:
            ledger.reject("bad-record", "an attribute without a span or a name", table=ATTRIBUTES, row=row.name)
    return found


def _add_events(
    connection: sqlite3.Connection, tables: dict[str, list[str]], ledger: Ledger, spans: dict[str, Span]
) -> None:
    from copilog.fields import timestamp_from
    from copilog.sources.extension.spans import SpanEvent

    columns = tables.get(EVENTS, [])
    if "span_id" not in columns:
        return
    for row in read_rows(connection, EVENTS, columns, ledger, order=("timestamp_ms", "id")):
        ledger.seen += 1
        owner, name = spans.get(str(row.values.get("span_id"))), row.values.get("name")
        if owner is None or not isinstance(name, str):
            ledger.reject("bad-record", "an event without a span or a name", table=EVENTS, row=row.name)
            continue
        ledger.used += 1
        at = timestamp_from(row.values.get("timestamp_ms"))
        owner.events.append(SpanEvent(name, at, _json_object(row.values.get("attributes"))))


def _json_object(value: object) -> Json:
    if not isinstance(value, str):
        return {}
    try:
        decoded = jsonio.decode(value.encode())[0]
    except BadRecord:
        return {"attributes": value}
    return decoded if isinstance(decoded, dict) else {"attributes": decoded}
