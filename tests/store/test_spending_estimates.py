"""What a turn took of which nothing is recorded: estimated from the texts that were sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from copilog.derive.estimating import (
    DEFAULTS,
    FRAME_TOKENS,
    KEPT,
    TEXT,
    family_part,
    fixed_part,
    written_part,
)
from copilog.model import (
    Conversation,
    Message,
    Model,
    Prompt,
    SubAgent,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    TurnError,
)
from tests.measured import harbour
from tests.sources.cli_builders import Log, read_cleanly
from tests.store.spent import ESTIMATE, conversation_of, pick, recorded, spent, total


def test_only_turns_that_recorded_nothing_are_estimated() -> None:
    spends = spent(harbour())

    assert (total(recorded(spends), "input"), total(recorded(spends), "output")) == (32_000, 1_500)
    assert pick([row for row in spends if row not in recorded(spends)], "turn", "source") == [(2, ESTIMATE[0])]


# --- estimates -------------------------------------------------------------------------------------------------------


def likely(name: str) -> float:
    return DEFAULTS[name].likely


def test_an_estimate_sends_the_conversation_so_far_with_every_call() -> None:
    conversation = conversation_of(
        Turn(index=0),
        Message(role="user", parts=[Text(text="u" * 40)]),
        Message(
            role="assistant",
            model="gpt-5",
            parts=[Thinking(text="t" * 80), Text(text="a" * 28), ToolCall(id="c", name="read", arguments="{}{}{}{}")],
        ),
        Message(role="tool", parts=[ToolResult(call_id="c", text="r" * 400)]),
        Message(role="assistant", parts=[Text(text="a" * 4)]),
    )

    (spend,) = spent(conversation)

    # In rough tokens, sent: 10, then 10 + 7 + 1 + 2 + 100. Written: 20 + 7 + 1 + 2, then 1.
    fixed, text = likely(fixed_part("agent")), likely(TEXT)
    assert spend.input == round(2 * fixed + text * 130)
    assert spend.cache_read == round(likely(KEPT) * (fixed + text * 10))
    assert spend.output == round(FRAME_TOKENS + likely(written_part("agent")) * 31)
    assert (spend.model, spend.source, spend.method) == ("gpt-5", *ESTIMATE)
    # At least: one parameter after the other at its low end, and the squares of what that takes away.
    low = {name: DEFAULTS[name].low for name in (fixed_part("agent"), TEXT, family_part("gpt-5"))}
    lost = (
        2 * (fixed - low[fixed_part("agent")]),
        130 * (text - low[TEXT]),
        spend.input * (1 - low[family_part("gpt-5")]),
    )
    assert spend.input_at_least == pytest.approx(spend.input - sum(one**2 for one in lost) ** 0.5, abs=1)
    least_written = DEFAULTS[written_part("agent")].low
    assert spend.output_at_least == round(FRAME_TOKENS + least_written * 31)


def test_what_was_really_sent_counts_instead_of_the_words_in_it() -> None:
    asked = Message(
        role="user", parts=[Text(text="why?"), Prompt(text="p" * 400), Prompt(text="s" * 8, scope="system")]
    )
    turn = Turn(index=0, model=Model(id="copilot/gpt-5", name="gpt-5"))

    (spend,) = spent(conversation_of(turn, asked, Message(role="assistant", parts=[Text(text="because")])))

    assert spend.input == round(likely(fixed_part("chat")) + likely(TEXT) * 100)


def test_the_size_that_the_cli_notes_of_its_instructions_and_tools_is_taken(tmp_path: Path) -> None:
    log = Log().start(selectedModel="gpt-5").ask("why?").say("because")
    log = log.shut_down(modelMetrics={}, systemTokens=7_000, toolDefinitionsTokens=3_000)

    (spend,) = spent(read_cleanly(tmp_path, log))

    assert spend.input == round(10_000 + likely(TEXT) * 1)
    assert spend.input_at_least is not None
    assert 10_000 / 1.2 < spend.input_at_least < 10_000 / 1.1


def test_sub_agents_are_estimated_by_themselves() -> None:
    agent = SubAgent(name="Sounder", model="gpt-5-mini")
    conversation = conversation_of(
        Turn(index=0, model=Model(id="copilot/gpt-5", name="gpt-5")),
        Message(role="user", parts=[Text(text="u" * 4)]),
        Message(role="assistant", parts=[ToolCall(id="c", name="four", subagent=agent)]),
        Message(role="user", parent_call_id="c", parts=[Text(text="s" * 12)]),
        Message(role="assistant", parent_call_id="c", parts=[Text(text="a" * 16)]),
        Message(role="assistant", parent_call_id="gone", parts=[Text(text="a" * 8)]),
    )

    main, inner, unknown = spent(conversation)

    fixed, text, written = likely(fixed_part("agent")), likely(TEXT), likely(written_part("agent"))
    assert (main.model, main.subagent, main.input) == ("gpt-5", None, round(fixed + text * 1))
    assert (inner.model, inner.subagent, inner.parent_call_id) == ("gpt-5-mini", "Sounder", "c")
    assert (inner.input, inner.output) == (round(fixed + text * 3), round(written * 4))
    assert (unknown.subagent, unknown.parent_call_id) == ("(unnamed)", "gone")
    assert (unknown.input, unknown.output) == (round(fixed), round(written * 2))


def test_estimates_have_one_order_even_where_an_agent_has_an_empty_name() -> None:
    turns = [Turn(index=index) for index in range(12)]
    said = [
        Message(role="assistant", turn=turn.index, parent_call_id=parent, parts=[Text(text="a")])
        for turn in turns
        for parent in ("", None)
    ]

    spends = spent(Conversation(id="cli:x", source="cli-events", turns=turns, messages=said))

    assert pick(spends, "parent_call_id") == [(None,), ("",)] * 12


def test_a_failed_turn_without_an_answer_costs_nothing() -> None:
    failed = Turn(index=0, error=TurnError(message="Too many requests, wait a minute."))
    asked = Message(role="user", parts=[Text(text="why?")])

    assert spent(conversation_of(failed, asked)) == []
    (spend,) = spent(conversation_of(failed, asked, Message(role="assistant", parts=[Text(text="Let me see.")])))
    family = likely(family_part(None))
    assert spend.input == round(family * (likely(fixed_part("chat")) + likely(TEXT) * 1))
    assert spend.output == round(likely(written_part("chat")) * 3)
