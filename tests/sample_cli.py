"""Tides as a calendar: a session of Copilot CLI with a plan, a helper, a compaction, and a morning after."""

from __future__ import annotations

from tests.sample_cli_log import Asked, CliLog, create, diff_of, edit, fails, gives, intent, shell, view
from tests.sample_forms import Json, answer, made_up_id, ms, prose
from tests.sample_home import TIDES, Home

KEY = "calendar"
SESSION = made_up_id(KEY)
SONNET, OPUS, HAIKU = "claude-sonnet-4.5", "claude-opus-4.5", "claude-haiku-4.5"
FOLDER = f"/home/ana/.copilot/session-state/{SESSION}"
APP, CALENDAR = f"{TIDES}/tide_tables/app.py", f"{TIDES}/tide_tables/calendar.py"
TABLE, CHANGES = f"{TIDES}/tide_tables/data/norrvik.csv", f"{TIDES}/CHANGELOG.md"
SKILL_FILE = f"{TIDES}/.github/skills/changelog/SKILL.md"
CHECKPOINT = "001-tides-as-a-calendar.md"
TEST = "python -m pytest -q tests/test_calendar.py"

CONTEXT = {
    "cwd": TIDES,
    "gitRoot": TIDES,
    "repository": "ana/tide-tables",
    "repositoryHost": "github.example.com",
    "hostType": "github",
    "branch": "calendar",
    "headCommit": "b70e5d2c91f34a68802d7c1be4f95a03d6e8127f",
}

APP_FIRST = prose('''
    """The web service."""

    from flask import Flask, jsonify

    from tide_tables.clock import now
    from tide_tables.lookup import next_tides

    app = Flask(__name__)
    get = app.get


    @get("/tides/<station>")
    def tides(station: str):
        return jsonify(next_tides(station, now()))
    ''') + "\n"  # fmt: skip
ROUTE = prose('''
    @get("/tides/<station>.ics")
    def tides_as_calendar(station: str):
        return Response(calendar(station, now()), mimetype="text/calendar")


    @get("/tides/<station>")
    ''')  # fmt: skip
CALENDAR_FIRST = prose('''
    """Tides as a calendar that phones can subscribe to."""

    from datetime import datetime, timedelta

    from tide_tables.lookup import tides_of

    DAYS = 30


    def calendar(station: str, now: datetime) -> str:
        """The high and low waters of the next days, as an iCalendar text."""
        times, rows = tides_of(station)
        end = now + timedelta(days=DAYS)
        tides = [tide(station, at, row) for at, row in zip(times, rows) if now < at < end]
        return "\\r\\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:tide-tables", *tides, "END:VCALENDAR", ""])


    def tide(station: str, at: datetime, row: dict[str, str]) -> str:
        """One high or low water. It lasts no time at all."""
        uid, start = f"UID:{station}-{at:%Y%m%dT%H%M}", f"DTSTART:{at:%Y%m%dT%H%M%S}Z"
        summary = f"SUMMARY:{row['kind'].title()} water, {row['height']} m"
        return "\\r\\n".join(["BEGIN:VEVENT", uid, start, summary, "END:VEVENT"])
    ''') + "\n"  # fmt: skip
ROWS = "time,kind,height_m\n2026-01-01T03:41+00:00,high,2.31\n2026-01-01T09:58+00:00,low,0.42\n"
TESTS = prose('''
    from datetime import UTC, datetime

    from tests.tables import DAY, empty_calendar
    from tide_tables.calendar import calendar, tide


    def test_a_tide_becomes_an_event():
        row = {"kind": "high", "height_m": "2.31"}
        assert "SUMMARY:High water, 2.31 m" in tide("norrvik", datetime(2026, 5, 1, 9, 12, tzinfo=UTC), row)


    def test_a_tide_after_thirty_days_is_left_out():
        assert calendar("norrvik", DAY).count("BEGIN:VEVENT") == 116


    def test_a_station_without_tides_has_an_empty_calendar():
        assert calendar("inland", DAY) == empty_calendar()
    ''') + "\n"  # fmt: skip
CHANGELOG = "# Changes\n\n## Unreleased\n\n- A lookup takes a third of a millisecond.\n"


