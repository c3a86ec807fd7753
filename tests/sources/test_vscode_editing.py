"""Editing sessions: the source itself, and the texts beside a state.json."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.diagnostics import Ledger
from copilog.model import FileChange, is_empty, unnamed_files
from copilog.sources.base import Found, Probe
from copilog.sources.roots import Root, StorageFolder
from copilog.sources.vscode.editing import editing_from
from tests.sources.editing_builders import FILE, OTHER, SOURCE, Json, Session, Timeline


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def test_an_editing_session_is_part_of_a_conversation(session: Session) -> None:
    conversation, _ = session.read_one(
        sessionId="inner",
        filesToSkipCreating=["x"],
        initialFileContents=[[FILE, session.store("one")], [OTHER, session.store("b")]],
        recentSnapshot={"entries": [session.entry("two", "one", state=2, telemetryInfo={"requestId": "r1"})]},
    )

    assert (conversation.id, conversation.native_id, conversation.source) == ("vscode:key-1", "key-1", SOURCE.name)
    assert conversation.marks == ["orphan-edits"]
    assert [it.role for it in conversation.provenance] == ["edits"]
    assert conversation.extra == {"filesToSkipCreating": ["x"]}
    first, second = conversation.files
    assert (first.uri, first.initial, first.original, first.current) == (FILE, "one", "one", "two")
    assert (first.decision, first.request_id, first.language) == ("rejected", "r1", "plaintext")
    assert (second.uri, second.initial, second.current, second.decision) == (OTHER, "b", None, None)


def test_a_state_without_history_gives_the_diff_of_its_texts(session: Session) -> None:
    waiting = session.entry("one\ntwo\n", "one\n", telemetryInfo={"requestId": "r1"})
    accepted = session.entry("b\nc\n", uri=OTHER, state=1, telemetryInfo={"requestId": "r2"})
    conversation, ledger = session.read_one(
        initialFileContents=[[FILE, session.store("zero\n")], [OTHER, session.store("b\n")]],
        recentSnapshot={"entries": [waiting, accepted]},
    )

    first, second = conversation.file_changes
    assert (first.uri, first.request_id, first.before, first.after) == (FILE, "r1", "one\n", "one\ntwo\n")
    assert (first.added, first.removed, first.language, first.is_undone) == (1, 0, "plaintext", False)
    assert "+two" in (first.diff or "")
    assert (second.uri, second.request_id, second.added) == (OTHER, None, 1)  # several requests may have made it
    assert ledger.notes == []


def test_a_state_without_history_and_without_difference_gives_no_change(session: Session) -> None:
    same = session.entry("one")
    lost = {**session.entry("two", "one", uri=OTHER), "currentHash": "0123456"}
    rejected = session.entry("mine", "theirs", uri="file:///w/c.txt", state=2)
    gone = session.entry("", "text", uri="file:///w/d.txt", isDeleted=True)
    conversation, _ = session.read_one(recentSnapshot={"entries": [same, lost, rejected, gone]})

    assert [(change.path, change.action, change.is_undone) for change in conversation.file_changes] == [
        ("/w/c.txt", "edit", True),
        ("/w/d.txt", "delete", False),
    ]


def test_texts_that_no_state_names_are_read(session: Session) -> None:
    name = session.store("nobody names me\n")
    session.store("")
    conversation, ledger = session.read_one(initialFileContents=[[FILE, session.store("one")]])

    named, unnamed = conversation.files
    assert (named.uri, named.initial) == (FILE, "one")
    assert (unnamed.uri, unnamed.path, unnamed.current) == (f"contents/{name}", None, "nobody names me\n")
    assert unnamed_files(conversation) == [unnamed]
    assert ledger.diagnostics() == []


def test_texts_beside_a_broken_state_are_read(session: Session) -> None:
    session.store("still here\n")
    [conversation], ledger = session.read('{"version": 2, "initialFile')

    assert [file.current for file in conversation.files] == ["still here\n"]
    assert [bad.code for bad in ledger.bad] == ["bad-json"]


def test_texts_without_a_state_are_a_conversation_of_the_session(session: Session) -> None:
    names = sorted([session.store("first\n"), session.store("second\n")])
    workspace = session.folder.parent.parent
    [found] = SOURCE.locate(StorageFolder(workspace, "workspace", "Code", None))
    assert (found.path.name, found.native_id) == (names[0], "key-1")

    ledger = Ledger(path=str(found.path))
    [conversation] = SOURCE.read(found, ledger)
    assert (conversation.id, conversation.marks) == ("vscode:key-1", ["orphan-edits"])
    assert sorted(file.current or "" for file in conversation.files) == ["first\n", "second\n"]
    assert not is_empty(conversation)
    assert ledger.balances()
    # Files that are read one by one all belong to the session, and the first represents them.
    other = found.path.with_name(names[1])
    assert SOURCE.native_id(Probe(other)) == "key-1"
    assert list(SOURCE.read(Found(other, SOURCE.name, "key-1"), ledger)) == []


def test_a_missing_text_loses_a_diff_and_is_noted_once(session: Session) -> None:
    lost = {**session.entry("two", "one"), "currentHash": "0123456"}
    conversation, ledger = session.read_one(
        linearHistory=[{"requestId": "r1", "stops": [{"entries": [session.entry("one")]}], "postEdit": [lost]}],
        recentSnapshot={"entries": [lost]},
    )

    (change,) = conversation.file_changes
    assert (change.before, change.after, change.diff, change.added) == ("one", None, None, None)
    assert change.extra == {"afterHash": "0123456"}
    assert [note.code for note in ledger.notes] == ["missing-content"]
    assert ledger.used == 3


def test_the_empty_text_needs_no_file(session: Session) -> None:
    conversation, ledger = session.read_one(initialFileContents=[[FILE, "da39a3e"]])

    assert (conversation.files[0].initial, ledger.notes) == ("", [])


def test_a_text_with_another_hash_is_reported(session: Session) -> None:
    name = session.store("one")
    (session.folder / "contents" / name).write_text("changed")

    conversation, ledger = session.read_one(initialFileContents=[[FILE, name]])

    assert conversation.files[0].initial == "changed"
    assert [note.code for note in ledger.notes] == ["content-hash-mismatch"]


@pytest.mark.parametrize("name", ["../../secret", "..", "/etc/passwd", "", "ABCDEF0", "abc/def", "0123456\n"])
def test_a_hash_never_leads_out_of_the_folder(session: Session, name: str) -> None:
    (session.folder.parent / "secret").write_text("secret")

    conversation, ledger = session.read_one(initialFileContents=[[FILE, name]])

    assert conversation.files[0].initial is None
    assert [note.code for note in ledger.notes] == ["missing-content"]


def test_a_link_is_not_followed(session: Session) -> None:
    (session.folder / "secret").write_text("secret")
    (session.folder / "contents" / "0123456").symlink_to(session.folder / "secret")

    conversation, ledger = session.read_one(initialFileContents=[[FILE, "0123456"]])

    assert conversation.files[0].initial is None
    assert [note.code for note in ledger.notes] == ["missing-content"]


@pytest.mark.parametrize(
    "state",
    [
        {"version": 2, "initialFileContents": [], "recentSnapshot": {"entries": []}},
        {"version": 2, "linearHistory": [{"stops": [{"entries": []}]}], "recentSnapshot": {"entries": []}},
    ],
)
def test_an_empty_editing_session_is_not_a_conversation(session: Session, state: dict[str, Any]) -> None:
    conversations, ledger = session.read(state)

    assert conversations == []
    assert ledger.ignored == {"empty": ledger.seen}


@pytest.mark.parametrize(("text", "code"), [('{"version": 2, "linear', "bad-json"), ("[1]", "bad-record")])
def test_a_document_that_is_not_a_state_is_one_bad_record(session: Session, text: str, code: str) -> None:
    conversations, ledger = session.read(text)

    assert conversations == []
    assert [bad.code for bad in ledger.bad] == [code]


def test_a_content_file_alone_is_only_checked(session: Session) -> None:
    good = session.folder / "contents" / session.store("one")
    wrong = good.with_name("0123456")
    wrong.write_text("two")
    ledgers = [Ledger(path=str(path)) for path in (good, wrong)]

    for path, ledger in zip((good, wrong), ledgers, strict=True):
        assert list(SOURCE.read(Found(path, SOURCE.name), ledger)) == []

    assert [(ledger.seen, ledger.used) for ledger in ledgers] == [(1, 1), (1, 1)]
    assert [[note.code for note in ledger.notes] for ledger in ledgers] == [[], ["content-hash-mismatch"]]


def test_editing_sessions_are_located_and_claimed(session: Session, tmp_path: Path) -> None:
    session.read({"version": 2})
    content = session.folder / "contents" / session.store("one")
    (session.folder.parent / "key-0").mkdir()
    (session.folder.parent / "key-0" / "state.json").write_text("{}")
    (session.folder.parent / "no-state").mkdir()
    taken_out = tmp_path / "state.json"
    taken_out.write_text('{"version": 2, "timeline": {}, "sessionId": "inner"}')
    foreign = tmp_path / "other.json"
    foreign.write_text('{"timeline": []}')
    root = Root("vscode-workspace", tmp_path, "Code", "test", True)

    found = list(SOURCE.locate(StorageFolder(tmp_path, "workspace", "Code", root)))

    assert [(it.native_id, it.application, it.path.name) for it in found] == [
        ("key-0", "Code", "state.json"),
        ("key-1", "Code", "state.json"),
    ]
    claimed = [SOURCE.claims(Probe(path)) for path in (found[0].path, content, taken_out, foreign)]
    assert claimed == [True, True, True, False]


def test_a_state_moved_out_of_its_folder_is_read(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"sessionId": "inner", "initialFileContents": [[FILE, "da39a3e"]]}))

    (conversation,) = SOURCE.read(Found(path, SOURCE.name), Ledger(path=str(path)))

    assert conversation.id == "vscode:inner"


JUNK: list[Any] = [None, True, -1, 10**30, 1.5, "", "x", FILE, [], {}, [[]], [{}], {"a": 1}, ["a", "b"]]


@given(st.data())
def test_damaged_values_of_a_state_never_crash(data: st.DataObject) -> None:
    state: Any = sample_state()
    for _ in range(data.draw(st.integers(1, 4))):
        at, key = state, data.draw(st.sampled_from(sorted(state)))
        while isinstance(at[key], dict | list) and at[key] and data.draw(st.booleans()):
            at = at[key]
            key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
        at[key] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))
    ledger = Ledger()

    editing_from(state, {"aaaa": "a", "bbbb": "b"}.get, ledger)

    assert ledger.balances()


def sample_state() -> Json:
    """Make a state with every kind of content."""
    timeline = Timeline()
    timeline.checkpoint("r1")
    timeline.baseline("one\ntwo")
    timeline.edit(1, "x")
    timeline.checkpoint("r1", "s1")
    timeline.rename(FILE, OTHER)
    timeline.operation("create", initialContent="new")
    timeline.operation("delete", OTHER, finalContent="x\ntwo")
    timeline.operation("notebookEdit", cellEdits=[{"editType": 1, "index": 0, "count": 0, "cells": [{"source": ""}]}])
    snapshot = {"entries": [{"resource": FILE, "originalHash": "aaaa", "currentHash": "bbbb", "state": 0}]}
    stops = [{"entries": []}, {"stopId": "s2", **snapshot}]
    history = [{"requestId": "r2", **snapshot}, {"requestId": "r3", "stops": stops, "postEdit": snapshot["entries"]}]
    return {
        "timeline": timeline.as_json(),
        "linearHistory": copy.deepcopy(history),
        "linearHistoryIndex": 2,
        "initialFileContents": [[FILE, "aaaa"]],
        "recentSnapshot": copy.deepcopy(snapshot),
        "pendingSnapshot": copy.deepcopy(snapshot),
    }


@pytest.mark.corpus
def test_all_real_states_can_be_read() -> None:
    corpus = os.environ.get("COPILOG_CORPUS")
    if not corpus:
        pytest.skip("COPILOG_CORPUS is not set")
    paths = sorted(Path(corpus).glob("homes/*/Code/User/workspaceStorage/*/chatEditingSessions/*/state.json"))
    assert paths

    for path in paths:
        ledger = Ledger(path=str(path))
        assert SOURCE.claims(Probe(path))
        for conversation in SOURCE.read(Found(path, SOURCE.name), ledger):
            assert conversation.file_changes or conversation.files
            assert all(_is_sound(change) for change in conversation.file_changes)
        assert ledger.balances()
        assert ledger.bad == []


def _is_sound(change: FileChange) -> bool:
    return (change.diff is None) == (change.added is None) and change.path is not None
