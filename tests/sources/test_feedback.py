"""Feedback beside a response: votes, suggested questions, references, citations, outcomes of earlier edits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from copilog.model import (
    Citation,
    CodeBlock,
    Compaction,
    EditedFileEvent,
    Followup,
    Place,
    Range,
    Thinking,
    Turn,
    UsedReference,
    Vote,
    parts_of,
)
from tests.sources.vscode_builders import read_session, request, session

Json = dict[str, Any]
FILE: Json = {"$mid": 1, "scheme": "file", "path": "/home/ana/a b.py", "external": "file:///somewhere/else"}
FILE_URI = "file:///home/ana/a%20b.py"
LINES: Json = {"startLineNumber": 3, "startColumn": 1, "endLineNumber": 5, "endColumn": 9}
PLACE = Place(uri=FILE_URI, path="/home/ana/a b.py")
PLACE_WITH_LINES = Place(
    uri=FILE_URI,
    path="/home/ana/a b.py",
    range=Range(start_line=3, start_column=1, end_line=5, end_column=9),
)


def read_turn(tmp_path: Path, **fields: Any) -> Turn:
    return read_session(session(request(**fields)), tmp_path)[0].turns[0]


@pytest.mark.parametrize(
    ("fields", "vote"),
    [
        ({"vote": 1}, Vote(is_up=True)),
        ({"vote": 0}, Vote(is_up=False)),
        ({"vote": 0, "voteDownReason": "missingContext"}, Vote(is_up=False, reason="missingContext")),
    ],
)
def test_thumbs_up_and_down(fields: Json, vote: Vote, tmp_path: Path) -> None:
    turn = read_turn(tmp_path, **fields)

    assert turn.vote == vote
    assert turn.extra is None


@pytest.mark.parametrize("fields", [{"vote": 2}, {"vote": True}, {"vote": "up"}])
def test_other_values_are_not_votes(fields: Json, tmp_path: Path) -> None:
    turn = read_turn(tmp_path, **fields)

    assert turn.vote is None
    assert turn.extra == fields


def test_a_reason_to_vote_down_is_read_without_a_vote(tmp_path: Path) -> None:
    turn = read_turn(tmp_path, voteDownReason="other")

    assert (turn.vote, turn.reason_without_vote, turn.extra) == (None, "other", None)


def test_suggested_questions(tmp_path: Path) -> None:
    turn = read_turn(
        tmp_path,
        followups=[
            {"kind": "reply", "message": "Add tests", "agentId": "a", "subCommand": "tests", "title": "Tests"},
            {"kind": "reply", "message": "And docs", "tooltip": "more"},
            {"kind": "command", "commandId": "open", "title": "Open"},
            "a bare text",
        ],
    )

    assert turn.followups == [
        Followup(text="Add tests", agent="a", command="tests", title="Tests"),
        Followup(text="And docs", tooltip="more"),
    ]
    assert turn.extra == {"followups": [{"kind": "command", "commandId": "open", "title": "Open"}, "a bare text"]}


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (FILE, UsedReference(place=PLACE)),
        ({"uri": FILE, "range": LINES}, UsedReference(place=PLACE_WITH_LINES)),
        ("the web", UsedReference(text="the web")),
        ("https://tides.example/a", UsedReference(text="https://tides.example/a")),
        (FILE_URI, UsedReference(place=PLACE)),
        ({"variableName": "selection"}, UsedReference(variable="selection")),
        ({"variableName": "file", "value": FILE}, UsedReference(variable="file", place=PLACE)),
        (
            {"variableName": "file", "value": {"uri": FILE, "range": LINES}},
            UsedReference(variable="file", place=PLACE_WITH_LINES),
        ),
        (
            {"variableName": "odd", "value": 5},
            UsedReference(variable="odd", extra={"reference": {"value": 5}}),
        ),
        (
            {"uri": FILE, "range": LINES, "note": "new"},
            UsedReference(place=PLACE_WITH_LINES, extra={"reference": {"uri": FILE, "range": LINES, "note": "new"}}),
        ),
        (
            {"uri": FILE, "range": {"startLineNumber": "three"}},
            UsedReference(place=PLACE, extra={"reference": {"uri": FILE, "range": {"startLineNumber": "three"}}}),
        ),
    ],
)
def test_references_of_an_answer_are_read(reference: Any, expected: UsedReference, tmp_path: Path) -> None:
    turn = read_turn(tmp_path, contentReferences=[{"kind": "reference", "reference": reference}])

    assert turn.references == [expected]
    assert turn.extra is None


@pytest.mark.parametrize(("kind", "status"), [(1, "complete"), (2, "partial"), (3, "omitted"), (9, None), ("x", None)])
def test_how_much_of_a_reference_was_used(kind: Any, status: str | None, tmp_path: Path) -> None:
    options = {"status": {"description": "as it says", "kind": kind}, "isDeletion": True}
    (reference,) = read_turn(tmp_path, contentReferences=[{"reference": FILE, "options": options}]).references

    assert (reference.status, reference.status_text) == (status, "as it says")
    assert reference.extra == {"options": {"status": {"kind": kind}, "isDeletion": True}}


def test_an_empty_reference_stays_unchanged(tmp_path: Path) -> None:
    odd = [{"kind": "reference", "reference": 5}, {"kind": "reference"}, "text", None]
    turn = read_turn(tmp_path, contentReferences=[*odd, {"kind": "reference", "reference": FILE}])

    assert turn.references == [UsedReference(place=PLACE)]
    assert turn.extra == {"contentReferences": odd}


def test_the_context_of_old_releases_counts_as_references(tmp_path: Path) -> None:
    turn = read_turn(
        tmp_path,
        usedContext={
            "kind": "usedContext",
            "documents": [{"uri": FILE, "version": 4, "ranges": [LINES]}, {"version": 5}, "text"],
        },
    )

    assert turn.references == [UsedReference(place=PLACE, extra={"usedContext": {"version": 4, "ranges": [LINES]}})]
    assert turn.extra == {"usedContext": {"documents": [{"version": 5}, "text"]}}


def test_public_code_that_an_answer_resembles(tmp_path: Path) -> None:
    turn = read_turn(
        tmp_path,
        codeCitations=[
            {"kind": "codeCitation", "value": FILE, "license": "MIT", "snippet": "int x;"},
            {"kind": "codeCitation", "value": 5},
        ],
    )

    assert turn.citations == [
        Citation(uri=FILE_URI, license="MIT", snippet="int x;"),
        Citation(extra={"value": 5}),
    ]


def test_outcomes_of_earlier_edits_are_read(tmp_path: Path) -> None:
    turn = read_turn(tmp_path, editedFileEvents=[{"uri": FILE, "eventKind": kind} for kind in (1, 2, 3)])

    assert turn.edited_files == [
        EditedFileEvent(uri=FILE_URI, action="keep"),
        EditedFileEvent(uri=FILE_URI, action="undo"),
        EditedFileEvent(uri=FILE_URI, action="modify"),
    ]
    assert turn.extra is None


@pytest.mark.parametrize(
    "odd", [{"uri": FILE, "eventKind": 9}, {"eventKind": 1, "uri": 5}, {"uri": FILE}, "kept", None]
)
def test_an_event_with_further_fields_leaves_the_list_in_extra(odd: Any, tmp_path: Path) -> None:
    events = [{"uri": FILE, "eventKind": 1}, odd]
    turn = read_turn(tmp_path, editedFileEvents=events)

    assert turn.edited_files[0] == EditedFileEvent(uri=FILE_URI, action="keep")
    assert turn.extra == {"editedFileEvents": events}


def test_code_blocks_of_the_extension(tmp_path: Path) -> None:
    blocks = [{"code": "x = 1", "language": "python", "resource": FILE, "markdownBeforeBlock": "So:"}, {"code": "y"}]
    turn = read_turn(tmp_path, result={"metadata": {"codeBlocks": blocks}})

    assert turn.code_blocks == [
        CodeBlock(code="x = 1", language="python", uri=FILE_URI, before="So:"),
        CodeBlock(code="y"),
    ]
    assert turn.extra is None


@pytest.mark.parametrize(
    "metadata",
    [
        {"summaries": [{"toolCallRoundId": "r", "text": "so far", "source": "background", "durationMs": 5}]},
        {"summary": {"toolCallRoundId": "r", "text": "so far", "source": "background", "durationMs": 5}},
        {
            "summaries": [],
            "summary": {"toolCallRoundId": "r", "text": "so far", "source": "background", "durationMs": 5},
        },
    ],
)
def test_a_summary_of_the_history_is_read(metadata: Json, tmp_path: Path) -> None:
    conversation, _ = read_session(session(request(result={"metadata": metadata})), tmp_path)

    found = [part for part in parts_of(conversation) if isinstance(part, Compaction)]
    assert found == [Compaction(text="so far", round_id="r", trigger="background", elapsed_ms=5)]


def test_all_summaries_of_a_turn_are_read_with_their_usage(tmp_path: Path) -> None:
    metadata = {
        "summary": {"text": "old"},
        "summaries": [{"text": "one", "model": "m", "usage": {"prompt_tokens": 5}}, {"text": "two"}],
    }
    conversation, _ = read_session(session(request(result={"metadata": metadata})), tmp_path)

    found = [part for part in parts_of(conversation) if isinstance(part, Compaction)]
    assert [(part.text, part.model, part.extra) for part in found] == [
        ("one", "m", {"usage": {"prompt_tokens": 5}}),
        ("two", None, None),
        ("old", None, None),
    ]
    assert conversation.turns[0].extra is None


def test_a_summary_recorded_twice_is_read_once_after_its_thinking(tmp_path: Path) -> None:
    metadata = {"summary": {"text": "one"}, "summaries": [{"text": "one", "thinking": {"text": "hm", "id": "t"}}]}
    conversation, _ = read_session(session(request(result={"metadata": metadata})), tmp_path)

    found = [part for part in parts_of(conversation) if isinstance(part, Compaction | Thinking)]
    assert found == [
        Thinking(text="hm", native="summaries"),
        Compaction(text="one", extra={"thinking": {"id": "t"}}),
    ]


def test_the_files_that_the_user_chose_to_be_edited_are_references(tmp_path: Path) -> None:
    turn = read_turn(tmp_path, workingSet=[FILE, 5])

    assert [reference.place.uri for reference in turn.references if reference.place] == [FILE_URI]
    assert turn.extra == {"workingSet": [5]}


def test_the_line_below_the_answer_and_the_next_question_are_read(tmp_path: Path) -> None:
    turn = read_turn(tmp_path, result={"details": "Model X, 3x", "nextQuestion": {"prompt": "And then?"}})

    assert turn.details == "Model X, 3x"
    assert [followup.text for followup in turn.followups] == ["And then?"]


def test_empty_lists_give_no_feedback(tmp_path: Path) -> None:
    keys = ("followups", "contentReferences", "codeCitations", "editedFileEvents", "responseMarkdownInfo")

    assert read_turn(tmp_path, **{key: [] for key in keys}).extra is None
