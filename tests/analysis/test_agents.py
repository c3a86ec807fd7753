"""Agents that ran, and how they handed over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from copilog.analysis.agents import agents
from copilog.analysis.defined_usage import AGENTS, Defined, DefinedInPart
from copilog.analysis.figures import AgentRow, AgentsSection, DefinedRow, HandoverRow
from copilog.analysis.selection import Chosen, Selection, choose
from copilog.definitions import Definition
from copilog.store.archive import Archive
from tests.analysis.agent_turns import call, calls, conversation, defined, start, store, turn
from tests.measured import at


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "empty.db", write=True) as archive:
        yield archive


def test_every_kind_of_agent_is_counted(chosen: Chosen) -> None:
    assert agents(chosen).agents == [
        AgentRow(
            name="agent",
            kind="participant",
            turns=3,
            conversations=1,
            tool_calls=6,  # a0 to a3, a5 and a6; a4 is the sub-agent's
            failed=0,
            last_at="2026-05-05T10:00:00.000Z",
            evidence=["recorded"],
        ),
        AgentRow(
            name="Navigator",
            kind="custom",
            turns=2,
            conversations=1,
            tool_calls=3,  # a3, a5, a6
            failed=0,
            last_at="2026-05-05T10:00:00.000Z",
            evidence=["modeInfo"],
        ),
        AgentRow(
            name="Keeper",
            kind="subagent",
            turns=1,
            conversations=1,
            tool_calls=1,  # b3
            failed=0,
            last_at="2026-05-05T10:10:00.000Z",
            evidence=["task"],
        ),
        AgentRow(
            name="Sounder",
            kind="subagent",
            turns=1,
            conversations=1,
            tool_calls=1,  # a4
            failed=0,
            last_at="2026-05-04T09:05:00.000Z",
            evidence=["runSubagent"],
        ),
    ]


def test_hand_overs_name_both_agents(chosen: Chosen) -> None:
    assert agents(chosen).handovers == [
        HandoverRow(before="(default)", after="Keeper", kind="subagent", times=1),
        HandoverRow(before="(default)", after="Navigator", kind="switch", times=1),
        HandoverRow(before="Navigator", after="Sounder", kind="subagent", times=1),
    ]


def test_a_period_counts_its_own_turns(archive: Archive) -> None:
    found = agents(choose(archive, Selection(since=at(5, "00:00:00"), until=at(5, "10:05:00"))))

    assert [(row.name, row.turns, row.tool_calls) for row in found.agents] == [("Navigator", 1, 1), ("agent", 1, 1)]
    assert found.handovers == []


def test_a_switch_of_agents_at_the_start_of_a_period_counts(empty: Archive) -> None:
    store(empty, conversation("a", [turn(0), turn(1, "Planner", day=5)]))

    found = agents(choose(empty, Selection(since=at(5, "00:00:00"))))

    assert [(row.before, row.after) for row in found.handovers] == [("(default)", "Planner")]


def test_turns_that_a_fork_repeats_count_once(empty: Archive) -> None:
    first = turn(0, "Planner", request_id="same")
    chosen = store(
        empty,
        conversation("a", [first]),
        conversation("b", [first, turn(1, "Builder", request_id="new")], day=5),
    )

    found = agents(chosen)

    assert [(row.name, row.turns, row.conversations) for row in found.agents] == [("Builder", 1, 1), ("Planner", 1, 1)]
    assert found.handovers == [HandoverRow(before="Planner", after="Builder", kind="switch", times=1)]


def test_requests_of_the_product_itself_are_no_switch_of_agents(empty: Archive) -> None:
    turns = [turn(0, "Planner"), turn(1, is_system=True), turn(2, "Planner")]

    assert agents(store(empty, conversation("a", turns))).handovers == []


def test_spellings_of_a_name_are_one_agent(empty: Archive) -> None:
    turns = [turn(0, "planner"), turn(1, "Planner", status="failed"), turn(2, "Planner")]

    found = agents(store(empty, conversation("a", turns), conversation("b", [turn(0, "PLANNER")])))

    assert [(row.name, row.turns, row.conversations, row.failed) for row in found.agents] == [("Planner", 4, 2, 1)]
    assert found.handovers == []


def test_evidence_is_shown_without_file_names(empty: Archive) -> None:
    turns = [
        turn(0, "Planner", evidence="modeInstructions, defined in /home/ana/tide-tables/.github/agents/planner.md"),
        turn(1, "Planner", evidence="@mention"),
        turn(2, "Planner", evidence="@mention"),
    ]

    assert agents(store(empty, conversation("a", turns))).agents[0].evidence == ["@mention", "modeInstructions"]


def test_an_agent_without_a_name_is_an_agent(empty: Archive) -> None:
    nameless = turn(0, "x", evidence="customInstructions")
    assert nameless.custom_agent is not None
    nameless.custom_agent.name = None

    found = agents(store(empty, conversation("a", [nameless])), [])

    assert [(row.name, row.kind, row.is_defined) for row in found.agents] == [("(unnamed)", "custom", None)]
    assert found.no_longer_defined == []


def test_a_sub_agent_may_start_another(empty: Archive) -> None:
    made = conversation(
        "a",
        [turn(0, "Planner")],
        calls(0, start("one", "Scout"), start("two", None)),
        calls(0, start("three", "Scout", is_failed=True), call("four", "read_file"), inside="two"),
        calls(0, call("five", "read_file"), inside="three"),
        calls(0, call("six", "read_file"), inside="nobody knows"),
    )

    found = agents(store(empty, made))

    assert [(row.name, row.turns, row.failed, row.tool_calls) for row in found.agents] == [
        ("Scout", 2, 1, 1),
        ("(unnamed)", 1, 0, 3),
        ("Planner", 1, 0, 2),
    ]
    assert [(row.before, row.after, row.times) for row in found.handovers] == [
        ("(unnamed)", "Scout", 1),
        ("Planner", "(unnamed)", 1),
        ("Planner", "Scout", 1),
    ]


# --- definitions ------------------------------------------------------------------------------------------------


def test_agents_undefined_in_named_folders_are_not_reported_as_missing() -> None:
    shelf = Defined(DefinedInPart([Definition(kind="agent", name="Pilot", path="/a")]), AGENTS)

    assert [shelf.is_defined(name) for name in ("pilot", "helmsman")] == [True, None]
    assert shelf.missing(["pilot", "helmsman"]) == []


def test_definitions_are_compared_with_the_agents_that_ran(chosen: Chosen) -> None:
    found = agents(
        chosen, [defined("navigator"), defined("Helmsman", "mode"), defined("Helmsman"), defined("knots", "skill")]
    )

    rows = {row.name: (row.is_defined, row.path) for row in found.agents}
    assert rows == {
        "agent": (None, None),  # participants come with extensions
        "Navigator": (True, "/home/ana/tide-tables/.github/agents/navigator.md"),
        "Keeper": (False, None),
        "Sounder": (False, None),
    }
    assert found.never_used == [
        DefinedRow(name="Helmsman", path="/home/ana/tide-tables/.github/agents/Helmsman.md", scope="workspace"),
        DefinedRow(name="Helmsman", path="/home/ana/tide-tables/.github/modes/Helmsman.md", scope="workspace"),
    ]
    assert found.no_longer_defined == ["Keeper", "Sounder"]


def test_an_agent_that_ran_as_a_sub_agent_was_used(chosen: Chosen) -> None:
    assert agents(chosen, [defined("SOUNDER")]).never_used == []


def test_nothing_is_missing_without_a_list_of_definitions(chosen: Chosen) -> None:
    found = agents(chosen)

    assert {row.is_defined for row in found.agents} == {None}
    assert found.no_longer_defined == []


def test_agents_that_come_with_copilot_need_no_definition(empty: Archive) -> None:
    made = conversation("a", [turn(0)], calls(0, start("one", "Explore"), start("two", "general-purpose")))

    found = agents(store(empty, made), [])

    assert [row.is_defined for row in found.agents] == [None, None]
    assert found.no_longer_defined == []


def test_a_limit_cuts_every_table(chosen: Chosen) -> None:
    found = agents(chosen, [defined("Helmsman"), defined("Pilot")], limit=1)

    assert [len(getattr(found, name)) for name in AgentsSection.__struct_fields__] == [1, 1, 1, 1]
    assert len(agents(chosen, limit=None).agents) == 4


def test_nothing_gives_nothing(empty: Archive) -> None:
    assert agents(choose(empty)) == AgentsSection(agents=[], handovers=[], never_used=[], no_longer_defined=[])
