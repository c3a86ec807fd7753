"""The chunked `model.*` family: model calls as snapshots (R-15)."""

from __future__ import annotations

import pickle
from typing import Any

import msgspec
import pytest

from copilog.telemetry.events import Event, Place, timestamp_of
from copilog.telemetry.messages import messages_from
from copilog.telemetry.model_calls import PLACEHOLDER, Call, Recipe, Skipped, calls, rebuilt, rebuilt_from, recipe
from copilog.telemetry.model_events import Pieces, take
from copilog.telemetry.shapes import Shape, shape_of
from tests.telemetry.model_streams import ANSWER, SYSTEM, USER, Stream, answered, event, message, options, sent


def test_r15_a_call_is_rebuilt_from_its_list_and_its_messages() -> None:
    stream = Stream([*message("m-1", SYSTEM), *message("m-2", USER), *sent("call-1", "m-1", "m-2")])

    assert stream.items() == [SYSTEM, USER]
    assert stream.only().shape == Shape("su")
    assert not stream.only().incomplete
    assert stream.reasons == [None, None, None]


def test_r15_the_list_decides_the_order_and_may_name_a_message_twice() -> None:
    stream = Stream([*message("m-1", USER), *message("m-2", SYSTEM), *sent("call-1", "m-2", "m-1", "m-1")])

    assert stream.items() == [SYSTEM, USER, USER]
    assert stream.only().shape == Shape("suu")


def test_r15_the_output_is_appended_to_the_input() -> None:
    answer = [*message("m-2", ANSWER), *answered("call-1", "m-2")]
    stream = Stream([*answer, *message("m-1", USER), *sent("call-1", "m-1")])

    assert stream.items() == [USER, ANSWER]
    assert stream.only().shape == Shape("ua")


def test_r15_several_outputs_keep_their_order() -> None:
    texts = {f"m-{number}": {"role": "assistant", "content": f"Thought {number}"} for number in range(3)}
    events = [event for uuid, item in texts.items() for event in message(uuid, item)]
    stream = Stream([*events, *answered("call-1", "m-2", "m-1", parts=2), *sent("call-1", "m-0")])

    assert stream.items() == [texts["m-0"], texts["m-2"], texts["m-1"]]


@pytest.mark.parametrize("output", [[], answered("call-1", "m-2", parts=2)[:1], answered("call-1", "m-2", parts=2)[1:]])
def test_r15_a_call_with_an_incomplete_output_list_has_only_its_input(output: list[Event]) -> None:
    stream = Stream([*message("m-1", USER), *sent("call-1", "m-1"), *output])

    assert stream.items() == [USER]
    assert not stream.only().incomplete


def test_r15_an_unknown_message_leaves_a_placeholder() -> None:
    stream = Stream([*message("m-1", SYSTEM), *sent("call-1", "m-1", "m-2", 7, None, ["m-1"])])

    assert stream.items() == [SYSTEM, *[{"role": "unknown", "missing": True}] * 4]
    assert stream.only().shape == Shape("soooo", ("unknown",) * 4)
    assert stream.only().incomplete


def test_r15_a_placeholder_survives_without_text() -> None:
    (made,) = messages_from(Stream(sent("call-1", "m-1")).items())

    assert (made.role, made.content, made.missing) == ("unknown", "", True)


@pytest.mark.parametrize(
    "item",
    [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t-1", "content": "wet"}] * 2},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t-1"}, {"type": "text", "text": "And?"}]},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "t-1"}]},
        {"role": "assistant", "content": ""},
        {"role": "gardener", "content": "Me too"},
        {"role": "user", "content": "<context>\nToday is Monday.\n</context>"},
        {"content": "nobody"},
        "text",
        [USER],
    ],
)
@pytest.mark.parametrize("parts", [1, 2])
def test_r15_the_shape_is_that_of_the_complete_list(item: Any, parts: int) -> None:
    events = [*message("m-1", SYSTEM), *message("m-2", item, parts), *message("m-3", ANSWER)]
    stream = Stream([*events, *sent("call-1", "m-1", "m-2", "m-3")])

    assert stream.only().shape == shape_of(messages_from([SYSTEM, item, ANSWER]))
    assert stream.items() == [SYSTEM, item, ANSWER]
    assert not stream.only().incomplete


