"""R-24 and R-30: sub-agents are conversations of their own, and the closing answer comes from an output event."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.telemetry.streams import (
    Record,
    assistant,
    call,
    contents,
    event,
    only,
    roles,
    session_response,
    snapshot,
    system,
    tool,
    trajectories,
    user,
    user_text,
    write_lines,
)


def at(minute: int) -> str:
    return f"2026-04-12T10:{minute:02d}:00.000Z"


# --- sub-agents -------------------------------------------------------------------------------------------------


def subagent(messages: list[Record], *, kind: str = "subagent", header: str | None = None, **ids: str) -> Record:
    return snapshot(messages, header=header, properties={"subType": kind, **ids})


LONG_TASK = [system("You search."), user("Find the seed list"), assistant("Looking."), assistant("Found.")]


@pytest.mark.parametrize("kind", ["subagent", "subagent/search", "subagent/execution"])
def test_r24_a_subagent_does_not_compete_with_its_conversation(tmp_path: Path, kind: str) -> None:
    main = snapshot([system(), user()])

    first, second = trajectories(write_lines(tmp_path, main, subagent(LONG_TASK, kind=kind, messageId="m-1")))

    assert (first.conversation_id, contents(first)) == ("talk", ["You help with gardens.", "When do I sow beans?"])
    assert first.metadata.subagent is None
    assert (second.conversation_id, len(second.messages)) == ("talk#m-1", 4)
    assert second.metadata.subagent is True


def test_r24_other_subtypes_stay_in_the_conversation(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path, snapshot([system(), user()]), subagent(LONG_TASK, kind="retry/subagent", messageId="m")
    )

    trajectory = only(path)

    assert (trajectory.conversation_id, len(trajectory.messages)) == ("talk", 4)
    assert trajectory.metadata.subagent is None


@pytest.mark.parametrize(
    ("ids", "header", "key"),
    [
        ({"parentToolCallId": "call-1", "messageId": "m-1"}, "h-1", "talk#call-1"),
        ({"messageId": "m-1"}, "h-1", "talk#m-1"),
        ({"parentToolCallId": "", "messageId": "m-1"}, "h-1", "talk#m-1"),
        ({}, "h-1", "talk#h-1"),
    ],
)
def test_r24_the_key_names_the_first_id_that_is_there(
    tmp_path: Path, ids: dict[str, str], header: str, key: str
) -> None:
    trajectory = only(write_lines(tmp_path, subagent(LONG_TASK, header=header, **ids)))

    assert trajectory.conversation_id == key


def test_r24_snapshots_of_one_subagent_are_one_conversation(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        subagent(LONG_TASK[:2], parentToolCallId="call-1"),
        subagent(LONG_TASK, parentToolCallId="call-2"),
        subagent(LONG_TASK[:3], parentToolCallId="call-1"),
    )

    found = {trajectory.conversation_id: len(trajectory.messages) for trajectory in trajectories(path)}

    assert found == {"talk#call-1": 3, "talk#call-2": 4}


def test_r24_facts_about_a_subagent_are_found_by_the_plain_conversation_id(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        user_text("agent", 0, header="h-1"),
        session_response("gpt-5", "h-1"),
        subagent(LONG_TASK, header="h-1", messageId="m-1"),
    )

    message = only(path).messages[1]

    assert (message.mode, message.model, message.model_source) == ("agent", "gpt-5", "interactiveSession")


def test_r24_compat_lets_a_subagent_compete(tmp_path: Path) -> None:
    path = write_lines(tmp_path, snapshot([system(), user()]), subagent(LONG_TASK, messageId="m-1"))

    trajectory = only(path, compat=True)

    assert (trajectory.conversation_id, len(trajectory.messages)) == ("talk", 4)


def test_r24_a_subagent_is_ordered_by_its_own_first_snapshot(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        subagent(LONG_TASK, messageId="m-1"),
        snapshot([system(), user()], "other"),
        snapshot([system(), user()]),
    )

    assert [trajectory.conversation_id for trajectory in trajectories(path)] == ["talk#m-1", "other", "talk"]


def test_r24_a_subagent_is_not_a_donor_of_its_conversation(tmp_path: Path) -> None:
    busy = [system(), user(), assistant(tool_calls=[call()])]
    main, _ = trajectories(
        write_lines(tmp_path, snapshot([system(), user(), assistant()]), subagent(busy, messageId="m-1"))
    )

    assert main.messages[2].tool_calls is None


def test_r24_context_of_a_subagent_is_found_by_the_plain_conversation_id(tmp_path: Path) -> None:
    detected = event("participantDetectionContext", {"conversationId": "talk", "detectedParticipant": "workspace"})

    trajectory = only(write_lines(tmp_path, detected, subagent(LONG_TASK, messageId="m-1")))

    assert trajectory.context["detectedParticipant"] == "workspace"


# --- the closing answer -----------------------------------------------------------------------------------------


def question(*, call_id: str | None = None, header: str | None = "h-1", time: str | None = None) -> Record:
    """Return a request that ends with the user's text."""
    own = {"modelCallId": call_id, "request.option.model": '"gpt-5"'}
    return snapshot([system(), user()], header=header, time=time, properties=own)


