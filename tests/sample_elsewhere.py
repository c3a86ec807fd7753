"""Conversations outside of a local folder: in a window without one, and on a small computer in the harbour."""

from __future__ import annotations

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
    tag,
    terminal,
    text_result,
    today,
)
from tests.sample_forms import (
    File,
    Json,
    edit_parts,
    made_up_id,
    md,
    message,
    ms,
    prose,
    refers,
    says,
    span,
    thinks,
    uri,
)
from tests.sample_home import (
    GLOBAL_STORAGE,
    GPT,
    NOTES_STORAGE,
    SENSOR,
    SENSOR_HOST,
    SENSOR_STORAGE,
    SONNET,
    Home,
    agent_mode,
    ask_mode,
    builtin_mode,
    complete,
    request,
    request_id,
)
from tests.sample_log import draft, log_of

PHOTOS = made_up_id("photo-names")
MIDNIGHT = made_up_id("midnight")
REMOTE: dict[str, Any] = {"scheme": "vscode-remote", "authority": SENSOR_HOST}
LOGGER = f"{SENSOR}/logger.py"
REMOTE_LOGGER = f"vscode-remote://ssh-remote%2Bharbour-pi{LOGGER}"


def put(home: Home) -> None:
    photos = photo_names()
    log = log_of(photos, begun=3)  # it had grown long, and was written anew
    log.set("inputState", "permissionLevel", to="autoApprove")
    log.delete("inputState", "permissionLevel")
    home.log(GLOBAL_STORAGE, photos, log, below="emptyWindowChatSessions")
    home.index(GLOBAL_STORAGE, photos)
    midnight = stops_at_midnight()
    home.log(SENSOR_STORAGE, midnight, log_of(midnight))
    home.index(SENSOR_STORAGE, midnight)
    nothing = nothing_typed()
    home.log(NOTES_STORAGE, nothing, log_of(nothing))
    home.index(NOTES_STORAGE, nothing)


def nothing_typed() -> Json:
    """A window was opened, and nothing typed."""
    return {
        "version": 3,
        "creationDate": ms("2026-04-14 20:31:07"),
        "initialLocation": "panel",
        "responderUsername": "GitHub Copilot",
        "sessionId": made_up_id("nothing-typed"),
        "hasPendingEdits": False,
        "requests": [],
        "pendingRequests": [],
        "inputState": draft(mode="ask", model=GPT),
    }


# --- a window without a folder ----------------------------------------------------------------------------------

RENAME = prose("""
    for photo in *.HEIC; do
      taken=$(exiftool -s3 -d '%Y-%m-%d_%H%M%S' -DateTimeOriginal "$photo")
      mv -n "$photo" "${taken:?no date in $photo}.heic"
    done
    """)


def photo_names() -> Json:
    again = (
        "Rename the photos like this: 2026-03-29 Garden 01.heic, numbered per day. Print the names, rename nothing yet."
    )
    names = {"kind": "paste", "id": "paste-1", "name": "Pasted lines", "icon": {"id": "symbol-string"}}
    code = "IMG_4411.HEIC\nIMG_4412.HEIC\nIMG_4420.HEIC"
    pasted = {**names, "value": code, "code": code, "language": "plaintext", "pastedLines": "3 lines", "fileName": ""}
    return {
        "version": 3,
        "creationDate": ms("2026-04-06 16:02:00"),
        "customTitle": "Rename photos by date",
        "initialLocation": "panel",
        "responderUsername": "GitHub Copilot",
        "sessionId": PHOTOS,
        "hasPendingEdits": False,
        "requests": [_by_date(pasted), _preview(), _with_garden()],
        "pendingRequests": [],
        "inputState": {**draft(again, mode="ask", model=GPT), "attachments": [pasted]},
    }


