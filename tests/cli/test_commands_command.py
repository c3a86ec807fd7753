"""`copilog commands`: every command that was run, and the fields `command:` and `exit:` of queries."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from copilog.model import AnyPart, Approval, Terminal, ToolCall, ToolResult
from tests.analysis.made_up_edits import Shelf, conversation_with
from tests.cli.homes import Outcome, run


def shell(call_id: str, command: str, *, name: str = "bash", result: str = "", **more: Any) -> list[AnyPart]:
    arguments = {"command": command} | more.pop("arguments", {})
    return [
        ToolCall(id=call_id, name=name, arguments=json.dumps(arguments), status="complete", **more),
        ToolResult(call_id=call_id, text=result),
    ]


def edited(call_id: str) -> list[AnyPart]:
    """Make a command of VS Code that the user edited before it was executed."""
    return [
        ToolCall(
            id=call_id, name="run_in_terminal", arguments='{"command": "npm test"}', status="complete",
            approval=Approval(kind="user"),
        ),
        Terminal(
            call_id=call_id, command="npm test -- --run", original="npm test", edited_by_user="npm test -- --run",
            exit_code=1, elapsed_ms=1500, cwd="/home/ana/beds",
        ),
    ]  # fmt: skip


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    failed = "1 failed\n<exited with exit code 2>"
    Shelf(tmp_path).put(
        conversation_with(
            "harbour",
            [*shell("a1", "pytest -q\necho done", result=failed), *shell("a2", "rm -rf build", approval=DENIED)],
            [*shell("a3", "make all", arguments={"shellId": "s1"}), *read_later("a4", "s1")],
            title="Tides \x1b[31m",
        ),
        conversation_with("beds", edited("b1"), hours=3, folder="/home/ana/beds"),
    ).close()
    return tmp_path / "archive.db"


DENIED = Approval(kind="denied")


def read_later(call_id: str, shell_id: str) -> list[AnyPart]:
    return [
        ToolCall(id=call_id, name="read_bash", arguments=json.dumps({"shellId": shell_id}), status="complete"),
        ToolResult(call_id=call_id, text="all\n<command with id: s1 exited with exit code 7>"),
    ]


def asked(archive: Path, *arguments: object) -> Outcome:
    return run(*arguments, "--archive", archive, "--no-scan")


def test_commands_are_listed_as_requested_and_as_executed(archive: Path) -> None:
    (found,) = asked(archive, "commands", "beds", "--json").json

    assert {name: found[name] for name in ("command", "requested", "edited_by", "directory", "exit_code")} == {
        "command": "npm test -- --run",
        "requested": "npm test",
        "edited_by": "user",
        "directory": "/home/ana/beds",
        "exit_code": 1,
    }
    assert (found["number"], found["elapsed_ms"], found["approval"]) == (1, 1500, "user")


def test_list_for_people(archive: Path) -> None:
    outcome = asked(archive, "commands", "beds")

    lines = outcome.out.splitlines()
    assert lines[0].startswith("beds")
    assert "exit 1; 1.5 s; approved by the user; edited by the user; in /home/ana/beds" in lines[1]
    assert lines[2:] == ["    $ npm test -- --run", "    requested: npm test"]
    assert outcome.err == "1 command of 1 conversation\n"


def test_commands_of_all_conversations_in_their_order(archive: Path) -> None:
    outcome = asked(archive, "commands", "--csv")

    rows = list(csv.DictReader(io.StringIO(outcome.out)))
    assert [(row["command"], row["exit_code"], row["number"]) for row in rows] == [
        ("npm test -- --run", "1", "1"),
        ("pytest -q\necho done", "2", "1"),
        ("rm -rf build", "", "1"),
        ("make all", "7", "2"),
    ]


@pytest.mark.parametrize(
    ("options", "commands"),
    [
        (["--exit", "error"], ["npm test -- --run", "pytest -q\necho done", "make all"]),
        (["--exit", "7"], ["make all"]),
        (["--command", "PYTEST"], ["pytest -q\necho done"]),
        (["--command", "rm*build"], ["rm -rf build"]),
        (["--command", "100%"], []),
        (["-w", "beds"], ["npm test -- --run"]),
        (["-q", "exit:7", "--limit", "1"], ["pytest -q\necho done"]),
    ],
)
def test_filters(archive: Path, options: list[str], commands: list[str]) -> None:
    assert [found["command"] for found in asked(archive, "commands", *options, "--json").json] == commands


@pytest.mark.parametrize(
    ("query", "turns"),
    [
        ("command:pytest", {("harbour", 0)}),
        ("command:'rm -rf'", {("harbour", 0)}),
        ("command:'npm test' exit:1", {("beds", 0)}),
        ("exit:7", {("harbour", 1)}),
        ("exit:error NOT command:pytest", {("harbour", 1), ("beds", 0)}),
        ("exit:0", set()),
    ],
)
def test_fields_of_queries(archive: Path, query: str, turns: set[tuple[str, int]]) -> None:
    outcome = asked(archive, "search", f"role:user {query}", "--json")

    hits = [hit for group in outcome.json["groups"] for hit in group["hits"]]
    assert {(hit["conversation"].removeprefix("vscode:"), hit["turn"]) for hit in hits} == turns


def test_wrong_exit_code_is_an_error(archive: Path) -> None:
    outcome = asked(archive, "search", "exit:bad")

    assert outcome.code == 2
    assert "exit: must be a number, or error for any code other than 0, not 'bad'" in outcome.err


def test_script_runs_what_ran_and_nothing_else(archive: Path, tmp_path: Path) -> None:
    script = asked(archive, "commands", "harbour", "--script").out

    assert "\x1b" not in script
    assert [line for line in script.splitlines() if not line.startswith("#")] == ["pytest -q", "echo done", "make all"]
    assert "# left out, it did not run (denied): rm -rf build" in script
    if bash := shutil.which("bash"):
        assert subprocess.run([bash, "-n"], input=script.encode(), check=False).returncode == 0


def test_script_changes_to_the_directory_of_a_command(archive: Path) -> None:
    lines = asked(archive, "commands", "beds", "--script").out.splitlines()

    assert lines[-2:] == ["cd /home/ana/beds", "npm test -- --run"]
