"""One event of a session log: its envelope, its type, and the texts beside its main one."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from copilog.errors import BadRecord
from copilog.fields import Json, json_text

APPLICATION = "Copilot CLI"
ASSISTANT = "GitHub Copilot"

# The names of events: those that are written to disk, and those that only a captured stream holds.


PERSISTED = frozenset(
    {
        "abort",
        "assistant.fusion_phase_completed",
        "assistant.fusion_phase_failed",
        "assistant.message",
        "assistant.reasoning",
        "assistant.turn_end",
        "assistant.turn_start",
        "external_tool.completed",
        "external_tool.requested",
        "hook.end",
        "hook.start",
        "human_response.recorded",
        "mcp.oauth_recovery_completed",
        "permission.assentDetected",
        "permission.carriedForward",
        "permission.completed",
        "permission.contextualAuthorization",
        "permission.messageAuthorization",
        "permission.messageAuthorizationDegraded",
        "permission.messageAuthorizationRead",
        "permission.requested",
        "session.auto_mode_resolved",
        "session.autopilot_objective_changed",
        "session.binary_asset",
        "session.canvas.recorded",
        "session.canvas.removed",
        "session.compaction_complete",
        "session.compaction_start",
        "session.completion_receipt",
        "session.context_changed",
        "session.context_cleared",
        "session.error",
        "session.fusion_change_checkpoint",
        "session.fusion_commit_started",
        "session.fusion_completed",
        "session.fusion_handoff",
        "session.fusion_resolved",
        "session.fusion_route_failed",
        "session.handoff",
        "session.import_legacy",
        "session.info",
        "session.mode_changed",
        "session.mode_notice_delivered",
        "session.model_change",
        "session.model_deselected",
        "session.permission_recovery",
        "session.permissions_changed",
        "session.plan_changed",
        "session.remote_steerable_changed",
        "session.request_body_compression_disabled",
        "session.resume",
        "session.schedule_cancelled",
        "session.schedule_created",
        "session.schedule_rearmed",
        "session.session_limits_changed",
        "session.shutdown",
        "session.start",
        "session.task_complete",
        "session.truncation",
        "session.usage_checkpoint",
        "session.usage_record",
        "session.warning",
        "session.workspace_file_changed",
        "skill.context_delivered",
        "skill.context_delivered_ref",
        "skill.invoked",
        "skill.invoked_ref",
        "subagent.completed",
        "subagent.configured",
        "subagent.deselected",
        "subagent.failed",
        "subagent.selected",
        "subagent.started",
        "system.message",
        "system.notification",
        "tool.execution_complete",
        "tool.execution_start",
        "tool.user_requested",
        "tool_search.activated",
        "user.message",
    }
)

# Early names, a name of one release only, and one that exists only in descriptions of the format.
ALIASES = {
    "custom_agent.started": "subagent.started",
    "custom_agent.completed": "subagent.completed",
    "custom_agent.failed": "subagent.failed",
    "custom_agent.selected": "subagent.selected",
    "custom_agent.deselected": "subagent.deselected",
    "session.response_limits_changed": "session.session_limits_changed",
    "tool.execution_end": "tool.execution_complete",
}

STREAMED = frozenset(
    {
        "assistant.message_delta",
        "assistant.message_start",
        "assistant.reasoning_delta",
        "assistant.tool_call_delta",
        "tool.execution_partial_result",
        "tool.shell_output",
    }
)

# Events of captured streams, besides the pieces of messages. Each becomes a notice of its own.
PASSING = frozenset(
    {
        "agent.interrupted",
        "assistant.idle",
        "assistant.intent",
        "assistant.server_tool_progress",
        "assistant.streaming_delta",
        "assistant.turn_retry",
        "assistant.usage",
        "auto_mode_switch.completed",
        "auto_mode_switch.requested",
        "capabilities.changed",
        "command.completed",
        "command.execute",
        "command.queued",
        "commands.changed",
        "elicitation.completed",
        "elicitation.requested",
        "exit_plan_mode.completed",
        "exit_plan_mode.requested",
        "factory.run_settled",
        "factory.run_started",
        "factory.run_updated",
        "hook.progress",
        "mcp.headers_refresh_completed",
        "mcp.headers_refresh_required",
        "mcp.oauth_completed",
        "mcp.oauth_required",
        "mcp.prompts.list_changed",
        "mcp.resources.list_changed",
        "mcp.tools.list_changed",
        "mcp_app.tool_call_complete",
        "model.call_failure",
        "model.call_start",
        "pending_messages.modified",
        "sampling.completed",
        "sampling.requested",
        "sandbox.decision",
        "session.background_tasks_changed",
        "session.canvas.closed",
        "session.canvas.opened",
        "session.canvas.registry_changed",
        "session.canvas.unavailable",
        "session.custom_agents_updated",
        "session.custom_notification",
        "session.extensions.attachments_pushed",
        "session.extensions_loaded",
        "session.idle",
        "session.managed_settings_changed",
        "session.managed_settings_enforced",
        "session.managed_settings_loaded",
        "session.managed_settings_resolved",
        "session.mcp_server_status_changed",
        "session.mcp_servers_loaded",
        "session.skills_loaded",
        "session.snapshot_rewind",
        "session.title_changed",
        "session.todos_changed",
        "session.tools_updated",
        "session.usage_info",
        "session_limits_exhausted.completed",
        "session_limits_exhausted.requested",
        "tool.execution_progress",
        "ui.ephemeral_query",
        "user_input.completed",
        "user_input.requested",
    }
)

# Those of newer releases.
RECENT = frozenset(
    {
        "assistant.fusion_phase_activity",
        "assistant.fusion_phase_started",
        "model.call_final_result",
        "model.call_finished",
        "model.message",
        "model.messages_snapshot",
        "model.model_call_started",
        "model.model_call_success",
        "model.response",
        "model.turn_ended",
        "model.turn_started",
        "prompt_cache_break",
        "session.auto_tier_recommendation",
        "session.auto_tier_switch_failed",
        "session.autopilot_stopped",
        "session.fusion_route_started",
        "session.indexed_search",
        "session.managed_plugin_progress",
        "session.mcp_server_needs_reconnect",
        "session.mcp_server_removed",
        "session.mcp_server_tools_loaded",
        "session.memory_changed",
        "session.quota_observation",
        "workflow.run_settled",
        "workflow.run_started",
        "workflow.run_updated",
    }
)

RESULT = "result"  # the last line of a captured stream, which has no data
KNOWN = PERSISTED | PASSING | STREAMED | RECENT | frozenset(ALIASES) | {RESULT}


def is_known(event_type: str) -> bool:
    """Return whether a type has a description."""
    return event_type in KNOWN


# One event: its envelope, which is removed, and its data.


_from_iso = datetime.fromisoformat


class Envelope(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An event in the usual form, decoded in one step. Any other form is decoded to a dictionary."""

    type: Annotated[str, msgspec.Meta(min_length=1)]
    data: Json = msgspec.field(default_factory=dict)
    id: str | None = None
    timestamp: str | None = None
    parent_id: Any = msgspec.field(name="parentId", default=None)
    agent_id: str | None = msgspec.field(name="agentId", default=None)
    ephemeral: bool = False


