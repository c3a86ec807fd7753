"""A release, planned and carried out: what the releases of the middle of 2026 add, from plans to credits."""

from __future__ import annotations

from typing import Any

from tests.sample_calls import (
    BY_USER,
    Calls,
    metadata,
    one_round,
    recorded,
    rendered,
    tag,
    terminal,
    text_result,
    today,
    tool_part,
)
from tests.sample_forms import (
    Json,
    answer,
    location,
    made_up_id,
    md,
    ms,
    refers,
    says,
    thinks,
    uri,
)
from tests.sample_home import (
    AUTO,
    GARDEN,
    GARDEN_STORAGE,
    Home,
    builtin_mode,
    complete,
    request,
    session_uri,
)
from tests.sample_log import draft, log_of
from tests.sample_release_end import AGENT, CHANGELOG, DELEGATED, KEY, OPENED, SESSION, open_pull_request, usage

PACKAGE = f"{GARDEN}/package.json"
CALENDAR, ALMANAC = f"{GARDEN}/src/calendar.ts", f"{GARDEN}/src/almanac.ts"
PLAN_FILE = f"{GARDEN}/plan.md"


def put(home: Home) -> None:
    session = release()
    home.log(GARDEN_STORAGE, session, log_of(session))
    home.index(GARDEN_STORAGE, session, permissionLevel="assisted")
    address = f"copilotcli:///{DELEGATED}"
    timing = {"created": ms("2026-04-27 16:40:03"), "lastRequestEnded": ms("2026-04-27 16:58:44")}
    external = {
        "sessionId": address,
        "title": "Open a pull request for 1.4",
        "lastMessageDate": ms("2026-04-27 16:40:03"),
        "timing": timing,
        "initialLocation": "panel",
        "isEmpty": False,
        "isExternal": True,
        "lastResponseState": 1,
        "stats": {"fileCount": 4, "added": 31, "removed": 22},
        "inputState": draft(),
    }
    home.index_as(GARDEN_STORAGE, address, external)
    home.row(GARDEN_STORAGE, "agentSessions.model.cache", [_listed(address, external["title"], timing)])
    home.row(GARDEN_STORAGE, "agentSessions.state.cache", [{"resource": address, "archived": False}])


def _listed(address: str, title: object, timing: Json) -> Json:
    """The same session as the list of agent sessions remembers it."""
    return {
        "providerType": "copilotcli",
        "providerLabel": "Copilot CLI",
        "resource": address,
        "icon": "copilot",
        "label": title,
        "description": "Finished",
        "status": 1,
        "timing": timing,
        "changes": {"files": 4, "insertions": 31, "deletions": 22},
    }


def release() -> Json:
    return {
        "version": 3,
        "creationDate": ms("2026-04-27 16:02:30"),
        "customTitle": "Plan the 1.4 release",
        "initialLocation": "panel",
        "responderUsername": "GitHub Copilot",
        "sessionId": SESSION,
        "hasPendingEdits": False,
        "requests": [_plan(), _carry_out(), open_pull_request()],
        "pendingRequests": [],
        "repoData": {
            "workspaceType": "remote-git",
            "syncStatus": "synced",
            "remoteUrl": "https://dev.example.com/garden/_git/planner",
            "remoteVendor": "ado",
            "localBranch": "release-1.4",
            "localHeadCommit": "e5512f09ab7cc4e0d8361f2a96b7740c1d2e88f3",
            "diffsStatus": "trimmedForStorage",
        },
        "inputState": draft(model=AUTO, permissionLevel="assisted"),
    }


# --- the plan ---------------------------------------------------------------------------------------------------

PROMPT = "What is left to do for 1.4? Make a plan, and change nothing yet."
PLAN = answer("""
    1. Rename `calendar.ts` to `almanac.ts`; it has not been about dates alone since frost came in.
    2. Write the changelog: dragging, the grid, frost dates for each bed.
    3. Drop `docs/old-keys.md`.
    4. Set the version and run all tests.
    """)


