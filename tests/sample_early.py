"""The oldest conversations of the sample: from before sessions had files, and from the first releases with files."""

from __future__ import annotations

from textwrap import indent
from typing import Any

from tests.sample_calls import metadata, tool_part
from tests.sample_editing import ACCEPTED, MODIFIED, REJECTED, entry
from tests.sample_forms import (
    File,
    Json,
    address,
    answer,
    content_name,
    edit_parts,
    location,
    made_up_id,
    message,
    ms,
    prose,
    refers,
    says,
    sha1,
    span,
    uri,
)
from tests.sample_home import (
    ANA,
    NOTES,
    OLD_NOTES_STORAGE,
    TIDES,
    TIDES_STORAGE,
    Home,
    agent,
    edit_mode,
    request,
    request_id,
)

AVATAR = uri("/u/ana.png", "https", authority="avatars.example.com")
STATIONS = f"{TIDES}/tide_tables/stations.py"
MOON = f"{TIDES}/tide_tables/moon.py"


def put(home: Home) -> None:
    home.row(OLD_NOTES_STORAGE, "interactive.sessions", [neap_and_spring()])
    home.row(TIDES_STORAGE, "interactive.sessions", [sort_stations_as_it_was()])
    home.session(TIDES_STORAGE, sort_stations())
    home.index(TIDES_STORAGE, sort_stations(), timing=None, hasPendingEdits=None, isImported=False)
    home.editing(TIDES_STORAGE, made_up_id("sort-stations"), *sorting())
    home.session(TIDES_STORAGE, moon_phase())
    # Inline chats of that time have a file, and no entry in the index.


# --- kept in the workspace's database only ----------------------------------------------------------------------


def neap_and_spring() -> Json:
    """Version 1: without a version, messages and answers still plain texts here and there."""
    return {
        "requesterUsername": ANA,
        "requesterAvatarIconUri": AVATAR,
        "responderUsername": "GitHub Copilot",
        "responderAvatarIconUri": {"id": "copilot"},
        "initialLocation": "panel",
        "welcomeMessage": ["Hi **@ana**, what are you working on?"],
        "sessionId": made_up_id("neap-and-spring"),
        "creationDate": ms("2026-03-20 10:02:11"),
        "isImported": False,
        "requests": [_neap_and_spring(), _help(), _as_a_note(), _lost_connection()],
    }


def _neap_and_spring() -> Json:
    return {
        "message": "What is the difference between neap and spring tides?",
        "response": answer("""
            Both come from the moon and the sun pulling together or at right angles.

            - **Spring tides** follow the new and the full moon. Sun and moon are in line, and the range between high
              and low water is at its largest. The name has nothing to do with the season.
            - **Neap tides** follow the half moons. Sun and moon work against each other, and the range is small.

            Each comes about every two weeks, a day or two after the phase of the moon that causes it.
            """),
        "agent": {"id": "copilot", "extensionId": "GitHub.copilot-chat", "extensionPublisher": "GitHub"},
        "timestamp": ms("2026-03-20 10:02:40"),
        "isCanceled": False,
        "vote": 1,
    }


def _help() -> Json:
    slash = {"kind": "slash", "slashCommand": {"command": "help", "detail": "", "executeImmediately": True}}
    help_text = "Ask about your code and your notes. Type `#` to attach a file, and `@` to choose whom to ask."
    return {"message": message("/help", ("/help", slash)), "variableData": {"variables": []}, "response": help_text}


def _as_a_note() -> Json:
    path = f"{NOTES}/sea/tides.md"
    variable = {"kind": "var", "variableName": "file", "variableArg": "sea/tides.md", "variableId": "copilot.file"}
    context = {"uri": uri(path), "version": 7, "ranges": [span(1, 1, 14, 1)]}
    return {
        "requestId": request_id("neap-and-spring/3"),
        "message": message("Put that into #file:sea/tides.md in a few sentences", ("#file:sea/tides.md", variable)),
        "variableData": {
            "variables": [
                {
                    "name": "file:sea/tides.md",
                    "range": {"start": 14, "endExclusive": 32},
                    "values": [
                        {"level": "full", "kind": "string", "value": "# Tides\n\nHigh water at Norrvik: see app."}
                    ],
                }
            ]
        },
        "response": [
            "Here is a paragraph for the note:\n\n",
            "> Spring tides come after new and full moon and have the largest range. ",
            "Neap tides come after the half moons and have the smallest. ",
            says("Each kind returns about every two weeks."),
        ],
        "usedContext": {"kind": "usedContext", "documents": [context]},
        "agent": {
            "id": "copilot",
            "extensionId": "GitHub.copilot-chat",
            "extensionPublisher": "GitHub",
            "metadata": {},
        },
        "timestamp": ms("2026-03-20 10:05:02"),
        "isCanceled": False,
    }


