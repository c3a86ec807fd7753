"""The model that a turn ran, and the evidence for it."""

from __future__ import annotations

from typing import Any

import pytest

from copilog.derive import conclude, model_of
from copilog.derive.model_names import key_of, name_in_details
from copilog.derive.models import model_of_message, requested_model
from copilog.model import Conversation, Message, Model, RanModel, Round, Text, Turn, Usage
from copilog.view.wording import model_text
from tests.stored import concluded_entry


def asked(native_id: str = "copilot/auto", **fields: Any) -> Model:
    vendor, _, name = native_id.partition("/")
    return Model(id=native_id, name=name, vendor=vendor, **fields)


def conversation(turn: Turn, *models: str | None, source: str | None = "assistant.message") -> Conversation:
    messages = [
        Message(role="assistant", turn=turn.index, parts=[Text(text="Six.")], model=model, model_source=source)
        for model in models
    ]
    return Conversation(id="vscode:s", source="vscode-session", turns=[turn], messages=messages)


def ran(turn: Turn, *models: str | None, **more: Any) -> tuple[str | None, str | None]:
    conclude(conversation(turn, *models, **more))
    return model_of(turn), turn.ran_model.evidence if turn.ran_model else None


def total(model: str, output: int = 1) -> Usage:
    return Usage(model=model, output=output, source="modelTotals")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"details": "Claude Sonnet 4.5 • 1x"}, ("claude-sonnet-4.5", "details")),
        ({"details": "GPT-5 mini • 7.5 credits"}, ("gpt-5-mini", "details")),
        ({"rounds": [Round(model="gpt-5")], "details": "GPT-5 mini • 1x"}, ("gpt-5", "call record")),
        ({"usage": [Usage(model="o3", scope="call", input=1)]}, ("o3", "call record")),
        ({"usage": [total("copilot/grok-code-fast-1")], "details": "GPT-5 • 1x"}, ("grok-code-fast-1", "model totals")),
        ({"usage": [total("gpt-5", 9), total("o3", 2)], "details": "o3 • 1x"}, ("o3", "model totals")),
        ({"usage": [total("gpt-5", 9), total("o3", 2)]}, ("gpt-5", "model totals")),
        ({}, ("auto", None)),
    ],
)
def test_the_best_evidence_decides_which_model_ran(fields: dict[str, Any], expected: tuple[str, str | None]) -> None:
    assert ran(Turn(index=0, model=asked(), **fields)) == expected


def test_the_model_that_the_router_picked_outranks_calls_and_details() -> None:
    turn = Turn(index=0, model=asked(resolved="gpt-5"), rounds=[Round(model="o3")], details="Claude Sonnet 4 • 1x")
    assert ran(turn) == ("gpt-5", "resolved model")


def test_the_line_under_the_answer_names_the_model_of_a_deployment() -> None:
    turn = Turn(index=0, model=asked(resolved="capi-noe-h200-oswe-prime"), details="Raptor mini (Preview) • 1x")
    assert ran(turn) == ("raptor-mini", "details")
    assert turn.model is not None
    assert turn.model.resolved == "capi-noe-h200-oswe-prime"


def test_a_message_that_names_its_model_is_a_call_record() -> None:
    assert ran(Turn(index=0, model=asked()), None, "gpt-5.4") == ("gpt-5.4", "call record")


def test_a_call_in_a_session_store_shows_which_model_ran() -> None:
    turn = Turn(index=0, model=asked())
    made = conversation(turn)
    made.usage = [
        Usage(model="o3", scope="call", extra={"turn_index": 0, "agent_id": "scout"}),
        Usage(model="gpt-5", scope="call", extra={"turn_index": 0}),
    ]
    conclude(made)

    assert turn.ran_model == RanModel(name="gpt-5", evidence="call record")


def test_the_requested_model_is_shown_with_the_model_that_ran() -> None:
    turn = Turn(index=0, model=asked(), details="GPT-5 mini • 0.9x")
    conclude(conversation(turn))

    assert (requested_model(turn), model_text(turn)) == ("auto", "auto: gpt-5-mini")


