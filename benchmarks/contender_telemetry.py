"""The plain contender of `copilog extract`: the standard `json` and SQLite, two passes, one process.

    python -m benchmarks.contender_telemetry PATH... -o OUT.jsonl

Pass 1 puts all facts into tables. Pass 2 decodes each snapshot in full, enriches it, and stores it as JSON. At the end
each conversation is loaded with all its snapshots, merged, and written. It is written from the rules of
docs/formats/telemetry.md alone and gives the same bytes, so it also tells whether the fast way is right.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import contender_events as events
from benchmarks.contender_events import Event, text_prop
from benchmarks.contender_facts import Facts
from benchmarks.contender_records import Json, input_files, records, value_of
from copilog.tags import is_injected, load_catalogue
from copilog.telemetry.scan import context_of
from copilog.trajectory import TrajectoryMessage

TABLES = """
CREATE TABLE snapshots (key TEXT, file INT, offset INT, body TEXT, PRIMARY KEY (key, file, offset)) WITHOUT ROWID;
CREATE TABLE answers (key TEXT, file INT, offset INT, body TEXT, PRIMARY KEY (key, file, offset)) WITHOUT ROWID;
"""
MODEL_KEYS = ("model", "model_source", "model_conflict")
TOOL_KEYS = ("tool_calls", "tool_call_id", "reasoning", "attachments")
MESSAGE_KEYS = ("role", "content", "mode", *MODEL_KEYS, *TOOL_KEYS, "merged", "appended", "missing")
METADATA_KEYS = ("mode", "intent", "detectedIntent", "timestamp", "turnIndex", "messageId")
METADATA_FLAGS = ("truncated", "recovered", "incomplete", "subagent", "merge_log")
CONTEXT_KEYS = (
    "attachedContext",
    "contextTypes",
    "fileExcerpt",
    "activeSelection",
    "detectedParticipant",
    "assignedIntent",
)
TOOL_FIELDS = {"assistant": "tool_calls", "tool": "tool_call_id"}
DATE = re.compile(r"-\d{4}-\d{2}-\d{2}$")


class Options(NamedTuple):
    """What can be asked for, by the names of `copilog.extract`."""

    compat: bool = False
    json_recovery: bool = False
    require_system_first: bool = True
    merge_tool_metadata: bool = True
    regex: str | None = None
    sample: int | None = None
    seed: int = 0
    sample_mode: str = "random"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contender_telemetry", description="The plain way.")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    with options.output.open("wb") as file:
        file.writelines(line + b"\n" for line in extract_lines(options.paths))


def extract_lines(paths: Sequence[Path], options: Options | None = None) -> Iterator[bytes]:
    """The trajectories of some telemetry, each as a line of JSON."""
    with tempfile.TemporaryDirectory(prefix="copilog-contender-") as folder:
        database = sqlite3.connect(Path(folder, "telemetry.db"), isolation_level=None)
        try:
            yield from _Contender(database, list(paths), options or Options()).lines()
        finally:
            database.close()


class _Contender:
    def __init__(self, database: sqlite3.Connection, paths: list[Path], options: Options) -> None:
        self.sql = database.execute
        self.sql("PRAGMA journal_mode = OFF")
        self.sql("PRAGMA synchronous = OFF")
        database.executescript(TABLES)
        self.options = options
        self.facts = Facts(database, compat=options.compat)
        self.files = input_files(paths)

    def lines(self) -> Iterator[bytes]:
        self.sql("BEGIN")
        for event in self._events():
            self.facts.collect(event)
        for event in self._events():
            if event.base == "engine.messages":
                self._store_engine_event(event)
        for call in self.facts.calls(self.files, compat=self.options.compat):
            self._store(call.event, call.messages, {"incomplete": call.is_incomplete})
        self.sql("COMMIT")
        for trajectory in self._chosen():
            yield _encoded(self._finished(trajectory))

    def _events(self) -> Iterator[Event]:
        for file in self.files:
            for offset, record, is_recovered in records(file, recovery=self.options.json_recovery):
                event = events.event_of(file, offset, record, is_recovered)
                if event:
                    yield event

    # --- pass 2: one trajectory per snapshot ------------------------------------------------------------------------

    def _store_engine_event(self, event: Event) -> None:
        try:
            read = events.read_messages(
                event.properties, compat=self.options.compat, recovery=self.options.json_recovery
            )
        except events.Rejected:
            return
        flags = {"truncated": read.is_truncated, "recovered": read.is_recovered or event.is_recovered}
        self._store(event, read.messages, flags)

    def _store(self, event: Event, messages: list[Json], flags: dict[str, bool]) -> None:
        """R-15, R-24, R-30, R-32: store the snapshot where it counts."""
        properties = event.properties
        key = text_prop(properties, "conversationId")
        if key is None or not messages:
            return
        is_subagent = not self.options.compat and (text_prop(properties, "subType") or "").startswith("subagent")
        if is_subagent:
            ids = (text_prop(properties, name) for name in ("parentToolCallId", "messageId", "headerRequestId"))
            key = f"{key}#{next(filter(None, ids), '')}"
        trajectory = {
            "conversation_id": key,
            "messages": messages,
            "metadata": self._metadata(event) | flags | {"subagent": is_subagent},
            "telemetry_type": event.name,
            "file_path": event.file.shown,
            # not for the output:
            "rank": (len(messages), event.instant, -event.file.number, -event.offset),
            "ids": {name: text_prop(properties, name) for name in ("modelCallId", "headerRequestId")},
            "is_closing": _is_answer(event, messages),
            "own_context": self._context(event),
        }
        self._enrich(event, messages, is_subagent=is_subagent)
        row = (key, event.file.number, event.offset, json.dumps(trajectory))
        if trajectory["is_closing"]:
            self.sql("INSERT INTO answers VALUES (?,?,?,?)", row)
        if messages[0]["role"] == "system" or not self.options.require_system_first:
            self.sql("INSERT INTO snapshots VALUES (?,?,?,?)", row)

    def _metadata(self, event: Event) -> Json:
        properties = event.properties
        return {
            "intent": text_prop(properties, "intent"),
            "detectedIntent": text_prop(properties, "detectedIntent"),
            "timestamp": event.time,
            "turnIndex": events.turn_index(properties),
            "messageId": text_prop(properties, "messageId"),
        }

    def _context(self, event: Event) -> Json:
        """R-34: the first who knows a property."""
        found: Json = {}
        for properties in (event.properties, *self.facts.contexts(event)):
            for key in CONTEXT_KEYS:
                value = events.prop(properties, key)
                if value is not None and key not in found:
                    inner = value_of(value) if isinstance(value, str) else value
                    found[key] = inner if isinstance(inner, (list, dict)) else value
        return {key: found[key] for key in CONTEXT_KEYS if key in found}

    def _enrich(self, event: Event, messages: list[Json], *, is_subagent: bool) -> None:
        """R-16 to R-19"""
        users = [message for message in messages if message["role"] == "user"]
        if not self.options.compat:
            users = [message for message in users if not is_injected(message["content"])] or users
        if users:
            users[-1]["mode"] = self.facts.mode(event, "headerRequestId") or self.facts.mode(event, "messageId")
        for turn, message in enumerate(users):
            if not message.get("mode") and not is_subagent:
                message["mode"] = self.facts.mode(event, "conversationId", str(turn))
        last = messages[-1]
        base_model = text_prop(event.properties, "baseModel")
        asked_model = events.unwrapped(events.prop(event.properties, "request.option.model"))
        if last["role"] == "assistant" and base_model:
            last |= {"model": base_model, "model_source": "engine"}
        elif isinstance(asked_model, str):
            last |= {"model": asked_model, "model_source": "engine-request"}
        session_model = self.facts.session_model(event)
        if session_model is None:
            return
        for message in messages[:-1]:
            if message["role"] in ("user", "assistant"):
                message |= {"model": session_model, "model_source": "interactiveSession"}
        if last.get("model") and _plain_model(last["model"]) != _plain_model(session_model):
            last["model_conflict"] = True

    # --- the end: one trajectory per conversation -------------------------------------------------------------------

    def _chosen(self) -> Iterator[Json]:
        """R-31, R-33: the conversations that are wanted, in the order in which they were first seen."""
        options = self.options
        rows = self.sql("SELECT key, file, offset FROM snapshots ORDER BY file, offset").fetchall()
        keys = list(dict.fromkeys(row[0] for row in rows))
        if options.regex is not None:
            pattern = re.compile(options.regex)
            keys = [key for key in keys if _matches(self._merged(key), pattern)]
        if options.sample is not None and options.sample_mode == "first":
            keys = keys[: options.sample]
        elif options.sample is not None:
            lots = sorted(keys, key=lambda key: hashlib.sha256(f"{options.seed}:{key}".encode()).digest())
            drawn = set(lots[: options.sample])
            keys = [key for key in keys if key in drawn]
        for key in keys:
            yield self._merged(key)

    def _load(self, table: str, key: str) -> list[Json]:
        rows = self.sql(f"SELECT body FROM {table} WHERE key = ? ORDER BY file, offset", (key,)).fetchall()
        return [json.loads(row[0]) for row in rows]

    def _merged(self, key: str) -> Json:
        """R-23 to R-30"""
        snapshots = self._load("snapshots", key)
        winner = max(snapshots, key=lambda snapshot: snapshot["rank"])
        for donor in snapshots:
            if donor is not winner:
                self._give(donor, winner)
        if winner["messages"][-1]["role"] != "assistant" and not self.options.compat:
            answer = self._closing_answer(winner)
            if answer:
                winner["messages"].append(answer)
        return winner

    def _give(self, donor: Json, winner: Json) -> None:
        """R-25 to R-29: fill what the winner lacks."""
        pairs = zip(winner["messages"], donor["messages"], strict=False)
        for index, (message, given) in enumerate(pairs):
            if message["role"] != given["role"]:
                continue
            for field in ("mode", "model_conflict"):
                if not message.get(field) and given.get(field):
                    message[field] = given[field]
            if not message.get("model") and given.get("model"):
                message |= {"model": given["model"], "model_source": given["model_source"]}
            field = TOOL_FIELDS.get(message["role"], "")
            is_wanted = self.options.merge_tool_metadata and not message.get(field) and given.get(field)
            if is_wanted and (self.options.compat or _is_compatible(message["content"], given["content"])):
                message[field] = given[field]
                message["merged"] = [field]
                offset = -donor["rank"][3]
                winner["metadata"].setdefault("merge_log", []).append([index, field, donor["file_path"], offset])

    def _closing_answer(self, winner: Json) -> Json | None:
        """R-30: what the model said to the winner."""
        answers = sorted(self._load("answers", winner["conversation_id"]), key=lambda answer: answer["rank"])
        call_id, header_id = winner["ids"]["modelCallId"], winner["ids"]["headerRequestId"]
        same_call = [answer for answer in answers if call_id and answer["ids"]["modelCallId"] == call_id]
        same_request = [
            answer
            for answer in answers
            if header_id and answer["ids"]["headerRequestId"] == header_id and answer["rank"][1] >= winner["rank"][1]
        ]
        found = (same_call or same_request)[-1:]
        return {**found[0]["messages"][0], "appended": True} if found else None

    def _finished(self, trajectory: Json) -> Json:
        """R-21, R-35, R-40a: the trajectory as it is written."""
        messages = [
            {key: message[key] for key in MESSAGE_KEYS if key in ("role", "content") or message.get(key)}
            for message in trajectory["messages"]
        ]
        modes = [message["mode"] for message in messages if message["role"] == "user" and "mode" in message]
        metadata = {**trajectory["metadata"], "mode": modes[0] if modes else None}
        if "merge_log" in metadata:
            metadata["merge_log"].sort()
        written = {key: metadata[key] for key in METADATA_KEYS}
        written |= {key: metadata[key] for key in METADATA_FLAGS if metadata.get(key)}
        bodies = [TrajectoryMessage(message["role"], message["content"], message.get("mode")) for message in messages]
        return {
            "conversation_id": trajectory["conversation_id"],
            "messages": messages,
            "context": context_of(bodies, trajectory["own_context"], load_catalogue()),
            "metadata": written,
            "mode_distribution": {mode: modes.count(mode) for mode in sorted(set(modes))},
            "telemetry_type": trajectory["telemetry_type"],
            "file_path": trajectory["file_path"],
        }


def _is_answer(event: Event, messages: list[Json]) -> bool:
    """R-30: whether an event holds what came back, and nothing else."""
    is_engine = event.base == "engine.messages" and not events.has_request_option(event.properties)
    return is_engine and [message["role"] for message in messages] == ["assistant"]


def _matches(trajectory: Json, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(message["content"]) for message in trajectory["messages"] if message["role"] == "user")


def _plain_model(model: str) -> str:
    """R-19: the name without the day it was made."""
    return DATE.sub("", model.lower())


def _is_compatible(one: str, other: str) -> bool:
    """R-28"""
    one, other = " ".join(one.split()), " ".join(other.split())
    return one.startswith(other) or other.startswith(one)


def _encoded(value: Any) -> bytes:
    """R-40: compact JSON, with U+FFFD for half characters."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return events.replace_lone_surrogates(text).encode("utf-8")


if __name__ == "__main__":
    main()
