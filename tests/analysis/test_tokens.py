"""Tokens and cost of the measured corpus, worked out by hand, at made-up prices.

Dollars for a million tokens: gpt-5 2 in, 10 out, 0.2 from the cache; claude-sonnet-4.5 4, 20, 0.4; gpt-5-mini 1, 5,
0.1, and 2 into the cache. gpt-4.1 has no price. So:

harbour       turn 0   (4,000 x 2 + 8,000 x 0.2 + 600 x 10) / 1e6                       = 0.0156
              turn 1   (5,000 x 4 + 15,000 x 0.4 + 900 x 20) / 1e6                      = 0.044
              turn 2   estimated, (21,324 x 4 + 103 x 20) / 1e6: one call of Claude's, 1.25 x
                       (17,000 + 1.15 x 206 / 4 characters) in; out 40 + 1.1 x (200 and the
                       call's name and arguments, "edit_file" and 20) / 4               = 0.087356
lighthouse    turn 0   (3,600 x 1 + 12,000 x 0.1 + 2,400 x 2 + 600 x 5) / 1e6           = 0.0126
              turn 1   (1,800 x 1 + 6,000 x 0.1 + 1,200 x 2 + 300 x 5) / 1e6            = 0.0063
              Keeper   (600 x 1 + 2,000 x 0.1 + 400 x 2 + 100 x 5) / 1e6                = 0.0021
              compaction, of no turn   (5,000 x 1 + 200 x 5) / 1e6                      = 0.006
lighthouse-2  turn 1   a 13th of the session, (1,000 x 1 + 50 x 5) / 1e6                = 0.00125
"""

from __future__ import annotations

from pathlib import Path

import pytest

from copilog.analysis import breakdowns
from copilog.analysis.figures import OriginRow, Prices, ShareRow, SpendRow, TokensSection
from copilog.analysis.numbers import added
from copilog.analysis.selection import Chosen, Selection, choose
from copilog.analysis.tokens import spend_by, tokens
from copilog.errors import UsageError
from copilog.store.archive import Archive
from tests.measured import at

TIDES, LIGHTHOUSE = "/home/ana/tide-tables", "/home/ana/lighthouse"


@pytest.fixture
def section(chosen: Chosen, cache: Path) -> TokensSection:
    return tokens(chosen, cache=cache)


def names(rows: list[SpendRow]) -> list[str]:
    return [row.name for row in rows]


# --- the corpus -----------------------------------------------------------------------------------------------------


def test_everything_together(section: TokensSection) -> None:
    assert section.total == SpendRow(
        name="total",
        conversations=4,
        turns=8,  # the fork repeats one, and its tokens with it
        calls=5,  # two turns of lighthouse, one of these with a sub-agent; the compaction; the fork's own turn
        input=68_000,
        output=3_150,
        cache_read=43_000,
        cache_write=4_000,
        reasoning=300,
        cache_share=0.6935,  # 43,000 of the 62,000 that tell; the compaction and the fork do not
        estimated_input=21_324 + 5_000 + 5_200,  # two turns of one call each, whose prompt was recorded
        estimated_output=103,
        spread=31_000 + 1_050,
        premium_requests=3,
        unanswered_requests=1,  # the turn that ran into a limit
        spread_requests=1,  # of two turns of lighthouse, one of which was not answered
        credits=7,
        spread_credits=3,
        dollars=0.08785,
        estimated_dollars=0.087356,
        unpriced=400,
    )


def test_what_is_estimated_has_a_low_end(section: TokensSection) -> None:
    least = section.at_least

    assert least is not None
    assert 0.4 * 21_324 + 0.95 * 10_200 < least.input < 0.6 * 21_324 + 10_200  # two prompts were recorded
    assert least.output == 80  # 40 + 0.7 x 229 / 4
    assert least.dollars == pytest.approx(((least.input - 10_200) * 4 + 80 * 20) / 1e6)