def answer(
    text: str,
    conversation: str = "talk",
    *,
    call_id: str | None = None,
    header: str | None = "h-1",
    time: str | None = None,
    **properties: object,
) -> Record:
    """Return an output event: one assistant message, no request options."""
    own = {"modelCallId": call_id, **properties}
    return snapshot([assistant(text)], conversation, header=header, time=time, properties=own)


def test_r30_the_answer_to_the_same_model_call_closes_the_conversation(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        question(call_id="call-a", time=at(5)),
        answer("In May.", call_id="call-a", header="other", time=at(1), baseModel="gpt-5-mini"),
    )

    trajectory = only(path)

    assert roles(trajectory) == ["system", "user", "assistant"]
    closing = trajectory.messages[-1]
    assert (closing.content, closing.appended) == ("In May.", True)
    assert (closing.model, closing.model_source, closing.model_conflict) == ("gpt-5-mini", "engine", None)
    assert (trajectory.messages[1].model, trajectory.messages[1].model_source) == ("gpt-5", "engine-request")
    assert [message.appended for message in trajectory.messages[:2]] == [None, None]


@pytest.mark.parametrize(
    ("asked_at", "answered_at", "is_answered"),
    [
        (at(5), at(6), True),
        (at(5), at(5), True),
        (at(5), at(4), False),
        ("2026-04-12T10:05:00+02:00", "2026-04-12T08:05:00Z", True),
        (None, at(1), True),
        (None, None, True),
        (at(5), None, False),
    ],
)
def test_r30_otherwise_an_answer_to_the_same_request_that_is_not_earlier(
    tmp_path: Path, asked_at: str | None, answered_at: str | None, is_answered: bool
) -> None:
    path = write_lines(tmp_path, question(time=asked_at), answer("In May.", time=answered_at))

    assert (roles(only(path))[-1] == "assistant") is is_answered


def test_r30_the_model_call_has_priority_over_the_request(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        question(call_id="call-a", time=at(1)),
        answer("Of the call", call_id="call-a", time=at(2)),
        answer("Of the request", time=at(9)),
    )

    assert contents(only(path))[-1] == "Of the call"


def test_r30_without_an_answer_to_the_call_one_to_the_request_is_used(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path, question(call_id="call-a", time=at(1)), answer("Of another call", call_id="call-b", time=at(2))
    )

    assert contents(only(path))[-1] == "Of another call"


@pytest.mark.parametrize("call_id", ["call-a", None])
def test_r30_of_several_answers_the_latest_counts_and_of_those_the_first(tmp_path: Path, call_id: str | None) -> None:
    times = [("early", 2), ("late", 4), ("late too", 4), ("between", 3)]
    answers = [answer(text, call_id=call_id, time=at(minute)) for text, minute in times]

    trajectory = only(write_lines(tmp_path, question(call_id=call_id, time=at(1)), *answers))

    assert contents(trajectory)[2:] == ["late"]


def test_r30_the_order_of_events_and_files_does_not_matter(tmp_path: Path) -> None:
    write_lines(tmp_path / "in", answer("In May.", time=at(2)), name="a.jsonl")
    write_lines(tmp_path / "in", question(time=at(1)), name="b.jsonl")

    assert contents(only(tmp_path / "in"))[-1] == "In May."


def test_r30_a_conversation_that_ends_with_an_assistant_needs_no_answer(tmp_path: Path) -> None:
    closed = snapshot([system(), user(), assistant("Own end")], header="h-1", time=at(1))

    trajectory = only(write_lines(tmp_path, closed, answer("Other end", time=at(2))))

    assert contents(trajectory)[2:] == ["Own end"]
    assert trajectory.messages[-1].appended is None


