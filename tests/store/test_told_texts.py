"""What agents and skills were told: a row for each turn, and the text again from the conversation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from copilog.model import (
    AnyPart,
    Attachment,
    Conversation,
    CustomAgent,
    Message,
    Place,
    Prompt,
    Skill,
    SkillDocument,
    ToolCall,
    ToolResult,
    Turn,
)
from copilog.store.archive import Archive
from copilog.store.told_texts import ToldText, digest_of, text_with_digest, told_texts
from tests.stored import concluded_entry

BODY = "Read the tide table before you answer, and say which port it is of."
FILE = f"---\nname: tides\n---\n{BODY}\n"
PATH = "/home/ana/tide-tables/.github/skills/tides/SKILL.md"


def skilled(*parts: AnyPart, role: str = "tool") -> Conversation:
    turn = Turn(index=0, skills=[Skill(name="tides", file=PATH, is_loaded=True)])
    message = Message(role=role, turn=0, parts=list(parts))  # type: ignore[arg-type]
    return Conversation(id="vscode:a", source="vscode-session", turns=[turn], messages=[message])


def read(result: str, **arguments: object) -> list[AnyPart]:
    call = ToolCall(id="c1", name="read_file", status="complete", arguments=json.dumps({"filePath": PATH, **arguments}))
    return [call, ToolResult(call_id="c1", text=result)]


def test_the_instructions_of_each_turn_are_found() -> None:
    agents = [CustomAgent(name="Pilot", instructions=text, tools=["edit"], uri="file:///p.md") for text in ("a", "b")]
    turns = [Turn(index=number, custom_agent=agent) for number, agent in enumerate(agents)]

    told = list(told_texts(Conversation(id="vscode:a", source="vscode-session", turns=turns)))

    assert told == [
        ToldText(0, "agent", "Pilot", "a", "file:///p.md", ("edit",)),
        ToldText(1, "agent", "Pilot", "b", "file:///p.md", ("edit",)),
    ]


@pytest.mark.parametrize(
    "made",
    [
        skilled(Attachment(type="skill", name="tides", text=FILE, place=Place(path=PATH))),
        skilled(*read(FILE)),
        skilled(
            Prompt(text=f'<skill-context name="tides">\nBase directory for this skill: /x\n\n{BODY}</skill-context>')
        ),
    ],
    ids=["attachment", "file", "context"],
)
def test_the_text_of_a_skill_is_found_however_it_was_loaded(made: Conversation) -> None:
    [told] = told_texts(made)

    assert (told.kind, told.name, told.text, told.file) == ("skill", "tides", BODY, PATH)


def test_a_document_of_a_skill_belongs_to_no_turn() -> None:
    made = skilled()
    made.documents = [SkillDocument(title="tides", text=FILE, path=PATH)]

    assert list(told_texts(made)) == [ToldText(None, "skill", "tides", BODY, PATH)]


@pytest.mark.parametrize(
    "made",
    [
        skilled(*read(FILE, startLine=1, endLine=2)),
        skilled(*read("no front matter: perhaps an error")),
        skilled(ToolResult(call_id="c2", text=f'cat notes.md\n<skill-context name="tides">{BODY}</skill-context>')),
        skilled(Prompt(text=f'<skill-context name="tides">{BODY}</skill-context>'), role="assistant"),
    ],
    ids=["part of a file", "no front matter", "quoted", "said by the model"],
)
def test_other_texts_are_not_those_of_a_skill(made: Conversation) -> None:
    assert list(told_texts(made)) == []


def test_white_space_makes_no_other_text() -> None:
    assert digest_of("a  b\n") == digest_of("a b")
    assert digest_of("a b") != digest_of("a c")


def test_rows_are_stored_and_lead_back_to_the_text(tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db", write=True) as archive:
        archive.put(concluded_entry(skilled(*read(FILE))), "1")
        [(kind, name, digest, characters)] = archive.connection.execute(
            "SELECT kind, name, digest, characters FROM told_texts"
        )
        found = text_with_digest(archive.get("vscode:a"), digest)

    assert (kind, name, characters) == ("skill", "tides", len(BODY))
    assert found is not None
    assert found.text == BODY
