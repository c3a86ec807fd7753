"""Beds that can be dragged: a long turn with a plan, a helper, hooks and edits of every sort, and its timeline."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from tests.sample_calls import (
    BY_USER,
    Call,
    Calls,
    files_edited,
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
from tests.sample_drag_files import (
    DRAG,
    DRAG_FIRST,
    KEY,
    LAYOUT,
    MODEL,
    MOUSE,
    PLAN_VIEW,
    STOPS,
    TEST,
    TEST_TEXT,
    Garden,
    editing,
)
from tests.sample_forms import (
    File,
    Json,
    edit_parts,
    link,
    location,
    made_up_id,
    md,
    ms,
    picture,
    prose,
    says,
    thinks,
    uri,
)
from tests.sample_frost import BEDS
from tests.sample_home import (
    GARDEN,
    GARDEN_STORAGE,
    SONNET,
    Home,
    agent_mode,
    builtin_mode,
    complete,
    edit_mode,
    request,
    request_id,
)
from tests.sample_log import draft, log_of

SESSION = made_up_id(KEY)
OPENED = ms("2026-04-13 15:20:00")
AGENT = agent_mode("0.39.1")
RULES = f"{GARDEN}/.github/instructions/typescript.instructions.md"

SKETCH = picture(
    """
    wwwwwwwwwwwwwwww
    wggggggwwwwwwwww
    wggggggwwwwwwwww
    wggggggwwwwwwwww
    wwwwwwwwwwwwwwww
    wwwwwwwwwwwwwwww
    wwwwkwwwwwwwwwww
    wwwwkkwwwwwwwwww
    wwwwkkkwwwwwwwww
    wwwwkwwwwwwwwwww
    wwwwwwwwwwwwwwww
    wwwwwwwwwddddddw
    wwwwwwwwwdwwwwdw
    wwwwwwwwwdwwwwdw
    wwwwwwwwwddddddw
    wwwwwwwwwwwwwwww
    """,
    {"w": (255, 255, 255), "g": (90, 150, 80), "k": (30, 30, 30), "d": (170, 200, 160)},
)


def put(home: Home) -> None:
    session = drag_beds()
    passing = {0: [{"kind": "progressMessage", "content": md("Thinking"), "shimmer": True}]}
    home.log(GARDEN_STORAGE, session, log_of(session, passing=passing))
    stats = {"fileCount": 3, "added": 21, "removed": 5}
    home.index(GARDEN_STORAGE, session, permissionLevel="default", stats=stats)
    home.editing(GARDEN_STORAGE, SESSION, *editing())


def drag_beds() -> Json:
    garden = Garden()
    return {
        "version": 3,
        "creationDate": ms("2026-04-13 15:21:40"),
        "customTitle": "Drag beds around the plan",
        "initialLocation": "panel",
        "responderUsername": "GitHub Copilot",
        "sessionId": SESSION,
        "hasPendingEdits": True,
        "requests": [_drag(garden), _snap(garden), _setting(garden)],
        "pendingRequests": [],
        "repoData": {
            "workspaceType": "local-git",
            "syncStatus": "local-only",
            "localBranch": "drag",
            "localHeadCommit": "c3f70d5be1a94420b8e62f1177ad90c5e4821b6f",
            "diffs": [
                {"relativePath": "src/beds.ts", "changeType": "modified", "unifiedDiff": "", "status": "M"},
                {
                    "relativePath": "src/plan-view.ts",
                    "changeType": "renamed",
                    "oldRelativePath": "src/layout.ts",
                    "status": "R",
                },
            ],
            "diffsStatus": "included",
            "changedFileCount": 4,
        },
        "inputState": draft(model=SONNET, permissionLevel="default"),
    }


# --- the first turn ---------------------------------------------------------------------------------------------

PROMPT = "Let me drag the beds around on the plan, as in the sketch. The old mouse code can go."
ANSWER = (
    "You can drag beds now. `src/mouse.ts` is gone, and `layout.ts` is called `plan-view.ts`, which is what it does."
)
TASKS = (
    "Find out how the plan handles the mouse",
    "Give beds a position",
    "Move a bed with the pointer",
    "Remove mouse.ts",
)


def _drag(garden: Garden) -> Json:
    calls = Calls(KEY, OPENED)
    write = [
        calls.new("manage_todo_list", {"todoList": _todos(done)}, text_result("Wrote the todo list"))
        for done in range(3)
    ]
    explore = calls.new(
        "runSubagent",
        {"agentName": "Explore", "description": "Explore mouse handling", "prompt": TASK},
        text_result(FOUND),
    )
    create = calls.new("create_file", {"filePath": DRAG, "content": DRAG_FIRST}, text_result(f"File created at {DRAG}"))
    edit = calls.new("replace_string_in_file", {"filePath": BEDS}, files_edited(BEDS))
    remove = calls.new("run_in_terminal", {"command": "rm src/mouse.ts"}, text_result("Blocked by a hook."))
    test = calls.new("run_in_terminal", {"command": "npm test"}, text_result("12 passed"))
    rounds = recorded(
        one_round(KEY, ms("2026-04-13 15:22:30"), "", write[0], thinking={"id": "t0", "text": ["A plan ", "first."]}),
        one_round(KEY, ms("2026-04-13 15:22:40"), "", explore),
        one_round(KEY, ms("2026-04-13 15:24:02"), "", write[1], create, edit, phase="edit", phaseModelId="sonnet"),
        one_round(KEY, ms("2026-04-13 15:25:11"), "", remove, hookContext="Deleting needs the editor."),
        one_round(KEY, ms("2026-04-13 15:25:50"), "", write[2], test),
        one_round(KEY, ms("2026-04-13 15:26:20"), ANSWER),
    )
    return request(
        f"{KEY}/1",
        ms("2026-04-13 15:22:11"),
        PROMPT,
        [
            *_beginning(write[0]),
            *_exploring(explore),
            _todo_part(write[1], 1),
            *_editing_parts(garden, create, edit),
            *_removing(remove),
            _todo_part(write[2], 2),
            *_ending(test),
        ],
        variableData={"variables": _attached()},
        agent=AGENT,
        modelId=MODEL,
        modeInfo=builtin_mode("agent", permissionLevel="default"),
        modelState=complete(ms("2026-04-13 15:26:24")),
        timeSpentWaiting=ms("2026-04-13 15:22:11") + 14,
        result={
            "timings": {"firstProgress": 3120, "totalElapsed": 252900},
            "details": "Claude Sonnet 4.5 • 1x",
            "metadata": metadata(
                f"{KEY}/1",
                SESSION,
                renderedUserMessage=rendered(
                    tag("attachments", tag("attachment", "[image]", id="sketch.png") + _rules()),
                    today("April 13, 2026"),
                    tag("editorContext", f"The user's current file is {LAYOUT}. The current selection is lines 3-5."),
                    tag("reminderInstructions", tag("additional_skills_reminder", "Check the skills first.")),
                    tag("userRequest", PROMPT),
                ),
                renderedGlobalContext=surroundings(GARDEN, "package.json\nsrc/\ntest/"),
                cacheKey=f"file://{GARDEN}",
                **rounds,
            ),
        },
        responseMarkdownInfo=[],
        followups=[],
    )


def _rules() -> str:
    return tag("attachment", "Prefer small pure functions.", id="typescript", filePath=RULES)


def _attached() -> list[Json]:
    skills = "<skills>\n<skill>\n<name>release</name>\n<description>How we make a release.</description>\n"
    skills += f"<file>{GARDEN}/.github/skills/release/SKILL.md</file>\n</skill>\n</skills>"
    return [
        {
            "kind": "image",
            "id": "sketch",
            "name": "sketch.png",
            "value": {"$base64": b64encode(SKETCH).decode()},
            "mimeType": "image/png",
            "isPasted": True,
        },
        {
            "kind": "image",
            "id": "photo",
            "name": "garden.jpg",
            "value": uri("/home/ana/Pictures/garden.jpg"),
            "mimeType": "image/jpeg",
            "isURL": False,
            "omittedState": 3,
        },
        {
            "kind": "implicit",
            "id": "vscode.implicit.selection",
            "name": "file:layout.ts",
            "value": location(LAYOUT, 3, 5),
            "uri": uri(LAYOUT),
            "isFile": True,
            "isSelection": True,
            "enabled": True,
            "modelDescription": "User's active selection",
        },
        {
            "kind": "promptFile",
            "id": f"vscode.prompt.instructions.root__file://{RULES}",
            "name": "prompt:typescript.instructions.md",
            "value": uri(RULES),
            "isRoot": True,
            "originLabel": "Applies to **/*.ts",
            "automaticallyAdded": True,
            "modelDescription": "Prompt instructions file",
        },
        {
            "kind": "promptText",
            "id": "vscode.prompt.instructions.text",
            "name": "prompt:instructionsList",
            "value": skills,
            "settingId": "chat.useAgentSkills",
            "automaticallyAdded": True,
            "toolReferences": [{"kind": "tool", "id": "copilot_readFile", "name": "Read File"}],
        },
    ]


def _todos(done: int) -> list[Json]:
    """The list after a number of steps."""
    finished = (0, 1, 4)[done]
    states = ["completed"] * finished + ["in-progress"] * (0 < finished < 4)
    states += ["not-started"] * (4 - len(states))
    return [{"id": number + 1, "title": TASKS[number], "status": state} for number, state in enumerate(states)]


def _todo_part(call: Call, done: int) -> Json:
    said = ("Created 4 todos", "Starting: *Give beds a position* (2/4)", "Completed 4 of 4 todos")[done]
    data = {"kind": "todoList", "todoList": _todos(done)}
    return call.part("manage_todo_list", "Updating the todo list", md(said), toolSpecificData=data)


def _hook(kind: str, **more: Any) -> Json:
    return {"kind": "hook", "hookType": kind, **more}


def _beginning(write: Call) -> list[Json]:
    return [
        {"kind": "mcpServersStarting", "didStartServerIds": []},
        _hook("SessionStart", systemMessage="Node 22, npm 10"),
        _hook("UserPromptSubmit", metadata={"durationMs": 41}),
        thinks(f"{KEY}/1", "First I want to know who listens to the mouse today. A helper can look around."),
        says(
            "I'll look at how the plan handles the mouse, then give beds a position and move them with the pointer.\n\n"
        ),
        _todo_part(write, 0),
    ]


TASK = "Find all code in src that listens to the mouse or draws the plan. Report files and functions. Change nothing."
FOUND = "Only `mouse.ts` listens to the mouse, and nothing imports it. `layout.ts` draws the plan (`drawPlan`)."


def _exploring(explore: Call) -> list[Json]:
    """A helper, and what it did: its calls name the call that started it."""
    data = {
        "kind": "subagent",
        "description": "Explore mouse handling",
        "agentName": "Explore",
        "prompt": TASK,
        "result": FOUND,
        "modelName": "Claude Haiku 4.5",
    }
    of_helper: dict[str, Any] = {"subAgentInvocationId": explore.id}
    return [
        explore.part(
            "runSubagent", "Explore mouse handling", "Explored mouse handling", toolSpecificData=data, **of_helper
        ),
        _hook("SubagentStart", **of_helper),
        tool_part(
            "toolu_01helperSearch0000000001",
            "copilot_findTextInFiles",
            "Searching text for `addEventListener`",
            "Searched text for `addEventListener`, 2 results",
            resultDetails=[location(MOUSE, 2), location(MOUSE, 3)],
            generatedTitle="Searched for listeners",
            **of_helper,
        ),
        tool_part(
            "toolu_01helperRead000000000001",
            "copilot_readFile",
            f"Reading {link(LAYOUT)}",
            f"Read {link(LAYOUT, 1, 5)}",
            **of_helper,
        ),
        _hook("SubagentStop", **of_helper),
        says("Nothing imports `mouse.ts`, so it can go without replacement.\n\n"),
    ]


def _editing_parts(garden: Garden, create: Call, edit: Call) -> list[Json]:
    return [
        create.part("copilot_createFile", f"Creating {link(DRAG)}", f"Created {link(DRAG)}"),
        *edit_parts(garden.drag, [garden.create], stop=STOPS["create"]),
        edit.part("copilot_replaceString", f"Editing {link(BEDS)}", presentation="hidden"),
        *edit_parts(garden.beds, [garden.beds_edit], stop=STOPS["beds"]),
        _hook("PostToolUse", toolDisplayName="Replace String in File", systemMessage="prettier: nothing to do"),
    ]


def _removing(remove: Call) -> list[Json]:
    reason = "Please delete files in the editor, where it can be undone."
    return [
        _hook("PreToolUse", stopReason=reason, toolDisplayName="Run in Terminal"),
        remove.part(
            "run_in_terminal",
            "",
            isConfirmed={"type": 0},
            toolSpecificData=terminal("rm src/mouse.ts", cwd=uri(GARDEN), isBackground=False),
        ),
        says("\nThen I'll delete it in the editor.\n"),
        {
            "kind": "workspaceEdit",
            "edits": [
                {"oldResource": uri(MOUSE)},
                {"oldResource": uri(LAYOUT), "newResource": uri(PLAN_VIEW)},
                {"newResource": uri(f"{GARDEN}/src/drag.css")},
            ],
        },
    ]


def _ending(test: Call) -> list[Json]:
    data = terminal("npm test", "Test Files  3 passed (3)\n     Tests  12 passed (12)", 0, cwd=uri(GARDEN))
    return [
        test.part("run_in_terminal", "", isConfirmed=BY_USER, toolSpecificData=data),
        says(f"\n{ANSWER}"),
        _hook("Stop"),
    ]


# --- snapping, and what was taken back --------------------------------------------------------------------------

SUMMARY = prose("""
    The user wants to drag beds on the plan. `dragged` in src/drag.ts moves a bed; Bed has x and y. mouse.ts was
    deleted and layout.ts renamed to plan-view.ts. Tests pass. Files must not be deleted in the terminal.
    """)


def _snap(garden: Garden) -> Json:
    text = "Snap them to a grid of 10 cm."
    answer = "Beds snap to the nearest 10 cm, when dropped and while you drag."
    calls = Calls(f"{KEY}/2", OPENED + 500)
    edit = calls.new("replace_string_in_file", {"filePath": DRAG}, files_edited(DRAG))
    first_round = made_up_id(KEY, "round", str(ms("2026-04-13 15:26:20")))
    summary = {
        "toolCallRoundId": first_round,
        "text": SUMMARY,
        "source": "foreground",
        "outcome": "success",
        "model": "claude-haiku-4.5",
        "summarizationMode": "full",
        "durationMs": 6120,
        "contextLengthBefore": 48211,
        "numRounds": 6,
        "numRoundsSinceLastSummarization": 6,
        "usage": {"prompt_tokens": 48211, "completion_tokens": 96, "total_tokens": 48307},
    }
    rounds = recorded(
        one_round(KEY, ms("2026-04-13 15:31:10"), "", edit),
        one_round(KEY, ms("2026-04-13 15:31:30"), answer, summary=SUMMARY),
    )
    return request(
        f"{KEY}/2",
        ms("2026-04-13 15:30:45"),
        text,
        [
            _hook("PreCompact"),
            edit.part("copilot_replaceString", f"Editing {link(DRAG)}", presentation="hidden"),
            *edit_parts(garden.drag, garden.snap, stop=STOPS["snap"]),
            says(answer),
        ],
        agent=edit_mode("0.39.1"),
        modelId=MODEL,
        modeInfo=builtin_mode("edit"),
        modelState=complete(ms("2026-04-13 15:31:33")),
        timeSpentWaiting=ms("2026-04-13 15:30:45") + 10,
        editedFileEvents=[{"uri": uri(BEDS), "eventKind": 1}, {"uri": uri(f"{GARDEN}/src/drag.css"), "eventKind": 2}],
        result={
            "timings": {"firstProgress": 8010, "totalElapsed": 47700},
            "details": "Claude Sonnet 4.5 • 1x",
            "metadata": metadata(f"{KEY}/2", SESSION, **rounds, summaries=[summary]),
        },
        responseMarkdownInfo=[],
        followups=[],
    )


def _setting(garden: Garden) -> Json:
    """Ana liked the setting and undid the test, which she wanted to write herself."""
    text = "Make the grid a setting, with a test."
    calls = Calls(f"{KEY}/3", OPENED + 900)
    edit = calls.new("replace_string_in_file", {"filePath": DRAG}, files_edited(DRAG))
    create = calls.new("create_file", {"filePath": TEST, "content": TEST_TEXT}, text_result(f"File created at {TEST}"))
    test = File(TEST)
    rounds = recorded(
        one_round(KEY, ms("2026-04-13 15:40:30"), "", edit),
        one_round(KEY, ms("2026-04-13 15:40:52"), "A test for it:", create),
        one_round(KEY, ms("2026-04-13 15:41:04"), "The grid is a parameter now."),
    )
    return request(
        f"{KEY}/3",
        ms("2026-04-13 15:40:11"),
        text,
        [
            edit.part("copilot_replaceString", f"Editing {link(DRAG)}", presentation="hidden"),
            *edit_parts(garden.drag, garden.setting, stop=STOPS["setting"], editMetadata=[{"autoTier": 1}]),
            says("\nThe grid is a parameter now. A test for it:\n"),
            create.part("copilot_createFile", f"Creating {link(TEST)}", f"Created {link(TEST)}"),
            *edit_parts(test, [test.insert(1, TEST_TEXT)], stop=STOPS["test"]),
        ],
        agent=AGENT,
        modelId=MODEL,
        modeInfo=builtin_mode("agent"),
        modelState=complete(ms("2026-04-13 15:41:10")),
        timeSpentWaiting=ms("2026-04-13 15:40:11") + 9,
        result={
            "timings": {"firstProgress": 2900, "totalElapsed": 58010},
            "metadata": metadata(
                f"{KEY}/3",
                SESSION,
                renderedUserMessage=rendered(
                    tag("conversation-summary", SUMMARY),
                    today("April 13, 2026", tag("todoList", "- [x] all four")),
                    tag("userRequest", text),
                ),
                **rounds,
            ),
        },
        shouldBeRemovedOnSend={"requestId": request_id(f"{KEY}/3"), "afterUndoStop": STOPS["test"]},
    )
