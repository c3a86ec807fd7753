"""What is known of one agent or skill: texts over time, names, cost, outcomes, tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from copilog.analysis.about_agents import about_agent, about_skill, conversations_with
from copilog.analysis.agent_costs import uses_of
from copilog.analysis.agents import agents
from copilog.analysis.selection import Chosen, Selection, choose
from copilog.analysis.tokens import spend_by
from copilog.definitions import Definition
from copilog.errors import UsageError
from copilog.model import (
    Attachment,
    Conversation,
    CustomAgent,
    Message,
    PromptShare,
    Skill,
    Timing,
    ToolCall,
    Turn,
    Usage,
)
from copilog.store.archive import Archive
from tests.analysis.agent_turns import call, calls, conversation, store, turn
from tests.measured import at

FIRST = "You are the pilot. Read the tide table before you say anything about a port."
SECOND = f"{FIRST}\nName the table that you have read."


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "empty.db", write=True) as archive:
        yield archive


def told(index: int, name: str, text: str, *, day: int, tools: list[str] | None = None, **fields: object) -> Turn:
    return Turn(
        index=index,
        status="complete",
        custom_agent=CustomAgent(name=name, instructions=text, tools=tools or [], evidence="modeInfo"),
        timing=Timing(started_at=at(day, f"09:{index:02}:00")),
        **fields,  # type: ignore[arg-type]
    )


def file(name: str, body: str, kind: str = "agent") -> Definition:
    return Definition(kind=kind, name=name, path=f"/home/ana/.copilot/agents/{name}.md", body=body)  # type: ignore[arg-type]


def renamed(empty: Archive) -> Chosen:
    return store(
        empty,
        conversation("a", [told(0, "Pilot", FIRST, day=4), told(1, "Pilot", SECOND, day=4)], day=4),
        conversation("b", [told(0, "Navigator", SECOND, day=9)], calls(0, call("c1", "edit_file")), day=9),
    )


def test_a_renamed_agent_is_one_agent_with_both_names(empty: Archive) -> None:
    [row] = agents(renamed(empty)).agents

    assert (row.name, row.also_named, row.turns, row.conversations, row.tool_calls) == ("Navigator", ["Pilot"], 3, 2, 1)


def test_each_name_leads_to_the_same_agent(empty: Archive) -> None:
    chosen = renamed(empty)

    by_old, by_new = (about_agent(chosen, empty, "custom", name) for name in ("pilot", "NAVIGATOR"))

    assert by_old == by_new
    assert [(row.id, row.amount) for row in conversations_with(chosen, by_old).rows] == [
        ("vscode:a", 2),
        ("vscode:b", 1),
    ]


def test_a_renamed_agent_has_one_line_in_the_spending(empty: Archive) -> None:
    usage = Usage(input=100, output=10, source="modelTotals")
    chosen = store(
        empty,
        conversation("a", [told(0, "Pilot", FIRST, day=4, usage=[usage])], day=4),
        conversation("b", [told(0, "Navigator", FIRST, day=9, usage=[usage])], day=9),
    )

    assert [(row.name, row.input) for row in spend_by(chosen, "agent", prices=False)] == [("Navigator", 200)]
    use = uses_of(chosen, prices=False).of("custom", "Navigator")
    assert use is not None
    assert use.spend is not None
    assert (use.spend.input, use.turns, use.token_turns, use.credit_turns) == (200, 2, 2, 0)


def test_agents_with_one_text_that_are_used_side_by_side_stay_two(empty: Archive) -> None:
    chosen = store(
        empty,
        conversation("a", [told(0, "Pilot", FIRST, day=4)], day=4),
        conversation("b", [told(0, "Navigator", FIRST, day=9)], day=9),
        conversation("c", [told(0, "Pilot", FIRST, day=10)], day=10),
    )

    assert [row.name for row in agents(chosen).agents] == ["Pilot", "Navigator"]


def test_a_short_text_joins_nothing(empty: Archive) -> None:
    chosen = store(
        empty,
        conversation("a", [told(0, "Pilot", "Be brief.", day=4)], day=4),
        conversation("b", [told(0, "Navigator", "Be brief.", day=9)], day=9),
    )

    assert [row.name for row in agents(chosen).agents] == ["Navigator", "Pilot"]


def test_the_name_does_not_depend_on_the_period(empty: Archive) -> None:
    renamed(empty)
    chosen = choose(empty, Selection(until=at(5, "00:00:00")))

    assert [(row.name, row.turns) for row in agents(chosen).agents] == [("Navigator", 2)]


def test_a_file_that_was_renamed_and_not_used_since_is_the_same_agent(empty: Archive) -> None:
    chosen = store(empty, conversation("a", [told(0, "Pilot", FIRST, day=4)], day=4))

    section = agents(chosen, [file("Navigator", FIRST)])

    [row] = section.agents
    assert (row.name, row.also_named, row.is_defined) == ("Pilot", ["Navigator"], True)
    assert row.path is not None
    assert row.path.endswith("Navigator.md")
    assert (section.never_used, section.no_longer_defined) == ([], [])


def test_versions_are_the_distinct_texts_with_their_differences(empty: Archive) -> None:
    chosen = renamed(empty)
    third = SECOND.replace("table", "chart")

    about = about_agent(chosen, empty, "custom", "Navigator", [file("Navigator", third)])

    assert [(version.text, version.turns, version.names) for version in about.versions] == [
        (third, 0, ["Navigator"]),
        (SECOND, 2, ["Pilot", "Navigator"]),
        (FIRST, 1, ["Pilot"]),
    ]
    assert about.versions[1].diff is not None
    assert "+Name the table that you have read." in about.versions[1].diff
    assert about.versions[2].diff is None
    assert about.versions[1].first_at == "2026-05-04T09:01:00.000Z"
    assert about.versions[1].last_at == "2026-05-09T09:00:00.000Z"
    assert about.versions[0].first_at is None
    assert [made.path for made in about.definitions] == ["/home/ana/.copilot/agents/Navigator.md"]


def test_the_tools_that_it_called_are_its_own(empty: Archive) -> None:
    chosen = renamed(empty)

    about = about_agent(chosen, empty, "custom", "Navigator")

    assert [(row.name, row.times) for row in about.tools] == [("edit_file", 1)]


def test_what_is_only_defined_has_its_file_and_no_figures(empty: Archive) -> None:
    about = about_agent(store(empty), empty, "custom", "idle", [file("Idle", FIRST)])

    assert (about.name, about.agent, about.use) == ("Idle", None, None)
    assert [version.text for version in about.versions] == [FIRST]


def test_what_is_neither_used_nor_defined_is_an_error(empty: Archive) -> None:
    chosen = store(empty)
    with pytest.raises(UsageError, match="no agent is called 'Nobody'"):
        about_agent(chosen, empty, "custom", "Nobody", [])
    with pytest.raises(UsageError, match="no skill is called 'nothing'"):
        about_skill(chosen, empty, "nothing", [])


def skilled(name: str, text: str, *, day: int, resource: bool = False) -> Conversation:
    loaded = Skill(name="tides", is_loaded=True, evidence="skill resource; tool call" if resource else "tool call")
    asked = Turn(
        index=0,
        status="complete",
        skills=[loaded, Skill(name="buoys", evidence="prompt index")],
        usage=[
            Usage(
                by_category=[PromptShare(category="System", percent=60.0), PromptShare(category="Files", percent=40.0)]
            )
        ],
        timing=Timing(started_at=at(day, "09:00:00")),
    )
    parts = [Attachment(type="skill", name="tides", text=f"---\nname: tides\n---\n{text}")]
    return conversation(name, [asked, turn(1, day=day)], Message(role="user", turn=0, parts=list(parts)), day=day)


def test_a_skill_has_its_versions_and_what_its_prompts_were_made_of(empty: Archive) -> None:
    chosen = store(empty, skilled("a", FIRST, day=4), skilled("b", SECOND, day=5, resource=True))

    about = about_skill(chosen, empty, "Tides")

    assert [version.text for version in about.versions] == [SECOND, FIRST]
    assert about.skill is not None
    assert (about.skill.offered, about.skill.loaded, about.resource_turns) == (1, 2, 1)
    assert [(row.category, row.percent, row.turns) for row in about.composition] == [
        ("System", 60.0, 2),
        ("Files", 40.0, 2),
    ]
    assert about.composition_turns == 2
    assert about.use is not None
    assert about.use.outcomes == {"unknown": 2}
    assert [row.id for row in conversations_with(chosen, about).rows] == ["vscode:b", "vscode:a"]


def test_a_skill_that_was_only_offered_leads_to_where_it_was_offered(empty: Archive) -> None:
    chosen = store(empty, skilled("a", FIRST, day=4))

    about = about_skill(chosen, empty, "buoys")

    assert (about.versions, about.composition, about.composition_turns) == ([], [], 0)
    assert [row.id for row in conversations_with(chosen, about).rows] == ["vscode:a"]


def test_calls_inside_a_sub_agent_are_not_those_of_the_agent(empty: Archive) -> None:
    started = ToolCall(id="s1", name="runSubagent", status="complete")
    chosen = store(
        empty,
        conversation(
            "a",
            [told(0, "Pilot", FIRST, day=4)],
            calls(0, started, call("c1", "read_file")),
            calls(0, call("c2", "edit_file"), inside="s1"),
        ),
    )

    assert [row.name for row in about_agent(chosen, empty, "custom", "Pilot").tools] == ["read_file", "runSubagent"]


def test_the_text_of_an_undone_turn_is_no_version(empty: Archive) -> None:
    undone = told(1, "Pilot", SECOND, day=4)
    undone.superseded = "undone"
    chosen = store(empty, conversation("a", [told(0, "Pilot", FIRST, day=4), undone], day=4))

    assert [version.text for version in about_agent(chosen, empty, "custom", "Pilot").versions] == [FIRST]