def _by_date(pasted: Json) -> Json:
    prompt = "A shell loop that renames my photos 📷 by the date they were taken? The folder looks like this:"
    answer = (
        f"With `exiftool` installed:\n\n```sh\n{RENAME}\n```\n\n`mv -n` never overwrites, so two photos of the same"
    )
    return request(
        "photo-names/1",
        ms("2026-04-06 16:02:44"),
        prompt,
        [
            says(f"{answer} second keep their names. Try it on a copy of the folder first. "),
            {
                "kind": "command",
                "command": {
                    "id": "github.copilot.terminal.insert",
                    "title": "Insert into Terminal",
                    "tooltip": "Nothing is run",
                    "arguments": [RENAME],
                },
                "additionalCommands": [{"id": "workbench.action.terminal.new", "title": "New Terminal"}],
            },
        ],
        variableData={
            "variables": [{**pasted, "copiedFrom": {"uri": uri("Untitled-1", "untitled"), "range": span(1, 1, 3, 14)}}]
        },
        agent=ask_mode("0.38.0"),
        modelId="copilot/gpt-4.1",
        modeInfo={"kind": "ask", "isBuiltin": True, "modeId": "ask"},
        modelState=complete(ms("2026-04-06 16:02:51")),
        timeSpentWaiting=ms("2026-04-06 16:02:44") + 9,
        result={
            "timings": {"firstProgress": 940, "totalElapsed": 6310},
            "details": "GPT-4.1 • 0x",
            "metadata": metadata(
                "photo-names/1",
                PHOTOS,
                "github.copilot.default",
                codeBlocks=[{"code": RENAME, "language": "sh", "markdownBeforeBlock": "With `exiftool` installed:"}],
                renderedUserMessage=rendered(
                    tag("attachments", tag("attachment", pasted["code"], id="Pasted lines")),
                    tag("prompt", prompt),
                ),
            ),
            "usage": {
                "promptTokens": 1204,
                "completionTokens": 188,
                "promptTokenDetails": [{"category": "System", "label": "Instructions", "percentageOfPrompt": 71}],
            },
        },
        vote=1,
    )


def _preview() -> Json:
    command = {"name": "search", "description": "Search the marketplace", "sampleRequest": "HEIC preview"}
    vscode = {**ask_mode("0.38.0"), "id": "github.copilot.vscode", "name": "vscode", "fullName": "VS Code"}
    found = ["lindholm.heic-view", "acme-tools.image-preview"]
    text = "@vscode /search Is there an extension that shows HEIC files?"
    marks = (("@vscode", {"kind": "agent", "agent": vscode}), ("/search", {"kind": "subcommand", "command": command}))
    search = {
        "kind": "toolInvocationSerialized",
        "invocationMessage": "Searching the marketplace for `HEIC`",
        "pastTenseMessage": "Searched the marketplace for `HEIC`, 2 results",
        "isConfirmed": {"type": 1, "reason": md("Searching is harmless.")},
        "isComplete": True,
        "source": {"type": "internal", "label": "Built-In"},
        "toolSpecificData": {"kind": "extensions", "extensions": found},
        "toolCallId": made_up_id("photo-names/2", "search"),
        "toolId": "vscode_searchExtensions_internal",
    }
    progress = [
        {"kind": "warning", "content": md("One of three mirrors did not answer.")},
        {"kind": "reference", "reference": uri("/search", "https", authority="marketplace.example.com")},
    ]
    task = {"kind": "progressTaskSerialized", "content": md("Asked the marketplace. "), "progress": progress}
    return request(
        "photo-names/2",
        ms("2026-04-06 16:09:12"),
        message(text, *marks),
        [
            task,
            search,
            says("Yes, two: the first shows HEIC files beside other images, the second converts them on the fly."),
            {"kind": "extensions", "extensions": found},
        ],
        agent=vscode,
        slashCommand=command,
        modelId="copilot/gpt-4.1",
        modeInfo=builtin_mode("ask"),
        modelState=complete(ms("2026-04-06 16:09:20")),
        timeSpentWaiting=ms("2026-04-06 16:09:12") + 8,
        result={"timings": {"totalElapsed": 7800}, "metadata": metadata("photo-names/2", PHOTOS, command="search")},
        followups=[],
    )


def _with_garden() -> Json:
    """Taken back: the better prompt stands in the input box."""
    return request(
        "photo-names/3",
        ms("2026-04-06 16:15:40"),
        "Rename them all with Garden in the name",
        [
            says(
                "Here is a loop that names every photo `Garden-1.heic`, `Garden-2.heic`, and so on, without its date."
            ),
        ],
        agent=ask_mode("0.38.0"),
        modelId="copilot/gpt-4.1",
        modeInfo=builtin_mode("ask"),
        modelState=complete(ms("2026-04-06 16:15:49")),
        timeSpentWaiting=ms("2026-04-06 16:15:40") + 7,
        result={"timings": {"firstProgress": 1010, "totalElapsed": 8770}},
        vote=0,
        voteDownReason="missingContext",
        shouldBeRemovedOnSend={"requestId": request_id("photo-names/3")},
    )


# --- on the computer in the harbour -----------------------------------------------------------------------------

