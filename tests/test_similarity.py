"""When two conversations without a common id are one: a story per kind of evidence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.model import Conversation, Message, Text, Timing, Turn
from copilog.similarity import compare, fingerprint_of

NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)
LONG = "Please parse the tide file and tell me when high water is"


def conversation(*turns: tuple[str, str], ids: bool = False, at: datetime | None = None) -> Conversation:
    """Return a conversation of (question, answer) pairs."""
    made = Conversation(id="made-up", source="test")
    for index, (asked, answered) in enumerate(turns):
        timing = Timing(started_at=at + timedelta(minutes=index) if at else None)
        made.turns.append(Turn(index=index, request_id=f"request-{asked}" if ids else None, timing=timing))
        made.messages.append(Message(role="user", parts=[Text(text=asked)], turn=index))
        made.messages.append(Message(role="assistant", parts=[Text(text=answered)], turn=index))
    return made


def verdict(one: Conversation, other: Conversation) -> str:
    first, second = fingerprint_of(one), fingerprint_of(other)
    assert compare(first, second).verdict == compare(second, first).verdict
    return compare(first, second).verdict


def test_an_export_whose_requests_are_the_beginning_of_another_is_the_same() -> None:
    early = conversation((LONG, "At six."), ids=True)
    late = conversation((LONG, "At six."), ("And low water?", "At noon."), ids=True)

    assert verdict(early, late) == "same"


def test_ids_count_even_if_the_answer_was_repeated() -> None:
    assert verdict(conversation(("hi", "one"), ids=True), conversation(("hi", "two"), ids=True)) == "same"


def test_some_shared_ids_are_doubtful() -> None:
    one = conversation(("a", "1"), ("b", "2"), ids=True)
    other = conversation(("a", "1"), ("c", "3"), ids=True)

    assert verdict(one, other) == "doubtful"


def test_without_ids_the_same_texts_and_answers_are_one_conversation() -> None:
    early = conversation((LONG, "At six."))
    late = conversation((LONG, "At six."), ("And low water?", "At noon."))

    assert verdict(early, late) == "same"


def test_white_space_does_not_count_in_comparisons() -> None:
    assert verdict(conversation((LONG, "At  six.\n")), conversation((LONG + "\n", "At six."))) == "same"


def test_the_same_texts_at_the_same_times_are_one_conversation() -> None:
    session = conversation((LONG, "At six, says the table."), at=NOON)
    replay = conversation((LONG, "At six."), at=NOON + timedelta(seconds=20))

    assert verdict(session, replay) == "same"


@pytest.mark.parametrize("at", [NOON + timedelta(days=1), None])
def test_the_same_texts_with_other_answers_are_doubtful(at: datetime | None) -> None:
    assert verdict(conversation((LONG, "At six."), at=NOON), conversation((LONG, "At seven."), at=at)) == "doubtful"


def test_common_short_prompts_are_not_enough_evidence() -> None:
    assert verdict(conversation(("hi", "Hello!")), conversation(("hi", "Hello!"))) == "different"


def test_different_texts_are_different_conversations() -> None:
    assert verdict(conversation((LONG, "x")), conversation((LONG + " tomorrow", "x"))) == "different"
    assert verdict(conversation(), conversation((LONG, "x"))) == "different"


TURNS = st.lists(st.tuples(st.text(max_size=30), st.text(max_size=10)), max_size=4)


@given(TURNS, TURNS)
def test_the_verdict_does_not_depend_on_the_order(one: list[tuple[str, str]], other: list[tuple[str, str]]) -> None:
    verdict(conversation(*one), conversation(*other))


@given(TURNS)
def test_a_conversation_with_enough_text_matches_itself(turns: list[tuple[str, str]]) -> None:
    made = conversation(*turns)
    told = sum(len(" ".join(asked.split())) for asked, _ in turns)

    assert verdict(made, made) == ("same" if told >= 24 else "different")
