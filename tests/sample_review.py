"""A review by a custom agent: long output kept aside, a rate limit, and questions that wait for an answer."""

from __future__ import annotations

from tests.sample_calls import (
    BY_USER,
    Call,
    Calls,
    lines_read,
    metadata,
    one_round,
    recorded,
    rendered,
    surroundings,
    tag,
    terminal,
    text_result,
    today,
    tool_part,
)
from tests.sample_forms import (
    Json,
    answer,
    link,
    location,
    made_up_id,
    md,
    message,
    ms,
    prose,
    refers,
    says,
    symbol,
    thinks,
    uri,
)
from tests.sample_home import SONNET, TIDES, TIDES_STORAGE, Home, agent_mode, complete, request, session_address
from tests.sample_log import draft, log_of

KEY = "review-cache"
SESSION = made_up_id(KEY)
AGENT = agent_mode("0.40.0")
MODEL = "copilot/claude-sonnet-4.5"
CACHE = f"{TIDES}/tide_tables/cache.py"
REVIEWER = f"{TIDES}/.github/agents/reviewer.agent.md"
NOTES_PROMPT = f"{TIDES}/.github/prompts/review-notes.prompt.md"
OPENED = ms("2026-04-20 07:50:00")

CACHE_TEXT = prose('''
    """Forecasts on disk, so that the weather service is asked once an hour at most."""

    import json
    import time
    from collections.abc import Callable
    from pathlib import Path

    FOLDER = Path("/var/cache/tide-tables")
    MAX_AGE_SECONDS = 3600


    def cached_forecast(station: str, fetch: Callable[[str], dict]) -> dict:
        path = FOLDER / f"{station}.json"
        if path.exists() and time.time() - path.stat().st_mtime < MAX_AGE_SECONDS:
            return json.loads(path.read_text())
        forecast = fetch(station)
        path.write_text(json.dumps(forecast))
        return forecast
    ''') + "\n"  # fmt: skip

INSTRUCTIONS = prose("""
    You review changes before they are merged. Read first, run the tests, and change nothing yourself. Report what you
    find in the order of how much it would hurt, each with the line and a way to see it go wrong.
    """)

MODE: Json = {
    "kind": "agent",
    "isBuiltin": False,
    "telemetryModeId": "custom",
    "telemetryModeName": "Reviewer",
    "modeInstructions": {
        "uri": uri(REVIEWER),
        "name": "Reviewer",
        "content": INSTRUCTIONS,
        "toolReferences": [
            {"kind": "tool", "id": "copilot_readFile", "name": "readFile", "range": {"start": 46, "endExclusive": 50}},
            {"kind": "tool", "id": "run_in_terminal", "name": "runInTerminal"},
        ],
        "allowedSubagents": ["Explore"],
        "metadata": {"argumentHint": "What to review"},
        "isBuiltin": False,
    },
    "permissionLevel": "default",
}


def put(home: Home) -> None:
    calls = Calls(KEY, OPENED)
    tests = calls.new("run_in_terminal", {"command": TESTS, "explanation": "Run all tests"})
    kept_at = home.spilled(TIDES_STORAGE, SESSION, tests.recorded_id, long_output())
    tests.result = text_result(f"[The output is long. All of it is in {kept_at}]\n... 64 passed in 9.31s")
    session = review_cache(calls, tests)
    waiting = {"kind": "progressMessage", "content": md("Waiting for the model"), "shimmer": True}
    log = log_of(session, passing={1: [waiting]})
    log.unset("repoData")  # git was gone for a moment
    session.pop("repoData")
    home.log(TIDES_STORAGE, session, log)
    home.index(TIDES_STORAGE, session, permissionLevel="default")


def review_cache(calls: Calls, tests: Call) -> Json:
    mode = {"id": f"file://{REVIEWER}", "kind": "agent"}
    return {
        "version": 3,
        "creationDate": ms("2026-04-20 07:52:10"),
        "customTitle": "Review the forecast cache",
        "initialLocation": "panel",
        "responderUsername": "GitHub Copilot",
        "sessionId": SESSION,
        "hasPendingEdits": False,
        "requests": [_review(calls, tests), _too_many(), _questions()],
        "pendingRequests": [],
        "repoData": {"workspaceType": "remote-git", "syncStatus": "synced", "diffsStatus": "tooLarge"},
        "inputState": {**draft(model=SONNET), "mode": mode},
    }