def test_a_requested_model_that_ran_has_one_name() -> None:
    turn = Turn(index=0, model=asked("copilot/claude-sonnet-4.5"), details="Claude Sonnet 4.5 (Preview) • 1x")
    conclude(conversation(turn))

    assert (model_of(turn), requested_model(turn), model_text(turn)) == ("claude-sonnet-4.5", None, "claude-sonnet-4.5")


def test_another_model_than_the_requested_one_may_have_answered() -> None:
    assert ran(Turn(index=0, model=asked("copilot/claude-opus-4"), details="GPT-4.1 • 0x")) == ("gpt-4.1", "details")


@pytest.mark.parametrize(
    ("name", "details", "expected"),
    [
        ("gpt-5", "GPT-5 mini • 0x", "gpt-5-mini"),
        ("gpt-5-mini", "GPT-5 • 1x", "gpt-5"),
        ("gpt-5-codex", "GPT-5 • 1x", "gpt-5"),
        ("claude-3.7-sonnet", "Claude Sonnet 3.7 Thinking • 1.25x", "claude-3.7-sonnet-thinking"),
        ("claude-3.7-sonnet-thought", "Claude Sonnet 3.7 Thinking • 1.25x", "claude-3.7-sonnet-thought"),
        ("gemini-3-pro-preview", "Gemini 3 Pro (Preview) • 1x", "gemini-3-pro-preview"),
        ("gemini-2.0-flash-001", "Gemini 2.0 Flash • 0.25x", "gemini-2.0-flash-001"),
        ("gpt-4o-2024-11-20", "GPT-4o • 0x", "gpt-4o-2024-11-20"),
    ],
)
def test_a_smaller_model_of_the_same_family_is_another_model(name: str, details: str, expected: str) -> None:
    assert ran(Turn(index=0, model=asked(f"copilot/{name}"), details=details)) == (expected, "details")


@pytest.mark.parametrize("details", ["My Own Haiku • 0x", "Fake One"])
def test_names_that_users_give_their_own_models_are_no_evidence(details: str) -> None:
    assert ran(Turn(index=0, model=asked("litellm/claude-haiku-4.5"), details=details)) == ("claude-haiku-4.5", None)


def test_the_model_that_ran_is_concluded_without_a_requested_model() -> None:
    turn = Turn(index=0, details="GPT-4.1 • 0x")
    once = ran(turn)
    assert once == ran(turn) == ("gpt-4.1", "details")


def test_answers_that_only_have_the_model_of_their_turn_get_the_one_that_ran() -> None:
    turn = Turn(index=0, model=asked(), details="GPT-5 mini • 0.9x")
    made = conversation(turn, "auto", source="session")
    conclude(made)

    assert (made.messages[0].model, model_of_message(made.messages[0], turn)) == ("auto", "gpt-5-mini")


def test_facets_figures_and_prices_use_the_model_that_ran() -> None:
    turn = Turn(index=0, model=asked(), details="GPT-5 mini • 0.9x")
    entry = concluded_entry(conversation(turn, "auto", source="session"))

    assert entry.row.models == '["gpt-5-mini"]'
    assert {row.model for row in entry.spends} == {"gpt-5-mini"}
    assert (entry.turns[0].model, entry.turns[0].resolved_model) == ("auto", "gpt-5-mini")


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Claude Sonnet 4.5 • 1x", "claude-sonnet-4.5"),
        ("GPT-5 mini • 7.5 credits", "gpt-5-mini"),
        ("Claude Sonnet 3.7 • 1x", "claude-3.7-sonnet"),
        ("GPT-5-Codex (Preview) • 1x", "gpt-5-codex"),
        ("auto • 0.9x", ""),
        ("7.5 credits", ""),
        ("1x", ""),
        ("", ""),
    ],
)
def test_the_name_in_the_line_under_the_answer_is_spelled_as_an_id(label: str, name: str) -> None:
    assert name_in_details(label) == name
    assert not name or key_of(label.partition(" • ")[0]) == key_of(name)
