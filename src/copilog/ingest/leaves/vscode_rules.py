"""Rules for what VS Code writes: sessions, exports, its key-value store, editing sessions.

Format notes: docs/formats/vscode-chat.md, docs/formats/vscode-editing.md
"""

from __future__ import annotations

Rules = tuple[tuple[str, str], ...]


def below(prefix: str, rules: Rules) -> Rules:
    """Return the rules for values nested below a path."""
    return tuple((prefix + pattern, reason) for pattern, reason in rules)


# Texts of users and models: prompts, answers, thinking, arguments, results, edits, commands and their output.
_WRITTEN = (
    "/requests/*/message",
    "/requests/*/message/text",
    "/requests/*/message/parts/*/text",
    "/requests/*/{prompt,completion}",
    "/requests/*/response/*",
    "/requests/*/response/*/{value,content,markdown,title,message,data,edits,cellEdits,errors}",
    "/requests/*/response/*/{content,value,message,title,markdown}/value",
    "/requests/*/response/*/{edits,edit,errors,data,carousel}/*/**",
    "/requests/*/response/*/questions/*",
    "/requests/*/response/*/questions/*/{title,description,message,detailedMessage,defaultValue}{,/value}",
    "/requests/*/response/*/questions/*/options/*{,/label,/value,/description}",
    "/requests/*/response/*/{autoReply,acceptedResult}{,/**}",
    "/requests/*/response/*/{originMessage,startCommand/title,stopReason,systemMessage}{,/value}",
    "/requests/*/response/*/{value,content}/*/{value,text}",
    "/requests/*/response/*/pastTenseMessage",
    "/requests/*/response/*/pastTenseMessage/value",
    "/requests/*/response/*/resultDetails/{input,output}",
    "/requests/*/response/*/resultDetails/output/*/{value,text}",
    "/requests/*/response/*/resultError",
    "/requests/*/response/*/toolSpecificData/{command,rawInput,prompt,result,description,commandLine,input,output}",
    "/requests/*/response/*/toolSpecificData/{commandLine,confirmation}/**",
    "/requests/*/response/*/toolSpecificData/mcpAppData/html",
    "/requests/*/response/*/toolSpecificData/rawInput/**",
    "/requests/*/response/*/toolSpecificData/todoList/**",
    "/requests/*/response/*/toolSpecificData/terminalCommandOutput/{text,fullOutputPreview}",
    "/requests/*/result/metadata/systemPrompt",
    "/requests/*/{result/errorDetails,responseErrorDetails}/message",
    "/welcomeMessage",
    "/welcomeMessage/*",
    "/requests/*/result/metadata/{renderedUserMessage,renderedGlobalContext}",
    "/requests/*/result/metadata/{renderedUserMessage,renderedGlobalContext}/*/{text,imageUrl/url}",
    "/requests/*/result/metadata/messages/*/content",
    "/requests/*/result/metadata/edits/**",
    "/requests/*/result/metadata/codeBlocks/*/{code,markdownBeforeBlock}",
    "/requests/*/result/metadata/{summary,summaries/*}/{text,thinking,thinking/text}",
    "/requests/*/result/metadata/toolCallRounds/*/response",
    "/requests/*/result/metadata/toolCallRounds/*/thinking/text",
    "/requests/*/result/metadata/toolCallRounds/*/toolCalls/*/arguments",
    "/requests/*/result/metadata/toolCallRounds/*/toolCalls/*/arguments/**",
    "/requests/*/result/metadata/toolCallResults/*/content/*/value{,/*}",
    "/requests/*/result/metadata/toolCallResults/*/content/*/value/**/text",
    "/requests/*/variableData/variables/*/{value,code,pastedLines}",
    "/requests/*/variableData/variables/*/feedbackItems/*/{text,codeSelection,diffHunks,replies/**}",
    "/requests/*/voteDownReason",
    "/requests/*/result/metadata/toolCallRounds/*/{summary,hookContext}",
    "/requests/*/followups/*/{message,title}",
    "/{inputState/,}inputText",
    "/pendingRequests/**/message/{text,parts/*/text}",
    "/pendingRequests/*/request/message",
    "/pendingRequests/*/sendOptions/instructionContext/**",
    "/pendingRequests/*/sendOptions/modeInfo/modeInstructions/content",
    "/repoData/diffs/*/unifiedDiff",
    "/requests/*/response/*/{command,additionalCommands/*}/arguments/**",
    "/requests/*/result/nextQuestion/prompt",
    "/requests/*/response/*/resultDetails/mcpOutput/content/*/text",
)

