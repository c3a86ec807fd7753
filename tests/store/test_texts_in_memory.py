"""Storing and exporting a large conversation leaves no encoded copy with each of its texts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from copilog import jsonio
from copilog.derive import conclude
from copilog.model import Conversation, prose_of
from copilog.store.archive import Archive
from copilog.store.entries import entry_of
from copilog.trajectory.conversations import trajectory_of
from copilog.trajectory.line_format import encode_trajectory, trajectory_pieces
from tests.stored import conversation

EXCHANGES = 600
MOST_KEPT = 0.5  # of what the encoded texts take: the first ones are encoded as they are


@pytest.fixture
def large() -> Conversation:
    """Return 600 answers of 20,000 characters, none of which is ASCII."""
    made = conversation("tides", *((f"question {number}", f"→ {number} " * 2_500) for number in range(EXCHANGES)))
    conclude(made)
    return made


def size_in_memory(made: Conversation) -> int:
    return sum(sys.getsizeof(prose_of(message.parts)) for message in made.messages)


def test_stored_texts_have_no_encoded_copy(large: Conversation, tmp_path: Path) -> None:
    texts = [prose_of(message.parts) for message in large.messages]
    encoded = sum(len(text.encode()) for text in texts)
    before = size_in_memory(large)

    with Archive(tmp_path / "archive.db", write=True) as archive:
        archive.put(entry_of(large), "made for a test")
        stored = archive.get(large.id)

    assert size_in_memory(large) - before < MOST_KEPT * encoded
    assert [prose_of(message.parts) for message in stored.messages] == texts


def test_texts_of_a_trajectory_have_no_encoded_copy(large: Conversation) -> None:
    trajectory = trajectory_of(large)
    before = size_in_memory(large)

    size = sum(map(len, trajectory_pieces(trajectory)))

    assert size_in_memory(large) - before < MOST_KEPT * size
    assert b"".join(trajectory_pieces(trajectory)) == encode_trajectory(trajectory)


def test_json_is_the_same_without_encoded_copies(large: Conversation) -> None:
    large.messages[0].parts[0].extra = {"scores": [0.1, None, True], "nested": {"text": "é" * jsonio.LONG_TEXT}}

    assert jsonio.encode_in_passing(large.messages[:2]).decode() == jsonio.encode(large.messages[:2])
