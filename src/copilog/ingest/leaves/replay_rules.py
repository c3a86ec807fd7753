"""Rules for chat debug exports, agent trajectories (ATIF) and the lines of `copilog extract`.

Format notes: docs/formats/chat-replay.md, docs/formats/atif.md, docs/formats/trajectories.md
"""

from __future__ import annotations

Rules = tuple[tuple[str, str], ...]

_LOG = "{/prompts/*,}/logs/*"
REPLAY: Rules = (
    (f"{_LOG}/metadata/tools/**", "tool-definition"),
    ("/mcpServers/**", "tool-definition"),
    (f"{_LOG}/metadata/{{requestType,url}}", "program-info"),
    (f"{_LOG}/{{name,type}}", "kind"),
    (f"{_LOG}/metadata/{{intent,reasoning/effort,reasoning/summary,lastResponseId/modelId}}", "kind"),
    (f"{_LOG}/metadata/lastResponseId/marker", "sealed"),
    (f"{_LOG}/requestMessages/messages/*/content/*/{{cacheType,imageUrl/detail,imageUrl/mediaType}}", "kind"),
    (f"{_LOG}/requestMessages/messages/*/content/*/{{documentData/mediaType,value/phase}}", "kind"),
    (f"{_LOG}/requestMessages/messages/*/content/*/value/thinking/encrypted", "sealed"),
    (f"{_LOG}/requestMessages/messages/*/content/*/value/thinking/metadata/*", "kind"),
    (f"{_LOG}/requestMessages/messages/*/content/*/value/type", "kind"),
    (f"{_LOG}/requestMessages/messages/*/content/*/value/value/marker", "sealed"),
)
_TEXTS = (
    f"{_LOG}/requestMessages/messages/*/content",
    f"{_LOG}/requestMessages/messages/*/content/*/text",
    f"{_LOG}/requestMessages/messages/*/toolCalls/**",
    f"{_LOG}/requestMessages/prediction/content",
    f"{_LOG}/edits/**/newText",
    f"{_LOG}/{{response,args,thinking,error}}",
    f"{_LOG}/{{args,thinking}}/**",
    f"{_LOG}/response/{{*,message/*,reason}}",
    "{/prompts/*,}/prompt",
)
MARKDOWN: Rules = (
    ("/{heading,contents,title,mark/kind}", "kind"),
    ("/{note,style,mark/model}", "program-info"),
    ("/{mark,metadata/lastResponseId}", "sealed"),
    ("/metadata/tools{,/#/**}", "tool-definition"),
    ("/metadata/{url,requestType,model,resolved model,intent,location}", "program-info"),
    ("/metadata/{otherOptions,postOptions,reasoning,usage}{,/#/**}", "program-info"),
)
_STEP = "{/subagent_trajectories/*,}/steps/*"

MODEL: Rules = (
    ("{**/extra,/messages/*/parts/*/data}/**", "without-a-field"),
    ("/provenance/*/{path,workspace,pointer,row}", "address"),
    ("/documents/*/kind", "kind"),
)

RULES: dict[str, Rules] = {
    "chat-replay": REPLAY,
    "copilot-markdown": MARKDOWN,
    "atif": (
        ("{/subagent_trajectories/*,}/agent/tool_definitions/**", "tool-definition"),
        ("{/subagent_trajectories/*,}/agent/**", "program-info"),
        (f"{_STEP}/observation/results/*/subagent_trajectory_ref/*/trajectory_path", "address"),
        (f"{_STEP}/observation/results/*/subagent_trajectory_ref/*/extra/summary", "program-info"),
    ),
    "copilog-json": MODEL,
    "copilog-bundle": MODEL,
    "trajectory-file": (
        ("/{file_path,metadata/merge_log/*/*}", "address"),
        ("/telemetry_type", "kind"),
        ("/messages/*/name", "program-info"),
        ("/messages/*/merged/*", "kind"),
    ),
}
PROTECTED: dict[str, tuple[str, ...]] = {
    "chat-replay": _TEXTS,
    "copilot-markdown": ("/body", "/body/#/**", "/body/{call,tool}"),
    "atif": (
        "{/subagent_trajectories/*,}/notes",
        f"{_STEP}/{{message,reasoning_content}}",
        f"{_STEP}/tool_calls/*/arguments/**",
        f"{_STEP}/observation/results/*/content",
    ),
    "copilog-json": ("/messages/*/parts/*/text",),
    "copilog-bundle": ("/messages/*/parts/*/text",),
    "trajectory-file": ("/messages/*/{content,reasoning}", "/messages/*/tool_calls/**/arguments"),
}
