"""Session files that are damaged, or that other programs have been at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from copilog.diagnostics import ADVICE, Ledger
from copilog.intake import long_documents
from copilog.model import Conversation, Text, Thinking, prose_of
from copilog.sources.base import Found
from copilog.sources.documents import read_document
from copilog.sources.vscode.session_json import VSCodeSession
from tests.sources.vscode_builders import SESSION_ID, request, session


@pytest.fixture(params=["small", "large"], autouse=True)
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read each document as a small one, and as one that is too large for memory."""
    if request.param == "large":
        monkeypatch.setattr(long_documents, "LARGE_BYTES", 0)
        monkeypatch.setattr(long_documents, "_PIECE_BYTES", 50)


def read_bytes(tmp_path: Path, data: bytes) -> tuple[Conversation | None, Ledger]:
    """Return the session of a file with these bytes. Every diagnostic has its advice, and the ledger balances."""
    path = tmp_path / f"{SESSION_ID}.json"
    path.write_bytes(data)
    ledger = Ledger(path=str(path))
    found = list(VSCodeSession().read(Found(path, "vscode-session", native_id=SESSION_ID), ledger))
    assert ledger.balances()
    assert all(diagnostic.code in ADVICE for diagnostic in ledger.diagnostics())
    assert path.read_bytes() == data
    return (found[0] if found else None), ledger


def words(conversation: Conversation | None) -> list[str]:
    """Return the text of the user."""
    if conversation is None:
        return []
    return [prose_of(message.parts) for message in conversation.messages if message.role == "user"]


def codes(ledger: Ledger) -> list[str]:
    return [note.code for note in ledger.notes]


TWO = json.dumps(session(request("one"), request("two, ünïcode"), customTitle="A title")).encode()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xef\xbb\xbf" + TWO, "byte-order-mark"),
        (b"\xff\xfe" + TWO.decode().encode("utf-16-le"), "utf-16"),
        (b"\xfe\xff" + TWO.decode().encode("utf-16-be"), "utf-16"),
        (TWO + b"\0" * 4096, "nul-tail"),
        (TWO.replace(b"A title", b"A \xfftitle"), "invalid-utf8"),
        (TWO.replace(b"A title", b"A \\ud83d title"), "lone-surrogate"),
        (TWO.replace(b'"A title"', b'"A title", "x": NaN, "y": -Infinity'), "not-a-number"),
    ],
)
def test_repaired_documents_are_read_completely_and_reported(data: bytes, code: str, tmp_path: Path) -> None:
    conversation, ledger = read_bytes(tmp_path, data)

    assert words(conversation) == ["one", "two, ünïcode"]
    assert conversation is not None
    assert conversation.marks == []
    assert codes(ledger) == [code]
    assert ledger.bad == []


