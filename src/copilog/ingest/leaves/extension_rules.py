"""Rules for the records of the Copilot Chat extension about its own work: debug logs, and spans in three forms.

Format notes: docs/formats/copilot-chat-extension.md
"""

from __future__ import annotations

Rules = tuple[tuple[str, str], ...]

_OFFERED = (
    "{gen_ai.tool.definitions,gen_ai.tool.description,gen_ai.skill.name,gen_ai.skill.description,"
    "gen_ai.skill.source.uri,github.copilot.context.skills,github.copilot.context.mcp_server_names,github.copilot.mcp.server.name}"
)
_KINDS = (
    "{gen_ai.operation.name,error.type,event.name,gen_ai.agent.name,copilot_chat.debug_name,copilot_chat.debug_log_label,github.copilot.agent.type,"
    "github.copilot.error_code,github.copilot.initiator,github.copilot.hook.type,github.copilot.hook.decision,"
    "copilot_chat.hook_type,copilot_chat.hook_result_kind,gen_ai.provider.name,gen_ai.response.finish_reasons/*,github.copilot.sandbox.*,"
    "github.copilot.mcp.server.transport,github.copilot.mcp.server.state,github.copilot.mcp.server.source,"
    "github.copilot.mcp.server.lifecycle,github.copilot.user.message.source,github.copilot.skill.source,"
    "github.copilot.skill.invocation_trigger}"
)
_TEXTS = (
    "{gen_ai.input.messages,gen_ai.output.messages,gen_ai.system_instructions,gen_ai.tool.call.arguments,"
    "gen_ai.tool.call.result,copilot_chat.hook_input,copilot_chat.hook_output,copilot_chat.hook_command,"
    "copilot_chat.user_request,copilot_chat.reasoning_content,copilot_chat.markdown_content,"
    "github.copilot.skill.content}"
)


def attributes(prefix: str) -> Rules:
    """Return rules for the attributes of a span at any path."""
    return (
        (f"{prefix}/{_TEXTS}**/type", "kind"),
        (f"{prefix}/{_TEXTS}**/{{external,fsPath,scheme,path}}", "address"),
        (f"{prefix}/{_OFFERED}**", "tool-definition"),
        (f"{prefix}/toolDefinitions**", "tool-definition"),
        (f"{prefix}/{_KINDS}{{,/stringValue}}", "kind"),
        (f"{prefix}/github.copilot.git.{{repository,branch,commit_sha}}{{,/stringValue}}", "workspace"),
        (f"{prefix}/exception.*", "diagnostic"),
    )


def text_paths(prefix: str) -> tuple[str, ...]:
    """Return the paths of texts of users and models in attributes of a span."""
    return (
        f"{prefix}/{_TEXTS}",
        f"{prefix}/{_TEXTS}/**/{{content,text,response,result,arguments}}",
    )


DEBUG: Rules = (
    ("/*/{type,name,spanId}", "kind"),
    ("/{type,name,spanId}", "kind"),
    ("/*/attrs/{label,childLogFile,systemPromptFile,toolsFile,debugName}", "program-info"),
    ("/subagent/attrs/agentName", "program-info"),  # of a sub-agent without a type: the program's own name
    ("/llm_request/attrs/inputMessages/#/*/parts/*/type", "kind"),
    ("/tool_call/attrs/args/#/chatSessionResource/**", "address"),
    ("/discovery/attrs/details", "program-info"),
    ("/content/#/*/{name,description}", "tool-definition"),
    ("/content/#/*/parameters/**", "tool-definition"),
    ("/*/{billing,capabilities,policy,supported_endpoints}/**", "program-info"),
    ("/*/{vendor,version,id}", "program-info"),
    ("/session_start/attrs/{copilotVersion,vscodeVersion}", "program-info"),
    ("/*/attrs/{category,resultKind,source}", "kind"),
)
_LOGGED = (
    "/user_message/attrs/content",
    "/agent_response/attrs/{response,reasoning}",
    "/agent_response/attrs/response/#/**/{content,arguments}",
    "/llm_request/attrs/{inputMessages,userRequest}",
    "/llm_request/attrs/inputMessages/#/**/{content,response,arguments}",
    "/tool_call/attrs/{args,result}",
    "/hook/attrs/{command,input,output}",
    "/subagent/attrs/{description,error}",
    "/content",
    "/content/#/*/content",
)
SPANS: Rules = (
    *attributes("{/*,}/attributes"),
    *attributes("{/*,}/events/*/attributes"),
    ("{/*,}/{name,body,_body,unit,description}", "kind"),
    ("{/*,}/attributes/{gen_ai.request.model,gen_ai.response.model,gen_ai.tool.name}", "kind"),  # of log records
    ("{/*,}/events/*/name", "kind"),
    ("{/*,}/{instrumentationScope,resource,instrumentationLibrary}/**", "program-info"),
    ("/{metric,scopeMetrics,metrics}/**", "diagnostic"),
)
_OTLP = "/resourceSpans/*/scopeSpans/*/spans/*"
OTLP: Rules = (
    *attributes(f"{_OTLP}/attributes"),
    *attributes(f"{_OTLP}/events/*/attributes"),
    (f"{_OTLP}/{{name,events/*/name}}", "kind"),
    ("/resourceSpans/*/{resource,scopeSpans/*/scope}/**", "program-info"),
)
TRACES: Rules = (
    *attributes("/span_attributes"),
    *attributes("/span_events/attributes/#"),
    ("/span_events/name", "kind"),
    ("/spans/{name,agent_name,operation_name}", "kind"),
    ("/spans/status_message", "diagnostic"),
)

RULES: dict[str, Rules] = {
    "debug-logs": DEBUG,
    "otel-file": SPANS,
    "otlp-export": OTLP,
    "agent-traces": TRACES,
}
PROTECTED: dict[str, tuple[str, ...]] = {
    "debug-logs": _LOGGED,
    "otel-file": (*text_paths("{/*,}/attributes"), *text_paths("{/*,}/events/*/attributes")),
    "otlp-export": text_paths(f"{_OTLP}/attributes"),
    "agent-traces": text_paths("/span_attributes"),
}
