"""Skills that were loaded and skills that were only offered are told apart on every surface."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from copilog.model import Conversation, Message, Skill, Text, Turn
from copilog.view.blocks import TurnFoot
from copilog.view.conversation_info import facts_of
from tests.view.surfaces import WRITERS

SKILLS = [
    Skill(name="tides", is_loaded=True, evidence="tool call"),
    Skill(name="buoys", evidence="prompt index"),
    Skill(name="charts", evidence="prompt index"),
]


def conversation() -> Conversation:
    messages = [
        Message(role="user", turn=0, parts=[Text(text="When is high water?")]),
        Message(role="assistant", turn=0, parts=[Text(text="At nine.")]),
    ]
    turn = Turn(index=0, status="complete", skills=SKILLS)
    return Conversation(id="vscode:a", source="vscode-session", turns=[turn], messages=messages)


@pytest.mark.parametrize("surface", WRITERS.values(), ids=WRITERS)
def test_loaded_and_offered_skills_are_told_apart(surface: Callable[[Conversation], str]) -> None:
    text = surface(conversation())

    assert "skills loaded: tides" in text
    assert "skills offered, not loaded: buoys, charts" in text


def test_the_panel_tells_them_apart() -> None:
    facts = dict(facts_of(conversation()))

    assert facts["Skills loaded"] == "tides"
    assert facts["Skills offered"] == "buoys · charts"


def test_of_many_offered_skills_the_first_are_named() -> None:
    foot = TurnFoot(turn=0, offered_skills=[f"skill {number}" for number in range(8)])

    assert foot.skill_facts() == ["skills offered, not loaded: skill 0, skill 1, skill 2, skill 3, skill 4 and 3 more"]
    assert foot.skill_facts(None)[0].endswith("skill 6, skill 7")
