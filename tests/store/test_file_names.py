"""Names of files in the archive."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.store.file_names import on_disk, spelled


@given(st.binary(max_size=40) | st.text("\\u05cdef8", max_size=40).map(str.encode))
def test_any_file_name_is_stored_and_restored(name: bytes) -> None:
    text = os.fsdecode(name)
    stored = spelled(text)

    assert stored.encode().decode() == stored
    assert on_disk(stored) == text


@pytest.mark.parametrize("name", ["/home/ana/Größe.json", r"C:\Users\ana\data.json", "plain"])
def test_names_that_are_text_stay_as_they_are(name: str) -> None:
    assert spelled(name) == name
    assert on_disk(name) == name
