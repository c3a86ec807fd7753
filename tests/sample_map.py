"""A map of two ports, talked over in one folder and gone on with in a workspace."""

from __future__ import annotations

from tests.sample_calls import (
    Calls,
    metadata,
    one_round,
    piece,
    recorded,
    rendered,
    tag,
    today,
    tree_result,
    words,
)
from tests.sample_forms import (
    Json,
    answer,
    location,
    made_up_id,
    md,
    ms,
    prose,
    refers,
    says,
    uri,
)
from tests.sample_home import (
    AUTO,
    SHORELINE_STORAGE,
    TIDES,
    TIDES_STORAGE,
    Home,
    agent_mode,
    ask_mode,
    builtin_mode,
    complete,
    request,
)
from tests.sample_log import draft, log_of

MAP = made_up_id("port-map")
STATIONS = f"{TIDES}/tide_tables/stations.py"
TIDE_MAP = "/home/ana/code/tide-map"


def put(home: Home) -> None:
    earlier, later = port_map(turns=2), port_map(turns=3)
    home.log(TIDES_STORAGE, earlier, log_of(earlier))
    home.index(TIDES_STORAGE, earlier)
    home.log(SHORELINE_STORAGE, later, log_of(later, begun=2))  # copied when the workspace was saved
    home.index(SHORELINE_STORAGE, later)
    home.row(SHORELINE_STORAGE, "memento/interactive-session", {"history": {"copilot": [{"text": PAGE_PROMPT}]}})


# --- the map ----------------------------------------------------------------------------------------------------


def port_map(turns: int) -> Json:
    return {
        "version": 3,
        "creationDate": ms("2026-04-16 18:30:12"),
        "customTitle": "A map with both ports",
        "initialLocation": "panel",
        "responderUsername": "GitHub Copilot",
        "sessionId": MAP,
        "hasPendingEdits": False,
        "requests": [_what_changed(), _layout(), _page()][:turns],
        "pendingRequests": [],
        "repoData": {
            "workspaceType": "remote-git",
            "syncStatus": "unpublished",
            "remoteUrl": "https://github.example.com/ana/tide-tables.git",
            "remoteVendor": "github",
            "localBranch": "map",
            "headCommitHash": "9a41d7e02b5c88f13d6a70e4b9215fc7de3308b1",
            "diffsStatus": "noChanges",
            "changedFileCount": 0,
        },
        "inputState": draft(model=AUTO),
    }


def _commit(commit: str, parent: str, subject: str, day: str) -> Json:
    return {
        "id": commit,
        "parentIds": [parent],
        "subject": subject,
        "message": subject,
        "displayId": commit[:7],
        "author": "Ana Lindqvist",
        "authorEmail": "ana@example.com",
        "timestamp": ms(day),
        "statistics": {"files": 1, "insertions": 12, "deletions": 3},
    }


COORDINATES = _commit(
    "4be02c8d19f7a3556c0e1b7a9d2f84c6635e01aa", "77d0c1", "Give stations coordinates", "2026-03-21 11:02:00"
)
DISTANCE = _commit(
    "9a41d7e02b5c88f13d6a70e4b9215fc7de3308b1", "4be02c", "Sort stations by distance", "2026-03-22 15:01:00"
)


def _history() -> list[Json]:
    def at(commit: Json, path: str = "/") -> Json:
        return uri(path, "scm-history-item", query=commit["displayId"])

    table = uri(f"{TIDES}/tide_tables/data/stenudden.csv")
    return [
        {"kind": "file", "id": "stenudden", "name": "stenudden.csv", "value": table, "omittedState": 2},
        {
            "kind": "scmHistoryItem",
            "id": COORDINATES["id"],
            "name": "4be02c8 Give stations coordinates",
            "value": at(COORDINATES),
            "historyItem": COORDINATES,
        },
        {
            "kind": "scmHistoryItemChange",
            "id": f"{COORDINATES['id']}:stations.py",
            "name": "stations.py at 4be02c8",
            "value": at(COORDINATES, STATIONS),
            "historyItem": COORDINATES,
        },
        {
            "kind": "scmHistoryItemChangeRange",
            "id": "range",
            "name": "4be02c8..9a41d7e",
            "value": at(DISTANCE, STATIONS),
            "historyItemChangeStart": {"uri": at(COORDINATES, STATIONS), "historyItem": COORDINATES},
            "historyItemChangeEnd": {"uri": at(DISTANCE, STATIONS), "historyItem": DISTANCE},
        },
    ]


