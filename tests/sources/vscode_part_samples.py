"""One made-up response part of every kind, each with every field that VS Code writes.

All texts and numbers within a part differ, so that a test can look for each of them.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def uri(path: str, scheme: str = "file") -> Json:
    return {"$mid": 1, "scheme": scheme, "path": path}


def span(first: int) -> Json:
    return {"startLineNumber": first, "startColumn": first + 1, "endLineNumber": first + 2, "endColumn": first + 3}


def markdown(text: str) -> Json:
    return {"value": text, "isTrusted": {"enabledCommands": [f"command of {text}"]}, "supportThemeIcons": True}


def text_edit(first: int, text: str) -> Json:
    return {"range": span(first), "text": text, "eol": 7}


PARTS: dict[str, Json] = {
    "markdown": {
        "value": "Some *words*",
        "isTrusted": False,
        "supportThemeIcons": True,
        "supportHtml": False,
        "supportAlertSyntax": True,
        "baseUri": uri("/home/ana/base/"),
        "uris": {"link-1": uri("/home/ana/linked.md")},
    },
    "tree": {
        "label": "shop",
        "uri": uri("/home/ana/shop"),
        "type": 2,
        "children": [{"label": "till.py", "uri": uri("/home/ana/shop/till.py"), "type": 1}],
    },
    "treeData": {
        "kind": "treeData",
        "treeData": {"label": "shop", "uri": uri("/home/ana/shop"), "children": [{"label": "a", "uri": uri("/a")}]},
    },
    "markdownContent": {"kind": "markdownContent", "content": markdown("old words"), "other": "left over"},
    "markdownVuln": {
        "kind": "markdownVuln",
        "content": markdown("risky words"),
        "vulnerabilities": [{"title": "Injection", "description": "Text goes into SQL"}],
    },
    "thinking": {
        "kind": "thinking",
        "value": ["First", "then"],
        "id": "thought-1",
        "metadata": {"vscodeReasoningDone": True, "stopReason": "tools"},
        "generatedTitle": "Weighing options",
        "reasoningDurationMs": 1234,
    },
    "inlineReference": {
        "kind": "inlineReference",
        "inlineReference": {"uri": uri("/home/ana/shop/till.py"), "range": span(31)},
        "name": "the till",
        "resolveId": "resolve-1",
    },
    "codeblockUri": {
        "kind": "codeblockUri",
        "uri": uri("/home/ana/shop/bag.py"),
        "isEdit": True,
        "undoStopId": "stop-4",
        "subAgentInvocationId": "run-5",
    },
    "textEditGroup": {
        "kind": "textEditGroup",
        "uri": uri("/home/ana/shop/bag.py"),
        "edits": [[text_edit(11, "one\n"), text_edit(21, "two\n")], [text_edit(41, "three\n")]],
        "editMetadata": [{"autoTier": 88}],
        "state": {"sha1": "da39a3ee", "applied": 99},
        "done": True,
        "isExternalEdit": False,
    },
    "notebookEditGroup": {
        "kind": "notebookEditGroup",
        "uri": uri("/home/ana/study.ipynb"),
        "edits": [
            [{"uri": uri("/home/ana/study.ipynb", "vscode-notebook-cell"), "edit": text_edit(11, "cell text")}],
            [{"editType": 1, "index": 55, "count": 66, "cells": [{"source": "print(1)"}]}],
        ],
        "done": True,
    },
    "workspaceEdit": {
        "kind": "workspaceEdit",
        "edits": [
            {"newResource": uri("/home/ana/new.py")},
            {"oldResource": uri("/home/ana/gone.py"), "options": {"recursive": True}},
            {"oldResource": uri("/home/ana/from.py"), "newResource": uri("/home/ana/to.py")},
        ],
        "why": "tidying",
    },
    "externalEdit": {
        "kind": "externalEdit",
        "uri": uri("/home/ana/shop/renamed.py"),
        "editKind": "rename",
        "originalUri": uri("/home/ana/shop/before.py"),
        "beforeContentUri": uri("/content/1", "agent"),
        "afterContentUri": uri("/content/2", "agent"),
        "diff": {"added": 12, "removed": 34},
        "undoStopId": "stop-8",
        "subAgentInvocationId": "run-9",
    },
    "multiDiffData": {
        "kind": "multiDiffData",
        "multiDiffData": {
            "title": "Two files",
            "resources": [{"originalUri": uri("/o"), "modifiedUri": uri("/m"), "goToFileUri": uri("/g"), "added": 3}],
        },
        "collapsed": True,
        "readOnly": False,
    },
    "toolInvocationSerialized": {
        "kind": "toolInvocationSerialized",
        "toolId": "copilot_readFile",
        "toolCallId": "call-77",
        "invocationMessage": markdown("Reading it"),
        "pastTenseMessage": {"value": "Read [](file:///home/ana/shop/till.py#L3-9)", "uris": {"u": uri("/till")}},
        "originMessage": "from the extension",
        "presentation": "hiddenAfterComplete",
        "isConfirmed": {"type": 3, "scope": "workspace", "note": "remembered"},
        "isComplete": True,
        "source": {"type": "mcp", "label": "Books", "serverLabel": "books-server", "collectionId": "c1"},
        "resultDetails": {
            "input": '{"page": 1}',
            "inputLanguage": "json",
            "output": [
                {"type": "embed", "value": "page one", "isText": True, "mimeType": "text/x-book", "audience": ["user"]},
                {"type": "embed", "value": "aGVsbG8=", "isText": False, "mimeType": "image/png", "uri": uri("/pic")},
                {"type": "ref", "uri": uri("/ref/1", "vscode-chat-response-resource"), "asResource": True},
            ],
            "mcpOutput": {"pages": 321},
        },
        "toolSpecificData": {"kind": "input", "rawInput": {"page": 2}, "editable": True},
        "icon": {"id": "book"},
        "generatedTitle": "Looked into the book",
        "isAttachedToThinking": True,
        "subAgentInvocationId": "run-11",
        "fromSubAgent": True,
    },
    "prepareToolInvocation": {"kind": "prepareToolInvocation", "toolName": "copilot_findFiles", "since": "1.104"},
    "progressMessage": {"kind": "progressMessage", "content": markdown("Searching"), "shimmer": True, "id": "p-1"},
    "progressTask": {"kind": "progressTask", "content": markdown("Task"), "deferred": {"p": "x1"}, "progress": []},
    "progressTaskSerialized": {
        "kind": "progressTaskSerialized",
        "content": markdown("Asked the index"),
        "progress": [
            {"kind": "warning", "content": {"value": "slow index"}},
            {"kind": "reference", "reference": uri("/home/ana/found.py")},
        ],
    },
    "systemNotification": {
        "kind": "systemNotification",
        "content": "The workspace changed",
        "id": "n-1",
        "icon": {"id": "folder"},
        "collapsible": True,
        "renderInlineTiming": False,
        "presentation": "workspaceTransition",
        "workspaceName": "shop",
        "accessibilityLabel": "moved to a new workspace",
    },
    "warning": {"kind": "warning", "content": markdown("Careful")},
    "info": {"kind": "info", "content": markdown("By the way")},
    "command": {
        "kind": "command",
        "command": {"id": "shop.open", "title": "Open the shop", "tooltip": "Opens it", "arguments": ["now", 5]},
        "additionalCommands": [{"id": "shop.close", "title": "Close"}],
    },
    "confirmation": {
        "kind": "confirmation",
        "title": "Go on?",
        "message": markdown("It costs money"),
        "data": {"step": 17},
        "buttons": ["Yes, go on", "No"],
        "isUsed": True,
        "isLive": False,
    },
    "elicitation": {"kind": "elicitation", "title": "Name?", "message": markdown("Who"), "state": "pending"},
    "elicitationSerialized": {
        "kind": "elicitationSerialized",
        "title": {"value": "Which port?"},
        "message": markdown("A number please"),
        "subtitle": markdown("Web server"),
        "source": {"type": "mcp", "label": "web"},
        "state": "accepted",
        "isHidden": False,
        "acceptedResult": {"port": 8080},
    },
    "questionCarousel": {
        "kind": "questionCarousel",
        "questions": [
            {
                "id": "q1",
                "type": "singleSelect",
                "title": "Colour",
                "message": markdown("Which colour?"),
                "detailedMessage": markdown("Of the bag"),
                "description": "needed for printing",
                "options": [
                    {"id": "o1", "label": "Red", "value": "ff0000"},
                    {"id": "o2", "label": "Blue", "value": "00f"},
                ],
                "defaultValue": "o2",
                "allowFreeformInput": True,
                "required": True,
                "validation": {"minLength": 3, "format": "uri"},
            },
            {"id": "q2", "type": "text", "title": "Name"},
        ],
        "allowSkip": True,
        "resolveId": "r-1",
        "data": {"q1": {"selectedValue": "ff0000", "freeformValue": "dark"}, "q2": "Ana"},
        "isUsed": True,
        "message": markdown("Two questions"),
        "source": {"type": "internal"},
        "answeredExternally": True,
        "autoReply": False,
        "terminalId": "t-1",
        "answerPresentation": "conversation",
    },
    "planReview": {
        "kind": "planReview",
        "title": "The plan",
        "content": "1. Begin\n2. End",
        "actions": [
            {"id": "a1", "label": "Start", "description": "at once", "default": True, "permissionLevel": "auto"}
        ],
        "canProvideFeedback": True,
        "planUri": uri("/home/ana/plan.md"),
        "resolveId": "r-2",
        "data": {
            "action": "Start it",
            "actionId": "a1x",
            "rejected": False,
            "feedback": "fine",
            "feedbackOverall": "ok",
        },
        "isUsed": True,
        "isOutdated": False,
        "source": {"type": "internal"},
    },
    "hook": {
        "kind": "hook",
        "hookType": "PreToolUse",
        "stopReason": "not on Fridays",
        "systemMessage": "The hook said no",
        "toolDisplayName": "Terminal",
        "metadata": {"exit": 13},
        "subAgentInvocationId": "run-3",
    },
    "extensions": {"kind": "extensions", "extensions": ["example.linter", "example.theme"]},
    "pullRequest": {
        "kind": "pullRequest",
        "title": "Add a bag",
        "description": "It holds things",
        "author": "Ana",
        "linkTag": "#12",
        "command": {"id": "pr.open", "title": "Open it"},
        "uri": uri("/ana/shop/pull/12", "https"),
    },
    "undoStop": {"kind": "undoStop", "id": "stop-1"},
    "mcpServersStarting": {"kind": "mcpServersStarting", "didStartServerIds": ["books", "maps"]},
    "mcpServersStartingSlow": {"kind": "mcpServersStartingSlow", "waited": 5},
    "mcpServersInteractionRequired": {
        "kind": "mcpServersInteractionRequired",
        "isDone": True,
        "servers": [{"serverId": "books", "serverLabel": "Books", "errorMessage": "who are you"}],
        "startCommand": {"id": "mcp.start", "title": "Start"},
    },
    "mcpAuthenticationRequired": {"kind": "mcpAuthenticationRequired", "serverId": "books"},
    "autoModeResolution": {"kind": "autoModeResolution", "resolved": {"id": "gpt-x", "name": "GPT X"}},
    "clearToPreviousToolInvocation": {"kind": "clearToPreviousToolInvocation", "reason": 2},
    "disabledClaudeHooks": {"kind": "disabledClaudeHooks"},
    "voiceProgress": {"kind": "voiceProgress", "id": "v-1", "value": "listening"},
    "usage": {"kind": "usage", "promptTokens": 345},
    "usedContext": {"kind": "usedContext", "documents": [{"uri": uri("/home/ana/doc.md"), "version": 6}]},
    "reference": {"kind": "reference", "reference": uri("/home/ana/ref.md")},
    "codeCitation": {"kind": "codeCitation", "value": uri("/x", "https"), "license": "MIT", "snippet": "for x"},
    "textEdit": {"kind": "textEdit", "uri": uri("/home/ana/live.py"), "edits": [text_edit(11, "live")], "done": True},
    "notebookEdit": {"kind": "notebookEdit", "uri": uri("/n.ipynb"), "edits": [{"editType": 6, "index": 77}]},
    "progressTaskResult": {"kind": "progressTaskResult", "content": markdown("Done")},
    "move": {"kind": "move", "uri": uri("/home/ana/there.py"), "range": span(51)},
    "externalToolInvocationUpdate": {"kind": "externalToolInvocationUpdate", "toolCallId": "x-1"},
    "externalEdits": {"kind": "externalEdits", "resources": [uri("/home/ana/e.py")]},
}
