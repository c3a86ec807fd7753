"""What comes out does not depend on how events are spread over files, ranges and processes, nor on repetition.

Streams are made of few ids, few times and short conversations, so that ties, duplicates and overlaps are the rule.
"""

from __future__ import annotations

import copy
import itertools
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.telemetry.collect import Reading, collect
from copilog.telemetry.evidence import Evidence, combine
from copilog.telemetry.inputs import list_files, parts_of, prepare
from copilog.trajectory import encode_trajectory
from tests.telemetry.plain_reduction import reduce_plainly
from tests.telemetry.streams import (
    Record,
    assistant,
    call,
    event,
    model_call,
    model_message,
    model_options,
    session_response,
    snapshot,
    system,
    tool,
    trajectories,
    user,
    user_text,
    write_lines,
)

TALKS = st.sampled_from(["a", "a", "b"])
REQUESTS = st.sampled_from(["h-1", "h-1", "h-2", None])
TURNS = st.sampled_from(["m-1", "m-2", None])
CALLS = st.sampled_from(["c-1", "c-2", None])
MODELS = st.sampled_from(["gpt-5", "o3", "auto", None])
MODES = st.sampled_from(["ask", "agent", "edit", None])
TIMES = st.sampled_from(["2026-04-12T10:00:00Z", "2026-04-12T12:00:00+02:00", "2026-04-12T10:00:01Z", "noon", None])

MESSAGES = st.sampled_from(
    [
        user("Sow beans"),
        user("Sow"),
        user("<context>May</context>"),
        assistant("In May."),
        assistant("In"),
        assistant("", tool_calls=[call("call-1")]),
        assistant("In May.", tool_calls=[call("call-2")]),
        tool("12 degrees", None),
        tool("12 degrees", "call-1"),
        tool("", "call-2"),
        assistant(""),
    ]
)


HISTORY = [
    user("<context>May</context>"),
    user("Sow beans"),
    assistant("Let me see.", tool_calls=[call("call-1")]),
    tool("12 degrees", "call-1"),
    assistant("And again.", tool_calls=[call("call-2")]),
    tool("13 degrees", "call-2"),
    user("And peas?"),
]


@st.composite
def histories(draw: st.DrawFn) -> list[Record]:
    """Return the beginning of one and the same conversation, from which some tool metadata and a text may be lost."""
    messages = HISTORY[draw(st.sampled_from([0, 0, 1])) : draw(st.integers(2, len(HISTORY)))]
    lost = draw(st.sets(st.integers(0, len(HISTORY))))
    changed = draw(st.integers(0, 40))
    return [
        {
            key: "Something else" if key == "content" and index == changed else value
            for key, value in message.items()
            if key in ("role", "content") or index not in lost
        }
        for index, message in enumerate(messages)
    ]


@st.composite
def snapshots(draw: st.DrawFn) -> list[Record]:
    messages = [
        *draw(st.sampled_from([[system()], [system()], [system()], []])),
        *draw(st.one_of(histories(), st.lists(MESSAGES, max_size=4))),
    ]
    model = draw(MODELS)
    own = {
        "messageId": draw(TURNS),
        "modelCallId": draw(CALLS),
        "request.option.model": None if model is None else json.dumps(model),
        "baseModel": draw(MODELS),
        "subType": draw(st.sampled_from([None, None, None, "subagent"])),
        "attachedContext": draw(st.sampled_from([None, None, "of its own"])),
    }
    return [snapshot(messages, draw(TALKS), header=draw(REQUESTS), time=draw(TIMES), properties=own)]


@st.composite
def answers(draw: st.DrawFn) -> list[Record]:
    own = {"modelCallId": draw(CALLS), "baseModel": draw(MODELS)}
    text = draw(st.sampled_from(["In May.", "In June."]))
    return [snapshot([assistant(text)], draw(TALKS), header=draw(REQUESTS), time=draw(TIMES), properties=own)]


