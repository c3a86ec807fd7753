"""A made-up session in which every documented field occurs, and a check of which of them are lost.

Texts and numbers are all different, so that a missing one cannot be mistaken for another.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from copilog.model import Conversation

Json = dict[str, Any]

FILE: Json = {"$mid": 1, "scheme": "file", "path": "/home/ana/src/billing.py", "fsPath": "/home/ana/src/billing.py"}
LINES: Json = {"startLineNumber": 211, "startColumn": 212, "endLineNumber": 213, "endColumn": 214}


def uri(path: str, **fields: Any) -> Json:
    return {"$mid": 1, "scheme": "file", "path": path, **fields}


AGENT: Json = {
    "id": "github.copilot.editsAgent",
    "name": "agent-name",
    "fullName": "Agent full name",
    "description": "agent description",
    "when": "agent.when",
    "extensionId": {"value": "GitHub.copilot-chat", "_lower": "github.copilot-chat"},
    "extensionVersion": "0.40.1",
    "extensionPublisherId": "GitHub-publisher",
    "publisherDisplayName": "publisher display",
    "extensionDisplayName": "extension display",
    "isDefault": True,
    "isDynamic": False,
    "isCore": False,
    "canAccessPreviousChatHistory": True,
    "metadata": {
        "helpTextPrefix": "help before",
        "helpTextPostfix": {"value": "help after", "isTrusted": False},
        "themeIcon": {"id": "agent-icon"},
        "sampleRequest": "a sample request",
        "followupPlaceholder": "a placeholder",
        "additionalWelcomeMessage": {"value": "welcome further"},
    },
    "slashCommands": [{"name": "setup-tests", "description": "set up tests", "when": "some.context"}],
    "locations": ["panel", "terminal"],
    "modes": ["agent", "edit"],
    "disambiguation": [{"category": "a category", "description": "a distinction", "examples": ["an example"]}],
    "capabilities": {"supportsFileAttachments": True},
}

MODE_INFO: Json = {
    "kind": "agent",
    "isBuiltin": False,
    "telemetryModeId": "custom",
    "telemetryModeName": "Reviewer mode",
    "permissionLevel": "autoApprove-level",
    "applyCodeBlockSuggestionId": "suggestion-41",
    "modeInstructions": {
        "uri": uri("/home/ana/.github/agents/reviewer.agent.md"),
        "name": "Reviewer",
        "content": "Review what is there, change nothing.",
        "toolReferences": [{"name": "search", "range": {"start": 311, "endExclusive": 317}}, "fetch"],
        "allowedSubagents": ["helper-agent"],
        "metadata": {"model": "a model of the agent"},
    },
}

RESULT: Json = {
    "timings": {"firstProgress": 1401, "totalElapsed": 1402, "queued": 1403},
    "errorDetails": {
        "message": "the service was tired",
        "code": "tired-service",
        "responseIsIncomplete": True,
        "isRateLimited": True,
        "level": 1405,
        "confirmationButtons": [{"data": {"again": "try-data"}, "label": "Try again", "resend": True}],
    },
    "details": "Model X, three times",
    "nextQuestion": {"prompt": "And then?", "participant": "next participant", "command": "next command"},
    "usage": {
        "promptTokens": 1411,
        "completionTokens": 1412,
        "promptTokenDetails": [{"category": "System", "label": "Rules", "percentageOfPrompt": 1413}],
        "cachedTokens": 1414,
    },
    "metadata": {
        "modelMessageId": "model-message-1",
        "responseId": "extension-turn-1",
        "sessionId": "extension-session-1",
        "agentId": "extension-agent",
        "command": "extension-command",
        "modelId": "model-in-metadata",
        "renderedUserMessage": [
            {"type": 1, "text": "<context>\nToday is a day.\n</context>\n<userRequest>\nfix it\n</userRequest>"},
            {"type": 3, "cacheType": "ephemeral-mark"},
        ],
        "renderedGlobalContext": [{"type": 1, "text": "<environment_info>\nAn OS.\n</environment_info>"}],
        "cacheKey": "cache-key",
        "globalContextCacheKey": "global-cache-key",
        "codeBlocks": [
            {"code": "print('block')", "language": "python3", "resource": uri("/b.py"), "markdownBeforeBlock": "So:"}
        ],
        "maxToolCallsExceeded": False,
        "filterCategory": "a filter",
        "summary": {"toolCallRoundId": "previous", "text": "an older summary"},
        "summaries": [
            {
                "toolCallRoundId": "round-7",
                "text": "what happened so far",
                "source": "background",
                "outcome": "an outcome",
                "model": "summary-model",
                "summarizationMode": "a summary mode",
                "durationMs": 1421,
                "contextLengthBefore": 1422,
                "numRounds": 1423,
                "usage": {"prompt_tokens": 1424},
                "thinking": {"text": "summary thoughts"},
            }
        ],
        "promptTokens": 1431,
        "outputTokens": 1432,
        "resolvedModel": "model-that-answered",
        "shouldAutoSwitchToAuto": True,
        "newThing": {"deep": ["new thing in metadata"]},
    },
}

MESSAGE: Json = {
    "text": "@agent-name /setup-tests fix #billing.py",
    "parts": [
        {
            "kind": "agent",
            "range": {"start": 0, "endExclusive": 11},
            "editorRange": {"startLineNumber": 1, "startColumn": 1, "endLineNumber": 1, "endColumn": 12},
            "agent": AGENT,
        },
        {"kind": "text", "range": {"start": 24, "endExclusive": 29}, "text": " fix "},
        {
            "kind": "dynamic",
            "range": {"start": 29, "endExclusive": 40},
            "text": "#billing.py",
            "data": FILE,
            "id": "f-1",
        },
    ],
}

# The fields of a request, newest and oldest, except its id, message and response.
REQUEST_FIELDS: Json = {
    "variableData": {
        "variables": [
            {"kind": "file", "id": "variable-1", "name": "billing.py", "value": {"uri": FILE, "range": LINES}},
            {"kind": "promptText", "id": "variable-2", "name": "index", "value": "<skills>none</skills>"},
        ]
    },
    "responseId": "response_2",
    "timestamp": 1767000001001,
    "responseTimestamp": 1767000002002,
    "agent": AGENT,
    "slashCommand": {"name": "slash-name", "description": "slash description", "sampleRequest": "slash sample"},
    "modelId": "copilot/model-asked-for",
    "modelConfiguration": {"reasoningEffort": "high-effort", "contextSize": 1501},
    "modeInfo": MODE_INFO,
    "result": RESULT,
    "modelState": {"value": 3, "completedAt": 1767000009009, "reason": "a reason to stop"},
    "isCanceled": True,
    "vote": 0,
    "voteDownReason": "poorlyWrittenOrFormatted",
    "followups": [
        {"kind": "reply", "message": "Write tests", "agentId": "a-1", "subCommand": "s-1", "title": "T", "tooltip": "?"}
    ],
    "usedContext": {
        "kind": "usedContext",
        "documents": [{"uri": uri("/used.py"), "version": 1511, "ranges": [LINES]}],
    },
    "contentReferences": [
        {
            "kind": "reference",
            "reference": {"uri": FILE, "range": LINES},
            "iconPath": {"id": "reference-icon"},
            "options": {"status": {"description": "read in part", "kind": 2}, "diffMeta": {"added": 1521}},
        }
    ],
    "codeCitations": [{"kind": "codeCitation", "value": uri("/cited.c"), "license": "GPL-X", "snippet": "int cited;"}],
    "responseMarkdownInfo": [{"suggestionId": "suggestion-42"}],
    "confirmation": "Continue pressed",
    "editedFileEvents": [{"uri": uri("/edited.py"), "eventKind": 1}],
    "shouldBeRemovedOnSend": {"requestId": "request-of-removal", "afterUndoStop": "stop-1"},
    "isHidden": True,
    "hiddenFromTranscript": True,
    "requestHiddenFromTranscript": True,
    "isSystemInitiated": True,
    "systemInitiatedLabel": "The terminal has ended",
    "requestSource": "agentMerge",
    "terminalExecutionId": "terminal-execution-1",
    "origin": {"kind": "delegation", "sourceSessionResource": uri("/session"), "delegationScope": "session-scope"},
    "timeSpentWaiting": 1531,
    "elapsedMs": 1532,
    "promptTokens": 1541,
    "completionTokens": 1542,
    "outputBuffer": 1543,
    "promptTokenDetails": [{"category": "Messages", "label": "History", "percentageOfPrompt": 1544}],
    "modelTotals": [
        {"model": "total-model", "inputTokens": 1545, "cachedTokens": 1546, "outputTokens": 1547, "calls": 1548}
    ],
    "copilotCredits": 1551.5,
    "sessionCopilotCredits": 1552.5,
    "workingSet": [uri("/working/set.py")],
    "responseErrorDetails": {"message": "an old error", "code": "old-code"},
    "somethingNewer": {"list": [{"deep": "something newer"}], "number": 1561},
}

INPUT_STATE: Json = {
    "inputText": "an unsent draft",
    "attachments": [{"kind": "file", "id": "draft-1", "name": "draft.py", "value": uri("/draft.py")}],
    "mode": {"id": "file:///home/ana/.github/agents/draft.agent.md", "kind": "agent"},
    "selectedModel": {
        "identifier": "copilot/draft-model",
        "metadata": {"name": "Draft Model", "family": "draft-family", "maxInputTokens": 1601},
        "modelConfiguration": {"effort": "draft-effort"},
    },
    "modelConfiguration": {"effort": "older-effort"},
    "permissionLevel": "draft-permission",
    "selections": [{"startLineNumber": 1611, "startColumn": 1612}],
    "contrib": {"chatDynamicVariableModel": ["contributed"]},
}

REPO_DATA: Json = {
    "workspaceType": "remote-git",
    "syncStatus": "unpushed",
    "remoteUrl": "https://example.com/ana/billing.git",
    "remoteVendor": "vendor-other",
    "remoteTrackingBranch": "origin/topic",
    "remoteBaseBranch": "origin/trunk",
    "remoteHeadCommit": "remote-head",
    "localBranch": "topic-branch",
    "localHeadCommit": "local-head",
    "headCommitHash": "older-head",
    "diffs": [{"relativePath": "a/b.py", "changeType": "renamed", "oldRelativePath": "old/b.py", "unifiedDiff": "@@"}],
    "diffsStatus": "notCaptured",
    "changedFileCount": 1621,
}

PENDING_REQUEST: Json = {
    "id": "pending-1",
    "kind": "steering",
    "request": {
        "requestId": "request_pending",
        "message": {"text": "also this, please", "parts": []},
        "variableData": {"variables": [{"kind": "file", "id": "p", "name": "p.py", "value": uri("/p.py")}]},
        "timestamp": 1767000011011,
        "agent": {"id": "pending.agent", "metadata": {"sampleRequest": "pending sample"}},
        "modelId": "copilot/pending-model",
        "confirmation": "pending confirmation",
        "isSystemInitiated": True,
        "unheardOf": "pending surprise",
    },
    "sendOptions": {
        "modeInfo": {"kind": "agent", "telemetryModeName": "Pending mode"},
        "userSelectedModelId": "copilot/pending-choice",
        "userSelectedTools": {"pending_tool": True},
        "instructionContext": {"a": "instruction context"},
        "attempt": 1631,
    },
}

ROOT_FIELDS: Json = {
    "version": 1700,
    "creationDate": 1767000000000,
    "customTitle": "A custom title",
    "computedTitle": "A computed title",
    "responderUsername": "A responder",
    "initialLocation": "editing-session",
    "inputState": INPUT_STATE,
    "hasPendingEdits": True,
    "repoData": REPO_DATA,
    "pendingRequests": [PENDING_REQUEST],
    "workingDirectory": "file:///home/ana/tree",
    "responderAvatarIconUri": {"id": "responder-icon"},
    "requesterUsername": "ana-account",
    "requesterAvatarIconUri": uri("/avatar.png"),
    "lastMessageDate": 1767000008008,
    "isImported": True,
    "isNew": True,
    "providerId": "early-provider",
    "welcomeMessage": ["early welcome", [{"kind": "reply", "message": "early question"}]],
    "somethingNewer": {"root": ["newer root"]},
}

RESPONSE: list[Any] = [
    {"value": "First words. "},
    {"kind": "undoStop", "id": "stop-1"},
    {"kind": "inlineReference", "inlineReference": FILE},
    {"kind": "autoModeResolution", "resolved": {"id": "model-of-router", "name": "Model of the router"}},
    {"value": "Last words."},
]


def full_request() -> Json:
    """Return a request with every field that was ever documented, of all eras at once."""
    return {"requestId": "request_full", "message": MESSAGE, "response": RESPONSE, **REQUEST_FIELDS}


# Values that are written as numbers or terms of VS Code's own and are stored as others here; other tests check them.
TRANSLATED = (
    "/kind",
    "/$mid",
    "/scheme",
    "/fsPath",
    "/modelState/value",
    "/vote",
    "/eventKind",
    "/omittedState",
    "/renderedUserMessage/0/type",
    "/renderedGlobalContext/0/type",
    "/parts/1/range/start",
    "/parts/1/range/endExclusive",
)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the texts and numbers below a value, each with its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}/{key}")
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from leaves(item, f"{path}/{position}")
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield path, value


def lost_leaves(raw: Any, conversation: Conversation) -> list[str]:
    """Return the paths in a session whose value is missing in the conversation."""
    texts: list[str] = []
    numbers: set[float] = set()
    for _, value in leaves(msgspec.to_builtins(conversation)):
        if isinstance(value, str):
            texts.append(value)
        else:
            numbers.add(value)
    everything = "\0".join(texts)

    def survives(value: Any) -> bool:
        if isinstance(value, str):
            return value in everything
        return value in numbers or _as_time(value) in everything

    return [path for path, value in leaves(raw) if not survives(value) and not path.endswith(TRANSLATED)]


def _as_time(value: float) -> str:
    if value < 1_000_000_000_000:
        return "no time"
    return str(msgspec.to_builtins(datetime.fromtimestamp(value / 1000, UTC)))
