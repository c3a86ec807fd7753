"""Every text of a file is found again in what was read of it, or its path has a reason; anything else is reported."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import copilog
from copilog import identity, ingest
from copilog.derive.change_text import shown_diff
from copilog.diagnostics import LeafCounts, Ledger
from copilog.exports.html import html_page
from copilog.exports.markdown import markdown_page
from copilog.ingest import inspection
from copilog.ingest.leaves.lookup import Lookup
from copilog.ingest.leaves.rules import reason_for
from copilog.model import AnyDocument, Conversation, FileChange, MemoryDocument, Notice, PlanDocument, prose_of
from copilog.store.texts import texts_of
from copilog.writers.mcp import pieces_of
from copilog.writers.terminal import TextOptions, render_conversation
from tests.cli.homes import run
from tests.leaf_table import SAMPLES
from tests.sources.full_session import ROOT_FIELDS, full_request
from tests.sources.state_builders import make_store
from tests.sources.vscode_builders import request, session

DATA = Path(__file__).parent / "data"
MARK = "zq planted words that nobody reads"


def walked(path: Path) -> LeafCounts:
    leaves = ingest.inspect_file(path).leaves
    assert leaves is not None
    return leaves


def written(folder: Path, state: Any) -> Path:
    path = folder / "chatSessions" / "s-1.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(state))
    return path


def terminal(conversation: Conversation) -> str:
    console = Console(width=100, file=StringIO(), record=True)
    for renderable in render_conversation(conversation, TextOptions()):
        console.print(renderable)
    return console.export_text()


def unaccounted(ledgers: Iterator[Ledger]) -> dict[str, dict[str, int]]:
    return {ledger.path: ledger.leaves.unaccounted for ledger in ledgers if ledger.leaves and ledger.leaves.unaccounted}


# --- the samples, and real files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", [path.name for path in SAMPLES])
def test_every_text_of_the_samples_is_accounted_for(folder: str) -> None:
    assert unaccounted(ingest.inspect([DATA / folder])) == {}


def test_every_text_of_the_bundled_sample_is_accounted_for() -> None:
    assert unaccounted(ingest.inspect([Path(copilog.__file__).parent / "sample" / "home"])) == {}


@pytest.mark.corpus
def test_every_text_of_real_files_is_accounted_for(corpus: Path) -> None:
    assert unaccounted(ingest.inspect([corpus])) == {}


# --- what is reported ---------------------------------------------------------------------------------------------


def test_every_text_of_a_full_session_is_accounted_for(tmp_path: Path) -> None:
    leaves = walked(written(tmp_path, session(full_request(), **ROOT_FIELDS)))

    assert leaves.unaccounted == {  # fields that the sample made up so that nobody knows them
        "/pendingRequests/*/request/unheardOf": 1,
        "/requests/*/result/metadata/newThing/deep/*": 1,
        "/requests/*/somethingNewer/list/*/deep": 1,
    }


def test_a_text_at_a_new_path_is_reported(tmp_path: Path) -> None:
    state = session(request(mood={"words": MARK}), weather=[MARK])

    assert walked(written(tmp_path, state)).unaccounted == {"/requests/*/mood/words": 1, "/weather/*": 1}


def test_an_inserted_text_is_stored_or_reported_unless_its_path_has_a_reason(tmp_path: Path) -> None:
    sample = json.loads((DATA / "vscode_session" / "agent_edits_a_file.json").read_text())
    for names in objects_in(sample):
        state = copy.deepcopy(sample)
        node = state
        for name in names:
            node = node[name]
        node["zqNewKey"] = MARK
        path = "".join(f"/{'*' if isinstance(name, int) else name}" for name in (*names, "zqNewKey"))
        reason = reason_for("vscode-session", path)

        leaves = walked(written(tmp_path, state))

        told = sum(leaves.unaccounted.values()) + leaves.reasons.get(reason or "", 0)
        assert told >= 1, path
        if reason is None:
            assert list(leaves.unaccounted.values()) == [1], path


def test_a_text_inserted_in_a_log_is_stored_or_reported_unless_its_path_has_a_reason(tmp_path: Path) -> None:
    log = next((DATA / "cli_events").glob("session-state/5a5a5a5a*/events.jsonl"))
    lines = log.read_text().splitlines()
    for number, line in enumerate(lines):
        event = json.loads(line)
        event["data"]["zqNewKey"] = MARK
        path = tmp_path / "session-state" / "s-1" / "events.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([*lines[:number], json.dumps(event), *lines[number + 1 :]]) + "\n")

        leaves = walked(path)

        place = f"/{event['type']}/data/zqNewKey"
        assert place in leaves.unaccounted or reason_for("cli-events", place), place


def objects_in(value: Any, names: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield all objects of a document."""
    if isinstance(value, dict):
        yield names
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in below:
        yield from objects_in(item, (*names, name))


