"""Rewind snapshots: prompts that may have been taken back, and files as they were before."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.sources.base import Found, Probe
from copilog.sources.cli.rewind_snapshots import RewindSnapshots
from copilog.sources.roots import StorageFolder
from tests.sources.extension_builders import (
    DATA,
    codes,
    lost_texts,
    prose_by_role,
    read,
    read_one,
    read_or_refuse,
    spoiled,
    with_other_values,
    write_json,
)

SOURCE = RewindSnapshots()
HOME = DATA / "rewind_snapshots"
SESSION = "5a3e0c11-0000-4000-8000-000000000001"
INDEX = HOME / "session-state" / SESSION / "rewind-snapshots" / "index.json"

Json = dict[str, Any]


def snapshots(folder: Path, *items: Any, **fields: Any) -> Path:
    path = folder / "session-state" / "s1" / "rewind-snapshots" / "index.json"
    return write_json(path, {"version": 1, "snapshots": list(items), "filePathMap": {}, **fields})


def test_each_session_of_the_cli_may_have_snapshots() -> None:
    found = list(SOURCE.locate(StorageFolder(HOME, "copilot-home", None, None)))

    assert [(trace.path, trace.native_id) for trace in found] == [
        (INDEX, SESSION),
        (HOME / "session-state" / "user-7-task-3" / "rewind-snapshots" / "index.json", "user-7-task-3"),
    ]


def test_the_index_and_its_backups_are_claimed(tmp_path: Path) -> None:
    backups = sorted((INDEX.parent / "backups").iterdir())
    elsewhere = write_json(tmp_path / "copy.json", {"version": 1, "snapshots": [], "filePathMap": {}})
    other = write_json(tmp_path / "index.json", {"snapshots": []})

    assert [SOURCE.claims(Probe(path)) for path in (INDEX, *backups, elsewhere, other)] == [True] * 5 + [False]
    assert [SOURCE.native_id(Probe(path)) for path in (INDEX, backups[0])] == [SESSION, None]


def test_prompts_of_turns_are_stored_with_the_id_of_their_event() -> None:
    conversation, ledger = read_one(SOURCE, INDEX)

    assert (conversation.id, conversation.marks) == (f"cli:{SESSION}", ["rewind"])
    assert prose_by_role(conversation) == [("user", "Round the gauge"), ("user", "Make it millimetres")]
    assert [turn.request_id for turn in conversation.turns] == ["e-1", "e-9", None]
    assert conversation.turns[0].timing.started_at == datetime(2026, 7, 1, 8, 0, 5, tzinfo=UTC)
    assert conversation.turns[1].extra is not None
    assert conversation.turns[1].extra["gitCommit"] == "a1b2c3d4"
    assert (ledger.seen, ledger.used) == (3, 3)


def test_files_have_their_text_from_before_the_first_edit() -> None:
    conversation, ledger = read_one(SOURCE, INDEX)

    gauge, note = conversation.files
    assert (gauge.path, gauge.uri) == ("/home/ana/tides/gauge.py", "file:///home/ana/tides/gauge.py")
    assert gauge.initial == "def level(metres):\n    return round(metres + 0.5)\n"
    assert gauge.request_id is None
    assert [version["snapshotId"] for version in (gauge.extra or {})["versions"]] == ["snap-1", "snap-2"]
    assert (note.uri, note.initial) == ("file:///C:/Users/Ana/tides/note.txt", "feet no more\n")
    assert codes(ledger) == []


def newer(folder: Path, *items: Any) -> Path:
    path = folder / "session-state" / "s2" / "rewind-file-snapshots" / "index.json"
    return write_json(path, {"schema": 1, "snapshots": list(items)})


def test_newer_snapshots_have_files_before_their_turn(tmp_path: Path) -> None:
    backup = "ab" * 32
    wick = {"path": "/home/ana/wick.txt", "preimage": {"kind": "content", "backupFile": backup, "size": 7}}
    oil = {"path": "/home/ana/oil.txt", "preimage": {"kind": "absent"}, "postimage": {"kind": "content"}}
    snapshot = {"snapshotId": "s", "eventId": "e-4", "userMessage": "Trim it", "timestamp": "2026-11-02T08:00:09.000Z"}
    path = newer(tmp_path, {**snapshot, "files": {"k1": wick, "k2": oil}, "backupFiles": [backup]})
    (path.parent / "backups").mkdir()
    (path.parent / "backups" / backup).write_text("cotton\n", encoding="utf-8")

    conversation, ledger = read_one(SOURCE, path)

    assert [(file.path, file.initial) for file in conversation.files] == [
        ("/home/ana/wick.txt", "cotton\n"),
        ("/home/ana/oil.txt", None),
    ]
    assert (prose_by_role(conversation), conversation.turns[0].request_id) == ([("user", "Trim it")], "e-4")
    assert conversation.turns[0].timing.started_at is None  # the time is that of the end
    assert conversation.messages[0].created_at == datetime(2026, 11, 2, 8, 0, 9, tzinfo=UTC)
    assert codes(ledger) == []


def test_newer_snapshots_and_their_backups_are_recognised_by_name(tmp_path: Path) -> None:
    path = newer(tmp_path, {"snapshotId": "s", "userMessage": "Trim it"})
    switch = write_json(path.parent / "tracking.json", {"schema": 1, "tracking": True})
    backup = path.parent / "backups" / ("0f" * 32)
    backup.parent.mkdir()
    backup.write_text("cotton", encoding="utf-8")
    cut_off = write_json(path.parent / "index.json.tmp.7a6d40f0-3ad1-449d-9dd4-f2da3a9f5fa2", {})
    located = SOURCE.locate(StorageFolder(tmp_path, "copilot-home", None, None))

    assert [SOURCE.claims(Probe(file)) for file in (path, switch, backup, cut_off)] == [True] * 4
    assert [(trace.path, trace.native_id) for trace in located] == [(path, "s2")]
    for file in (switch, cut_off):
        conversations, ledger = read(SOURCE, file)
        assert (conversations, ledger.ignored) == ([], {"program-state": 1})


def test_an_index_that_was_written_but_never_renamed_is_read(tmp_path: Path) -> None:
    path = newer(tmp_path, {"snapshotId": "s", "userMessage": "Trim it"})
    left = path.rename(path.with_name("index.json.tmp.7a6d40f0-3ad1-449d-9dd4-f2da3a9f5fa2"))
    conversation, ledger = read_one(SOURCE, left)

    assert (prose_by_role(conversation), codes(ledger)) == ([("user", "Trim it")], [])

    left.write_bytes(left.read_bytes()[:-9])
    conversations, ledger = read(SOURCE, left)
    assert (conversations, ledger.ignored) == ([], {"program-state": 1})


def test_a_missing_backup_is_reported(tmp_path: Path) -> None:
    files = {"k": {"backupFile": "00000000000000aa-1782893000000"}}
    path = snapshots(tmp_path, {"snapshotId": "x", "files": files}, filePathMap={"k": "src/a.py"})

    conversation, ledger = read_one(SOURCE, path)

    [state] = conversation.files
    assert (state.uri, state.initial, codes(ledger)) == ("src/a.py", None, ["missing-content"])


def test_nothing_that_an_index_says_is_lost() -> None:
    index = json.loads(INDEX.read_text(encoding="utf-8"))
    times = [snapshot["timestamp"] for snapshot in index["snapshots"]]

    assert lost_texts(index, read(SOURCE, INDEX)[0], *times) == []


def test_a_backup_file_alone_is_only_counted() -> None:
    conversations, ledger = read(SOURCE, INDEX.parent / "backups" / "020b3599498fcc01-1782893000000")

    assert (conversations, ledger.seen, ledger.used) == ([], 1, 1)


def test_an_index_without_snapshots_yields_nothing(tmp_path: Path) -> None:
    conversations, ledger = read(SOURCE, snapshots(tmp_path))

    assert (conversations, ledger.seen, codes(ledger)) == ([], 0, [])


def test_a_backup_name_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    files = {"k": {"backupFile": "../../../../secret"}}
    path = snapshots(tmp_path, {"snapshotId": "x", "files": files})
    (path.parent / "backups").mkdir()
    link = path.parent / "backups" / "00000000000000ff-1782893000000"
    link.symlink_to(tmp_path / "secret")

    conversation, ledger = read_one(SOURCE, path)
    assert (conversation.files[0].initial, codes(ledger)) == (None, ["missing-content"])

    files["k"]["backupFile"] = link.name
    assert read_one(SOURCE, snapshots(tmp_path, {"files": files}))[0].files[0].initial is None


def test_an_invalid_snapshot_is_one_bad_record(tmp_path: Path) -> None:
    path = snapshots(tmp_path, {"userMessage": "hi"}, 7)

    conversation, ledger = read_one(SOURCE, path)

    assert prose_by_role(conversation) == [("user", "hi")]
    assert [bad.pointer for bad in ledger.bad] == ["/snapshots/1"]


@given(data=st.data())
def test_a_damaged_index_is_read_or_refused(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / "damaged-rewind" / "session-state" / SESSION
    if not folder.exists():
        shutil.copytree(INDEX.parent.parent, folder)
    path = folder / "rewind-snapshots" / "index.json"
    spoil = data.draw(st.sampled_from([spoiled, with_other_values]))
    path.write_bytes(data.draw(spoil(INDEX.read_bytes())))

    read_or_refuse(SOURCE, path)


@pytest.mark.corpus
def test_real_snapshots_balance(corpus: Path) -> None:
    for path in corpus.rglob("rewind-snapshots/index.json"):
        _, ledger = read(SOURCE, Found(path, SOURCE.name, path.parent.parent.name))
        assert ledger.bad == []
