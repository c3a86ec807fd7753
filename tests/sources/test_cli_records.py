"""Copilot CLI logs: what crashes, two writers and careless programs do to the lines."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.diagnostics import Ledger
from copilog.errors import BadFile
from copilog.intake.file_notes import MOST_OF_A_KIND, FileNotes
from copilog.intake.records import lines_of
from copilog.model import Conversation, Text
from copilog.sources.cli.event import decode_envelope, event_from_envelope, event_from_object
from tests.sources.cli_builders import Log, log_path, parts_like, read_log, read_path, write_log


def texts(conversation: Conversation) -> list[str]:
    return [part.text for part in parts_like(conversation, Text)]


def codes(ledger: Ledger) -> list[str]:
    return [note.code for note in ledger.notes]


def three() -> list[str]:
    return Log().start().ask("one").say("two").lines()


def test_only_line_feeds_end_lines_and_each_line_has_its_offset(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a\xe2\x80\xa8b\r\n\nlast")

    assert [tuple(line) for line in lines_of(path)] == [
        (1, 0, b"a\xe2\x80\xa8b\r", False),
        (2, 7, b"", False),
        (3, 8, b"last", True),
    ]


def test_a_file_that_is_gone_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="cannot be read"):
        list(lines_of(tmp_path / "gone"))


def test_each_event_is_one_record(tmp_path: Path) -> None:
    conversation, ledger = read_log(tmp_path, "\n".join(three()) + "\n")

    assert texts(conversation) == ["one", "two"]
    assert (ledger.seen, ledger.used, ledger.notes) == (3, 3, [])
    assert conversation.marks == []


def test_a_broken_line_loses_only_itself(tmp_path: Path) -> None:
    start, ask, say = three()

    conversation, ledger = read_log(tmp_path, f'{start}\n{ask}\n{{"type": "assist\n{say}\n')

    assert texts(conversation) == ["one", "two"]
    assert [(bad.line, bad.code) for bad in ledger.bad] == [(3, "bad-json")]
    assert conversation.marks == ["damaged"]


def test_a_torn_last_line_is_reported_but_the_log_is_not_damaged(tmp_path: Path) -> None:
    start, ask, say = three()

    conversation, ledger = read_log(tmp_path, f"{start}\n{ask}\n{say[:40]}")

    assert texts(conversation) == ["one"]
    assert [(bad.line, bad.code) for bad in ledger.bad] == [(3, "torn-tail")]
    assert conversation.marks == []


def test_nul_bytes_after_a_crash_are_passed_over(tmp_path: Path) -> None:
    conversation, ledger = read_log(tmp_path, ("\n".join(three()) + "\n").encode() + b"\0" * 512)

    assert texts(conversation) == ["one", "two"]
    assert (ledger.ignored, ledger.bad, codes(ledger)) == ({"nul-padding": 1}, [], ["nul-tail"])


def test_nul_bytes_before_and_between_records_lose_no_record(tmp_path: Path) -> None:
    start, ask, say = three()

    conversation, ledger = read_log(tmp_path, f"{start}\n\0\0\0{ask}\0\0{say}\n")

    assert texts(conversation) == ["one", "two"]
    assert (ledger.seen, ledger.used, ledger.bad) == (3, 3, [])
    assert codes(ledger) == ["nul-tail"]


def test_a_record_that_breaks_off_and_is_written_again_on_the_same_line_is_read_once(tmp_path: Path) -> None:
    start, ask, say = three()

    conversation, ledger = read_log(tmp_path, f"{start}\n{ask[:50]}{ask}\n{say}\n")

    assert texts(conversation) == ["one", "two"]
    assert (ledger.seen, ledger.used, ledger.ignored, ledger.bad) == (4, 3, {"torn-copy": 1}, [])
    assert codes(ledger) == ["joined-records"]


def test_a_record_after_a_torn_one_is_read(tmp_path: Path) -> None:
    start, ask, say = three()

    conversation, ledger = read_log(tmp_path, f"{start}\n{ask[:50]}{say}\n")

    assert texts(conversation) == ["two"]
    assert [(bad.line, bad.code, bad.offset) for bad in ledger.bad] == [(2, "bad-json", len(start) + 1)]
    assert "damaged" in conversation.marks


def test_complete_records_on_one_line_are_all_read(tmp_path: Path) -> None:
    conversation, ledger = read_log(tmp_path, "".join(three()) + "\n")

    assert texts(conversation) == ["one", "two"]
    assert (ledger.seen, ledger.used, codes(ledger)) == (3, 3, ["joined-records"])


def test_an_object_inside_a_torn_record_is_not_an_event(tmp_path: Path) -> None:
    start, ask, say = three()
    inner = json.dumps({"type": "file", "path": "/home/ana/a.py"})
    torn = f'{{"type":"user.message","data":{{"content":"x","attachments":[{inner}'

    conversation, ledger = read_log(tmp_path, f"{start}\n{ask}\n{torn}\n{say}\n")

    assert texts(conversation) == ["one", "two"]
    assert [bad.line for bad in ledger.bad] == [3]


def test_a_raw_line_break_inside_a_text_is_repaired(tmp_path: Path) -> None:
    start, ask, say = Log().start().ask("one").say("first\nsecond\r\nthird").lines()
    broken = say.replace("\\r\\n", "\r\n").replace("\\n", "\n")

    conversation, ledger = read_log(tmp_path, f"{start}\n{ask}\n{broken}\n{ask.replace('e1', 'e9')}\n")

    assert texts(conversation) == ["one", "first\nsecond\r\nthird", "one"]
    assert (ledger.seen, ledger.used, ledger.bad) == (4, 4, [])
    assert [(note.code, note.line) for note in ledger.notes] == [("raw-control-character", 3)]


def test_other_raw_control_characters_are_repaired_too(tmp_path: Path) -> None:
    start, ask, _ = three()

    colourful = ask.replace("one", "a\tb\x1b[0m")

    conversation, ledger = read_log(tmp_path, f"{start}\n{colourful}\n")

    assert texts(conversation) == ["a\tb\x1b[0m"]
    assert (ledger.bad, codes(ledger)) == ([], ["raw-control-character"])


def test_a_line_that_cannot_be_completed_does_not_hide_the_lines_after_it(tmp_path: Path) -> None:
    start, ask, say = three()
    junk = '{"type":"user.message","data":{"content":"never closed'

    conversation, ledger = read_log(tmp_path, f"{start}\n{junk}\n{junk}\n{ask}\n{junk}\n{say}\n")

    assert texts(conversation) == ["one", "two"]
    assert [bad.line for bad in ledger.bad] == [2, 3, 5]


def test_line_separators_of_unicode_are_ordinary_characters(tmp_path: Path) -> None:
    log = "\n".join(json.dumps(event, ensure_ascii=False) for event in Log().start().ask("a\u2028b\u2029c").events)

    conversation, ledger = read_log(tmp_path, log + "\n")

    assert texts(conversation) == ["a\u2028b\u2029c"]
    assert (ledger.used, codes(ledger)) == (2, ["raw-line-separator"])


def test_half_a_surrogate_pair_is_replaced(tmp_path: Path) -> None:
    start, ask, _ = three()

    conversation, ledger = read_log(tmp_path, f"{start}\n{ask.replace('one', chr(92) + 'ud83d')}\n")

    assert texts(conversation) == ["\ufffd"]
    assert (ledger.bad, codes(ledger)) == ([], ["lone-surrogate"])


def test_invalid_utf8_and_numbers_beyond_json_are_replaced(tmp_path: Path) -> None:
    start, ask, _ = (line.encode() for line in three())

    conversation, ledger = read_log(tmp_path, start + b"\n" + ask.replace(b'"one"', b'"\xff", "n": NaN') + b"\n")

    assert texts(conversation) == ["\ufffd"]
    assert sorted(codes(ledger)) == ["invalid-utf8", "not-a-number"]


def test_a_block_that_was_written_twice_is_read_once(tmp_path: Path) -> None:
    start, ask, say = three()

    conversation, ledger = read_log(tmp_path, f"{start}\n{ask}\n{say}\n{ask}\n{say}\n")

    assert texts(conversation) == ["one", "two"]
    assert (ledger.seen, ledger.used, ledger.ignored) == (5, 3, {"duplicate-event": 2})
    assert [(note.code, note.line) for note in ledger.notes] == [("duplicate-event", 4)]


def test_ids_that_restart_are_not_duplicates(tmp_path: Path) -> None:
    start, ask, say = three()

    conversation, ledger = read_log(tmp_path, "\n".join([start, ask, say, ask.replace("one", "three")]) + "\n")

    assert texts(conversation) == ["one", "two", "three"]
    assert ledger.ignored == {}


def test_json_that_is_not_an_event_is_a_bad_record(tmp_path: Path) -> None:
    lines = [*three(), "[1]", '"text"', "7", "{}", '{"type": 3}', '{"type": ""}']

    _, ledger = read_log(tmp_path, "\n".join(lines) + "\n")

    assert [bad.line for bad in ledger.bad] == [4, 5, 6, 7, 8, 9]
    assert {bad.code for bad in ledger.bad} == {"bad-record"}


def test_no_field_is_mandatory(tmp_path: Path) -> None:
    lines = ['{"type":"session.task_complete","data":{}}', '{"type":"user.message"}', '{"type":"abort","data":null}']

    conversation, ledger = read_log(tmp_path, "\n".join(lines) + "\n")

    assert (ledger.used, ledger.bad) == (3, [])
    assert len(conversation.turns) == 1


def test_envelopes_may_have_extra_and_missing_fields(tmp_path: Path) -> None:
    log = Log().start().ask("one", id=1)
    log.events[1] |= {"id": 7, "timestamp": "some day", "extraKey": True, "ephemeral": "no", "agentId": None}

    conversation, ledger = read_log(tmp_path, log)

    extra = conversation.messages[0].extra or {}
    assert extra["envelope"] == {"id": 7, "timestamp": "some day", "extraKey": True, "ephemeral": "no"}
    assert (conversation.messages[0].id, conversation.messages[0].created_at, ledger.bad) == (None, None, [])


def test_data_that_is_not_an_object_is_stored(tmp_path: Path) -> None:
    conversation, _ = read_log(tmp_path, Log().start().add("user.message", ["odd"]))

    assert (conversation.messages[0].extra or {})["envelope"] == {"data": ["odd"]}


def test_blank_lines_are_counted_and_passed_over(tmp_path: Path) -> None:
    conversation, ledger = read_log(tmp_path, "\r\n".join(["", *three(), "", "  "]) + "\r\n")

    assert texts(conversation) == ["one", "two"]
    assert (ledger.seen, ledger.ignored) == (6, {"blank-line": 3})


def test_a_byte_order_mark_and_utf16_are_reported(tmp_path: Path) -> None:
    text = "\n".join(three()) + "\n"

    marked, marked_books = read_log(tmp_path, b"\xef\xbb\xbf" + text.encode())
    wide, wide_books = read_log(tmp_path, text.encode("utf-16"))

    assert texts(marked) == texts(wide) == ["one", "two"]
    assert (codes(marked_books), codes(wide_books)) == (["byte-order-mark"], ["utf-16"])


def test_an_empty_log_alone_is_not_a_conversation(tmp_path: Path) -> None:
    conversations, ledger = read_path(write_log(tmp_path, ""))

    assert (conversations, ledger.seen, codes(ledger)) == ([], 0, ["empty-file"])


def test_an_empty_log_in_a_session_folder_is_a_stub(tmp_path: Path) -> None:
    (log_path(tmp_path).parent / "workspace.yaml").write_text("name: Cart\n")

    (conversation,), _ = read_path(write_log(tmp_path, "\n"))

    assert (conversation.marks, conversation.title) == (["stub"], "Cart")


def test_a_log_without_its_beginning_is_marked(tmp_path: Path) -> None:
    conversation, ledger = read_log(tmp_path, "\n".join(three()[1:]) + "\n")

    assert (conversation.marks, codes(ledger)) == (["headless"], ["headless-log"])


def test_notes_of_one_kind_are_limited_in_the_ledger(tmp_path: Path) -> None:
    ledger = Ledger()
    remarks = FileNotes(ledger)
    for line in range(MOST_OF_A_KIND + 7):
        remarks.note("raw-line-separator", "again", line=line)
    remarks.close()

    assert len(ledger.notes) == MOST_OF_A_KIND + 1
    assert ledger.notes[-1].reason == "and 7 more like these"


VALUES = st.sampled_from(
    [
        "",
        "main",
        "2026-03-02T11:41:26.957Z",
        "2026-03-02 11:41:26+02:00",
        "2026-13-02",
        None,
        True,
        False,
        0,
        {},
        {"a": 1},
    ]
)
KEYS = ("data", "id", "timestamp", "parentId", "agentId", "ephemeral")


@given(st.sampled_from(["abort", "custom_agent.started", "new"]), st.dictionaries(st.sampled_from(KEYS), VALUES))
def test_both_decoders_return_the_same_event(event_type: str, others: dict[str, object]) -> None:
    raw = {"type": event_type, **others}
    try:
        envelope = decode_envelope(json.dumps(raw).encode())
    except msgspec.ValidationError:
        return  # goes through a dictionary

    assert event_from_envelope(envelope, 1, 2, 3) == event_from_object(raw, 1, 2, 3)


def test_records_after_an_unusual_line_keep_their_position(tmp_path: Path) -> None:
    start, ask, say = three()
    lines = [start, '{"type": "new", "more": 1}', ask, '{"type": "assist', '"raw', "break", say, "x"]

    _, ledger = read_log(tmp_path, "\n".join(lines))

    places = [(bad.line or 0, bad.offset) for bad in ledger.bad]
    offsets = [sum(len(line.encode()) + 1 for line in lines[:index]) for index in range(len(lines))]
    assert places == [(number, offsets[number - 1]) for number, _ in places]
    assert [number for number, _ in places] == [4, 5, 6, 8]