def test_a_text_that_is_only_in_extra_does_not_count_as_stored(tmp_path: Path) -> None:
    state = session(request(response=[{"value": "An answer as usual", "zq": MARK}]))

    assert walked(written(tmp_path, state)).unaccounted == {"/requests/*/response/*/zq": 1}


def test_a_part_of_an_unknown_kind_is_stored_and_the_kind_is_counted(tmp_path: Path) -> None:
    path = written(tmp_path, session(request(response=[{"kind": "zqNewKind", "words": MARK}])))

    ledger = ingest.inspect_file(path)
    assert ledger.leaves is not None
    assert (ledger.leaves.unaccounted, ledger.parts.unknown) == ({}, {"response:zqNewKind": 1})
    [conversation] = ingest.read(path)
    assert any(MARK in (texts.result or "") for texts in texts_of(conversation))
    assert MARK in html_page(conversation, made_by="copilog")


def test_texts_in_a_bad_record_are_reported(tmp_path: Path) -> None:
    state = session(request(), ["zq a request that is a list"])

    leaves = walked(written(tmp_path, state))

    assert leaves.reasons.get("bad-record") == 1
    assert leaves.unaccounted == {}


def test_texts_of_a_request_that_a_log_removed_are_walked_too(tmp_path: Path) -> None:
    kept, removed = request(requestId="r-1"), request(requestId="r-2", message={"text": MARK}, mood=MARK + " again")
    lines = [{"kind": 0, "v": session(kept, removed)}, {"kind": 2, "k": ["requests"], "i": 1}]
    path = tmp_path / "chatSessions" / "s-1.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert walked(path).unaccounted == {"/requests/*/mood": 1}


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


def test_texts_of_custom_agents_are_stored_in_their_definitions(tmp_path: Path) -> None:
    modes = [
        {
            "modeInstructions": {"content": "You count the gulls."},
            "handOffs": [{"agent": "b", "prompt": "Count again."}],
        },
        {"name": "watch", "body": "You watch the harbour.", "zq": MARK},
        MARK,
    ]
    path = make_store(tmp_path / "state.vscdb", {"chat.customModes": modes})

    leaves = walked(path)

    assert leaves.unaccounted == {"/ItemTable/chat.customModes/#/*/zq": 1, "/ItemTable/chat.customModes/#/*": 1}
    assert (leaves.found, leaves.reasons) == (2, {"definition": 1})


def test_instructions_of_a_queued_prompt_are_stored_and_unknown_options_are_reported(tmp_path: Path) -> None:
    options = {
        "instructionContext": {"files": [{"text": "Always mind the tide"}]},
        "modeInfo": {
            "kind": "agent",
            "modeInstructions": {"name": "Pilot of ships", "content": "You steer by the stars"},
        },
        "zqOption": MARK,
    }
    queued = {"id": "q-1", "kind": "queued", "request": request(requestId="r-9"), "sendOptions": options}

    leaves = walked(written(tmp_path, session(request(), pendingRequests=[queued])))

    assert leaves.unaccounted == {"/pendingRequests/*/sendOptions/zqOption": 1}


