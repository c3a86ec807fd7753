"""A notebook with the constituents of the tide: cells made, moved and changed."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from tests.sample_calls import (
    Calls,
    metadata,
    one_round,
    piece,
    recorded,
    rendered,
    tag,
    text_result,
    today,
    tree_result,
    words,
)
from tests.sample_editing import Timeline, entry
from tests.sample_forms import File, Json, answer, encoded, made_up_id, ms, picture, prose, says, span, uri
from tests.sample_home import (
    SONNET,
    TIDES,
    TIDES_STORAGE,
    Home,
    agent_mode,
    builtin_mode,
    complete,
    request,
)
from tests.sample_log import draft, log_of

KEY = "constituents"
SESSION = made_up_id(KEY)
NOTEBOOK = f"{TIDES}/analysis/constituents.ipynb"
MODEL = "copilot/claude-sonnet-4.5"
STOP = made_up_id(KEY, "stop")
JUPYTER = {
    "type": "extension",
    "label": "Jupyter",
    "extensionId": {"value": "ms-toolsai.jupyter", "_lower": "ms-toolsai.jupyter"},
}
# How VS Code marks bytes inside the JSON of a notebook.
BYTES_MARK = "ArrayBuffer-4f56482b-5a03-49ba-8356-210d3b0c1c3d"

BARS = picture(
    """
    ................
    .b..............
    .b..............
    .b..............
    .b..............
    .b..............
    .b..b...........
    .b..b...........
    .b..b...........
    .b..b..b........
    .b..b..b..b.....
    .b..b..b..b.....
    .b..b..b..b..b..
    .kkkkkkkkkkkkkk.
    ................
    ................
    """,
    {".": (255, 255, 255), "k": (60, 60, 60), "b": (30, 120, 140)},
)

LOAD = 'import pandas as pd\n\nlevels = pd.read_csv("norrvik.csv", index_col="time", parse_dates=True)["level"]\n'
FIT = prose("""
    import numpy as np

    PERIODS = {"M2": 12.4206, "S2": 12.0, "N2": 12.6583, "K1": 23.9345, "O1": 25.8193}  # hours

    hours = (levels.index - levels.index[0]).total_seconds() / 3600
    waves = [wave(2 * np.pi * hours / period) for period in PERIODS.values() for wave in (np.cos, np.sin)]
    parts, *_ = np.linalg.lstsq(np.column_stack([*waves, np.ones(len(hours))]), levels, rcond=None)
    amplitudes = {name: float(np.hypot(*parts[2 * n : 2 * n + 2])) for n, name in enumerate(PERIODS)}
    """)
PLOT = 'pd.Series(amplitudes).plot.bar(ylabel="metres")'


def put(home: Home) -> None:
    session = constituents()
    home.log(TIDES_STORAGE, session, log_of(session))
    home.index(TIDES_STORAGE, session)
    home.editing(TIDES_STORAGE, SESSION, *editing())


def constituents() -> Json:
    return {
        "version": 3,
        "creationDate": ms("2026-04-23 19:05:00"),
        "customTitle": "Plot the tidal constituents",
        "initialLocation": "panel",
        "responderUsername": "GitHub Copilot",
        "sessionId": SESSION,
        "hasPendingEdits": True,
        "requests": [_plot(), _which_moon()],
        "pendingRequests": [],
        "inputState": draft(model=SONNET),
    }


def cell(source: str, kind: int = 2, outputs: list[Json] | None = None) -> Json:
    language = "python" if kind == 2 else "markdown"
    return {"source": source, "language": language, "cellKind": kind, "outputs": outputs or [], "metadata": {}}


def stored(*cells: Json) -> str:
    """A notebook as an editing session keeps it."""
    return encoded([None, encoded({"cells": list(cells), "metadata": {"language_info": {"name": "python"}}})])


def _picture_output() -> Json:
    data = {"type": BYTES_MARK, "data": b64encode(BARS).decode()}
    return {"outputId": made_up_id(KEY, "output"), "outputs": [{"mime": "image/png", "data": data}]}


# --- the turns --------------------------------------------------------------------------------------------------

PROMPT = "Add a cell that fits the five largest constituents, and plot them. The first cell complains about the path."


def _plot() -> Json:
    calls = Calls(KEY, ms("2026-04-23 19:00:00"))
    insert = calls.new(
        "edit_notebook_file", {"filePath": NOTEBOOK, "editType": "insert"}, text_result("Inserted a cell.")
    )
    run = calls.new("run_notebook_cell", {"filePath": NOTEBOOK, "cellId": "#VSC-2"}, _ran())
    text = answer("""
        The fit takes a tenth of a second. **M2**, the moon's half-daily wave, is by far the largest with 38 cm; the
        sun's **S2** follows with 17 cm. That is why the range at spring tide is some two and a half times that at neap.
        """)
    rounds = recorded(
        one_round(KEY, ms("2026-04-23 19:06:40"), "", insert),
        one_round(KEY, ms("2026-04-23 19:07:05"), "", run),
        one_round(KEY, ms("2026-04-23 19:07:31"), text),
    )
    output = [{"type": "embed", "isText": False, "value": b64encode(BARS).decode(), "mimeType": "image/png"}]
    return request(
        f"{KEY}/1",
        ms("2026-04-23 19:06:12"),
        PROMPT,
        [
            insert.part("copilot_editNotebook", "Editing the notebook", presentation="hidden"),
            {"kind": "undoStop", "id": STOP},
            {"kind": "codeblockUri", "uri": uri(NOTEBOOK, is_cached=True), "isEdit": True},
            {"kind": "notebookEditGroup", "uri": uri(NOTEBOOK), "edits": _cell_edits(), "done": True},
            run.part(
                "run_notebook_cell",
                "Running a cell",
                "Ran a cell",
                source=JUPYTER,
                resultDetails={"input": '{"cell": 2}', "output": output},
            ),
            says(text),
        ],
        variableData={"variables": _attached()},
        agent=agent_mode("0.40.0"),
        modelId=MODEL,
        modeInfo=builtin_mode("agent"),
        modelState=complete(ms("2026-04-23 19:07:35")),
        timeSpentWaiting=ms("2026-04-23 19:06:12") + 15,
        result={
            "timings": {"firstProgress": 2610, "totalElapsed": 83020},
            "details": "Claude Sonnet 4.5 • 1x",
            "metadata": metadata(
                f"{KEY}/1",
                SESSION,
                renderedUserMessage=rendered(
                    tag("notebookInstructions", "Cells have ids; never print them."),
                    tag(
                        "attachments",
                        tag("error", "No such file: norrvik.csv", path=NOTEBOOK, line=3, severity="error"),
                    ),
                    today("April 23, 2026"),
                    tag("editorContext", "The user's current notebook is constituents.ipynb."),
                    tag("userRequest", PROMPT),
                ),
                **rounds,
            ),
        },
        followups=[],
    )


def _ran() -> Json:
    """A result with a picture in its tree."""
    image = piece(
        ctor=3, name="Im", props={"src": f"data:image/png;base64,{b64encode(BARS).decode()}", "detail": "low"}
    )
    return tree_result(piece(words(tag("cell-output", "<Axes: ylabel='metres'>")), image, name="Co"))


def _attached() -> list[Json]:
    about: Json = {"owner": "Pylance", "problemMessage": "No such file: norrvik.csv"}
    about |= {"filterUri": uri(NOTEBOOK), "filterSeverity": 8, "filterRange": span(3, 1, 3, 80)}
    return [
        {
            "kind": "notebookOutput",
            "id": "output-0",
            "name": "constituents.ipynb cell 1 output 0",
            "value": {"$base64": b64encode(BARS).decode()},
            "mimeType": "image/png",
            "outputIndex": 0,
        },
        {"kind": "diagnostic", "id": "problem-1", "name": "No such file", "value": about, **about},
    ]


def _cell_edits() -> list[list[Json]]:
    """One of each kind of edit that a notebook knows."""
    first = uri(NOTEBOOK, "vscode-notebook-cell", fragment="W0sZmlsZQ==")
    fixed = {"text": "../data/norrvik.csv", "range": span(3, 23, 3, 34)}
    return [
        [{"uri": first, "edit": fixed}],
        [{"editType": 1, "index": 1, "count": 0, "cells": [cell(FIT), cell("## Constituents", 1), cell(PLOT)]}],
        [{"editType": 6, "index": 2, "length": 1, "newIdx": 0}],
        [{"editType": 4, "index": 1, "language": "python"}, {"editType": 3, "index": 1, "metadata": {"id": "#VSC-1"}}],
        [{"editType": 5, "metadata": {"language_info": {"name": "python"}}}],
        [{"editType": 8, "index": 2, "metadata": {"tags": ["fit"]}}],
        [{"editType": 9, "index": 2, "internalMetadata": {"executionOrder": 2}}],
        [{"editType": 2, "index": 3, "outputs": [], "append": False}],
        [{"editType": 7, "outputId": made_up_id(KEY, "output"), "items": [], "append": True}],
    ]


def _which_moon() -> Json:
    return request(
        f"{KEY}/2",
        ms("2026-04-23 19:15:20"),
        "And what does N2 stand for?",
        [
            says(
                "The moon's distance. Its orbit is an ellipse, so its pull grows and fades each month, and N2 shows it "
            ),
            says("in the tide. When N2 and M2 are in step, near perigee, the spring tides are the highest of all."),
        ],
        agent=agent_mode("0.40.0"),
        modelId=MODEL,
        modeInfo=builtin_mode("agent"),
        modelState=complete(ms("2026-04-23 19:15:29")),
        timeSpentWaiting=ms("2026-04-23 19:15:20") + 8,
        result={"timings": {"firstProgress": 1750, "totalElapsed": 8400}, "details": "Claude Sonnet 4.5 • 1x"},
        followups=[],
    )


def editing() -> tuple[Json, list[str]]:
    """The timeline of a notebook: cells edited, put in and moved."""
    view: dict[str, Any] = {"notebookViewType": "jupyter-notebook"}
    fixed = LOAD.replace("norrvik.csv", "../data/norrvik.csv")
    before, after = (
        stored(cell(LOAD)),
        stored(cell("## Constituents", 1), cell(fixed), cell(FIT), cell(PLOT, outputs=[_picture_output()])),
    )
    notebook = File(NOTEBOOK, before)
    inserted = [cell(FIT), cell("## Constituents", 1), cell(PLOT, outputs=[_picture_output()])]
    timeline = Timeline(KEY)
    timeline.begin(f"{KEY}/1")
    timeline.stop(STOP)
    timeline.baseline(notebook, **view)
    timeline.operation(
        "textEdit", notebook, edits=[{"text": "../data/norrvik.csv", "range": span(3, 23, 3, 34)}], cellIndex=0
    )
    timeline.operation("notebookEdit", notebook, cellEdits=[{"editType": 1, "index": 1, "count": 0, "cells": inserted}])
    timeline.operation("notebookEdit", notebook, cellEdits=[{"editType": 6, "index": 2, "length": 1, "newIdx": 0}])
    timeline.operation("notebookEdit", notebook, cellEdits=[{"editType": 4, "index": 1, "language": "python"}])
    timeline.begin(f"{KEY}/2")
    return timeline.state([entry(NOTEBOOK, "jupyter", before, after, by=f"{KEY}/1")], [(NOTEBOOK, before)]), [
        before,
        after,
    ]