NO_ANSWERS = {
    "a request": answer("x", **{"request.option.n": "1"}),
    "a request in the other spelling": answer("x", request_option_n="1"),
    "an answer elsewhere": answer("x", "elsewhere"),
    "an answer without conversation": snapshot([assistant("x")], None, header="h-1"),
    "an answer to another request": answer("x", header="h-2"),
    "two messages": snapshot([assistant("x"), assistant("y")], header="h-1"),
    "a user": snapshot([user("x")], header="h-1"),
    "an answer of a sub-agent": answer("x", subType="subagent", messageId="m-1"),
    "lengths": snapshot([assistant("x")], header="h-1", name="copilot-chat/engine.messages.length"),
}


@pytest.mark.parametrize("record", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_r30_an_event_that_does_not_answer_the_conversation_is_not_appended(tmp_path: Path, record: Record) -> None:
    assert roles(trajectories(write_lines(tmp_path, question(), record))[0]) == ["system", "user"]


def test_r30_messages_of_an_answer_are_counted_after_empty_ones_are_dropped(tmp_path: Path) -> None:
    output = snapshot([assistant(""), assistant("In May."), {"content": "no role"}], header="h-1")

    assert contents(only(write_lines(tmp_path, question(), output)))[2:] == ["In May."]


def test_r30_absent_ids_match_nothing(tmp_path: Path) -> None:
    path = write_lines(tmp_path, question(header=None), answer("In May.", header=None))

    assert roles(only(path)) == ["system", "user"]


def test_r30_a_subagent_gets_its_own_answer(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        subagent([system(), user("Find the list")], header="h-1", messageId="m-1"),
        subagent([system(), user("Find the tool")], header="h-1", messageId="m-2"),
        answer("Found the list.", subType="subagent", messageId="m-1"),
    )

    first, second = trajectories(path)

    assert contents(first)[2:] == ["Found the list."]
    assert contents(second)[2:] == []


def test_r30_without_a_base_model_the_answer_has_no_model(tmp_path: Path) -> None:
    closing = only(write_lines(tmp_path, question(), answer("In May."))).messages[-1]

    assert (closing.appended, closing.model, closing.model_source) == (True, None, None)


@pytest.mark.parametrize(
    ("session_model", "conflict"),
    [("claude-sonnet-4", True), ("gpt-4o", None), ("GPT-4o-2024-08-06", None), ("auto", None)],
)
def test_r30_a_conflict_is_marked_on_the_answer_too(tmp_path: Path, session_model: str, conflict: bool | None) -> None:
    path = write_lines(
        tmp_path,
        session_response(session_model, "h-1"),
        snapshot([system(), user()], header="h-1"),
        answer("In May.", baseModel="gpt-4o"),
    )

    closing = only(path).messages[-1]

    assert (closing.model, closing.model_source, closing.model_conflict) == ("gpt-4o", "engine", conflict)


def test_r30_calls_and_thinking_of_the_answer_come_along(tmp_path: Path) -> None:
    rich = assistant("", tool_calls=[call()], reasoning_text="May is warm.")

    closing = only(write_lines(tmp_path, question(), snapshot([rich], header="h-1"))).messages[-1]

    assert (closing.tool_calls, closing.reasoning, closing.appended) == ([call()], "May is warm.", True)


def test_r30_the_answer_does_not_count_when_the_winner_is_chosen(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        question(header="h-1", time=at(1)),
        answer("In May.", header="h-1", time=at(2)),
        snapshot([system(), user("Later and as long")], header="h-2", time=at(3)),
    )

    assert contents(only(path))[1:] == ["Later and as long"]


def test_r30_compat_appends_nothing(tmp_path: Path) -> None:
    path = write_lines(tmp_path, question(call_id="call-a"), answer("In May.", call_id="call-a"))

    assert roles(only(path, compat=True)) == ["system", "user"]


def test_r30_an_answer_without_earlier_messages_is_a_conversation_if_all_count(tmp_path: Path) -> None:
    path = write_lines(tmp_path, answer("In May.", baseModel="gpt-5"))

    assert trajectories(path) == []
    (message,) = only(path, require_system_first=False).messages
    assert (message.content, message.model, message.appended) == ("In May.", "gpt-5", None)


def test_r30_tool_results_at_the_end_are_answered_as_well(tmp_path: Path) -> None:
    rounds = [system(), user(), assistant("", tool_calls=[call()]), tool()]
    path = write_lines(
        tmp_path,
        snapshot(rounds, header="h-1", time=at(1), properties={"request.option.tools": json.dumps([])}),
        answer("In May.", time=at(2)),
    )

    assert roles(only(path)) == ["system", "user", "assistant", "tool", "assistant"]