# --- the review -------------------------------------------------------------------------------------------------

TESTS = "pytest -v"
PROMPT = "/review-notes #reviewTools Look at cache.py before I merge it, please"


def long_output() -> str:
    names = {
        "cache": (
            "a_fresh_file_is_used",
            "an_old_file_is_replaced",
            "a_missing_folder_is_an_error",
            "the_key_is_the_station",
        ),
        "lookup": (
            "the_next_tide",
            "the_last_day_of_the_year",
            "a_station_without_table",
            "this_very_minute_has_passed",
        ),
        "moon": ("new_moon", "full_moon", "half_moons", "a_leap_year"),
        "stations": ("by_name", "by_distance", "within_a_radius", "nothing_near"),
    }
    ports = ("norrvik", "stenudden", "ekskar", "elsewhere")
    tests = [
        f"tests/test_{file}.py::test_{name}[{port}]" for file, all_ in names.items() for name in all_ for port in ports
    ]
    head = "============================= test session starts ==============================\ncollected 64 items\n\n"
    lines = (f"{test:<68} PASSED [{100 * number // 64:3d}%]\n" for number, test in enumerate(tests, start=1))
    return (
        head + "".join(lines) + "\n============================== 64 passed in 9.31s ==============================\n"
    )


def _review(calls: Calls, tests: Call) -> Json:
    read = calls.new("read_file", {"filePath": CACHE, "startLine": 1, "endLine": 18}, lines_read(CACHE, CACHE_TEXT))
    issues = calls.new("mcp_issues_search", {"query": "forecast cache"}, text_result(ISSUES, audience=["assistant"]))
    findings = _findings()
    rounds = recorded(
        one_round(KEY, ms("2026-04-20 07:53:05"), "", read, tests),
        one_round(KEY, ms("2026-04-20 07:53:40"), "", issues),
        one_round(KEY, ms("2026-04-20 07:54:20"), "".join(part.get("value", "") for part in findings)),
    )
    prompt_mark = {"kind": "prompt", "name": "review-notes", "displayText": "/review-notes"}
    tools = [{"kind": "tool", "id": tool, "name": tool} for tool in ("readFile", "runInTerminal")]
    toolset_mark = {
        "kind": "toolset",
        "id": "reviewTools",
        "name": "reviewTools",
        "icon": {"id": "tools"},
        "tools": tools,
    }
    return request(
        f"{KEY}/1",
        ms("2026-04-20 07:52:48"),
        message(PROMPT, ("/review-notes", prompt_mark), ("#reviewTools", toolset_mark)),
        [*_looking(read, tests, issues), *findings],
        variableData={"variables": _attached(tools)},
        agent=AGENT,
        modelId=MODEL,
        modeInfo=MODE,
        modelState=complete(ms("2026-04-20 07:54:24")),
        timeSpentWaiting=ms("2026-04-20 07:52:48") + 16,
        result={
            "timings": {"firstProgress": 2480, "totalElapsed": 95700},
            "details": "Claude Sonnet 4.5 • 1x",
            "metadata": metadata(
                f"{KEY}/1",
                SESSION,
                renderedUserMessage=rendered(
                    tag("attachments", tag("attachment", CACHE_TEXT, filePath=CACHE, isSummarized="true")),
                    today("April 20, 2026"),
                    tag("toolReferences", "The user attached these tools: readFile, runInTerminal"),
                    tag(
                        "userRequest",
                        f"Follow the instructions in review-notes.prompt.md.\n{_prompt_file()}\nLook at cache.py",
                    ),
                ),
                renderedGlobalContext=[
                    *surroundings(TIDES, "tests/\ntide_tables/"),
                    {
                        "type": 1,
                        "text": tag("userMemory", "Ana likes short sentences.")
                        + tag("sessionMemory", "plan.md")
                        + tag("repoMemory", "tests.md"),
                    },
                ],
                **rounds,
            ),
        },
        contentReferences=[{"kind": "reference", "reference": location(CACHE, 1, 18)}],
        responseMarkdownInfo=[],
        followups=[],
    )


