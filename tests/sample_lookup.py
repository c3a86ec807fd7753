"""A slow lookup made fast: begun as a plain file, gone on with as a log, so that both lie side by side."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from tests.sample_calls import (
    BY_USER,
    Call,
    Calls,
    files_edited,
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
)
from tests.sample_editing import ACCEPTED, Timeline, entry
from tests.sample_forms import (
    File,
    Json,
    answer,
    edit_parts,
    link,
    location,
    made_up_id,
    ms,
    picture,
    prose,
    refers,
    says,
    symbol,
    thinks,
    uri,
)
from tests.sample_home import SONNET, TIDES, TIDES_STORAGE, Home, agent_mode, complete, request
from tests.sample_log import draft, log_of

KEY = "tide-lookup"
SESSION = made_up_id(KEY)
LOOKUP = f"{TIDES}/tide_tables/lookup.py"
APP = f"{TIDES}/tide_tables/app.py"
STOPS = [made_up_id(KEY, "stop", name) for name in ("cache", "right")]
MODEL = "copilot/claude-sonnet-4.5"
OPENED = ms("2026-04-02 08:40:00")

LOOKUP_FIRST = prose('''
    """Which tide comes next."""

    import csv
    from datetime import datetime
    from pathlib import Path

    DATA = Path(__file__).parent / "data"


    def next_tides(station: str, now: datetime, count: int = 4) -> list[dict[str, str]]:
        """The next high and low waters at a station."""
        with (DATA / f"{station}.csv").open() as file:
            tides = list(csv.DictReader(file))
        later = [tide for tide in tides if datetime.fromisoformat(tide["time"]) > now]
        return later[:count]
    ''') + "\n"  # fmt: skip

READ_ONCE = prose('''
    @cache
    def tides_of(station: str) -> tuple[list[datetime], list[dict[str, str]]]:
        """The times and the rows of a station's table, read once."""
        with (DATA / f"{station}.csv").open() as file:
            rows = list(csv.DictReader(file))
        return [datetime.fromisoformat(row["time"]) for row in rows], rows
    ''')  # fmt: skip

BODY_BEFORE = LOOKUP_FIRST.partition('at a station."""\n')[2]
BODY_AFTER = """\
    times, rows = tides_of(station)
    first = bisect_left(times, now)
    return rows[first : first + count]
"""

# A flame graph, as far as sixteen pixels go: nearly all of the time is spent in one place.
PROFILE = picture(
    """
    ................
    .bbbbbbbbbbbbbb.
    .bbbbbbbbbbbbbb.
    ................
    .oooooooooooooo.
    .oooooooooooooo.
    ................
    .oooooooooooo.y.
    .oooooooooooo.y.
    ................
    .rrrrrrrrrrr....
    .rrrrrrrrrrr....
    ................
    .rrrrrrrrrr.....
    .rrrrrrrrrr.....
    ................
    """,
    {".": (250, 250, 250), "b": (70, 110, 160), "o": (240, 160, 60), "y": (230, 210, 90), "r": (200, 70, 50)},
)

FAILURE = prose("""
    ...F                                                                     [100%]
    =================================== FAILURES ===================================
    __________________ test_a_tide_at_this_very_minute_has_passed __________________
    >       assert times(next_tides("norrvik", at("06:12"))) == ["12:20", "18:41"]
    E       AssertionError: assert ['06:12', '12:20'] == ['12:20', '18:41']
    tests/test_lookup.py:19: AssertionError
    """) + "\n\x1b[31m1 failed\x1b[0m, \x1b[32m3 passed\x1b[0m in 0.21s"  # fmt: skip


class Work:
    """lookup.py before, between and after."""

    def __init__(self) -> None:
        self.file = File(LOOKUP, LOOKUP_FIRST)
        signature, imported = "def next_tides(", "from datetime import datetime\n"
        self.first = [
            self.file.edit(BODY_BEFORE, BODY_AFTER),
            self.file.edit(signature, f"{READ_ONCE}\n\n\n{signature}"),
            self.file.edit(imported, f"from bisect import bisect_left\n{imported}from functools import cache\n"),
        ]
        self.between = self.file.text
        self.second = [
            self.file.edit("first = bisect_left(times", "first = bisect_right(times"),
            self.file.edit("import bisect_left", "import bisect_right"),
        ]


def put(home: Home) -> None:
    document = _document()
    home.session(TIDES_STORAGE, document)
    session = tide_lookup()
    log = log_of(session, begun=2)
    home.log(TIDES_STORAGE, session, log)
    home.index(TIDES_STORAGE, session, permissionLevel="default", stats={"fileCount": 1, "added": 14, "removed": 5})
    home.editing(TIDES_STORAGE, SESSION, *editing())


def _document() -> Json:
    """The plain file that the log grew out of. Nobody has touched it since."""
    return {
        "version": 3,
        "responderUsername": "GitHub Copilot",
        "responderAvatarIconUri": {"id": "copilot"},
        "initialLocation": "panel",
        "requests": [_why_slow(_index_keyed(PROFILE)), _read_once()],
        "hasPendingEdits": True,
        "inputState": {**draft(model=SONNET), "modelConfiguration": {}},
        "isNew": False,
        "sessionId": SESSION,
        "creationDate": ms("2026-04-02 08:41:12"),
        "lastMessageDate": ms("2026-04-02 08:52:30"),
        "customTitle": "Speed up the tide lookup",
    }


def tide_lookup() -> Json:
    """The session as the log has it."""
    requests = [_why_slow({"$base64": b64encode(PROFILE).decode()}), _read_once()]
    for earlier in requests:  # a log writes the time at which the response began where a plain file has a duration
        earlier["timeSpentWaiting"] = earlier["timestamp"]
    return {
        "version": 3,
        "creationDate": ms("2026-04-02 08:41:12"),
        "customTitle": "Speed up the tide lookup",
        "initialLocation": "panel",
        "responderUsername": "GitHub Copilot",
        "sessionId": SESSION,
        "hasPendingEdits": False,
        "requests": [*requests, _next_year()],
        "pendingRequests": [],
        "repoData": {
            "workspaceType": "remote-git",
            "syncStatus": "unpushed",
            "remoteUrl": "https://git.example.com/ana/tide-tables.git",
            "remoteVendor": "other",
            "remoteTrackingBranch": "origin/main",
            "remoteBaseBranch": "main",
            "remoteHeadCommit": "4be02c8d19f7a3556c0e1b7a9d2f84c6635e01aa",
            "localBranch": "fast-lookup",
            "localHeadCommit": "9a41d7e02b5c88f13d6a70e4b9215fc7de3308b1",
            "diffsStatus": "notCaptured",
        },
        "inputState": draft(model=SONNET),
    }


def _index_keyed(data: bytes) -> Json:
    """How releases before 2026 wrote bytes."""
    return {str(index): byte for index, byte in enumerate(data)}


# --- why it is slow ---------------------------------------------------------------------------------------------


def _why_slow(screenshot: Json) -> Json:
    calls = Calls(KEY, OPENED)
    search = calls.new("grep_search", {"query": "next_tides", "isRegexp": False}, text_result(_matches()))
    read = calls.new("read_file", {"filePath": LOOKUP, "startLine": 1, "endLine": 16}, lines_read(LOOKUP, LOOKUP_FIRST))
    asked = "python -m timeit -n 20 -s 'from tide_tables.check import once' 'once()'"
    measure = calls.new("run_in_terminal", {"command": asked, "explanation": "Measure one lookup"}, text_result(TIMES))
    diagnosis = _diagnosis()
    rounds = recorded(
        one_round(KEY, ms("2026-04-02 08:41:50"), "", search, read),
        one_round(KEY, ms("2026-04-02 08:42:20"), "", measure),
        one_round(KEY, ms("2026-04-02 08:43:01"), "".join(part.get("value", "") for part in diagnosis)),
    )
    prompt = "Why does `/tides` take almost a second? The picture is the profile."
    attached = {"kind": "image", "id": "profile", "name": "profile.png", "value": screenshot, "mimeType": "image/png"}
    return request(
        f"{KEY}/1",
        ms("2026-04-02 08:41:31"),
        prompt,
        [*_measuring(search, read, measure, asked), *diagnosis],
        variableData={"variables": [{**attached, "isPasted": True, "isURL": False, "omittedState": 0}]},
        agent=agent_mode("0.36.1"),
        modelId=MODEL,
        modelState=complete(ms("2026-04-02 08:43:04")),
        timeSpentWaiting=9150,
        result={
            "timings": {"firstProgress": 2870, "totalElapsed": 93010},
            "details": "Claude Sonnet 4.5 • 1x",
            "metadata": metadata(
                f"{KEY}/1",
                SESSION,
                renderedUserMessage=rendered(
                    tag("attachments", tag("attachment", "[image]", id="profile.png")),
                    today("April 2, 2026"),
                    tag("editorContext", f"The user's current file is {LOOKUP}."),
                    tag("repoContext", "Repository name: tide-tables\nOwner: ana\nCurrent branch: fast-lookup"),
                    tag("userRequest", prompt),
                ),
                renderedGlobalContext=surroundings(TIDES, "README.md\ntests/\ntide_tables/"),
                cacheKey=f"file://{TIDES}",
                **rounds,
            ),
        },
        contentReferences=[
            {"kind": "reference", "reference": location(LOOKUP, 1, 16), "options": {"status": _used("complete", 1)}},
            {"kind": "reference", "reference": uri(APP)},
        ],
        followups=[],
    )


TIMES = "20 loops, best of 5: 812 msec per loop"


def _used(description: str, kind: int) -> Json:
    return {"description": description, "kind": kind}


def _matches() -> str:
    return "".join(
        tag("match", text, path=path, line=line)
        for path, line, text in (
            (LOOKUP, 10, "def next_tides(station: str, now: datetime, count: int = 4) -> list[dict[str, str]]:"),
            (APP, 27, "    tides = next_tides(station, now())"),
        )
    )


def _measuring(search: Call, read: Call, measure: Call, asked: str) -> list[Json]:
    edited = asked.replace("timeit -n 20", "timeit -n 20 -v")
    data = terminal(asked, TIMES, 0, cwd=uri(TIDES), isBackground=False)
    data["commandLine"] |= {"userEdited": edited, "toolEdited": f" {asked}"}
    data["terminalCommandState"] |= {"timestamp": ms("2026-04-02 08:42:29"), "duration": 81406}
    data["terminalTheme"] = {"background": "#1f1f1f", "foreground": "#cccccc"}
    thought = (
        "In the profile almost everything sits under one frame. I should find out what `next_tides` does per call."
    )
    return [
        {"kind": "mcpServersStarting", "didStartServerIds": []},
        thinks(f"{KEY}/1", thought, generatedTitle="Looked at the profile"),
        search.part(
            "copilot_findTextInFiles",
            "Searching text for `next_tides`",
            "Searched text for `next_tides`, 2 results",
            resultDetails=[location(LOOKUP, 10), location(APP, 27)],
        ),
        read.part("copilot_readFile", f"Reading {link(LOOKUP)}", f"Read {link(LOOKUP, 1, 16)}"),
        measure.part("run_in_terminal", 'Using "Run in Terminal"', isConfirmed=BY_USER, toolSpecificData=data),
    ]


def _diagnosis() -> list[Json]:
    return [
        says("It is the reading, not the looking. Each request for ", base=f"{TIDES}/"),
        refers(uri(APP, is_cached=True)),
        says(" calls "),
        refers(symbol("next_tides", 11, LOOKUP, 10)),
        says(", and that opens the station's table and parses every date of the year, in "),
        refers(location(LOOKUP, 12, 14)),
        says(": about 1,400 rows to find four. I measured 812 ms per lookup.\n\n"),
        says(
            answer("""
                Two things would help:

                1. Read each table **once** and keep it.
                2. The rows are in order, so find the first one by **bisection** instead of comparing all.
                """),
            base=f"{TIDES}/",
        ),
    ]


# --- made fast --------------------------------------------------------------------------------------------------


def _read_once() -> Json:
    work = Work()
    calls = Calls(f"{KEY}/2", OPENED + 300)
    change = calls.new("replace_string_in_file", {"filePath": LOOKUP}, files_edited(LOOKUP))
    fails = calls.new("run_in_terminal", {"command": "pytest -q tests/test_lookup.py"}, text_result(FAILURE))
    repair = calls.new("replace_string_in_file", {"filePath": LOOKUP}, files_edited(LOOKUP))
    passes = calls.new(
        "run_in_terminal", {"command": "pytest -q tests/test_lookup.py"}, text_result("4 passed in 0.05s")
    )
    done = "Done. All four tests pass, and a lookup takes 0.3 ms after the first one for each station."
    rounds = recorded(
        one_round(KEY, ms("2026-04-02 08:50:40"), "I'll do both.", change),
        one_round(KEY, ms("2026-04-02 08:51:05"), "", fails),
        one_round(KEY, ms("2026-04-02 08:51:40"), "A tide at this very minute counts as passed.", repair),
        one_round(KEY, ms("2026-04-02 08:52:00"), "", passes),
        one_round(KEY, ms("2026-04-02 08:52:25"), done),
    )
    return request(
        f"{KEY}/2",
        ms("2026-04-02 08:50:22"),
        "Do both, please.",
        [
            says("I'll do both.\n"),
            _edit_call(change),
            *edit_parts(work.file, work.first, stop=STOPS[0]),
            _tests(fails, FAILURE, 1),
            says("\nA tide at this very minute counts as passed, so the search has to go right of it.\n"),
            _edit_call(repair),
            *edit_parts(work.file, work.second, stop=STOPS[1]),
            _tests(passes, "4 passed in 0.05s", 0),
            says(f"\n{done}"),
        ],
        agent=agent_mode("0.36.1"),
        modelId=MODEL,
        modelState=complete(ms("2026-04-02 08:52:30")),
        timeSpentWaiting=21300,
        result={
            "timings": {"firstProgress": 1920, "totalElapsed": 128004},
            "details": "Claude Sonnet 4.5 • 1x",
            "metadata": metadata(f"{KEY}/2", SESSION, **rounds),
        },
        vote=1,
    )


def _edit_call(call: Call) -> Json:
    return call.part("copilot_replaceString", f"Editing {link(LOOKUP)}", presentation="hidden")


def _tests(call: Call, output: str, exit_code: int) -> Json:
    data = terminal("pytest -q tests/test_lookup.py", output, exit_code, cwd=uri(TIDES), isBackground=False)
    data["autoApproveInfo"] = {"value": "_Auto approved by rule `pytest`_", "isTrusted": False}
    data["confirmation"] = {"commandLine": "pytest -q tests/test_lookup.py"}
    setting = {"type": 2, "id": "chat.tools.terminal.autoApprove"}
    return call.part("run_in_terminal", "", isConfirmed=setting, toolSpecificData=data)


# --- a day later, in the log ------------------------------------------------------------------------------------


def _next_year() -> Json:
    prompt = "Does it notice when I download next year's tables?"
    text = answer("""
        No. `@cache` keeps what was read until the process ends, so after a download the service would go on showing the
        old year. As you restart it on each deployment that may never matter. If it does, make the file's time part of
        the key:

        ```python
        def tides_of(station: str) -> Table:
            return _read(station, (DATA / f"{station}.csv").stat().st_mtime_ns)
        ```

        The `stat` costs a few microseconds per request.
        """)
    thought = ["The cache has no limit and no expiry. ", "What would change the file? ", "Only a yearly download."]
    return request(
        f"{KEY}/3",
        ms("2026-04-03 07:15:09"),
        prompt,
        [
            thinks(f"{KEY}/3", thought, metadata={"stopReason": "end"}),
            {"kind": "thinking", "value": "", "id": ""},
            {
                "kind": "warning",
                "content": {"value": "Claude Sonnet 4.5 is busy, so this may take longer.\n\n", "supportHtml": False},
            },
            says(text),
        ],
        agent=agent_mode("0.37.5"),
        modelId=MODEL,
        modelState=complete(ms("2026-04-03 07:15:31")),
        timeSpentWaiting=ms("2026-04-03 07:15:09") + 12,
        editedFileEvents=[{"uri": uri(LOOKUP), "eventKind": 1}],
        result={
            "timings": {"firstProgress": 2011, "totalElapsed": 21870},
            "details": "Claude Sonnet 4.5 • 1x",
            "metadata": _plain_metadata(prompt, text),
        },
        responseMarkdownInfo=[{"suggestionId": f"sgt-{made_up_id(KEY, 'mtime')}"}],
        followups=[
            {"kind": "reply", "message": "Make the file's time part of the key", "agentId": "github.copilot.editsAgent"}
        ],
    )


def _plain_metadata(prompt: str, text: str) -> Json:
    thinking: Json = {"id": "thinking_0", "text": "The cache never expires.", "tokens": 9, "encrypted": "bm90aGluZw=="}
    rounds = recorded(one_round(KEY, ms("2026-04-03 07:15:29"), text, thinking=thinking, statefulMarker="none"))
    edited = f"The user has kept your edits to {LOOKUP}."
    blocks = (today("April 3, 2026", edited), tag("user_query", prompt))
    return metadata(
        f"{KEY}/3", SESSION, renderedUserMessage=rendered(*blocks), promptTokens=21480, outputTokens=211, **rounds
    )


def editing() -> tuple[Json, list[str]]:
    work = Work()
    before: dict[str, Any] = {"path": LOOKUP, "text": LOOKUP_FIRST}
    timeline = Timeline(KEY)
    timeline.begin(f"{KEY}/1")
    timeline.begin(f"{KEY}/2")
    timeline.baseline(File(**before))
    timeline.stop(STOPS[0])
    timeline.operation("textEdit", work.file, edits=work.first)
    timeline.stop(STOPS[1])
    timeline.operation("textEdit", work.file, edits=work.second)
    kept = entry(LOOKUP, "python", work.file.text, work.file.text, by=f"{KEY}/2", state=ACCEPTED)
    return timeline.state([kept], [(LOOKUP, LOOKUP_FIRST)]), [LOOKUP_FIRST, work.file.text]