def _plan() -> Json:
    calls = Calls(KEY, OPENED)
    look = calls.new("semantic_search", {"query": "release checklist"}, text_result("docs/releasing.md:1-20"))
    skill = calls.new("read_file", {"filePath": f"{GARDEN}/.github/skills/release/SKILL.md"}, text_result(SKILL))
    instructions = {"name": "Plan", "content": "Plan first.", "toolReferences": [], "isBuiltin": True}
    return request(
        f"{KEY}/1",
        ms("2026-04-27 16:03:05"),
        PROMPT,
        [
            {"kind": "autoModeResolution", "resolved": {"id": "claude-sonnet-4.5", "name": "Claude Sonnet 4.5"}},
            {"kind": "disabledClaudeHooks"},
            {
                "kind": "systemNotification",
                "content": md("Taken over from *Drag beds around the plan*.\n\n"),
                "id": "taken-over",
                "icon": {"id": "arrow-right"},
                "collapsible": False,
                "renderInlineTiming": False,
                "presentation": "workspaceTransition",
                "workspaceName": "garden-planner",
                "accessibilityLabel": "Taken over from another conversation",
            },
            thinks(f"{KEY}/1", "There is a skill for releases. I should follow it.", reasoningDurationMs=2140),
            look.part(
                "copilot_searchCodebase",
                'Searching codebase for "release checklist"',
                'Searched codebase for "release checklist", 1 result',
                toolSpecificData={"kind": "search"},
                icon={"id": "search"},
            ),
            skill.part(
                "copilot_readFile", "Reading a skill", "Read the skill *release*", toolSpecificData=_resources()
            ),
            {"kind": "info", "content": md("Nothing is changed before you accept the plan.\n\n")},
            says("Here is what I found, in the order of the checklist in "),
            refers(location(f"{GARDEN}/docs/releasing.md", 1, 20), name="docs/releasing.md"),
            says(".\n"),
            _review(),
        ],
        responseTimestamp=ms("2026-04-27 16:03:05") + 18,
        agent=AGENT,
        modelId="copilot/auto",
        modelConfiguration={"reasoningEffort": "medium", "contextSize": 128000},
        modeInfo=builtin_mode(
            "agent", telemetryModeName="Plan", modeInstructions=instructions, permissionLevel="assisted"
        ),
        origin={
            "kind": "delegation",
            "sourceSessionResource": session_uri(made_up_id("drag-beds")),
            "delegationScope": "session",
        },
        modelState=complete(ms("2026-04-27 16:05:40")),
        timeSpentWaiting=ms("2026-04-27 16:03:05") + 18,
        elapsedMs=41210,
        result={
            "timings": {"firstProgress": 3004, "totalElapsed": 154300},
            "details": "Auto: Claude Sonnet 4.5 • 0.9x",
            "metadata": metadata(
                f"{KEY}/1",
                SESSION,
                resolvedModel="claude-sonnet-4.5",
                renderedUserMessage=rendered(today("April 27, 2026"), tag("userRequest", PROMPT)),
                **recorded(one_round(KEY, ms("2026-04-27 16:03:20"), "", look, skill)),
            ),
        },
        **usage(18240, 920, 1.8, 1.8),
        followups=[],
    )


SKILL = "---\nname: release\ndescription: How we make a release.\n---\nFollow docs/releasing.md from top to bottom."


def _resources() -> Json:
    return {"kind": "resources", "values": [uri(f"{GARDEN}/.github/skills/release/SKILL.md"), location(PACKAGE, 3)]}


def _review() -> Json:
    return {
        "kind": "planReview",
        "title": "Release 1.4",
        "content": PLAN,
        "actions": [
            {"id": "start", "label": "Start Implementation", "default": True, "permissionLevel": "autoApprove"},
            {"id": "editor", "label": "Open in Editor", "description": "Change the plan first"},
        ],
        "canProvideFeedback": True,
        "planUri": uri(PLAN_FILE),
        "resolveId": made_up_id(KEY, "plan"),
        "data": {
            "action": "Start Implementation",
            "actionId": "start",
            "rejected": False,
            "feedback": "Good. Leave the version to me.",
            "feedbackOverall": "Good.",
            "feedbackInlineMarkdown": "> Set the version\n\nLeave that to me.",
        },
        "isUsed": True,
        "isOutdated": False,
        "source": {"type": "internal", "label": "Built-In"},
    }


# --- carried out ------------------------------------------------------------------------------------------------


