"""`--root` accepts any folder, lists what it found below it, and reports what it did not search."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.homes import Home, move_in, run, session

ONE, TWO, CLI = "11111111-aaaa", "22222222-bbbb", "5f0c2a9e-1111-4aaa-8bbb-0123456789ab"


@pytest.fixture(autouse=True)
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return move_in(monkeypatch, tmp_path, Home(tmp_path / "mine"))


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    disk = tmp_path / "disk"
    for machine, native_id in (("laptop", ONE), ("pc", TWO)):
        home = Home(disk / machine / "ana")
        home.add(home.workspace(1, "/home/ana/tides"), session(native_id, f"Asked on the {machine}"))
    log = disk / "pc" / "ana" / ".copilot" / "session-state" / CLI / "events.jsonl"
    log.parent.mkdir(parents=True)
    start = '{"type":"session.start","id":"e1","timestamp":"2026-06-02T08:00:00Z","data":{"sessionId":"%s"}}'
    asked = '{"type":"user.message","id":"e2","timestamp":"2026-06-02T08:00:01Z","data":{"content":"Asked in a shell"}}'
    log.write_text(f"{start % CLI}\n{asked}\n")
    (disk / "pc" / "project" / "node_modules" / "tool").mkdir(parents=True)
    return disk


def test_a_scan_of_a_disk_finds_every_home_and_lists_what_it_found(disk: Path) -> None:
    outcome = run("scan", "--root", disk, "--json")

    assert outcome.json["conversations"]["new"] == 3
    places = {(place["kind"], Path(place["path"]).relative_to(disk).parts[0]) for place in outcome.json["places"]}
    assert places == {("vscode", "laptop"), ("vscode", "pc"), ("copilot-home", "pc")}
    assert [skipped["path"] for skipped in outcome.json["not_searched"]] == [str(disk / "pc/project/node_modules")]
    assert "found 3 folders with Copilot data:" in outcome.err
    for place in outcome.json["places"]:
        assert place["path"] in outcome.err
    assert "node_modules was not searched: packages of JavaScript" in outcome.err


def test_a_scan_reads_roots_that_are_nested_in_others(disk: Path) -> None:
    inner = Home(disk / "laptop/ana/.config/Code/User/globalStorage/some.backup")
    inner.add(inner.workspace(2, "/home/ana/tides"), session("33333333-cccc", "Asked long ago"))
    old = disk / "pc/ana/.copilot/backup/.copilot/command-history-state.json"
    old.parent.mkdir(parents=True)
    old.write_text('{"commandHistory": ["Asked before the sessions were lost"]}')

    outcome = run("scan", "--root", disk, "--json")

    assert outcome.json["conversations"]["new"] == 5
    assert {str(inner.root / "Code"), str(old.parent)} < {place["path"] for place in outcome.json["places"]}


def test_doctor_lists_all_folders_and_what_was_not_searched(disk: Path) -> None:
    outcome, data = run("doctor", "--root", disk), run("doctor", "--root", disk, "--json").json

    assert len(data["roots"]) == 3
    assert all(root["conversations"] == 1 for root in data["roots"])
    assert all(root["path"] in outcome.out for root in data["roots"])
    assert [skipped["path"] for skipped in data["not_searched"]] == [str(disk / "pc/project/node_modules")]
    assert "node_modules was not searched" in outcome.out


def test_other_commands_read_all_roots_and_print_their_number(disk: Path) -> None:
    outcome = run("list", "--root", disk, "--json")

    assert len(outcome.out.splitlines()) == 3 or len(outcome.json) == 3
    assert "found 3 folders with Copilot data below the named ones, 1 not searched; `copilog doctor`" in outcome.err


def test_a_named_home_is_not_reported_as_found(disk: Path) -> None:
    assert "below the named ones" not in run("list", "--root", disk / "laptop" / "ana").err


def test_a_folder_with_nothing_below_it_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty" / "deep" / "deeper").mkdir(parents=True)

    outcome = run("scan", "--root", tmp_path / "empty")

    assert outcome.code == 2
    assert "there is none below it" in outcome.err