def put(home: Home) -> None:
    log = session()
    name = f"checkpoints/{CHECKPOINT}"
    index = f"# Checkpoint History\n\n| # | Title | File |\n|---|---|---|\n| 1 | Tides as a calendar | {CHECKPOINT} |\n"
    facts = {"cwd": TIDES, "git_root": TIDES, "repository": "ana/tide-tables", "host_type": "github"}
    facts |= {"branch": "calendar", "name": '"Calendar: tides to subscribe to"', "client_name": "github/cli"}
    workspace = log.workspace(**facts, user_named=False, summary_count=1)
    files = {"workspace.yaml": workspace, "plan.md": PLAN, "checkpoints/index.md": index, name: SUMMARY}
    log.put(home, files)


def session() -> CliLog:
    log = CliLog(KEY, SESSION, ms("2026-04-30 17:05:02"), SONNET)
    log.start("1.0.69", CONTEXT)
    log.hook("sessionStart", {"source": "new", "cwd": TIDES}, {"additionalContext": "Python 3.13, pytest 8"})
    _plans(log)
    _builds(log)
    _compacts(log)
    log.shutdown(
        totalApiDurationMs=96400,
        totalNanoAiu=3_900_000_000,
        **log.metrics(
            {SONNET: (61200, 40900, 14100, 1), HAIKU: (18300, 9100, 6200, 0), OPUS: (148700, 118400, 21600, 3)}
        ),
    )
    log.at(ms("2026-05-01 07:31:40"))
    log.resume(CONTEXT)
    _checks_summer(log)
    log.shutdown(
        totalApiDurationMs=121900,
        totalNanoAiu=5_100_000_000,
        **log.metrics(
            {SONNET: (61200, 40900, 14100, 1), HAIKU: (18300, 9100, 6200, 0), OPUS: (203500, 158800, 30900, 6)}
        ),
    )
    return log


# --- the plan ---------------------------------------------------------------------------------------------------

PROMPT = "People ask for the tides in their phone's calendar. How would you do that? Make a plan first, please."
TASK = (
    "Find out how the service in tide_tables/ answers requests and where tides come from. Name files and functions. "
    "Change nothing."
)
FOUND = answer("""
    `tide_tables/app.py` holds the only route, `/tides/<station>`. It calls `next_tides` in `lookup.py`, which takes
    times and rows from `tides_of`, read once for each station.
    """)
PLAN = answer("""
    # Tides as a calendar

    1. `tide_tables/calendar.py`: the tides of the next 30 days as iCalendar text, from `tides_of`.
    2. A route `/tides/<station>.ics` in `app.py`.
    3. Tests: one tide, the end of the 30 days, a station without tides.

    No new dependency: the format is a dozen lines of text.
    """) + "\n"  # fmt: skip


def _plans(log: CliLog) -> None:
    log.at(ms("2026-04-30 17:05:48"))
    log.asks(PROMPT, agentMode="plan")
    task = {"agent_type": "explore", "description": "Explore the service", "prompt": TASK, "mode": "sync"}
    explore = Asked("task", task, gives(FOUND), between=lambda call: _explores(log, call))
    thought = "I know the lookup, not the service around it. A helper can look, and I keep my head free for the plan."
    said = "I'll find out how the service is built, and then plan."
    log.answers(said, intent("Exploring the service"), explore, tokens=188, reasoningText=thought)
    info = gives('{"station": "norrvik", "name": "Norrvik", "zone": "Europe/Oslo", "unit": "m"}')
    request = {"kind": "mcp", "serverName": "harbour", "toolName": "station_info", "args": {"station": "norrvik"}}
    station = Asked("station_info", {"station": "norrvik"}, info, takes=0.8, server="harbour")
    station.between = lambda call: log.permission(call, request, "approved-for-session")
    log.answers("What the calendar should show depends on what is known of a station.", station, tokens=74)
    written = create(f"{FOLDER}/plan.md", PLAN)
    written.between = lambda call: _notes_plan(log)
    log.answers("", intent("Writing the plan"), written, tokens=212)
    log.answers(
        answer("""
            I have written a plan: one new module that turns a station's tides into calendar text, one route, and
            three tests. Phones subscribe to the address and fetch it again by themselves, so nothing has to be
            stored. Shall I go ahead?
            """),
        tokens=81,
    )


