"""Each kind of loss, made in a home of which everything else is shown, is found with its cause."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from copilog.recover.causes import CAUSES
from tests.cli.homes import Outcome, entry, move_in, run, session
from tests.recover.lost_homes import INDEX, LostHome, healthy, log_bytes, put_cli_session, storage_id

TIDES = "tides"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LostHome:
    made = healthy(tmp_path)
    move_in(monkeypatch, tmp_path, made)
    return made


def storage_of(home: LostHome, name: str = TIDES) -> Path:
    return home.user / "workspaceStorage" / storage_id(home.project(name))


def found(*options: str) -> dict[str, dict[str, Any]]:
    """Return the losses by the native ids of their conversations."""
    outcome = run("recover", "--json", *options)
    assert outcome.code == 0, outcome.err
    return {loss["id"].partition(":")[2]: loss for loss in outcome.json["losses"]}


def causes(losses: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    return {name: [reason["cause"] for reason in loss["reasons"]] for name, loss in losses.items()}


def set_index(storage: Path, value: Any) -> None:
    with closing(sqlite3.connect(storage / "state.vscdb")) as connection, connection:
        raw = value if isinstance(value, str) else json.dumps(value)
        connection.execute("INSERT INTO ItemTable VALUES (?, ?)", (INDEX, raw))


def index(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"version": 1, "entries": {each["sessionId"]: each for each in entries}}


def test_of_a_healthy_home_nothing_is_lost(home: LostHome) -> None:
    outcome = run("recover")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "nothing is lost\n")
    assert run("recover", "--strict").code == 0


# --- the index --------------------------------------------------------------------------------------------------------


def test_a_session_that_the_index_lacks(home: LostHome) -> None:
    set_index(storage_of(home), index(entry("s2", "two")))
    losses = found()
    assert causes(losses) == {"s1": ["not-in-index"]}
    assert losses["s1"]["reasons"][0]["reason"] == "the index has no entry for it: it was never written, or was lost"
    assert losses["s1"]["turns"] == 3


def test_a_session_that_was_trimmed(home: LostHome) -> None:
    later = [entry(f"x{number}", "later", minutes=1000 + number, isEmpty=True) for number in range(25)]
    set_index(storage_of(home), index(entry("s2", "two", minutes=999), *later))
    assert "it was trimmed, as all 26 entries are newer" in found()["s1"]["reasons"][0]["reason"]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("{not JSON", "it is not JSON"),
        ({"version": 2, "entries": {}}, "its version is 2, not 1"),
        ({"version": 1}, "it has no entries"),
        (index(entry("s1", "one"), {"sessionId": "s2", "lastMessageDate": 1}), "the entry s2 has no usable title"),
        (index(entry("s1", "one"), entry("s2", "two", lastMessageDate="now")), "no usable lastMessageDate"),
        ({"version": 1, "entries": {"s1": None}}, "the entry s1 is not an object"),
    ],
)
def test_an_index_that_vscode_discards_hides_all_sessions(home: LostHome, value: Any, why: str) -> None:
    set_index(storage_of(home), value)
    losses = found()
    assert causes(losses) == {"s1": ["index-discarded"], "s2": ["index-discarded"]}
    assert why in losses["s1"]["reasons"][0]["reason"]


def test_no_index_at_all(home: LostHome) -> None:
    (storage_of(home) / "state.vscdb").unlink()
    losses = found()
    assert causes(losses) == {"s1": ["not-in-index"], "s2": ["not-in-index"]}
    assert losses["s1"]["reasons"][0]["reason"] == "there is no state.vscdb"


def test_a_store_that_cannot_be_read_and_its_backup(home: LostHome) -> None:
    store = storage_of(home) / "state.vscdb"
    shutil.copy(store, store.with_name("state.vscdb.backup"))
    store.write_bytes(b"SQLite format 3\0" + bytes(50))
    losses = found()
    assert causes(losses) == {"s1": ["index-unreadable"], "s2": ["index-unreadable"]}
    assert losses["s1"]["reasons"][0]["reason"].endswith("; state.vscdb.backup still has its entry")


def test_an_entry_that_is_not_listed(home: LostHome) -> None:
    hidden = entry("s1", "one")
    del hidden["initialLocation"]
    set_index(storage_of(home), index(hidden, entry("s2", "two", isEmpty=True)))
    losses = found()
    assert causes(losses) == {"s1": ["hidden-entry"], "s2": ["hidden-entry"]}
    assert "initialLocation" in losses["s1"]["reasons"][0]["reason"]
    assert "empty" in losses["s2"]["reasons"][0]["reason"]


def test_an_empty_window_has_its_index_in_the_global_store(home: LostHome) -> None:
    set_index(home.user / "globalStorage", index())
    assert causes(found()) == {"s4": ["not-in-index"]}


def test_a_session_without_a_turn_is_not_missed(home: LostHome) -> None:
    home.put_log(storage_of(home), "s9", log_bytes("s9").splitlines(keepends=True)[0])
    assert found() == {}


# --- workspaces -------------------------------------------------------------------------------------------------------


def test_a_folder_that_is_gone(home: LostHome) -> None:
    home.project(TIDES).rmdir()
    losses = found()
    assert causes(losses) == {"s1": ["workspace-gone"], "s2": ["workspace-gone"]}
    assert losses["s1"]["likely_folder"] is None


def test_a_folder_that_was_renamed_is_found_by_its_repository_files_and_texts(home: LostHome) -> None:
    folder, storage = home.project(TIDES), storage_of(home)
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.org:ana/tides.git\n')
    (folder / "moon.py").write_text("PHASES = 8\n")
    uri = (folder / "moon.py").as_uri()
    edit = {"kind": "textEditGroup", "uri": {"$mid": 1, "path": uri[7:], "scheme": "file"}, "edits": [], "done": True}
    repository = {"remoteUrl": "https://example.org/ana/tides", "localBranch": "main"}
    state = session("s1", "Name the phases", repoData=repository)
    state["requests"][0]["response"].append(edit)
    home.put_log(storage, "s1", json.dumps({"kind": 0, "v": state}).encode() + b"\n")
    put_editing(storage, "s1", uri, "PHASES = 8\n")
    folder.rename(home.projects / "tide-tables")
    likely = found()["s1"]["likely_folder"]
    assert likely["folder"] == str(home.projects / "tide-tables")
    assert likely["evidence"] == [
        "same repository: example.org/ana/tides",
        "same files: 1 of the 1 that were edited",
        "same editing history: 1 of them with the very text that was recorded last",
    ]


def put_editing(storage: Path, session_id: str, uri: str, text: str) -> None:
    folder = storage / "chatEditingSessions" / session_id
    (folder / "contents").mkdir(parents=True)
    (folder / "contents" / "abcdef0").write_text(text)
    file = {
        "resource": uri,
        "languageId": "python",
        "originalHash": "abcdef0",
        "currentHash": "abcdef0",
        "state": 1,
        "snapshotUri": "",
        "telemetryInfo": {"requestId": "request_1", "agentId": "a", "command": "", "sessionId": session_id},
    }
    recent = {"requestId": "request_1", "workingSet": [], "entries": [file]}
    state = {"version": 1, "sessionId": session_id, "linearHistory": [], "linearHistoryIndex": 0}
    (folder / "state.json").write_text(
        json.dumps({**state, "initialFileContents": [], "recentSnapshot": recent, "pendingSnapshot": recent})
    )


@pytest.mark.skipif("sys.platform != 'linux'", reason="the name of a storage is computed on Linux only")
def test_a_folder_that_was_made_anew_has_another_storage(home: LostHome) -> None:
    home.project(TIDES).rename(home.projects / "aside")
    home.project(TIDES)
    losses = found()
    assert causes(losses) == {"s1": ["workspace-replaced"], "s2": ["workspace-replaced"]}
    assert storage_id(home.project(TIDES)) in losses["s1"]["reasons"][0]["reason"]


def test_a_copy_in_another_storage_that_is_shown(home: LostHome) -> None:
    shutil.copy(storage_of(home) / "chatSessions" / "s1.jsonl", storage_of(home, "maps") / "chatSessions")
    set_index(storage_of(home, "maps"), index(entry("s1", "one"), entry("s3", "three")))
    home.project(TIDES).rmdir()
    assert causes(found()) == {"s2": ["workspace-gone"]}


def test_a_session_that_no_workspace_took(home: LostHome) -> None:
    folder = home.user / "globalStorage" / "transferredChatSessions"
    folder.mkdir()
    (folder / "s9.json").write_text(json.dumps(session("s9", "on its way")))
    assert causes(found()) == {"s9": ["left-in-transfer"]}


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_file_that_vscode_refuses(home: LostHome) -> None:
    path = home.put_log(storage_of(home), "s1", log_bytes("s1")[:-9])
    reason = found()["s1"]["reasons"][0]
    assert reason == {"cause": "refused", "reason": "the last line breaks off", "path": str(path), "line": 7}


def test_turns_that_only_the_older_file_has(home: LostHome) -> None:
    home.put_log(storage_of(home), "s2", log_bytes("s2").splitlines(keepends=True)[0])
    losses = found()
    assert causes(losses) == {"s2": ["older-file"]}
    assert losses["s2"]["turns"] == 1


def test_a_session_that_copilot_cli_refuses(home: LostHome) -> None:
    put_cli_session(home, "s6", with_start=False)
    losses = found()
    assert causes(losses) == {"s6": ["cli-refused"]}
    assert losses["s6"]["reasons"][0]["reason"] == "the first event is not session.start"


# --- what is left elsewhere -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "cause"), [("state.vscdb", "store-only"), ("state.vscdb.backup", "backup-only")])
def test_a_session_inside_a_store(home: LostHome, name: str, cause: str) -> None:
    rows = {"interactive.sessions": json.dumps([session("s8", "an early one")])}
    if name != "state.vscdb":
        home.put_index(home.storage(home.project("new")), "x", entries={})
    storage = storage_of(home) if name == "state.vscdb" else home.storage(home.project("early"))
    home.put_rows(storage, rows, name)
    assert causes(found()) == {"s8": [cause]}


def test_sessions_of_a_store_without_an_index_are_taken_over_by_vscode(home: LostHome) -> None:
    rows = {"interactive.sessions": json.dumps([session("s8", "an early one")])}
    home.put_rows(home.storage(home.project("early")), rows)
    assert found() == {}


def test_only_edits_are_left(home: LostHome) -> None:
    put_editing(storage_of(home), "s7", "file:///home/ana/moon.py", "PHASES = 8\n")
    losses = found()
    assert causes(losses) == {"s7": ["edits-only"]}
    assert losses["s7"]["reasons"][0]["reason"] == "there is no session file; left: VS Code editing session"


def test_only_a_transcript_is_left_of_a_session_that_the_index_lists(home: LostHome) -> None:
    storage = storage_of(home)
    folder = storage / "GitHub.copilot-chat" / "transcripts"
    folder.mkdir(parents=True)
    at = "2026-04-12T12:00:00.000Z"
    start = {"sessionId": "s2", "version": 1, "producer": "copilot-agent", "startTime": at}
    events = [
        {"type": "session.start", "data": start, "id": "e1", "timestamp": at, "parentId": None},
        {"type": "user.message", "data": {"content": "hi"}, "id": "e2", "timestamp": at, "parentId": "e1"},
        {"type": "assistant.message", "data": {"content": "hello"}, "id": "e3", "timestamp": at, "parentId": "e2"},
    ]
    (folder / "s2.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    (storage / "chatSessions" / "s2.json").unlink()
    losses = found()
    assert causes(losses) == {"s2": ["traces-only"]}
    assert losses["s2"]["reasons"][0]["reason"].startswith("the index lists it, but its file is gone; left: ")


def test_nothing_but_the_entry_is_left(home: LostHome) -> None:
    (storage_of(home) / "chatSessions" / "s2.json").unlink()
    losses = found()
    assert causes(losses) == {"s2": ["entry-only"]}
    assert losses["s2"]["title"] == "Title of s2"


def test_only_prompts_are_left(home: LostHome) -> None:
    history = {"history": {"copilot": [{"inputText": "a prompt of a session that was deleted", "attachments": []}]}}
    home.put_rows(storage_of(home), {"memento/interactive-session": json.dumps(history)})
    assert [(loss["reasons"][0]["cause"], loss["turns"]) for loss in found().values()] == [("prompts-only", 1)]


def test_an_export_of_a_session_that_is_gone(home: LostHome, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    saved.mkdir()
    for name, prompt in (("known", "first"), ("gone", "a prompt of a session that was deleted")):
        exported = {"responderUsername": "GitHub Copilot", "requests": session("x", prompt)["requests"]}
        (saved / f"{name}.json").write_text(json.dumps(exported))
    losses = found("--root", str(home.root), "--root", str(saved))
    assert [loss["reasons"][0]["cause"] for loss in losses.values()] == ["export-only"]


def test_only_the_archive_is_left(home: LostHome) -> None:
    assert run("scan").code == 0
    (storage_of(home) / "chatSessions" / "s1.jsonl").unlink()
    set_index(storage_of(home), index(entry("s2", "two")))
    assert run("scan").code == 0
    losses = found()
    assert causes(losses) == {"s1": ["archive-only"]}
    assert losses["s1"]["turns"] == 3


# --- the command ------------------------------------------------------------------------------------------------------


def broken(home: LostHome) -> Outcome:
    home.put_log(storage_of(home), "s1", log_bytes("s1")[:-9])
    set_index(storage_of(home, "maps"), index())
    return run("recover")


def test_losses_are_listed_by_cause_with_what_to_do(home: LostHome) -> None:
    outcome = broken(home)
    heads = [line for line in outcome.out.splitlines() if line and not line.startswith(" ")]
    assert heads == [f"{cause}: {CAUSES[cause].meaning} (1)" for cause in ("refused", "not-in-index")]
    assert "s1.jsonl:7" in outcome.out
    assert outcome.out.count("what to do: ") == 2
    assert outcome.err == "2 conversations that the programs do not show\n"


def test_the_exit_code_and_the_choice_of_causes(home: LostHome) -> None:
    assert broken(home).code == 0
    assert run("recover", "--strict").code == 1
    assert list(found("--cause", "refused")) == ["s1"]
    assert run("recover", "--strict", "--cause", "prompts-only").code == 0
    wrong = run("recover", "--cause", "bad-luck")
    assert wrong.code == 2
    assert "workspace-gone" in wrong.err


def test_a_home_of_another_machine_does_not_lack_its_folders(tmp_path: Path) -> None:
    home = LostHome(tmp_path)
    home.put_log(home.workspace(7, "/home/nobody-of-this-machine/tides"), "s1")
    home.put_index(home.workspace(7), "s1")
    assert found("--root", str(home.root)) == {}


def test_nothing_is_changed(home: LostHome) -> None:
    broken(home)
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in home.root.rglob("*") if path.is_file()}
    run("recover")
    after = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in home.root.rglob("*") if path.is_file()}
    assert before == after
