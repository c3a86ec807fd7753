"""`copilog agents`, `copilog skills` and `copilog graph`, and the definitions that they know of."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from copilog.ingest.defined_here import definitions_on_this_machine
from copilog.model import Skill
from copilog.sources.roots import Root
from copilog.store.archive import Archive
from tests.analysis.agent_turns import call, calls, conversation, start, store, turn
from tests.cli.homes import move_in, run
from tests.measured import measured_archive


def write(path: Path, text: str = "Do it well.\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home folder of a machine that has only the Copilot files that a test writes."""
    move_in(monkeypatch, tmp_path)
    return tmp_path / "nobody"


@pytest.fixture
def measured(tmp_path: Path, machine: Path) -> Path:
    measured_archive(tmp_path / "measured.db").close()
    return tmp_path / "measured.db"


@pytest.fixture
def workshop(tmp_path: Path, machine: Path) -> Path:
    """Return an archive with one conversation, in a workspace of this machine that has definitions."""
    folder = machine / "tide-tables"
    write(folder / ".github/agents/planner.agent.md", "---\ntools: [edit_file]\n---\nPlan.\n")
    write(folder / ".github/agents/pilot.md", "---\ndescription: Steers\n---\nSteer.\n")
    write(folder / ".github/skills/knots/SKILL.md")
    write(machine / ".copilot/agents/helmsman.md")
    write(machine / ".copilot/skills/stars/SKILL.md")
    skills = [Skill(name="knots", is_loaded=True, evidence="tool call"), Skill(name="old", is_loaded=True)]
    made = conversation(
        "a",
        [turn(0, "Planner", skills=skills), turn(1, "Veteran")],
        calls(0, call("1", "edit_file"), start("2", "Explore")),
        folder=str(folder),
    )
    with Archive(tmp_path / "workshop.db", write=True) as archive:
        store(archive, made)
    return tmp_path / "workshop.db"


# --- agents and skills ------------------------------------------------------------------------------------------


def test_agents_are_printed_as_a_table(measured: Path) -> None:
    ended = run("agents", "--archive", measured, "--no-scan")

    assert ended.code == 0
    assert "Navigator" in ended.out
    assert "handed over" in ended.out
    assert ended.err == "4 agents in 8 turns of 4 conversations\n"


def test_agents_as_json(measured: Path) -> None:
    ended = run("agents", "--archive", measured, "--no-scan", "--since", "2026-05-05T00:00Z", "--json")

    assert {row["name"]: row["turns"] for row in ended.json["agents"]} == {"agent": 1, "Navigator": 1, "Keeper": 1}


def test_agents_as_csv(measured: Path) -> None:
    ended = run("agents", "--archive", measured, "--no-scan", "--csv", "--limit", "2")

    rows = list(csv.DictReader(ended.out.splitlines()))
    assert [(row["name"], row["kind"], row["turns"]) for row in rows] == [
        ("agent", "participant", "3"),
        ("Navigator", "custom", "2"),
    ]


def test_agents_are_compared_with_the_definitions_of_the_machine(workshop: Path) -> None:
    ended = run("agents", "--archive", workshop, "--no-scan", "--json")

    assert {row["name"]: row["is_defined"] for row in ended.json["agents"]} == {
        "Planner": True,
        "Veteran": False,
        "Explore": None,
    }
    assert [(row["name"], row["scope"], row["description"]) for row in ended.json["never_used"]] == [
        ("helmsman", "user", None),
        ("pilot", "workspace", "Steers"),
    ]
    assert ended.json["no_longer_defined"] == ["Veteran"]


def test_undefined_and_unused_agents_are_printed(workshop: Path) -> None:
    ended = run("agents", "--archive", workshop, "--no-scan")

    assert "agents that are defined, but were never used" in ended.out
    assert "used, but not defined in any folder that copilog searches: Veteran\n" in ended.out