def test_r15_empty_messages_count_by_the_rule_of_the_run() -> None:
    called = {"role": "assistant", "content": "", "tool_calls": [{"id": "t-1"}]}
    pieces = Pieces()
    stream = Stream([*message("m-1", SYSTEM), *message("m-2", called), *sent("call-1", "m-1", "m-2")])
    for place, made in stream.events.items():
        take(pieces, made, place, retention="plain")
    (call,) = calls(pieces, stream.fetch, retention="plain")

    assert isinstance(call, Call)
    assert call.shape == Shape("s")
    assert stream.only().shape == Shape("sA")


def test_r15_sequence_number_time_and_name_are_those_of_the_first_input_event() -> None:
    first, second = sent("call-1", "m-1", parts=2, time="2026-01-02T10:00:00Z")
    second = second._replace(name="other/model.modelCall.input", time="2026-01-02T09:59:00Z")
    stream = Stream([*answered("call-1", "m-2"), *message("m-1", USER), second, first])
    call = stream.only()
    snapshot = rebuilt(stream.pieces, "call-1", stream.fetch)

    assert (call.seq, call.length) == ((0, 200), 100)
    assert call.name == snapshot.name == "other/model.modelCall.input"
    assert call.time == timestamp_of(snapshot) == "2026-01-02T09:59:00Z"


def test_r15_a_time_property_of_the_call_has_priority_over_the_envelope() -> None:
    request = event("model.request.added", headerRequestId="turn-1", timestamp="yesterday")
    own = Stream([request, *message("m-1", USER), *sent("call-1", "m-1", time="noon", timestamp="today")])
    foreign = Stream([request, *message("m-1", USER), *sent("call-1", "m-1", time="noon")])

    assert (own.only().time, timestamp_of(rebuilt(own.pieces, "call-1", own.fetch))) == ("today", "today")
    assert (foreign.only().time, timestamp_of(rebuilt(foreign.pieces, "call-1", foreign.fetch))) == ("noon", "noon")


def test_r15_properties_are_its_own_then_the_requests_then_the_options() -> None:
    names = ("own", "added", "chosen")
    request = event("model.request.added", headerRequestId="turn-1", own="2", added="2", conversationTurn="4")
    chosen = options("o-1", {"own": "3", "added": "3", "chosen": "3", "request.option.model": '"gpt-4.1"'}, parts=2)
    stream = Stream([*chosen, request, *message("m-1", USER), *sent("call-1", "m-1", own="1", requestOptionsId="o-1")])
    snapshot = rebuilt(stream.pieces, "call-1", stream.fetch)

    for properties in (stream.only().properties, snapshot.properties):
        assert [properties[name] for name in names] == ["1", "2", "3"]
        assert properties["request.option.model"] == '"gpt-4.1"'
        assert properties["conversationTurn"] == "4"
        assert properties["modelCallId"] == "call-1"
        assert properties["headerRequestId"] == "turn-1"
        assert not {"messageUuids", "chunkIndex", "totalChunks"} & properties.keys()


def test_r15_an_empty_property_is_absent_and_the_next_event_supplies_it() -> None:
    request = event("model.request.added", headerRequestId="turn-1", subType="subagent", parentToolCallId="t-1")
    stream = Stream([request, *message("m-1", USER), *sent("call-1", "m-1", subType="", parentToolCallId=None)])

    assert stream.only().properties["subType"] == "subagent"
    assert stream.only().properties["parentToolCallId"] == "t-1"


