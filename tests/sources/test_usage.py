"""Tokens and cost, from all fields where they have been stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from copilog.model import PromptShare, Turn, Usage, best_usage
from tests.sources.vscode_builders import read_session, request, session

Json = dict[str, Any]


def read_turn(tmp_path: Path, **fields: Any) -> Turn:
    return read_session(session(request(**fields)), tmp_path)[0].turns[0]


def test_the_size_of_the_last_prompt_is_never_the_input_of_a_turn(tmp_path: Path) -> None:
    turn = read_turn(
        tmp_path,
        promptTokens=900,
        completionTokens=20,
        result={
            "usage": {"promptTokens": 901},
            "promptTokens": 902,
            "metadata": {"promptTokens": 903, "outputTokens": 21},
        },
    )

    assert [usage.input for usage in turn.usage] == [None, None, None, None]
    assert [usage.last_prompt for usage in turn.usage] == [900, 901, 902, 903]
    assert [usage.output for usage in turn.usage] == [20, None, None, 21]
    assert [usage.source for usage in turn.usage] == ["request", "result.usage", "result", "result.metadata"]
    assert turn.extra is None


def test_totals_of_each_model_cover_the_entire_turn(tmp_path: Path) -> None:
    turn = read_turn(
        tmp_path,
        promptTokens=900,
        modelTotals=[
            {"model": "m-1", "inputTokens": 5000, "cachedTokens": 4000, "outputTokens": 70},
            {"model": "m-2", "inputTokens": 300, "outputTokens": 8, "calls": 2},
        ],
    )

    first, second, _ = turn.usage
    assert first == Usage(model="m-1", input=5000, cache_read=4000, output=70, source="modelTotals")
    assert second == Usage(model="m-2", input=300, output=8, source="modelTotals", extra={"calls": 2})
    assert best_usage(turn) == Usage(input=5300, cache_read=4000, output=78, source="modelTotals")


def test_credits_go_with_the_counts_of_the_request(tmp_path: Path) -> None:
    with_counts = read_turn(tmp_path, promptTokens=9, copilotCredits=1.5, sessionCopilotCredits=7)
    alone = read_turn(tmp_path, copilotCredits=0)

    assert with_counts.usage == [Usage(last_prompt=9, credits=1.5, session_credits=7, source="request")]
    assert alone.usage == [Usage(credits=0, source="request")]


def test_the_composition_of_a_prompt_is_read(tmp_path: Path) -> None:
    details = [
        {"category": "System", "label": "Tools", "percentageOfPrompt": 12.5},
        {"category": "Messages"},
    ]
    (usage,) = read_turn(tmp_path, promptTokens=9, promptTokenDetails=details).usage

    assert usage.by_category == [
        PromptShare(category="System", label="Tools", percent=12.5),
        PromptShare(category="Messages"),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"modelTotals": [{"model": "m"}, "total"]},
        {"modelTotals": "many"},
        {"promptTokenDetails": [{"category": "System", "colour": "red"}]},
        {"promptTokenDetails": [{"category": 5}]},
        {"promptTokenDetails": ["System"]},
        {"promptTokens": "nine", "completionTokens": True, "copilotCredits": "few"},
        {"result": {"usage": {"inputTokens": 5}}},
        {"result": {"usage": "none"}},
        {"result": {"metadata": {"promptTokens": "nine"}}},
        {"outputBuffer": 4096},
    ],
)
def test_unrecognized_usage_stays_unchanged(fields: Json, tmp_path: Path) -> None:
    turn = read_turn(tmp_path, **fields)

    assert turn.usage == []
    assert turn.extra == fields


def test_missing_usage_is_none_and_not_zero(tmp_path: Path) -> None:
    turn = read_turn(tmp_path, modelTotals=[], promptTokenDetails=[])

    assert turn.usage == []
    assert best_usage(turn) is None
