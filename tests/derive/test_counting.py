"""Which turns count, where branches leave, and how a branched conversation is divided into linear ones."""

from __future__ import annotations

import msgspec
import pytest

from copilog import summaries
from copilog.derive import (
    ends_of,
    has_nothing,
    in_reading_order,
    only_traces,
    reason_of,
    superseded_indexes,
    turns_before,
    without_superseded,
)
from copilog.model import Branch, Conversation, FileState, Message, Text, Turn
from copilog.store.entries import entry_of
from tests.branched import COPY, FROM_COPY, FROM_TRUNK, THIRD, TRUNK, branched_conversation


def plain(*turns: Turn) -> Conversation:
    return Conversation(
        id="vscode:1",
        native_id="1",
        source="vscode-session",
        turns=list(turns),
        messages=[Message(role="user", parts=[Text(text=f"question {turn.index}")], turn=turn.index) for turn in turns],
    )


def indexes(conversation: Conversation) -> list[int]:
    return [turn.index for turn in conversation.turns]


# --- what counts ----------------------------------------------------------------------------------------------------


def test_a_conversation_without_superseded_turns_is_itself() -> None:
    conversation = plain(Turn(index=0), Turn(index=1))

    assert without_superseded(conversation) is conversation


def test_superseded_turns_are_left_out_with_their_messages_and_edits() -> None:
    conversation = branched_conversation()

    left = without_superseded(conversation)

    assert superseded_indexes(conversation) == {1, 5}
    assert indexes(left) == [0, 2, 3, 4, 6]
    assert {message.turn for message in left.messages} == {0, 2, 3, 4, 6}
    assert {change.turn for change in left.file_changes} == {0, 2, 3, 4, 6}
    assert "ghost" not in msgspec.json.encode(left).decode()
    assert len(conversation.turns) == 7  # the original is as it was


@pytest.mark.parametrize(
    ("source", "reason", "expected"),
    [
        ("vscode-session-log", "undone", False),
        ("vscode-session-log", "removed", True),
        ("vscode-session-log", "replaced", True),
        ("cli-events", "rewound", False),
        ("cli-events", "removed", False),
    ],
)
def test_a_conversation_with_nothing_but_undone_turns_is_not_empty(source: str, reason: str, expected: bool) -> None:
    conversation = plain(Turn(index=0, superseded=reason), Turn(index=1, superseded=reason))
    conversation.source = source

    assert has_nothing(conversation) is expected
    assert summaries.of_conversation(conversation).is_empty is expected
    assert bool(entry_of(conversation).row.is_empty) is expected
    assert has_nothing(plain())


def test_messages_without_a_turn_stay() -> None:
    conversation = plain(Turn(index=0, superseded="removed"))
    conversation.messages += [Message(role="system", parts=[], turn=None), Message(role="user", parts=[], turn=9)]

    assert [message.turn for message in without_superseded(conversation).messages] == [None, 9]


def test_a_file_that_only_a_superseded_turn_touched_is_left_out() -> None:
    conversation = branched_conversation()
    ghost, shared = (conversation.file_changes[index].uri for index in (1, 2))
    conversation.files = [FileState(uri=uri, request_id=conversation.turns[1].request_id) for uri in (ghost, shared)]

    assert [file.uri for file in without_superseded(conversation).files] == [shared]


def test_every_reason_for_superseding_has_a_readable_text() -> None:
    assert reason_of(Turn(index=0)) == ""
    assert reason_of(Turn(index=0, superseded="absent")) == "no longer in its file"
    assert reason_of(Turn(index=0, superseded="of a later release")) == "of a later release"


# --- the order in which turns are read ------------------------------------------------------------------------------


def test_a_branch_is_read_right_after_the_turn_it_leaves_from() -> None:
    placed = in_reading_order(branched_conversation())

    assert [(each.turn.index, each.branches) for each in placed] == [
        (0, ()),
        (1, ()),
        (2, ()),
        (4, (FROM_TRUNK,)),
        (6, (FROM_TRUNK, FROM_COPY)),
        (5, (FROM_TRUNK,)),
        (3, ()),
    ]