def _carry_out() -> Json:
    calls = Calls(f"{KEY}/2", OPENED + 600)
    test = calls.new("run_in_terminal", {"command": "npm test -- --run"}, text_result("18 passed"))
    publish = calls.new("run_in_terminal", {"command": "npm publish --dry-run"}, text_result("The user skipped this."))
    return request(
        f"{KEY}/2",
        ms("2026-04-27 16:06:01"),
        "Start implementation",
        [
            says("I'll begin with the files.\n\n"),
            *_edits(),
            _kept(),
            test.part("run_in_terminal", "", isConfirmed=BY_USER, toolSpecificData=_sandboxed()),
            publish.part(
                "run_in_terminal",
                "",
                isConfirmed={"type": 5, "source": "user"},
                toolSpecificData=terminal("npm publish --dry-run", cwd=uri(GARDEN)),
            ),
            _spell_check(),
            {
                "kind": "multiDiffData",
                "multiDiffData": {
                    "title": "4 files changed",
                    "resources": [
                        {"modifiedUri": uri(CHANGELOG), "goToFileUri": uri(CHANGELOG), "added": 6, "removed": 0},
                        {"originalUri": uri(CALENDAR), "modifiedUri": uri(ALMANAC), "added": 0, "removed": 0},
                    ],
                },
                "collapsed": True,
                "readOnly": True,
            },
            says("The files are done and all 18 tests pass. The version is yours, as you wished."),
        ],
        responseTimestamp=ms("2026-04-27 16:06:01") + 12,
        agent=AGENT,
        modelId="copilot/auto",
        modeInfo=builtin_mode("agent", permissionLevel="autoApprove"),
        requestHiddenFromTranscript=True,
        modelState=complete(ms("2026-04-27 16:09:30")),
        timeSpentWaiting=ms("2026-04-27 16:06:01") + 12,
        elapsedMs=88400,
        result={
            "timings": {"firstProgress": 1804, "totalElapsed": 208700},
            "details": "Auto: Claude Sonnet 4.5 • 0.9x",
            "metadata": metadata(
                f"{KEY}/2",
                SESSION,
                resolvedModel="claude-sonnet-4.5",
                **recorded(
                    one_round(
                        f"{KEY}/2",
                        ms("2026-04-27 16:06:30"),
                        "",
                        test,
                        publish,
                        compaction={"type": "compaction", "id": "cmp_1", "encrypted_content": "bm90aGluZw=="},
                    )
                ),
            ),
        },
        **usage(29800, 1840, 3.1, 4.9),
        followups=[],
    )


def _external(path: str, kind: str, **more: Any) -> Json:
    return {"kind": "externalEdit", "uri": uri(path), "editKind": kind, "undoStopId": made_up_id(KEY, path), **more}


def _edits() -> list[Json]:
    before = uri(PACKAGE, "git", query="HEAD")
    return [
        _external(ALMANAC, "rename", originalUri=uri(CALENDAR), diff={"added": 0, "removed": 0}),
        _external(CHANGELOG, "create", diff={"added": 6, "removed": 0}),
        _external(f"{GARDEN}/docs/old-keys.md", "delete", diff={"added": 0, "removed": 19}),
        _external(
            PACKAGE,
            "edit",
            beforeContentUri=before,
            afterContentUri=uri(PACKAGE),
            diff={"added": 1, "removed": 1},
        ),
    ]


def _kept() -> Json:
    """Files that were changed elsewhere, and the question what to do with them."""
    file = {"uri": uri(PACKAGE), "editKind": "edit", "originalContentUri": uri(PACKAGE, "git", query="HEAD")}
    data = {
        "kind": "modifiedFilesConfirmation",
        "options": ["Keep", "Undo"],
        "modifiedFiles": [{**file, "insertions": 1, "deletions": 1, "title": "package.json", "description": "scripts"}],
    }
    chosen = {"type": 4, "selectedButton": "Keep", "selectedButtonKind": "primary"}
    return tool_part(
        made_up_id(KEY, "kept"),
        "confirm_files",
        "Checking changed files",
        "Kept 1 file",
        isConfirmed=chosen,
        toolSpecificData=data,
    )


def _sandboxed() -> Json:
    data = terminal("npm test -- --run", "Test Files  5 passed (5)\n     Tests  18 passed (18)", 0, cwd=uri(GARDEN))
    data["commandLine"] |= {"isSandboxWrapped": True, "forDisplay": "npm test -- --run"}
    return data | {
        "confirmation": {"commandLine": "npm test -- --run", "cwdLabel": "garden-planner", "cdPrefix": ""},
        "intention": "Run all tests",
        "editable": True,
        "isPty": True,
        "autoApproveRuleResolvable": True,
        "requestUnsandboxedExecution": False,
        "requestUnsandboxedExecutionReason": "",
        "requestAllowNetwork": True,
        "requestAllowNetworkReason": "The tests fetch a calendar.",
        "missingSandboxDependencies": [],
        "sandboxRemediations": [],
        "sandboxPrerequisiteFailure": False,
    }


def _spell_check() -> Json:
    """A tool from outside that failed."""
    return tool_part(
        made_up_id(KEY, "spelling"),
        "spell_check",
        "Checking spelling",
        "Could not check spelling",
        source={"type": "external", "label": "External"},
        resultError="The dictionary for en-GB is missing.",
        resultDetails={"input": "CHANGELOG.md", "output": "The dictionary for en-GB is missing.", "isError": True},
        toolSpecificData={
            "kind": "input",
            "rawInput": {"file": "CHANGELOG.md"},
            "mcpAppData": {
                "kind": "agentHost",
                "resourceUri": "ui://spelling/report",
                "connectionAuthority": "local",
                "channel": "spelling",
                "serverId": "spelling",
            },
        },
    )