def _prompt_file() -> str:
    return tag("attachment", "Name at most three findings.", id="prompt:review-notes", filePath=NOTES_PROMPT)


def _attached(tools: list[Json]) -> list[Json]:
    return [
        {
            "kind": "promptFile",
            "id": f"vscode.prompt.file__file://{NOTES_PROMPT}",
            "name": "prompt:review-notes.prompt.md",
            "value": uri(NOTES_PROMPT),
            "isRoot": True,
            "automaticallyAdded": False,
        },
        {"kind": "toolset", "id": "reviewTools", "name": "reviewTools", "value": tools},
        {
            "kind": "file",
            "id": f"file://{CACHE}",
            "name": "cache.py",
            "value": uri(CACHE),
            "modelDescription": "To review",
        },
    ]


ISSUES = '[{"number": 31, "title": "Empty forecast after a restart", "state": "open"}]'


def _looking(read: Call, tests: Call, issues: Call) -> list[Json]:
    data = terminal(TESTS, "... 64 passed in 9.31s", 0, cwd=uri(TIDES), isBackground=False)
    data["terminalCommandOutput"] |= {"truncated": True, "lineCount": 69, "fullOutputPreview": "collected 64 items"}
    data["commandLine"]["toolEdited"] = f" {TESTS}"
    return [
        {"kind": "mcpServersStarting", "didStartServerIds": ["mcp.config.ws0.issues"]},
        thinks(f"{KEY}/1", "Read the file, run the tests, and see whether anybody has complained about it."),
        read.part(
            "copilot_readFile", f"Reading {link(CACHE)}", f"Read {link(CACHE, 1, 18)}", generatedTitle="Read cache.py"
        ),
        tests.part("run_in_terminal", "", isConfirmed=BY_USER, toolSpecificData=data),
        _issue_search(issues),
    ]


def _issue_search(issues: Call) -> Json:
    """An MCP call with an answer that is a resource, and an app to show it."""
    owner = session_address(SESSION).encode().hex()
    resource = uri(f"/tool/{issues.id}/0/issues.json", "vscode-chat-response-resource", authority=owner)
    shown = {"type": "embed", "isText": True, "value": ISSUES, "mimeType": "application/json", "audience": ["user"]}
    reference = {"type": "ref", "uri": resource, "mimeType": "application/json", "asResource": True}
    return issues.part(
        "mcp_issues_search",
        "Running `search`",
        "Ran `search`",
        originMessage=md("issues (MCP Server)"),
        isConfirmed={"type": 3, "scope": "workspace"},
        source={
            "type": "mcp",
            "label": "issues",
            "serverLabel": "Issue tracker",
            "collectionId": "mcp.config.ws0",
            "definitionId": "mcp.config.ws0.issues",
        },
        resultDetails={
            "input": '{\n  "query": "forecast cache"\n}',
            "inputLanguage": "json",
            "output": [shown, reference],
            "isError": False,
            "mcpOutput": {"content": [{"type": "text", "text": ISSUES}]},
        },
        toolSpecificData={
            "kind": "input",
            "rawInput": {"query": "forecast cache"},
            "mcpAppData": {
                "kind": "local",
                "resourceUri": "ui://issues/list",
                "serverDefinitionId": "mcp.config.ws0.issues",
                "collectionId": "mcp.config.ws0",
            },
            "editable": False,
        },
    )


def _findings() -> list[Json]:
    return [
        says("The tests pass, all 64 of them. Three things they do not see:\n\n1. **A half-written file.** "),
        refers(symbol("cached_forecast", 11, CACHE, 12, "cache")),
        says(" writes in place, in "),
        refers(location(CACHE, 17)),
        says(
            answer("""
                . If the service restarts at that moment, the next request reads half a JSON document and fails for an
                hour. That may well be issue 31. Write to a temporary file and rename it.
                2. **No forecast when the service is down.** An old forecast is better than an error; `fetch` could fall
                back to the file, however old.
                3. **The station's name becomes a path.** `../../etc/hosts` is no station, but nothing here says so.

                I would not merge before the first is fixed.
                """)
        ),
    ]