@st.composite
def facts(draw: st.DrawFn) -> list[Record]:
    talk, time = draw(TALKS), draw(TIMES)
    match draw(st.integers(0, 3)):
        case 0:
            turn = draw(st.integers(0, 2))
            return [user_text(draw(MODES), turn, talk, header=draw(REQUESTS), message=draw(TURNS), time=time)]
        case 1:
            source = draw(st.sampled_from(["user", "model"]))
            return [user_text(draw(MODES), None, talk, source=source, header=draw(REQUESTS), time=time)]
        case 2:
            kind = draw(st.sampled_from(["Response", "Message"]))
            request = draw(st.sampled_from(["h-1", "h-2", "m-1"]))
            return [session_response(draw(MODELS), request, talk, kind=kind, time=time)]
        case _:
            key = draw(st.sampled_from(["attachedContext", "detectedParticipant"]))
            value = draw(st.sampled_from(["one", "two"]))
            return [event("participantDetectionContext", {"conversationId": talk, key: value}, time=time)]


@st.composite
def deltas(draw: st.DrawFn) -> list[Record]:
    """Return events of the delta family that come in pieces."""
    uuid, parts = draw(st.sampled_from(["u-1", "u-2"])), draw(st.integers(1, 2))
    where: dict[str, Any] = {"conversation": draw(TALKS), "header": draw(REQUESTS), "time": draw(TIMES)}
    match draw(st.integers(0, 3)):
        case 0:
            return model_message(uuid, draw(MESSAGES), parts=parts, **where)
        case 1:
            own = {"requestOptionsId": draw(st.sampled_from(["o-1", None]))}
            ids = draw(st.lists(st.sampled_from(["u-0", "u-1", "u-2"]), min_size=1, max_size=3))
            return model_call(draw(st.sampled_from(["c-1", "c-3"])), ids, parts=parts, properties=own, **where)
        case 2:
            return model_call(draw(st.sampled_from(["c-1", "c-3"])), [uuid], direction="output", parts=parts, **where)
        case _:
            return model_options("o-1", {"request.option.model": json.dumps(draw(MODELS))}, parts=parts, **where)


PLAIN_STREAMS = st.lists(st.one_of(snapshots(), snapshots(), answers(), facts(), facts()), max_size=20).map(
    lambda groups: list(itertools.chain.from_iterable(groups))
)
STREAMS = st.lists(
    st.one_of(snapshots(), snapshots(), answers(), facts(), deltas()), min_size=1, max_size=14
).map(lambda groups: list(itertools.chain.from_iterable(groups)))  # fmt: skip


@st.composite
def shuffled_streams(draw: st.DrawFn) -> list[Record]:
    """Return streams with scattered pieces and repeated events."""
    stream = draw(STREAMS)
    return draw(st.permutations([*stream, *draw(st.lists(st.sampled_from(stream), max_size=3))]))


def outcome(folder: Path, **options: Any) -> list[Record]:
    """Return all trajectories as written, without file names and offsets."""
    lines = [json.loads(encode_trajectory(found)) for found in trajectories(folder, **options)]
    for line in lines:
        del line["file_path"]
        if "merge_log" in line["metadata"]:
            line["metadata"]["merge_log"] = [entry[:2] for entry in line["metadata"]["merge_log"]]
    return lines


def split_at(stream: Sequence[Record], cuts: Sequence[int]) -> list[Sequence[Record]]:
    edges = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    return [stream[start:end] for start, end in itertools.pairwise(edges)]


def write_files(folder: Path, groups: Sequence[Sequence[Record]]) -> Path:
    for number, group in enumerate(groups):
        write_lines(folder, *group, name=f"{number:03}.jsonl")
    return folder


