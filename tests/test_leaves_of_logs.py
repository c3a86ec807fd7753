"""Texts that a log replaced, removed or added later: stored as withdrawn text, or their path has a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from copilog import ingest
from copilog.exports.html import html_page
from copilog.exports.markdown import markdown_page
from copilog.model import Notice, prose_of
from copilog.store.texts import texts_of
from tests.leaf_walks import MARK, walked
from tests.sources.vscode_builders import request, session


def log_of(folder: Path, *lines: Any) -> Path:
    path = folder / "chatSessions" / "s-1.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


FIRST_ANSWER, SECOND_ANSWER = "At first this answer was written", "Then another one took its place"
RESPONSE = ["requests", 0, "response"]
WAYS_TO_REPLACE = {
    "cut": [{"kind": 2, "k": RESPONSE, "i": 0, "v": [{"value": SECOND_ANSWER}]}],
    "set": [{"kind": 1, "k": RESPONSE, "v": [{"value": SECOND_ANSWER}]}],
    "set the text": [{"kind": 1, "k": [*RESPONSE, 0, "value"], "v": SECOND_ANSWER}],
    "delete": [{"kind": 3, "k": RESPONSE}],
    "request again": [
        {"kind": 2, "k": ["requests"], "i": 0, "v": [request(requestId="r-1", response=[{"value": SECOND_ANSWER}])]}
    ],
    "state again": [{"kind": 0, "v": session(request(requestId="r-1", response=[{"value": SECOND_ANSWER}]))}],
}


@pytest.mark.parametrize("way", sorted(WAYS_TO_REPLACE))
def test_an_answer_that_a_log_replaced_is_kept_as_withdrawn_text(tmp_path: Path, way: str) -> None:
    first = request(requestId="r-1", response=[{"value": FIRST_ANSWER}])
    path = log_of(tmp_path, {"kind": 0, "v": session(first)}, *WAYS_TO_REPLACE[way])
    (conversation,) = ingest.read(path)

    assert walked(path).unaccounted == {}
    answer = [part for message in conversation.messages if message.role == "assistant" for part in message.parts]
    assert [part.text for part in answer if isinstance(part, Notice) and part.topic == "cleared"] == [FIRST_ANSWER]
    assert FIRST_ANSWER not in prose_of(answer)
    assert FIRST_ANSWER in html_page(conversation, made_by="x")
    assert FIRST_ANSWER in markdown_page(conversation)
    assert any(FIRST_ANSWER in (row.result or "") for row in texts_of(conversation))


def test_a_tool_result_that_a_log_replaced_is_stored(tmp_path: Path) -> None:
    def result(text: str) -> Any:
        return {"metadata": {"toolCallResults": {"c-1": {"content": [{"value": text}]}}}}

    path = log_of(
        tmp_path,
        {"kind": 0, "v": session(request(requestId="r-1", result=result("what the tool said first")))},
        {"kind": 1, "k": ["requests", 0, "result"], "v": result("what it said in the end")},
    )

    assert walked(path).unaccounted == {}


def test_an_answer_that_grew_is_there_once(tmp_path: Path) -> None:
    path = log_of(
        tmp_path,
        {"kind": 0, "v": session(request(requestId="r-1", response=[{"value": FIRST_ANSWER}]))},
        {"kind": 2, "k": RESPONSE, "i": 0, "v": [{"value": FIRST_ANSWER + ", and then it grew"}]},
    )
    (conversation,) = ingest.read(path)

    assert not any(isinstance(part, Notice) for message in conversation.messages for part in message.parts)
    assert walked(path).unaccounted == {}


def test_drafts_that_were_neither_sent_nor_kept_are_documents(tmp_path: Path) -> None:
    def draft(text: str) -> Any:
        return {"kind": 1, "k": ["inputState", "inputText"], "v": text}

    queued = {
        "id": "q-1",
        "kind": "queued",
        "request": {"message": {"text": "a prompt that waited in vain", "parts": []}},
    }
    path = log_of(
        tmp_path,
        {"kind": 0, "v": session(inputState={"inputText": ""}, pendingRequests=[queued])},
        draft("why is the sky blue"),
        draft("why is the sky blue at noon"),
        draft("when does the tide come in"),
        {"kind": 2, "k": ["requests"], "v": [request(message={"text": "when does the tide come in, and why"})]},
        draft(""),
        {"kind": 2, "k": ["pendingRequests"], "i": 0},
    )
    (conversation,) = ingest.read(path)

    assert walked(path).unaccounted == {}
    assert [(document.kind, document.text) for document in conversation.documents] == [
        ("draft", "a prompt that waited in vain"),
        ("draft", "why is the sky blue at noon"),
    ]


def test_other_values_that_a_log_replaced_have_a_reason(tmp_path: Path) -> None:
    path = log_of(
        tmp_path,
        {"kind": 0, "v": session(request(), customTitle="A title for the first day")},
        {"kind": 1, "k": ["customTitle"], "v": "Another title for the second"},
    )

    leaves = walked(path)

    assert (leaves.unaccounted, leaves.reasons.get("overwritten")) == ({}, 1)


def test_requests_that_a_log_adds_without_a_path_are_read(tmp_path: Path) -> None:
    pushed = request(requestId="r-1", message={"text": MARK})
    path = log_of(tmp_path, {"kind": 0, "v": session()}, {"kind": 2, "v": [pushed]})
    ledger = ingest.inspect_file(path)

    assert [note.code for note in ledger.notes] == ["pathless-change"]
    assert (ledger.bad, ledger.leaves and ledger.leaves.unaccounted) == ([], {})
