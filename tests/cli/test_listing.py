"""`copilog list`: what is listed, in which order, and where titles come from."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from copilog.cli.listing import _fitting
from tests.cli.homes import Home, entry, move_in, run, session

ONE, TWO, THREE = "11111111-aaaa", "22222222-bbbb", "33333333-cccc"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    tides = home.workspace(1, "/home/ana/tide-tables")
    garden = home.workspace(2, "/home/ana/garden-planner")
    home.add(tides, session(ONE, "Parse the tide file", "And test it", customTitle="Tide parser"))
    late = session(TWO, "Plan the beds")
    late["requests"][0] |= {"timestamp": 1_777_000_000_000, "modelState": {"value": 1}, "modelId": "copilot/gpt-4.1"}
    late["requests"][0]["agent"]["id"] = "github.copilot.default"
    home.add(garden, late)
    home.add(garden, session(THREE))
    return home


def test_the_newest_comes_first_with_title_and_workspace(home: Home) -> None:
    outcome = run("list", "--root", home.root)

    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert [line.split()[0] for line in lines] == ["id", "22222222", "11111111"]
    assert "Plan the beds" in lines[1]
    assert "garden-planner" in lines[1]
    assert "Tide parser" in lines[2]


def test_empty_conversations_are_left_out_and_counted(home: Home) -> None:
    outcome = run("list", "--root", home.root)

    assert "33333333" not in outcome.out
    assert outcome.err == "2 conversations; 1 empty not shown (--all)\n"
    assert "33333333" in run("list", "--all", "--root", home.root).out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--workspace", "tide"], [ONE]),
        (["--workspace", "GARDEN"], [TWO]),
        (["--model", "4.1"], [TWO]),
        (["--mode", "agent"], [ONE]),
        (["--mode", "ask"], [TWO]),
        (["--source", "vscode-session"], [TWO, ONE]),
        (["--since", "2026-04-20"], [TWO]),
        (["--until", "2026-04-20"], [ONE]),
        (["--limit", "1"], [TWO]),
    ],
)
def test_filters(home: Home, options: list[str], expected: list[str]) -> None:
    listed = run("list", "--json", "--root", home.root, *options).json

    assert [item["id"] for item in listed] == [f"vscode:{native_id}" for native_id in expected]


def test_titles_and_times_come_from_the_index_without_reading_the_session(home: Home) -> None:
    tides = home.workspace(1)
    home.index(tides, **{ONE: entry(ONE, "A title of the index", minutes=5)})
    (tides / "chatSessions" / f"{ONE}.json").write_text("this is never parsed")

    [indexed] = [item for item in run("list", "--json", "--root", home.root).json if item["from_index"]]

    assert indexed["title"] == "A title of the index"
    assert indexed["updated_at"] == "2026-04-12T13:25:00Z"
    assert indexed["turns"] is None


def test_long_reads_each_conversation(home: Home) -> None:
    home.index(home.workspace(1), **{ONE: entry(ONE, "A title of the index", minutes=5)})

    outcome = run("list", "--long", "--root", home.root)

    [line] = [line for line in outcome.out.splitlines() if line.startswith("11111111")]
    assert line.split()[4:7] == ["2", "0", "0"]
    assert "gpt-5" in line
    assert "Tide parser" in line


def test_twins_and_copies_are_one_conversation(home: Home) -> None:
    tides, garden = home.workspace(1), home.workspace(2)
    home.add_log(tides, ONE, [{"kind": 0, "v": session(ONE, "Parse the tide file", "And test it", "And ship it")}])
    home.add(garden, session(ONE, "Parse the tide file"))

    [one] = [item for item in run("list", "--long", "--json", "--root", home.root).json if item["id"].endswith(ONE)]

    assert one["turns"] == 3
    assert len(one["paths"]) == 3


@pytest.mark.parametrize("width", [60, 80, 90, 120])
def test_a_wide_column_does_not_squeeze_out_the_title(width: int) -> None:
    heads = ["id", "touched", "turns", "tools", "edits", "model", "workspace", "title"]
    widths = _fitting([8, 12, 5, 5, 5, 50, 40], heads, width)

    assert width - sum(widths) - 2 * len(widths) >= min(20, width - 65)
    assert widths[:5] == [8, 12, 5, 5, 5]
    assert min(widths) >= 5


def test_a_title_cannot_control_the_terminal(home: Home) -> None:
    home.add(home.workspace(3), session("44444444-dddd", "x", customTitle="\x1b]0;owned\x07 [red]title[/red]"))

    outcome = run("list", "--root", home.root)

    assert "\x1b" not in outcome.out
    assert "\x07" not in outcome.out
    assert "[red]title[/red]" in outcome.out


def test_bad_records_are_reported_and_change_the_exit_code_with_strict(home: Home) -> None:
    state = session("55555555-eeee", "fine")
    state["requests"].append({"requestId": "no message"})
    home.add(home.workspace(3), state)

    assert run("list", "--root", home.root).code == 0
    strict = run("list", "--strict", "--root", home.root)
    assert strict.code == 1
    assert "1 bad record (copilog inspect shows them)" in strict.err


def test_an_invalid_date_is_reported_with_valid_examples(home: Home) -> None:
    outcome = run("list", "--since", "soon", "--root", home.root)

    assert outcome.code == 2
    assert "write 2026, 2026-05" in outcome.err


def test_json_of_nothing_is_an_empty_list(tmp_path: Path) -> None:
    home = Home(tmp_path)

    outcome = run("list", "--json", "--root", home.root)

    assert json.loads(outcome.out) == []
    assert outcome.code == 0


@pytest.mark.parametrize(
    ("fields", "title_of_index", "expected", "origin"),
    [
        ({"customTitle": "Renamed: “Ebbe”"}, "Of the index", "Renamed: “Ebbe”", "custom"),
        ({"customTitle": "Same"}, "Same", "Same", "custom"),
        ({}, "Of the index", "Of the index", "index"),
        ({}, None, "Tide parser", "first prompt"),
    ],
)
def test_the_title_and_its_origin_are_the_same_in_list_and_show(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fields: dict[str, str],
    title_of_index: str | None,
    expected: str,
    origin: str,
) -> None:
    home = Home(tmp_path / "home")
    workspace = home.workspace(1, "/home/ana/tides")
    home.add(workspace, session(ONE, "Tide parser\nfor Husum", **fields))
    if title_of_index is not None:
        home.index(workspace, **{ONE: entry(ONE, title_of_index)})
    move_in(monkeypatch, tmp_path, home)

    [live] = run("list", "--json", "--live").json
    [stored] = run("list", "--json").json
    shown = [run("show", ONE, "--json", *options).json for options in ([], ["--live"])]

    assert [(item["title"], item["title_origin"]) for item in (live, stored, *shown)] == [(expected, origin)] * 4
    assert f"title from {origin}" in " ".join(run("show", ONE).out.split())


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("file:///home/ana/tides/workspace.json", "tides"),
        ("file:///home/ana/.config/Code/Workspaces/1722944951958/workspace.json", "1722944951958"),
        ("file:///c%3A/Users/Ana/Tides/workspace.json", "Tides"),
        ("file:///home/ana/team.code-workspace", "team.code-workspace"),
    ],
)
def test_a_workspace_file_called_workspace_json_shows_its_folder(tmp_path: Path, uri: str, name: str) -> None:
    home = Home(tmp_path)
    workspace = home.workspace(1)
    (workspace / "workspace.json").write_text(json.dumps({"workspace": uri}))
    home.add(workspace, session(ONE, "Tide parser"))

    [line] = [line for line in run("list", "--root", home.root).out.splitlines() if line.startswith("11111111")]
    shown = run("show", ONE, "--root", home.root, "--json").json

    assert f"  {name}  " in line
    assert (shown["workspace"]["uri"], shown["workspace"]["folder"].replace("\\", "/").rpartition("/")[2]) == (
        uri,
        name,
    )


def test_failed_calls_and_commands_with_an_error_are_counted_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home")
    made = session(ONE, "Run the tests")
    command = {"kind": "terminal", "commandLine": {"original": "make"}, "terminalCommandState": {"exitCode": 2}}
    failed = {"input": "{}", "output": [], "isError": True}
    call = {"kind": "toolInvocationSerialized", "isComplete": True}
    made["requests"][0]["response"] += [
        call | {"toolCallId": "a", "toolId": "run_in_terminal", "toolSpecificData": command},
        call | {"toolCallId": "b", "toolId": "run_in_terminal", "toolSpecificData": command},
        call | {"toolCallId": "c", "toolId": "mcp_tides", "resultDetails": failed},
    ]
    home.add(home.workspace(1, "/home/ana/tides"), made)
    move_in(monkeypatch, tmp_path, home)

    [live] = run("list", "--json", "--long", "--live").json
    [stored] = run("list", "--json").json

    for listed in (live, stored):
        assert (listed["tool_calls"], listed["failed_calls"], listed["command_errors"]) == (3, 1, 2)
        assert "errors" not in listed


def test_a_list_as_csv_has_the_fields_of_json(home: Home) -> None:
    listed = json.loads(run("list", "--root", home.root, "--json").out)
    rows = list(csv.DictReader(io.StringIO(run("list", "--root", home.root, "--csv").out)))

    assert [row["id"] for row in rows] == [each["id"] for each in listed]
    assert list(rows[0]) == list(listed[0])
    assert [row["started_at"] for row in rows] == [each["started_at"] for each in listed]
    assert run("list", "--root", home.root, "--csv", "--json").code == 2
