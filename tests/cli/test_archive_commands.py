"""What list, show and the overview do with the archive, and what people add to it and take away."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from copilog.store.database import ScanLock
from tests.cli.homes import Home, entry, move_in, run, session

ONE, TWO, THREE = "11111111-aaaa", "11112222-bbbb", "33333333-cccc"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    tides = home.workspace(1, "/home/ana/tide-tables")
    garden = home.workspace(2, "/home/ana/garden-planner")
    home.add(tides, session(ONE, "Parse the tide file", "And test it", customTitle="Tide parser"))
    late = session(TWO, "Plan the beds")
    late["requests"][0] |= {"timestamp": 1_777_000_000_000, "modelState": {"value": 1}, "modelId": "copilot/gpt-4.1"}
    late["requests"][0]["agent"]["id"] = "github.copilot.default"
    home.add(garden, late)
    home.add(garden, session(THREE))
    return home


@pytest.fixture(autouse=True)
def archive(home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_in(monkeypatch, tmp_path, home)


def file_of(home: Home, session_id: str) -> Path:
    return next(home.user.rglob(f"{session_id}.json"))


def listed(*options: object) -> list[str]:
    return [item["id"].removeprefix("vscode:") for item in run("list", "--json", *options).json]


# --- list -------------------------------------------------------------------------------------------------------


def test_the_first_list_makes_the_archive_and_says_so_once(archive: Path) -> None:
    first, second = run("list"), run("list")

    assert first.out == second.out
    assert [line.split()[0] for line in first.out.splitlines()] == ["id", "11112222", "11111111"]
    assert first.err == (
        f"created the archive with 3 conversations: {archive}\n2 conversations; 1 empty not shown (--all)\n"
    )
    assert second.err == "2 conversations; 1 empty not shown (--all)\n"


def test_an_ignored_archive_option_is_reported(home: Home, archive: Path) -> None:
    told = run("list", "--archive", archive, "--root", home.root, "--live")

    assert "--archive is ignored" in told.err
    assert not archive.exists()


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--all"],
        ["--long"],
        ["--limit", "1"],
        ["--workspace", "tide"],
        ["--workspace", "GARDEN"],
        ["--model", "4.1"],
        ["--mode", "agent"],
        ["--mode", "ask"],
        ["--workspace", "garden", "--mode", "ask"],
        ["--source", "vscode-session"],
        ["--since", "2026-04-20"],
        ["--until", "2026-04-20"],
    ],
)
def test_the_archive_lists_what_the_disk_does(options: list[str]) -> None:
    run("scan")

    kept, live = run("list", *options), run("list", "--live", *options)

    assert (kept.code, kept.out, kept.err) == (0, live.out, live.err)


def test_json_of_the_archive_has_the_fields_of_the_disk_and_more() -> None:
    kept, live = run("list", "--json", "--long").json[1], run("list", "--json", "--long", "--live").json[1]

    assert {name: kept[name] for name in live} == live
    assert kept.keys() - live.keys() == {"messages", "is_starred", "labels", "note", "stored_at", "gone_at"}


def test_what_changes_on_disk_is_in_the_next_list(home: Home) -> None:
    assert listed() == [TWO, ONE]

    home.add(home.workspace(1), session("44444444-dddd", "New"))
    file_of(home, ONE).write_text(json.dumps(session(ONE, "Parse", customTitle="Another title")))

    assert listed("--no-scan") == [TWO, ONE]
    assert set(listed()) == {TWO, ONE, "44444444-dddd"}
    assert "Another title" in run("list").out


def test_a_conversation_outlives_its_file_and_says_so(home: Home) -> None:
    before = run("show", ONE).out
    file_of(home, ONE).unlink()

    assert "Tide parser  [gone]" in run("list").out
    shown = run("show", ONE)
    assert shown.out.startswith("gone: its files no longer exist (since ")
    assert shown.out.endswith(before)
    assert "1 conversation from 1 file, files gone since today" in shown.err
    assert listed("--live") == [TWO]


def test_bad_records_are_reported_each_time_and_change_the_exit_code_with_strict(home: Home) -> None:
    state = session("55555555-eeee", "fine")
    state["requests"].append({"requestId": "no message"})
    home.add(home.workspace(3), state)

    for _ in range(2):
        outcome = run("list", "--strict")
        assert outcome.code == 1
        assert outcome.err.endswith("; 1 bad record (copilog problems shows them)\n")
    assert run("show", "5555", "--strict").code == 1
    assert run("show", ONE, "--strict").code == 0


def test_without_an_archive_and_without_a_scan_there_is_nothing_to_list(archive: Path) -> None:
    outcome = run("list", "--no-scan")

    assert outcome.code == 1
    assert outcome.err == f"copilog: {archive}: there is no archive yet; `copilog scan` makes one\n"
    assert not archive.exists()


# --- what is written and what is not ----------------------------------------------------------------------------


def test_reading_the_disk_creates_no_archive(home: Home, archive: Path) -> None:
    for arguments in (
        ["list", "--live"],
        ["list", "--root", home.root],
        ["list", "--sample"],
        ["show", "last", "--live"],
        ["show", file_of(home, ONE)],
        ["search", "tide", "--root", home.root],
        ["problems", "--root", home.root],
        ["--live"],
        ["--root", home.root],
    ):
        assert run(*arguments).code == 0
    assert not archive.parent.exists()


@pytest.mark.skipif(os.name == "nt", reason="permissions are others there")
def test_the_archive_is_readable_only_by_the_user(archive: Path) -> None:
    run("list")

    assert {oct(path.stat().st_mode & 0o777) for path in archive.parent.iterdir()} == {"0o600"}
    assert oct(archive.parent.stat().st_mode & 0o777) == "0o700"


def test_where_no_archive_can_be_made_the_disk_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("COPILOG_ARCHIVE", str(tmp_path / "file" / "archive.db"))

    for arguments in (["list"], ["show", ONE], []):
        outcome = run(*arguments)
        assert outcome.code == 0
        assert "Tide parser" in outcome.out
        assert outcome.err.splitlines()[0].endswith("reading from disk instead")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a user whose rights are limited")
def test_an_archive_that_cannot_be_written_is_shown_as_it_is(home: Home, archive: Path) -> None:
    run("scan")
    home.add(home.workspace(1), session("44444444-dddd", "New"))
    archive.chmod(0o400)
    archive.parent.chmod(0o500)

    outcome = run("list", "--json")

    archive.parent.chmod(0o700)
    assert len(outcome.json) == 2
    assert "showing the archive without an update" in outcome.err


def test_during_another_scan_the_archive_is_shown_as_it_is(
    home: Home, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("scan")
    home.add(home.workspace(1), session("44444444-dddd", "New"))
    monkeypatch.setattr("copilog.cli.archives.QUICK_WAIT_SECONDS", 0.0)

    with ScanLock(archive, wait_seconds=0):
        outcome = run("list", "--json")

    assert len(outcome.json) == 2
    assert "another scan" in outcome.err
    assert "showing the archive without an update" in outcome.err
    assert len(run("list", "--json").json) == 3


def test_an_archive_of_a_newer_copilog_is_refused_and_left_alone(archive: Path) -> None:
    run("scan")
    with sqlite3.connect(archive) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()

    outcome = run("list")

    assert outcome.code == 1
    assert "was made by a newer copilog (schema 99" in outcome.err
    assert outcome.out == ""


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Ana")

    outcome = run("list", "--archive", letter)

    assert outcome.code == 2
    assert "is not an archive of copilog" in outcome.err
    assert letter.read_text() == "Dear Ana"


def test_the_archive_may_be_named_before_the_command_and_after_it(tmp_path: Path, archive: Path) -> None:
    run("--archive", tmp_path / "one.db", "list")
    run("list", "--archive", tmp_path / "two.db")

    assert (tmp_path / "one.db").exists()
    assert (tmp_path / "two.db").exists()
    assert not archive.exists()


# --- show and the overview --------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["11111", ONE, f"vscode:{ONE}", "vscode:11111", "last"])
@pytest.mark.parametrize("options", [[], ["--json"], ["--full", "--turn", "1"]])
def test_the_archive_shows_what_the_disk_does(target: str, options: list[str]) -> None:
    run("scan")

    kept, live = run("show", target, *options), run("show", target, *options, "--live")

    assert kept.code == 0
    assert kept == live


def test_an_ambiguous_id_lists_its_candidates() -> None:
    run("scan")

    outcome = run("show", "1111")

    assert outcome.code == 2
    lines = outcome.err.splitlines()
    assert lines[0] == "copilog: '1111' matches 2 ids; type more characters of one of these:"
    assert [line.split()[0] for line in lines[1:]] == [f"vscode:{TWO}", f"vscode:{ONE}"]


def test_an_unknown_id_is_reported() -> None:
    outcome = run("show", "9999")

    assert outcome.code == 2
    assert "no conversation has an id that begins with '9999'" in outcome.err


def test_the_overview_of_the_archive_is_that_of_the_disk(home: Home) -> None:
    home.index(home.workspace(2), **{THREE: entry(THREE, "New Chat", isEmpty=True)})
    run("scan")

    outcome = run()

    assert outcome.out == run("--live").out
    assert outcome.out.startswith("3 conversations  1 of them empty\n  in   2 workspaces of Code (3)\n")
    assert outcome.err == ""


# --- stars, labels, notes ---------------------------------------------------------------------------------------


def test_stars_are_shown_and_filter_the_list() -> None:
    run("scan")

    assert run("star", "11111", TWO).err == "★ 11111111  Tide parser\n★ 11112222  Plan the beds\n"
    assert "★ Tide parser" in run("list").out
    run("unstar", TWO)

    assert listed("--starred") == [ONE]
    assert run("show", ONE).out.startswith("★\n\nTide parser\n")


def test_labels_are_added_and_removed() -> None:
    run("scan")

    assert run("label", ONE, "harbour", "tides").err == "11111111  Tide parser  #harbour  #tides\n"
    assert run("label", ONE).out == "harbour\ntides\n"
    assert "Tide parser  #harbour  #tides" in run("list").out
    assert listed("--label", "tides") == [ONE]
    run("label", ONE, "tides", "--remove")
    assert run("show", ONE).out.startswith("  #harbour\n\nTide parser\n")
    assert run("label", ONE, "--remove").err == "11111111  Tide parser  no labels\n"


def test_a_note_is_written_read_and_removed() -> None:
    run("scan")

    assert run("note", ONE, "November was wrong").err == "11111111  Tide parser  note written\n"
    assert run("note", ONE).out == "November was wrong\n"
    assert run("show", ONE).out.startswith("November was wrong\n\nTide parser\n")
    run("note", "last", "-", given="two\nlines\n")
    assert run("note", TWO).out == "two\nlines\n"
    run("note", ONE, "--remove")
    assert run("note", ONE).out == ""
    assert run("note", ONE, " ").code == 2


def test_annotations_survive_rescans(home: Home) -> None:
    run("scan")
    run("star", ONE)
    run("label", ONE, "tides")
    file_of(home, ONE).write_text(json.dumps(session(ONE, "Parse", "Again", customTitle="Another title")))

    [item] = run("list", "--json", "--starred").json

    assert (item["title"], item["labels"]) == ("Another title", ["tides"])


def test_one_wrong_id_changes_nothing() -> None:
    run("scan")

    outcome = run("star", ONE, "9999")

    assert outcome.code == 2
    assert listed("--starred") == []


def test_stars_need_the_archive() -> None:
    for arguments in (["star", ONE], ["list", "--starred", "--live"], ["--sample", "star", ONE]):
        assert run(*arguments).code == 2


def test_labels_and_notes_cannot_control_the_terminal() -> None:
    run("scan")
    run("label", ONE, "\x1b[31mred")
    run("note", ONE, "\x1b]0;owned\x07")

    for arguments in (["list"], ["show", ONE], ["note", ONE], ["label", ONE]):
        outcome = run(*arguments)
        assert "\x1b" not in outcome.out + outcome.err
        assert "\x07" not in outcome.out + outcome.err


# --- taking away ------------------------------------------------------------------------------------------------


def test_a_removed_conversation_is_not_scanned_again_and_its_file_remains(home: Home) -> None:
    run("scan")

    outcome = run("rm", ONE, "--yes")

    assert outcome.code == 0
    assert "removed 1 conversation; the source files stay as they are" in outcome.err
    assert file_of(home, ONE).exists()
    file_of(home, ONE).write_text(json.dumps(session(ONE, "Parse", "Changed")))
    assert listed() == [TWO]
    assert run("show", ONE).code == 2


def test_a_removed_conversation_can_be_restored() -> None:
    run("scan")
    run("star", ONE)
    run("rm", ONE, "--yes")
    assert run("restore").out.startswith(f"vscode:{ONE}  removed 20")

    assert run("restore", "11111").code == 0

    assert set(listed()) == {TWO, ONE}
    assert listed("--starred") == [ONE]
    assert run("restore", ONE).code == 2


def test_removing_asks_first() -> None:
    run("scan")

    outcome = run("rm", ONE)

    assert outcome.code == 2
    assert "--yes is required" in outcome.err
    assert ONE in listed()


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, [TWO]), ("n\n", 130, [TWO, ONE])])
def test_on_a_terminal_the_user_confirms_the_removal(
    answer: str, code: int, left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("scan")
    monkeypatch.setattr("copilog.cli.remove.can_confirm", lambda: True)

    outcome = run("rm", ONE, given=answer)

    assert outcome.code == code
    assert "Tide parser" in outcome.err
    assert "Remove 1 conversation from the archive?" in outcome.err
    assert listed() == left


def test_vacuum_prints_sizes(archive: Path) -> None:
    run("scan")
    run("rm", ONE, "--yes")

    outcome = run("vacuum")

    assert outcome.code == 0
    assert outcome.err.startswith(f"{archive}: ")
    assert b"Parse the tide file" not in archive.read_bytes()


# --- problems ---------------------------------------------------------------------------------------------------


def test_problems_are_listed_with_advice(home: Home) -> None:
    state = session("55555555-eeee", "fine")
    state["requests"].append({"requestId": "no message"})
    path = home.add(home.workspace(3), state)

    outcome = run("problems")

    assert outcome.code == 0
    assert outcome.out.splitlines()[0] == f"{path}  vscode-session"
    assert "/requests/1: " in outcome.out
    assert "[no-message]" in outcome.out
    assert "the request has no message that could be shown" in outcome.out
    assert outcome.err.endswith("1 problem in 1 file\n")
    [problem] = run("problems", "--json", "--code", "no-message", "--path", "5555", "--level", "error").json
    assert problem["path"] == str(path)
    assert problem["advice"] == "the request has no message that could be shown"
    assert run("problems", "--path", "elsewhere").out == ""


def test_an_unknown_code_names_the_nearest() -> None:
    outcome = run("problems", "--code", "bad-jsn")

    assert outcome.code == 2
    assert "did you mean 'bad-json'?" in outcome.err