def _lost_connection() -> Json:
    """Failed, and taken back by the user: both in the words of old releases."""
    return {
        "requestId": request_id("neap-and-spring/4"),
        "message": message("And which of the two is better for launching the boat?"),
        "variableData": {"variables": []},
        "response": [],
        "responseErrorDetails": {
            "message": "The connection was lost. Please check your network and try again.",
            "responseIsIncomplete": True,
        },
        "timestamp": ms("2026-03-20 10:07:30"),
        "isHidden": True,
    }


# --- the first editing sessions ---------------------------------------------------------------------------------

STATIONS_FIRST = prose('''
    """The stations we have tide tables for."""

    from dataclasses import dataclass


    @dataclass(frozen=True)
    class Station:
        name: str
        latitude: float
        longitude: float


    STATIONS = [
        Station("Ekskär", 58.83, 17.55),
        Station("Norrvik", 57.92, 11.57),
        Station("Stenudden", 56.65, 12.85),
    ]


    def all_stations() -> list[Station]:
        return sorted(STATIONS, key=lambda station: station.name)
    ''') + "\n"  # fmt: skip

NEAREST = prose('''


    def distance_km(station: Station, latitude: float, longitude: float) -> float:
        """The distance from a point, as if the coast were flat; good enough for sorting."""
        north = (station.latitude - latitude) * 111.2
        east = (station.longitude - longitude) * 111.2 * cos(radians(latitude))
        return hypot(north, east)


    def nearest_stations(latitude: float, longitude: float) -> list[Station]:
        return sorted(STATIONS, key=lambda station: distance_km(station, latitude, longitude))
    ''')  # fmt: skip


WITHIN_RADIUS = indent(
    prose("""
        def distance(station: Station) -> float:
            return distance_km(station, latitude, longitude)

        return sorted((station for station in STATIONS if distance(station) <= radius_km), key=distance)
        """),
    "    ",
)


class Sorting:
    """stations.py as it changes from turn to turn. The lowest edit of a turn comes first, so that lines stay true."""

    def __init__(self) -> None:
        self.file = File(STATIONS, STATIONS_FIRST)
        self.texts = [self.file.text]
        import_line = "from dataclasses import dataclass\n"
        last_line = "key=lambda station: station.name)\n"
        self.first = [
            self.file.edit(last_line, f"{last_line}\n\n{NEAREST}\n"),
            self.file.edit(import_line, import_line + "from math import cos, hypot, radians\n"),
        ]
        self.texts.append(self.file.text)
        parameters = "latitude: float, longitude: float) -> list"
        in_degrees = "latitude: float, longitude: float, radius: float = 1.0) -> list"
        self.second = [self.file.edit(parameters, in_degrees)]
        self.texts.append(self.file.text)
        body = "    return sorted(STATIONS, key=lambda station: distance_km(station, latitude, longitude))"
        self.third = [
            self.file.edit(body, WITHIN_RADIUS),
            self.file.edit("radius: float = 1.0", "radius_km: float = 100.0"),
        ]
        self.texts.append(self.file.text)


def sort_stations() -> Json:
    return {
        "version": 3,
        "requesterUsername": ANA,
        "requesterAvatarIconUri": AVATAR,
        "responderUsername": "GitHub Copilot",
        "responderAvatarIconUri": {"id": "copilot"},
        "initialLocation": "editing-session",
        "requests": _sorting_requests(),
        "sessionId": made_up_id("sort-stations"),
        "creationDate": ms("2026-03-22 14:20:00"),
        "isImported": False,
        "lastMessageDate": ms("2026-03-22 14:29:41"),
        "customTitle": "Stations by distance",
    }