@pytest.mark.parametrize(
    ("early", "late"),
    [("request_option_model", "request.option.model"), ("request.option.model", "request_option_model")],
)
def test_r15_both_spellings_of_a_property_are_equal(early: str, late: str) -> None:
    own: dict[str, Any] = {early: '"early"', "requestOptionsId": "o-1"}
    events = [*options("o-1", {late: '"late"'}), *message("m-1", USER), *sent("call-1", "m-1", **own)]
    properties = Stream(events).only().properties

    assert properties[early] == '"early"'
    assert late not in properties


def test_r15_of_several_requests_with_the_same_id_the_first_counts() -> None:
    requests = [event("model.request.added", headerRequestId="turn-1", uiKind=kind) for kind in ("panel", "inline")]
    stream = Stream([*message("m-1", USER), *sent("call-1", "m-1"), *requests])

    assert stream.only().properties["uiKind"] == "panel"


@pytest.mark.parametrize("text", ["{", "[]", "1"])
def test_r15_broken_options_count_as_absent(text: str) -> None:
    broken = event("model.request.options.added", requestOptionsId="o-1", requestOptionsJson=text)
    stream = Stream([broken, *message("m-1", USER), *sent("call-1", "m-1", requestOptionsId="o-1")])

    assert stream.only().shape == Shape("u")
    assert stream.items() == [USER]


def test_r15_options_without_all_chunks_count_as_absent() -> None:
    chosen = options("o-1", {"request.option.model": '"gpt-4.1"'}, parts=2)[:1]
    stream = Stream([*chosen, *message("m-1", USER), *sent("call-1", "m-1", requestOptionsId="o-1")])

    assert "request.option.model" not in stream.only().properties


def test_r15_the_ids_unknown_count_as_absent() -> None:
    request = event("model.request.added", headerRequestId="unknown", uiKind="panel")
    more: dict[str, Any] = {"headerRequestId": "unknown", "messageId": "unknown", "requestOptionsId": "unknown"}
    chosen = options("unknown", {"request.option.n": "1"})
    stream = Stream(
        [request, *chosen, *message("unknown", USER), *sent("unknown", "m-1"), *sent("call-1", "m-1", **more)]
    )

    assert stream.reasons == [
        "no_header_request_id",
        "no_request_options_id",
        "no_message_uuid",
        "no_model_call_id",
        None,
    ]
    assert stream.only().properties == {"modelCallId": "call-1", "conversationId": "talk"}


@pytest.mark.parametrize("conversation", ["unknown", "", None, 7])
def test_r15_without_a_conversation_a_call_is_skipped(conversation: Any) -> None:
    stream = Stream([*message("m-1", USER), *sent("call-1", "m-1", conversationId=conversation)])

    assert stream.calls() == [Skipped("call-1", (0, 100), "no_conversation_id")]


def test_r15_the_request_may_name_the_conversation() -> None:
    request = event("model.request.added", headerRequestId="turn-1", conversationId="talk")
    stream = Stream([request, *message("m-1", USER), *sent("call-1", "m-1", conversationId="unknown")])

    assert stream.only().properties["conversationId"] == "talk"


@pytest.mark.parametrize("missing", [0, 1])
def test_r15_a_call_with_an_incomplete_input_list_is_skipped(missing: int) -> None:
    chunks = sent("call-1", "m-1", parts=2)
    del chunks[missing]
    stream = Stream([*message("m-1", USER), *chunks, *answered("call-1", "m-1")])

    assert stream.calls() == [Skipped("call-1", (0, 100), "incomplete_input_list")]


def test_r15_a_call_with_only_an_answer_is_skipped() -> None:
    stream = Stream([*message("m-1", ANSWER), *answered("call-1", "m-1")])

    assert stream.calls() == [Skipped("call-1", (0, 100), "no_input_list")]


