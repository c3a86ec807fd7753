"""What a conversation took: each token once, whichever places have recorded it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.model import (
    Agent,
    Conversation,
    CustomAgent,
    Message,
    Model,
    Text,
    Timing,
    Turn,
    Usage,
)
from copilog.store.entries import entry_of
from copilog.store.spend_rows import COLUMNS
from copilog.store.spreading import whole_shares
from tests.measured import lighthouse
from tests.samples import EVERY, Sample, source_of
from tests.samples import claiming as sources_claiming
from tests.samples import read as read_sample
from tests.sources.cli_builders import Json, Log, read_cleanly
from tests.sources.vscode_builders import read_session, request, session
from tests.store.spent import ESTIMATE, conversation_of, pick, recorded, spent, total

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def shutdown(**outputs: int) -> Json:
    """The summary of a program run: ten times as much input as output."""
    return {
        "modelMetrics": {
            model: {"usage": {"inputTokens": output * 10, "outputTokens": output}} for model, output in outputs.items()
        }
    }


# --- premium requests and credits ------------------------------------------------------------------------------------


def test_premium_requests_of_a_session_are_shared_by_the_users_prompts(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=90).ask().say(outputTokens=10)
    conversation = read_cleanly(tmp_path, log.shut_down(**shutdown(opus=100), totalPremiumRequests=3))
    system = Turn(index=2, is_system_initiated=True, model=Model(id="opus", name="opus"))
    conversation.turns.append(system)

    assert pick(spent(conversation), "turn", "output", "premium_requests") == [(0, 90, 1.5), (1, 10, 1.5)]


def test_premium_requests_of_a_model_belong_to_its_turns(tmp_path: Path) -> None:
    log = Log().start().ask().say(outputTokens=10, model="opus").ask().say(outputTokens=10, model="haiku")
    log.ask().say(outputTokens=10, model="haiku")
    summary = shutdown(opus=10, haiku=20)
    for model, cost in (("opus", 3), ("haiku", 0.66)):
        summary["modelMetrics"][model]["requests"] = {"count": 4, "cost": cost}

    by_model = spent(read_cleanly(tmp_path, log.shut_down(**summary, totalPremiumRequests=3.66)))
    log.events[-1]["data"]["totalPremiumRequests"] = 6
    by_prompt = spent(read_cleanly(tmp_path, log))

    assert [(turn, round(cost, 6)) for turn, cost in pick(by_model, "turn", "premium_requests")] == [
        (0, 3),
        (1, 0.33),
        (2, 0.33),
    ]
    assert [cost for (cost,) in pick(by_prompt, "premium_requests") if cost is not None] == [2, 2, 2]


def test_the_credits_of_a_session_follow_its_output() -> None:
    spends = spent(lighthouse())

    assert pick(spends, "turn", "subagent", "output", "credits") == [
        (0, None, 600, 1.8),
        (1, None, 300, pytest.approx(0.9)),
        (1, "Keeper", 100, pytest.approx(0.3)),
        (1, None, None, None),
        (None, None, 200, None),
    ]
    assert [spend.premium_requests for spend in spends] == [1, None, None, 1, None]


@pytest.mark.parametrize(
    ("details", "cost"),
    [
        ("Claude Sonnet 4 • 1x", 1.0),
        ("GPT-4.1 • 0x", 0.0),
        ("GPT-5 · 0.33x", 0.33),
        ("Auto: Claude Sonnet 4.5 • 0.9x", 0.9),
        ("o3 • 10x • High", 10.0),
        ("GPT-5", None),
        ("Model 2x", None),
    ],
)
def test_the_multiplier_comes_from_the_line_below_an_answer(tmp_path: Path, details: str, cost: float | None) -> None:
    conversation = read_session(session(request(result={"details": details})), tmp_path)[0]

    spends = [spend for spend in spent(conversation) if spend.source == "details"]

    assert [spend.premium_requests for spend in spends] == ([] if cost is None else [cost])


@pytest.mark.parametrize("kind", ["isSystemInitiated", "hiddenFromTranscript", "requestHiddenFromTranscript"])
def test_a_request_that_the_product_made_costs_nothing(tmp_path: Path, kind: str) -> None:
    made_by_product: dict[str, Any] = {kind: True}
    state = session(request(result={"details": "GPT-5 • 1x"}, **made_by_product))

    assert total(spent(read_session(state, tmp_path)[0]), "premium_requests") is None


# --- VS Code ---------------------------------------------------------------------------------------------------------


def test_the_size_of_the_last_prompt_is_never_input(tmp_path: Path) -> None:
    answer = [{"value": "because"}]
    state = session(request("why?", answer, promptTokens=90_000, completionTokens=20, modelId="copilot/gpt-5"))

    spends = spent(read_session(state, tmp_path)[0])

    assert pick(spends, "model", "input", "output", "source", "method") == [
        ("gpt-5", None, 20, "request", "recorded"),
        ("gpt-5", 90_000, None, *ESTIMATE),  # one call, and this was its prompt
    ]


def test_the_totals_of_models_are_those_of_the_whole_turn(tmp_path: Path) -> None:
    totals = [
        {"model": "gpt-5", "inputTokens": 5000, "cachedTokens": 4000, "outputTokens": 70},
        {"model": "gpt-5-mini", "inputTokens": 300, "outputTokens": 8},
    ]
    answer = [{"value": "because"}]
    state = session(
        request("why?", answer, promptTokens=900, completionTokens=78, modelTotals=totals, copilotCredits=2)
    )

    spends = spent(read_session(state, tmp_path)[0])

    assert pick(spends, "model", "input", "output", "cache_read", "credits", "source") == [
        ("gpt-5", 5000, 70, 4000, None, "modelTotals"),
        ("gpt-5-mini", 300, 8, None, None, "modelTotals"),
        ("gpt-5", None, None, None, pytest.approx(2 * 70 / 78), "request"),
        ("gpt-5-mini", None, None, None, pytest.approx(2 * 8 / 78), "request"),
    ]


def test_a_session_costs_what_its_turns_do_or_what_it_says_if_that_is_more(tmp_path: Path) -> None:
    def credits_of(*costs: tuple[float | None, float | None]) -> list[tuple[Any, ...]]:
        requests = [
            request(requestId=f"r{number}", copilotCredits=cost, sessionCopilotCredits=so_far)
            for number, (cost, so_far) in enumerate(costs)
        ]
        return pick(spent(read_session(session(*requests), tmp_path)[0]), "turn", "credits", "source")

    assert credits_of((1.5, 1.5), (2.0, 3.5)) == [(0, 1.5, "request"), (1, 2.0, "request")]
    assert credits_of((1.5, 2.0), (2.0, 4.25)) == [
        (0, 1.5, "request"),
        (0, 0.5, "sessionCopilotCredits"),
        (1, 2.0, "request"),
        (1, 0.25, "sessionCopilotCredits"),
    ]
    assert credits_of((None, 4.0), (None, 3.0)) == [(0, 4.0, "sessionCopilotCredits")]


# --- which place is believed -----------------------------------------------------------------------------------------


def test_of_a_turn_one_source_is_taken() -> None:
    usages = [
        Usage(input=100, output=9, source="agent-traces"),
        Usage(input=60, output=4, scope="call", source="agent-traces", model="m"),
        Usage(input=40, output=5, scope="call", source="agent-traces", extra={"parent_call_id": "c"}),
        Usage(output=500, source="result"),
    ]

    fine = spent(conversation_of(Turn(index=0, usage=usages)))
    whole = spent(conversation_of(Turn(index=0, usage=[usages[0], usages[1]])))

    assert pick(fine, "model", "parent_call_id", "input", "output") == [("m", None, 60, 4), (None, "c", 40, 5)]
    assert pick(whole, "input", "output") == [(100, 9)]


def test_totals_of_several_traces_are_not_added_up() -> None:
    session_totals = [
        Usage(model="m", input=100, output=10, scope="session", source="session.shutdown"),
        Usage(
            output=3,
            model="m",
            scope="session",
            source="assistant.message",
            extra={"covers": "after the last shutdown"},
        ),
        Usage(
            model="m", input=90, output=9, scope="session", source="assistant.usage", extra={"covers": "the whole log"}
        ),
        Usage(premium_requests=2, credits=1.0, scope="session", source="session.shutdown"),
        Usage(premium_requests=1, scope="session", source="result"),
        Usage(input=80, output=8, scope="session", source="atif"),
    ]

    spends = spent(conversation_of(Turn(index=0), usage=session_totals))

    assert (total(spends, "input"), total(spends, "output")) == (100, 13)
    assert (total(spends, "premium_requests"), total(spends, "credits")) == (2, 1.0)


def test_helpers_of_the_product_come_on_top_once() -> None:
    helpers = [
        Usage(input=30, output=3, scope="call", source="debug-logs", extra={"helper": "title"}),
        Usage(input=30, output=3, scope="call", source="agent-traces", extra={"helper": "title"}),
        Usage(input=20, output=2, scope="call", source="agent-traces", extra={"helper": "summary"}),
    ]
    usages = [Usage(input=100, output=9, source="modelTotals")]

    spends = spent(conversation_of(Turn(index=0, usage=usages), usage=helpers))
    of_session = Usage(input=200, output=20, scope="session", source="session.shutdown")
    with_total = spent(conversation_of(Turn(index=0, usage=usages), usage=[*helpers, of_session]))

    assert pick(spends, "turn", "input", "output", "source") == [
        (0, 100, 9, "modelTotals"),
        (None, 50, 5, "agent-traces"),
    ]
    assert pick(with_total, "input", "output") == [(200, 20)]


def test_helpers_of_the_product_come_on_top_of_single_calls() -> None:
    call = Usage(input=100, output=9, scope="call", source="agent-traces", extra={"turn": 0})
    helper = Usage(input=30, output=3, scope="call", source="agent-traces", extra={"helper": "title"})

    spends = spent(conversation_of(Turn(index=0), usage=[call, helper]))

    assert (total(spends, "input"), total(spends, "output")) == (130, 12)


def test_of_equal_records_the_one_with_more_kinds_of_tokens_counts_and_is_completed_by_others() -> None:
    def record(source: str, output: int, cache_read: int, reasoning: int | None = None) -> Usage:
        numbers = Usage(output=output, cache_read=cache_read, reasoning=reasoning, source=source)
        return msgspec.structs.replace(numbers, input=100 + output, scope="call")

    full = [record("agent-traces", 3, 7, 1), record("agent-traces", 4, 8, 2)]
    plain = [record("debug-logs", 3, 7), record("debug-logs", 4, 8)]
    more = record("debug-logs", 5, 9)

    def counted(*usages: Usage) -> list[tuple[Any, ...]]:
        rows = spent(Conversation(id="vscode:s", source="x", turns=[Turn(index=0, usage=list(usages))]))
        return pick(rows, "input", "output", "cache_read", "reasoning", "source")

    assert counted(*plain, *full) == [(207, 7, 15, 3, "agent-traces")]
    assert counted(*full, *plain) == [(207, 7, 15, 3, "agent-traces")]
    assert counted(*full, *plain, more) == [(312, 12, 24, 3, "debug-logs")]


def test_calls_of_no_known_turn_may_be_any_turns() -> None:
    calls = [Usage(input=100, output=9, scope="call", source="session-store", extra={"turn_index": 7})]
    answered = Message(role="assistant", parts=[Text(text="because")])

    assert pick(spent(conversation_of(Turn(index=0), answered, usage=calls)), "turn", "input", "output") == [
        (None, 100, 9)
    ]


def test_what_cost_nothing_is_known_to() -> None:
    free = Usage(credits=0.0, premium_requests=0, scope="session", source="session.shutdown")
    answered = Message(role="assistant", parts=[Text(text="because")])

    spends = recorded(spent(conversation_of(Turn(index=0), answered, usage=[free])))

    assert pick(spends, "turn", "credits", "premium_requests", "source") == [(0, 0, 0, "session.shutdown")]


def test_numbers_that_make_no_sense_are_left_out() -> None:
    usages = [Usage(input=10**30, output=7, cache_read=-3, premium_requests=-1, source="result")]

    assert pick(spent(conversation_of(Turn(index=0, usage=usages))), "input", "output", "cache_read") == [
        (None, 7, None)
    ]


def test_a_sum_that_no_table_can_hold_is_left_out() -> None:
    usages = [Usage(input=1 << 62, output=7, scope="call"), Usage(input=1 << 62, output=8, scope="call")]

    assert pick(spent(conversation_of(Turn(index=0, usage=usages))), "input", "output") == [(None, 15)]


# --- who, when -------------------------------------------------------------------------------------------------------


def test_a_slice_has_the_time_and_the_agent_of_its_turn() -> None:
    participant = Agent(id="github.copilot.editsAgent", name="agent")
    usages = [Usage(input=1, output=1)]
    turns = [
        Turn(index=0, timing=Timing(started_at=NOON), agent=participant, usage=usages),
        Turn(index=1, agent=participant, custom_agent=CustomAgent(name="Navigator"), usage=usages),
        Turn(index=2, agent=Agent(id="workspace"), custom_agent=CustomAgent(uri="file:///x"), usage=usages),
    ]
    answered = Message(role="assistant", turn=1, created_at=NOON.replace(hour=13), parts=[Text(text="because")])
    conversation = Conversation(
        id="x:y", source="x", turns=turns, messages=[answered], started_at=NOON, updated_at=NOON.replace(hour=14)
    )

    assert pick(spent(conversation), "position", "at", "agent") == [
        (0, "2026-05-04T12:00:00.000Z", "agent"),
        (1, "2026-05-04T13:00:00.000Z", "Navigator"),
        (2, "2026-05-04T13:00:00.000Z", "workspace"),
    ]


def test_nothing_was_said_and_nothing_spent() -> None:
    assert spent(Conversation(id="x:y", source="x")) == []


# --- always ----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**15), st.lists(st.integers(0, 10**9), min_size=1).filter(any))
def test_whole_shares_add_up(number: int, weights: list[int]) -> None:
    shares = whole_shares(number, weights)

    assert sum(shares) == number
    assert all(
        abs(share - number * weight / sum(weights)) <= 1 + number / 1e14
        for share, weight in zip(shares, weights, strict=True)
    )


OUTPUTS = st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 50)), max_size=3), min_size=1, max_size=6)
TOTALS = st.dictionaries(st.sampled_from("abc"), st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1)


@given(OUTPUTS, TOTALS)
def test_turns_add_up_to_the_session(outputs: list[list[tuple[str, int]]], totals: dict[str, tuple[int, int]]) -> None:
    turns = [
        Turn(
            index=index, usage=[Usage(output=output, model=model, scope="call", source="m") for model, output in calls]
        )
        for index, calls in enumerate(outputs)
    ]
    usage = [
        Usage(model=model, input=sent, output=received, scope="session", source="session.shutdown")
        for model, (sent, received) in totals.items()
    ]
    answers = [Message(role="assistant", turn=turn.index, parts=[Text(text="because")]) for turn in turns]

    spends = spent(Conversation(id="cli:x", source="cli-events", turns=turns, messages=answers, usage=usage))

    for model, (sent, received) in totals.items():
        mine = [spend for spend in spends if spend.model == model]
        assert (total(mine, "input"), total(mine, "output")) == (sent, received)
    assert recorded(spends) == spends


@pytest.mark.parametrize("sample", EVERY, ids=str)
def test_rows_are_distinguished_by_their_subject(sample: Sample, tmp_path: Path) -> None:
    path = sample.laid_out(tmp_path)
    for conversation in read_sample(path, source_of(path)).conversations if sources_claiming(path) else ():
        spends = spent(conversation)
        assert spends == entry_of(conversation).spends
        about = pick(spends, "turn", "model", "parent_call_id", "source", "method")
        assert len(set(about)) == len(about)
        assert {spend.turn for spend in spends} <= {None, *(turn.index for turn in conversation.turns)}
        numbers = (number for row in pick(spends, *COLUMNS) for number in row)
        assert all(number is None or number >= 0 for number in numbers)