def test_a_branch_that_shares_no_turn_comes_first() -> None:
    conversation = plain(Turn(index=0), Turn(index=1, branch=Branch(trace="/copy")))

    assert [each.turn.index for each in in_reading_order(conversation)] == [1, 0]


def test_no_turn_is_lost_if_a_branch_leaves_from_a_missing_turn() -> None:
    conversation = plain(
        Turn(index=0),
        Turn(index=1, branch=Branch(leaves_from=7, trace="/a")),
        Turn(index=2, branch=Branch(leaves_from=3, trace="/b")),
        Turn(index=3, branch=Branch(leaves_from=2, trace="/c")),
    )

    assert sorted(each.turn.index for each in in_reading_order(conversation)) == [0, 1, 2, 3]
    assert all(set(indexes(end)) for end in ends_of(conversation))


def test_the_turn_before_is_the_counted_one_of_its_own_line() -> None:
    before = turns_before(branched_conversation())

    assert {index: turn.index if turn else None for index, turn in before.items()} == {
        0: None, 1: 0, 2: 0, 3: 2, 4: 2, 5: 4, 6: 4,
    }  # fmt: skip


def test_before_a_branch_that_leaves_from_a_superseded_turn_is_the_turn_that_counts() -> None:
    gone = Turn(index=1, superseded="removed")
    branch = Branch(leaves_from=1, trace=COPY)
    nested = Branch(leaves_from=3, trace=THIRD)
    made = plain(
        Turn(index=0),
        gone,
        Turn(index=2),
        Turn(index=3, branch=branch, superseded="removed"),
        Turn(index=4, branch=nested),
    )

    before = {index: turn.index if turn else None for index, turn in turns_before(made).items()}

    assert before == {0: None, 1: 0, 2: 0, 3: 0, 4: 0}


# --- ends -----------------------------------------------------------------------------------------------------------


def test_a_linear_conversation_has_one_end_and_keeps_its_id() -> None:
    [end] = ends_of(plain(Turn(index=0), Turn(index=1, superseded="removed")))

    assert (end.id, indexes(end)) == ("vscode:1", [0])


def test_each_end_has_the_turns_that_lead_to_it_and_an_id_of_its_own() -> None:
    ends = ends_of(branched_conversation())

    assert [(end.id, indexes(end)) for end in ends] == [
        ("vscode:1c", [0, 2, 3]),
        ("vscode:1c~request_00000000000000000004", [0, 2, 4]),
        ("vscode:1c~request_00000000000000000006", [0, 2, 4, 6]),
    ]
    assert [end.native_id for end in ends] == [end.id.partition(":")[2] for end in ends]
    assert all({message.turn for message in end.messages} == set(indexes(end)) for end in ends)


def test_a_superseded_branch_is_not_a_linear_conversation() -> None:
    branch = Branch(leaves_from=0, trace="/copy")

    assert len(ends_of(plain(Turn(index=0), Turn(index=1, branch=branch, superseded="removed")))) == 1


def test_a_branch_may_leave_from_a_superseded_turn() -> None:
    conversation = plain(
        Turn(index=0),
        Turn(index=1, superseded="removed"),
        Turn(index=2),
        Turn(index=3, branch=Branch(leaves_from=1, trace="/copy")),
    )

    assert [indexes(end) for end in ends_of(conversation)] == [[0, 2], [0, 3]]


# --- traces ---------------------------------------------------------------------------------------------------------


def test_the_only_trace_that_has_a_turn_is_reported() -> None:
    assert only_traces(branched_conversation()) == {3: TRUNK, 5: COPY, 6: THIRD}


def test_a_conversation_with_one_trace_reports_no_only_trace() -> None:
    assert only_traces(plain(Turn(index=0, traces=["/a"]), Turn(index=1, traces=["/a"]))) == {}