# --- a rate limit, then the same again --------------------------------------------------------------------------

FIX = "Sketch the fix for the first one"


def _too_many() -> Json:
    return request(
        f"{KEY}/2",
        ms("2026-04-20 08:01:30"),
        FIX,
        [{"kind": "hook", "hookType": "ErrorOccurred", "systemMessage": "Written to ~/copilot-errors.txt"}],
        agent=AGENT,
        modelId=MODEL,
        modeInfo=MODE,
        modelState={"value": 3, "completedAt": ms("2026-04-20 08:01:33")},
        timeSpentWaiting=ms("2026-04-20 08:01:30") + 9,
        result={
            "timings": {"totalElapsed": 2710},
            "errorDetails": {
                "message": "You have sent many requests in a short time. Please wait a moment and try again.",
                "code": "rate_limited",
                "responseIsIncomplete": True,
                "isRateLimited": True,
                "level": 1,
                "confirmationButtons": [
                    {"data": {"copilotContinueOnError": True}, "label": "Try Again"},
                    {"data": {"switchToAuto": True}, "label": "Switch to Auto", "isSecondary": True},
                ],
            },
            "metadata": metadata(f"{KEY}/2", SESSION, shouldAutoSwitchToAuto=True),
        },
    )


def _questions() -> Json:
    ask = tool_part(
        made_up_id(KEY, "ask"),
        "vscode_askQuestions",
        "Asking 3 questions",
        "Asked 3 questions",
        presentation="hiddenAfterComplete",
    )
    wait = tool_part(made_up_id(KEY, "wait"), "vscode_askQuestions", "Asking a question", isConfirmed=None)
    return request(
        f"{KEY}/3",
        ms("2026-04-20 08:06:02"),
        FIX,
        [
            says("Three questions first, so that I sketch the right thing.\n\n"),
            ask,
            _answered(),
            says("Then a temporary file in the same folder and `os.replace`, which is atomic. One more question.\n\n"),
            wait,
            _open(),
        ],
        agent=AGENT,
        modelId=MODEL,
        modeInfo=MODE,
        modelState={"value": 4},
        timeSpentWaiting=ms("2026-04-20 08:06:02") + 12,
    )


def _answered() -> Json:
    """Three kinds of question, and the three forms that an answer can have."""
    options = [{"id": name.lower(), "label": name, "value": name} for name in ("Linux", "macOS", "Windows")]
    return {
        "kind": "questionCarousel",
        "message": md("Before I sketch it:"),
        "source": {"type": "internal", "label": "Built-In"},
        "allowSkip": True,
        "resolveId": made_up_id(KEY, "resolve"),
        "questions": [
            {
                "id": "name",
                "type": "text",
                "title": "Temporary name",
                "message": "What should the temporary file be called?",
                "defaultValue": ".part",
                "required": False,
                "validation": {"minLength": 2, "maxLength": 12},
            },
            {
                "id": "system",
                "type": "singleSelect",
                "title": "System",
                "message": md("Which system does the service run on?"),
                "options": options,
                "allowFreeformInput": True,
            },
            {
                "id": "checks",
                "type": "multiSelect",
                "title": "Tests",
                "detailedMessage": md("A test can stop in the middle of a write."),
                "description": "More than one is fine",
                "options": [
                    {"id": "a", "label": "Restart while writing", "value": "restart"},
                    {"id": "b", "label": "Full disk", "value": "disk"},
                ],
            },
        ],
        "data": {
            "name": ".part",
            "system": {"selectedValue": "Linux", "freeformValue": "on the Pi, too"},
            "checks": {"selectedValues": ["restart", "disk"]},
        },
        "isUsed": True,
        "answeredExternally": False,
        "answerPresentation": "conversation",
    }


def _open() -> Json:
    question = {
        "id": "mode",
        "type": "text",
        "title": "File mode",
        "message": "Who else reads the cache?",
        "required": True,
    }
    return {"kind": "questionCarousel", "allowSkip": False, "questions": [question], "isUsed": False}
