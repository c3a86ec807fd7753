"""`copilog why`: the answer on a repository whose conversations are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from copilog.model import CheckpointDocument, Confirmation, Message, PlanDocument, Question, Terminal, Text, ToolCall
from tests.analysis.made_up_edits import AFTER, BEFORE, Repo, Shelf, after, conversation_with, edit
from tests.cli.homes import Outcome, run


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "tide-tables")
    made.commit("low water", hours=-24, src__tides_py=BEFORE)
    made.commit("Add high water\n\nIn metres.", hours=2, src__tides_py=AFTER)
    return made


@pytest.fixture
def archive(repo: Repo, tmp_path: Path) -> Path:
    tides = repo.folder / "src" / "tides.py"
    question = Question(text="Which unit?", options=["metres", "feet"], answer="metres")
    conversation = conversation_with(
        "harbour-1",
        [],
        [Confirmation(type="questions", questions=[question]), edit(tides, BEFORE, AFTER)],
        [],
        folder=repo.folder,
        title="Spring tides",
        documents=[
            PlanDocument(text="# Plan\n\nNothing.\n\n- high water in src/tides.py\n- then a chart"),
            CheckpointDocument(title="Other", text="About boats."),
        ],
    )
    conversation.messages[2].parts = [Text(text="Add the high water of spring tides.")]
    for number, code in enumerate((1, 0)):
        call = ToolCall(id=f"r{number}", name="bash", arguments='{"command": "pytest"}', status="complete")
        terminal = Terminal(call_id=f"r{number}", command=f"pytest -{number}", exit_code=code)
        conversation.messages.insert(
            4 + number, Message(role="assistant", parts=[call, terminal], turn=1, created_at=after(1))
        )
    Shelf(tmp_path).put(conversation).close()
    return tmp_path / "archive.db"


def asked(archive: Path, *arguments: object) -> Outcome:
    return run("why", *arguments, "--archive", archive, "--no-scan")


def test_line_is_explained_by_conversation_prompt_question_plan_commit_and_command(archive: Path, repo: Repo) -> None:
    found = asked(archive, repo.folder / "src" / "tides.py:6", "--json").json

    assert (found["origin"]["conversation"], found["number"]) == ("vscode:harbour-1", 2)
    assert found["prompt"] == "Add the high water of spring tides."
    assert [(item["text"], item["answer"]) for item in found["considered"]] == [("Which unit?", "metres")]
    assert [(item["kind"], item["excerpt"]) for item in found["records"]] == [
        ("plan", "- high water in src/tides.py\n- then a chart")
    ]
    assert found["commit"]["subject"] == "Add high water"
    assert [(item["command"], item["exit_code"]) for item in found["commands"]] == [("pytest -0", 1), ("pytest -1", 0)]
    assert found["verified_by"]["command"] == "pytest -1"
    assert "doubts" not in found or found["doubts"] == []


def test_answer_for_people(archive: Path, repo: Repo) -> None:
    outcome = asked(archive, repo.folder / "src" / "tides.py:6")

    assert outcome.code == 0
    assert "  prompt: Add the high water of spring tides." in outcome.out
    assert "  asked (metres, feet): Which unit?\n    answer: metres" in outcome.out
    assert "  ran after it: $ pytest -1  (exit 0, turn 2)  the first that succeeded" in outcome.out


def test_line_that_no_conversation_wrote(archive: Path, repo: Repo) -> None:
    outcome = asked(archive, repo.folder / "src" / "tides.py:3")

    assert outcome.code == 1
    assert "no conversation is found that wrote it" in outcome.out
    assert "doubt: no recorded edit contains this line" in outcome.out
    assert "  low water" in outcome.out  # the commit that git blames


def test_one_line_must_be_named(archive: Path, repo: Repo) -> None:
    assert asked(archive, repo.folder / "src" / "tides.py").code == 2
    assert asked(archive, repo.folder / "src" / "tides.py:1-2").code == 2
