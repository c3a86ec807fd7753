"""Two gauges compared in Positron, a relative of VS Code with an assistant of its own."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from tests.sample_calls import Call, Calls, one_round, recorded, text_result
from tests.sample_forms import Json, answer, made_up_id, md, message, ms, picture, prose, says, span, uri
from tests.sample_home import GAUGES, GAUGES_STORAGE, GPT, Home, agent_mode, complete, request
from tests.sample_log import draft, log_of

GAUGE = made_up_id("two-gauges")


def put(home: Home) -> None:
    gauges = two_gauges()
    home.log(GAUGES_STORAGE, gauges, log_of(gauges))
    home.index(GAUGES_STORAGE, gauges)


COMPARE = prose("""
    both = norrvik.join(stenudden, lsuffix="_n", rsuffix="_s").dropna()
    difference = both["level_n"] - both["level_s"]
    difference.rolling("14D").mean().plot()
    """)
DRIFT = picture(
    """
    ................
    .k..............
    .k............b.
    .k...........bb.
    .k..........b...
    .k.........bb...
    .k........b.....
    .k.......bb.....
    .k.....bb.......
    .kbbbbbb........
    .k..............
    .k..............
    .k..............
    .kkkkkkkkkkkkkk.
    ................
    ................
    """,
    {".": (255, 255, 255), "k": (60, 60, 60), "b": (40, 90, 190)},
)


def two_gauges() -> Json:
    return {
        "version": 3,
        "creationDate": ms("2026-04-18 12:10:00"),
        "customTitle": "Compare two gauges",
        "initialLocation": "panel",
        "responderUsername": "Positron Assistant",
        "sessionId": GAUGE,
        "hasPendingEdits": False,
        "requests": [_which_is_off(), _since_when()],
        "pendingRequests": [],
        "inputState": draft(model={**GPT, "identifier": "anthropic-api/claude-sonnet-4.5"}),
    }


def _assistant() -> Json:
    """A participant with all that one can have."""
    extension = {"value": "positron.positron-assistant", "_lower": "positron.positron-assistant"}
    base = agent_mode("0.4.0")
    base |= {"extensionId": extension, "extensionDisplayName": "Positron Assistant", "extensionPublisherId": "positron"}
    base |= {"publisherDisplayName": "Positron", "id": "positron.assistant.agent", "fullName": "Positron Assistant"}
    return {
        **base,
        "isDynamic": False,
        "isCore": False,
        "canAccessPreviousChatHistory": True,
        "capabilities": {"supportsFileAttachments": True},
        "locations": ["panel", "terminal", "notebook", "editor"],
        "metadata": {
            "helpTextPrefix": "Ask about your data.",
            "helpTextPostfix": md("Results of code are shared with the model."),
            "icon": uri("/assistant.svg"),
            "iconDark": uri("/assistant-dark.svg"),
            "sampleRequest": "Which columns have gaps?",
            "supportIssueReporting": True,
            "followupPlaceholder": "Ask about the result",
            "isSticky": True,
            "additionalWelcomeMessage": "Attach a session to talk about its variables.",
        },
    }


def _execute(call: Call, code: str, output: str, **more: Any) -> Json:
    source = {
        "type": "extension",
        "label": "Positron Assistant",
        "extensionId": {"value": "positron.positron-assistant"},
    }
    data = {"kind": "simpleToolInvocation", "input": code, "output": output}
    return call.part("executeCode", "Running code", "Ran code", source=source, toolSpecificData=data, **more)


def _which_is_off() -> Json:
    calls = Calls("two-gauges", ms("2026-04-18 12:00:00"))
    run = calls.new("executeCode", {"code": COMPARE, "language": "python"}, _plot_result())
    plot = {"type": "data", "mimeType": "image/png", "base64Data": b64encode(DRIFT).decode()}
    prompt = "`norrvik` and `stenudden` drift apart this year. Which of the two gauges is off?"
    return request(
        "two-gauges/1",
        ms("2026-04-18 12:10:25"),
        prompt,
        [
            says("I'll plot the difference, smoothed over a spring-neap cycle.\n\n"),
            _execute(
                run,
                COMPARE,
                "<Axes: >",
                resultDetails={"output": plot},
                isConfirmed={"type": 4, "selectedButton": "Allow"},
            ),
            says(
                answer("""
                    The difference is flat until the middle of February and then grows by about 4 mm a week. That alone
                    does not say which gauge moved. But Norrvik still agrees with Ekskär to within a centimetre, so
                    **Stenudden** is the one to look at: growth in the stilling well would explain a slow drift.
                    """)
            ),
        ],
        agent=_assistant(),
        modelId="anthropic-api/claude-sonnet-4.5",
        modelState=complete(ms("2026-04-18 12:10:58")),
        timeSpentWaiting=ms("2026-04-18 12:10:25") + 20,
        result={
            "timings": {"firstProgress": 2100, "totalElapsed": 32200},
            "metadata": {
                "positronContext": {"activeSessions": [{"name": "Python 3.13", "languageId": "python"}]},
                "systemPrompt": "You help with data analysis in Positron.",
                "availableTools": ["executeCode", "inspectVariables", "getPlot"],
                "modelId": "claude-sonnet-4.5",
                **recorded(one_round("two-gauges", ms("2026-04-18 12:10:31"), "", run)),
            },
        },
        followups=[],
    )


def _plot_result() -> Json:
    """Text, thinking and an image in one result."""
    image = {"$mid": 24, "mimeType": "image/png", "data": {"$base64": b64encode(DRIFT).decode()}}
    thought = {"$mid": 22, "value": ["A plot ", "follows."], "id": "t1", "metadata": {}}
    return {"$mid": 20, "content": [{"$mid": 21, "value": "<Axes: >\n", "audience": [0]}, thought, image]}


def _since_when() -> Json:
    code = 'difference["2026-02"].rolling("3D").mean().idxmin()'
    calls = Calls("two-gauges/2", ms("2026-04-18 12:00:00") + 700)
    run = calls.new(
        "executeCode", {"code": code, "language": "python"}, text_result("Timestamp('2026-02-16 04:00:00')")
    )
    selection = {"uri": uri(f"{GAUGES}/compare.py"), "range": span(12, 1, 14, 44)}
    return request(
        "two-gauges/2",
        ms("2026-04-18 12:14:02"),
        message("Since when, exactly?"),
        [
            _execute(run, code, "Timestamp('2026-02-16 04:00:00')"),
            says("Since the night of February 16. Was there a storm, or did somebody visit the gauge?"),
        ],
        variableData={
            "variables": [
                {
                    "kind": "implicit",
                    "id": "vscode.implicit.file",
                    "name": "file:compare.py",
                    "isFile": True,
                    "isSelection": True,
                    "enabled": False,
                    "value": selection,
                }
            ]
        },
        agent=_assistant(),
        modelId="anthropic-api/claude-sonnet-4.5",
        modelState=complete(ms("2026-04-18 12:14:11")),
        timeSpentWaiting=ms("2026-04-18 12:14:02") + 15,
        result={
            "timings": {"firstProgress": 1600, "totalElapsed": 8800},
            "metadata": recorded(one_round("two-gauges/2", ms("2026-04-18 12:14:06"), "", run)),
        },
        followups=[],
    )