OVERWRITTEN = (
    "/:overwritten"  # prefix of the path of a value that a later line of a log replaced; no key is written like this
)

_MODEL = (
    ("/auth/**", "account"),
    ("/extension/**", "program-info"),
    ("/{family,version,name,vendor,tooltip,detail,description,id}", "program-info"),
    ("/modelPickerCategory/label", "program-info"),
    ("/statusIcon/**", "icon"),
)
_AGENT = (
    ("/metadata/requester/**", "account"),
    ("/metadata/{themeIcon,icon,iconDark}/**", "icon"),
    ("/{description,when,name,fullName,id,extension*,publisher*}", "program-info"),
    ("/{extensionId,metadata,slashCommands,disambiguation,locations,modes,capabilities}/**", "program-info"),
)
_COMMAND = (
    ("/{name,description,detail,sampleRequest,followupPlaceholder,when}", "program-info"),
    ("/disambiguation/**", "program-info"),
)

_OPTIONS = (
    ("/{modeInfo,modeInfo/modeInstructions}/{telemetryModeId,telemetryModeName,modeId,kind,name}", "program-info"),
    ("/modeInfo/modeInstructions/{allowedSubagents,metadata,toolReferences,uri}/**", "tool-definition"),
    ("/{userSelectedModelId,agentId,agentIdSilent,slashCommand,location,terminalExecutionId}", "program-info"),
    ("/metadata/**", "program-info"),
    ("/{userSelectedModelConfiguration,userSelectedTools,agentHostMessageOrigin}/**", "program-info"),
    ("/locationData/**/{type,id}", "kind"),
    ("/locationData/document/**", "address"),
)

