"""Each field that releases up to 1.0.102 of Copilot CLI added is at a place of its own in the model, or has a reason.

`PLACES` has the place of each field, `KEPT` those that stay in `extra` or in the data of a notice, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.sources.cli_builders import SESSION, Log, read_cleanly
from tests.sources.cli_samples import SAMPLES
from tests.sources.cli_samples_recent import NEW_FIELDS, NEW_TYPES

ADDED = {**NEW_TYPES, **NEW_FIELDS}
PLACES = {
    # --- what people read
    "assistant.fusion_phase_completed.content": "notice.text",
    "assistant.fusion_phase_completed.projectionMessage": "notice.notes.message for the answer",
    "assistant.fusion_phase_completed.verdict": "notice.notes.verdict",
    "assistant.fusion_phase_failed.errorMessage": "notice.text",
    "assistant.fusion_phase_failed.reason": "notice.notes.reason",
    "session.completion_receipt.stopReason": "notice.text",
    "session.error.remediation": "notice.notes.remedy",
    "session.fusion_completed.degradedReason": "notice.notes.why it was degraded",
    "session.fusion_completed.outcome": "notice.text",
    "session.fusion_handoff.message": "notice.text",
    "session.fusion_resolved.hint": "notice.notes.workflow",
    "session.fusion_resolved.pattern": "notice.text",
    "session.fusion_route_failed.errorMessage": "notice.text",
    "session.fusion_route_failed.reason": "notice.notes.reason",
    "session.mode_notice_delivered.content": "notice.text",
    "session.model_deselected.previousModel": "notice.text",
    "session.model_deselected.reason": "notice.notes.reason",
    "session.permission_recovery.reason": "notice.text",
    "session.task_complete.blocker": "notice.notes.blocker",
    "session.warning.remediation": "notice.notes.remedy",
    "system.message.contentBlocks.content": "prompt.text",
    # --- questions and permissions
    "human_response.recorded.toolCallId": "tool-call.id",
    "human_response.recorded.response.message": "confirmation.message",
    "human_response.recorded.response.content.oil": "confirmation.questions.answer",
    "human_response.recorded.response.requestedSchema.properties.oil.enum": "confirmation.questions.options",
    "human_response.recorded.response.requestedSchema.properties.oil.title": "confirmation.questions.title",
    "human_response.recorded.response.requestedSchema.properties.oil.type": "confirmation.questions.type",
    "permission.completed.blocker": "confirmation.notes.blocker",
    # --- tools
    "tool.execution_complete.fileEdits.kind": "file-edit.action",
    "tool.execution_complete.fileEdits.path": "file-edit.path",
    "tool.execution_complete.shellExecution.exitCode": "tool-call.exit_code",
    "tool.execution_start.toolTitle": "tool-call.title",
    # --- skills
    "skill.context_delivered.content": "attachment.text",
    "skill.invoked_ref.description": "turns.skills.description",
    "skill.invoked_ref.name": "turns.skills.name",
    "skill.invoked_ref.path": "turns.skills.file",
    # --- sub-agents
    "subagent.completed.modelOverrideReason": "tool-call.notes.reason for the model",
    "subagent.configured.model": "tool-call.subagent.model",
    "subagent.failed.durationMs": "tool-call.subagent.elapsed_ms",
    "subagent.failed.model": "tool-call.subagent.model",
    "subagent.failed.modelOverrideReason": "tool-call.notes.reason for the model",
    # --- compactions
    "session.compaction_complete.activeWorkflowSummary": "compaction.notes.active workflow",
    "session.compaction_complete.failureReason": "compaction.notes.reason of the failure",
    # --- tokens
    "session.usage_record.usage.cacheReadTokens": "turns.usage.cache_read",
    "session.usage_record.usage.cacheWriteTokens": "turns.usage.cache_write",
    "session.usage_record.usage.cost": "turns.usage.premium_requests",
    "session.usage_record.usage.inputTokens": "turns.usage.input",
    "session.usage_record.usage.model": "turns.usage.model",
    "session.usage_record.usage.outputTokens": "turns.usage.output",
    "session.usage_record.usage.reasoningTokens": "turns.usage.reasoning",
}
KEPT = {
    # shell pattern -> why no field of the model is for it
    "*Id": "an id by which the program finds its own records",
    "*.originatingMessageId": "an id by which the program finds its own records",
    "*.sequence": "it orders records that are in order; a fork's are known by sourceSessionId beside it",
    "session.completion_receipt.*": "it sums up calls and events that are in the log themselves",
    "session.fusion_completed.*": "it sums up phases, whose tokens are in session.usage_record",
    "assistant.fusion_phase_*": "how a step of several models was run; its tokens are in session.usage_record",
    "session.fusion_*": "how the program chose among models; the one that answered is on the message",
    "session.shutdown.accountingSnapshot.*": "totals that the event has beside it, and the records by call",
    "session.*.providerModelMetrics.*": "modelMetrics has the same sums, by model alone",
    "session.*.usageAccountingWatermarks.*": "how many records of each session the totals hold, all of which are read",
    "session.*.toolUsageRequestIds": "ids by which the program finds its own records",
    "session.usage_checkpoint.accountingSnapshot.*": "as in session.shutdown",
    "session.usage_record.usage.*": "how the call was made and how fast; figures ask for tokens and cost",
    "session.compaction_*": "how the program counts; summary, tokens and model have their places",
    "session.error.provider*": "the provider's own code; errorType and message are those of TurnError",
    "session.*.autoTier*": "a setting of the program",
    "session.*.previousAutoTier": "a setting of the program",
    "session.*.contextTier*": "a setting of the program",
    "session.*.reasoning*": "a setting of the program",
    "session.*.verbosity": "a setting of the program",
    "session.*.remoteSteerable": "a setting of the program",
    "session.start.githubMcpToolConfig.*": "a setting of the program",
    "session.start.alreadyInUse": "the state of the program as it started",
    "session.resume.*": "the state of the program as it started",
    "session.auto_mode_resolved.*": "how the program chose; the chosen model is that of the turn",
    "session.import_legacy.*": "where the session came from is its provenance",
    "session.mode_notice_delivered.mode": "session.mode_changed changes the mode; this is when the model learns of it",
    "session.permission_recovery.*": "the state of the program's own question, whose answer is a permission",
    "session.request_body_compression_disabled.*": "how the request went over the wire",
    "permission.*": "how the program decided; what it decided is the approval of the call",
    "human_response.recorded.*": "the shape of the answer, whose parts have their places",
    "mcp.oauth_recovery_completed.*": "a notice without a text of its own",
    "skill.*": "where the skill came from, and what it allows; its name, path and text have their places",
    "subagent.*": "how the sub-agent was chosen and is run; its name, model, prompt and result have their places",
    "tool.execution_start.mcp*": "how the server is configured; its name is that of the call",
    "tool.execution_*.rte": "how the request was routed",
    "tool.execution_complete.toolUsage.*": "what the tool's own calls cost; no run was seen with one",
    "external_tool.requested.*": "how the host was asked; the call and its result have their places",
    "assistant.message.reasoningBlocks.*": "the provider's form of the thinking, whose text is Thinking",
    "system.message.contentBlocks.type": "the form of a block, whose text is the prompt's",
    "system.message.contentBlocks.id": "an id by which the program finds its own records",
    "*.responsesReasoning": "what the program gives back to the provider; nobody can read it",
    "user.message.nativeDocumentPathFallbackPaths": "how the attachment was sent; it is an Attachment",
}
IN_TEXT = {"skill.context_delivered_ref.prefix", "skill.context_delivered_ref.suffix"}  # around the text of the skill


def leaves(value: Any, at: str) -> Iterator[tuple[str, Any]]:
    """Yield each value of some JSON with the names that lead to it."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, f"{at}.{name}")
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, at)
    elif value is not None:
        yield at, value