@given(shuffled_streams(), st.lists(st.integers(0, 50), max_size=4), st.booleans())
def test_how_events_are_split_into_files_does_not_matter(
    stream: list[Record], cuts: list[int], require_system_first: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole = write_files(Path(folder, "whole"), [stream])
        split = write_files(Path(folder, "split"), split_at(stream, cuts))
        options = {"require_system_first": require_system_first}

        assert outcome(whole, **options) == outcome(split, **options)


@given(shuffled_streams(), st.data())
def test_r5_repeating_events_at_the_end_does_not_matter(stream: list[Record], data: st.DataObject) -> None:
    repeated = data.draw(st.lists(st.sampled_from(stream), min_size=1, max_size=6))
    with tempfile.TemporaryDirectory() as folder:
        once = write_files(Path(folder, "once"), [stream])
        more = write_files(Path(folder, "more"), [stream, repeated])

        assert outcome(once, require_system_first=False) == outcome(more, require_system_first=False)


@given(shuffled_streams(), st.booleans())
def test_streaming_or_not_does_not_matter(stream: list[Record], compat: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_lines(Path(folder), *stream)

        streamed, loaded = (
            [encode_trajectory(found) for found in trajectories(path, streaming=streaming, compat=compat)]
            for streaming in (True, False)
        )

    assert streamed == loaded


@settings(max_examples=5)
@given(st.lists(shuffled_streams(), min_size=2, max_size=4), st.booleans())
def test_the_number_of_processes_does_not_matter(groups: list[list[Record]], compat: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = write_files(Path(folder), groups)
        alone = [encode_trajectory(found) for found in trajectories(path, compat=compat)]
        for name, size in (
            ("WORTH_PROCESSES", 0),
            ("SMALLEST_PART", 500),
            ("BATCH", 1),
        ):  # or all is too little to share
            patch.setattr(f"copilog.telemetry.pipeline.{name}", size)
        shared = [encode_trajectory(found) for found in trajectories(path, jobs=2, compat=compat)]

    assert alone == shared


@settings(max_examples=300)
@given(PLAIN_STREAMS, st.booleans(), st.booleans())
def test_the_extractor_agrees_with_the_rules_written_down_plainly(
    stream: list[Record], require_system_first: bool, compat: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_lines(Path(folder), *stream)
        lines = outcome(path, require_system_first=require_system_first, compat=compat)

    assert [
        {
            "conversation_id": line["conversation_id"],
            "messages": line["messages"],
            "mode": line["metadata"]["mode"],
            "mode_distribution": line["mode_distribution"],
            "merged": [tuple(entry) for entry in line["metadata"].get("merge_log", [])],
            "subagent": line["metadata"].get("subagent", False),
            "context": {name: value for name, value in line["context"].items() if not name.startswith("message_")},
        }
        for line in lines
    ] == reduce_plainly(stream, require_system_first=require_system_first, compat=compat)


# --- the evidence of parts --------------------------------------------------------------------------------------------


def evidence_of(folder: Path, part_bytes: int, compat: bool) -> list[Evidence]:
    """Return the evidence of each range of each file."""
    reading = Reading(compat=compat, require_system_first=False)
    files = [prepare(file, str(folder)) for file in list_files([folder])]
    return [collect((part, reading)) for file in files for part in parts_of(file, part_bytes)]


def joined(*parts: Evidence) -> Evidence:
    """Return all parts combined, without changing them."""
    whole = Evidence()
    for part in parts:
        whole = combine(whole, copy.deepcopy(part))
    return whole


@given(st.lists(shuffled_streams(), min_size=1, max_size=3), st.integers(200, 5000), st.booleans(), st.data())
def test_evidence_is_combined_in_any_order_grouping_and_number(
    groups: list[list[Record]], part_bytes: int, compat: bool, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        parts = evidence_of(write_files(Path(folder), groups), part_bytes, compat)
    in_turn = joined(*parts)

    assert joined(*data.draw(st.permutations(parts))) == in_turn
    assert joined(*parts, *data.draw(st.lists(st.sampled_from(parts), max_size=3))) == in_turn
    cut = data.draw(st.integers(0, len(parts)))
    assert joined(joined(*parts[:cut]), joined(*parts[cut:])) == in_turn
    assert joined(in_turn, in_turn) == in_turn


@given(st.lists(shuffled_streams(), min_size=1, max_size=2), st.integers(200, 5000))
def test_ranges_of_any_size_only_change_the_ledger(groups: list[list[Record]], part_bytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_files(Path(folder), groups)
        cut, whole = (joined(*evidence_of(path, size, False)) for size in (part_bytes, 1 << 30))

    assert sum(books.seen for books in cut.books.values()) == sum(books.seen for books in whole.books.values())
    cut.books = whole.books = {}
    assert cut == whole