def test_a_new_field_of_a_piece_of_an_answer_is_reported(tmp_path: Path) -> None:
    lines = (DATA / "cli_events").glob("session-state/5a5a5a5a*/events.jsonl")
    chunk = {"choices": [{"delta": {"content": MARK}}], "zqNew": MARK + " again"}
    event = {"type": "model.model_call_success", "id": "e-1", "data": {"responseChunk": chunk}}
    path = tmp_path / "session-state" / "s-1" / "events.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(next(lines).read_text() + json.dumps(event) + "\n")

    assert "/model.model_call_success/data/responseChunk/zqNew" in walked(path).unaccounted
    assert "/model.model_call_success/data/responseChunk/choices/*/delta/content" in walked(path).unaccounted


def test_texts_count_wherever_a_reader_puts_them(tmp_path: Path) -> None:
    link = "Read [](file:///home/ana/a%20b.py#3-9) to the end"
    call = {
        "kind": "toolInvocationSerialized",
        "toolCallId": "c-1",
        "toolId": "copilot_readFile",
        "pastTenseMessage": {"value": link},
        "resultDetails": {
            "input": '{"path": "/home/ana/a b.py"}',
            "output": [{"type": "embed", "value": "R0lGODdhR0lG"}],
        },
    }
    leaves = walked(written(tmp_path, session(request(response=[call]))))

    assert leaves.unaccounted == {}
    assert leaves.seen() == leaves.found + leaves.ids + sum(leaves.reasons.values())


def test_texts_of_users_are_never_treated_as_ids(tmp_path: Path) -> None:
    part = {"kind": "info", "content": "read", "value": "3f1c6d2e-0000-4000-8000-00000000000a"}

    assert walked(written(tmp_path, session(request(response=[part])))).unaccounted == {
        "/requests/*/response/*/value": 1
    }


def test_an_error_while_walking_leaves_does_not_lose_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError

    monkeypatch.delenv("COPILOG_RAISE")
    monkeypatch.setattr(inspection, "leaves_of", broken)
    ledger = ingest.inspect_file(written(tmp_path, session(request())))

    assert (ledger.conversations, ledger.leaves) == (1, None)
    assert [note.code for note in ledger.notes] == ["crash"]


# --- what counts as found -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "text", "expected"),
    [
        (["ok, all of it is done: one cannot wait"], "ok\ndone\none\nan\nit", False),
        (["it\nan\none\ndone\nok"], "ok\ndone\none\nan\nit", False),
        (["the tide comes in", "the tide goes out"], "the tide comes in\nthe tide goes out", False),
        (
            ["@@ -1 +1,3 @@\n-ebb\n+the tide comes in\n low\n+the tide goes out"],
            "the tide comes in\nthe tide goes out",
            True,
        ),
        (["  1. the tide comes in\n\n  2. low"], "the tide comes in\nlow", False),
        (["the tide comes in\n\n\n    low\n"], "the tide comes in\r\n\tlow", True),
        (["> the tide comes in\n> low"], "the tide comes in\nlow", True),
        (["low\nhigh\nlow\nthe tide comes in"], "low\nthe tide comes in", True),
    ],
)
def test_the_lines_of_a_text_are_found_in_order_within_one_text(stored: list[str], text: str, expected: bool) -> None:
    conversation = Conversation(id="x:1", source="x", documents=[PlanDocument(text=each) for each in stored])

    assert Lookup([conversation]).has(text) is expected


def test_a_prompt_and_its_answer_in_one_text_are_found_where_each_is_stored() -> None:
    stored: list[AnyDocument] = [
        PlanDocument(text=text) for text in ("hi", "The tide\ncomes in.", "hi, the tide is out today")
    ]
    lookup = Lookup([Conversation(id="x:1", source="x", documents=stored)])

    assert lookup.has_joined("hi\nThe tide\ncomes in.")
    assert not lookup.has("hi\nThe tide\ncomes in.")
    assert Lookup([Conversation(id="a", source="s", title="It is. ")]).has_joined("hi\nIt is. ") is False
    assert Lookup([Conversation(id="hi", source="s", title="It is. ")]).has_joined("hi\nIt is. ")
    assert lookup.has_joined("hi, the tide is out today The tide\ncomes in.")
    assert not lookup.has_joined("out\nThe tide\ncomes in.")
    assert not lookup.has_joined("hi\nThe tide goes out.")