LOGGER_FIRST = prose('''
    """Reads the gauge once a minute and appends the level to today's file."""

    import time
    from datetime import date
    from pathlib import Path

    from gauge import read_level

    log = Path(f"/var/log/tide/{date.today()}.csv").open("a", buffering=1)

    while True:
        print(int(time.time()), read_level(), sep=",", file=log)
        time.sleep(60)
    ''') + "\n"  # fmt: skip

JOURNAL = prose("""
    Apr 08 23:58:01 harbour-pi logger[412]: level 1.32
    Apr 08 23:59:01 harbour-pi logger[412]: level 1.31
    """)


def stops_at_midnight() -> Json:
    return {
        "version": 3,
        "creationDate": ms("2026-04-09 06:12:30"),
        "customTitle": "The sensor stops at midnight",
        "initialLocation": "panel",
        "responderUsername": "GitHub Copilot",
        "sessionId": MIDNIGHT,
        "hasPendingEdits": True,
        "requests": [_stops(), _finished(), _timer()],
        "pendingRequests": [],
        "repoData": {"workspaceType": "plain-folder", "syncStatus": "no-git"},
        "inputState": draft(model=SONNET),
    }


def _stops() -> Json:
    prompt = "The file for April 9 is empty, but the logger is still running. Why?"
    calls = Calls("midnight", ms("2026-04-09 06:10:00"))
    look = calls.new(
        "run_in_terminal", {"command": "ls -l /proc/412/fd", "isBackground": False}, text_result(OPEN_FILES)
    )
    edit = calls.new("replace_string_in_file", {"filePath": LOGGER}, files_edited(LOGGER))
    check = calls.new(
        "run_in_terminal", {"command": CHECK, "isBackground": True}, text_result("Started in background.")
    )
    answer = "I have started the logger once more with a clock that jumps over midnight. I'll tell you when it is done."
    rounds = recorded(
        one_round("midnight", ms("2026-04-09 06:13:10"), "", look),
        one_round("midnight", ms("2026-04-09 06:13:48"), "", edit),
        one_round("midnight", ms("2026-04-09 06:14:20"), answer, check),
    )
    return request(
        "midnight/1",
        ms("2026-04-09 06:12:55"),
        prompt,
        [*_finding(look), *_repairing(edit), *_checking(check, answer)],
        variableData={"variables": _evidence()},
        agent=agent_mode("0.38.2"),
        modelId="copilot/claude-sonnet-4.5",
        modeInfo=builtin_mode("agent", permissionLevel="default"),
        modelState=complete(ms("2026-04-09 06:14:31")),
        timeSpentWaiting=ms("2026-04-09 06:12:55") + 11,
        result={
            "timings": {"firstProgress": 2300, "totalElapsed": 95480},
            "details": "Claude Sonnet 4.5 • 1x",
            "metadata": metadata(
                "midnight/1",
                MIDNIGHT,
                renderedUserMessage=rendered(
                    today("April 9, 2026", "Terminals:\nTerminal: bash\nLast Command: journalctl -u tide-logger -n 2"),
                    tag("reminderInstructions", "Keep working until the problem is solved."),
                    tag("userRequest", prompt),
                ),
                cacheKey=f"vscode-remote://ssh-remote%2Bharbour-pi{SENSOR}",
                **rounds,
            ),
        },
        responseMarkdownInfo=[],
        followups=[],
    )


OPEN_FILES = "l-wx------ 1 tide tide 64 Apr  9 06:13 3 -> /var/log/tide/2026-04-08.csv"
CHECK = "faketime '23:58' timeout 240 python logger.py"


def _evidence() -> list[Json]:
    journal = uri("/1/7", "vscode-terminal", query="command=journalctl")
    command = "journalctl -u tide-logger -n 2"
    return [
        {
            "kind": "terminalCommand",
            "id": "terminal-7",
            "name": command,
            "value": f"Command: {command}\nOutput:\n{JOURNAL}\nExit Code: 0",
            "resource": journal,
            "command": command,
            "output": JOURNAL,
            "exitCode": 0,
        },
        {
            "kind": "debugVariable",
            "id": "debug-log",
            "name": "log.name",
            "value": "'/var/log/tide/2026-04-08.csv'",
            "expression": "log.name",
            "type": "str",
        },
        {"kind": "workspace", "id": "workspace", "name": "tide-sensor", "value": "logger.py\ngauge.py\nREADME.md"},
    ]


