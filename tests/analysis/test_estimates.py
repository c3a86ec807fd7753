"""What recorded sessions tell of an estimate, and what comes out of it, in numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from copilog.analysis.estimates import Prompt, Sample, calibrate, estimate, sample_of
from copilog.analysis.prices import PricedModel, PriceTable, UnitPrice
from copilog.derive.estimating import (
    FRAME_TOKENS,
    KEPT,
    PRIOR,
    STORED,
    TEXT,
    Range,
    family_part,
    fixed_part,
    written_part,
)
from copilog.derive.replayed_calls import Kind, Replay
from copilog.model import Conversation, Message, Notice, PromptShare, Text, Turn, Usage

EXACT = {name: Range(1.0, 1.0, 1.0) for name in PRIOR}
PRICES = PriceTable(
    source="made up",
    models={
        "gpt-5": PricedModel(
            name="gpt-5", prices=[UnitPrice(input=10.0, output=100.0, cache_read=1.0, cache_write=20.0)]
        )
    },
)


def replay(**changes: Any) -> Replay:
    numbers = {
        "calls": 10,
        "acting": 10,
        "context": 50_000.0,
        "last_context": 8_000.0,
        "kept_calls": 8,
        "kept_context": 30_000.0,
    }
    values = {"turn": 0, "parent": None, "model": "gpt-5", "kind": "cli", "written": 1_000.0}
    return Replay(**(values | numbers | changes))


def sample(name: str, **changes: Any) -> Sample:
    return Sample(id=name, origin=name, **changes)


def session(*usages: Usage, of_turn: list[Usage] | None = None, notice: dict[str, Any] | None = None) -> Conversation:
    messages = [
        Message(role="user", parts=[Text(text="x" * 400)], turn=0),
        Message(role="assistant", parts=[Text(text="x" * 40)], turn=0, model="gpt-5"),
        Message(role="system", parts=[Notice(topic="shutdown", data=notice)], turn=0),
    ]
    turns = [Turn(index=0, usage=of_turn or [])]
    return Conversation(id="cli:1", source="made-up", turns=turns, messages=messages, usage=list(usages))


# --- what is recorded -----------------------------------------------------------------------------------------------


def test_totals_of_a_session_are_of_all_its_calls() -> None:
    totals = Usage(
        input=5_000, output=70, cache_read=4_000, cache_write=500, scope="session", source="session.shutdown"
    )
    found = sample_of(session(totals, notice={"systemTokens": 3_000, "toolDefinitionsTokens": 1_500}), "ada")

    assert (found.input, found.cached, found.stored, found.output) == (5_000, 4_000, 500, 70)
    assert found.counted == [4_500]
    assert [one.calls for one in found.replays] == [1]


def test_calls_of_a_turn_come_from_the_source_with_most_detail() -> None:
    calls = [Usage(input=300, output=5, scope="call", source="a"), Usage(input=400, output=6, scope="call", source="a")]
    found = sample_of(session(of_turn=[*calls, Usage(input=500, output=9, source="b")]))

    assert (found.input, found.output) == (700, 11)


def test_output_of_each_call_is_the_output_of_a_session_without_totals() -> None:
    found = sample_of(session(of_turn=[Usage(output=9, scope="call", source="assistant.message")]))

    assert (found.input, found.output) == (None, 9)


def test_a_recorded_prompt_comes_with_the_share_of_its_fixed_part() -> None:
    shares = [
        PromptShare(category="System", percent=20),
        PromptShare(category="System", percent=40),
        PromptShare(category="User Context", percent=40),
    ]
    found = sample_of(session(of_turn=[Usage(last_prompt=1_000, output=12, by_category=shares, source="request")]))

    (prompt,) = found.prompts
    assert (prompt.tokens, prompt.fixed) == (1_000, 600)
    assert [output for _, output in found.outputs] == [12]
    assert (found.input, found.output) == (None, None)


@pytest.mark.parametrize(("source", "outputs"), [("request", [70]), ("result.metadata", [])])
def test_an_output_of_the_last_call_alone_is_not_the_output_of_the_turn(source: str, outputs: list[int]) -> None:
    made_up = session(of_turn=[Usage(last_prompt=1_000, output=70, source=source)])
    made_up.messages.insert(2, made_up.messages[1])

    assert [output for _, output in sample_of(made_up).outputs] == outputs


# --- the parameters -------------------------------------------------------------------------------------------------


def test_the_size_of_texts_follows_from_session_totals_and_a_counted_fixed_part() -> None:
    told = sample("a", replays=[replay()], input=10 * 10_000 + 2 * 50_000, counted=[10_000.0])
    found = calibrate([told], PRIOR | {TEXT: Range(1.0, 1.2, 1.4)})

    assert found[fixed_part("cli")].likely == (10_000 + PRIOR[fixed_part("cli")].likely) / 2  # the base is a user, too
    assert found[TEXT].likely == pytest.approx((2.0 + 1.2) / 2)


def test_counts_of_the_cli_calibrate_claude_like_gpt() -> None:
    base = PRIOR | {TEXT: Range(2.0, 2.0, 2.0), family_part("claude"): Range(1.4, 1.4, 1.4)}
    told = sample("a", replays=[replay(model="claude-x")], input=360_000, counted=[20_000.0])

    assert calibrate([told], base)[family_part("claude")].likely == pytest.approx((1.2 + 1.4) / 2)


def test_the_fixed_part_of_a_prompt_without_shares_is_the_remainder() -> None:
    prompt = Prompt(replay=replay(kind="agent", calls=3), tokens=25_000)
    own = calibrate([sample("a", prompts=[prompt])], EXACT, is_own=True)

    assert own[fixed_part("agent")].likely == 25_000 - 8_000


def test_output_is_estimated_beyond_what_every_call_writes() -> None:
    told = [
        sample(str(number), replays=[replay()], output=10 * FRAME_TOKENS + rate * 1_000)
        for number, rate in enumerate((2, 3, 5))
    ]

    assert calibrate(told, EXACT, is_own=True)[written_part("cli")].likely == 3


def test_the_cached_share_is_estimated_from_what_calls_repeat() -> None:
    told = [
        sample(str(number), replays=[replay()], input=250_000, counted=[20_000.0], cached=cached, stored=7_000)
        for number, cached in enumerate((95_000, 152_000, 171_000))  # of 8 x 20,000 + 30,000 that were repeated
    ]
    found = calibrate(told, EXACT, is_own=True)

    assert found[KEPT].likely == pytest.approx(0.8)
    assert found[STORED].likely == pytest.approx(7_000 / (250_000 - 152_000))
    assert found[KEPT].high <= 1


def test_few_conversations_of_the_user_calibrate_only_the_fixed_part() -> None:
    told = sample("a", replays=[replay()], input=10 * 20_000 + 3 * 50_000, output=9_000, counted=[20_000.0])
    own = calibrate([told], PRIOR, is_own=True)

    assert own[fixed_part("cli")] == Range(20_000 / 1.6, 20_000, 20_000 * 1.6)
    assert own[TEXT] == PRIOR[TEXT]
    assert own[written_part("cli")] == PRIOR[written_part("cli")]


def test_each_user_counts_once() -> None:
    many = [Sample(id=str(number), origin="ada", counted=[10_000.0]) for number in range(5)]
    few = [Sample(id="x", origin="bob", counted=[30_000.0]), Sample(id="y", origin="cy", counted=[40_000.0])]
    base = PRIOR | {fixed_part("cli"): Range(1.0, 20_000.0, 90_000.0)}

    assert calibrate([*many, *few], base)[fixed_part("cli")].likely == 25_000  # of 10, 20, 30 and 40


def test_nothing_recorded_leaves_the_base() -> None:
    assert calibrate([], PRIOR) == PRIOR
    assert calibrate([sample("a", replays=[replay()])], PRIOR, is_own=True) == PRIOR


# --- the estimate ---------------------------------------------------------------------------------------------------


def test_dollars_are_those_of_cached_stored_and_plain_tokens_and_of_output() -> None:
    values = EXACT | {
        fixed_part("cli"): Range(1_000, 1_000, 1_000),
        KEPT: Range(0.5, 0.5, 0.5),
        STORED: Range(0.25, 0.25, 0.25),
    }
    found = estimate([replay()], values, PRICES)

    cached = 0.5 * (8 * 1_000 + 30_000)
    fresh = 10 * 1_000 + 50_000 - cached
    output = 10 * FRAME_TOKENS + 1_000
    assert found.dollars is not None
    assert found.dollars.likely == pytest.approx((cached * 1 + fresh * (0.75 * 10 + 0.25 * 20) + output * 100) / 1e6)
    assert found.input == Range(60_000, 60_000, 60_000)
    assert (
        found.method
        == "10 calls replayed, each with the conversation so far and 1,000 tokens of instructions and tools"
    )


def test_a_model_without_a_price_is_named_and_costs_nothing() -> None:
    both = estimate([replay(), replay(turn=1, model="mystery")], PRIOR, PRICES)
    alone = estimate([replay(model="mystery")], PRIOR, PRICES)

    assert both.unpriced == ["mystery"]
    assert both.dollars == estimate([replay()], PRIOR, PRICES).dollars
    assert alone.dollars is None


def test_a_recorded_prompt_makes_the_range_narrow() -> None:
    without = estimate([replay(kind="agent")], PRIOR)
    with_it = estimate([replay(kind="agent")], PRIOR, last_prompts={0: 30_000})

    assert with_it.input.high - with_it.input.low < (without.input.high - without.input.low) / 3
    assert with_it.method.endswith("; recorded prompts: 1")


@pytest.mark.parametrize("kind", ["cli", "agent", "chat"])
def test_at_least_likely_and_at_most_are_in_order(kind: Kind) -> None:
    found = estimate([replay(kind=kind)], PRIOR, PRICES)

    for number in (found.input, found.cached, found.output, found.dollars):
        assert number is not None
        assert 0 <= number.low < number.likely < number.high