def sort_stations_as_it_was() -> Json:
    """Version 2 of the same conversation: moving it into a file did not erase it from the database."""
    session = sort_stations()
    session |= {"version": 2, "computedTitle": session.pop("customTitle"), "requests": session["requests"][:1]}
    return session


def _sorting_requests() -> list[Json]:
    sorting = Sorting()
    return [_sort(sorting), _radius(sorting), _kilometres(sorting)]


def _answered_by() -> Json:
    return edit_mode("0.26.5")


def _sort(sorting: Sorting) -> Json:
    text = "Sort the stations by distance from where I am, not by name. #file:stations.py"
    mention = {
        "kind": "dynamic",
        "text": "#file:stations.py",
        "id": "vscode.file",
        "data": uri(STATIONS),
        "isFile": True,
    }
    reference = {"kind": "reference", "reference": uri(STATIONS)}
    attached = {
        "id": "vscode.file",
        "name": "file:stations.py",
        "value": uri(STATIONS),
        "isFile": True,
        "range": {"start": 60, "endExclusive": 77},
        "references": [reference],
    }
    found = [location(STATIONS, 20), location(f"{TIDES}/tide_tables/app.py", 14)]
    return request(
        "sort-stations/1",
        ms("2026-03-22 14:20:31"),
        message(text, ("#file:stations.py", mention)),
        [
            says("I'll add a distance and a sorted list beside `all_stations`, which the index page still needs.\n\n"),
            tool_part(
                made_up_id("sort-stations/search"),
                "copilot_findTextInFiles",
                "Searching text for `all_stations`",
                "Searched text for `all_stations`, 2 results",
                isConfirmed=True,
                source=None,
                resultDetails=found,
            ),
            says(
                "### [stations.py](file:///home/ana/code/tide-tables/tide_tables/stations.py)\n\nAdd both functions.\n"
            ),
            *edit_parts(sorting.file, sorting.first, stop=made_up_id("sort-stations/stop/1")),
            _old_terminal("python -m pytest tests/test_stations.py -q", is_confirmed=True),
            _old_terminal("git commit -am 'Sort stations by distance'", is_confirmed=False),
            says("\nThe tests pass. I left the change uncommitted, since you declined the commit."),
        ],
        variableData={"variables": [attached]},
        agent=_answered_by(),
        isCanceled=False,
        workingSet=[uri(STATIONS)],
        contentReferences=[reference],
        result={"timings": {"firstProgress": 1304, "totalElapsed": 18220}, "metadata": _about("sort-stations/1")},
        followups=[],
    )


def _about(key: str) -> Json:
    return metadata(key, made_up_id("sort-stations"), "github.copilot.editingSession")


def _old_terminal(command: str, *, is_confirmed: bool) -> Json:
    return tool_part(
        made_up_id("sort-stations", command),
        "copilot_runInTerminal",
        'Using "Run In Terminal"',
        isConfirmed=is_confirmed,
        source=None,
        toolSpecificData={"kind": "terminal", "command": command, "language": "sh"},
    )


def _radius(sorting: Sorting) -> Json:
    canceled = {"message": "Canceled", "code": "canceled", "responseIsIncomplete": True}
    return request(
        "sort-stations/2",
        ms("2026-03-22 14:26:10"),
        "Only the ones within 100 km, please.",
        [
            says("I'll give `nearest_stations` a radius, in degrees because that is how the coordinates\n\n"),
            *edit_parts(sorting.file, sorting.second, stop=made_up_id("sort-stations/stop/2"))[:-1],
        ],
        agent=_answered_by(),
        isCanceled=True,
        vote=0,
        voteDownReason="didNotFollowInstructions",
        result={
            "timings": {"totalElapsed": 6120},
            "errorDetails": canceled,
            "metadata": _about("sort-stations/2"),
        },
    )


def _kilometres(sorting: Sorting) -> Json:
    default = location(STATIONS, sorting.file.line_of("radius_km: float"))
    return request(
        "sort-stations/3",
        ms("2026-03-22 14:29:41"),
        "Kilometres, not degrees!",
        [
            says("Of course: the radius is in kilometres now, and stations farther away are left out.\n"),
            *edit_parts(sorting.file, sorting.third, stop=made_up_id("sort-stations/stop/3")),
            says("\nThe default is 100 km. If that is too far, "),
            refers(default),
            says(" is the only place to change."),
        ],
        agent=_answered_by(),
        isCanceled=False,
        vote=1,
        result={"timings": {"firstProgress": 980, "totalElapsed": 9410}, "metadata": _about("sort-stations/3")},
    )


