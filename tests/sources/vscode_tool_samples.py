"""Made-up tool calls as VS Code keeps them, and every kind of tool data, each with every field."""

from __future__ import annotations

from typing import Any

from tests.sources.vscode_part_samples import Json, markdown, span, uri

# `isConfirmed`, the approval that it means, and its detail.
APPROVALS: list[tuple[Any, str, str | None]] = [
    (True, "user", None),
    (False, "denied", None),
    ({"type": 0}, "denied", None),
    ({"type": 1, "reason": {"value": "harmless"}}, "not-needed", "harmless"),
    ({"type": 2, "id": "chat.tools.autoApprove"}, "setting", "chat.tools.autoApprove"),
    ({"type": 3, "scope": "session"}, "granted", "session"),
    ({"type": 4, "selectedButton": "Allow"}, "user", "Allow"),
    ({"type": 5}, "skipped", None),
    ({"type": 17}, "unknown", None),
    ({"type": True}, "unknown", None),
    ("yes", "unknown", None),
    (None, "unknown", None),
]

TOOL_DATA: dict[str, Json] = {
    "terminal": {
        "kind": "terminal",
        "commandLine": {
            "original": "pytest",
            "userEdited": "pytest -q",
            "toolEdited": "python -m pytest",
            "forDisplay": "run the tests",
            "isSandboxWrapped": True,
        },
        "language": "sh",
        "cwd": uri("/home/ana/shop"),
        "terminalToolSessionId": "session-1",
        "terminalCommandId": "command-1",
        "terminalCommandUri": uri("/terminal/1", "vscode-terminal"),
        "terminalCommandOutput": {"text": "3 passed", "truncated": True, "lineCount": 44, "fullOutputPreview": "3 pa"},
        "terminalCommandState": {"exitCode": 2, "timestamp": 1767000001000, "duration": 1500},
        "terminalTheme": {"background": "#000"},
        "isBackground": True,
        "didContinueInBackground": True,
        "autoApproveInfo": markdown("Approved by rule"),
        "confirmation": {"commandLine": "pytest?", "cwdLabel": "~/shop", "cdPrefix": "cd shop && "},
        "presentationOverrides": {"commandLine": "tests", "language": "text"},
        "alternativeRecommendation": "use the test tool",
        "intention": "check the work",
        "requestAllowNetworkReason": "downloads",
    },
    "terminal (legacy)": {"kind": "terminal", "command": "npm test", "language": "bash"},
    "input": {"kind": "input", "rawInput": {"page": 1}, "mcpAppData": {"kind": "local", "collectionId": "c-9"}},
    "extensions": {"kind": "extensions", "extensions": ["example.linter"]},
    "pullRequest": {
        "kind": "pullRequest",
        "title": "Add a bag",
        "description": "holds things",
        "author": "Ana",
        "linkTag": "#1",
        "uri": uri("/p/1", "https"),
    },
    "todoList": {
        "kind": "todoList",
        "sessionId": "s-1",
        "todoList": [
            {"id": 31, "title": "Read", "status": "completed", "description": "all of it"},
            {"id": "b", "title": "Write", "status": "in-progress", "colour": "red"},
        ],
    },
    "subagent": {
        "kind": "subagent",
        "description": "Look it up",
        "agentName": "scout",
        "prompt": "Find the till",
        "result": "It is in till.py",
        "modelName": "GPT X",
        "agentDisplayName": "The Scout",
        "modelId": "copilot/gpt-x",
        "credits": 5,
        "startedAt": 1767000001000,
        "duration": 777,
        "chatResource": uri("/chat/1", "vscode-chat-session"),
        "phaseStatus": "done",
    },
    "simpleToolInvocation": {"kind": "simpleToolInvocation", "input": "what was asked", "output": "what came back"},
    "search": {"kind": "search"},
    "resources": {
        "kind": "resources",
        "values": [uri("/home/ana/a.md"), {"uri": uri("/home/ana/b.md"), "range": span(61)}],
    },
    "modifiedFilesConfirmation": {
        "kind": "modifiedFilesConfirmation",
        "options": [{"id": "keep", "label": "Keep them"}, "Undo"],
        "modifiedFiles": [{"uri": uri("/home/ana/c.py"), "editKind": "edit", "insertions": 8, "title": "c"}],
    },
    "agentFeedbackReviewConfirmation": {"kind": "agentFeedbackReviewConfirmation", "options": ["Send"]},
    "sessionCreated": {
        "kind": "sessionCreated",
        "openLink": "vscode://chat/1",
        "label": "New chat",
        "fullTitle": "A new chat",
        "isChat": True,
    },
    "generatedImage": {"kind": "generatedImage"},
    "automationConfigured": {
        "kind": "automationConfigured",
        "automationId": "au-1",
        "automationName": "Nightly",
        "operation": "created",
    },
    "automationConfiguration": {"kind": "automationConfiguration", "draft": "nightly run"},
}


def tool_part(tool_id: str = "copilot_readFile", call_id: str = "call-1", **fields: Any) -> Json:
    """Make a tool call as VS Code stores it in a response."""
    return {
        "kind": "toolInvocationSerialized",
        "toolId": tool_id,
        "toolCallId": call_id,
        "invocationMessage": "Working",
        "isConfirmed": {"type": 1},
        "isComplete": True,
        **fields,
    }