def _what_changed() -> Json:
    prompt = "What did these two commits change, and is that enough to draw the stations on a map?"
    return request(
        "port-map/1",
        ms("2026-04-16 18:31:00"),
        prompt,
        [
            {"kind": "thinking", "value": ["Two commits: ", "coordinates, then distances."], "id": "thinking_0"},
            says("The first gave each station a latitude and a longitude, in "),
            refers(location(STATIONS, 8, 10)),
            says(
                answer("""
                    ; the second sorts them by distance from a point.

                    For a map that is nearly enough. You would also want

                    - a **short name** for the label, because "Stenudden, inner harbour" will not fit;
                    - the **time zone**, if you ever show stations abroad.
                    """)
            ),
        ],
        variableData={"variables": _history()},
        agent=ask_mode("0.39.1"),
        modelId="copilot/gpt-4.1",
        modeInfo=builtin_mode("ask"),
        modelState=complete(ms("2026-04-16 18:31:14")),
        timeSpentWaiting=ms("2026-04-16 18:31:00") + 8,
        result={
            "timings": {"firstProgress": 1740, "totalElapsed": 13600},
            "details": "GPT-4.1 • 0x",
            "metadata": metadata("port-map/1", MAP, "github.copilot.default", renderedUserMessage=_asked(prompt)),
        },
        contentReferences=[
            {"kind": "reference", "reference": {"variableName": "commit", "value": location(STATIONS, 1, 24)}},
            {"kind": "reference", "reference": "git log --stat", "iconPath": {"id": "git-commit"}},
            {
                "kind": "reference",
                "reference": uri(f"{TIDES}/tide_tables/data/stenudden.csv"),
                "options": {"status": {"description": "too large", "kind": 3}},
            },
            {
                "kind": "reference",
                "reference": uri(STATIONS),
                "iconPath": {"light": uri("/light/git.svg"), "dark": uri("/dark/git.svg")},
                "options": {
                    "status": {"description": "shortened", "kind": 2},
                    "diffMeta": {"added": 12, "removed": 3},
                    "originalUri": uri(STATIONS, "git", query="4be02c8"),
                    "modifiedUri": uri(STATIONS),
                    "isDeletion": False,
                },
            },
        ],
        followups=[],
    )


def _asked(prompt: str) -> list[Json]:
    attached = tag("attachment", "Give stations coordinates", id="4be02c8") + tag(
        "attachment", "a.csv", folderPath=f"{TIDES}/data"
    )
    return rendered(tag("attachments", attached), today("April 16, 2026"), tag("userRequest", prompt))


