"""Texts of sessions of VS Code. Format notes: docs/formats/vscode-chat.md"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

PLACE: Json = {"$mid": 1, "scheme": "file", "path": "/home/ana/tides/@/harbour.py"}
SPAN: Json = {"startLineNumber": 1, "startColumn": 1, "endLineNumber": 2, "endColumn": 1}
MARKDOWN: Json = {"value": ..., "isTrusted": {"enabledCommands": [...]}, "baseUri": PLACE}
COMMAND: Json = {"id": "some.command", "title": ..., "tooltip": ..., "arguments": [{"query": ...}, ...]}
EDIT: Json = {"range": SPAN, "text": ...}
COMMIT: Json = {"id": "c", "message": ..., "subject": ..., "author": ..., "authorEmail": ...}


def call(**fields: Any) -> Json:
    made = {"kind": "toolInvocationSerialized", "toolId": "some_tool", "toolCallId": "call-1", "isComplete": True}
    return {**made, "invocationMessage": MARKDOWN, "pastTenseMessage": MARKDOWN, **fields}


def tool(kind: str, **fields: Any) -> Json:
    return call(toolSpecificData={"kind": kind, **fields})


QUESTION: Json = {
    "id": "q1",
    "type": "singleSelect",
    "title": ...,
    "message": MARKDOWN,
    "detailedMessage": MARKDOWN,
    "description": ...,
    "options": [{"id": "o1", "label": ..., "value": ...}, {"id": "o2", "label": ..., "value": {"deep": ...}}],
    "defaultValue": ...,
}
PARTS: dict[str, Any] = {
    "string": ...,
    "markdown": MARKDOWN,
    "tree": {"label": ..., "uri": PLACE, "children": [{"label": ..., "uri": PLACE}]},
    "treeData": {"kind": "treeData", "treeData": {"label": ..., "uri": PLACE}},
    "markdownContent": {"kind": "markdownContent", "content": MARKDOWN},
    "markdownVuln": {
        "kind": "markdownVuln",
        "content": MARKDOWN,
        "vulnerabilities": [{"title": ..., "description": ...}],
    },
    "thinking": {"kind": "thinking", "value": [..., ...], "generatedTitle": ..., "metadata": {"stopReason": ...}},
    "inlineReference": {"kind": "inlineReference", "inlineReference": PLACE, "name": ...},
    "symbol": {
        "kind": "inlineReference",
        "inlineReference": {"name": ..., "kind": 4, "containerName": ..., "location": {"uri": PLACE, "range": SPAN}},
    },
    "textEditGroup": {"kind": "textEditGroup", "uri": PLACE, "edits": [[EDIT], [EDIT]], "done": True},
    "notebookEditGroup": {
        "kind": "notebookEditGroup",
        "uri": PLACE,
        "edits": [[{"uri": PLACE, "edit": EDIT}], [{"editType": 1, "index": 0, "cells": [{"source": ...}]}]],
    },
    "workspaceEdit": {"kind": "workspaceEdit", "edits": [{"oldResource": PLACE}]},
    "externalEdit": {
        "kind": "externalEdit",
        "uri": PLACE,
        "editKind": "edit",
        "originalUri": {**PLACE, "path": "/home/ana/tides/before.py"},
        "beforeContentUri": {**PLACE, "path": "/home/ana/tides/contents/before"},
        "afterContentUri": "content:/home/ana/tides/contents/after",
    },
    "multiDiffData": {
        "kind": "multiDiffData",
        "multiDiffData": {
            "title": ...,
            "resources": [
                {
                    "originalUri": {**PLACE, "path": "/home/ana/tides/original.py"},
                    "modifiedUri": {**PLACE, "path": "/home/ana/tides/modified.py"},
                    "goToFileUri": {**PLACE, "path": "/home/ana/tides/opened.py"},
                    "added": 1,
                }
            ],
        },
    },
    "call": call(originMessage=MARKDOWN, generatedTitle=..., resultError=..., presentation="hiddenAfterComplete"),
    "call that only began": {**call(), "pastTenseMessage": None},
    "call, denied": call(isConfirmed={"type": 0, "source": ..., "reason": MARKDOWN}),
    "call, allowed": call(isConfirmed={"type": 4, "selectedButton": ..., "selectedButtonKind": ..., "reason": ...}),
    "call of a server": call(source={"type": "mcp", "label": ..., "serverLabel": ..., "instructions": ...}),
    "call of a user's tool": call(source={"type": "user", "label": ..., "file": PLACE}),
    "places": call(resultDetails=[PLACE, {"uri": PLACE, "range": SPAN}]),
    "input and output": call(
        resultDetails={
            "input": ...,
            "inputLanguage": "json-with-comments",
            "output": [
                {"type": "embed", "value": ..., "isText": True, "mimeType": "text/plain", "audience": ["user"]},
                {"type": "ref", "uri": PLACE, "mimeType": "text/plain"},
            ],
            "mcpOutput": {"content": [{"type": "text", "text": ...}], "structuredContent": {"tide": ...}},
        }
    ),
    "input beside arguments": tool("input", rawInput={"query": ...}) | {"resultDetails": {"input": ..., "output": []}},
    "output as text": call(resultDetails={"input": ..., "output": ...}),
    "progressMessage": {"kind": "progressMessage", "content": MARKDOWN},
    "progressTask": {
        "kind": "progressTaskSerialized",
        "content": MARKDOWN,
        "progress": [{"kind": "warning", "content": MARKDOWN}, {"kind": "reference", "reference": PLACE}],
    },
    "systemNotification": {
        "kind": "systemNotification",
        "content": MARKDOWN,
        "icon": {"id": "some-icon-of-theirs"},
        "presentation": "workspaceTransition",
        "workspaceName": ...,
        "accessibilityLabel": ...,
    },
    "warning": {"kind": "warning", "content": MARKDOWN},
    "info": {"kind": "info", "content": MARKDOWN},
    "command": {"kind": "command", "command": COMMAND, "additionalCommands": [COMMAND]},
    "confirmation": {
        "kind": "confirmation",
        "title": ...,
        "message": MARKDOWN,
        "data": {"prompt": ...},
        "buttons": [..., ...],
    },
    "elicitation": {
        "kind": "elicitationSerialized",
        "title": MARKDOWN,
        "message": MARKDOWN,
        "subtitle": MARKDOWN,
        "source": {"type": "mcp", "label": ..., "serverLabel": ..., "instructions": ...},
        "state": "accepted",
        "acceptedResult": {"name": ...},
        "autoReply": ...,
    },
    "questionCarousel": {
        "kind": "questionCarousel",
        "questions": [QUESTION, {"id": "q2", "type": "text", "title": ..., "defaultValue": [..., ...]}],
        "message": MARKDOWN,
        "data": {"q1": {"selectedValue": ..., "freeformValue": ...}, "q2": ..., "q9": {"selectedValues": [...]}},
        "autoReply": {"q2": ...},
        "answerPresentation": "conversation",
    },
    "planReview": {
        "kind": "planReview",
        "title": ...,
        "content": ...,
        "actions": [{"id": "a1", "label": ..., "description": ..., "permissionLevel": "autoApproveAll"}],
        "planUri": PLACE,
        "data": {"action": ..., "feedback": ..., "feedbackOverall": ..., "feedbackInlineMarkdown": ...},
    },
    "hook": {
        "kind": "hook",
        "hookType": "UserPromptSubmit",
        "stopReason": ...,
        "systemMessage": ...,
        "toolDisplayName": ...,
        "metadata": {"detail": ...},
    },
    "pullRequest": {
        "kind": "pullRequest",
        "title": ...,
        "description": ...,
        "author": ...,
        "linkTag": ...,
        "uri": PLACE,
        "command": COMMAND,
    },
    "extensions": {"kind": "extensions", "extensions": ["example.some-linter"]},
    "servers": {
        "kind": "mcpServersInteractionRequired",
        "servers": [{"serverId": "s1", "serverLabel": ..., "errorMessage": ...}],
        "startCommand": COMMAND,
    },
    "servers that started": {"kind": "mcpServersStarting", "didStartServerIds": ["server-of-the-tides"]},
    "autoModeResolution": {"kind": "autoModeResolution", "resolved": {"id": "a-model-of-theirs", "name": ...}},
    "prepareToolInvocation": {"kind": "prepareToolInvocation", "toolName": "some_tool_with_a_long_name"},
    "voiceProgress": {"kind": "voiceProgress", "id": "v1", "value": ...},
    "codeCitation": {"kind": "codeCitation", "value": PLACE, "license": ..., "snippet": ...},
    "terminal": tool(
        "terminal",
        commandLine={"original": ..., "userEdited": ..., "toolEdited": ..., "forDisplay": ...},
        language="shellscript-of-ours",
        cwd=PLACE,
        terminalTheme={"background": "#000000", "cursorAccent": "rgba(1, 2, 3, 0.5)"},
        terminalCommandUri={**PLACE, "scheme": "vscode-terminal"},
        terminalCommandOutput={"text": ..., "fullOutputPreview": ...},
        autoApproveInfo=MARKDOWN,
        confirmation={"commandLine": ..., "cwdLabel": ..., "cdPrefix": ...},
        presentationOverrides={"commandLine": ..., "language": "shellscript-of-ours"},
        alternativeRecommendation=...,
        intention=...,
        requestUnsandboxedExecutionReason=...,
        requestAllowNetworkReason=...,
        missingSandboxDependencies=[...],
        sandboxRemediations=[{"label": ..., "command": ...}],
        sandboxPrerequisiteFailure=...,
    ),
    "terminal, legacy": tool("terminal", command=..., language="sh"),
    "app of a server": tool(
        "input",
        rawInput={"query": ...},
        mcpAppData={"kind": "local", "resourceUri": "ui://tides/page.html", "html": ..., "serverDefinitionId": "s"},
    ),
    "todoList": tool("todoList", todoList=[{"id": "1", "title": ..., "description": ..., "status": "not-started"}]),
    "subagent": tool(
        "subagent",
        description=...,
        agentName=...,
        agentDisplayName=...,
        prompt=...,
        result=...,
        modelName=...,
        chatResource={**PLACE, "path": "/chat/of/the/helper"},
        presentation="phase",
        phaseStatus="waitingForInput",
        activityDescription=...,
        activity=...,
    ),
    "simpleToolInvocation": tool("simpleToolInvocation", input=..., output=...),
    "resources": tool("resources", values=[PLACE]),
    "modifiedFilesConfirmation": tool(
        "modifiedFilesConfirmation",
        options=[{"id": "a", "label": ...}, ...],
        modifiedFiles=[
            {
                "uri": PLACE,
                "editKind": "edit",
                "originalUri": {**PLACE, "path": "/home/ana/tides/original.py"},
                "modifiedContentUri": {**PLACE, "path": "/home/ana/contents/modified"},
                "originalContentUri": "content:/home/ana/contents/original",
                "title": ...,
                "description": ...,
            }
        ],
    ),
    "agentFeedbackReviewConfirmation": tool("agentFeedbackReviewConfirmation", options=[...]),
    "sessionCreated": tool("sessionCreated", openLink="vscode://open/some/session", label=..., fullTitle=...),
    "automationConfigured": tool("automationConfigured", automationName=..., operation="created"),
}

VARIABLES: dict[str, Json] = {
    "file": {"kind": "file", "value": {"uri": PLACE, "range": SPAN}, "fullName": ..., "modelDescription": ...},
    "directory": {"kind": "directory", "value": PLACE},
    "symbol": {"kind": "symbol", "value": {"uri": PLACE, "range": SPAN}},
    "image": {"kind": "image", "value": {"$base64": "R0lGODdhR0lGODdh"}, "mimeType": "image/x-of-ours"},
    "notebookOutput": {"kind": "notebookOutput", "value": {"$base64": "R0lGODdhR0lG"}, "mimeType": "image/x-of-ours"},
    "paste": {
        "kind": "paste",
        "value": ...,
        "code": ...,
        "language": "plaintext-of-ours",
        "pastedLines": ...,
        "fileName": ...,
        "copiedFrom": {"uri": PLACE, "range": SPAN},
    },
    "implicit": {"kind": "implicit", "value": {"value": ..., "uri": PLACE, "name": ...}, "enabled": False},
    "string": {"kind": "string", "value": ..., "uri": PLACE, "resourceUri": PLACE, "tooltip": MARKDOWN},
    "workspace": {"kind": "workspace", "value": ...},
    "promptFile": {
        "kind": "promptFile",
        "value": PLACE,
        "originLabel": ...,
        "toolReferences": [{"kind": "tool", "id": "some_tool_of_theirs", "name": ...}],
    },
    "promptText": {"kind": "promptText", "value": ..., "settingId": "chat.instructions.ours", "toolReferences": []},
    "tool": {"kind": "tool", "id": "some_tool_of_theirs"},
    "toolset": {"kind": "toolset", "value": [{"kind": "tool", "id": "some_tool_of_theirs", "name": ...}]},
    "diagnostic": {
        "kind": "diagnostic",
        "value": {"owner": "some-linter-of-theirs", "problemMessage": ..., "filterUri": PLACE},
        "owner": "some-linter-of-theirs",
        "problemMessage": ...,
        "filterUri": PLACE,
    },
    "terminalCommand": {"kind": "terminalCommand", "value": ..., "resource": PLACE, "command": ..., "output": ...},
    "debugVariable": {"kind": "debugVariable", "value": ..., "expression": ..., "type": ...},
    "element": {
        "kind": "element",
        "value": ...,
        "innerText": ...,
        "ancestors": [{"tagName": "custom-element-a", "classNames": ["class-of-theirs"]}],
        "attributes": {"title": ..., "href": "https://example.com/tides"},
        "computedStyles": {"font-family": "some font of theirs"},
    },
    "scmHistoryItem": {"kind": "scmHistoryItem", "value": PLACE, "historyItem": COMMIT},
    "scmHistoryItemChange": {"kind": "scmHistoryItemChange", "value": PLACE, "historyItem": COMMIT},
    "scmHistoryItemChangeRange": {
        "kind": "scmHistoryItemChangeRange",
        "value": PLACE,
        "historyItemChangeStart": {"uri": PLACE, "historyItem": COMMIT},
        "historyItemChangeEnd": {"uri": PLACE, "historyItem": COMMIT},
    },
    "command": {"kind": "command", "value": ...},
    "command, with a value": {"kind": "command", "value": {"answer": ...}},
    "generic": {"kind": "generic", "value": ..., "tooltip": ..., "iconPath": {"id": "some-icon-of-theirs"}},
    "generic, with a value": {"kind": "generic", "value": {"answer": [...]}},
    "transcriptContext": {"kind": "transcriptContext", "value": ..., "uri": PLACE, "tooltip": ...},
    "agentFeedback": {
        "kind": "agentFeedback",
        "value": ...,
        "sessionResource": PLACE,
        "feedbackItems": [
            {
                "id": "f",
                "text": ...,
                "resourceUri": PLACE,
                "codeSelection": ...,
                "diffHunks": ...,
                "replies": [{"text": ...}],
            }
        ],
    },
    "debugEvents": {"kind": "debugEvents", "value": ..., "sessionResource": PLACE},
    "sessionReference": {"kind": "sessionReference", "value": PLACE},
    "chatReference": {"kind": "chatReference", "value": PLACE},
    "browserView": {"kind": "browserView", "value": PLACE, "browserId": "b"},
    "old": {"name": "old", "values": [{"value": ...}]},
}

WORDS = {"start": 0, "endExclusive": 4}
MESSAGE_PARTS: dict[str, Json] = {
    "text": {"kind": "text", "text": ...},
    "slash": {"kind": "slash", "slashCommand": {"command": "a-command-of-theirs", "detail": ...}},
    "subcommand": {"kind": "subcommand", "command": {"name": "a-command-of-theirs", "description": ...}},
    "prompt": {"kind": "prompt", "name": ..., "displayText": ...},
    "tool": {"kind": "tool", "toolName": ..., "toolId": "some_tool_of_theirs", "displayName": ...},
    "toolset": {"kind": "toolset", "id": "a", "name": ..., "tools": [{"kind": "tool", "toolName": ..., "toolId": "t"}]},
    "dynamic": {"kind": "dynamic", "text": ..., "id": "d", "data": PLACE, "modelDescription": ..., "fullName": ...},
    "dynamic, with a value": {"kind": "dynamic", "text": ..., "id": "d", "data": ...},
    "var": {"kind": "var", "variableName": ..., "variableArg": ..., "variableId": "v"},
}

ERROR: Json = {
    "message": ...,
    "code": "some-code-of-theirs",
    "confirmationButtons": [{"data": {"prompt": ...}, "label": ...}],
}
THOUGHT: Json = {"id": "t", "text": ..., "encrypted": "gAAAAABencrypted+text/of+theirs"}
ROUND: Json = {
    "id": "round-1",
    "response": ...,
    "toolInputRetry": 0,
    "toolCalls": [{"id": "call-9", "name": "some_tool_of_theirs", "arguments": '{"query": "zq argument of a round"}'}],
    "thinking": THOUGHT,
    "statefulMarker": "a marker of a service",
    "modelId": "a-model-of-theirs",
    "summary": ...,
    "hookContext": ...,
    "phase": "commentary_of_theirs",
    "compaction": {"id": "c", "type": "compaction", "encrypted_content": "gAAAAABencrypted+text/of+theirs"},
}
METADATA: Json = {
    "renderedUserMessage": [
        {"type": 1, "text": ...},
        {"type": 0, "imageUrl": {"url": "data:image/gif;base64,R0lGODdh"}},
    ],
    "renderedGlobalContext": [{"type": 1, "text": ...}],
    "codeBlocks": [{"code": ..., "language": "python-of-ours", "resource": PLACE, "markdownBeforeBlock": ...}],
    "toolCallRounds": [ROUND],
    "toolCallResults": {
        "call-9": {"content": [{"value": ...}, {"mimeType": "text/x-of-ours", "data": {"$base64": "R0lGODdh"}}]}
    },
    "summary": {"toolCallRoundId": "r", "text": ...},
    "summaries": [{"toolCallRoundId": "r", "text": ..., "source": "background", "outcome": "success-of-theirs"}],
    "filterCategory": "category-of-theirs",
    "systemPrompt": ...,
    "modelMessageId": "m",
}
REQUESTS: dict[str, Json] = {
    "result": {
        "result": {
            "errorDetails": ERROR,
            "details": ...,
            "nextQuestion": {"prompt": ..., "participant": "copilot-of-theirs", "command": ...},
            "metadata": METADATA,
        }
    },
    "old error": {"responseErrorDetails": ERROR},
    "reason to vote down": {"voteDownReason": ...},
    "reason and vote": {"vote": 0, "voteDownReason": ...},
    "confirmation": {"confirmation": ...},
    "system": {"isSystemInitiated": True, "systemInitiatedLabel": ..., "requestSource": "agentMergeOfTheirs"},
    "followups": {"followups": [{"kind": "reply", "message": ..., "title": ..., "tooltip": ..., "agentId": "a"}]},
    "references": {
        "contentReferences": [
            {"kind": "reference", "reference": ...},
            {
                "kind": "reference",
                "reference": {"variableName": ..., "value": PLACE},
                "options": {
                    "status": {"description": ..., "kind": 3},
                    "originalUri": {**PLACE, "path": "/home/ana/tides/original.py"},
                    "modifiedUri": {**PLACE, "path": "/home/ana/tides/modified.py"},
                },
            },
        ]
    },
    "citations": {"codeCitations": [{"kind": "codeCitation", "value": PLACE, "license": ..., "snippet": ...}]},
    "custom agent": {
        "modeInfo": {
            "kind": "agent",
            "telemetryModeId": "custom",
            "telemetryModeName": ...,
            "modeInstructions": {
                "uri": PLACE,
                "name": ...,
                "content": ...,
                "toolReferences": [],
                "allowedSubagents": [...],
            },
        }
    },
    "slash command": {
        "slashCommand": {
            "name": "a-command-of-theirs",
            "description": ...,
            "sampleRequest": ...,
            "followupPlaceholder": ...,
        }
    },
    "old prompt": {"message": ...},
}
ROOTS: dict[str, Json] = {
    "titles": {"customTitle": ...},
    "computed title": {"version": 2, "computedTitle": ...},
    "responder": {"responderUsername": ...},
    "draft": {
        "inputState": {
            "inputText": ...,
            "attachments": [{"kind": "paste", "id": "p", "name": ..., "value": ..., "code": ...}],
            "contrib": {"chatDynamicVariableModel": [{"id": "v", "fullName": ..., "data": PLACE}]},
        }
    },
    "changes": {"repoData": {"diffs": [{"relativePath": ..., "unifiedDiff": ...}], "diffsStatus": "trimmedForStorage"}},
    "queued": {
        "pendingRequests": [
            {
                "id": "p",
                "kind": "queued",
                "request": {
                    "message": {"text": ..., "parts": []},
                    "variableData": {"variables": [{"kind": "paste", "id": "v", "name": ..., "value": ...}]},
                },
                "sendOptions": {
                    "instructionContext": {"text": ...},
                    "confirmation": ...,
                    "slashCommand": ...,
                    "metadata": {"note": ...},
                },
            }
        ]
    },
    "welcome": {"welcomeMessage": [..., [{"kind": "reply", "message": ...}]]},
    "working directory": {"workingDirectory": "file:///home/ana/tides"},
}
