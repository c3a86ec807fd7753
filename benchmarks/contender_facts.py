"""The plain contender's first pass: facts in tables of SQLite (R-11 to R-15 of docs/formats/telemetry.md)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks import contender_events as events
from benchmarks.contender_events import Event, prop, text_prop
from benchmarks.contender_records import InputFile, Json, value_of

TABLES = """
CREATE TABLE modes (scope INT, kind TEXT, key TEXT, turn TEXT, instant INT, mode TEXT,
    PRIMARY KEY (scope, kind, key, turn)) WITHOUT ROWID;
CREATE TABLE models (scope INT, session TEXT, request TEXT, event TEXT, instant INT, model TEXT,
    PRIMARY KEY (scope, session, request, event)) WITHOUT ROWID;
CREATE TABLE contexts (conversation TEXT, properties TEXT);
CREATE INDEX contexts_by_conversation ON contexts (conversation);
CREATE TABLE chunks (event TEXT, id TEXT, number INT, total INT, text TEXT, PRIMARY KEY (event, id, number));
CREATE TABLE calls (id TEXT PRIMARY KEY, file INT, offset INT, name TEXT, time TEXT, properties TEXT);
CREATE TABLE requests (header TEXT PRIMARY KEY, properties TEXT);
"""
CHUNKS = {  # event: the id its chunks belong to, and what they hold
    "model.message.added": ("messageUuid", "messageJson"),
    "model.modelCall.input": ("modelCallId", "messageUuids"),
    "model.modelCall.output": ("modelCallId", "messageUuids"),
    "model.request.options.added": ("requestOptionsId", "requestOptionsJson"),
}
IDS = ("conversationId", "headerRequestId", "messageId", "modelCallId", "parentToolCallId", "requestOptionsId")
IGNORED_MODELS = ("", "auto", "unknown", "undefined")


class Call(NamedTuple):
    """A model call that was rebuilt from model.* events."""

    event: Event
    messages: list[Json]
    is_incomplete: bool


class Facts:
    """What events say of each other."""

    def __init__(self, database: sqlite3.Connection, *, compat: bool) -> None:
        self.sql = database.execute
        self.compat = compat
        database.executescript(TABLES)

    def collect(self, event: Event) -> None:
        if event.base in events.TEXT_EVENTS:
            self._collect_mode(event)
        elif event.base in events.SESSION_EVENTS:
            self._collect_model(event)
        elif event.base == "participantDetectionContext":
            conversation = text_prop(event.properties, "conversationId")
            self.sql("INSERT INTO contexts VALUES (?,?)", (conversation, json.dumps(event.properties)))
        elif event.base in events.MODEL_EVENTS and not self.compat:
            self._collect_delta(event)

    def _scope(self, event: Event) -> int:
        """R-14: facts count in the whole run, or (as in the original description) in their own file."""
        return event.file.number if self.compat else 0

    # --- modes, models, contexts ------------------------------------------------------------------------------------

    def _collect_mode(self, event: Event) -> None:
        """R-11, R-12: events come in sequence, so only a later time replaces what is there."""
        properties = event.properties
        mode = text_prop(properties, "mode")
        if mode is None or prop(properties, "source") != "user":
            return
        turn = events.turn_index(properties)
        keys = [(kind, text_prop(properties, kind), "") for kind in ("headerRequestId", "messageId")]
        if turn is not None:
            keys.append(("conversationId", text_prop(properties, "conversationId"), str(turn)))
        for kind, key, place in keys:
            if key is not None:
                self.sql(
                    "INSERT INTO modes VALUES (?,?,?,?,?,?) ON CONFLICT DO UPDATE"
                    " SET instant = excluded.instant, mode = excluded.mode WHERE excluded.instant > instant",
                    (self._scope(event), kind, key, place, event.instant, mode),
                )

    def mode(self, event: Event, kind: str, turn: str = "") -> str | None:
        """The mode that the event's id of this kind has, or its conversation in some turn."""
        key = text_prop(event.properties, kind)
        query = "SELECT mode FROM modes WHERE scope = ? AND kind = ? AND key = ? AND turn = ?"
        row = self.sql(query, (self._scope(event), kind, key, turn)).fetchone()
        return row[0] if row else None

    def _collect_model(self, event: Event) -> None:
        """R-13"""
        properties = event.properties
        session = text_prop(properties, "sessionId") or text_prop(properties, "conversationId")
        request = text_prop(properties, "requestId")
        names = ((text_prop(properties, key) or "").strip() for key in ("baseModel", "model"))
        model = next((name for name in names if name.lower() not in IGNORED_MODELS), None)
        if session and request and model:
            self.sql(
                "INSERT INTO models VALUES (?,?,?,?,?,?) ON CONFLICT DO UPDATE"
                " SET instant = excluded.instant, model = excluded.model WHERE excluded.instant > instant",
                (self._scope(event), session, request, event.base, event.instant, model),
            )

    def session_model(self, event: Event) -> str | None:
        """R-18: what the session says of the event's request; Response sorts after Message, and is preferred."""
        session = text_prop(event.properties, "conversationId")
        query = "SELECT model FROM models WHERE scope = ? AND session = ? AND request = ? ORDER BY event DESC"
        for key in ("headerRequestId", "messageId"):
            row = self.sql(query, (self._scope(event), session, text_prop(event.properties, key))).fetchone()
            if row:
                return str(row[0])
        return None

    def contexts(self, event: Event) -> list[Json]:
        """R-34: the properties of the events that may know more about the context, in sequence, from any file."""
        conversation = text_prop(event.properties, "conversationId")
        query = "SELECT properties FROM contexts WHERE conversation = ? ORDER BY rowid"
        return [json.loads(row[0]) for row in self.sql(query, (conversation,))]

    # --- model.* ----------------------------------------------------------------------------------------------------

    def _collect_delta(self, event: Event) -> None:
        """R-15: chunks of which the first of each number counts."""
        properties = event.properties
        if event.base == "model.request.added":
            header = text_prop(properties, "headerRequestId")
            if header not in (None, "unknown"):
                self.sql("INSERT OR IGNORE INTO requests VALUES (?,?)", (header, json.dumps(properties)))
            return
        id_key, text_key = CHUNKS[event.base]
        chunk_id = text_prop(properties, id_key)
        number = events.whole_number(prop(properties, "chunkIndex") or 0)
        total = events.whole_number(1 if prop(properties, "totalChunks") is None else prop(properties, "totalChunks"))
        if chunk_id in (None, "unknown") or number is None or total is None:
            return
        if event.base == "model.modelCall.input":
            row = (chunk_id, event.file.number, event.offset, event.name, event.time, json.dumps(properties))
            self.sql("INSERT OR IGNORE INTO calls VALUES (?,?,?,?,?,?)", row)
        chunk = (event.base, chunk_id, number, total, text_prop(properties, text_key) or "")
        self.sql("INSERT OR IGNORE INTO chunks VALUES (?,?,?,?,?)", chunk)

    def _value(self, event: str, chunk_id: str | None) -> Any:
        """What the chunks hold together; None when some are missing."""
        query = "SELECT number, total, text FROM chunks WHERE event = ? AND id = ? ORDER BY rowid"
        rows = self.sql(query, (event, chunk_id)).fetchall()
        if not rows:
            return None
        texts = {number: text for number, _, text in rows}
        numbers = range(rows[0][1])
        if any(number not in texts for number in numbers):
            return None
        return value_of("".join(texts[number] for number in numbers))

    def calls(self, files: list[InputFile], *, compat: bool) -> Iterator[Call]:
        """All model calls whose list of messages is complete."""
        for call_id, file, offset, name, time, text in self.sql("SELECT * FROM calls").fetchall():
            own = json.loads(text)
            asked = self._value("model.modelCall.input", call_id)
            if not isinstance(asked, list):
                continue
            given = self._value("model.modelCall.output", call_id)
            properties = self._properties(own)
            messages: list[Json] = []
            is_incomplete = False
            for message_id in [*asked, *(given if isinstance(given, list) else [])]:
                item = self._value("model.message.added", message_id) if isinstance(message_id, str) else None
                if item is None:
                    is_incomplete = True
                    messages.append({"role": "unknown", "content": "", "missing": True})
                else:
                    messages += events.messages_from([item], compat=compat)
            messages = events.with_system(messages, properties)
            event = Event(files[file], offset, name, "model.modelCall.input", time, properties)
            yield Call(event, messages, is_incomplete)

    def _properties(self, own: Json) -> Json:
        """The call's own properties, then its request's, then its options."""
        header = text_prop(own, "headerRequestId")
        row = self.sql("SELECT properties FROM requests WHERE header = ?", (header,)).fetchone()
        options = self._value("model.request.options.added", text_prop(own, "requestOptionsId"))
        joined: Json = {}
        for some in (own, json.loads(row[0]) if row else {}, options if isinstance(options, dict) else {}):
            for key, value in some.items():
                if value not in (None, "") and not (key in IDS and value == "unknown"):
                    joined.setdefault(key, value)
        return joined