def _layout() -> Json:
    command = {"kind": "command", "id": "tide.listPorts", "name": "tide: list ports", "value": ["Norrvik", "Stenudden"]}
    wish = {
        "kind": "generic",
        "id": "wish",
        "name": "Wishes",
        "value": "No build step. Works offline.",
        "tooltip": md("Written on the train"),
        "iconPath": {"id": "note"},
    }
    children = [
        {"label": "index.html", "uri": uri(f"{TIDE_MAP}/index.html"), "type": 1},
        {"label": "map.js", "uri": uri(f"{TIDE_MAP}/map.js"), "type": 1},
        {
            "label": "data",
            "uri": uri(f"{TIDE_MAP}/data"),
            "type": 2,
            "children": [{"label": "coast.svg", "uri": uri(f"{TIDE_MAP}/data/coast.svg"), "type": 1}],
        },
    ]
    return request(
        "port-map/2",
        ms("2026-04-16 18:40:21"),
        "Propose a layout for a project with just that map, beside this one.",
        [
            says("Three files are enough. The coast is a drawing, so there are no tiles to download:\n\n"),
            {
                "kind": "treeData",
                "treeData": {"label": "tide-map", "uri": uri(TIDE_MAP), "type": 2, "children": children},
            },
            says("\n`map.js` asks the tide service for the stations and puts a dot for each onto `coast.svg`."),
        ],
        variableData={"variables": [command, wish]},
        agent=ask_mode("0.39.1"),
        modelId="copilot/gpt-4.1",
        modeInfo=builtin_mode("ask"),
        modelState=complete(ms("2026-04-16 18:40:33")),
        timeSpentWaiting=ms("2026-04-16 18:40:21") + 7,
        result={"timings": {"firstProgress": 1420, "totalElapsed": 11020}, "details": "GPT-4.1 • 0x"},
        followups=[],
    )


PAGE_PROMPT = "Write map.js, for Norrvik and Stenudden only"
PAGE = prose("""
    const PORTS = ["Norrvik", "Stenudden"];

    async function drawPorts(map) {
      const stations = await (await fetch("/stations")).json();
      for (const { name, latitude, longitude } of stations.filter((s) => PORTS.includes(s.name))) {
        const [x, y] = project(latitude, longitude);
        map.insertAdjacentHTML("beforeend", `<circle cx="${x}" cy="${y}" r="4"><title>${name}</title></circle>`);
      }
    }
    """)


def _page() -> Json:
    """Said in the workspace of both folders."""
    calls = Calls("port-map/3", ms("2026-04-17 17:55:00"), "call_")
    look = calls.new("read_project_structure", {}, _structure())
    return request(
        "port-map/3",
        ms("2026-04-17 18:02:40"),
        PAGE_PROMPT,
        [
            look.part("copilot_readProjectStructure", "Reading the structure", "Read the structure", resultDetails=[]),
            says("With both folders in one workspace I can see the service and the map:\n\n```javascript\n"),
            {"kind": "codeblockUri", "uri": uri(f"{TIDE_MAP}/map.js"), "isEdit": False},
            says(f"{PAGE}\n```\n\n"),
            says("`project` turns degrees into points of the drawing. It has to wait for the edges of `coast.svg`."),
        ],
        agent=agent_mode("0.39.1"),
        modelId="copilot/auto",
        modeInfo=builtin_mode("agent"),
        modelState=complete(ms("2026-04-17 18:03:01")),
        timeSpentWaiting=ms("2026-04-17 18:02:40") + 13,
        result={
            "timings": {"firstProgress": 2550, "totalElapsed": 20090},
            "details": "GPT-5 mini • 0.9x",
            "metadata": metadata(
                "port-map/3",
                MAP,
                codeBlocks=[{"code": PAGE, "language": "javascript", "resource": uri(f"{TIDE_MAP}/map.js")}],
                globalContextCacheKey=f"file://{TIDES},file://{TIDE_MAP}",
                resolvedModel="gpt-5-mini",
                shouldAutoSwitchToAuto=False,
                **recorded(one_round("port-map/3", ms("2026-04-17 18:02:49"), "", look)),
            ),
        },
        responseMarkdownInfo=[{"suggestionId": f"sgt-{made_up_id('port-map', 'page')}"}],
        followups=[],
    )


def _structure() -> Json:
    """A tree with a text that goes on in a nested piece, and an opaque mark between two texts."""
    mark = {"type": 3, "value": {"cache": True}}
    empty = piece(words(" (empty)"), name="Em")
    listing = piece(words("tide-map/", breaks=True), empty, mark, words("\ntide-tables/"), name="Ls")
    return tree_result(piece(words("The workspace has two folders:"), listing, name="Wk"))
