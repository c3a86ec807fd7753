"""AI credits, wherever they are recorded, and never twice. All figures are worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from copilog.model import Conversation
from tests.sources.vscode_builders import read_session, request, session
from tests.store.spent import pick, spent, total

Json = dict[str, Any]


def reads(folder: Path, *requests: Json) -> Conversation:
    return read_session(session(*requests), folder)[0]


def asks(number: int, **more: Any) -> Json:
    return request(requestId=f"r{number}", response=[{"value": "because"}], **more)


def credited(conversation: Conversation, *names: str) -> list[tuple[Any, ...]]:
    return pick([spend for spend in spent(conversation) if spend.credits is not None], *names)


@pytest.mark.parametrize(
    ("details", "amount"),
    [
        ("GPT-5 mini • 7.5 credits", 7.5),
        ("GPT-5 · 1 credit", 1),
        ("Claude Opus 4.6 • 1,234.5 credits", 1234.5),
        ("Claude Opus 4.6 • 7,5 credits", 7.5),
        ("0.4 credits", 0.4),
        ("GPT-5 • 1x", None),
        ("GPT-5 credits", None),
    ],
)
def test_line_under_answer_names_credits_of_turn(tmp_path: Path, details: str, amount: float | None) -> None:
    conversation = reads(tmp_path, asks(0, result={"details": details}))

    assert credited(conversation, "turn", "credits", "source", "method") == (
        [] if amount is None else [(0, amount, "details", "recorded")]
    )


def test_line_under_answer_adds_nothing_to_recorded_credits(tmp_path: Path) -> None:
    line = {"details": "GPT-5 mini • 7.5 credits"}

    conversation = reads(tmp_path, asks(0, result=line, copilotCredits=7.52), asks(1, result=line))

    assert credited(conversation, "turn", "credits", "source") == [(0, 7.52, "request"), (1, 7.5, "details")]


def test_session_credits_are_shared_over_turns_that_record_none(tmp_path: Path) -> None:
    totals = [
        [{"model": "gpt-5", "inputTokens": 50, "outputTokens": 30}],
        [{"model": "gpt-5", "inputTokens": 50, "outputTokens": 10}],
        [{"model": "haiku", "inputTokens": 50, "outputTokens": 20}],
    ]
    conversation = reads(
        tmp_path,
        asks(0, modelTotals=totals[0], copilotCredits=2),
        asks(1, modelTotals=totals[1]),
        asks(2, modelTotals=totals[2], sessionCopilotCredits=8),
    )

    # 6 are left, in the proportion 10 : 20 of output.
    assert credited(conversation, "turn", "model", "credits", "source", "method") == [
        (0, "gpt-5", 2, "request", "recorded"),
        (1, "gpt-5", 2, "sessionCopilotCredits", "spread"),
        (2, "haiku", 4, "sessionCopilotCredits", "spread"),
    ]


def test_session_credits_are_shared_over_turns_without_recorded_output_as_well(tmp_path: Path) -> None:
    told = [{"model": "gpt-5", "inputTokens": 50, "outputTokens": 30}]

    conversation = reads(tmp_path, asks(0), asks(1, modelTotals=told), asks(2, sessionCopilotCredits=6))

    # Turns without recorded output weigh as much as those that have it on average.
    assert credited(conversation, "turn", "credits", "method") == [(0, 2, "spread"), (1, 2, "spread"), (2, 2, "spread")]


def test_session_credits_left_by_recorded_ones_are_shared_over_turns_and_models(tmp_path: Path) -> None:
    told = [
        {"model": "gpt-5", "inputTokens": 50, "outputTokens": 30},
        {"model": "haiku", "inputTokens": 50, "outputTokens": 10},
    ]

    conversation = reads(
        tmp_path,
        asks(0, modelId="copilot/gpt-5", modelTotals=told),
        asks(1, modelId="copilot/gpt-5", copilotCredits=4),
        asks(2, modelId="copilot/gpt-5", sessionCopilotCredits=20),
    )

    # 16 are left for turns 0 and 2, which weigh 30 + 10 and 40.
    paid = sorted(credited(conversation, "turn", "model", "credits", "method"))
    assert paid == [
        (0, "gpt-5", 6, "spread"), (0, "haiku", 2, "spread"), (1, "gpt-5", 4, "recorded"), (2, "gpt-5", 8, "spread"),
    ]  # fmt: skip


def test_turns_whose_sub_agents_alone_record_credits_share_those_of_the_session(tmp_path: Path) -> None:
    told = [{"model": "gpt-5", "inputTokens": 50, "outputTokens": 30}]
    agent = {"kind": "subagent", "agentName": "Explore", "credits": 1}
    call = {
        "kind": "toolInvocationSerialized", "toolCallId": "c1", "toolId": "runSubagent", "isComplete": True,
        "toolSpecificData": agent,
    }  # fmt: skip
    first = asks(0, modelTotals=told, sessionCopilotCredits=5)
    first["response"] = [call, *first["response"]]

    conversation = reads(tmp_path, first, asks(1, copilotCredits=3, sessionCopilotCredits=8))

    # 5 for turn 0, of which the sub-agent reports 1.
    paid = credited(conversation, "turn", "credits", "source", "method")
    assert sorted(paid) == [
        (0, 1, "credits of the sub-agent", "recorded"), (0, 4, "sessionCopilotCredits", "recorded"),
        (1, 3, "request", "recorded"),
    ]  # fmt: skip


def test_credits_of_a_turn_beyond_its_sub_agents_are_those_of_its_own_model(tmp_path: Path) -> None:
    totals = [
        {"model": "gpt-5", "inputTokens": 50, "outputTokens": 20},
        {"model": "gpt-5-mini", "inputTokens": 40, "outputTokens": 60},
    ]
    agent = {"kind": "subagent", "agentName": "Explore", "modelName": "GPT-5 mini", "credits": 3}
    call = {
        "kind": "toolInvocationSerialized", "toolCallId": "c1", "toolId": "runSubagent", "isComplete": True,
        "toolSpecificData": agent,
    }  # fmt: skip
    asked = asks(0, modelId="copilot/gpt-5", modelTotals=totals, copilotCredits=10)
    asked["response"] = [call, *asked["response"]]

    paid = credited(reads(tmp_path, asked), "model", "credits", "method")

    # 3 of 10 are the sub-agent's, which alone used the smaller model.
    assert sorted(paid) == [("GPT-5 mini", 3, "recorded"), ("gpt-5", 7, "recorded")]


def test_session_credits_count_by_difference(tmp_path: Path) -> None:
    conversation = reads(
        tmp_path, asks(0, sessionCopilotCredits=4), asks(1, sessionCopilotCredits=4.5), asks(2, copilotCredits=1)
    )

    assert credited(conversation, "turn", "credits") == [(0, 4), (1, 0.5), (2, 1)]


def test_session_credits_that_did_not_grow_are_0_of_their_turn(tmp_path: Path) -> None:
    conversation = reads(tmp_path, asks(0, sessionCopilotCredits=20), asks(1, sessionCopilotCredits=20))

    assert credited(conversation, "turn", "credits", "has_credits") == [(0, 20, 1), (1, 0, 1)]


def test_credits_of_turn_are_shared_over_its_models(tmp_path: Path) -> None:
    totals = [
        {"model": "gpt-5", "inputTokens": 5000, "outputTokens": 75},
        {"model": "gpt-5-mini", "inputTokens": 300, "outputTokens": 25},
    ]

    conversation = reads(tmp_path, asks(0, modelTotals=totals, copilotCredits=8))

    assert credited(conversation, "model", "credits", "method") == [
        ("gpt-5", 6, "spread"),
        ("gpt-5-mini", 2, "spread"),
    ]


def with_subagent(amount: float) -> list[Json]:
    data = {"kind": "subagent", "agentName": "Explore", "modelName": "haiku", "prompt": "look", "credits": amount}
    call = {
        "kind": "toolInvocationSerialized",
        "toolCallId": "T",
        "toolId": "runSubagent",
        "isComplete": True,
        "invocationMessage": "Running",
        "toolSpecificData": data,
    }
    return [call, {"value": "found"}]


@pytest.mark.parametrize(
    ("of_turn", "expected"),
    [
        (5, [(None, 3, "request"), ("Explore", 2, "credits of the sub-agent")]),
        (None, [("Explore", 2, "credits of the sub-agent")]),
        (1, [(None, 0, "request"), ("Explore", 2, "credits of the sub-agent")]),  # the larger record counts
    ],
)
def test_credits_of_subagent_are_a_part_of_its_turn(
    tmp_path: Path, of_turn: float | None, expected: list[tuple[Any, ...]]
) -> None:
    more: Json = {} if of_turn is None else {"copilotCredits": of_turn}
    conversation = reads(tmp_path, request(requestId="r0", response=with_subagent(2), **more))

    assert credited(conversation, "subagent", "credits", "source") == expected
    assert total(spent(conversation), "credits") == sum(amount for _, amount, _ in expected)
