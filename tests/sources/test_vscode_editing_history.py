"""Editing sessions: the older histories of snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from copilog.sources.vscode.editing_history import CLOSING_STOP
from tests.sources.editing_builders import FILE, OTHER, Session, steps, whole_requests


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def test_version_one_compares_the_snapshots_of_two_requests(session: Session) -> None:
    conversation, ledger = session.read_one(
        version=1,
        sessionId="inner",
        linearHistory=[
            {"requestId": "r1", "workingSet": [], "entries": []},
            {"requestId": "r2", "workingSet": [], "entries": [session.entry("two\n", "one\n")]},
        ],
        linearHistoryIndex=2,
        initialFileContents=[[FILE, session.store("one\n")]],
        recentSnapshot={"workingSet": [], "entries": [session.entry("three\n", "one\n", state=1)]},
    )

    assert whole_requests(conversation) == [("r1", "one\n", "two\n"), ("r2", "two\n", "three\n")]
    assert steps(conversation) == []
    change = conversation.file_changes[0]
    assert (change.uri, change.path, change.action, change.language) == (FILE, "/w/a.txt", "edit", "plaintext")
    assert (change.added, change.removed) == (1, 1)
    assert change.diff == "--- a/w/a.txt\n+++ b/w/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
    assert (ledger.seen, ledger.used) == (3, 3)


def v2_history(session: Session) -> dict[str, Any]:
    """Make a request of two steps, the second of which touches another file; then a request of one step."""
    return {
        "linearHistory": [
            {
                "requestId": "r1",
                "stops": [
                    {"entries": [session.entry("one")]},
                    {"stopId": "s1", "entries": [session.entry("two", "one"), session.entry("b", uri=OTHER)]},
                ],
                "postEdit": [session.entry("bb", "b", uri=OTHER)],
            },
            {
                "requestId": "r2",
                "stops": [{"entries": [session.entry("by the user"), session.entry("bb", uri=OTHER)]}],
                "postEdit": [session.entry("three", "by the user")],
            },
        ],
        "linearHistoryIndex": 3,
        "initialFileContents": [[FILE, session.store("one")], [OTHER, session.store("b")]],
        "recentSnapshot": {"entries": [session.entry("three", state=1), session.entry("bb", uri=OTHER, state=1)]},
    }


def test_version_two_has_steps_within_requests(session: Session) -> None:
    conversation, ledger = session.read_one(**v2_history(session))

    assert whole_requests(conversation) == [("r1", "one", "two"), ("r1", "b", "bb"), ("r2", "by the user", "three")]
    assert steps(conversation) == [("start", "one", "two"), ("s1", "b", "bb")]
    assert not any(change.is_undone for change in conversation.file_changes)
    assert [state.decision for state in conversation.files] == ["accepted", "accepted"]
    assert (ledger.seen, ledger.used) == (6, 6)


@pytest.mark.parametrize(
    ("index", "undone"),
    [(2, [("r2", None)]), (1, [("r1", None), ("r1", "s1"), ("r2", None)]), (3, []), (99, []), ("x", [])],
)
def test_steps_after_the_index_are_undone(
    session: Session, index: object, undone: list[tuple[str, str | None]]
) -> None:
    conversation, _ = session.read_one(**{**v2_history(session), "linearHistoryIndex": index})

    assert [(it.request_id, it.checkpoint) for it in conversation.file_changes if it.is_undone] == undone


def test_a_partly_undone_request_has_two_changes(session: Session) -> None:
    stops = [
        {"entries": [session.entry("one")]},
        {"stopId": "s1", "entries": [session.entry("two", "one")]},
        {"stopId": CLOSING_STOP, "entries": [session.entry("three", "one")]},
    ]
    conversation, _ = session.read_one(
        linearHistory=[{"requestId": "r1", "stops": stops}],
        linearHistoryIndex=2,  # VS Code is at s1, so what came after it is undone
        recentSnapshot={"entries": [session.entry("two", "one")]},
    )

    assert whole_requests(conversation) == [("r1", "one", "two"), ("r1", "two", "three")]
    assert [it.is_undone for it in conversation.file_changes] == [False, True, False, True]


def test_the_pending_snapshot_is_the_end_of_an_undone_history(session: Session) -> None:
    history: dict[str, Any] = {
        "linearHistory": [{"requestId": "r1", "stops": [{"entries": [session.entry("one")]}]}],
        "pendingSnapshot": {"entries": [session.entry("two", "one")]},
        "recentSnapshot": {"entries": [session.entry("one")]},
    }

    undone, _ = session.read_one(**history, linearHistoryIndex=0)
    redone, _ = session.read_one(**history, linearHistoryIndex=1)

    assert whole_requests(undone) == [("r1", "one", "two")]
    assert undone.file_changes[0].is_undone
    assert redone.file_changes == []
    assert redone.extra == {"pendingSnapshot": history["pendingSnapshot"]}


def test_a_pending_snapshot_without_a_history_still_gives_the_diff(session: Session) -> None:
    conversation, _ = session.read_one(
        linearHistory=[],
        linearHistoryIndex=0,
        pendingSnapshot={"entries": [session.entry("two\n", "one\n")]},
        recentSnapshot={"entries": []},
    )

    [change] = conversation.file_changes
    assert change.diff == "--- a/w/a.txt\n+++ b/w/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
    assert [file.uri for file in conversation.files] == [FILE]


def test_both_versions_in_one_history(session: Session) -> None:
    conversation, ledger = session.read_one(
        linearHistory=[
            {"requestId": "r1", "workingSet": [], "entries": []},
            {"requestId": "r2", "stops": [{"entries": [session.entry("two", "one")]}]},
            {"requestId": "r3", "stops": []},
        ],
        linearHistoryIndex=2,
        initialFileContents=[[FILE, session.store("one")]],
        recentSnapshot={"entries": [session.entry("three", "one", telemetryInfo={"requestId": "r2"})]},
    )

    assert whole_requests(conversation) == [("r1", "one", "two")]
    assert ledger.seen == 3


def test_a_file_edited_last_by_another_request_is_not_attributed(session: Session) -> None:
    edited_by_user = session.entry("by the user", telemetryInfo={"requestId": "r0"})
    conversation, _ = session.read_one(
        linearHistory=[
            {"requestId": "r1", "stops": [{"entries": [session.entry("one")]}]},
            {"requestId": "r2", "stops": [{"entries": [edited_by_user]}]},
        ],
        linearHistoryIndex=2,
        recentSnapshot={"entries": [session.entry("two", telemetryInfo={"requestId": "r2"})]},
    )

    assert whole_requests(conversation) == [("r2", "by the user", "two")]


def test_a_deleted_file(session: Session) -> None:
    conversation, _ = session.read_one(
        linearHistory=[
            {
                "requestId": "r1",
                "stops": [{"entries": [session.entry("one")]}],
                "postEdit": [session.entry("", "one", isDeleted=True)],
            }
        ],
        recentSnapshot={"entries": [session.entry("", "one", isDeleted=True)]},
    )

    (change,) = conversation.file_changes
    assert (change.action, change.before, change.after) == ("delete", "one", None)
    assert conversation.files[0].is_deleted


def test_malformed_snapshots_are_bad_with_their_pointer(session: Session) -> None:
    good_entry = session.entry("one")
    conversation, ledger = session.read_one(
        linearHistory=[
            7,
            {"requestId": "r1"},
            {"requestId": "r2", "stops": [None, {"entries": [good_entry, 5, {"resource": 3}]}], "postEdit": 1},
        ],
        linearHistoryIndex=4,
        initialFileContents=[[FILE, session.store("one")], [FILE], 3],
        recentSnapshot={"entries": "none"},
        pendingSnapshot=[],
    )

    assert [(bad.code, bad.pointer) for bad in ledger.bad] == [
        ("bad-record", "/recentSnapshot"),
        ("bad-record", "/linearHistory/0"),
        ("bad-record", "/linearHistory/1"),
        ("bad-record", "/linearHistory/2/stops/0"),
        ("bad-record", "/linearHistory/2/postEdit"),
    ]
    assert [note.pointer for note in ledger.notes] == [
        "/initialFileContents/1",
        "/initialFileContents/2",
        "/linearHistory/2/stops/1/entries/1",
        "/linearHistory/2/stops/1/entries/2",
    ]
    assert (ledger.seen, ledger.used) == (7, 2)
    assert len(conversation.files) == 1
