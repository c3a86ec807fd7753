"""The end of the release: handed on to another session, with remarks, a pull request and what it all cost."""

from __future__ import annotations

from tests.sample_calls import Calls, metadata, one_round, recorded, text_result, tool_part
from tests.sample_forms import Json, link, location, made_up_id, md, message, ms, says, span, uri
from tests.sample_home import GARDEN, agent_mode, builtin_mode, complete, request, session_uri

KEY = "release"
SESSION = made_up_id(KEY)
AGENT = agent_mode("0.45.2")
OPENED = ms("2026-04-27 16:00:00")
CHANGELOG = f"{GARDEN}/CHANGELOG.md"
DELEGATED = made_up_id(KEY, "delegated")


def usage(prompt: int, completion: int, spent: float, so_far: float) -> Json:
    """Tokens and credits of a turn."""
    return {
        "promptTokens": prompt,
        "completionTokens": completion,
        "outputBuffer": 16000,
        "promptTokenDetails": [
            {"category": "System", "label": "Instructions", "percentageOfPrompt": 22},
            {"category": "System", "label": "Tools", "percentageOfPrompt": 31},
            {"category": "User Context", "label": "Messages", "percentageOfPrompt": 47},
        ],
        "modelTotals": [
            {
                "model": "claude-sonnet-4.5",
                "inputTokens": 3 * prompt,
                "cachedTokens": 2 * prompt,
                "outputTokens": completion,
            },
            {"model": "claude-haiku-4.5", "inputTokens": 9120, "cachedTokens": 0, "outputTokens": 410},
        ],
        "copilotCredits": spent,
        "sessionCopilotCredits": so_far,
    }


def open_pull_request() -> Json:
    calls = Calls(f"{KEY}/3", OPENED + 900)
    hand_on = calls.new("runSubagent", {"prompt": "Open a pull request"}, text_result("Started."))
    pull_request = {
        "title": "Release 1.4",
        "description": "Dragging, a grid, and frost dates for each bed.",
        "author": "ana",
        "linkTag": "#52",
        "command": {"id": "pr.openDescription", "title": "View Pull Request", "arguments": [52]},
        "uri": uri("/garden/planner/pull/52", "https", authority="dev.example.com"),
    }
    text = "Open a pull request in the background, with my remarks worked in. #sym:drawPlan"
    mark = {
        "kind": "dynamic",
        "text": "#sym:drawPlan",
        "id": "vscode.symbol",
        "data": location(f"{GARDEN}/src/plan-view.ts", 3),
        "fullName": "drawPlan",
        "icon": {"id": "symbol-method"},
        "modelDescription": "A symbol",
        "isFile": False,
        "isDirectory": False,
        "isAttachmentReference": True,
        "_meta": {"picked": True},
    }
    return request(
        f"{KEY}/3",
        ms("2026-04-27 16:39:12"),
        message(text, ("#sym:drawPlan", mark)),
        [
            _asks_for_account(),
            _feedback_check(),
            hand_on.part("runSubagent", "Handing on", "Handed on", toolSpecificData=_delegate()),
            _created(),
            tool_part(
                made_up_id(KEY, "pr"),
                "create_pull_request",
                "Creating a pull request",
                f"Created [#52](https://dev.example.com/garden/planner/pull/52) from {link(CHANGELOG)}",
                isConfirmed={"type": 3, "scope": "profile"},
                source={"type": "user", "label": "team tools", "file": uri(f"{GARDEN}/.vscode/team.toolsets.jsonc")},
                toolSpecificData={"kind": "pullRequest", **pull_request},
            ),
            {"kind": "pullRequest", **pull_request},
            says("The pull request is open as #52. Both of your remarks are in its description."),
            {"kind": "hook", "hookType": "SessionEnd"},
        ],
        responseTimestamp=ms("2026-04-27 16:39:12") + 15,
        variableData={"variables": [_feedback()]},
        agent=AGENT,
        modelId="copilot/auto",
        modeInfo=builtin_mode("agent", permissionLevel="autopilot"),
        modelState=complete(ms("2026-04-27 16:40:20")),
        timeSpentWaiting=ms("2026-04-27 16:39:12") + 15,
        elapsedMs=60100,
        result={
            "timings": {"firstProgress": 2402, "totalElapsed": 68200},
            "details": "Auto: Claude Sonnet 4.5 • 0.9x",
            "metadata": metadata(
                f"{KEY}/3",
                SESSION,
                resolvedModel="claude-sonnet-4.5",
                **recorded(one_round(f"{KEY}/3", ms("2026-04-27 16:39:40"), "", hand_on)),
            ),
        },
        **usage(31020, 640, 1.2, 6.1),
        followups=[],
        vote=1,
    )