# --- documents of a conversation ----------------------------------------------------------------------------------


def test_a_document_is_on_every_surface() -> None:
    document = PlanDocument(text="First the tides, then the moon", path="plan.md")
    conversation = Conversation(id="cli:s-1", source="cli-events", documents=[document])
    page = html_page(conversation, made_by="copilog")
    markdown = markdown_page(conversation)
    told = pieces_of(conversation)[-1].written(None)
    shown = [terminal(conversation), page, markdown, told, texts_of(conversation)[-1].result or ""]

    assert ["First the tides, then the moon" in text for text in shown] == [True] * 5
    assert ["plan.md" in text for text in shown[:4]] == [True] * 4


def test_documents_of_all_traces_are_kept_once() -> None:
    plan, memory = PlanDocument(text="a plan"), MemoryDocument(text="a memory")
    traces = [
        Conversation(id="cli:s-1", native_id="s-1", source="cli-events", documents=[plan]),
        Conversation(id="cli:s-1", native_id="s-1", source="memories", documents=[memory, plan]),
    ]

    assert identity.merge(traces).documents == [plan, memory]


# --- edits of files that are gone ---------------------------------------------------------------------------------


def test_edits_whose_file_is_not_on_disk_are_shown() -> None:
    edits = [
        {"pos": 3, "len": 0, "txt": "the tide comes in\n"},
        {"cellEdits": [{"cells": [{"source": "tides.plot()"}]}]},
    ]
    change = FileChange(uri="file:///w/a.py", path="/w/a.py", unapplied=edits)
    conversation = Conversation(id="vscode:s-1", source="vscode-editing", file_changes=[change])

    assert shown_diff(change) == "+the tide comes in\n+tides.plot()"
    for shown in (
        terminal(conversation),
        html_page(conversation, made_by="x"),
        markdown_page(conversation),
    ):
        assert "the tide comes in" in shown


def test_edits_of_a_snapshot_whose_text_is_not_on_disk_are_stored(tmp_path: Path) -> None:
    def entry(current: str, *edits: str) -> dict[str, Any]:
        changes = [{"pos": 0, "len": 0, "txt": text} for text in edits]
        return {
            "resource": "file:///w/a.py",
            "originalHash": "1111111",
            "currentHash": current,
            "originalToCurrentEdit": changes,
            "state": 0,
        }

    stops = [{"stopId": "s1", "entries": [entry("1111111")]}, {"stopId": "s2", "entries": [entry("2222222", MARK)]}]
    state = {
        "version": 2,
        "linearHistory": [{"requestId": "r1", "stops": stops, "postEdit": [entry("3333333", f"{MARK}, more")]}],
        "linearHistoryIndex": 3,
        "initialFileContents": [],
        "recentSnapshot": {"entries": [entry("3333333")]},
    }
    path = tmp_path / "chatEditingSessions" / "s-1" / "state.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(state))

    assert walked(path).unaccounted == {}


# --- where they are shown -----------------------------------------------------------------------------------------


def test_inspect_prints_the_texts_by_reason(tmp_path: Path) -> None:
    agent = {"id": "a", "when": "config.chat.agent.enabled"}
    path = written(tmp_path, session(request(mood=MARK, agent=agent)))

    printed = run("inspect", path).out
    counts = json.loads(run("inspect", "--json", path).out)

    assert "/requests/*/mood: 1 text unaccounted" in printed
    assert re.search(r"\b1 +program-info\b", printed)
    assert counts["files"][0]["leaves"] == counts["totals"]["leaves"]
    leaves = counts["totals"]["leaves"]
    assert leaves["unaccounted"] == {"/requests/*/mood": 1}
    assert leaves["seen"] == leaves["found"] + leaves["ids"] + sum(leaves["reasons"].values()) + 1


def test_scanning_walks_no_leaves(tmp_path: Path) -> None:
    from copilog.diagnostics import Report

    report = Report()
    list(ingest.read(written(tmp_path, session(request())), report=report))

    assert [ledger.leaves for ledger in report.files.values()] == [None]
