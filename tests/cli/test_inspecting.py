"""`copilog inspect`: the ledger of each file, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.homes import Home, run, session

ONE = "11111111-aaaa"


def broken_session() -> dict[str, Any]:
    """Return two valid requests, a null and one without a message; one part is unknown, one not an object."""
    state = session(ONE, "hello", "again")
    state["requests"][0]["response"] += [{"kind": "hologram", "beam": 1}, 42]
    state["requests"] += [None, {"requestId": "request_4"}]
    return state


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = Home(tmp_path)
    workspace = home.workspace(1, "/home/ana/tide-tables")
    home.add(workspace, broken_session())
    (workspace / "notes.txt").write_text("no chat")
    return tmp_path


def balances(books: dict[str, Any]) -> bool:
    bad = books["bad"] if isinstance(books["bad"], int) else len(books["bad"])
    return bool(books["seen"] == books["used"] + sum(books["ignored"].values()) + bad)


def test_the_ledger_of_each_file_balances(folder: Path) -> None:
    outcome = run("inspect", "--json", folder)

    document = outcome.json
    assert outcome.code == 0
    for file in document["files"]:
        assert balances(file)
        assert balances(file["parts"])
    assert balances(document["totals"])
    assert balances(document["totals"]["parts"])


def test_inspect_reports_used_ignored_bad_and_unknown_records(folder: Path) -> None:
    [file] = [file for file in run("inspect", "--json", folder).json["files"] if file["source"] == "vscode-session"]

    assert file["conversations"] == 1
    assert (file["seen"], file["used"]) == (5, 3)
    assert file["ignored"] == {"null-request": 1}
    assert [(bad["pointer"], bad["code"]) for bad in file["bad"]] == [("/requests/3", "no-message")]
    assert file["unknown"] == {"response:hologram": 1}
    assert [bad["pointer"] for bad in file["parts"]["bad"]] == ["/requests/0/response/2"]


def test_totals_are_numbers(folder: Path) -> None:
    totals = run("inspect", "--json", folder).json["totals"]

    assert totals["bad"] == 1
    assert totals["parts"]["bad"] == 1
    assert totals["unknown"] == {"response:hologram": 1}


def test_files_of_no_known_format_have_no_source_and_count_with_strict(folder: Path) -> None:
    outcome = run("inspect", "--json", "--strict", folder / "Code" / "User" / "workspaceStorage" / f"{1:032x}")

    unknown = [file for file in outcome.json["files"] if file["source"] is None]
    assert [Path(file["path"]).name for file in unknown] == ["notes.txt"]
    assert outcome.code == 1  # for the bad records of the session

    (folder / "only.txt").write_text("no chat")
    other = folder / "other"
    other.mkdir()
    (other / "only.txt").write_text("no chat")
    assert run("inspect", other).code == 0
    assert run("inspect", "--strict", other).code == 1


def test_text_output_has_position_and_reason_of_each_bad_record(folder: Path) -> None:
    out = run("inspect", folder).out

    assert "/requests/3: a request without a message  [no-message]" in out
    assert "unknown kind response:hologram: 1" in out


@pytest.mark.parametrize("name", ["missing.json", "missing-folder/"])
def test_a_missing_path_is_reported_in_one_line(tmp_path: Path, name: str) -> None:
    outcome = run("inspect", tmp_path / name)

    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err == f"copilog: {tmp_path / name}: no such file or folder\n"


def test_a_named_file_of_unknown_format_is_reported_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "shopping.json"
    path.write_text(json.dumps({"milk": 2}))

    outcome = run("inspect", path)

    assert outcome.code == 2
    assert outcome.err.startswith(f"copilog: {path}: the format is not known; copilog reads ")
    assert outcome.err.count("\n") == 1


def test_a_file_can_be_read_as_a_format_by_force(tmp_path: Path) -> None:
    path = tmp_path / "renamed.bak"
    path.write_text(json.dumps(session(ONE, "hello")))

    [file] = run("inspect", "--json", "--source", "vscode-session", path).json["files"]

    assert file["conversations"] == 1


@pytest.mark.parametrize("command", ["show", "inspect"])
def test_an_empty_file_is_called_empty(command: str, tmp_path: Path) -> None:
    path = tmp_path / "nothing.json"
    path.touch()

    ended = run(command, path)

    assert (ended.code, ended.err) == (2, f"copilog: {path}: the file is empty\n")