def _finding(look: Call) -> list[Json]:
    data = terminal("ls -l /proc/412/fd", OPEN_FILES, 0, cwd=uri(SENSOR, **REMOTE), isBackground=False)
    data["terminalCommandState"] |= {"timestamp": ms("2026-04-09 06:13:18"), "duration": 42}
    return [
        {"kind": "mcpServersStarting", "didStartServerIds": []},
        thinks("midnight/1", "The process runs, and yesterday's file is complete. Which file does it have open?"),
        look.part("run_in_terminal", "", isConfirmed=BY_USER, toolSpecificData=data),
        says("The logger still writes to yesterday's file. In "),
        refers({"uri": uri(LOGGER, **REMOTE), "range": span(9, 1, 9, 71)}, name="logger.py"),
        says(" the name is made once, when the program starts, so after midnight nothing opens a new one.\n\n"),
    ]


def _repairing(edit: Call) -> list[Json]:
    file = File(LOGGER, LOGGER_FIRST, **REMOTE)
    loop = file.text[file.text.index("while True:") :]
    new_loop = prose("""
        while True:
            with todays_file().open("a") as log:
                print(int(time.time()), read_level(), sep=",", file=log)
            time.sleep(60)
        """)
    function = 'def todays_file() -> Path:\n    return Path(f"/var/log/tide/{date.today()}.csv")\n\n'
    opening = 'log = Path(f"/var/log/tide/{date.today()}.csv").open("a", buffering=1)\n'
    edits = [{**file.edit(loop, new_loop + "\n"), "eol": 0}, file.edit(opening, f"\n{function}")]
    return [
        edit.part("copilot_replaceString", f"Editing []({REMOTE_LOGGER})", presentation="hidden"),
        *edit_parts(file, edits, stop=made_up_id("midnight", "stop"), isExternalEdit=False),
        says("\nNow the file is opened anew for each line, which a gauge with one line a minute can afford.\n\n"),
    ]


def _checking(check: Call, answer: str) -> list[Json]:
    data = terminal(CHECK, cwd=uri(SENSOR, **REMOTE), isBackground=True, didContinueInBackground=True)
    data["presentationOverrides"] = {"commandLine": "python logger.py", "language": "python"}
    data["commandLine"] |= {"forDisplay": "python logger.py", "isSandboxWrapped": False}
    data["alternativeRecommendation"] = "A test could set the clock without faketime."
    granted = {"type": 3, "scope": "session"}
    return [check.part("run_in_terminal", "", isConfirmed=granted, toolSpecificData=data), says(answer)]


def _finished() -> Json:
    """Nobody typed this: the terminal had finished."""
    text = "[Terminal notification: the command has finished with exit code 0.]"
    return request(
        "midnight/2",
        ms("2026-04-09 06:18:33"),
        text,
        [
            {"kind": "progressMessage", "content": md("Reading the output"), "shimmer": False, "id": "reading"},
            says(
                "The run went past midnight and left two files, `2026-04-08.csv` with two lines and `2026-04-09.csv` "
            ),
            says("with two. Restart the service to put it to work: `sudo systemctl restart tide-logger`."),
        ],
        agent=agent_mode("0.38.2"),
        modelId="copilot/claude-sonnet-4.5",
        modeInfo=builtin_mode("agent"),
        isSystemInitiated=True,
        systemInitiatedLabel="`python logger.py` finished",
        terminalExecutionId=made_up_id("midnight", "execution"),
        modelState=complete(ms("2026-04-09 06:18:41")),
        timeSpentWaiting=ms("2026-04-09 06:18:33") + 6,
        result={"timings": {"firstProgress": 1800, "totalElapsed": 7700}},
    )


def _timer() -> Json:
    canceled = {"message": "Canceled", "code": "canceled", "responseIsIncomplete": True}
    return request(
        "midnight/3",
        ms("2026-04-09 06:21:02"),
        "Could a systemd timer do the same without the endless loop?",
        [says("It could. A timer with `OnCalendar=minutely` would start a short script each minute; the")],
        agent=agent_mode("0.38.2"),
        modelId="copilot/claude-sonnet-4.5",
        modeInfo=builtin_mode("agent"),
        modelState={"value": 2, "completedAt": ms("2026-04-09 06:21:08")},
        timeSpentWaiting=ms("2026-04-09 06:21:02") + 9,
        result={"timings": {"firstProgress": 2100, "totalElapsed": 5210}, "errorDetails": canceled},
    )
