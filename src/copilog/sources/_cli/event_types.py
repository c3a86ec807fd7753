"""The names of events: those that are written to disk, and those that only a captured stream holds."""

from __future__ import annotations

PERSISTED = frozenset(
    {
        "abort",
        "assistant.message",
        "assistant.reasoning",
        "assistant.turn_end",
        "assistant.turn_start",
        "external_tool.completed",
        "external_tool.requested",
        "hook.end",
        "hook.start",
        "permission.completed",
        "permission.requested",
        "session.auto_mode_resolved",
        "session.autopilot_objective_changed",
        "session.binary_asset",
        "session.canvas.recorded",
        "session.canvas.removed",
        "session.compaction_complete",
        "session.compaction_start",
        "session.context_changed",
        "session.context_cleared",
        "session.error",
        "session.handoff",
        "session.info",
        "session.mode_changed",
        "session.model_change",
        "session.permissions_changed",
        "session.plan_changed",
        "session.remote_steerable_changed",
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
        "session.warning",
        "session.workspace_file_changed",
        "skill.invoked",
        "subagent.completed",
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

# Early names, a name that lived for one release, and one that exists only in descriptions of the format.
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
    }
)

# What only a captured stream holds, besides the pieces of messages. Each becomes a notice of its own.
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
        "session.managed_settings_loaded",
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

RESULT = "result"  # the last line of a captured stream, which has no data
KNOWN = PERSISTED | PASSING | STREAMED | frozenset(ALIASES) | {RESULT}


def is_known(event_type: str) -> bool:
    """Whether somebody has described this type; families that grow are known by their first words."""
    return event_type in KNOWN or event_type.startswith(("factory.", "session.managed_settings_"))
