"""Frost dates for each bed: a conversation in agent mode from the autumn releases, with its linear editing history."""

from __future__ import annotations

from typing import Any

from tests.sample_calls import BY_USER, Calls, files_edited, metadata, one_round, piece, recorded, tool_part, words
from tests.sample_editing import ACCEPTED, entry, stop
from tests.sample_forms import (
    File,
    Json,
    address,
    answer,
    content_name,
    edit_parts,
    encoded,
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
    uri,
)
from tests.sample_home import ANA, GARDEN, GARDEN_STORAGE, Home, agent_mode, request, request_id

KEY = "frost-dates"
SESSION = made_up_id(KEY)
BEDS = f"{GARDEN}/src/beds.ts"
FROST = f"{GARDEN}/src/frost.ts"
STOPS = [made_up_id(KEY, "stop", name) for name in ("beds", "frost")]
AGENT = agent_mode("0.31.4")
WEATHER = {
    "type": "mcp",
    "label": "weather",
    "serverLabel": "Coast Weather",
    "instructions": "Dates are given as MM-DD.",
    "collectionId": "mcp.config.usrlocal",
    "definitionId": "mcp.config.usrlocal.weather",
}

BEDS_FIRST = (
    prose("""
    export interface Bed {
      name: string;
      zone: number;
    }
    """)
    + "\n"
)

FROST_FIRST = (
    prose("""
    import { Bed } from "./beds";

    const LAST_FROST: Record<number, string> = {
      5: "05-15",
      6: "05-01",
      7: "04-15",
    };

    /** The last day in spring on which frost is likely, as MM-DD. */
    export function lastFrost(bed: Bed): string {
      return LAST_FROST[bed.zone];
    }
    """)
    + "\n"
)

WITH_LEAD = """\
  const [month, day] = LAST_FROST[bed.zone].split("-").map(Number);
  const date = new Date(Date.UTC(2000, month - 1, day - (bed.frostLeadDays ?? 0)));
  return date.toISOString().slice(5, 10);
"""


class Work:
    """The two files as the conversation changes them."""

    def __init__(self) -> None:
        self.beds, self.frost = File(BEDS, BEDS_FIRST), File(FROST, FROST_FIRST)
        field = "  /** How many days earlier than its zone this bed is free of frost. */\n  frostLeadDays?: number;\n"
        self.beds_edit = self.beds.edit("  zone: number;\n", "  zone: number;\n" + field)
        self.frost_edit = self.frost.edit("  return LAST_FROST[bed.zone];\n", WITH_LEAD)


def put(home: Home) -> None:
    session = frost_dates()
    home.session(GARDEN_STORAGE, session)
    timing = {"startTime": session["creationDate"], "endTime": session["lastMessageDate"]}
    home.index(GARDEN_STORAGE, session, timing=timing, isImported=False)
    home.editing(GARDEN_STORAGE, SESSION, *editing())


def frost_dates() -> Json:
    return {
        "version": 3,
        "requesterUsername": ANA,
        "responderUsername": "GitHub Copilot",
        "responderAvatarIconUri": {"id": "copilot"},
        "initialLocation": "panel",
        "requests": [_ask(), _go_on(), _why_days()],
        "sessionId": SESSION,
        "creationDate": ms("2026-03-27 17:58:20"),
        "isImported": False,
        "lastMessageDate": ms("2026-03-27 18:11:30"),
        "customTitle": "A frost date for each bed",
    }


# --- looking around ---------------------------------------------------------------------------------------------