def places(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value of a conversation with its place: "turns.usage.input"; a part's begins with its kind."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from places(item, f"{at}.{name}" if at else name)
    elif isinstance(value, list):
        for item in value:
            yield from places(item, item["kind"] if at == "messages.parts" else at)
    elif value is not None:
        yield at, value


def session_with(event_type: str) -> Log:
    """Return a session with the event where the program writes it."""
    log, of = Log(), {}
    if event_type != "session.start":
        log.start().ask().call("toolu_1", "view").call("toolu_T", "task", {"prompt": "look"})
    if event_type == "tool.execution_complete":
        return log.begin("toolu_1", "view").end("toolu_1", **NEW_FIELDS[event_type])
    if event_type == "permission.completed":
        log.add("permission.requested", SAMPLES["permission.requested"])
    if event_type in ("subagent.completed", "subagent.configured", "subagent.failed"):
        log.add("subagent.started", {"toolCallId": "toolu_T", "agentName": "explore"}, agentId="a-1")
        of = {"agentId": "a-1"}
    data = json.loads(json.dumps(SAMPLES[event_type]))
    return log.add(event_type, {**data, "sessionId": SESSION} if event_type == "session.start" else data, **of)


def is_kept(place: str) -> bool:
    """Return whether a place is one for what has no field of its own."""
    return bool({"extra", "data"} & set(place.split(".")))


def test_locations_and_reasons_name_existing_fields() -> None:
    fields = {field for event_type, sample in ADDED.items() for field, _ in leaves(sample, event_type)}

    assert set(PLACES) - fields == set()
    left = fields - set(PLACES)
    assert [pattern for pattern in KEPT if not any(fnmatchcase(field, pattern) for field in left)] == []


@pytest.mark.parametrize("event_type", sorted(ADDED))
def test_each_new_field_is_read_or_has_a_reason_not_to_be(event_type: str, tmp_path: Path) -> None:
    conversation = read_cleanly(tmp_path, session_with(event_type))

    found = list(places(json.loads(msgspec.json.encode(conversation))))
    wrong: dict[str, list[str]] = {}
    for field, value in leaves(ADDED[event_type], event_type):
        at = [place for place, there in found if there == value and type(there) is type(value)]
        expected = PLACES.get(field)
        reasons = [reason for pattern, reason in KEPT.items() if fnmatchcase(field, pattern)]
        is_there = expected in at if expected is not None else bool(reasons) and any(map(is_kept, at))
        if not is_there and field not in IN_TEXT:
            wrong[field] = sorted(set(at))
    assert wrong == {}
