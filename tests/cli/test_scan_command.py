"""`copilog scan`: what it counts, what it reads again, and what it prints during another scan."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from copilog.store.database import ScanLock
from tests.cli.homes import Home, move_in, request, run, session
from tests.sources.extension_builders import DATA, database_from

ONE, TWO, THREE = "11111111-aaaa", "22222222-bbbb", "33333333-cccc"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    tides = home.workspace(1, "/home/ana/tide-tables")
    home.add(tides, session(ONE, "Parse the tide file", "And test it", customTitle="Tide parser"))
    home.add(tides, session(TWO, "Plan the beds"))
    return home


@pytest.fixture(autouse=True)
def archive(home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_in(monkeypatch, tmp_path, home)


def export(path: Path, text: str, number: int = 11) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"responderUsername": "GitHub Copilot", "requests": [request(number, text)]}))
    return path


def test_what_is_new_changed_unchanged_and_gone_is_counted(home: Home) -> None:
    first = run("scan", "--json").json
    home.add(home.workspace(1), session(ONE, "Parse the tide file", "And test it", "And ship it"))
    home.add(home.workspace(1), session(THREE, "New"))
    next(home.user.rglob(f"{TWO}.json")).unlink()
    second = run("scan", "--json").json
    third = run("scan", "--json").json

    assert first["conversations"] == {"new": 2, "changed": 0, "unchanged": 0, "gone": 0, "removed": 0, "refused": 0}
    assert second["conversations"] == {"new": 1, "changed": 1, "unchanged": 0, "gone": 1, "removed": 0, "refused": 0}
    assert third["conversations"] == {"new": 0, "changed": 0, "unchanged": 2, "gone": 0, "removed": 0, "refused": 0}
    assert first["messages"]["new"] == 6
    assert second["messages"] == {"new": 2, "changed": 6, "unchanged": 0, "gone": 2}
    assert third["files"]["read"] == 0


def test_the_json_names_the_archive_the_files_and_the_ledgers(archive: Path) -> None:
    outcome = run("scan", "--json")

    assert outcome.code == 0
    document = outcome.json
    assert document["archive"] == str(archive)
    assert document["files"]["read"] <= document["files"]["seen"]
    books = document["ledger"]
    assert books["seen"] == books["used"] > 0
    assert (books["bad"], books["conversations"]) == (0, 2)
    assert document["seconds"] >= 0
    assert outcome.err.startswith("conversations: 2 new; ")


def test_without_json_only_one_line_is_printed() -> None:
    outcome = run("scan")

    assert outcome.out == ""
    assert outcome.err.startswith("conversations: 2 new; ")
    assert outcome.err.count("\n") == 1
    assert run("scan").err.startswith("conversations: 2 unchanged; 0 of ")


def test_a_path_is_read_and_nothing_else(home: Home, tmp_path: Path) -> None:
    export(tmp_path / "saved" / "chat.json", "Exported words")
    export(tmp_path / "saved" / "other.json", "Other words", 12)

    document = run("scan", tmp_path / "saved", "--json").json

    assert document["conversations"]["new"] == 2
    titles = {item["title"] for item in run("list", "--json", "--no-scan").json}
    assert titles == {"Exported words", "Other words"}


def test_a_path_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    outcome = run("scan", tmp_path / "nowhere")

    assert outcome.code == 2
    assert "does not exist" in outcome.err


def test_named_roots_replace_the_usual_folders(tmp_path: Path) -> None:
    other = Home(tmp_path / "other")
    other.add(other.workspace(7), session(THREE, "Elsewhere"))

    assert run("scan", "--root", other.root, "--json").json["conversations"]["new"] == 1
    assert [item["title"] for item in run("list", "--json", "--no-scan").json] == ["Elsewhere"]


def test_what_was_scanned_from_elsewhere_stays_in_the_list(tmp_path: Path) -> None:
    run("scan", export(tmp_path / "saved" / "chat.json", "Exported words"))

    assert "Exported words" in run("list").out
    assert "Tide parser" in run("list").out
    assert "gone" not in run("list").out


def test_an_export_of_a_known_conversation_has_changed_that(tmp_path: Path) -> None:
    run("scan")
    saved = export(tmp_path / "saved" / "chat.json", "Parse the tide file", 1)
    outcome = run("scan", saved, "--json")

    counts = {"new": 0, "changed": 1, "unchanged": 0, "gone": 0, "removed": 0, "refused": 0}
    assert outcome.json["conversations"] == counts
    assert outcome.json["messages"] == {"new": 0, "changed": 4, "unchanged": 0, "gone": 0}
    assert outcome.err.startswith("conversations: 1 changed; 1 of 1 file read")
    assert run("scan", saved).err.startswith("conversations: 1 unchanged; 0 of 1 file read")


def test_bad_records_change_the_exit_code_with_strict(home: Home) -> None:
    state = session(THREE, "fine")
    state["requests"].append({"requestId": "no message"})
    home.add(home.workspace(3), state)

    outcome = run("scan", "--strict")

    assert outcome.code == 1
    assert outcome.err.endswith("; 1 bad record (copilog problems shows them)\n")
    assert run("scan", "--json").json["ledger"]["bad"] == 0  # nothing was read this time


def test_the_sample_is_not_stored_in_the_users_archive(tmp_path: Path, archive: Path) -> None:
    outcome = run("scan", "--sample")

    assert outcome.code == 2
    assert "not stored in your own archive" in outcome.err
    assert not archive.exists()
    assert run("scan", "--sample", "--archive", tmp_path / "sample.db").code == 0


def test_several_processes_store_what_one_does(home: Home, tmp_path: Path) -> None:
    run("scan", "--jobs", "1", "--archive", tmp_path / "one.db")
    run("scan", "--jobs", "2", "--archive", tmp_path / "two.db")

    one, two = (run("list", "--json", "--no-scan", "--archive", tmp_path / name).json for name in ("one.db", "two.db"))
    for item in (*one, *two):
        del item["stored_at"]
    assert one == two


def test_a_second_scan_says_that_it_waits_and_then_goes_on(archive: Path) -> None:
    lock = ScanLock(archive, wait_seconds=0)
    lock.__enter__()
    release = threading.Timer(0.3, lambda: lock.__exit__(None, None, None))
    release.start()

    outcome = run("scan")

    release.join()
    assert outcome.code == 0
    lines = outcome.err.splitlines()
    assert lines[0] == "another scan is running on this archive; waiting for it"
    assert lines[1].startswith("conversations: 2 new; ")


def test_a_scan_that_gives_up_names_the_process_it_waited_for(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copilog.cli.scan.WAIT_SECONDS", 0.0)

    with ScanLock(archive, wait_seconds=0):
        outcome = run("scan")

    assert outcome.code == 1
    assert f"process {os.getpid()}" in outcome.err


def test_two_processes_at_once_do_no_harm(archive: Path) -> None:
    command = [sys.executable, "-m", "copilog", "scan", "--json"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    outcomes = [(process.communicate(timeout=120), process.returncode) for process in both]

    assert [code for _, code in outcomes] == [0, 0]
    documents = [json.loads(out)["conversations"] for (out, _), _ in outcomes]
    assert sum(counts["new"] for counts in documents) == 2
    assert sum(counts["unchanged"] for counts in documents) == 2
    assert len(run("list", "--json", "--no-scan").json) == 2


def test_a_conversation_too_long_for_the_archive_is_reported_and_the_scan_continues(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copilog.store.writing.MOST_MESSAGES", 4)  # one for the title
    first = run("scan")
    second = run("scan", "--json").json
    home.add(home.workspace(1), session(TWO, "Plan the beds", "And the paths"))
    third = run("scan")

    assert first.code == 0
    assert first.err.startswith("conversations: 1 new, 1 too long (copilog problems); 2 of 3 files read")
    assert second["files"]["read"] == 0  # it is not read again
    assert "conversations: 1 too long (copilog problems); " in third.err
    assert [row["id"] for row in run("list", "--json").json] == [f"vscode:{TWO}"]
    assert "Plan the beds" in run("show", TWO).out  # as it was before it grew
    problems = run("problems", "--code", "too-many-messages", "--json").json
    assert [(Path(row["path"]).name, row["level"], row["reason"]) for row in problems] == [
        (f"{name}.json", "error", "the conversation has 4 messages, more than the archive can store")
        for name in (ONE, TWO)
    ]


def test_conversations_too_long_are_reported_for_folders_read_as_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("copilog.store.writing.MOST_MESSAGES", 2)
    path = export(tmp_path / "exports" / "chat.json", "What is a bean?")
    outcome = run("scan", path.parent)

    assert "conversations: 1 too long (copilog problems); " in outcome.err
    assert [row["path"] for row in run("problems", "--no-scan", "--json").json] == [str(path)]


def test_of_a_database_of_many_conversations_the_row_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("copilog.store.writing.MOST_MESSAGES", 1)
    store = database_from(DATA / "session_store" / "cli.sql", tmp_path / ".copilot" / "session-store.db")
    run("scan", "--root", tmp_path / ".copilot")
    problems = run("problems", "--no-scan", "--code", "too-many-messages", "--json").json

    assert problems
    assert {Path(row["path"].partition("#")[0]) for row in problems} == {store}
    assert all(row["path"].partition("#")[2] for row in problems)