def _ask() -> Json:
    text = "Every bed should have its own last frost date. Start from #file:frost.ts, and look it up with #weather"
    mentions = (
        ("#file:frost.ts", {"kind": "dynamic", "text": "#file:frost.ts", "id": "vscode.file", "data": uri(FROST)}),
        ("#weather", {"kind": "tool", "toolName": "weather", "toolId": "mcp_weather_frost_dates"}),
    )
    calls = Calls(KEY, ms("2026-03-27 17:50:00"), "call_")
    read = calls.new("read_file", {"filePath": FROST, "startLine": 1, "endLine": 12}, _old_tree(FROST_FIRST))
    ask = calls.new("mcp_weather_frost_dates", {"place": "Norrvik"}, _old_text('{"zone": 7, "lastFrost": "04-15"}'))
    plan = calls.new("manage_todo_list", {"operation": "write"}, _old_text("Successfully wrote todo list"))
    rounds = recorded(
        one_round(KEY, ms("2026-03-27 17:58:58"), "I'll read how frost dates work today.", read),
        one_round(KEY, ms("2026-03-27 17:59:20"), "", ask),
        one_round(KEY, ms("2026-03-27 18:00:02"), "", plan),
    )
    return request(
        f"{KEY}/1",
        ms("2026-03-27 17:58:41"),
        message(text, *mentions),
        [*_starting(), *_looking(read.id), *_asking_around(), _todos(), *_helper(), _go_on_question()],
        variableData={"variables": _attached()},
        agent=AGENT,
        isCanceled=False,
        modelId="copilot/gpt-4.1",
        result={
            "timings": {"firstProgress": 2210, "totalElapsed": 95310},
            "details": "GPT-4.1 • 0x",
            "metadata": metadata(f"{KEY}/1", SESSION, **rounds, maxToolCallsExceeded=True),
        },
        contentReferences=[{"kind": "reference", "reference": location(FROST, 1, 12)}],
    )


def _old_text(text: str) -> Json:
    """A result from before its parts were numbered."""
    return {"content": [{"value": text}]}


def _old_tree(text: str) -> Json:
    """A tree that was stored as JSON in a string."""
    return {"content": [{"value": encoded({"node": piece(words(text))})}]}


def _attached() -> list[Json]:
    return [
        {"kind": "file", "id": "vscode.file", "name": "file:frost.ts", "value": uri(FROST), "omittedState": 0},
        {
            "kind": "symbol",
            "id": "sym:lastFrost",
            "name": "sym:lastFrost",
            "fullName": "$(symbol-method)lastFrost",
            "value": location(FROST, 10),
            "symbolKind": 11,
            "icon": {"id": "symbol-method"},
        },
        {"kind": "directory", "id": "vscode.folder", "name": "src", "value": uri(f"{GARDEN}/src"), "omittedState": 1},
        {"kind": "tool", "id": "mcp_weather_frost_dates", "name": "weather", "fullName": "weather: frost dates"},
    ]


def _starting() -> list[Json]:
    return [
        {"kind": "mcpServersStarting", "didStartServerIds": ["mcp.config.usrlocal.weather"]},
        {
            "kind": "mcpServersInteractionRequired",
            "isDone": True,
            "servers": [{"serverId": "mcp.config.usrlocal.weather", "serverLabel": "weather"}],
            "startCommand": {"id": "workbench.mcp.startServer", "title": "Start", "arguments": ["weather"]},
        },
        {
            "kind": "progressTask",
            "content": {"value": "Collecting workspace information", "uris": {}},
            "deferred": {"p": {}, "d": {"outcome": 0}},
            "progress": [],
        },
    ]


def _looking(read_id: str) -> list[Json]:
    return [
        says("I'll read how frost dates work today.\n\n"),
        {"kind": "prepareToolInvocation", "toolName": "copilot_readFile"},
        tool_part(
            read_id,
            "copilot_readFile",
            f"Reading {link(FROST)}",
            f"Read {link(FROST, 1, 12)}",
            resultDetails=[location(FROST, 1, 12)],
        ),
        says("The date depends on the zone only, in "),
        refers(symbol("lastFrost", 11, FROST, 10), resolveId=made_up_id(KEY, "lastFrost")),
        says(". Let me see what the weather service says about your place.\n\n"),
    ]


def _asking_around() -> list[Json]:
    output = {"type": "embed", "isText": True, "value": '{"zone": 7, "lastFrost": "04-15"}'}
    return [
        {
            "kind": "elicitation",
            "title": "Share your place with Coast Weather?",
            "message": md("The server wants to know the place of the garden."),
            "subtitle": "MCP server",
            "state": "accepted",
            "acceptedResult": {"place": "Norrvik"},
        },
        tool_part(
            made_up_id(KEY, "weather"),
            "mcp_weather_frost_dates",
            "Running `frost_dates`",
            "Ran `frost_dates`",
            originMessage="weather (MCP Server)",
            isConfirmed=BY_USER,
            source=WEATHER,
            resultDetails={"input": '{\n  "place": "Norrvik"\n}', "output": [output], "isError": False},
            toolSpecificData={"kind": "input", "rawInput": {"place": "Norrvik"}},
        ),
        says("Zone 7, with frost until the middle of April. That fits what you have.\n\n"),
    ]


