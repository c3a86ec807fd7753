"""A long document is printed in pieces, and reads as if it had been printed at once."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.cli.json_output import print_json
from copilog.exports import json_text

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
