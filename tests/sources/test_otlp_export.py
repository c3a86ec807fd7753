"""Exports of the agent debug panel: OTLP as one document, or one document on each line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.sources.base import Found, Probe
from copilog.sources.extension.otel_files import OtelFile, OtlpExport
from tests.sources.extension_builders import (
    DATA,
    codes,
    index,
    prose_by_role,
    read,
    read_one,
    read_or_refuse,
    spoiled,
    with_other_values,
    write_json,
)

SOURCE = OtlpExport()
DOCUMENT, LINES = DATA / "otlp_export" / "ferry.json", DATA / "otlp_export" / "ferry_lines.jsonl"
SESSION = "7d1f0000-0000-4000-8000-00000000000d"

Json = dict[str, Any]


def export(*spans: Any) -> Json:
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "copilot-chat"}, "spans": list(spans)}]}]}


def chat(text: str, **attributes: Any) -> Json:
    output = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": text}]}])
    values = {"gen_ai.operation.name": {"stringValue": "chat"}, "gen_ai.output.messages": {"stringValue": output}}
    values |= {"gen_ai.conversation.id": {"stringValue": "s1"}, **attributes}
    return {
        "traceId": "t",
        "spanId": text,
        "attributes": [{"key": key, "value": value} for key, value in values.items()],
    }


def test_exports_are_recognized_by_their_content(tmp_path: Path) -> None:
    others = [
        {"resourceSpans": [{"resource": {"attributes": []}}]},  # of another program
        {"spans": []},
        {"copilotChat": {}},
    ]

    assert [SOURCE.claims(Probe(path)) for path in (DOCUMENT, LINES)] == [True, True]
    assert not OtelFile().claims(Probe(LINES))
    assert [SOURCE.claims(Probe(write_json(tmp_path / "x.json", other))) for other in others] == [False] * 3


def test_an_export_reads_the_same_as_the_exporters_file() -> None:
    mine, ledger = read_one(SOURCE, DOCUMENT)
    theirs, _ = read_one(OtelFile(), Found(DATA / "otel_file" / "ferry.jsonl", "otel-file", SESSION))

    assert prose_by_role(mine) == prose_by_role(theirs)
    assert [used.input for used in mine.turns[0].usage] == [used.input for used in theirs.turns[0].usage]
    assert (ledger.seen, ledger.used, codes(ledger)) == (9, 9, [])


def test_an_export_has_a_title_and_a_time() -> None:
    conversation, _ = read_one(SOURCE, DOCUMENT)

    assert conversation.title == "The late ferry"
    assert conversation.extra is not None
    assert conversation.extra["export"]["exportedAt"] == "2026-05-04T12:00:00.000Z"


def test_documents_on_lines_are_read_together() -> None:
    conversations, ledger = read(SOURCE, LINES)

    assert [conversation.native_id for conversation in conversations] == [
        SESSION,
        "5a3e0c11-0000-4000-8000-000000000001",
    ]
    assert prose_by_role(conversations[0]) == prose_by_role(read_one(SOURCE, DOCUMENT)[0])
    assert (ledger.seen, ledger.used, ledger.ignored) == (12, 10, {"document": 2})
    assert [stub.native_id for stub in index(SOURCE, LINES)[0]] == [made.native_id for made in conversations]


def test_values_of_all_types_are_read(tmp_path: Path) -> None:
    values = {
        "whole": {"intValue": "12"},
        "part": {"doubleValue": 0.5},
        "list": {"arrayValue": {"values": [{"stringValue": "a"}, {"boolValue": True}]}},
        "map": {"kvlistValue": {"values": [{"key": "k", "value": {"intValue": 3}}]}},
        "new": {"someValue": 1},
    }
    conversation, _ = read_one(SOURCE, write_json(tmp_path / "x.json", export(chat("hi", **values))))

    extra = conversation.turns[0].rounds[0].extra
    assert extra == {"whole": 12, "part": 0.5, "list": ["a", True], "map": {"k": 3}, "new": {"someValue": 1}}


def test_a_value_that_is_not_a_span_is_bad_with_its_pointer(tmp_path: Path) -> None:
    path = write_json(tmp_path / "x.json", export(chat("hi"), {"name": "without an id"}, 7))

    conversation, ledger = read_one(SOURCE, path)

    assert prose_by_role(conversation) == [("assistant", "hi")]
    assert [bad.pointer for bad in ledger.bad] == [
        "/resourceSpans/0/scopeSpans/0/spans/1",
        "/resourceSpans/0/scopeSpans/0/spans/2",
    ]


def test_a_truncated_document_is_read_up_to_the_cut(tmp_path: Path) -> None:
    path = write_json(tmp_path / "x.json", export(chat("one"), chat("two")))
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole[: whole.rindex("gen_ai.output")], encoding="utf-8")

    conversation, ledger = read_one(SOURCE, path)

    assert prose_by_role(conversation) == [("assistant", "one")]
    assert codes(ledger) == ["torn-document", "salvaged-document"]


def test_a_document_without_spans_is_bad(tmp_path: Path) -> None:
    values: list[Any] = [[], {"resourceSpans": 1}]
    for value in values:
        assert codes(read(SOURCE, write_json(tmp_path / "x.json", value))[1]) == ["bad-record"]
    (tmp_path / "x.json").write_bytes(b"nothing")
    assert codes(read(SOURCE, tmp_path / "x.json")[1]) == ["bad-json"]


@pytest.mark.parametrize("path", [DOCUMENT, LINES], ids=["document", "lines"])
@given(data=st.data())
def test_a_damaged_export_is_read_or_refused(
    path: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copy = tmp_path_factory.getbasetemp() / f"damaged-{path.name}"
    spoil = data.draw(st.sampled_from([spoiled, with_other_values]))
    copy.write_bytes(data.draw(spoil(path.read_bytes())))

    read_or_refuse(SOURCE, copy)