def test_days_come_in_their_order(section: TokensSection) -> None:
    assert section.by_day == [
        SpendRow(
            name="2026-05-04",
            conversations=1,
            turns=2,
            input=32_000,
            output=1_500,
            cache_read=23_000,
            cache_share=0.7188,
            premium_requests=2,
            credits=3.5,
            dollars=0.0596,
            unpriced=0,
        ),
        SpendRow(
            name="2026-05-05",
            conversations=2,
            turns=3,
            calls=4,
            input=35_000,
            output=1_200,
            cache_read=20_000,
            cache_write=4_000,
            reasoning=300,
            cache_share=0.6667,
            estimated_input=21_324,
            estimated_output=103,
            spread=31_000,
            premium_requests=1,
            unanswered_requests=1,
            spread_requests=1,
            credits=3.5,
            spread_credits=3,
            dollars=0.027,
            estimated_dollars=0.087356,
            unpriced=0,
        ),
        SpendRow(
            name="2026-05-06",
            conversations=2,
            turns=3,
            calls=1,
            input=1_000,
            output=450,
            estimated_input=10_200,
            spread=1_050,
            premium_requests=0,
            unanswered_requests=0,
            dollars=0.00125,
            unpriced=400,
        ),
    ]


def test_models_with_and_without_a_price(section: TokensSection) -> None:
    rows = {row.name: row for row in section.by_model}

    assert list(rows) == ["claude-sonnet-4.5", "gpt-5-mini", "gpt-5", "gpt-4.1"]
    assert [row.dollars for row in rows.values()] == [0.044, 0.02825, 0.0156, None]
    assert rows["gpt-4.1"] == SpendRow(
        name="gpt-4.1",
        conversations=1,
        turns=2,
        output=400,
        estimated_input=10_200,
        premium_requests=0,
        unanswered_requests=0,
        unpriced=400,
    )
    assert rows["claude-sonnet-4.5"].credits == 2.5  # half a credit of the session is of the cancelled turn


def test_workspaces_and_conversations_with_the_dearest_first(section: TokensSection) -> None:
    assert [(row.name, row.conversations, row.turns, row.dollars) for row in section.by_workspace] == [
        (TIDES, 1, 3, 0.0596),
        (LIGHTHOUSE, 2, 3, 0.02825),
        ("(no workspace)", 1, 2, None),
    ]
    assert [(row.name, row.id, row.turns, row.input, row.dollars) for row in section.by_conversation] == [
        ("Tide tables", "vscode:harbour", 3, 32_000, 0.0596),
        ("Lighthouse", "cli:lighthouse", 2, 35_000, 0.027),
        ("Lighthouse, again", "cli:lighthouse-2", 1, 1_000, 0.00125),
        ("A pull request", "vscode:beacon", 2, None, None),
    ]


def test_turns_with_the_dearest_first(section: TokensSection) -> None:
    assert [(row.name, row.id, row.dollars, row.estimated_dollars) for row in section.by_turn] == [
        ("Tide tables #3", "vscode:harbour#3", None, 0.087356),
        ("Tide tables #2", "vscode:harbour#2", 0.044, None),
        ("Tide tables #1", "vscode:harbour#1", 0.0156, None),
        ("Lighthouse #1", "cli:lighthouse#1", 0.0126, None),
        ("Lighthouse #2", "cli:lighthouse#2", 0.0084, None),  # with what its sub-agent took
        ("Lighthouse, again #2", "cli:lighthouse-2#2", 0.00125, None),
        ("A pull request #1", "vscode:beacon#1", None, None),
        ("A pull request #2", "vscode:beacon#2", None, None),
    ]
    assert section.by_turn[4].output == 400


def test_agents_have_what_their_sub_agents_took(section: TokensSection) -> None:
    assert [(row.name, row.turns, row.output, row.dollars, row.estimated_dollars) for row in section.by_agent] == [
        ("Navigator", 2, 900, 0.044, 0.087356),
        ("(no agent)", 5, 1_650, 0.02825, None),
        ("agent", 1, 600, 0.0156, None),
    ]
    assert section.by_subagent == [
        SpendRow(
            name="Keeper",
            conversations=1,
            turns=1,
            calls=1,
            input=3_000,
            output=100,
            cache_read=2_000,
            cache_write=400,
            reasoning=30,
            cache_share=0.6667,
            spread=3_100,
            credits=0.3,
            spread_credits=0.3,
            dollars=0.0021,
            unpriced=0,
        )
    ]