def _todos() -> Json:
    items = [
        {
            "id": 1,
            "title": "Find out where frost dates are used",
            "status": "in-progress",
            "description": "lastFrost()",
        },
        {"id": 2, "title": "Add a lead in days to Bed", "status": "not-started", "description": "src/beds.ts"},
        {"id": 3, "title": "Use it in lastFrost", "status": "not-started", "description": "src/frost.ts"},
    ]
    return tool_part(
        made_up_id(KEY, "todos"),
        "manage_todo_list",
        "Updating the todo list",
        md("Created 3 todos"),
        toolSpecificData={"kind": "todoList", "sessionId": SESSION, "todoList": items},
    )


def _helper() -> list[Json]:
    """A sub-agent of that time: its calls say no more than that they are of one."""
    task = "Find all callers of lastFrost in src and list them."
    found = "Two callers: `plan.ts` sorts beds by it, `calendar.ts` prints it."
    return [
        tool_part(
            made_up_id(KEY, "helper"),
            "runSubagent",
            "Find callers of lastFrost",
            "Found callers of lastFrost",
            toolSpecificData={"kind": "subagent", "description": "Find callers", "prompt": task, "result": found},
        ),
        tool_part(
            made_up_id(KEY, "helper search"),
            "copilot_findTextInFiles",
            "Searching text for `lastFrost(`",
            "Searched text for `lastFrost(`, 2 results",
            fromSubAgent=True,
            resultDetails=[location(f"{GARDEN}/src/plan.ts", 31), location(f"{GARDEN}/src/calendar.ts", 12)],
        ),
        says("Only the plan and the calendar use it, so nothing else has to change."),
        {"kind": "prepareToolInvocation", "toolName": "copilot_replaceString"},
    ]


def _go_on_question() -> Json:
    return {
        "kind": "confirmation",
        "title": "Continue to iterate?",
        "message": md("Copilot has been working on this for a while. It can go on, or you can say more first."),
        "data": {"copilotRequestedRoundLimit": 8},
        "buttons": ["Continue", "Pause"],
        "isUsed": True,
        "isLive": False,
    }


# --- the edits --------------------------------------------------------------------------------------------------


def _go_on() -> Json:
    work = Work()
    text = '@agent Continue: "Continue to iterate?"'
    calls = Calls(f"{KEY}/2", ms("2026-03-27 17:50:00"), "call_")
    change_beds = calls.new("replace_string_in_file", {"filePath": BEDS}, files_edited(BEDS))
    change_frost = calls.new("replace_string_in_file", {"filePath": FROST}, files_edited(FROST))
    done = "The greenhouse can now have `frostLeadDays: 30`, and beds without a lead keep the date of their zone."
    rounds = recorded(
        one_round(KEY, ms("2026-03-27 18:02:30"), "", change_beds),
        one_round(KEY, ms("2026-03-27 18:02:52"), "", change_frost),
        one_round(KEY, ms("2026-03-27 18:03:10"), done),
    )
    return request(
        f"{KEY}/2",
        ms("2026-03-27 18:02:14"),
        message(text, ("@agent", {"kind": "agent", "agent": AGENT})),
        [
            {"kind": "prepareToolInvocation", "toolName": "copilot_replaceString"},
            _edit_call(change_beds.id, BEDS),
            *edit_parts(work.beds, [work.beds_edit], stop=STOPS[0]),
            _edit_call(change_frost.id, FROST),
            *edit_parts(work.frost, [work.frost_edit], stop=STOPS[1]),
            says(done),
        ],
        agent=AGENT,
        confirmation="Continue",
        isCanceled=False,
        modelId="copilot/gpt-4.1",
        result={
            "timings": {"firstProgress": 1650, "totalElapsed": 58020},
            "details": "GPT-4.1 • 0x",
            "metadata": metadata(f"{KEY}/2", SESSION, **rounds),
        },
        vote=1,
    )