@pytest.mark.parametrize("text", ["[", "{}", '"m-1"'])
def test_r15_a_call_with_a_broken_input_list_is_skipped(text: str) -> None:
    stream = Stream([event("model.modelCall.input", modelCallId="call-1", conversationId="talk", messageUuids=text)])

    assert stream.calls() == [Skipped("call-1", (0, 0), "broken_input_list")]


def test_r15_a_call_without_messages_is_skipped() -> None:
    stream = Stream([*message("m-1", {"role": "user", "content": ""}), *sent("call-1", "m-1"), *sent("call-2")])

    assert stream.calls() == [Skipped("call-1", (0, 100), "no_messages"), Skipped("call-2", (0, 200), "no_messages")]


def test_r15_calls_come_in_the_order_of_their_first_events() -> None:
    late_chunk, early_chunk = sent("call-3", "m-1", parts=2)
    events = [early_chunk, *sent("call-2", "m-1"), *answered("call-0", "m-1"), *sent("call-1", "m-1"), late_chunk]
    told = Stream([*message("m-1", USER), *events]).calls()

    assert [call.call_id for call in told] == ["call-3", "call-2", "call-0", "call-1"]


def test_r15_long_values_are_only_held_if_a_rule_reads_them() -> None:
    long = "x" * 5000
    chosen = options("o-1", {f"request.option.{key}": long for key in ("system", "model", "tools")})
    request = event("model.request.added", headerRequestId="turn-1", notes=long, tools=[1], retried=True, longId=long)
    later: dict[str, Any] = {"requestOptionsId": "o-1", "own": long}
    stream = Stream([*chosen, request, *message("m-1", USER), *sent("call-1", "m-1", **later)])
    carried = stream.only().properties
    whole = rebuilt(stream.pieces, "call-1", stream.fetch).properties

    assert not {"notes", "own", "tools", "request.option.tools"} & carried.keys()
    assert carried["request.option.system"] == carried["request.option.model"] == carried["longId"] == long
    assert carried["retried"] is True
    assert {"notes", "own", "tools", "request.option.tools"} <= whole.keys()


def test_r15_a_long_value_that_is_not_held_still_hides_a_later_short_one() -> None:
    request = event("model.request.added", headerRequestId="turn-1", notes="short")
    stream = Stream([request, *message("m-1", USER), *sent("call-1", "m-1", notes="x" * 5000)])

    assert "notes" not in stream.only().properties


def test_r15_a_message_in_many_chunks_is_read_once_for_all_calls() -> None:
    lists = [event for number in range(5) for event in sent(f"call-{number}", "m-1", "m-2")]
    stream = Stream([*message("m-1", SYSTEM), *message("m-2", USER, parts=2), *lists])
    fetched: list[Place] = []

    def fetch(place: Place) -> Event:
        fetched.append(place)
        return stream.fetch(place)

    assert len(list(calls(stream.pieces, fetch))) == 5
    assert sorted(fetched) == [(0, 100 * number, 100) for number in range(1, 8)]  # all but the short message


def test_r15_a_recipe_can_be_rebuilt_in_another_process() -> None:
    request = event("model.request.added", headerRequestId="turn-1", uiKind="panel")
    chosen = options("o-1", {"request.option.model": '"gpt-4.1"'}, parts=2)
    messages = [*message("m-1", SYSTEM), *message("m-2", USER, parts=2)]
    listed = sent("call-1", "m-1", "m-2", "m-3", parts=2, requestOptionsId="o-1")
    stream = Stream([request, *chosen, *messages, *listed, *message("m-4", ANSWER), *answered("call-1", "m-4")])
    made = recipe(stream.pieces, "call-1", stream.fetch)
    sent_over = msgspec.msgpack.decode(msgspec.msgpack.encode(made), type=Recipe)

    assert sent_over == made == pickle.loads(pickle.dumps(made))
    assert rebuilt_from(sent_over, stream.fetch) == rebuilt(stream.pieces, "call-1", stream.fetch)
    assert stream.items() == [SYSTEM, USER, PLACEHOLDER, ANSWER]
