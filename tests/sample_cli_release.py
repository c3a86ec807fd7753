"""The session that the release was handed on to: Copilot CLI in the background of VS Code, with two false starts."""

from __future__ import annotations

import json

from tests.sample_cli_log import Asked, CliLog, edit, gives, intent, shell, view
from tests.sample_forms import Json, address, answer, made_up_id, ms, prose
from tests.sample_home import GARDEN, Home
from tests.sample_release_end import DELEGATED

KEY = "pull-request"
HAIKU = "claude-haiku-4.5"
WORKTREE = "/home/ana/code/garden-planner.worktrees/release-1.4"
CHANGELOG, CHECKS = f"{WORKTREE}/CHANGELOG.md", f"{WORKTREE}/checks.yml"
PROMPT = "Open a pull request for release-1.4 and work the remarks in."
TITLE = "Open a pull request for 1.4"
BASE = "e5512f09ab7cc4e0d8361f2a96b7740c1d2e88f3"
PULL_REQUEST = "https://dev.example.com/garden/planner/pull/52"
HELPER = "You open pull requests for releases. Say what changed for gardeners, and keep it short."

CHANGELOG_TEXT = prose("""
    # Changes

    ## 1.4

    - Beds snap to a grid.
    - A frost date for each bed.
    - Old keys are gone.
    """) + "\n"  # fmt: skip
CHECKS_TEXT = "node: 20\nsteps:\n  - npm ci\n  - npm test\n"


def put(home: Home) -> None:
    log = session()
    facts = {"cwd": WORKTREE, "git_root": WORKTREE, "branch": "release-1.4", "host_type": "ado"}
    workspace = log.workspace(repository="garden/planner", **facts, name=TITLE, user_named=False, summary_count=0)
    first = next(event for event in log.events if event["type"] == "user.message")
    log.put(
        home,
        {
            "workspace.yaml": workspace,
            "checkpoints/index.md": "# Checkpoint History\n\n| # | Title | File |\n|---|---|---|\n",
            "vscode.metadata.json": json.dumps(_metadata(), indent=2),
            "vscode.requests.metadata.json": json.dumps([_request(first["id"])], indent=2),
        },
    )


def _metadata() -> Json:
    """What VS Code notes about a session that it started in a worktree."""
    worktree = {
        "version": 2,
        "autoCommit": True,
        "baseCommit": BASE,
        "baseBranchName": "main",
        "branchName": "release-1.4",
        "repositoryPath": GARDEN,
        "worktreePath": WORKTREE,
        "pullRequestUrl": PULL_REQUEST,
        "pullRequestState": "open",
    }
    about = {"firstUserMessage": PROMPT, "customTitle": TITLE, "writtenToDisc": True}
    return {"worktreeProperties": worktree, **about}


def _request(event_id: str) -> Json:
    instructions = {"name": "release-helper", "content": HELPER, "isBuiltin": False}
    instructions["uri"] = address(f"{GARDEN}/.github/agents/release-helper.agent.md")
    made = {"vscodeRequestId": f"request_{made_up_id(KEY, 'request')}", "copilotRequestId": event_id}
    return {**made, "toolIdEditMap": {}, "modeInstructions": instructions}


def session() -> CliLog:
    log = CliLog(KEY, DELEGATED, ms("2026-04-27 16:40:03"), HAIKU)
    context = {"cwd": WORKTREE, "gitRoot": WORKTREE, "repository": "garden/planner", "hostType": "ado"}
    log.start("1.0.66", {**context, "branch": "release-1.4", "headCommit": BASE})
    _opens(log)
    _fails(log)
    _is_stopped(log)
    _ends(log)
    log.at(ms("2026-04-27 16:58:40"))
    log.shutdown(
        totalApiDurationMs=58200,
        totalNanoAiu=300_000_000,
        **log.metrics({HAIKU: (92400, 71800, 12900, 1)}),
    )
    return log


def _opens(log: CliLog) -> None:
    log.asks(PROMPT)
    log.answers(
        "I'll read the changelog first.", intent("Working remarks in"), view(CHANGELOG, CHANGELOG_TEXT), tokens=92
    )
    grid = ("- Beds snap to a grid.", "- Beds snap to a grid of 10 cm.")
    keys = ("- Old keys are gone.", "- The keys `R` and `Shift+R` are gone; drag beds instead.")
    between = CHANGELOG_TEXT.replace(*grid)
    log.answers("", edit(CHANGELOG, CHANGELOG_TEXT, *grid), edit(CHANGELOG, between, *keys), tokens=174)
    push = "git commit -qam 'Work remarks in' && git push -q -u origin release-1.4"
    log.answers(
        "", shell(push, "Commit and push", "branch 'release-1.4' set up to track 'origin/release-1.4'."), tokens=81
    )
    text = "Dragging, a grid of 10 cm, and frost dates for each bed."
    asked = {"title": "Release 1.4", "source": "release-1.4", "target": "main", "description": text}
    opened = gives(json.dumps({"number": 52, "url": PULL_REQUEST}))
    log.answers("", Asked("create_pull_request", asked, opened, takes=14.4, server="devhost"), tokens=118)
    done = f"Opened [#52]({PULL_REQUEST}). Both remarks are worked in: the grid's size, and which keys went away."
    log.answers(done, tokens=44)


def _fails(log: CliLog) -> None:
    """The service does not answer."""
    log.at(ms("2026-04-27 16:46:20"))
    log.asks("The checks are red. What is wrong?")
    log.begins_turn()
    message = "The model did not answer (502 Bad Gateway). Nothing was changed; please try again."
    log.emit("session.error", {"errorType": "query", "message": message, "statusCode": 502}, after=31)


def _is_stopped(log: CliLog) -> None:
    """Ana has no patience with the whole suite."""
    log.at(ms("2026-04-27 16:48:02"))
    log.asks("Please try again.")
    suite = shell("npm test", "Run all tests", "")
    suite.outcome = {}
    said = "I'll run the tests here, to see whether they fail as well."
    log.answers(said, intent("Looking at the checks"), suite, tokens=87)
    log.events.pop()  # no end of a turn that was stopped
    log.emit("abort", {"reason": "user_initiated"}, after=212)


def _ends(log: CliLog) -> None:
    log.at(ms("2026-04-27 16:55:10"))
    text = "The browser tests take ages on this machine. Look at the log of the checks instead."
    log.asks(text)
    output = "npm error engine Unsupported engine: wanted node >= 22, is node 20"
    fetched = Asked("get_check_log", {"number": 52}, gives(output), takes=1.1, server="devhost")
    log.answers("", intent("Reading the log"), fetched, view(CHECKS, CHECKS_TEXT), tokens=103)
    push = shell("git commit -qam 'Check with Node 22' && git push", "Commit and push", "e1c90b7..4f2d86a  release-1.4")
    log.answers("", edit(CHECKS, CHECKS_TEXT, "node: 20", "node: 22"), push, tokens=131)
    log.answers(
        answer("""
            It was not the code: the checks still ran on Node 20, and 1.4 asks for 22. I changed one line in
            `checks.yml` and pushed it. The checks of #52 are running again.
            """),
        tokens=58,
    )