def _notes_plan(log: CliLog) -> None:
    log.emit("session.plan_changed", {"operation": "create"})


def _explores(log: CliLog, call: Asked) -> None:
    """What the helper does: its events name it, and its model is another."""
    agent = f"explore-{call.id[-6:]}"
    about = {"toolCallId": call.id, "agentName": "explore", "agentDisplayName": "Explore the service"}
    described = {"agentDescription": "Looks around in a codebase and answers questions about it", "model": HAIKU}
    log.emit("subagent.started", about | described, agent)
    lines = (
        f"{APP}:6:from tide_tables.lookup import next_tides\n{APP}:13:    return jsonify(next_tides(station, now()))"
    )
    search = Asked("grep", {"pattern": "next_tides|tides_of", "path": TIDES, "output_mode": "content"}, gives(lines))
    log.answers("", search, view(APP, APP_FIRST), tokens=96, agent=agent, model=HAIKU, parentToolCallId=call.id)
    log.answers(FOUND, tokens=71, agent=agent, model=HAIKU, parentToolCallId=call.id)
    log.emit("subagent.completed", about | {"model": HAIKU, "durationMs": 6900, "totalTokens": 18467}, agent)


# --- the work ---------------------------------------------------------------------------------------------------

FAILURE = prose("""
    F..                                                                      [100%]
    =================================== FAILURES ===================================
    _________________________ test_a_tide_becomes_an_event _________________________
    tide_tables/calendar.py:21: in tide
        summary = f"SUMMARY:{row['kind'].title()} water, {row['height']} m"
    E   KeyError: 'height'
    1 failed, 2 passed in 0.34s
    """)


def _builds(log: CliLog) -> None:
    log.at(ms("2026-04-30 17:09:10"))
    log.emit("session.mode_changed", {"previousMode": "plan", "newMode": "interactive"})
    log.emit("session.model_change", {"previousModel": SONNET, "newModel": OPUS, "source": "model_command"}, after=3)
    log.model = OPUS
    attached = {"type": "file", "path": APP, "displayName": "app.py"}
    log.asks("Yes, go ahead. The route belongs into @app.py.", attachments=[attached])
    write = create(CALENDAR, CALENDAR_FIRST)
    write.between = lambda call: _asks_to_write(log, call, diff_of(CALENDAR, None, CALENDAR_FIRST))
    imports = "from tide_tables.clock import now\n"
    with_import = f"from tide_tables.calendar import calendar\n{imports}"
    route = edit(APP, APP_FIRST, '@get("/tides/<station>")', ROUTE)
    app = APP_FIRST.replace('@get("/tides/<station>")', ROUTE)
    names = edit(APP, app, "from flask import Flask, jsonify", "from flask import Flask, Response, jsonify")
    app = app.replace("Flask, jsonify", "Flask, Response, jsonify")
    log.answers("", intent("Building the calendar"), write, tokens=486, after=9)
    log.answers("", route, names, edit(APP, app, imports, with_import), tokens=262)
    _tests(log)
    log.answers(
        answer("""
            `/tides/norrvik.ics` works. It holds the high and low waters of the next 30 days, such as *High water,
            2.31 m*. The first test failed because the tables call the height `height_m`; that is put right, and all
            three tests pass.
            """),
        tokens=97,
    )


def _asks_to_write(log: CliLog, call: Asked, diff: str) -> None:
    log.hook("preToolUse", {"toolName": "create", "toolArgs": {"path": CALENDAR}}, {"permissionDecision": "ask"})
    request = {"kind": "write", "intention": "Create file", "fileName": CALENDAR, "diff": diff}
    log.permission(call, request, "approved-for-session", after=7)