def test_skills_are_compared_with_the_definitions_of_the_machine(workshop: Path) -> None:
    ended = run("skills", "--archive", workshop, "--no-scan", "--json")

    assert {row["name"]: (row["loaded"], row["is_defined"]) for row in ended.json["skills"]} == {
        "knots": (1, True),
        "old": (1, False),
    }
    assert [row["name"] for row in ended.json["never_used"]] == ["stars"]
    assert ended.json["no_longer_defined"] == ["old"]
    assert ended.err == "2 skills in 2 turns of 1 conversation\n"


def test_with_named_roots_definitions_of_the_machine_are_not_read(machine: Path) -> None:
    write(machine / ".copilot/agents/helmsman.md")

    ended = run("agents", "--sample", "--json")

    assert ended.json["agents"]
    assert {row["is_defined"] for row in ended.json["agents"]} == {None}
    assert (ended.json["never_used"], ended.json["no_longer_defined"]) == ([], [])


@pytest.mark.parametrize("command", ["agents", "skills", "graph"])
def test_an_empty_machine_has_no_agents_or_skills(machine: Path, command: str) -> None:
    ended = run(command)

    assert (ended.code, ended.out) == (0, "")
    assert ended.err.endswith(
        "0 nodes, 0 edges\n" if command == "graph" else f"no {command[:-1]} in 0 turns of 0 conversations\n"
    )


def test_names_cannot_control_the_terminal(tmp_path: Path, machine: Path) -> None:
    nasty = "evil\x1b[31m\nsplit"
    with Archive(tmp_path / "nasty.db", write=True) as archive:
        store(archive, conversation("a", [turn(0, nasty, skills=[Skill(name=nasty, is_loaded=True)])]))

    for command in ("agents", "skills", "graph"):
        ended = run(command, "--archive", tmp_path / "nasty.db", "--no-scan")
        assert "evil" in ended.out
        assert "\x1b" not in ended.out
        assert "\nsplit" not in ended.out


# --- the graph --------------------------------------------------------------------------------------------------


def test_the_graph_is_printed_as_a_tree(workshop: Path) -> None:
    ended = run("graph", "--archive", workshop, "--no-scan")

    lines = ended.out.splitlines()
    assert lines[0].startswith("Planner  (agent, 1 turn, ")
    assert lines[1:6] == [
        "├─ hands over to Veteran  1×",
        "├─ loads knots  1×",
        "├─ loads old  1×",
        "├─ starts Explore  1×",
        "└─ uses edit_file  1×",
    ]
    assert "Veteran  (agent, 1 turn, defined nowhere)" in lines
    assert [line.split()[0] for line in lines[lines.index("defined, but never used") + 1 :]] == [
        "helmsman",
        "pilot",
        "stars",
    ]


def test_tools_are_printed_with_their_server(measured: Path) -> None:
    ended = run("graph", "--archive", measured, "--no-scan")

    assert "├─ uses github-create_issue of github  1×" in ended.out.splitlines()


@pytest.mark.parametrize("name", ["agents.svg", "agents.SVG"])
def test_the_file_name_determines_the_format(measured: Path, tmp_path: Path, name: str) -> None:
    ended = run("graph", "--archive", measured, "--no-scan", "-o", tmp_path / name)

    assert (ended.code, ended.out, ended.err) == (0, "", "11 nodes, 12 edges\n")
    assert ElementTree.parse(tmp_path / name).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_dot_and_json_have_names_too(measured: Path, tmp_path: Path) -> None:
    for name in ("agents.dot", "agents.gv", "agents.json", "agents.txt"):
        run("graph", "--archive", measured, "--no-scan", "-o", tmp_path / name)

    assert (tmp_path / "agents.dot").read_text().startswith("digraph copilog {")
    assert (tmp_path / "agents.gv").read_text() == (tmp_path / "agents.dot").read_text()
    assert len(json.loads((tmp_path / "agents.json").read_text())["nodes"]) == 11
    assert (tmp_path / "agents.txt").read_text(encoding="utf-8").startswith("(default)  (agent, 6 turns)\n")


