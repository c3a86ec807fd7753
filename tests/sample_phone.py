"""The plan on a phone: from Insiders, which writes what no release knows, and what was never meant to be kept."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from tests.sample_calls import Call, Calls, metadata, one_round, recorded, rendered, tag, text_result, today, tool_part
from tests.sample_forms import Json, answer, made_up_id, md, ms, picture, says, thinks, uri
from tests.sample_home import (
    GARDEN,
    GARDEN_INSIDERS_STORAGE,
    SONNET,
    Home,
    agent_mode,
    builtin_mode,
    complete,
    request,
    session_uri,
)
from tests.sample_log import draft

KEY = "phone"
SESSION = made_up_id(KEY)
AGENT = agent_mode("0.47.2026050104")
MODEL = "copilot/claude-sonnet-4.5"
STYLE = f"{GARDEN}/src/plan.css"
UNKNOWN_RESPONSE_KIND = "canvasPreview"

MOCK_UP = picture(
    """
    kkkkkkkkkkkkkkkk
    kwwwwwwwwwwwwwwk
    kwggggggggggggwk
    kwggggggggggggwk
    kwggggggggggggwk
    kwwwwwwwwwwwwwwk
    kwggggggggggggwk
    kwggggggggggggwk
    kwggggggggggggwk
    kwwwwwwwwwwwwwwk
    kwggggggggggggwk
    kwggggggggggggwk
    kwggggggggggggwk
    kwwwwwwwwwwwwwwk
    kwwwwwwkkwwwwwwk
    kkkkkkkkkkkkkkkk
    """,
    {"k": (40, 40, 40), "w": (250, 250, 250), "g": (90, 150, 80)},
)


def put(home: Home) -> None:
    session = on_a_phone()
    home.session(GARDEN_INSIDERS_STORAGE, session)
    home.index(GARDEN_INSIDERS_STORAGE, session, workingDirectory=session["workingDirectory"])


def on_a_phone() -> Json:
    """A plain file: Ana has switched the log off in Insiders."""
    return {
        "version": 3,
        "responderUsername": "GitHub Copilot",
        "initialLocation": "panel",
        "requests": [_too_wide(), _other_words(), _icons(), _every_friday(), _merged(), _too_much()],
        "inputState": draft(model=SONNET),
        "sessionId": SESSION,
        "creationDate": ms("2026-05-02 10:15:00"),
        "customTitle": "The plan on a phone",
        "workingDirectory": f"file://{GARDEN}",
    }


def _turn(number: int, when: str, text: str, response: list[Json], **fields: Any) -> Json:
    fields.setdefault("modelState", complete(ms(when) + fields["result"]["timings"]["totalElapsed"]))
    return request(
        f"{KEY}/{number}",
        ms(when),
        text,
        response,
        responseTimestamp=ms(when) + 11,
        agent=AGENT,
        modelId=MODEL,
        modeInfo=builtin_mode("agent"),
        **fields,
    )


# --- too wide ---------------------------------------------------------------------------------------------------

PROMPT = "On my phone the plan is cut off on the right. This is the page, and the element."
CSS = """\
.plan {
  display: grid;
  grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr));
}
"""


def _too_wide() -> Json:
    calls = Calls(KEY, ms("2026-05-02 10:10:00"))
    draw = calls.new("generate_image", {"prompt": "The plan, one bed below the other"}, text_result("[image]"))
    call = one_round(KEY, ms("2026-05-02 10:16:20"), "", draw)
    text = answer("""
        The plan is 960 pixels wide whatever the screen. With `auto-fit` the beds take as many columns as there is room
        for, which is one on a phone:
        """)
    return _turn(
        1,
        "2026-05-02 10:15:48",
        PROMPT,
        [
            *_leaked(),
            thinks(f"{KEY}/1", "A fixed width in the computed styles. A grid would wrap."),
            says(f"{text}\n\n```css\n{CSS}```\n\nI drew how that would look:\n\n"),
            _drawing(draw),
            {"kind": UNKNOWN_RESPONSE_KIND, "title": "Plan at 390 px", "state": {"width": 390, "height": 844}},
            says("\nOnly these files would change:\n\n"),
            {
                "label": "src",
                "uri": uri(f"{GARDEN}/src"),
                "type": 2,
                "children": [{"label": "plan.css", "uri": uri(STYLE), "type": 1}],
            },
        ],
        variableData={"variables": [*_seen(), *_other_sessions()]},
        timeSpentWaiting=0,
        elapsedMs=30120,
        result={
            "timings": {"firstProgress": 2600, "totalElapsed": 30200},
            "details": "Claude Sonnet 4.5 • 1x",
            "metadata": metadata(
                f"{KEY}/1",
                SESSION,
                codeBlocks=[{"code": CSS, "language": "css", "markdownBeforeBlock": text}],
                renderedUserMessage=rendered(
                    tag("attachments", tag("attachment", '<div class="plan">', id="div.plan")),
                    today("May 2, 2026"),
                    tag("userRequest", PROMPT),
                ),
                **recorded(call),
            ),
        },
        promptTokens=14210,
        completionTokens=388,
        copilotCredits=1.1,
    )


def _leaked() -> list[Json]:
    """Parts that VS Code shows and should not store; a nightly build did."""
    return [
        {"kind": "voiceProgress", "id": "voice-1", "value": "Listening"},
        {"kind": "mcpServersStartingSlow", "didStartServerIds": []},
        {
            "kind": "mcpAuthenticationRequired",
            "servers": [{"serverId": "mcp.config.ws0.issues", "serverLabel": "issues"}],
        },
    ]


def _drawing(draw: Call) -> Json:
    image = {"type": "data", "mimeType": "image/png", "base64Data": b64encode(MOCK_UP).decode()}
    return draw.part(
        "generate_image",
        "Drawing",
        "Drew a picture",
        toolSpecificData={"kind": "generatedImage"},
        resultDetails={"output": image},
    )


def _seen() -> list[Json]:
    """What Ana picked in the built-in browser."""
    page = uri("/plan", "http", authority="localhost:5173")
    return [
        {
            "kind": "element",
            "id": "element-1",
            "name": "div.plan",
            "value": '<div class="plan"> … </div>',
            "imageData": {"$base64": b64encode(MOCK_UP).decode()},
            "imageMimeType": "image/png",
            "ancestors": [{"tagName": "main", "id": "app"}],
            "attributes": {"class": "plan"},
            "computedStyles": {"width": "960px", "overflow": "hidden"},
            "dimensions": {"top": 64, "left": 0, "width": 960, "height": 700},
            "innerText": "Herbs Beans Greenhouse",
        },
        {
            "kind": "browserView",
            "id": "browser-1",
            "name": "Garden planner",
            "value": page,
            "browserId": "browser-1",
            "_meta": {"picked": True},
        },
    ]


def _other_sessions() -> list[Json]:
    drag = session_uri(made_up_id("drag-beds"))
    return [
        {"kind": "sessionReference", "id": "session-1", "name": "Drag beds around the plan", "value": drag},
        {"kind": "chatReference", "id": "chat-1", "name": "Drag beds, to turn 2", "value": drag, "endTurn": 2},
        {
            "kind": "debugEvents",
            "id": "events-1",
            "name": "Debug events",
            "value": "3 model calls",
            "snapshotTime": ms("2026-05-02 10:15:40"),
            "sessionResource": drag,
        },
        {
            "kind": "transcriptContext",
            "id": "transcript-1",
            "name": "What was said before",
            "value": "Ana wants to use the planner in the garden, on her phone.",
            "uri": uri("/transcripts/1", "vscode-chat-transcript"),
            "tooltip": "From voice",
        },
    ]


# --- withheld, hidden, refused ----------------------------------------------------------------------------------


def _other_words() -> Json:
    return _turn(
        2,
        "2026-05-02 10:24:10",
        "A friendly text for the empty plan?",
        [
            says("How about this line from a well-known book on gardens: "),
            {"kind": "clearToPreviousToolInvocation", "reason": 2},
            says("\n\n> Nothing grows here yet. Drag a bed onto the plan to begin."),
        ],
        result={
            "timings": {"totalElapsed": 8100},
            "metadata": metadata(f"{KEY}/2", SESSION, filterCategory="copyright"),
        },
    )


def _icons() -> Json:
    """Redacted: VS Code has emptied the answer."""
    return _turn(
        3,
        "2026-05-02 10:30:02",
        "Can you copy the icons of the planner I used before?",
        [],
        modelState={"value": 3, "completedAt": ms("2026-05-02 10:30:09")},
        result={
            "timings": {"totalElapsed": 6400},
            "errorDetails": {
                "message": "The answer was withheld, because it repeated what belongs to others.",
                "code": "content_filter",
                "responseIsFiltered": True,
                "responseIsRedacted": True,
                "isExpectedError": True,
                "level": 0,
            },
        },
    )


def _every_friday() -> Json:
    configured = {"kind": "automationConfigured", "automationId": "a1", "automationName": "Layout on small screens"}
    return _turn(
        4,
        "2026-05-02 10:41:30",
        "Check the layout on small screens every Friday.",
        [
            tool_part(
                made_up_id(KEY, "propose"),
                "configure_automation",
                "Preparing an automation",
                "Prepared an automation",
                toolSpecificData={"kind": "automationConfiguration"},
            ),
            tool_part(
                made_up_id(KEY, "configure"),
                "configure_automation",
                "Creating an automation",
                "Created *Layout on small screens*",
                toolSpecificData={**configured, "operation": "created"},
            ),
            {
                "kind": "markdownContent",
                "content": md("It runs each Friday at noon and tells you when something is cut off."),
            },
        ],
        result={"timings": {"firstProgress": 1500, "totalElapsed": 9300}},
    )


def _merged() -> Json:
    """Sent by the product itself, and hidden."""
    return _turn(
        5,
        "2026-05-02 10:50:00",
        "Merge the changes of the background session.",
        [says("Merged without conflicts.")],
        isSystemInitiated=True,
        systemInitiatedLabel="Merge",
        requestSource="agentMerge",
        hiddenFromTranscript=True,
        result={"timings": {"totalElapsed": 2100}},
    )


def _too_much() -> Json:
    return _turn(
        6,
        "2026-05-02 11:02:11",
        "Now the calendar, please.",
        [],
        modelState={"value": 1, "completedAt": ms("2026-05-02 11:02:13")},  # older builds wrote failed as complete
        result={
            "timings": {"totalElapsed": 1900},
            "errorDetails": {
                "message": "You have used up the premium requests of this month.",
                "code": "quotaExceeded",
                "isQuotaExceeded": True,
                "level": 2,
                "confirmationButtons": [
                    {"data": {"switchTo": "gpt-4.1"}, "label": "Use GPT-4.1", "resend": True, "preserveRequestId": True}
                ],
            },
        },
    )
