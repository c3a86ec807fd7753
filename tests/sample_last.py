"""A conversation on its way to another window, one that broke off in the middle of a line, and two exports."""

from __future__ import annotations

from typing import Any

from tests.sample_calls import Calls, metadata, rendered, tag, text_result
from tests.sample_forms import (
    Json,
    address,
    answer,
    link,
    made_up_id,
    md,
    message,
    ms,
    prose,
    refers,
    says,
    thinks,
    uri,
)
from tests.sample_home import (
    ANA,
    EXPORTS,
    GARDEN,
    GLOBAL_STORAGE,
    GPT,
    NOTES,
    SONNET,
    TIDES,
    TIDES_STORAGE,
    Home,
    agent_mode,
    ask_mode,
    builtin_mode,
    complete,
    request,
    session_uri,
)
from tests.sample_log import draft, log_of
from tests.sample_map import port_map

SEEDS = made_up_id("seed-order")
ALERT = made_up_id("high-water")
ALERTS = f"{TIDES}/tide_tables/alerts.py"
TORN = '{"kind":2,"k":["requests",1,"response"],"v":[{"value":"It runs every ten minutes now, from `crontab'


def put(home: Home) -> None:
    seeds = seed_order()
    home.session(GLOBAL_STORAGE, seeds, below="transferredChatSessions")
    transfer = {
        "toWorkspace": uri(GARDEN),
        "sessionResource": session_uri(SEEDS),
        "timestampInMilliseconds": ms("2026-04-29 20:18:02"),
    }
    home.row(GLOBAL_STORAGE, "ChatSessionStore.transferIndex", {address(GARDEN): transfer})
    home.row(GLOBAL_STORAGE, "chat.workspaceTransfer", [])
    alert = high_water()
    home.log(TIDES_STORAGE, alert, log_of(alert), torn=TORN.encode())
    home.index(TIDES_STORAGE, alert)
    home.document(f"{EXPORTS}/chat.json", exported(), indent=2)
    home.document(f"{EXPORTS}/first-steps.json", first_steps(), indent=2)


# --- on its way -------------------------------------------------------------------------------------------------


def seed_order() -> Json:
    return {
        "version": 3,
        "responderUsername": "GitHub Copilot",
        "initialLocation": "panel",
        "requests": [_table(), _how_many()],
        "hasPendingEdits": False,
        "inputState": draft(mode="ask", model=GPT),
        "sessionId": SEEDS,
        "creationDate": ms("2026-04-29 20:02:00"),
        "customTitle": "Seeds to order for May",
    }


def _table() -> Json:
    seeds = "beans 2 bags, dill, two kinds of lettuce (4 bags), sweetcorn 1"
    listed = {
        "kind": "string",
        "id": "notes.line",
        "name": "garden/seeds.md, line 4",
        "value": seeds,
        "uri": uri(f"{NOTES}/garden/seeds.md"),
        "resourceUri": uri(f"{NOTES}/garden/seeds.md"),
        "tooltip": md("From the notes"),
        "commandId": "notes.reveal",
        "handle": 3,
        "iconPath": {"id": "note"},
    }
    return request(
        "seed-order/1",
        ms("2026-04-29 20:02:50"),
        "Make a table for the order from this line of my notes.",
        [
            says(
                prose("""
                    | Seed | Bags |
                    |---|---:|
                    | Beans | 2 |
                    | Dill | 1 |
                    | Lettuce, two kinds | 4 |
                    | Sweetcorn | 1 |

                    For dill your note has no number; I took one bag.
                    """)
            )
        ],
        variableData={"variables": [listed]},
        agent=ask_mode("0.45.2"),
        modelId="copilot/gpt-4.1",
        modeInfo=builtin_mode("ask"),
        modelState=complete(ms("2026-04-29 20:02:58")),
        timeSpentWaiting=0,
        result={
            "timings": {"firstProgress": 900, "totalElapsed": 7400},
            "details": "GPT-4.1 • 0x",
            "metadata": metadata(
                "seed-order/1",
                SEEDS,
                "github.copilot.default",
                renderedUserMessage=rendered(
                    tag("attachments", tag("attachment", seeds, id="garden/seeds.md, line 4")),
                    tag("userRequest", "Make a table for the order from this line of my notes."),
                ),
            ),
        },
    )


