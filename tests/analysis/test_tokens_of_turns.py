"""Tokens and cost of made-up turns with unusual records: two models, no time, skills of the same turn, huge numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from copilog.analysis.figures import ShareRow, TokensSection
from copilog.analysis.selection import choose
from copilog.analysis.tokens import tokens
from copilog.model import Conversation, Message, Model, PromptShare, Skill, Text, Timing, Turn, Usage
from copilog.store.archive import Archive
from tests.measured import at
from tests.stored import concluded_entry

# --- corner cases ---------------------------------------------------------------------------------------------------


def measured(folder: Path, *turns: Turn, cache: Path) -> TokensSection:
    """Figures of one conversation of these turns, each with a short answer."""
    messages = [
        Message(role=role, turn=turn.index, parts=[Text(text="tide")])
        for turn in turns
        for role in ("user", "assistant")
    ]
    conversation = Conversation(
        id="vscode:ferry", source="vscode-session", title="Ferry", turns=list(turns), messages=messages
    )
    with Archive(folder / "small.db", write=True) as archive:
        archive.put(concluded_entry(conversation), "made up")
        return tokens(choose(archive, now=datetime(2026, 5, 7, tzinfo=UTC)), cache=cache)


def turn_of(
    index: int, *usages: Usage, day: int | None = 4, model: str = "gpt-5", skills: tuple[str, ...] = ()
) -> Turn:
    return Turn(
        index=index,
        status="complete",
        model=Model(id=f"copilot/{model}", name=model),
        timing=Timing(started_at=at(day, "12:00:00") if day is not None else None),
        usage=list(usages),
        skills=[Skill(name=name, is_loaded=True) for name in skills],
    )


def used(given: int, answered: int, **more: int) -> Usage:
    return Usage(input=given, output=answered, source="modelTotals", **more)  # type: ignore[arg-type]


def test_a_price_holds_from_its_day_on(tmp_path: Path, cache: Path) -> None:
    before = turn_of(0, used(1_000_000, 0), day=4, model="changing")
    after = turn_of(1, used(1_000_000, 0), day=5, model="changing")

    section = measured(tmp_path, before, after, cache=cache)

    assert [row.dollars for row in section.by_day] == [10, 1]
    assert section.total.dollars == 11


def test_what_has_no_time_is_priced_as_of_the_latest_day(tmp_path: Path, cache: Path) -> None:
    section = measured(tmp_path, turn_of(0, used(1_000_000, 0), day=None, model="changing"), cache=cache)

    assert [(row.name, row.dollars) for row in section.by_day] == [("(no date)", 1)]


def test_more_from_the_cache_than_was_sent_costs_no_less_than_the_cache(tmp_path: Path, cache: Path) -> None:
    section = measured(tmp_path, turn_of(0, used(1_000, 0, cache_read=5_000)), cache=cache)

    assert section.total.dollars == 5_000 * 0.2 / 1e6


def test_two_models_in_a_turn_are_one_turn(tmp_path: Path, cache: Path) -> None:
    first = Usage(model="gpt-5", input=1_000, output=10, scope="call", source="span")
    second = Usage(model="gpt-5-mini", input=500, output=20, scope="call", source="span")

    section = measured(tmp_path, turn_of(0, first, second), cache=cache)

    assert (section.total.turns, section.total.input) == (1, 1_500)
    assert [(row.name, row.turns, row.input) for row in section.by_model] == [
        ("gpt-5", 1, 1_000),
        ("gpt-5-mini", 1, 500),
    ]
    assert section.by_turn[0].dollars == pytest.approx((1_000 * 2 + 10 * 10 + 500 * 1 + 20 * 5) / 1e6)


def test_skills_loaded_in_the_same_turn_overlap(tmp_path: Path, cache: Path) -> None:
    turns = [
        turn_of(0, used(100, 1), skills=("knots", "sails")),
        turn_of(1, used(200, 2), skills=("knots", "Knots")),
        turn_of(2, used(400, 4), skills=("Knots",)),
        turn_of(3, used(800, 8), skills=("knots",)),
    ]

    section = measured(tmp_path, *turns, cache=cache)

    assert [(row.name, row.conversations, row.turns, row.input) for row in section.by_skill] == [
        ("knots", 1, 4, 1_500),
        ("sails", 1, 1, 100),
    ]


def test_a_turn_that_does_not_name_a_category_had_none_of_it(tmp_path: Path, cache: Path) -> None:
    def told(**percents: float) -> Usage:
        shares = [PromptShare(category=name, percent=percent) for name, percent in percents.items()]
        return Usage(last_prompt=100, by_category=shares, source="request")

    section = measured(
        tmp_path,
        turn_of(0, told(System=40, Tools=60)),
        turn_of(1, told(System=100)),
        turn_of(2),  # which tells nothing
        cache=cache,
    )

    assert section.composition == [
        ShareRow(category="System", label=None, percent=70, turns=2),
        ShareRow(category="Tools", label=None, percent=30, turns=1),
    ]


def test_the_last_prompt_is_no_input(tmp_path: Path, cache: Path) -> None:
    section = measured(tmp_path, turn_of(0, Usage(last_prompt=90_000, output=5, source="request")), cache=cache)

    assert (section.total.input, section.total.output, section.total.estimated_input) == (None, 5, 90_000)
    assert section.total.cache_read is None  # that a first call read nothing from a cache is likely, not recorded


def test_numbers_beyond_all_reason_are_added_up_too(tmp_path: Path, cache: Path) -> None:
    huge = (1 << 63) - 1

    section = measured(tmp_path, turn_of(0, used(huge, 1)), turn_of(1, used(huge, 1)), cache=cache)

    assert section.total.input == 2 * huge


def test_what_was_recorded_in_full_has_no_low_end(tmp_path: Path, cache: Path) -> None:
    section = measured(tmp_path, turn_of(0, Usage(input=9, output=5, source="request")), cache=cache)

    assert section.at_least is None