SESSION: Rules = (
    # the same address again, in the spellings of a URI object
    ("/**/{fsPath,external,_sep,_formatted}", "address"),
    (
        "/requests/*/response/**/{uri,reference,inlineReference,baseUri,anchor,location}/{scheme,authority,path,query,fragment}",
        "address",
    ),
    ("/requests/*/response/*/baseUri", "address"),
    ("/requests/*/response/*/{invocationMessage,pastTenseMessage}/uris/**", "address"),
    ("/requests/*/response/*/toolSpecificData/{terminalCommandUri,cwd}/**", "address"),
    ("/requests/*/result/metadata/toolCallResults/*/content/*/value/**/anchor/**", "address"),
    ("/requests/*/result/metadata/cacheKey", "address"),
    ("/initialLocation/location/**", "address"),
    (
        "/requests/*/variableData/variables/*/{annotationsResource,sessionResource,resource}/{scheme,path,query}",
        "address",
    ),
    ("/requests/*/response/*/toolSpecificData/{mcpAppData/resourceUri,openLink,chatResource}{,/**}", "address"),
    (
        "/requests/*/response/*/{toolSpecificData/modifiedFiles/*/,}{before,after,modified,original}ContentUri{,/**}",
        "address",
    ),
    ("/requests/*/response/*/multiDiffData/resources/*/{originalUri,modifiedUri}{,/**}", "address"),
    ("/requests/*/contentReferences/*/options/{originalUri,modifiedUri}{,/**}", "address"),
    ("/requests/*/variableData/**/baseUri{,/**}", "address"),
    (
        "/requests/*/variableData/variables/*/{value/filterUri,historyItemChangeStart/uri,historyItemChangeEnd/uri}{,/**}",
        "address",
    ),
    # accounts
    ("/requests/*/variableData/variables/**/historyItem/{author,authorEmail}", "account"),
    ("/requesterUsername", "account"),
    ("/{requester,responder}AvatarIcon*/**", "icon"),
    # texts of the program about itself
    *below("/requests/*/agent", _AGENT),
    *below("/requests/*/message/parts/*/agent", _AGENT),
    *below("/requests/*/slashCommand", _COMMAND),
    *below("/requests/*/message/parts/*/{slashCommand,command,slashPromptCommand}", _COMMAND),
    *below("/{inputState/,}selectedModel/metadata", _MODEL),
    ("/requests/*/message/parts/*/displayName", "program-info"),
    ("/requests/*/message/parts/*/icon/**", "icon"),
    ("/requests/*/contentReferences/*/iconPath/**", "icon"),
    ("/requests/*/response/*/{icon,toolSpecificData/terminalTheme}/**", "icon"),
    ("/requests/*/variableData/variables/*/{icon,iconPath}/**", "icon"),
    ("/requests/*/{response,variableData}/**/isTrusted/enabledCommands/*", "program-info"),
    ("/requests/*/response/*/command/{$ident,id}", "program-info"),
    ("/requests/*/response/*/source/**", "program-info"),
    ("/requests/*/variableData/variables/*/{ariaLabel,fullName,originLabel}", "program-info"),
    ("/requests/*/variableData/variables/*/buttons/*/tooltip", "program-info"),
    ("/requests/*/variableData/variables/*/{iconClasses/*,buttons/*/iconClass}", "icon"),
    ("/requests/*/variableData/variables/*/toolReferences/**", "tool-definition"),
    ("/requests/*/variableData/variables/*/value/*/{name,fullName,toolName,id}", "tool-definition"),
    ("/requests/*/message/parts/*/tools/*/{toolName,name,fullName,displayName}", "tool-definition"),
    ("/requests/*/result/metadata/availableTools/*", "tool-definition"),
    *below("/pendingRequests/*/request/agent", _AGENT),
    *below("/pendingRequests/*/sendOptions", _OPTIONS),
    ("/{inputState/,}{modelConfiguration,selectedModel/modelConfiguration}/**", "program-info"),
    ("/requests/*/modelConfiguration/**", "program-info"),
    ("/inputState/contrib/**", "program-info"),
    ("/requests/*/variableData/variables/*/{owner,value/owner}", "program-info"),
    ("/requests/*/modeInfo/modeInstructions/{allowedSubagents,metadata}/**", "tool-definition"),
    ("/requests/*/origin/**", "program-info"),
    ("/requests/*/result/metadata/{command,globalContextCacheKey}", "program-info"),
    ("/requests/*/result/metadata/summaries/*/summarizationMode", "program-info"),
    ("/requests/*/result/nextQuestion/{command,participant}", "program-info"),
    ("/welcomeMessage/*/**", "program-info"),
    # the workspace folder
    ("/repoData/*", "workspace"),
    ("/repoData/diffs/*/{relativePath,oldRelativePath,changeType,status}", "workspace"),
    # names from fixed lists
    ("/initialLocation", "kind"),
    ("/requests/*/response/*/{kind,presentation,answerPresentation,toolSpecificData/kind}", "kind"),
    ("/requests/*/response/*/{metadata/stopReason,actions/*/permissionLevel,resultDetails/inputLanguage}", "kind"),
    ("/requests/*/response/*/isConfirmed/{source,selectedButtonKind}", "kind"),
    ("/requests/*/response/*/toolSpecificData/{phaseStatus,operation,presentationOverrides/language}", "kind"),
    ("/requests/*/response/*/toolSpecificData/modifiedFiles/*/editKind", "kind"),
    ("/requests/*/variableData/variables/*/language", "kind"),
    ("/requests/*/{requestSource,result/metadata/filterCategory,result/metadata/summaries/*/outcome}", "kind"),
    ("/requests/*/result/metadata/toolCallRounds/*/{phase,phaseModelId}", "kind"),
    ("/requests/*/codeCitations/*/kind", "kind"),
    ("/requests/*/modelState/reason", "kind"),
    # texts shown while a tool ran
    ("/requests/*/response/*/invocationMessage", "passing"),
    ("/requests/*/response/*/invocationMessage/value", "passing"),
    # data for the service that answers
    ("/requests/*/result/metadata/toolCallRounds/*/statefulMarker", "sealed"),
    ("/requests/*/result/metadata/{renderedUserMessage,renderedGlobalContext}/*/cacheType", "kind"),
    ("/requests/*/result/metadata/toolCallRounds/*/thinking/{encrypted,id}", "sealed"),
    ("/requests/*/result/metadata/toolCallRounds/*/compaction/encrypted_content", "sealed"),
)

