"""Rules for Copilot CLI: event logs and the files beside them, first sessions, stores, and transcripts of VS Code.

Format notes: docs/formats/copilot-cli.md, docs/formats/session-store.md
"""

from __future__ import annotations

Rules = tuple[tuple[str, str], ...]

EVENTS: Rules = (
    ("/*/type", "kind"),
    ("/assistant.message{,_start}/data/{phase,reasoningWireField}", "kind"),
    ("/session.info/data/infoType", "kind"),
    ("/session.warning/data/warningType", "kind"),
    ("/session.error/data/errorType", "kind"),
    ("/session.truncation/data/{performedBy,reason}", "kind"),
    ("/{user.message,session.model_change,skill.context_delivered*}/data/source", "kind"),
    ("/session.compaction_complete/data/{outcomeReason,tokenAccountingBasis}", "kind"),
    ("/subagent.{started,completed,failed}/data/modelSelectionSource", "kind"),
    ("/rows/*/file", "address"),
    ("/system.notification/data/kind/type", "kind"),
    ("/session.skills_loaded/data/skills/*/source", "kind"),
    ("/hook.start/data/input/toolResult/newMessages/*/source", "kind"),
    ("/session.start/data/producer", "program-info"),
    ("/session.{start,resume,context_changed}/data/context/**", "workspace"),
    ("/assistant.message/data/{encryptedContent,reasoningOpaque}", "sealed"),
    ("/session.{auto_mode_resolved,usage_record}/data/**", "program-info"),
    ("/model.*/data/modelCall/**", "program-info"),
    ("/model.*/data/{modelInfo,requestSettings}/**", "program-info"),
    ("/model.*/data/responseChunk/{model,object,system_fingerprint,service_tier}", "program-info"),
    ("/model.*/data/responseChunk/choices/*/{finish_reason,delta/role,delta/responses_message_status}", "kind"),
    ("/session.compaction_complete/data/checkpointPath", "address"),
    ("/session.error/data/stack", "diagnostic"),
    ("/{tool.execution_complete,tool.execution_end}/data/toolTelemetry/**", "diagnostic"),
    ("/skill.context_delivered_ref/data/suffix", "program-info"),
    ("/subagent.{started,selected,completed,failed}/data/{agentDescription,agentDisplayName}", "program-info"),
    ("/subagent.selected/data/tools/*", "tool-definition"),
)
_SAID = (
    "/user.message/data/{content,transformedContent}",
    "/system.message/data/content",
    "/system.message/data/contentBlocks/*/content",
    "/assistant.message/data/{content,reasoningText}",
    "/assistant.message/data/toolRequests/*/{arguments,input,intentionSummary}",
    "/assistant.message/data/toolRequests/*/arguments/**",
    "/assistant.{message,reasoning}_delta/data/deltaContent",
    "/assistant.tool_call_delta/data/inputDelta",
    "/assistant.tool_call_delta/data/inputDelta/**",
    "/assistant.reasoning/data/content",
    "/tool.execution_start/data/arguments",
    "/tool.execution_start/data/arguments/**",
    "/{tool.execution_complete,tool.execution_end}/data/{result,error}",
    "/{tool.execution_complete,tool.execution_end}/data/{result,error}/**",
    "/tool.execution_partial_result/data/partialOutput",
    "/tool.shell_output/data/text",
    "/hook.start/data/input/{toolArgs,toolResult}",
    "/hook.start/data/input/toolArgs/**",
    "/hook.start/data/input/toolResult/{textResultForLlm,sessionLog,error}",
    "/hook.start/data/input/toolResult/{contents,binaryResultsForLlm}/**",
    "/hook.start/data/input/prompt",
    "/session.compaction_complete/data/{summaryContent,customInstructions}",
    "/{skill.invoked,skill.context_delivered}/data/content",
    "/model.messages_snapshot/data/messages/*/content",
    "/model.model_call_success/data/requestMessages/**",
    "/model.*/data/responseChunk/choices/*/delta/{content,reasoning_text,refusal}",
    "/model.*/data/responseChunk/choices/*/delta/tool_calls/*/function/arguments",
    "/model.message/data/message/content",
    "/model.response/data/response/content",
    "/human_response.recorded/data/response",
    "/human_response.recorded/data/response/**",
    "/summary",
    "/text",
)

STORE: Rules = (
    ("/search_index/{source_type,source_id}", "search-index"),
    ("/search_index_*/**", "search-index"),
    ("/assistant_usage_events/**", "program-info"),
    ("/session_files/tool_name", "program-info"),
    ("/sessions/agent_name", "program-info"),
)
_STORED = (
    "/turns/{user_message,assistant_response}",
    "/checkpoints/{title,overview,history,work_done,technical_details,important_files,next_steps}",
    "/sessions/summary",
    "/search_index/content",
    "/session_files/file_path",
)

RULES: dict[str, Rules] = {
    "cli-events": EVENTS,
    "transcripts": EVENTS,
    "cli-history": (("/{timeline,chatMessages}/*/{type,role}", "kind"),),
    "session-store": STORE,
    "rewind-snapshots": (
        ("/snapshots/*/backupHashes/*", "address"),
        ("/snapshots/*/files/*/backupFile", "address"),
        ("/filePathMap/*", "address"),
    ),
}
PROTECTED: dict[str, tuple[str, ...]] = {
    "cli-events": _SAID,
    "transcripts": _SAID,
    "cli-history": ("/chatMessages/*/{content,tool_calls/**}", "/timeline/*/{text,arguments/**,result/**}"),
    "session-store": _STORED,
    "session-todos": ("/todos/{title,description}",),
    "rewind-snapshots": ("/snapshots/*/userMessage", "/text"),
    "memories": ("/text",),
}