def _tests(log: CliLog) -> None:
    broken = shell(TEST, "Run the tests of the calendar", FAILURE, 1, takes=2.1)
    request: Json = {"kind": "shell", "fullCommandText": TEST, "intention": "Run the tests of the calendar"}
    request |= {"commands": [{"identifier": "python", "readOnly": False}], "possiblePaths": [], "possibleUrls": []}
    broken.between = lambda call: log.permission(call, request, "approved")
    log.answers("Now the tests.", create(f"{TIDES}/tests/test_calendar.py", TESTS), tokens=311, after=6)
    log.answers("", broken, tokens=88)
    lost = Asked("view", {"path": f"{TIDES}/data/norrvik.csv"}, fails("Path does not exist"))
    log.answers("The tables seem to name the height otherwise.", lost, tokens=69)
    log.answers("", view(TABLE, ROWS), tokens=58)
    repair = edit(CALENDAR, CALENDAR_FIRST, "row['height']", "row['height_m']")
    passes = shell(TEST, "Run the tests again", "...                [100%]\n3 passed in 0.31s", takes=1.7)
    log.answers("The column is called `height_m`.", repair, tokens=121)
    log.answers("", passes, tokens=64)


# --- the summary ------------------------------------------------------------------------------------------------

SUMMARY = prose("""
    <overview>
    Ana wanted the tides in the calendars of phones. A plan was made and carried out.
    </overview>

    <history>
    1. A helper explored the service; plan.md was written.
    2. Ana agreed. The module, the route and three tests were made.
    </history>

    <work_done>
    - tide_tables/calendar.py: new, `calendar` and `tide`
    - tide_tables/app.py: route `/tides/<station>.ics`
    </work_done>

    <technical_details>
    The tables call the height `height_m`. Times in the tables are in UTC.
    </technical_details>

    <important_files>
    - tide_tables/calendar.py
    - tide_tables/app.py
    </important_files>

    <next_steps>
    Nothing is open.
    </next_steps>
    """)


def _compacts(log: CliLog) -> None:
    log.at(ms("2026-04-30 17:14:30"))
    before = {"systemTokens": 6120, "conversationTokens": 19840, "toolDefinitionsTokens": 8410}
    log.emit("session.compaction_start", {**before, "model": OPUS, "trigger": "manual"})
    done = {
        "success": True,
        "trigger": "manual",
        "checkpointNumber": 1,
        "checkpointPath": f"{FOLDER}/checkpoints/{CHECKPOINT}",
        "summaryContent": SUMMARY,
        "preCompactionTokens": 34370,
        "postCompactionTokens": 15480,
        "preCompactionMessagesLength": 27,
        "messagesRemoved": 25,
        "tokensRemoved": 18890,
        "compactionTokensUsed": {"model": OPUS, "inputTokens": 34900, "outputTokens": 286, "cacheReadTokens": 33100},
    }
    log.emit("session.compaction_complete", done, after=11)


# --- the morning after ------------------------------------------------------------------------------------------

SKILL = prose("""
    ---
    name: changelog
    description: How we write the changelog.
    ---
    One line for each change, from the point of view of those who use the service. No names of functions.
    """)
LINE = "- Subscribe to the tides of a station in your calendar: `/tides/<station>.ics`.\n"


def _checks_summer(log: CliLog) -> None:
    log.at(ms("2026-05-01 07:32:15"))
    log.asks("Are the times right in summer? If so, add it to the changelog.")
    command = "curl -s localhost:5000/tides/norrvik.ics | grep DTSTART | head -2"
    look = shell(command, "Look at the first times", "DTSTART:20260501T091200Z\nDTSTART:20260501T152600Z", takes=0.6)
    log.answers("", intent("Checking summer time"), look, tokens=143)
    skill = Asked("skill", {"skill": "changelog"}, gives('Skill "changelog" loaded successfully.'))
    skill.between = lambda call: _loads_skill(log)
    said = "The times end in `Z`, so they are in UTC, and each phone shows them in its own zone. They are right."
    log.answers(said, skill, tokens=109)
    last = CHANGELOG.splitlines(keepends=True)[-1]
    log.answers("", edit(CHANGES, CHANGELOG, last, last + LINE), tokens=98)
    log.answers(
        answer("""
            Yes. The calendar gives times in UTC, and phones turn them into local time, summer or winter: 09:12 UTC on
            1 May shows as 11:12 in Norrvik, which is what the printed table says. The changelog has a line about it.
            """),
        tokens=92,
    )


def _loads_skill(log: CliLog) -> None:
    data = {"name": "changelog", "path": SKILL_FILE, "content": SKILL, "description": "How we write the changelog."}
    log.emit("skill.invoked", {**data, "source": "project", "trigger": "agent-invoked"})