decode_envelope = msgspec.json.Decoder(Envelope).decode


class Event(msgspec.Struct, gc=False):
    """One event of a log, with its position. `rest` has the envelope's unknown fields."""

    native: str
    type: str
    data: Json
    id: str | None
    agent_id: str | None
    at: datetime | None
    stamp: str | None  # the text of `at`
    is_ephemeral: bool
    rest: Json | None
    line: int
    offset: int
    size: int

    def extra(self, left: Json | None = None) -> Json | None:
        """Return the rest of the data and of the envelope after all understood fields were taken."""
        left = self.data if left is None else left
        if self.rest:
            left = {**left, "envelope": self.rest}
        return left or None


def event_from_envelope(envelope: Envelope, line: int, offset: int, size: int) -> Event:
    """Return the event of an envelope, in a third of the time of a dictionary. See benchmarks/bench_events.py."""
    native, stamp = envelope.type, envelope.timestamp
    at, rest = None, None
    if stamp is not None:
        at = time_from_iso(stamp)
        if at is None:
            stamp, rest = None, {"timestamp": stamp}
    return Event(
        native,
        ALIASES.get(native, native),
        envelope.data,
        envelope.id,
        envelope.agent_id,
        at,
        stamp,
        envelope.ephemeral,
        rest,
        line,
        offset,
        size,
    )


