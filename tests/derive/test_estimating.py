"""Tokens of calls, worked out by hand from parameters in round numbers."""

from __future__ import annotations

import pytest

from copilog.derive.estimating import (
    DEFAULTS,
    FRAME_TOKENS,
    KEPT,
    PRIOR,
    STORED,
    TEXT,
    Range,
    family_of,
    family_part,
    fixed_part,
    parameters_of,
    range_of,
    tokens_of,
    written_part,
)
from copilog.derive.replayed_calls import Replay

CALIBRATION = {
    fixed_part("cli"): Range(500, 1_000, 3_000),
    TEXT: Range(1.0, 2.0, 3.0),
    family_part("gpt-5"): Range(1.0, 1.0, 1.0),
    family_part("claude"): Range(1.0, 1.5, 2.0),
    written_part("cli"): Range(1.0, 3.0, 5.0),
    KEPT: Range(0.25, 0.5, 1.0),
    STORED: Range(0.0, 0.25, 1.0),
}
LIKELY = {name: parameter.likely for name, parameter in CALIBRATION.items()}


def replay(model: str = "gpt-5") -> Replay:
    return Replay(
        turn=0, parent=None, model=model, kind="cli", calls=4, acting=2, context=300, last_context=100, kept_calls=3,
        kept_context=200, written=50,
    )  # fmt: skip


def test_every_call_sends_the_fixed_part_and_the_conversation_so_far() -> None:
    taken = tokens_of(replay(), LIKELY)

    assert taken.input == 4 * 1_000 + 2 * 300
    assert taken.cached == 0.5 * (3 * 1_000 + 2 * 200)
    assert taken.stored == 0.25 * (4_600 - 1_700)
    assert taken.output == 2 * FRAME_TOKENS + 3 * 50


def test_claude_counts_more_tokens_of_input() -> None:
    assert tokens_of(replay("claude-haiku-4.5"), LIKELY).input == 1.5 * 4_600


def test_a_recorded_prompt_of_the_last_call_gives_the_fixed_part() -> None:
    taken = tokens_of(replay(), LIKELY, last_prompt=2_200)  # of which 200 are the conversation

    assert taken.input == 4 * 2_000 + 2 * 300


def test_a_recorded_prompt_smaller_than_the_conversation_gives_the_size_of_its_text() -> None:
    assert tokens_of(replay(), LIKELY, last_prompt=50).input == 0.5 * 300


def test_a_range_has_each_parameter_at_its_ends_and_adds_the_squares() -> None:
    names = [fixed_part("cli"), TEXT]
    found = range_of(CALIBRATION, names, lambda values: tokens_of(replay(), values).input)

    assert found.likely == 4_600
    assert found.low == pytest.approx(4_600 - (2_000**2 + 300**2) ** 0.5)
    assert found.high == pytest.approx(4_600 + (8_000**2 + 300**2) ** 0.5)


def test_calls_depend_on_the_parameters_of_their_kind_and_model() -> None:
    assert parameters_of([replay()]) == CALIBRATION.keys() - {family_part("claude")}


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-opus-4.6", "claude"),
        ("copilot/Claude Sonnet 4", "claude"),
        ("gpt-5", "other"),
        ("copilot/auto", "unknown"),
        (None, "unknown"),
    ],
)
def test_families_of_models(model: str | None, family: str) -> None:
    assert family_of(model) == family


@pytest.mark.parametrize("calibration", [PRIOR, DEFAULTS])
def test_every_parameter_has_a_range_around_what_is_likely(calibration: dict[str, Range]) -> None:
    assert calibration.keys() == PRIOR.keys()
    assert all(low <= likely <= high for low, likely, high in calibration.values())
