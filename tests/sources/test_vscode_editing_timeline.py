"""Editing sessions: the timeline of operations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.diagnostics import Ledger
from copilog.model import Conversation, FileChange, TextEdit
from copilog.sources.vscode.editing import editing_from
from copilog.textdiff import apply_edits
from tests.sources.editing_builders import FILE, OTHER, Json, Session, Timeline, steps, whole_requests


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


@pytest.fixture
def timeline() -> Timeline:
    timeline = Timeline()
    timeline.checkpoint("r1")
    return timeline


def changes_of(timeline: Timeline) -> list[FileChange]:
    ledger = Ledger()
    changes = editing_from({"timeline": timeline.as_json()}, lambda _: None, ledger).file_changes
    assert ledger.balances()
    assert ledger.bad == []
    return changes


def as_conversation(changes: list[FileChange]) -> Conversation:
    return Conversation(id="x", source="x", file_changes=changes)


def test_edits_are_replayed_on_the_baseline(session: Session, timeline: Timeline) -> None:
    timeline.baseline("one\ntwo\n")
    timeline.edit(1, "1")
    timeline.edit(2, "2\n3")

    conversation, ledger = session.read_one(
        timeline=timeline.as_json(), initialFileContents=[], recentSnapshot={"entries": [session.entry("now")]}
    )

    (change,) = conversation.file_changes
    assert (change.request_id, change.before, change.after) == ("r1", "one\ntwo\n", "1\n2\n3\n")
    assert (change.added, change.removed, change.action, change.language) == (3, 2, "edit", "plaintext")
    assert (ledger.seen, ledger.used) == (3, 3)


@pytest.mark.parametrize(("current", "undone"), [(1, ["r1", "r2"]), (2, ["r2"]), (3, None), (None, None)])
def test_requests_after_the_current_epoch_are_undone_completely(
    session: Session, timeline: Timeline, current: int | None, undone: list[str] | None
) -> None:
    timeline.checkpoint("r2")
    timeline.checkpoint("r2", "s1")
    timeline.current_epoch = current

    conversations, _ = session.read({"version": 2, "timeline": timeline.as_json()})

    assert [made.extra for made in conversations] == ([{"undoneRequests": undone}] if undone else [])


def test_each_stop_is_a_step(timeline: Timeline) -> None:
    timeline.baseline("one\n")
    timeline.edit(1, "two")
    timeline.checkpoint("r1", "s1")
    timeline.edit(1, "three")
    timeline.edit(1, "four")
    timeline.baseline("b", OTHER)
    timeline.edit(1, "bb", OTHER)

    conversation = as_conversation(changes_of(timeline))

    assert whole_requests(conversation) == [("r1", "one\n", "four\n"), ("r1", "b", "bb")]
    assert steps(conversation) == [("start", "one\n", "two\n"), ("s1", "two\n", "four\n"), ("s1", "b", "bb")]


def test_edits_of_the_user_between_requests_belong_to_no_request(timeline: Timeline) -> None:
    timeline.baseline("one")
    timeline.edit(1, "two")
    timeline.checkpoint("r2")
    timeline.baseline("two, by the user")
    timeline.edit(1, "three")
    timeline.checkpoint("r3")
    timeline.edit(1, "four")

    assert whole_requests(as_conversation(changes_of(timeline))) == [
        ("r1", "one", "two"),
        ("r2", "two, by the user", "three"),
        ("r3", "three", "four"),
    ]


def test_files_are_created_and_deleted(timeline: Timeline) -> None:
    timeline.operation("create", initialContent="one\n", telemetryInfo={})
    timeline.edit(1, "two")
    timeline.checkpoint("r2")
    timeline.operation("delete", finalContent="two, by the user\n")

    created, deleted = changes_of(timeline)

    assert (created.action, created.before, created.after) == ("create", None, "two\n")
    assert created.diff == "--- /dev/null\n+++ b/w/a.txt\n@@ -0,0 +1 @@\n+two\n"
    assert (deleted.action, deleted.before, deleted.after) == ("delete", "two, by the user\n", None)
    assert (deleted.added, deleted.removed) == (0, 1)


def test_a_file_is_renamed(timeline: Timeline) -> None:
    timeline.baseline("one\n")
    timeline.edit(1, "two")
    timeline.checkpoint("r1", "s1")
    timeline.rename(FILE, OTHER)
    timeline.edit(1, "three", OTHER)
    timeline.operation("create", initialContent="another")

    whole, created, first, second, created_in_step = changes_of(timeline)

    assert (whole.uri, whole.old_uri, whole.action) == (OTHER, FILE, "rename")
    assert (whole.before, whole.after) == ("one\n", "three\n")
    assert (whole.diff or "").startswith("--- a/w/a.txt\n+++ b/w/b.txt\n")
    assert (first.uri, first.action, first.after) == (FILE, "edit", "two\n")
    assert (second.uri, second.action, second.before) == (OTHER, "rename", "two\n")
    assert {(it.uri, it.action, it.before) for it in (created, created_in_step)} == {(FILE, "create", None)}


def test_operations_from_the_current_epoch_on_are_undone(timeline: Timeline) -> None:
    timeline.baseline("one")
    timeline.edit(1, "two")
    timeline.checkpoint("r1", "s1")
    timeline.current_epoch = timeline.epoch
    timeline.edit(1, "three")
    timeline.checkpoint("r2")
    timeline.baseline("three")
    timeline.edit(1, "four")

    assert [(it.request_id, it.checkpoint, it.after, it.is_undone) for it in changes_of(timeline)] == [
        ("r1", None, "two", False),
        ("r1", "start", "two", False),
        ("r1", None, "three", True),
        ("r1", "s1", "three", True),
        ("r2", None, "four", True),
    ]


def test_edits_of_an_unrecorded_text_have_no_diff(session: Session, timeline: Timeline) -> None:
    timeline.edit(1, "two")
    timeline.edit(1, "b", OTHER)

    conversation, _ = session.read_one(
        timeline=timeline.as_json(), initialFileContents=[[OTHER, session.store("a")]], recentSnapshot={"entries": []}
    )

    lost, known = conversation.file_changes
    assert (lost.before, lost.after, lost.diff, lost.unapplied) == (
        None,
        None,
        None,
        timeline.operations[:1],
    )
    assert (known.before, known.after) == ("a", "b")


def notebook(*sources: str) -> str:
    cells = [{"cellKind": 2, "language": "python", "source": source, "outputs": []} for source in sources]
    return json.dumps([None, json.dumps({"cells": cells, "metadata": {}})], separators=(",", ":"))


def test_cells_of_a_notebook(timeline: Timeline) -> None:
    book = "file:///w/n.ipynb"
    cell = {"$mid": 1, "scheme": "vscode-notebook-cell", "path": "/w/n.ipynb", "fragment": "W0sZmlsZQ=="}
    new_cell = {"cellKind": 1, "language": "markdown", "source": "# Title", "outputs": []}
    insert = {"editType": 1, "index": 0, "count": 0, "cells": [new_cell]}
    timeline.baseline(notebook("a\nb", "c"), book)
    timeline.operation("notebookEdit", book, cellEdits=[insert, {"editType": 6, "index": 2, "length": 1, "newIdx": 1}])
    timeline.edit(2, "B", cellIndex=2)
    timeline.operations[-1]["uri"] = cell

    (change,) = changes_of(timeline)

    assert (change.uri, change.before) == (book, notebook("a\nb", "c"))
    _, data = json.loads(change.after or "")
    assert [it["source"] for it in json.loads(data)["cells"]] == ["# Title", "c", "a\nB"]
    assert "+# %% [markdown]\n+# Title\n" in (change.diff or "")
    assert "+# %% [python]\n+a\n+B\n" in (change.diff or "")


@pytest.mark.parametrize("index", [7, 0])
def test_edits_of_a_missing_cell_have_no_diff(timeline: Timeline, index: int) -> None:
    timeline.baseline(notebook("a") if index else "no notebook")
    timeline.edit(1, "b", cellIndex=index)

    (change,) = changes_of(timeline)

    assert (change.after, change.diff) == (None, None)
    assert change.unapplied == timeline.operations


def test_malformed_operations_are_bad_with_their_pointer(session: Session, timeline: Timeline) -> None:
    timeline.baseline("one")
    timeline.edit(1, "two")
    good = timeline.operations[0]
    wrong: list[Any] = [
        None,
        {**good, "type": 3},
        {**good, "epoch": "4"},
        {**good, "uri": 4},
        {**good, "requestId": 5},
        {**good, "edits": {}},
        {**good, "edits": [{"text": "x"}]},
        {**good, "cellIndex": "0"},
        {**good, "type": "create"},
        {**good, "type": "rename", "oldUri": good["uri"]},
        {**good, "type": "notebookEdit", "cellEdits": [{"editType": 1}]},
    ]
    timeline.operations = [*wrong, good]
    timeline.checkpoints.append({"epoch": None})
    timeline.baselines.append(["key"])

    conversation, ledger = session.read_one(timeline=timeline.as_json())

    assert [(bad.code, bad.pointer) for bad in ledger.bad] == [
        ("bad-record", f"/timeline/operations/{index}") for index in range(len(wrong))
    ]
    assert [note.pointer for note in ledger.notes] == ["/timeline/checkpoints/2", "/timeline/fileBaselines/1"]
    assert whole_requests(conversation) == [("r1", "one", "two")]


def test_unknown_operations_are_counted_and_stored(session: Session, timeline: Timeline) -> None:
    timeline.operation("chmod", mode=7)

    conversation, ledger = session.read_one(timeline=timeline.as_json())

    assert ledger.unknown == {"operation:chmod": 1}
    assert (ledger.seen, ledger.used) == (1, 1)
    assert conversation.extra == {"unknownOperations": timeline.operations}


@pytest.mark.parametrize("timeline", [3, {}, {"operations": 3, "checkpoints": {}, "fileBaselines": "x"}])
def test_a_timeline_of_the_wrong_shape_is_noted(session: Session, timeline: object) -> None:
    conversations, ledger = session.read({"timeline": timeline})

    assert (conversations, ledger.seen) == ([], 0)
    assert {note.code for note in ledger.notes} == {"bad-part"}


# --- against the reading by definition ---------------------------------------------------------------------------

requests = st.lists(
    st.lists(
        st.one_of(
            st.tuples(st.just("edit"), st.sampled_from([FILE, OTHER]), st.integers(1, 4), st.sampled_from("abc\n")),
            st.just(("stop",)),
        ),
        max_size=6,
    ),
    max_size=4,
)


@given(requests, st.sets(st.tuples(st.integers(0, 3), st.sampled_from([FILE, OTHER]))))
def test_one_pass_equals_a_separate_replay_for_each_text(plan: list[list[Any]], user_edits: set[Any]) -> None:
    timeline = Timeline()
    for number, actions in enumerate(plan):
        timeline.checkpoint(f"r{number}")
        met: set[str] = set()
        for index, action in enumerate(actions):
            if action[0] == "stop":
                timeline.checkpoint(f"r{number}", f"r{number}.{index}")
                continue
            _, uri, line, text = action
            if uri not in met and (number, uri) in user_edits:
                timeline.baseline(f"user\n{number}", uri)
            elif uri not in met:
                timeline.baseline(text_at(timeline, uri, timeline.epoch, f"r{number}") or "first\ntext", uri)
            met.add(uri)
            timeline.edit(line, text, uri)

    for change in changes_of(timeline):
        own = [
            it for it in timeline.operations if (it["requestId"], it["uri"]["path"]) == (change.request_id, change.path)
        ]
        if change.checkpoint is not None:
            own = [it for it in own if stop_of(timeline, it) == change.checkpoint]
        assert change.before == text_at(timeline, change.uri, own[0]["epoch"], change.request_id)
        assert change.after == text_at(timeline, change.uri, own[-1]["epoch"] + 1, change.request_id)


def stop_of(timeline: Timeline, operation: Json) -> str:
    before = [it for it in timeline.checkpoints if it["epoch"] < operation["epoch"]]
    return str(before[-1].get("undoStopId", "start"))


def text_at(timeline: Timeline, uri: str, epoch: int, request: str | None) -> str | None:
    """Return the text of a file at an epoch by definition: from the nearest baseline, all edits up to there."""
    baselines = {(it["requestId"], it["uri"]["external"]): it for _, it in timeline.baselines}
    earlier = [it["requestId"] for it in reversed(timeline.operations) if it["epoch"] < epoch]
    base = next((baselines[id_, uri] for id_ in [request, *earlier] if (id_, uri) in baselines), None)
    if base is None:
        return None
    text = str(base["content"])
    for operation in timeline.operations:
        if operation["uri"]["external"] == uri and base["epoch"] <= operation["epoch"] < epoch:
            (edit,) = operation["edits"]
            line = edit["range"]["startLineNumber"]
            whole_line = TextEdit(start_line=line, start_column=1, end_line=line, end_column=999, text=edit["text"])
            text = apply_edits(text, [whole_line])
    return text
