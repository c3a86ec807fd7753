"""R-23, R-25 to R-29 and R-31: one trajectory per conversation, and what its other snapshots still tell about it.

Sub-agents (R-24) and closing answers (R-30) are in test_rules_subagents_and_answers.py.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from copilog.trajectory import ConversationTrajectory, encode_trajectory
from tests.telemetry.streams import (
    Record,
    assistant,
    call,
    contents,
    line_of,
    modes,
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


def asked(model: str) -> Record:
    """Return the property by which a snapshot sets the model of its last message."""
    return {"request.option.model": json.dumps(model)}


def messages_of(trajectory: ConversationTrajectory) -> list[Record]:
    """Return the messages as written."""
    written: list[Record] = json.loads(encode_trajectory(trajectory))["messages"]
    return written


# --- the winner -------------------------------------------------------------------------------------------------


def test_r23_the_snapshot_with_most_messages_wins(tmp_path: Path) -> None:
    long = snapshot([system(), user(), assistant(), user("And peas?")], time=at(1))
    short = snapshot([system(), user("Later, but shorter")], time=at(9))

    assert contents(only(write_lines(tmp_path, short, long, short)))[-1] == "And peas?"


def test_r23_vector_6_of_five_growing_snapshots_of_one_request_the_fifth_wins(tmp_path: Path) -> None:
    history = [system(), user(), *(assistant(f"Step {number}") for number in range(5))]
    growing = [snapshot(history[: number + 3], header="turn-1", time=at(number)) for number in range(5)]

    assert contents(only(write_lines(tmp_path, *growing)))[-1] == "Step 4"


def test_r23_messages_are_counted_after_empty_ones_are_dropped(tmp_path: Path) -> None:
    hollow = snapshot([system(), user("Hollow"), *[assistant("")] * 5])
    full = snapshot([system(), user("Full"), assistant()])

    assert contents(only(write_lines(tmp_path, hollow, full)))[1] == "Full"


def test_r23_a_synthesised_system_message_counts(tmp_path: Path) -> None:
    plain = snapshot([system(), user("Plain")], time=at(9))
    option = {"request_option_system": '[{"type":"text","text":"You help."}]'}
    synthesised = snapshot([user("With a system prompt apart"), assistant()], properties=option)

    assert contents(only(write_lines(tmp_path, plain, synthesised)))[1] == "With a system prompt apart"


@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [
        ("2026-04-12T10:00:00Z", "2026-04-12T10:00:01Z", "second"),
        ("2026-04-12T10:00:01Z", "2026-04-12T10:00:00Z", "first"),
        ("2026-04-12T10:00:00+02:00", "2026-04-12T09:00:00Z", "second"),  # the same morning in two zones
        ("2026-04-12T10:00:00", "2026-04-12T11:00:00+02:00", "first"),  # no zone means UTC
        ("2026-04-12T10:00:00.5Z", "2026-04-12T10:00:00.25Z", "first"),
        (None, "1999-01-01T00:00:00Z", "second"),
        ("about noon", "1999-01-01T00:00:00Z", "second"),
        ("1999-01-01T00:00:00Z", "about noon", "first"),
        ("about noon", None, "first"),
        ("2026-04-12T10:00:00Z", "2026-04-12T12:00:00+02:00", "first"),  # the same instant: the smaller number
        ("2026-04-12T10:00:00.1234561Z", "2026-04-12T10:00:00.1234569Z", "first"),  # beyond microseconds: no matter
    ],
)
def test_r23_a_tie_goes_to_the_later_instant_and_then_to_the_smaller_number(
    tmp_path: Path, first: str | None, second: str | None, winner: str
) -> None:
    path = write_lines(
        tmp_path,
        snapshot([system(), user("first")], time=first),
        snapshot([system(), user("second")], time=second),
    )

    assert contents(only(path))[1] == winner


def test_r23_the_timestamp_property_has_priority_over_the_envelope(tmp_path: Path) -> None:
    late = snapshot([system(), user("late")], time=at(1), properties={"timestamp": at(5)})
    early = snapshot([system(), user("early")], time=at(9), properties={"timestamp": at(4)})

    trajectory = only(write_lines(tmp_path, early, late))

    assert contents(trajectory)[1] == "late"
    assert trajectory.metadata.timestamp == at(5)


def test_r23_the_winner_is_found_across_files_and_ties_go_to_the_first_of_them(tmp_path: Path) -> None:
    for name in ("b.jsonl", "c.jsonl", "a.jsonl"):
        write_lines(tmp_path / "in", snapshot([system(), user(name)], time=at(1)), name=name)

    trajectory = only(tmp_path / "in")

    assert contents(trajectory)[1] == "a.jsonl"
    assert trajectory.file_path == f"{tmp_path / 'in'}/a.jsonl"


# --- who gives, and when ----------------------------------------------------------------------------------------


def test_r25_the_first_donor_in_the_stream_wins_at_any_time(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        snapshot([system(), user(), assistant()]),
        snapshot([system(), user()], time=at(9), properties=asked("gpt-5")),
        snapshot([system(), user()], time=at(1), properties=asked("o3")),
    )

    assert only(path).messages[1].model == "gpt-5"


def test_r25_the_first_donor_with_a_value_counts(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        snapshot([system(), user()]),
        snapshot([system(), user()], properties=asked("o3")),
        snapshot([system(), user(), assistant()]),
    )

    assert only(path).messages[1].model == "o3"


def test_r25_of_several_donors_with_calls_the_first_counts(tmp_path: Path) -> None:
    donors = [snapshot([system(), user(), assistant(tool_calls=[call(name)])]) for name in ("first", "second")]
    winner = snapshot([system(), user(), assistant(), user("Thanks")])

    assert only(write_lines(tmp_path, winner, *donors)).messages[2].tool_calls == [call("first")]


def test_r25_values_of_the_winner_are_never_replaced(tmp_path: Path) -> None:
    donor = snapshot([system(), user(), assistant(tool_calls=[call("early")])], properties=asked("o3"))
    winner = snapshot([system(), user(), assistant(tool_calls=[call("own")])], time=at(1), properties=asked("gpt-5"))

    last = only(write_lines(tmp_path, donor, winner)).messages[2]

    assert last.tool_calls == [call("own")]
    assert (last.model, last.merged) == ("gpt-5", None)


@pytest.mark.parametrize("nothing", [{}, {"tool_calls": None}, {"tool_calls": []}])
def test_r25_null_absent_and_an_empty_list_are_missing(tmp_path: Path, nothing: dict[str, Any]) -> None:
    donor = snapshot([system(), user(), assistant(tool_calls=[call()])])
    winner = snapshot([system(), user(), assistant(**nothing), user("Thanks")])

    assert only(write_lines(tmp_path, donor, winner)).messages[2].tool_calls == [call()]


def test_r25_an_empty_list_of_calls_counts_as_missing_in_a_donor(tmp_path: Path) -> None:
    empty = snapshot([system(), user(), assistant(tool_calls=[])])
    donor = snapshot([system(), user(), assistant(tool_calls=[call()])])
    winner = snapshot([system(), user(), assistant(), user("Thanks")])

    assert only(write_lines(tmp_path, empty, donor, winner)).messages[2].tool_calls == [call()]


def test_r25_an_excluded_snapshot_is_not_a_donor(tmp_path: Path) -> None:
    outside = snapshot([assistant("Hello"), user()], properties=asked("o3"))
    path = write_lines(tmp_path, outside, snapshot([system(), user(), assistant()]))

    assert only(path).messages[1].model is None
    assert only(path, require_system_first=False).messages[1].model == "o3"


# --- what is given ----------------------------------------------------------------------------------------------


def test_r26_modes_models_and_conflicts_are_always_merged(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        user_text("ask", None, header="h-1"),
        user_text("agent", None, header="h-2"),
        session_response("claude-sonnet-4", "h-1"),
        snapshot([system(), user()], header="h-1", properties=asked("gpt-5")),
        snapshot([system(), user(), assistant(), user("And peas?")], header="h-2"),
    )

    trajectory = only(path, merge_tool_metadata=False)

    given = trajectory.messages[1]
    assert (given.mode, given.model, given.model_source, given.model_conflict) == (
        "ask",
        "gpt-5",
        "engine-request",
        True,
    )
    assert modes(trajectory) == ["ask", "agent"]
    assert trajectory.metadata.mode == "ask"
    assert trajectory.mode_distribution == {"agent": 1, "ask": 1}


def test_r26_model_and_source_come_from_the_same_donor(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        snapshot([system(), user(), assistant()], header="h-1", properties={"baseModel": "gpt-5"}),
        snapshot([system(), user(), assistant()], properties=asked("o3")),
        snapshot([system(), user(), assistant(), user("And peas?")], header="h-2"),
    )

    given = only(path).messages[2]

    assert (given.model, given.model_source) == ("gpt-5", "engine")


def test_r26_a_conflict_is_merged_even_if_the_winner_has_a_model(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        session_response("claude-sonnet-4", "h-1"),
        session_response("o3", "h-2"),
        snapshot([system(), user()], header="h-1", properties=asked("gpt-5")),
        snapshot([system(), user(), assistant()], header="h-2"),
    )

    message = only(path).messages[1]

    assert (message.model, message.model_source, message.model_conflict) == ("o3", "interactiveSession", True)


def test_r26_tool_metadata_is_merged_by_default(tmp_path: Path) -> None:
    donor = snapshot([system(), user(), assistant("", tool_calls=[call()]), tool()])
    winner = snapshot([system(), user(), assistant("Let me see."), tool(tool_call_id=None), user("Thanks")])
    path = write_lines(tmp_path, donor, winner)

    merged, plain = only(path), only(path, merge_tool_metadata=False)

    assert merged.messages[2].tool_calls == [call()]
    assert merged.messages[3].tool_call_id == "call-1"
    assert all((message.tool_calls, message.tool_call_id, message.merged) == (None,) * 3 for message in plain.messages)
    assert plain.metadata.merge_log is None


def test_r26_calls_go_to_assistants_only_and_call_ids_to_tools_only(tmp_path: Path) -> None:
    strange = snapshot(
        [system(), user(tool_calls=[call()]), assistant(tool_call_id="call-1"), tool(tool_calls=[call()])]
    )
    winner = snapshot([system(), user(), assistant(), tool(tool_call_id="call-1"), user("Thanks")])

    trajectory = only(write_lines(tmp_path, strange, winner))

    assert [message.tool_calls for message in trajectory.messages] == [None] * 5
    assert trajectory.messages[2].tool_call_id is None


def test_r26_nothing_else_is_merged(tmp_path: Path) -> None:
    picture = [{"type": "text", "text": "Look"}, {"type": "image_url"}]
    rich = snapshot([system(), user(picture), assistant(reasoning_text="May is warm.")])
    winner = snapshot([system(), user("Look"), assistant(), user("Thanks")])

    trajectory = only(write_lines(tmp_path, rich, winner))

    assert [message.attachments for message in trajectory.messages] == [None] * 4
    assert [message.reasoning for message in trajectory.messages] == [None] * 4


# --- what aligns ------------------------------------------------------------------------------------------------


def test_r27_messages_align_by_index_and_role_without_shifting(tmp_path: Path) -> None:
    donor = snapshot([system(), user(), assistant("", tool_calls=[call()]), tool()])
    winner = snapshot([system(), user(), user("And peas?"), assistant(), tool(tool_call_id=None)])

    trajectory = only(write_lines(tmp_path, donor, winner))

    assert [message.tool_calls for message in trajectory.messages] == [None] * 5
    assert [message.tool_call_id for message in trajectory.messages] == [None] * 5


def test_r27_positions_are_counted_after_empty_messages_are_dropped(tmp_path: Path) -> None:
    donor = snapshot([system(), user(""), user(), assistant("", tool_calls=[call()])])
    winner = snapshot([system(), user(), assistant(), user("Thanks")])

    assert only(write_lines(tmp_path, donor, winner)).messages[2].tool_calls == [call()]


def test_r27_a_snapshot_of_the_same_length_is_a_donor_too(tmp_path: Path) -> None:
    donor = snapshot([system(), user(), assistant(tool_calls=[call()])], time=at(1))
    winner = snapshot([system(), user(), assistant()], time=at(2))

    for order in ([donor, winner], [winner, donor]):
        assert only(write_lines(tmp_path, *order)).messages[2].tool_calls == [call()]


# --- the guard --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("winner", "donor", "is_compatible"),
    [
        ("In May.", "In May.", True),
        ("In May.", "", True),
        (" In\n\tMay. ", "In\u00a0\u2003May.", True),
        ("In May.", "In May. Not earlier.", True),
        ("In May. Not earlier.", "In  Ma", True),
        ("In May.", "\n ", True),
        ("x", "y", False),
        ("In May.", "in may.", False),
        ("In May.", "May.", False),
        ("In May.", "I n May.", False),
    ],
)
def test_r28_tool_metadata_needs_compatible_content_unless_compat(
    tmp_path: Path, winner: str, donor: str, is_compatible: bool
) -> None:
    path = write_lines(
        tmp_path,
        snapshot([system(), user(), assistant(donor, tool_calls=[call()]), tool(donor)]),
        snapshot([system(), user(), assistant(winner), tool(winner, tool_call_id=None), user("Thanks")]),
    )

    guarded, compat = only(path).messages, only(path, compat=True).messages

    assert (guarded[2].tool_calls == [call()]) is is_compatible
    assert guarded[3].tool_call_id == ("call-1" if is_compatible else None)
    assert compat[2].tool_calls == [call()]


def test_r28_an_incompatible_donor_is_skipped_for_the_next(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        snapshot([system(), user(), assistant("In June.", tool_calls=[call("wrong")])]),
        snapshot([system(), user(), assistant("", tool_calls=[call("right")])]),
        snapshot([system(), user(), assistant("In May."), user("Thanks")]),
    )

    assert only(path).messages[2].tool_calls == [call("right")]


def test_r28_modes_and_models_need_no_compatible_content(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        user_text("ask", None, header="h-1"),
        snapshot([system(), user("Summarised away")], header="h-1", properties=asked("gpt-5")),
        snapshot([system(), user("Something else"), assistant()], header="h-2"),
    )

    message = only(path).messages[1]

    assert (message.mode, message.model) == ("ask", "gpt-5")


# --- merged fields are recorded ---------------------------------------------------------------------------------


def test_r29_vector_7_the_example_of_the_description(tmp_path: Path) -> None:
    calls = [call("toolu_001", "do_something", '{"x":1}')]
    donor = snapshot([assistant("", tool_calls=calls), tool("ok", "toolu_001")])
    winner = snapshot([assistant("reply"), user("next"), assistant("ok")])
    path = write_lines(tmp_path, donor, winner)

    for compat in (False, True):
        trajectory = only(path, require_system_first=False, compat=compat)

        assert messages_of(trajectory) == [
            {"role": "assistant", "content": "reply", "tool_calls": calls, "merged": ["tool_calls"]},
            {"role": "user", "content": "next"},
            {"role": "assistant", "content": "ok"},
        ]
        assert trajectory.metadata.merge_log == [(0, "tool_calls", str(path), 0)]


def test_r29_the_position_of_the_donor_is_its_file_and_byte(tmp_path: Path) -> None:
    before = user_text("ask", 0, properties={"messageText": "Frühbeet für Bohnen 🫘"})
    first = snapshot([system(), user(), assistant("", tool_calls=[call()])])
    second = snapshot([system(), user(), assistant("Let me see."), tool()])
    winner = snapshot([system(), user(), assistant("Let me see."), tool(tool_call_id=None), user("Thanks")])
    folder = tmp_path / "in"
    write_lines(folder, before, first, name="2026/04/a.jsonl")
    write_lines(folder, before, winner, second, name="b.jsonl")

    trajectory = only(folder)

    assert [message.merged for message in trajectory.messages] == [None, None, ["tool_calls"], ["tool_call_id"], None]
    assert sorted(trajectory.metadata.merge_log or []) == [
        (2, "tool_calls", f"{folder}/2026/04/a.jsonl", len(line_of(before)) + 1),
        (3, "tool_call_id", f"{folder}/b.jsonl", len(line_of(before)) + len(line_of(winner)) + 2),
    ]


def test_r29_the_offset_in_a_packed_file_counts_unpacked_bytes(tmp_path: Path) -> None:
    donor = snapshot([system(), user(), assistant("", tool_calls=[call()])])
    winner = snapshot([system(), user(), assistant("Let me see."), user("Thanks")])
    plain = write_lines(tmp_path, "{}", donor, winner)
    packed = tmp_path / "events.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))

    assert only(packed).metadata.merge_log == [(2, "tool_calls", str(packed), 3)]


def test_r29_the_offset_in_an_array_is_the_start_of_the_record(tmp_path: Path) -> None:
    donor = snapshot([system(), user(), assistant("", tool_calls=[call()])])
    winner = snapshot([system(), user(), assistant("Let me see."), user("Thanks")])
    path = tmp_path / "events.json"
    path.write_text(json.dumps([{"first": True}, donor, winner], indent=1))

    ((_, field, _, offset),) = only(path).metadata.merge_log or []

    assert field == "tool_calls"
    assert json.JSONDecoder().raw_decode(path.read_text()[offset:].lstrip())[0] == donor


def test_r29_modes_and_models_are_merged_without_a_mark(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        snapshot([system(), user()], properties=asked("gpt-5")),
        snapshot([system(), user(), assistant()]),
    )

    trajectory = only(path)

    assert trajectory.messages[1].model == "gpt-5"
    assert trajectory.messages[1].merged is None
    assert trajectory.metadata.merge_log is None


# --- order ------------------------------------------------------------------------------------------------------


def in_order(path: Path, **options: Any) -> list[str]:
    return [trajectory.conversation_id for trajectory in trajectories(path, **options)]


def test_r31_conversations_come_in_the_order_of_their_first_snapshot(tmp_path: Path) -> None:
    short, long = [system(), user()], [system(), user(), assistant()]
    path = write_lines(
        tmp_path,
        user_text("ask", 0, "c"),
        session_response("gpt-5", "h", "c"),
        snapshot(short, "b", time=at(9)),
        snapshot(long, "a", time=at(1)),
        snapshot(long, "c", time=at(0)),
        snapshot(long, "b", time=at(2)),
    )

    assert in_order(path) == ["b", "a", "c"]


def test_r31_a_snapshot_that_is_filtered_out_is_not_seen(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path, snapshot([user()], "b"), snapshot([system(), user()], "a"), snapshot([system(), user()], "b")
    )

    assert in_order(path) == ["a", "b"]
    assert in_order(path, require_system_first=False) == ["b", "a"]


def test_r31_files_are_seen_in_sorted_order(tmp_path: Path) -> None:
    for name, conversation in (("b.jsonl", "first-written"), ("B.jsonl", "capital"), ("a/z.jsonl", "deeper")):
        write_lines(tmp_path / "in", snapshot([system(), user()], conversation), name=name)

    assert in_order(tmp_path / "in") == ["capital", "deeper", "first-written"]


@pytest.mark.parametrize("compat", [False, True])
def test_r31_memory_and_disk_yield_the_same_order(tmp_path: Path, compat: bool) -> None:
    donor = snapshot([system(), user(), assistant("", tool_calls=[call()])], properties=asked("gpt-5"))
    winner = snapshot([system(), user(), assistant("Let me see."), tool(tool_call_id=None)], header="h-1")
    path = write_lines(tmp_path, user_text("ask", 0), donor, winner)

    streamed, loaded = (
        [encode_trajectory(found) for found in trajectories(path, streaming=streaming, compat=compat)]
        for streaming in (True, False)
    )

    assert streamed == loaded
    assert roles(trajectories(path)[0]) == ["system", "user", "assistant", "tool"]