def test_all_repairs_are_reported(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + TWO.replace(b"A title", b"\\udc00 \xff") + b"\0\0"
    conversation, ledger = read_bytes(tmp_path, data)

    assert conversation is not None
    assert conversation.title == "\ufffd \ufffd"
    assert codes(ledger) == ["byte-order-mark", "nul-tail", "invalid-utf8", "lone-surrogate"]
    assert ledger.notes[1].offset == len(data) - 2


@pytest.mark.parametrize("data", [b"", b"\0\0\0", b" \n", b"\xef\xbb\xbf"])
def test_an_empty_file_has_no_bad_records(data: bytes, tmp_path: Path) -> None:
    conversation, ledger = read_bytes(tmp_path, data)

    assert conversation is None
    assert codes(ledger)[-1] == "empty-file"
    assert (ledger.seen, ledger.bad) == (0, [])


@pytest.mark.parametrize("data", [b"[]", b'"text"', b"5", b"null"])
def test_a_document_that_is_not_an_object_is_one_bad_record(data: bytes, tmp_path: Path) -> None:
    conversation, ledger = read_bytes(tmp_path, data)

    assert conversation is None
    assert [(bad.code, bad.pointer) for bad in ledger.bad] == [("bad-record", "")]


@pytest.mark.parametrize(
    "data", [b"hello", b'{"version": 3, "title": "no requ', b"{", b"<html>{}[]</html>", b"[{]}" * 9]
)
def test_a_document_that_is_not_json_is_one_bad_record(data: bytes, tmp_path: Path) -> None:
    conversation, ledger = read_bytes(tmp_path, data)

    assert conversation is None
    assert [(bad.code, bad.offset) for bad in ledger.bad] == [("bad-json", 0)]


def test_of_two_equal_keys_the_last_counts_as_in_vscode(tmp_path: Path) -> None:
    data = TWO.replace(b'"customTitle"', b'"customTitle": "An old title", "customTitle"')
    conversation, ledger = read_bytes(tmp_path, data)

    assert conversation is not None
    assert conversation.title == "A title"
    assert not ledger.diagnostics()


def test_a_value_that_vscode_truncated_is_reported(tmp_path: Path) -> None:
    _, ledger = read_bytes(tmp_path, TWO.replace(b"A title", b"A title: value truncated for persistence"))

    assert codes(ledger) == ["value-truncated"]


# --- documents that break off -----------------------------------------------------------------------------------


def test_complete_requests_of_a_truncated_document_are_read(tmp_path: Path) -> None:
    cut = TWO.index(b"two")
    conversation, ledger = read_bytes(tmp_path, TWO[:cut])

    assert words(conversation) == ["one"]
    assert conversation is not None
    assert conversation.marks == ["damaged", "cut"]
    assert conversation.assistant == "GitHub Copilot"
    (bad,) = ledger.bad
    assert bad.code == "torn-document"
    assert bad.offset is not None
    assert TWO[: bad.offset].endswith(b"}")
    assert TWO[bad.offset :].startswith(b', {"requestId"')
    assert codes(ledger) == ["salvaged-document"]


def test_reported_offsets_are_those_of_the_file(tmp_path: Path) -> None:
    cut = TWO.index(b"two")
    _, plain = read_bytes(tmp_path, TWO[:cut])
    _, marked = read_bytes(tmp_path, b"\xef\xbb\xbf" + TWO[:cut])
    _, converted = read_bytes(tmp_path, b"\xff\xfe" + TWO[:cut].decode().encode("utf-16-le"))

    assert plain.bad[0].offset is not None
    assert marked.bad[0].offset == plain.bad[0].offset + 3
    assert converted.bad[0].offset is None


@pytest.mark.parametrize("brackets", ["}]}", "{[{", '\\"]}', "\\\\", "[]{}", "\\"])
def test_brackets_in_truncated_text_are_not_structure(brackets: str, tmp_path: Path) -> None:
    cut = TWO.index(b"two")
    conversation, ledger = read_bytes(tmp_path, TWO[:cut] + brackets.encode())

    begun = {'\\"]}': '"]}', "\\\\": "\\", "\\": ""}.get(brackets, brackets)
    assert words(conversation) == ["one", *filter(None, [begun])]
    assert [bad.code for bad in ledger.bad] == ["torn-document"]


def test_a_document_may_be_truncated_after_its_requests(tmp_path: Path) -> None:
    conversation, ledger = read_bytes(tmp_path, TWO[: TWO.index(b"A title")])

    assert words(conversation) == ["one", "two, ünïcode"]
    assert conversation is not None
    assert conversation.title is None
    assert [bad.code for bad in ledger.bad] == ["torn-document"]


def test_a_broken_request_does_not_affect_others(tmp_path: Path) -> None:
    state = session(request("one"), request("two"), request("three"), customTitle="A title")
    data = json.dumps(state).encode().replace(b'"two"', b'"two\\q"')
    conversation, ledger = read_bytes(tmp_path, data)

    assert words(conversation) == ["one", "three"]
    assert conversation is not None
    assert (conversation.title, conversation.marks) == ("A title", ["damaged"])
    (bad,) = ledger.bad
    assert (bad.code, bad.pointer) == ("bad-json", "/requests/1")
    assert bad.offset is not None
    assert data[bad.offset :].startswith(b"{")


@pytest.mark.parametrize("between", [b",,", b", ,", b""])
def test_misplaced_commas_lose_no_data(between: bytes, tmp_path: Path) -> None:
    data = TWO.replace(b'}, {"requestId"', b"}" + between + b'{"requestId"').replace(b"}], ", b"},], ")
    conversation, ledger = read_bytes(tmp_path, data)

    assert words(conversation) == ["one", "two, ünïcode"]
    assert ledger.bad == []
    assert codes(ledger) == ["salvaged-document"]


def test_text_between_the_requests_of_a_broken_document_is_reported(tmp_path: Path) -> None:
    conversation, ledger = read_bytes(tmp_path, TWO.replace(b'}, {"requestId"', b'}, oops, {"requestId"'))

    assert words(conversation) == ["one", "two, ünïcode"]
    assert [bad.code for bad in ledger.bad] == ["bad-json"]


def test_repairs_within_a_truncated_document_are_reported(tmp_path: Path) -> None:
    data = TWO.replace(b'"one"', b'"one \\ud83d"')
    conversation, ledger = read_bytes(tmp_path, data[:-30])

    assert words(conversation)[0] == "one \ufffd"
    assert codes(ledger) == ["lone-surrogate", "salvaged-document"]


def test_a_document_cut_at_any_byte_is_read_up_to_the_cut(tmp_path: Path) -> None:
    ends = [TWO.index(b'"text": "one"') + 13, TWO.index(b', "parts"', TWO.index(b"two"))]
    for cut in range(len(TWO)):
        conversation, ledger = read_bytes(tmp_path, TWO[:cut])

        finished = sum(cut >= end for end in ends)
        whole = ["one", "two, ünïcode"]
        found = words(conversation)
        assert found[:finished] == whole[:finished]
        assert all(
            each and each != text and text.startswith(each)
            for each, text in zip(found, whole, strict=False)
            if each not in whole
        )
        assert len(found) <= finished + 1
        assert len(ledger.bad) == (1 if cut else 0)


PARTS = [{"value": "first"}, {"kind": "thinking", "value": "hm", "id": "t"}, {"value": 'and \\ " last'}]
TORN = json.dumps(
    session(request("one"), request("two", PARTS, responseId="answer", result={"details": "GPT"}))
).encode()


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        (b'"response": [', []),
        (b'{"value": "first"}', ["first"]),
        (b'{"value": "first"}, {"kind": "thinking", "value": "hm"', ["first"]),
        (b'"id": "t"}', ["first", "hm"]),
        (b'"id": "t"}, {"value": "and ', ["first", "hm"]),
        (b'last"}', ["first", "hm", 'and \\ " last']),
        (b'"responseId": "ans', ["first", "hm", 'and \\ " last']),
    ],
)
def test_a_truncated_request_has_its_prompt_and_complete_parts(
    written: bytes, answer: list[str], tmp_path: Path
) -> None:
    start = TORN.index(b'"text": "two"')
    conversation, ledger = read_bytes(tmp_path, TORN[: TORN.index(written, start) + len(written)])

    assert words(conversation) == ["one", "two"]
    assert conversation is not None
    parts = [part for message in conversation.messages if message.role == "assistant" for part in message.parts]
    assert [part.text for part in parts if isinstance(part, Text | Thinking)] == answer
    assert (conversation.turns[-1].status, conversation.turns[-1].response_id) == (None, None)
    assert conversation.marks == ["damaged", "cut"]
    assert [bad.code for bad in ledger.bad] == ["torn-document"]
    assert "complete part" in ledger.notes[-1].reason