def _feedback() -> Json:
    """Remarks that Ana wrote beside the changes."""
    items = [
        {
            "id": "f1",
            "text": "Say that the grid is 10 cm.",
            "resourceUri": uri(CHANGELOG),
            "range": span(4, 1, 4, 30),
            "codeSelection": "- Beds snap to a grid.",
            "diffHunks": "@@ -0,0 +1,6 @@",
            "sourcePRReviewCommentId": "7731",
            "replies": [{"id": "f1.1", "text": "Done."}],
        },
        {
            "id": "f2",
            "text": "Name the keys that went away.",
            "resourceUri": uri(CHANGELOG),
            "range": span(6, 1, 6, 12),
        },
    ]
    return {
        "kind": "agentFeedback",
        "id": "feedback",
        "name": "2 remarks",
        "value": "Say that the grid is 10 cm.\nName the keys that went away.",
        "sessionResource": session_uri(SESSION),
        "annotationsResource": uri("/annotations", "vscode-chat-annotations"),
        "feedbackItems": items,
    }


def _asks_for_account() -> Json:
    return {
        "kind": "elicitationSerialized",
        "title": md("Sign in to dev.example.com?"),
        "message": md("The pull request is opened in your name."),
        "subtitle": "",
        "source": {"type": "internal", "label": "Built-In"},
        "state": "accepted",
        "isHidden": False,
        "acceptedResult": {"account": "ana@example.com"},
    }


def _feedback_check() -> Json:
    data = {"kind": "agentFeedbackReviewConfirmation", "options": [{"id": "apply", "label": "Apply Remarks"}]}
    setting = {"type": 2, "id": "chat.tools.global.autoApprove"}
    return tool_part(
        made_up_id(KEY, "remarks"),
        "apply_feedback",
        "Reading remarks",
        "Read 2 remarks",
        isConfirmed=setting,
        toolSpecificData=data,
    )


def _delegate() -> Json:
    return {
        "kind": "subagent",
        "description": "Open a pull request",
        "agentName": "release-helper",
        "agentDisplayName": "Release helper",
        "prompt": "Open a pull request for release-1.4 and work the remarks in.",
        "result": "Opened #52.",
        "modelName": "Claude Haiku 4.5",
        "modelId": "copilot/claude-haiku-4.5",
        "credits": 0.3,
        "startedAt": ms("2026-04-27 16:40:03"),
        "duration": 41200,
        "chatResource": f"copilotcli:///{DELEGATED}",
        "isChatAvailable": True,
        "presentation": "phase",
        "phaseStatus": "completed",
        "activityDescription": "Writing the description",
        "hasStarted": True,
        "isActive": False,
        "activity": [],
    }


def _created() -> Json:
    data = {
        "kind": "sessionCreated",
        "openLink": f"copilotcli:///{DELEGATED}",
        "label": "Open a pull request for 1.4",
        "fullTitle": "Open a pull request for 1.4 in the background",
        "isChat": True,
    }
    return tool_part(
        made_up_id(KEY, "created"), "create_session", "Creating a session", "Created a session", toolSpecificData=data
    )