def test_a_skill_has_the_turns_in_which_it_was_loaded(section: TokensSection) -> None:
    (chart_reading,) = section.by_skill  # the other was only offered

    assert chart_reading.name == "chart-reading"
    assert (chart_reading.turns, chart_reading.input, chart_reading.dollars) == (1, 20_000, 0.044)


def test_tools_are_estimated_by_what_went_in_and_came_out(section: TokensSection) -> None:
    edit, bash, read, *others = section.by_tool

    def row(name: str, given: int, answered: int, dollars: float) -> SpendRow:
        known = {"estimated_input": given, "estimated_output": answered, "estimated_dollars": dollars}
        return SpendRow(name=name, conversations=1, turns=2, **known)  # type: ignore[arg-type]

    # 20 bytes of arguments for claude-sonnet-4.5; results of 29 bytes for gpt-5-mini and of 10 for gpt-5
    assert edit == row("edit_file", 0, 5, 5 * 20 / 1e6)
    assert bash == row("bash", 8, 0, round(29 / 4 / 1e6, 9))
    assert read == row("read_file", 3, 0, 2.5 * 2 / 1e6)
    assert names(others) == ["github-create_issue", "runSubagent", "run_in_terminal", "task"]
    assert {(row.estimated_input, row.estimated_output, row.estimated_dollars) for row in others} == {(0, 0, 0.0)}


def test_where_the_numbers_stood(section: TokensSection) -> None:
    assert section.origins == [
        OriginRow(source="modelTotals", method="recorded", conversations=1, input=32_000, output=1_500),
        OriginRow(
            source="session.shutdown",
            method="spread",
            conversations=2,
            input=31_000,
            output=1_050,
            premium_requests=2,
            credits=3,
        ),
        OriginRow(source="replayed calls", method="estimated", conversations=2, input=31_524, output=103),
        OriginRow(source="session.compaction_complete", method="recorded", conversations=1, input=5_000, output=200),
        OriginRow(source="result.usage", method="recorded", conversations=1, output=400),
        OriginRow(source="details", method="recorded", conversations=2, premium_requests=2),
        OriginRow(source="request", method="recorded", conversations=1, credits=3.5),
        OriginRow(source="sessionCopilotCredits", method="recorded", conversations=1, credits=0.5),
    ]


def test_which_prices_were_used(section: TokensSection) -> None:
    assert section.prices == Prices(
        source="made up",
        date="2026-05-01",
        models={"claude-sonnet-4.5": "x/sonnet", "gpt-5": "x/gpt-5", "gpt-5-mini": "x/mini"},
        unpriced=["gpt-4.1"],
    )


def test_the_parts_of_prompts(section: TokensSection) -> None:
    assert section.composition == [
        ShareRow(category="Messages", label="Conversation", percent=50, turns=1),
        ShareRow(category="System", label="Instructions", percent=20, turns=1),
    ]


def test_every_table_adds_up_to_the_whole(section: TokensSection) -> None:
    for rows in (section.by_day, section.by_workspace, section.by_model, section.by_agent, section.by_conversation):
        assert sum(row.input or 0 for row in rows) == section.total.input
        assert sum(row.output or 0 for row in rows) == section.total.output
        assert sum(row.unpriced or 0 for row in rows) == section.total.unpriced
        assert sum(row.credits or 0 for row in rows) == pytest.approx(section.total.credits)
        assert sum(row.dollars or 0 for row in rows) == pytest.approx(section.total.dollars)
    both = added(section.total.input, section.total.estimated_input)
    assert sum(row.input or 0 for row in section.origins) == both


def test_outcomes_of_turns(section: TokensSection) -> None:
    rows = {row.name: (row.turns, row.credits) for row in section.by_outcome}

    # The edit of the cancelled turn was undone, too. The failed turn of beacon was asked again.
    assert {name: turns for name, (turns, _) in rows.items()} == {"kept": 1, "failed or cancelled": 3, "unknown": 4}
    assert (rows["kept"], rows["failed or cancelled"][1]) == ((1, 2.0), 0.5 + 3 * 400 / 1_000)


