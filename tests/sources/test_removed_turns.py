"""Turns that a trace itself says were removed: they stay, and are superseded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from copilog.diagnostics import Ledger
from copilog.model import Conversation, prose_of
from copilog.sources.base import Found
from copilog.sources.vscode.session_log import VSCodeSessionLog
from tests.sources.cli_builders import Log, read_log
from tests.sources.session_log_builders import line

Json = dict[str, Any]


def request(number: int, **fields: Any) -> Json:
    made: Json = {"requestId": f"r{number}", "timestamp": 1_767_600_000_000 + number * 60_000}
    return {**made, "message": {"text": f"question {number}"}, "response": [{"value": f"answer {number}"}], **fields}


def initial(*numbers: int) -> bytes:
    return line(0, v={"version": 3, "sessionId": "s", "requests": [request(number) for number in numbers]})


def read(folder: Path, *lines: bytes) -> Conversation:
    path = folder / "s.jsonl"
    path.write_bytes(b"".join(lines))
    [conversation] = VSCodeSessionLog().read(Found(source="vscode-session-log", path=path), Ledger(path=str(path)))
    return conversation


def reasons(conversation: Conversation) -> list[tuple[str | None, str | None]]:
    return [(turn.request_id, turn.superseded) for turn in conversation.turns]


@pytest.mark.parametrize(
    ("lines", "result"),
    [
        ([line(2, ["requests"], i=1)], [("r1", None), ("r2", "removed")]),
        ([line(2, ["requests"], i=1, v=[request(3)])], [("r1", None), ("r2", "removed"), ("r3", None)]),
        ([line(2, ["requests"], i=0, v=[request(1), request(2)])], [("r1", None), ("r2", None)]),
        ([line(2, ["requests"], i=1), line(2, ["requests"], v=[request(2)])], [("r1", None), ("r2", None)]),
        ([line(3, ["requests", 1])], [("r1", None), ("r2", "removed")]),
        ([line(1, ["requests", 1], v=request(4))], [("r1", None), ("r2", "removed"), ("r4", None)]),
        ([line(1, ["requests"], v=[request(2)])], [("r1", "removed"), ("r2", None)]),
        ([initial(2, 3)], [("r1", "removed"), ("r2", None), ("r3", None)]),
    ],
    ids=["cut", "asked again", "sent again", "brought back", "deleted", "replaced", "list replaced", "begun anew"],
)
def test_a_request_that_a_line_removes_is_a_superseded_turn(
    lines: list[bytes], result: list[tuple[str, str | None]], tmp_path: Path
) -> None:
    assert reasons(read(tmp_path, initial(1, 2), *lines)) == result


def nameless(number: int, **fields: Any) -> Json:
    return {name: value for name, value in request(number, **fields).items() if name != "requestId"}


@pytest.mark.parametrize(
    ("lines", "result"),
    [
        ([line(2, ["requests"], i=1)], [(1, None), (2, "removed")]),
        ([line(2, ["requests"], i=1, v=[nameless(3)])], [(1, None), (2, "removed"), (3, None)]),
        ([line(2, ["requests"], i=0, v=[nameless(1), nameless(2)])], [(1, None), (2, None)]),
        ([line(2, ["requests"], i=1), line(2, ["requests"], v=[nameless(2, mood="new")])], [(1, None), (2, None)]),
        ([line(2, ["requests"], i=1, v=[request(2)])], [(1, None), (2, None)]),
        ([line(2, ["requests"], i=1, v=[nameless(2, timestamp=5)])], [(2, None), (1, None), (2, "removed")]),
        ([line(3, ["requests", 1])], [(1, None), (2, "removed")]),
        ([line(1, ["requests"], v=[])], [(1, "removed"), (2, "removed")]),
        ([line(0, v={"version": 3, "requests": [nameless(2)]})], [(1, "removed"), (2, None)]),
    ],
    ids=[
        "cut",
        "asked again",
        "sent again",
        "brought back",
        "given an id",
        "other time",
        "deleted",
        "list replaced",
        "begun anew",
    ],
)
def test_a_removed_request_without_an_id_is_identified_by_text_and_time(
    lines: list[bytes], result: list[tuple[int, str | None]], tmp_path: Path
) -> None:
    begun = line(0, v={"version": 3, "sessionId": "s", "requests": [nameless(1), nameless(2)]})

    conversation = read(tmp_path, begun, *lines)

    asked = [prose_of(message.parts) for message in conversation.messages if message.role == "user"]
    reasons_ = [turn.superseded for turn in conversation.turns]
    expected = [(f"question {number}", reason) for number, reason in result]
    assert sorted(zip(asked, reasons_, strict=True), key=str) == sorted(expected, key=str)


def test_removed_requests_without_id_text_and_time_are_identified_by_content(tmp_path: Path) -> None:
    answers = [{"response": [{"value": f"answer {number}"}]} for number in (1, 2)]

    conversation = read(
        tmp_path, line(0, v={"version": 3, "sessionId": "s", "requests": answers}), line(2, ["requests"], i=0)
    )

    assert [turn.superseded for turn in conversation.turns] == ["removed", "removed"]


def test_a_removed_turn_keeps_its_last_text(tmp_path: Path) -> None:
    longer = line(2, ["requests", 1, "response"], i=0, v=[{"value": "answer 2, and more of it"}])

    conversation = read(tmp_path, initial(1, 2), longer, line(2, ["requests"], i=1))

    assert prose_of(conversation.messages[-1].parts) == "answer 2, and more of it"


def test_undone_hidden_and_replaced_requests_are_superseded(tmp_path: Path) -> None:
    marks: dict[int, Json] = {
        1: {"shouldBeRemovedOnSend": {"requestId": "r1"}},
        2: {"isHidden": True},
        3: {"hiddenFromTranscript": True},
        5: {"shouldBeRemovedOnSend": {"requestId": "r4", "afterUndoStop": "x"}},
    }
    requests = [request(number, **marks.get(number, {})) for number in range(1, 6)]

    conversation = read(tmp_path, line(0, v={"version": 3, "sessionId": "s", "requests": requests}))

    assert [reason for _, reason in reasons(conversation)] == ["undone", "undone", "hidden", "replaced", None]


def test_turns_that_a_stream_marks_as_rewound_are_superseded(tmp_path: Path) -> None:
    log = Log().start().ask("first").say().ask("second").say()
    second = [turn.request_id for turn in read_log(tmp_path, log)[0].turns][1]
    log.pass_by("session.snapshot_rewind", upToEventId=second, eventsRemoved=2).ask("third").say()

    conversation, _ = read_log(tmp_path, log)

    assert [turn.superseded for turn in conversation.turns] == [None, "removed", None]