def test_the_format_option_overrides_the_file_name(measured: Path, tmp_path: Path) -> None:
    run("graph", "--archive", measured, "--no-scan", "--format", "dot", "-o", tmp_path / "agents.svg")

    assert (tmp_path / "agents.svg").read_text().startswith("digraph")


def test_both_json_options_print_the_same(measured: Path) -> None:
    options = ("graph", "--archive", measured, "--no-scan")

    assert run(*options, "--json").json == run(*options, "--format", "json").json


def test_most_limits_the_graph_to_the_strongest_edges(measured: Path) -> None:
    ended = run("graph", "--archive", measured, "--no-scan", "--json", "--most", "2")

    assert [edge["times"] for edge in ended.json["edges"]] == [2, 2]
    assert ended.err == "4 nodes, 2 edges, the strongest of 12 (--most N for more or fewer)\n"


def test_a_graph_cannot_be_written_where_no_folder_is(measured: Path, tmp_path: Path) -> None:
    ended = run("graph", "--archive", measured, "--no-scan", "-o", tmp_path / "nowhere" / "agents.svg")

    assert ended.code == 2
    assert "there is no folder" in ended.err


# --- definitions on this machine --------------------------------------------------------------------------------


def test_definitions_of_workspaces_come_before_those_of_the_user(tmp_path: Path) -> None:
    write(tmp_path / "tides/.github/agents/planner.md")
    write(tmp_path / "home/agents/planner.md")
    write(tmp_path / "Code/User/prompts/pilot.agent.md")
    places = [
        Root("copilot-home", tmp_path / "home", None, "made up", True),
        Root("vscode", tmp_path / "Code", "Code", "made up", True),
        Root("vscode", tmp_path / "gone", "Code", "made up", False),
    ]

    found = definitions_on_this_machine([str(tmp_path / "tides"), str(tmp_path / "tides")], places)

    assert [(made.name, made.scope) for made in found] == [
        ("planner", "workspace"),
        ("planner", "user"),
        ("pilot", "user"),
    ]


def test_folders_of_other_machines_define_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "tides/.github/agents/planner.md")
    monkeypatch.chdir(tmp_path)

    strangers = [
        "tides",
        str(tmp_path / "gone"),
        "C:\\tides",
        "",
        "\0",
        str(tmp_path / "tides/.github/agents/planner.md"),
    ]

    assert definitions_on_this_machine(strangers, []) == []


# --- one agent, one skill -------------------------------------------------------------------------------------------


def test_one_agent_is_printed_with_its_text_and_cost() -> None:
    ended = run("--sample", "agents", "reviewer")

    assert "You review changes before they are merged." in ended.out
    assert "tokens recorded in 0, credits in 0 of 3 turns" in ended.out
    assert "outcomes: 1 failed, 2 unknown" in ended.out
    assert "Review the forecast cache" in ended.out


def test_one_skill_as_json_has_what_its_prompts_were_made_of() -> None:
    about = json.loads(run("--sample", "skills", "release", "--json").out)

    assert about["versions"][0]["text"] == "Follow docs/releasing.md from top to bottom."
    assert [row["category"] for row in about["composition"]] == ["User Context", "System", "System"]
    assert about["use"]["token_turns"] == 1
    assert [row["title"] for row in about["conversations"]] == ["Plan the 1.4 release"]


def test_the_json_of_all_has_their_cost() -> None:
    uses = {(row["kind"], row["name"]): row for row in json.loads(run("--sample", "agents", "--json").out)["uses"]}

    assert uses["custom", "Reviewer"]["outcomes"] == {"failed": 1, "unknown": 2}
    assert uses["custom", "Reviewer"]["spend"]["credits"] is None
    assert uses["custom", "release-helper"]["credit_turns"] == 1


@pytest.mark.parametrize("arguments", [["agents", "nobody"], ["skills", "nothing"], ["agents", "reviewer", "--csv"]])
def test_an_unknown_name_and_csv_of_one_are_errors(arguments: list[str]) -> None:
    assert run("--sample", *arguments).code == 2