def sorting() -> tuple[Json, list[str]]:
    """The editing session in its first version: one snapshot before each request, and no stops."""
    texts = Sorting().texts
    readme = f"{TIDES}/README.md"
    working_set = [[address(STATIONS), {"state": 1, "description": "Open editor"}], [address(readme), {"state": 2}]]

    def snapshot(number: int, current: str, state: int = MODIFIED) -> list[Json]:
        """stations.py as the given request left it."""
        key = f"sort-stations/{number}"
        replaced: dict[str, Any] = {"originalToCurrentEdit": [] if current == texts[0] else _whole_text(current)}
        return [entry(STATIONS, "python", texts[0], current, by=key, state=state, **replaced)]

    history = [
        {"requestId": request_id("sort-stations/1"), "workingSet": [], "entries": []},
        {"requestId": request_id("sort-stations/2"), "workingSet": working_set, "entries": snapshot(1, texts[1])},
        {"requestId": request_id("sort-stations/3"), "workingSet": working_set, "entries": snapshot(2, texts[2])},
    ]
    rejected = entry(readme, "markdown", "# Tide tables\n", "# Tide tables\n", by="sort-stations/3", state=REJECTED)
    state = {
        "version": 1,
        "sessionId": made_up_id("sort-stations"),
        "linearHistory": history,
        "linearHistoryIndex": 3,
        "initialFileContents": [[address(STATIONS), content_name(texts[0])]],
        "recentSnapshot": {"workingSet": working_set, "entries": [*snapshot(3, texts[3], ACCEPTED), rejected]},
    }
    return state, [*texts, "# Tide tables\n"]


def _whole_text(text: str) -> list[Json]:
    """Offset edits from the original to the current text."""
    return [{"txt": text, "pos": 0, "len": len(STATIONS_FIRST)}]


# --- inline chat ------------------------------------------------------------------------------------------------

MOON_FIRST = prose('''
    """The age of the moon, which is all that spring and neap tides depend on."""

    from datetime import date

    NEW_MOON = date(2000, 1, 6)


    def moon_age(day: date) -> float:
        """Days since the last new moon."""
        return (day - NEW_MOON).days % 29
    ''') + "\n"  # fmt: skip


def moon_phase() -> Json:
    """Asked in the editor, answered with an edit."""
    file = File(MOON, MOON_FIRST)
    edits = [file.edit("% 29", "% SYNODIC_MONTH"), file.insert(6, "SYNODIC_MONTH = 29.530588\n")]
    text = "/fix The phase drifts by half a day each month"
    command = {"name": "fix", "description": "Propose a fix for the selected code", "when": "", "isSticky": False}
    selection = {"kind": "file", "id": "vscode.selection", "name": "file:moon.py", "value": location(MOON, 8, 10)}
    responder = agent("github.copilot.editor", "", "edit", "", "0.26.5", locations=["editor"], fullName="")
    return {
        "version": 3,
        "requesterUsername": ANA,
        "responderUsername": "",
        "initialLocation": "editor",
        "requests": [
            request(
                "moon-phase/1",
                ms("2026-03-23 19:44:02"),
                message(text, ("/fix", {"kind": "subcommand", "command": command})),
                [
                    {"kind": "progressMessage", "content": {"value": "Looking at the problem", "supportHtml": False}},
                    {
                        "kind": "textEditGroup",
                        "uri": uri(MOON, is_cached=True),
                        "edits": [edits],
                        "state": {"sha1": sha1(MOON_FIRST), "applied": 1},
                        "done": True,
                    },
                    says("A lunar month is 29.53 days, not 29, so the error grew with every month since 2000."),
                ],
                variableData={"variables": [selection]},
                agent=responder,
                slashCommand=command,
                isCanceled=False,
                result={"timings": {"firstProgress": 870, "totalElapsed": 2900}, "details": "GPT-4.1 • 0x"},
                modelId="copilot/gpt-4.1",
            )
        ],
        "sessionId": made_up_id("moon-phase"),
        "creationDate": ms("2026-03-23 19:43:40"),
        "isImported": False,
        "lastMessageDate": ms("2026-03-23 19:44:02"),
    }