def event_from_object(raw: Json, line: int, offset: int, size: int) -> Event:
    """Return the event of an object, whatever else the object holds. Takes fields out of the object."""
    take = raw.pop
    native = take("type", None)
    if not isinstance(native, str) or not native:
        raise BadRecord("an object without a `type`, which every event has")
    take("parentId", None)  # the id of the event before; the order of the lines has the same information
    event_id, agent_id, stamp = take("id", None), take("agentId", None), take("timestamp", None)
    ephemeral, data = take("ephemeral", None), take("data", None)
    at = time_from_iso(stamp)
    # A value of an unexpected type is put back, so that it is not lost. None is dropped.
    for key, value, is_sound in (
        ("id", event_id, isinstance(event_id, str)),
        ("agentId", agent_id, isinstance(agent_id, str)),
        ("timestamp", stamp, at is not None),
        ("ephemeral", ephemeral, isinstance(ephemeral, bool)),
        ("data", data, isinstance(data, dict)),
    ):
        if value is not None and not is_sound:
            raw[key] = value
    return Event(
        native,
        ALIASES.get(native, native),
        data if isinstance(data, dict) else {},
        event_id if isinstance(event_id, str) else None,
        agent_id if isinstance(agent_id, str) else None,
        at,
        stamp if at is not None else None,
        ephemeral is True,
        raw or None,
        line,
        offset,
        size,
    )


def with_more(extra: Json | None, more: Json) -> Json | None:
    """Return the stored values with more of them; with one of the two missing, return the other one itself."""
    if not extra:
        return more or None
    return {**extra, **more} if more else extra


def is_event_object(value: Any) -> bool:
    """Return whether an object in the middle of a damaged line is an event, and not a part of one."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    if value["type"] == "result":
        return "sessionId" in value
    return isinstance(value.get("data"), dict) and ("id" in value or "timestamp" in value)


def take_iso(obj: Json, key: str) -> datetime | None:
    """Take a time as text. Text that is not a time stays."""
    moment = time_from_iso(obj.get(key))
    if moment is not None:
        del obj[key]
    return moment


def time_from_iso(value: object) -> datetime | None:
    """Return the time of ISO 8601 text, in UTC unless it names a zone; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        moment = _from_iso(value)
        zone = moment.tzinfo
        if zone is UTC:
            return moment
        return moment.replace(tzinfo=UTC) if zone is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def ms_between(start: datetime | None, end: datetime | None) -> float | None:
    """Return the milliseconds from one time to another; None if one is missing or they run backwards."""
    if start is None or end is None:
        return None
    seconds = (end - start).total_seconds()
    return seconds * 1000 if seconds >= 0 else None


# Readable texts besides the main one of an event: reasons, warnings, plans, answers.


# Fields of the data of an event, with their labels. Codes and ids are not among them.
TOLD = {
    "activeWorkflowSummary": "active workflow",
    "additionalContext": "additional context",
    "blocker": "blocker",
    "content": "content",
    "cron": "schedule",
    "context": "context",
    "degradedReason": "why it was degraded",
    "description": "description",
    "diff": "diff",
    "displayPrompt": "prompt as shown",
    "error": "error",
    "errorMessage": "error",
    "failureReason": "reason of the failure",
    "fact": "fact",
    "feedback": "feedback",
    "fullCommandText": "command",
    "hint": "workflow",
    "initialMessage": "first message",
    "intention": "intention",
    "message": "message",
    "modelOverrideReason": "reason for the model",
    "modifiedArgs": "arguments as modified",
    "modifiedPrompt": "prompt as modified",
    "modifiedResult": "result as modified",
    "newFileContents": "new contents",
    "objective": "objective",
    "planContent": "plan",
    "projectionMessage": "message for the answer",
    "prompt": "prompt",
    "reason": "reason",
    "remediation": "remedy",
    "riskAssessment": "risk",
    "stopReason": "reason for stopping",
    "summary": "summary",
    "summaryContent": "summary",
    "systemMessage": "message",
    "tip": "tip",
    "url": "link",
    "verdict": "verdict",
    "warning": "warning",
}
OBJECTS = frozenset({"blocker", "content", "error", "modifiedArgs", "modifiedResult", "riskAssessment"})
_LETTER = re.compile(r"[^\W\d_]{2}")


def notes_in(data: Json, *known: str | None) -> dict[str, str]:
    """Return the texts of an object by their labels, without those shown already. The object stays unchanged."""
    notes: dict[str, str] = {}
    for key in data.keys() & TOLD.keys():
        value = data[key]
        text = value if isinstance(value, str) else json_text(value) if key in OBJECTS and value else None
        if text and text not in known and (_LETTER.search(text) or key == "cron"):
            notes[TOLD[key]] = text
    return dict(sorted(notes.items())) if len(notes) > 1 else notes
