"""The chunked `model.*` family: what a range notes, and how ranges are combined (R-15)."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.telemetry.events import MODEL_EVENTS, Event, Place
from copilog.telemetry.messages import messages_from
from copilog.telemetry.model_calls import PLACEHOLDER, Call, calls, rebuilt
from copilog.telemetry.model_events import Pieces, combine, take
from copilog.telemetry.shapes import Shape, shape_of
from tests.telemetry.model_streams import ANSWER, SYSTEM, USER, Stream, answered, event, message, options, sent


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_r15_chunks_are_joined_by_index_in_any_order(order: tuple[int, ...]) -> None:
    chunks = [message("m-1", USER, parts=3), sent("call-1", "m-1", parts=3), options("o-1", {"a": "b"}, parts=3)]
    stream = Stream([thing[index] for index in order for thing in chunks])

    assert stream.items() == [USER]
    assert stream.only().shape == Shape("u")


def test_r15_of_repeated_chunks_the_first_counts() -> None:
    first, second = message("m-1", USER, parts=2)
    late_first, late_second = message("m-1", ANSWER, parts=2)
    stream = Stream([second, late_first._replace(properties=first.properties), late_second, *sent("call-1", "m-1")])

    assert stream.items() == [USER]


def test_r15_of_a_repeated_list_the_first_counts() -> None:
    lists = [*sent("call-1", "m-1", time="10:00"), *sent("call-1", "m-2", time="11:00")]
    stream = Stream([*lists, *message("m-1", USER), *message("m-2", ANSWER)])

    assert stream.items() == [USER]
    assert stream.only().time == "10:00"


def test_r15_the_first_event_has_the_number_of_chunks() -> None:
    whole = message("m-1", USER)
    stream = Stream([*whole, *message("m-1", ANSWER, parts=2), *sent("call-1", "m-1")])
    other_way_round = Stream([*message("m-1", ANSWER, parts=2)[1:], *whole, *sent("call-1", "m-1")])

    assert stream.items() == [USER]
    assert other_way_round.items() == [PLACEHOLDER]  # two chunks that do not fit
    assert other_way_round.only().incomplete


def test_r15_without_numbers_there_is_one_chunk() -> None:
    added = event(
        "model.message.added", messageUuid="m-1", messageJson=json.dumps(USER), chunkIndex="", totalChunks=None
    )
    listed = event("model.modelCall.input", modelCallId="call-1", messageUuids='["m-1"]', conversationId="talk")

    assert Stream([added, listed]).items() == [USER]


def test_r15_numbers_may_be_numbers() -> None:
    events = message("m-1", USER, parts=2)
    for index, chunk in enumerate(events):
        chunk.properties.update(chunkIndex=index, totalChunks=2)

    assert Stream([*events, *sent("call-1", "m-1")]).items() == [USER]


@pytest.mark.parametrize(
    ("index", "total"),
    [("-1", "1"), ("1", "1"), ("0", "0"), ("one", "2"), ("0", "٢"), (0.0, 1), (True, 2), ([], 1), ("0", "9" * 5000)],
)
def test_r15_invalid_numbers_are_not_a_chunk(index: Any, total: Any) -> None:
    chunk = event("model.message.added", messageUuid="m-1", messageJson="{}", chunkIndex=index, totalChunks=total)
    stream = Stream([chunk])

    assert stream.reasons == ["bad_chunk_number"]
    assert stream.pieces.is_empty()


def test_r15_a_huge_total_takes_no_time() -> None:
    chunk = event("model.message.added", messageUuid="m-1", messageJson="{", chunkIndex="1", totalChunks="999999999")
    head = event("model.message.added", messageUuid="m-1", messageJson="{", chunkIndex="0", totalChunks="999999999")

    assert Stream([chunk, head, *sent("call-1", "m-1")]).items() == [PLACEHOLDER]


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_r15_a_message_that_lacks_a_chunk_is_unknown(missing: int) -> None:
    chunks = message("m-1", USER, parts=3)
    del chunks[missing]
    stream = Stream([*chunks, *sent("call-1", "m-1")])

    assert stream.items() == [PLACEHOLDER]
    assert stream.only().incomplete


@pytest.mark.parametrize("text", ['{"role": "user"', "nothing", "null"])
def test_r15_a_broken_message_is_unknown_and_is_not_replaced_by_a_later_one(text: str) -> None:
    broken = event("model.message.added", messageUuid="m-1", messageJson=text)
    stream = Stream([broken, *message("m-1", USER), *sent("call-1", "m-1")])

    assert stream.items() == [PLACEHOLDER]
    assert stream.only().incomplete
    assert stream.reasons == ["broken_message_json", None, None]


def test_r15_a_message_broken_over_two_chunks_is_unknown() -> None:
    first, _ = message("m-1", USER, parts=2)
    second = event("model.message.added", messageUuid="m-1", messageJson="?", chunkIndex="1", totalChunks="2")
    stream = Stream([first, second, *sent("call-1", "m-1")])

    assert stream.items() == [PLACEHOLDER]
    assert stream.only().incomplete


def test_r15_a_character_split_between_chunks_is_joined() -> None:
    head = event(
        "model.message.added", messageUuid="m-1", messageJson='{"role":"user","content":"\ud83c', totalChunks=2
    )
    tail = event("model.message.added", messageUuid="m-1", messageJson='\udf31"}', chunkIndex=1, totalChunks=2)

    assert Stream([head, tail, *sent("call-1", "m-1")]).items() == [{"role": "user", "content": "\U0001f331"}]


def test_r15_a_value_that_a_collector_decoded_is_used_unchanged() -> None:
    added = event("model.message.added", messageUuid="m-1", messageJson=USER)
    chosen = event("model.request.options.added", requestOptionsId="o-1", requestOptionsJson={"request.option.n": 1})
    listed = event(
        "model.modelCall.input",
        modelCallId="call-1",
        conversationId="talk",
        messageUuids=["m-1"],
        requestOptionsId="o-1",
    )
    stream = Stream([added, chosen, listed])

    assert stream.items() == [USER]
    assert stream.only().properties["request.option.n"] == 1


@pytest.mark.parametrize(
    ("base", "reason"),
    [
        ("model.message.added", "no_message_uuid"),
        ("model.modelCall.input", "no_model_call_id"),
        ("model.modelCall.output", "no_model_call_id"),
        ("model.request.options.added", "no_request_options_id"),
        ("model.request.added", "no_header_request_id"),
    ],
)
def test_r15_an_event_without_its_id_is_not_usable(base: str, reason: str) -> None:
    ids: dict[str, Any] = {"messageUuid": 1, "modelCallId": "", "requestOptionsId": None, "headerRequestId": {}}
    stream = Stream([event(base, **ids)])

    assert stream.reasons == [reason]
    assert stream.pieces.is_empty()


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (event("model.message.added", messageUuid="m-1"), "no_message_json"),
        (event("model.message.added", messageUuid="m-1", messageJson=3), "no_message_json"),
        (event("model.modelCall.input", modelCallId="call-1", messageUuids=""), "no_message_uuids"),
        (event("model.modelCall.output", modelCallId="call-1"), "no_message_uuids"),
        (event("model.request.options.added", requestOptionsId="o-1"), "no_request_options_json"),
    ],
)
def test_r15_an_event_without_its_chunk_is_not_usable(made: Event, reason: str) -> None:
    stream = Stream([made])

    assert stream.reasons == [reason]
    assert stream.pieces.is_empty()


def test_r15_pieces_can_be_sent_to_another_process() -> None:
    odd = message("m-2", {"role": "gardener", "content": "Me too"})
    stream = Stream(
        [*message("m-1", SYSTEM), *odd, *message("m-3", USER, parts=2), *sent("call-1", "m-1", "m-2", "m-3")]
    )
    encoded = msgspec.msgpack.encode(stream.pieces)

    assert pickle.loads(pickle.dumps(stream.pieces)) == stream.pieces
    assert msgspec.msgpack.decode(encoded, type=Pieces) == stream.pieces


@pytest.mark.parametrize("is_reversed", [False, True])
def test_r15_a_call_may_be_in_two_files_and_the_earlier_file_counts_first(is_reversed: bool) -> None:
    first, second = message("m-1", USER, parts=2)
    (listed,), (late_list,) = sent("call-1", "m-1"), sent("call-1")
    places = {(0, 700, 10): first, (0, 900, 10): listed, (1, 0, 10): late_list, (1, 50, 10): second}
    ranges = [Pieces(), Pieces()]
    for place, made in places.items():
        take(ranges[place[0]], made, place)
    pieces = combine(*reversed(ranges)) if is_reversed else combine(*ranges)
    (call,) = calls(pieces, places.__getitem__)

    assert call.seq == (0, 900)
    assert rebuilt(pieces, "call-1", places.__getitem__).properties["messagesJson"] == [USER]


# --- any order, any grouping, any repetition ------------------------------------------------------------------------

UUIDS = ["m-1", "m-2", "m-3", "unknown"]
TEXTS = [
    json.dumps(SYSTEM),
    json.dumps(USER),
    '{"role":"user","content":"half',
    ' and half"}',
    '{"role":"user","content":[{"type":"tool_result","tool_use_id":"t-1","content":"wet"}]}',
    '{"role":"gardener","content":"Me too"}',
    "[]",
]
LISTS = ['["m-1"]', '["m-1","m-2"]', '["m-2","m-2","m-9"]', '["m-3"', ',"m-1"]', "{}"]
OPTIONS = ['{"request.option.n":"1"}', '{"request.option.n":', '"2"}']
TIMES = [None, "2026-01-02T10:00:00Z", "2026-01-02T11:00:00Z"]
NUMBERS = [(0, 1), (0, 1), (0, 1), (0, 2), (1, 2), (1, 2), (2, 3), (3, 2)]


@st.composite
def events(draw: Callable[..., Any]) -> Event:
    def one_of(values: list[Any]) -> Any:
        return draw(st.sampled_from(values))

    index, total = one_of(NUMBERS)
    return event(
        one_of(sorted(MODEL_EVENTS)),
        one_of(TIMES),
        modelCallId=one_of(["call-1", "call-2", "call-3"]),
        messageUuid=one_of(UUIDS),
        requestOptionsId=one_of(["o-1", "o-2"]),
        headerRequestId=one_of(["turn-1", "turn-2", "unknown"]),
        conversationId=one_of(["talk", "talk", "unknown"]),
        messageJson=one_of(TEXTS),
        messageUuids=one_of(LISTS),
        requestOptionsJson=one_of(OPTIONS),
        chunkIndex=str(index),
        totalChunks=str(total),
    )


WHOLE = [
    *message("m-1", SYSTEM),
    *message("m-2", USER, parts=2),
    *message("m-9", ANSWER),
    *options("o-1", {"request.option.n": "1"}, parts=2),
    event("model.request.added", headerRequestId="turn-1", uiKind="panel"),
    *sent("call-1", "m-1", "m-2", requestOptionsId="o-1", parts=2),
    *answered("call-1", "m-9"),
    *sent("call-4", "m-1", "m-2", "m-9"),
]


def streams() -> st.SearchStrategy[list[Event]]:
    """Return two whole calls, and anything that may come between."""
    return st.lists(events(), max_size=20).flatmap(lambda others: st.permutations([*WHOLE, *others]))


def noted(stream: Stream, places: Iterable[Place]) -> Pieces:
    pieces = Pieces()
    for place in places:
        take(pieces, stream.events[place], place)
    return pieces


@given(st.data())
def test_r15_combining_is_associative_commutative_and_idempotent(data: st.DataObject) -> None:
    stream = Stream(data.draw(streams()))
    some = st.lists(st.sampled_from(sorted(stream.events)), max_size=20)
    one, two, three = (noted(stream, data.draw(some)) for _ in range(3))

    def both(left: Pieces, right: Pieces) -> Pieces:
        kept = deepcopy(right)
        made = combine(deepcopy(left), right)
        assert right == kept  # only the left side may change
        return made

    assert both(both(one, two), three) == both(one, both(two, three))
    assert both(one, two) == both(two, one)
    assert both(one, one) == one
    assert combine(one, one) == both(one, Pieces())


@given(streams(), st.data())
def test_r15_calls_do_not_depend_on_how_events_are_split_into_ranges(made: list[Event], data: st.DataObject) -> None:
    stream = Stream(made)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(made)), max_size=4)))
    places = list(stream.events)
    ranges = [places[start:end] for start, end in zip([0, *cuts], [*cuts, len(made)], strict=True)]
    repeated = data.draw(st.permutations([*ranges, *ranges[:1]]))
    pieces = Pieces()
    for part in repeated:
        combine(pieces, noted(stream, part))

    assert list(calls(pieces, stream.fetch)) == stream.calls()
    for call in stream.calls():
        if isinstance(call, Call):
            snapshot = rebuilt(pieces, call.call_id, stream.fetch)
            assert snapshot == rebuilt(stream.pieces, call.call_id, stream.fetch)
            assert call.properties == {
                key: value for key, value in snapshot.properties.items() if key != "messagesJson"
            }
            items = messages_from(snapshot.properties["messagesJson"])
            assert call.shape == shape_of(items)
            assert call.incomplete == any(item.missing for item in items)