# --- other questions ------------------------------------------------------------------------------------------------


def test_a_period_takes_the_turns_in_it(archive: Archive, cache: Path) -> None:
    on_tuesday = choose(archive, Selection(since=at(5, "00:00:00"), until=at(6, "00:00:00")))

    section = tokens(on_tuesday, cache=cache)

    assert names(section.by_day) == ["2026-05-05"]
    assert (section.total.conversations, section.total.turns, section.total.input) == (2, 3, 35_000)
    assert section.by_skill == []


def test_without_prices_the_order_is_that_of_tokens(chosen: Chosen, cache: Path) -> None:
    section = tokens(chosen, prices=False, cache=cache)

    assert section.prices is None
    assert (section.total.dollars, section.total.estimated_dollars, section.total.unpriced) == (None, None, None)
    assert names(section.by_model) == ["claude-sonnet-4.5", "gpt-5-mini", "gpt-5", "gpt-4.1"]
    assert names(section.by_turn)[0] == "Tide tables #3"
    assert {row.estimated_dollars for row in section.by_tool} == {None}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("day", [("2026-05-04", 2), ("2026-05-05", 3), ("2026-05-06", 3)]),
        ("week", [("2026-05-04", 8)]),
        ("month", [("2026-05", 8)]),
        ("source", [("vscode-session", 5), ("cli-events", 3)]),
        ("subagent", [("Keeper", 1)]),
        ("skill", [("chart-reading", 1)]),
        ("tool", [("edit_file", 2), ("bash", 2)]),
        ("conversation", [("Tide tables", 3), ("Lighthouse", 2)]),
        ("turn", [("Tide tables #3", 1), ("Tide tables #2", 1)]),
    ],
)
def test_one_table_by_itself(by: str, expected: list[tuple[str, int]], chosen: Chosen, cache: Path) -> None:
    rows = spend_by(chosen, by, 2, cache=cache)

    assert [(row.name, row.turns) for row in rows] == expected


def test_what_cannot_be_summed_up_by_is_refused_with_what_can(chosen: Chosen, cache: Path) -> None:
    with pytest.raises(
        UsageError, match=r"'moon'; choose one of agent, branch, conversation, day, .*, week, workspace"
    ):
        spend_by(chosen, "moon", cache=cache)


def test_tables_of_names_are_cut_and_those_of_time_are_not(chosen: Chosen, cache: Path) -> None:
    section = tokens(chosen, limit=1, cache=cache)

    assert names(section.by_turn) == ["Tide tables #3"]
    assert [len(rows) for rows in (section.by_model, section.by_tool, section.by_conversation)] == [1, 1, 1]
    assert len(section.by_day) == 3
    assert section.prices is not None
    assert section.prices.unpriced == ["gpt-4.1"]


def test_the_dearest_turns_are_found_among_any_number(
    chosen: Chosen, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = tokens(chosen, limit=None, cache=cache).by_turn
    monkeypatch.setattr(breakdowns, "MANY", 0)  # so that they are compared after each conversation

    assert len(every) == 8
    assert tokens(chosen, limit=3, cache=cache).by_turn == every[:3]


def test_an_archive_that_may_only_be_read_can_be_measured(archive: Archive, cache: Path) -> None:
    with Archive(archive.path) as opened:
        chosen = choose(opened)

        assert tokens(chosen, cache=cache).total.input == 68_000
        assert not opened.connection.in_transaction


def test_nothing_gives_nothing(tmp_path: Path, cache: Path) -> None:
    with Archive(tmp_path / "empty.db", write=True) as empty:
        section = tokens(choose(empty), cache=cache)

    assert section.total == SpendRow(name="total")
    assert [section.by_day, section.by_tool, section.composition, section.origins] == [[], [], [], []]
    assert section.prices == Prices(source="made up", date="2026-05-01")
