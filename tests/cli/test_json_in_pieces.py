"""A long document is printed in pieces, and reads as if it had been printed at once."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.cli.json_output import print_json
from copilog.exports import json_text
from tests.stored import conversation

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


@given(values, st.integers(3, 40))
def test_joined_pieces_equal_the_whole_document(value: Any, size: int) -> None:
    data = msgspec.json.encode(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_text, "PIECE_BYTES", size)
        pieces = list(json_text.indented_pieces(data))

    assert b"".join(pieces) == msgspec.json.format(data, indent=2)


def test_a_long_document_is_printed_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"a": ["\u202e\x9b", {"b": [1, 2]}], "é": {}}
    print_json(value)
    at_once = capsys.readouterr().out
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_text, "LARGE_BYTES", 1)
        patch.setattr(json_text, "PIECE_BYTES", 4)
        print_json(value)

    assert capsys.readouterr().out == at_once


@pytest.mark.parametrize("answer", ["Ebb at noon \u202e\x7f", "broken \udcff name"])
def test_long_conversation_is_the_same_document_message_by_message(
    answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = conversation("tides", *((f"question {number}", f"{answer} {number}") for number in range(20)))
    made.messages[3].parts[0].extra = {"numbers": [1, 2.5, None], "empty": []}
    at_once = json_text.json_text(made)

    monkeypatch.setattr(json_text, "FEW_MESSAGES", 10)
    pieces = list(json_text.document_pieces(made))

    assert len(pieces) > len(made.messages)
    assert json.loads("".join(pieces)) == json.loads(at_once)
    assert "\u202e" not in "".join(pieces)
    if "Ebb" in answer:
        assert "".join(pieces) == at_once
