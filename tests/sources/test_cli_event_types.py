"""Every type of event that Copilot CLI writes to disk has a place in the model, with all that it says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from copilog.model import (
    AnyPart,
    Attachment,
    Compaction,
    Confirmation,
    Conversation,
    Hook,
    Notice,
    Prompt,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from copilog.sources.cli.dispatch import HANDLERS
from copilog.sources.cli.event import ALIASES, PASSING, PERSISTED, RECENT, STREAMED, is_known
from tests.sources.cli_builders import SESSION, Log, notice, only, parts_like, read_cleanly, read_log
from tests.sources.cli_samples import SAMPLES
from tests.sources.cli_schema import PERSISTED_BY_1_0_102, STREAMED_BY_1_0_102

# What is kept as a time, or as part of a text.
MERGED = {"startTime", "prefix", "suffix"}


def said_by(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all values of some JSON, with their names."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from said_by(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from said_by(item, key)
    elif value is not None and not isinstance(value, bool):
        yield key, value


def everything_in(conversation: Conversation) -> set[Any]:
    """Return everything in a conversation: values, names, and the values inside arguments."""
    found: set[Any] = set()

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            for name, item in value.items():
                found.add(name)
                collect(item)
        elif isinstance(value, list):
            for item in value:
                collect(item)
        elif value is not None:
            found.add(value)
            if isinstance(value, str) and value.startswith("{"):
                collect(json.loads(value))

    collect(json.loads(msgspec.json.encode(conversation)))
    return found


def session_with(event_type: str) -> Log:
    """Return a session in which an event of some type is valid."""
    log = Log()
    if event_type != "session.start":
        log.start().ask(interactionId="i-0").call("toolu_1", "view").call("toolu_T", "task", {"prompt": "look"})
    if event_type == "hook.end":
        log.add("hook.start", SAMPLES["hook.start"])
    if event_type == "permission.completed":
        log.add("permission.requested", SAMPLES["permission.requested"])
    if event_type in ("subagent.completed", "subagent.configured", "subagent.failed"):
        log.add("subagent.started", SAMPLES["subagent.started"], agentId="a-1")
    data = json.loads(json.dumps(SAMPLES[event_type]))
    return log.add(event_type, {**data, "sessionId": SESSION} if event_type == "session.start" else data)


def test_every_event_type_has_a_sample() -> None:
    assert set(SAMPLES) == PERSISTED


def test_every_type_of_the_schema_is_known() -> None:
    """Of 1.0.102, whose package lists 78 types that are written to disk and 85 that only a stream has."""
    assert (len(PERSISTED_BY_1_0_102), len(STREAMED_BY_1_0_102)) == (78, 85)
    earlier = {"external_tool.completed", "session.import_legacy"}  # which earlier releases wrote
    assert set(PERSISTED_BY_1_0_102) == PERSISTED - earlier
    assert [name for name in STREAMED_BY_1_0_102 if not is_known(name)] == []


@pytest.mark.parametrize("event_type", sorted(PERSISTED))
def test_no_value_of_an_event_is_lost(event_type: str, tmp_path: Path) -> None:
    conversation = read_cleanly(tmp_path, session_with(event_type))

    known = everything_in(conversation)
    said = said_by(session_with(event_type).events[-1]["data"])
    lost = [(key, value) for key, value in said if value not in known and key not in MERGED]
    if event_type == "session.binary_asset":
        assert only(conversation, Attachment).data == b"\x89PNG"
    assert lost == []


PLACES: dict[str, type[AnyPart]] = {
    "abort": Notice,
    "assistant.message": Text,
    "assistant.reasoning": Thinking,
    "external_tool.requested": ToolCall,
    "hook.end": Hook,
    "hook.start": Hook,
    "permission.completed": Confirmation,
    "permission.requested": Confirmation,
    "human_response.recorded": Confirmation,
    "session.binary_asset": Attachment,
    "session.compaction_complete": Compaction,
    "skill.context_delivered": Attachment,
    "skill.context_delivered_ref": Attachment,
    "skill.invoked": Attachment,
    "skill.invoked_ref": Attachment,
    "system.message": Prompt,
    "tool.execution_complete": ToolResult,
    "tool.execution_start": ToolCall,
    "tool.user_requested": ToolCall,
    "user.message": Text,
}
NO_PART = {
    "assistant.turn_start": "rounds",
    "assistant.turn_end": "rounds",
    "session.start": "the session itself",
    "session.usage_record": "the turn",
    "subagent.configured": "the call",
    "subagent.started": "the call",
    "subagent.completed": "the call",
    "subagent.failed": "the call",
}


@pytest.mark.parametrize("event_type", sorted(PERSISTED - set(NO_PART)))
def test_each_type_has_its_kind_of_part(event_type: str, tmp_path: Path) -> None:
    kind = PLACES.get(event_type, Notice)

    conversation = read_cleanly(tmp_path, session_with(event_type))

    last = conversation.messages[-1]
    assert any(isinstance(part, kind) for part in last.parts)
    assert last.created_at is not None or event_type == "session.start"


@pytest.mark.parametrize(
    ("event_type", "topic", "text"),
    [
        ("abort", "abort", "user_initiated"),
        ("session.auto_mode_resolved", "model-resolution", "gpt-5.4-mini"),
        ("session.autopilot_objective_changed", "objective", "cap_reached"),
        ("session.canvas.recorded", "canvas", "A board"),
        ("session.context_changed", "context", "/home/ana/shop"),
        ("session.context_cleared", "context-cleared", "start over"),
        ("session.error", "error", "429 too many requests"),
        ("session.handoff", "handoff", "the cart is half fixed"),
        ("session.info", "info", "Connected to docs"),
        ("session.mode_changed", "mode-change", "autopilot"),
        ("session.model_change", "model-change", "gpt-5.4"),
        ("session.completion_receipt", "completion-receipt", "nothing more to do"),
        ("session.fusion_completed", "fusion-completed", "committed"),
        ("session.fusion_handoff", "fusion-handoff", "Now judge the draft."),
        ("session.fusion_resolved", "fusion", "draft-and-judge"),
        ("session.fusion_route_failed", "fusion-route-failed", "no rule fits"),
        ("session.mode_notice_delivered", "mode-notice", "You are in plan mode: change nothing."),
        ("session.model_deselected", "model-deselected", "lamp-1"),
        ("session.permission_recovery", "permission-recovery", "the shell was denied"),
        ("session.plan_changed", "plan", "update"),
        ("session.resume", "resume", ""),
        ("session.schedule_created", "schedule", "check the build"),
        ("session.shutdown", "shutdown", "out of memory"),
        ("session.task_complete", "task-complete", "The cart adds up."),
        ("session.truncation", "truncation", ""),
        ("session.usage_checkpoint", "usage", ""),
        ("session.warning", "warning", "nearly full"),
        ("session.workspace_file_changed", "workspace-file", "notes/cart.txt"),
        ("subagent.selected", "agent-selected", "reviewer"),
        ("system.notification", "notification", "<system_notification>Agent done</system_notification>"),
        ("tool_search.activated", "tool-search", "embedding"),
    ],
)
def test_notices_have_a_topic_and_a_text(event_type: str, topic: str, text: str, tmp_path: Path) -> None:
    found = notice(read_cleanly(tmp_path, session_with(event_type)), topic)

    assert (found.text, found.native) == (text, event_type)


def test_an_unknown_event_survives_and_is_counted(tmp_path: Path) -> None:
    log = Log().start().ask().add("session.teleported", {"to": "moon"}, extraKey=1)

    conversation, ledger = read_log(tmp_path, log)

    part = only(conversation, Unknown)
    assert (part.type, part.raw) == ("session.teleported", {"to": "moon"})
    assert conversation.messages[-1].extra == {"envelope": {"extraKey": 1}}
    assert ledger.unknown == {"session.teleported": 1}
    assert ledger.used == 3


@pytest.mark.parametrize(("early", "name"), sorted(ALIASES.items()))
def test_early_names_mean_the_same(early: str, name: str, tmp_path: Path) -> None:
    data = SAMPLES.get(name, {})

    one = read_cleanly(tmp_path / "one", Log().start().call("toolu_T", "task").add(early, dict(data)))
    other = read_cleanly(tmp_path / "other", Log().start().call("toolu_T", "task").add(name, dict(data)))

    kinds = [[type(part) for part in message.parts] for message in one.messages]
    assert kinds == [[type(part) for part in message.parts] for message in other.messages]


@pytest.mark.parametrize("event_type", sorted(PASSING))
def test_events_of_streams_only_are_stored_too(event_type: str, tmp_path: Path) -> None:
    log = Log().start().ask().add(event_type, {"requestId": "r-1", "word": "abracadabra"}, ephemeral=True)

    conversation, ledger = read_log(tmp_path, log)

    assert (ledger.unknown, ledger.bad) == ({}, [])
    is_there = "abracadabra" in everything_in(conversation)
    assert is_there or event_type in ("assistant.streaming_delta", "model.call_start")


def test_only_types_with_a_description_are_known() -> None:
    assert is_known("factory.run_started")
    assert is_known("session.managed_settings_enforced")
    assert not any(map(is_known, ("factory.whatever", "session.managed_settings_whatever", "session.whatever")))
    assert PERSISTED | PASSING | STREAMED | RECENT | {"result"} == set(HANDLERS)


@pytest.mark.parametrize("event_type", sorted(RECENT))
def test_fields_of_newer_releases_are_stored_too(event_type: str, tmp_path: Path) -> None:
    conversation, ledger = read_log(tmp_path, Log().start().ask().add(event_type, {"word": "abracadabra"}))

    assert (ledger.unknown, ledger.bad) == ({}, [])
    assert "abracadabra" in everything_in(conversation)


def test_times_are_aware_and_universal(tmp_path: Path) -> None:
    log = Log().start().ask().say()
    log.events[1]["timestamp"] = "2026-06-02T10:00:00+02:00"
    log.events[2]["timestamp"] = "2026-06-02 08:00:05"

    conversation = read_cleanly(tmp_path, log)

    assert [message.created_at for message in conversation.messages] == [
        datetime.fromisoformat("2026-06-02T08:00:00Z"),
        datetime.fromisoformat("2026-06-02T08:00:05Z"),
    ]
    assert parts_like(conversation, Text)[0].text == "why?"