def _how_many() -> Json:
    return request(
        "seed-order/2",
        ms("2026-04-29 20:10:31"),
        "Is one bag of sweetcorn enough for a bed of 1.2 by 3 metres?",
        [
            says(
                answer("""
                    Yes. Sweetcorn wants about 40 cm each way and should stand in a block, because the wind pollinates
                    it: three rows of seven plants. A bag has some thirty seeds, so you can sow two here and there and
                    keep the stronger plant.
                    """)
            )
        ],
        agent=ask_mode("0.45.2"),
        modelId="copilot/gpt-4.1",
        modeInfo=builtin_mode("ask"),
        modelState=complete(ms("2026-04-29 20:10:40")),
        timeSpentWaiting=0,
        result={"timings": {"firstProgress": 1020, "totalElapsed": 8200}, "details": "GPT-4.1 • 0x"},
    )


# --- broken off -------------------------------------------------------------------------------------------------

SEND = """\
with smtplib.SMTP_SSL("mail.example.com") as server:
    server.login("ana", "let-me-in")
    server.send_message(message)
"""


def high_water() -> Json:
    """The last answer was still being written when the computer stopped; two prompts were waiting."""
    return {
        "version": 3,
        "creationDate": ms("2026-05-04 06:40:00"),
        "customTitle": "Mail me when the water is high",
        "initialLocation": "panel",
        "responderUsername": "GitHub Copilot",
        "sessionId": ALERT,
        "hasPendingEdits": False,
        "requests": [_mail(), _ten_minutes()],
        "pendingRequests": [_waiting("queued", "Then write a test for it."), _waiting("steering", "Use UTC, please.")],
        "inputState": draft(model=SONNET),
    }


def _mail() -> Json:
    return request(
        "high-water/1",
        ms("2026-05-04 06:40:40"),
        "Send me a mail when high water at Norrvik will be above 1.6 m.",
        [
            says("`next_tides` already knows the heights, so this is short. The sending part:\n\n```python\n"),
            {
                "kind": "markdownVuln",
                "content": {"value": SEND, "supportThemeIcons": False, "supportHtml": False},
                "vulnerabilities": [
                    {
                        "title": "hardcoded-credentials",
                        "description": "Everyone who can read the code can read the password.",
                    }
                ],
            },
            says("```\n\nDo not leave the password there. Put it into the environment, and read it in "),
            refers(uri(ALERTS)),
            says(' with `os.environ["TIDE_MAIL_PASSWORD"]`.'),
        ],
        responseTimestamp=ms("2026-05-04 06:40:40") + 12,
        agent=agent_mode("0.45.2"),
        modelId="copilot/claude-sonnet-4.5",
        modeInfo=builtin_mode("agent", applyCodeBlockSuggestionId=f"sgt-{made_up_id('high-water', 'apply')}"),
        modelState=complete(ms("2026-05-04 06:41:10")),
        timeSpentWaiting=ms("2026-05-04 06:40:40") + 12,
        elapsedMs=29400,
        result={
            "timings": {"firstProgress": 2100, "totalElapsed": 29500},
            "details": "Claude Sonnet 4.5 • 1x",
            "metadata": metadata("high-water/1", ALERT, codeBlocks=[{"code": SEND, "language": "python"}]),
        },
        promptTokens=12140,
        completionTokens=254,
        followups=[],
    )


