"""The rules R-11 to R-34 once more, as plainly as they can be written: everything in memory, nothing clever.

For chat-completions messages in nested envelopes, as `test_reduction_laws.py` makes them; the tests compare what the
extractor gives with what this gives.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.telemetry.streams import Record, properties_of

INSTANTS = {"2026-04-12T10:00:00Z": 0, "2026-04-12T12:00:00+02:00": 0, "2026-04-12T10:00:01Z": 1}  # others: earliest
IGNORED_MODELS = (None, "auto")
Best = tuple[int, int, str]  # instant, minus the number of the event, value: the greatest holds


@dataclass
class Snapshot:
    number: int
    properties: Record
    messages: list[Record]
    instant: int
    is_subagent: bool

    @property
    def key(self) -> str:
        ids = (self.properties.get(name) for name in ("parentToolCallId", "messageId", "headerRequestId"))
        talk: str = self.properties["conversationId"]
        return f"{talk}#{next(filter(None, ids), '')}" if self.is_subagent else talk


@dataclass
class Known:
    """What all events together tell."""

    snapshots: list[Snapshot] = field(default_factory=list)
    modes: dict[tuple[Any, ...], Best] = field(default_factory=dict)
    models: dict[tuple[str, str, str], Best] = field(default_factory=dict)
    contexts: dict[tuple[str, str], str] = field(default_factory=dict)

    def mode(self, *key: Any) -> str | None:
        return self.modes[key][2] if key in self.modes else None

    def session_model(self, properties: Record) -> str | None:
        for name in ("headerRequestId", "messageId"):
            for kind in ("Response", "Message"):
                key = (kind, properties["conversationId"], properties.get(name, ""))
                if key in self.models:
                    return self.models[key][2]
        return None


def gathered(stream: list[Record], compat: bool) -> Known:
    known = Known()
    for number, record in enumerate(stream):
        properties = properties_of(record)
        base = record["data"]["baseData"]["name"].rpartition("/")[2]
        instant = INSTANTS.get(record.get("time", ""), -1)
        if base == "engine.messages":
            is_subagent = not compat and properties.get("subType", "").startswith("subagent")
            kept = ("content", "tool_calls") if compat else ("content", "tool_calls", "tool_call_id")
            messages = [item for item in json.loads(properties["messagesJson"]) if any(map(item.get, kept))]
            if messages:
                known.snapshots.append(Snapshot(number, properties, messages, instant, is_subagent))
        elif base == "conversation.messageText":
            if properties["source"] == "user" and (mode := properties.get("mode")):
                for key in (
                    ("turn", properties["conversationId"], int(properties.get("turnIndex", -1))),
                    ("headerRequestId", properties.get("headerRequestId")),
                    ("messageId", properties.get("messageId")),
                ):
                    known.modes[key] = max(known.modes.get(key, (-2, 0, "")), (instant, -number, mode))
        elif base.startswith("interactiveSession"):
            if (model := properties.get("baseModel")) not in IGNORED_MODELS:
                slot = (base.removeprefix("interactiveSession"), properties["sessionId"], properties["requestId"])
                known.models[slot] = max(known.models.get(slot, (-2, 0, "")), (instant, -number, model))
        else:
            for name, value in properties.items():
                known.contexts.setdefault((properties["conversationId"], name), value)
    return known


def enriched(snapshot: Snapshot, known: Known, compat: bool) -> list[Record]:
    """Return the messages of a snapshot with modes and models (R-16 to R-19)."""
    messages = [{key: value for key, value in message.items() if value} for message in snapshot.messages]
    messages = [{"role": message["role"], "content": message.get("content", ""), **message} for message in messages]
    properties = snapshot.properties
    turns = [message for message in messages if message["role"] == "user"]
    if not compat:
        turns = [message for message in turns if not message["content"].startswith("<context>")] or turns
    if turns:
        turns[-1]["mode"] = None
        for name in ("headerRequestId", "messageId"):
            if name in properties:
                turns[-1]["mode"] = turns[-1]["mode"] or known.mode(name, properties[name])
    if not snapshot.is_subagent:
        for turn, message in enumerate(turns):
            message["mode"] = message.get("mode") or known.mode("turn", properties["conversationId"], turn)
    session = known.session_model(properties)
    last = messages[-1]
    if last["role"] == "assistant" and "baseModel" in properties:
        last |= {"model": properties["baseModel"], "model_source": "engine"}
    elif "request.option.model" in properties:
        last |= {"model": json.loads(properties["request.option.model"]), "model_source": "engine-request"}
    if session:
        for message in messages[:-1]:
            if message["role"] in ("user", "assistant"):
                message |= {"model": session, "model_source": "interactiveSession"}
        if last.get("model", session) != session:
            last["model_conflict"] = True
    return messages


def is_compatible(left: str, right: str) -> bool:
    left, right = " ".join(left.split()), " ".join(right.split())
    return left.startswith(right) or right.startswith(left)


def merge(messages: list[Record], donors: list[list[Record]], compat: bool) -> list[tuple[int, str]]:
    """Fill what the winner lacks (R-25 to R-29); what tool metadata came from donors is told."""
    log = []
    for index, message in enumerate(messages):
        for donor in donors:
            if index >= len(donor) or donor[index]["role"] != message["role"]:
                continue
            other = donor[index]
            for names in (("mode",), ("model", "model_source"), ("model_conflict",)):
                if message.get(names[0]) is None and other.get(names[0]) is not None:
                    message |= {name: other[name] for name in names}
            name = {"assistant": "tool_calls", "tool": "tool_call_id"}.get(message["role"])
            if name is None or message.get(name) or not other.get(name):
                continue
            if compat or is_compatible(message["content"], other["content"]):
                message |= {name: other[name], "merged": [name]}
                log.append((index, name))
    return log


def closing_answer(winner: Snapshot, known: Known) -> Record | None:
    """Return the answer of an output event (R-30)."""

    def answers(name: str, earliest: int) -> list[Snapshot]:
        return [
            other
            for other in known.snapshots
            if other.key == winner.key
            and [message["role"] for message in other.messages] == ["assistant"]
            and not any(option.startswith("request.option.") for option in other.properties)
            and other.properties.get(name, object()) == winner.properties.get(name)
            and other.instant >= earliest
        ]

    found = answers("modelCallId", -1) or answers("headerRequestId", winner.instant)
    if not found or winner.messages[-1]["role"] == "assistant":
        return None
    best = max(found, key=lambda other: (other.instant, -other.number))
    answer = {key: value for key, value in best.messages[0].items() if value} | {"appended": True}
    if model := best.properties.get("baseModel"):
        answer |= {"model": model, "model_source": "engine"}
        if (session := known.session_model(best.properties)) and session != model:
            answer["model_conflict"] = True
    return {"role": "assistant", "content": "", **answer}


def reduce_plainly(stream: list[Record], *, require_system_first: bool = True, compat: bool = False) -> list[Record]:
    """Return the expected id, messages, modes, merged tool fields and context of each conversation."""
    known = gathered(stream, compat)
    groups: dict[str, list[Snapshot]] = {}
    for snapshot in known.snapshots:
        if not require_system_first or snapshot.messages[0]["role"] == "system":
            groups.setdefault(snapshot.key, []).append(snapshot)
    found: list[Record] = []
    for key, group in groups.items():
        winner = max(group, key=lambda one: (len(one.messages), one.instant, -one.number))
        messages = enriched(winner, known, compat)
        log = merge(messages, [enriched(one, known, compat) for one in group if one is not winner], compat)
        closing = None if compat else closing_answer(winner, known)
        messages += [closing] if closing else []
        modes = [message["mode"] for message in messages if message.get("mode")]
        talk = winner.properties["conversationId"]
        context = {name: value for (owner, name), value in known.contexts.items() if owner == talk}
        context |= {name: winner.properties[name] for name in ("attachedContext",) if name in winner.properties}
        context.pop("conversationId", None)
        found.append(
            {
                "conversation_id": key,
                "messages": [{name: value for name, value in one.items() if value is not None} for one in messages],
                "mode": modes[0] if modes else None,
                "mode_distribution": {mode: modes.count(mode) for mode in sorted(set(modes))},
                "merged": log,
                "subagent": winner.is_subagent,
                "context": context,
            }
        )
    return found
