"""Which skills were offered, and which were loaded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from copilog.analysis.figures import DefinedRow, SkillRow
from copilog.analysis.selection import Chosen, Selection, choose
from copilog.analysis.skills import skills
from copilog.model import Skill
from copilog.store.archive import Archive
from tests.analysis.agent_turns import conversation, defined, store, turn
from tests.measured import at


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "empty.db", write=True) as archive:
        yield archive


def loaded(evidence: str, name: str = "knots", file: str | None = None) -> Skill:
    return Skill(name=name, file=file, is_loaded=True, evidence=evidence)


def offered(name: str = "knots") -> Skill:
    return Skill(name=name, evidence="prompt index")


def test_what_was_offered_and_what_was_loaded(chosen: Chosen) -> None:
    found = skills(chosen)

    assert found.skills == [
        SkillRow(
            name="chart-reading",
            offered=0,
            loaded=1,
            conversations=1,
            last_at="2026-05-04T09:05:00.000Z",
            evidence={"file read": 1},
            path="skills/chart-reading/SKILL.md",
        ),
        SkillRow(name="buoy-care", offered=1, loaded=0, conversations=0, last_at=None, evidence={}),
    ]
    assert (found.never_used, found.no_longer_defined) == ([], [])


def test_a_period_counts_its_own_turns(archive: Archive) -> None:
    assert skills(choose(archive, Selection(since=at(5, "00:00:00")))).skills == []


def test_a_skill_that_an_index_offered_and_a_tool_loaded_counts_as_both(empty: Archive) -> None:
    turns = [
        turn(0, skills=[loaded("prompt index; tool call; SKILL.md read")]),
        turn(1, skills=[loaded("tool call")]),
        turn(2, skills=[offered()]),
    ]

    (row,) = skills(store(empty, conversation("a", turns))).skills

    assert (row.offered, row.loaded) == (2, 2)
    assert row.evidence == {"tool call": 2, "SKILL.md read": 1}
    assert row.last_at == "2026-05-04T09:01:00.000Z"


def test_loading_without_evidence_is_reported_as_such(empty: Archive) -> None:
    (row,) = skills(store(empty, conversation("a", [turn(0, skills=[loaded("")])]))).skills

    assert row.evidence == {"unknown": 1}


def test_conversations_are_those_that_loaded_it(empty: Archive) -> None:
    chosen = store(
        empty,
        conversation("a", [turn(0, skills=[loaded("tool call")]), turn(1, skills=[loaded("tool call")])]),
        conversation("b", [turn(0, skills=[offered()])]),
        conversation("c", [turn(0, skills=[loaded("slash command", "Knots")])]),
    )

    (row,) = skills(chosen).skills

    assert (row.name, row.offered, row.loaded, row.conversations) == ("knots", 1, 3, 2)


def test_the_path_is_that_of_the_definition_else_the_one_recorded_most(empty: Archive) -> None:
    turns = [
        turn(0, skills=[loaded("tool call", file="/home/ana/old/SKILL.md")]),
        turn(1, skills=[loaded("tool call", file="/home/ana/knots/SKILL.md")]),
        turn(2, skills=[loaded("tool call", file="/home/ana/knots/SKILL.md")]),
    ]
    chosen = store(empty, conversation("a", turns))
    made = defined("Knots", "skill")

    assert skills(chosen).skills[0].path == "/home/ana/knots/SKILL.md"
    assert skills(chosen, [made]).skills[0].path == made.path


def test_definitions_are_compared_with_the_skills_that_were_loaded(chosen: Chosen) -> None:
    found = skills(chosen, [defined("Buoy-Care", "skill"), defined("chart-reading"), defined("explore", "prompt")])

    assert [(row.name, row.is_defined) for row in found.skills] == [("chart-reading", False), ("buoy-care", True)]
    assert found.never_used == [
        DefinedRow(name="Buoy-Care", path="/home/ana/tide-tables/.github/skills/Buoy-Care/SKILL.md", scope="workspace")
    ]
    assert found.no_longer_defined == ["chart-reading"]


def test_a_limit_cuts_every_table(chosen: Chosen) -> None:
    found = skills(chosen, [defined("a", "skill"), defined("b", "skill")], limit=1)

    assert (len(found.skills), len(found.never_used), len(found.no_longer_defined)) == (1, 1, 1)