def _ten_minutes() -> Json:
    calls = Calls("high-water", ms("2026-05-04 06:30:00"))
    read = calls.new("read_file", {"filePath": ALERTS}, text_result("import smtplib\n"))
    return request(
        "high-water/2",
        ms("2026-05-04 06:45:12"),
        "Look every ten minutes, but mail once per tide.",
        [
            thinks("high-water/2", "It has to remember for which tide it has mailed."),
            read.part("copilot_readFile", f"Reading {link(ALERTS)}", f"Read {link(ALERTS)}"),
            says("I'll keep the time of the last tide that was mailed in a small file, and compare. "),
        ],
        responseTimestamp=ms("2026-05-04 06:45:12") + 9,
        agent=agent_mode("0.45.2"),
        modelId="copilot/claude-sonnet-4.5",
        modeInfo=builtin_mode("agent"),
        modelState={"value": 0},
        timeSpentWaiting=ms("2026-05-04 06:45:12") + 9,
    )


def _waiting(kind: str, text: str) -> Json:
    """A prompt that was waiting: in a queue, or to steer the answer that was being written."""
    waiting = request(f"high-water/{kind}", ms("2026-05-04 06:46:00"), text, [], agent=agent_mode("0.45.2"))
    for absent in ("response", "responseId", "contentReferences", "codeCitations"):
        del waiting[absent]
    options: Json = {
        "modeInfo": builtin_mode("agent"),
        "userSelectedModelId": "copilot/claude-sonnet-4.5",
        "location": "panel",
    }
    if kind == "queued":
        options |= _all_options()
    return {"id": waiting["requestId"], "request": waiting, "kind": kind, "sendOptions": options}


def _all_options() -> dict[str, Any]:
    return {
        "userSelectedModelConfiguration": {"reasoningEffort": "low"},
        "userSelectedTools": {"copilot_readFile": True, "run_in_terminal": False},
        "instructionContext": {"files": []},
        "locationData": {"type": "panel"},
        "attempt": 0,
        "noCommandDetection": False,
        "isVoiceModeInput": False,
        "agentId": "github.copilot.editsAgent",
        "agentIdSilent": "",
        "slashCommand": "tests",
        "confirmation": "Continue",
        "isSystemInitiated": False,
        "hideFromTranscript": False,
        "systemInitiatedLabel": "",
        "terminalExecutionId": "",
        "metadata": {},
    }


# --- exports ----------------------------------------------------------------------------------------------------


def exported() -> Json:
    """An export of today: three keys, and neither an id nor a title."""
    session = port_map(turns=3)
    for request_ in session["requests"]:
        request_["timeSpentWaiting"] = 0
        request_["response"] = [part.get("treeData", part) for part in request_["response"]]
    return {key: session[key] for key in ("responderUsername", "initialLocation", "requests")}


TIME = r'TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")'


def first_steps() -> Json:
    """An export from the early days, with a welcome and without ids or times."""
    return {
        "requesterUsername": ANA,
        "requesterAvatarIconUri": uri("/u/ana.png", "https", authority="avatars.example.com"),
        "responderUsername": "GitHub Copilot",
        "responderAvatarIconUri": {"id": "copilot"},
        "providerId": "copilot",
        "welcomeMessage": ["Hi **@ana**, how can I help you?", [{"kind": "reply", "message": "What can you do?"}]],
        "requests": [
            {
                "providerRequestId": made_up_id("first-steps", "provider"),
                "message": message("How do I match a time like 06:12 with a regular expression?"),
                "response": [
                    {
                        "value": f"For 00:00 to 23:59:\n\n```python\n{TIME}\n```",
                        "isTrusted": {"enabledCommands": []},
                        "supportThemeIcons": False,
                        "supportHtml": False,
                    }
                ],
                "agent": {"id": "", "metadata": {"requester": {"name": ANA}, "hasFollowups": True}},
                "isCanceled": False,
                "followups": [{"kind": "reply", "message": "And with seconds?"}],
                "vote": 1,
            },
            {
                "message": message("And with seconds?"),
                "response": [],
                "responseErrorDetails": {"message": "Sorry, an error occurred.", "responseIsIncomplete": True},
                "agent": {"id": "", "metadata": {"requester": {"name": ANA}}},
                "isCanceled": False,
            },
        ],
    }