@pytest.mark.parametrize("ending", ["two, \\u00fcn", "two, ", "tw"])
@pytest.mark.parametrize("is_plain", [False, True])
def test_the_beginning_of_a_truncated_prompt_is_read_and_marked(ending: str, is_plain: bool, tmp_path: Path) -> None:
    data = json.dumps(session(request("one"), {"message": "two, ünïcode"})).encode() if is_plain else TWO
    start = data.rindex(b'"two, ')
    conversation, ledger = read_bytes(tmp_path, data[: data.index(ending.encode(), start) + len(ending)])

    assert words(conversation) == ["one", ending.replace("\\u00fc", "ü")]
    assert conversation is not None
    [torn] = conversation.messages[-1].parts
    assert torn.notes == {"unfinished": "the file breaks off within this prompt"}
    assert conversation.messages[0].parts[0].notes == {}
    assert conversation.turns[-1].status is None
    assert [bad.code for bad in ledger.bad] == ["torn-document"]


@pytest.mark.parametrize("cut", [1, 2, 3, 4, 5])
def test_half_a_character_of_a_truncated_prompt_is_left_out(cut: int, tmp_path: Path) -> None:
    conversation, _ = read_bytes(tmp_path, TWO[: TWO.index(b"\\u00fc") + cut])

    assert words(conversation) == ["one", "two, "]


def test_a_prompt_truncated_before_its_first_character_is_empty(tmp_path: Path) -> None:
    conversation, _ = read_bytes(tmp_path, TWO[: TWO.rindex(b'"two, ') + 1])

    assert words(conversation) == ["one"]


def test_complete_fields_after_the_answer_of_a_truncated_request_are_read(tmp_path: Path) -> None:
    conversation, _ = read_bytes(tmp_path, TORN[: TORN.index(b'"GPT"') + 5])

    assert conversation is not None
    assert (conversation.turns[-1].response_id, conversation.turns[-1].details) == ("answer", "GPT")
    cut, _ = read_bytes(tmp_path, TORN[: TORN.index(b'"GPT"') + 4])
    assert cut is not None
    assert (cut.turns[-1].response_id, cut.turns[-1].details) == ("answer", None)


def test_a_truncated_request_without_prompt_and_answer_is_not_a_turn(tmp_path: Path) -> None:
    conversation, ledger = read_bytes(tmp_path, TWO[: TWO.index(b'"message"', TWO.index(b', {"requestId"'))])

    assert words(conversation) == ["one"]
    assert [bad.code for bad in ledger.bad] == ["torn-document"]


# --- other documents --------------------------------------------------------------------------------------------


def test_a_document_that_is_not_a_session_is_not_salvaged(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b'{"version": 2, "requests": [{"a": 1}, ')
    ledger = Ledger()

    assert read_document(path, ledger) is None
    assert [bad.code for bad in ledger.bad] == ["bad-json"]
    assert ledger.balances()


@pytest.mark.parametrize(("text", "value"), [('{"a": 1}', {"a": 1}), ("{}", {}), ("[]", None), ("", None)])
def test_a_document_is_an_object(text: str, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(text, encoding="utf-8")

    assert read_document(path, Ledger()) == value
