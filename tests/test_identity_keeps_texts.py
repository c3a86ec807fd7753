"""Merging loses no text: every text of a trace is in the merged conversation, or in the conflicts of its trace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from copilog import identity, ingest
from copilog.model import (
    UNFINISHED,
    Attachment,
    Conversation,
    Draft,
    FileChange,
    Followup,
    Message,
    Notice,
    Provenance,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from copilog.sample import home as sample_home
from copilog.similarity import without_blanks
from tests.trace_builders import ELSEWHERE, FILE, LOG, edits, trace

SHORTEST = 12
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
NOT_TEXT = {
    "id",
    "native_id",
    "request_id",
    "response_id",
    "pointer",
    "traces",
    "provenance",
    "source",
    "origin",
    "extra",
    "position",
}


def texts(value: Any) -> Iterator[str]:
    """Yield all texts but ids and times, and diffs that copilog itself made of an edit."""
    if isinstance(value, str):
        if not TIME.fullmatch(value):
            yield value
    elif isinstance(value, dict):
        for key, below in value.items():
            if key not in NOT_TEXT and not (key == "diff" and value.get("kind") == "file-edit"):
                yield from texts(below)
    elif isinstance(value, list):
        for below in value:
            yield from texts(below)


def lost(before: list[str], after: Conversation) -> list[str]:
    """Return the texts that are nowhere in the merged conversation; a store cuts its own with three dots."""
    everything = without_blanks(
        msgspec.json.encode(after).decode().replace("\\n", "").replace("\\r", "").replace("\\t", "")
    )
    missing = []
    for text in before:
        squeezed = without_blanks(
            msgspec.json.encode(text).decode()[1:-1].replace("\\n", "").replace("\\r", "").replace("\\t", "")
        )
        if len(squeezed) >= SHORTEST and squeezed.removesuffix("...") not in everything:
            missing.append(text)
    return missing


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str]]]:
    """Collect the texts that merging has lost, by conversation."""
    found: list[tuple[str, list[str]]] = []
    merge = identity.merge

    def watching(traces: list[Conversation]) -> Conversation:
        said = [text for one in traces for text in texts(msgspec.to_builtins(one))]
        merged = merge(traces)
        found.append((merged.id, lost(said, merged)))
        return merged

    monkeypatch.setattr(identity, "merge", watching)
    return found


def test_merging_loses_no_text_of_the_sample(watched: list[tuple[str, list[str]]]) -> None:
    list(ingest.read(sample_home()))

    assert [loss for loss in watched if loss[1]] == []
    assert len(watched) > 10


@pytest.mark.corpus
def test_merging_loses_no_text_of_real_homes(corpus: Path, watched: list[tuple[str, list[str]]]) -> None:
    for home in sorted((corpus / "homes").iterdir()):
        list(ingest.read(home))

    assert [loss for loss in watched if loss[1]] == []


def other_trace(**fields: Any) -> Conversation:
    made = trace("transcripts", 1, marks=("transcript",), **fields)
    made.provenance = [Provenance(source="transcripts", path="/traces/s.jsonl")]
    return made


PARTS = {
    "an answer that begins earlier": [Text(text="First of all, answer 1 of aaaa.jsonl, and that is all")],
    "another answer": [Text(text="Quite another answer than the one before")],
    "further thinking": [Thinking(text="The moon matters more than I thought")],
    "another result": [ToolCall(id="c1", name="read"), ToolResult(call_id="c1", text="Other lines of the table")],
    "other arguments": [ToolCall(id="c1", name="read", arguments='{"file": "another-table.csv"}')],
    "calls with other ids": [ToolCall(id="x9", name="write", arguments='{"file": "a-third-table.csv"}')],
    "a notice": [Notice(topic="info", text="The tide is about to turn")],
}


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_text_of_an_answer_in_another_trace_is_not_lost(parts: list[Any]) -> None:
    log, other = trace(LOG, 1), other_trace()
    for part in (
        Thinking(text="I should look at the table of tides"),
        ToolCall(id="c1", name="read", arguments='{"file": "tides-table.csv"}'),
        ToolResult(call_id="c1", text="High water at noon"),
        Notice(topic="info", text="A model was chosen for you"),
    ):
        log.messages[1].parts.append(part)
    other.messages[1].parts = parts
    said = [text for one in (log, other) for text in texts(msgspec.to_builtins(one))]

    assert lost(said, identity.merge([log, other])) == []


def test_other_texts_of_a_turn_in_another_trace_are_not_lost() -> None:
    log, other = (
        trace(LOG, 1, draft=Draft(text="My own next question")),
        other_trace(draft=Draft(text="Another draft of mine")),
    )
    log.turns[0].followups, other.turns[0].followups = (
        [Followup(text="And what about low tide?")],
        [Followup(text="And what about the moon?")],
    )
    log.messages[0].parts.append(Attachment(type="file", name="the-first-table.csv"))
    other.messages[0].parts = [
        Text(text="question 1, and a good deal more"),
        Attachment(type="file", name="another-chart.csv"),
    ]
    other.messages.append(
        Message(role="system", parts=[Notice(topic="info", text="Of a turn that is not listed")], turn=7)
    )
    said = [text for one in (log, other) for text in texts(msgspec.to_builtins(one))]

    merged = identity.merge([log, other])

    assert lost(said, merged) == []
    assert {followup.text for followup in merged.turns[0].followups} == {
        "And what about low tide?",
        "And what about the moon?",
    }


def test_changes_of_another_file_by_the_same_request_are_kept() -> None:
    tides, moon = "file:///home/ana/tides.py", "file:///home/ana/moon.py"
    one = edits(FileChange(uri=tides, request_id="r1", diff="+ the tides of today"))
    other = edits(
        FileChange(uri=moon, request_id="r1", diff="+ the moon of today"),
        FileChange(uri=tides, request_id="r1", diff="+ the tides of another day"),
        folder=ELSEWHERE,
    )

    merged = identity.merge([trace(LOG, 1), one, other])

    assert {change.uri for change in merged.file_changes} == {tides, moon}
    assert lost(["+ the tides of today", "+ the tides of another day"], merged) == []


def test_a_prompt_that_only_a_rewind_snapshot_has_is_a_turn() -> None:
    log = trace("cli-events", 1)
    snapshots = trace("rewind-snapshots", 1, 2, marks=("rewind",))
    snapshots.provenance = [
        Provenance(source="rewind-snapshots", path="/s/rewind-snapshots/index.json", role="resource")
    ]
    snapshots.messages = [message for message in snapshots.messages if message.role == "user"]

    merged = identity.merge([log, snapshots])

    assert [turn.request_id for turn in merged.turns] == ["r1", "r2"]
    assert merged.turns[1].traces == ["/s/rewind-snapshots/index.json"]
    assert merged.source == "cli-events"


def test_an_outdated_file_restores_nothing_but_its_texts_are_kept() -> None:
    log, file = trace(LOG, 1), trace(FILE, 1)
    file.turns[0].followups = [Followup(text="A question that was withdrawn")]

    merged = identity.merge([log, file])

    assert merged.turns[0].followups == [Followup(text="A question that was withdrawn")]  # the log does not record them
    log, file = trace(LOG, 1), trace(FILE, 1)
    log.turns[0].followups = [Followup(text="A question that is asked")]
    file.turns[0].followups = [Followup(text="A question that was withdrawn")]
    merged = identity.merge([log, file])
    assert [followup.text for followup in merged.turns[0].followups] == ["A question that is asked"]
    assert lost(["A question that was withdrawn"], merged) == []


def test_thinking_of_another_trace_comes_before_the_call_that_it_led_to() -> None:
    log, other = trace(LOG, 1), other_trace()
    log.messages[1].parts = [Notice(topic="info", text="Servers started"), ToolCall(id="c1", name="read")]
    other.messages[1].parts = [Thinking(text="I should read the table"), ToolCall(id="c1", name="read")]

    merged = identity.merge([log, other])

    assert [type(part).__name__ for part in merged.messages[1].parts] == ["Notice", "Thinking", "ToolCall"]


def test_thinking_after_a_call_stays_there_although_the_answer_is_in_another_trace() -> None:
    chart, thought = ToolCall(id="c1", name="read"), Thinking(text="The table is of last year")
    log, late, other = trace(LOG, 1), other_trace(), other_trace()
    log.messages[1].parts = [chart, Text(text="answer 1")]
    late.messages[1].parts = [chart, thought]
    other.messages[1].parts = [chart]
    late.provenance[0].path, late.source = "/traces/late.jsonl", "debug-logs"

    for traces in ([log, late, other], [late, identity.merge([other, log])]):
        merged = identity.merge([identity.copy_of(each) for each in traces])
        parts = [part for message in merged.messages for part in message.parts if message.role == "assistant"]
        assert [type(part).__name__ for part in parts] == ["ToolCall", "Thinking", "Text"]


def test_a_complete_prompt_replaces_a_torn_one() -> None:
    log, other = trace(LOG, 1), other_trace()
    log.messages[0].parts = [Text(text="question", notes={UNFINISHED: "the file breaks off"})]

    merged = identity.merge([log, other])

    assert [message.parts for message in merged.messages if message.role == "user"] == [[Text(text="question 1")]]
    assert [place.conflicts for place in merged.provenance if place.path == "/traces/s.jsonl"] == [[]]