def _edit_call(call_id: str, path: str) -> Json:
    return tool_part(call_id, "copilot_replaceString", f"Editing {link(path)}", presentation="hiddenAfterComplete")


def _why_days() -> Json:
    example = 'const greenhouse: Bed = { name: "Greenhouse", zone: 7, frostLeadDays: 30 };\n'
    text = answer("""
        Because a date would have to be kept in step with the zone. If you move a bed to another zone, or correct the
        table, a lead in days stays right. For the greenhouse:
        """)
    return request(
        f"{KEY}/3",
        ms("2026-03-27 18:11:30"),
        "Why a number of days, and not a date?",
        [says(f"{text}\n\n```ts\n{example}```\n")],
        agent=AGENT,
        isCanceled=False,
        modelId="copilot/gpt-4.1",
        editedFileEvents=[{"uri": uri(FROST), "eventKind": 1}, {"uri": uri(BEDS), "eventKind": 3}],
        responseMarkdownInfo=[{"suggestionId": f"sgt-{made_up_id(KEY, 'example')}"}],
        codeCitations=[
            {
                "kind": "codeCitation",
                "value": uri("/allotment/planner/beds.ts", "https", authority="code.example.com"),
                "license": "MIT",
                "snippet": "const greenhouse: Bed = {",
            }
        ],
        followups=[
            {"kind": "reply", "message": "Show the frost date on each bed", "agentId": "github.copilot.editsAgent"},
            {
                "kind": "reply",
                "message": "Write tests for lastFrost",
                "agentId": "github.copilot.editsAgent",
                "subCommand": "tests",
                "title": "Write tests",
                "tooltip": "For beds with and without a lead",
            },
        ],
        result={
            "timings": {"firstProgress": 1100, "totalElapsed": 4870},
            "nextQuestion": {"prompt": "Show the frost date on each bed", "participant": "agent", "command": "tests"},
            "metadata": metadata(
                f"{KEY}/3",
                SESSION,
                codeBlocks=[
                    {"code": example, "language": "ts", "resource": uri(BEDS), "markdownBeforeBlock": text},
                ],
                summary={"toolCallRoundId": "previous", "text": "Beds have a lead in days, `lastFrost` uses it."},
            ),
        },
    )


# --- the editing history ----------------------------------------------------------------------------------------


def editing() -> tuple[Json, list[str]]:
    """Version 2: a snapshot before each request, one at each stop within it, and the state after it."""
    work = Work()
    beds, frost = work.beds.text, work.frost.text
    by: dict[str, Any] = {"by": f"{KEY}/2"}
    beds_before, beds_after = (entry(BEDS, "typescript", BEDS_FIRST, text, **by) for text in (BEDS_FIRST, beds))
    frost_before, frost_after = (entry(FROST, "typescript", FROST_FIRST, text, **by) for text in (FROST_FIRST, frost))
    kept = [
        entry(path, "typescript", text, text, **by, state=ACCEPTED) for path, text in ((BEDS, beds), (FROST, frost))
    ]
    history = [
        {"requestId": request_id(f"{KEY}/1"), "stops": [stop()]},
        {
            "requestId": request_id(f"{KEY}/2"),
            "stops": [
                stop(),
                stop(beds_before, stop_id=STOPS[0]),
                stop(beds_after, frost_before, stop_id=STOPS[1]),
            ],
            "postEdit": [beds_after, frost_after],
        },
        {"requestId": request_id(f"{KEY}/3"), "stops": [stop(*kept)]},
    ]
    state = {
        "version": 2,
        "sessionId": SESSION,
        "linearHistory": history,
        "linearHistoryIndex": 5,
        "initialFileContents": [
            [address(path), content_name(text)] for path, text in ((BEDS, BEDS_FIRST), (FROST, FROST_FIRST))
        ],
        "recentSnapshot": stop(*kept),
    }
    return state, [BEDS_FIRST, FROST_FIRST, beds, frost]