_SNAPSHOTS = (
    "{linearHistory/*/postEdit/*,linearHistory/*/stops/*/entries/*,linearHistory/*/entries/*,"
    "recentSnapshot/entries/*,pendingSnapshot/entries/*}"
)
EDITING: Rules = (
    (f"/{_SNAPSHOTS}/snapshotUri", "address"),
    (f"/{_SNAPSHOTS}/telemetryInfo/**", "program-info"),
    ("/**/{fsPath,external,_sep,_formatted}", "address"),
    ("/timeline/operations/*/uri/{scheme,fragment}", "address"),
    ("/timeline/operations/*/type", "kind"),
    ("/timeline/checkpoints/*/{label,description}", "program-info"),
    ("/timeline/fileBaselines/*/*", "address"),
    ("/timeline/fileBaselines/*/*/notebookViewType", "kind"),
)
_EDITED = (
    "/linearHistory/**/originalToCurrentEdit/*/txt",
    "/{recentSnapshot,pendingSnapshot}/**/originalToCurrentEdit/*/txt",
    "/timeline/operations/*/edits/**",
    "/timeline/operations/*/cellEdits/**",
    "/timeline/operations/*/initialContent",
    "/timeline/fileBaselines/*/*/content",
    "/initialFileContents/*/*",
    "/text",
    "/text/**",
)

SESSIONS_IN_STORE = "/ItemTable/{interactive.sessions,chat.workspaceTransfer}/#/*"

# Keys of the store that concern chat: only the rules above define what need not be stored of them.
CHAT_KEYS = (
    "{interactive.*,chat.*,ChatSessionStore.*,agentSessions.*,memento~1interactive-session*,"
    "*inline-chat*,memento~1chat-*,GitHub.copilot-chat,github.copilot*}"
)
_INPUT = "/ItemTable/{chat.untitledInputState,memento~1interactive-session-view-*,terminal-inline-chat-view-state}/#"
_HISTORY = "/ItemTable/memento~1interactive-session/#/history/*/*"
_MODE = "/ItemTable/{chat.customModes,chat.customModes.local}/#/*"
STATE: Rules = (
    *below(SESSIONS_IN_STORE, SESSION),
    *below(f"{_INPUT}/selectedModel/metadata", _MODEL),
    *below(f"{_HISTORY}/selectedModel/metadata", _MODEL),
    (f"{_INPUT}/selectedModel/identifier", "program-info"),
    (f"{_HISTORY}/selectedModel/identifier", "program-info"),
    (f"{_INPUT}/sessionResource/**", "address"),
    (f"{_HISTORY}/{{attachments,state/chatContextAttachments}}/**/{{fsPath,external,path,scheme}}", "address"),
    ("/ItemTable/agentSessions.{model,state}.cache/#/*/resource", "address"),
    ("/ItemTable/chat.editingSession", "address"),
    ("/ItemTable/ChatSessionStore.transferIndex/#/*/{sessionResource,toWorkspace}/**", "address"),
    ("/ItemTable/chat.ChatSessionStore.index/#/entries/*/workingDirectory", "address"),
    (f"{_MODE}/handOffs/*/{{label,prompt}}", "definition"),
    (f"{_MODE}/modeInstructions/toolReferences/**", "tool-definition"),
    (f"{_MODE}/uri/{{external,fsPath,path,scheme}}", "address"),
    (f"{_MODE}/{{id,uri}}", "address"),
    (f"{_MODE}/source/{{type,storage,extensionId}}", "kind"),
    (f"{_MODE}/model/*", "definition"),
    (f"/ItemTable/{CHAT_KEYS}**", ""),
    ("/{ItemTable,cursorDiskKV}/**", "other-program"),
)

FILE: Rules = (*SESSION, (f"{OVERWRITTEN}/**", "overwritten"))
RULES: dict[str, Rules] = {
    "vscode-session": FILE,
    "vscode-session-log": FILE,
    "chat-export": FILE,
    "vscode-editing": EDITING,
    "vscode-state": STATE,
}
PROTECTED: dict[str, tuple[str, ...]] = {
    "vscode-session": _WRITTEN,
    "vscode-session-log": _WRITTEN,
    "chat-export": _WRITTEN,
    "vscode-editing": _EDITED,
    "vscode-state": (
        *(SESSIONS_IN_STORE + pattern for pattern in _WRITTEN),
        f"{_HISTORY}/{{inputText,text}}",
        f"{_INPUT}/{{inputText,inputValue}}",
        "/ItemTable/chat.ChatSessionStore.index/#/entries/*/inputState/inputText",
        f"{_MODE}/{{name,description,body,argumentHint,modeInstructions,modeInstructions/content}}",
        "/ItemTable/{inline-chat-history,terminal-inline-chat-history}/#/*",
        "/ItemTable/memento~1chat-todo-list/#/*/*/{title,description}",
    ),
    "vscode-resources": ("/text",),
}
