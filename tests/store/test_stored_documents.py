"""Documents: complete conversations, long ones in chapters, with each text of a file stored once."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.model import Conversation, FileChange, FileState, Message, Provenance, Text
from copilog.store.archive import Archive
from copilog.store.documents import CHAPTER, conversation_from, document_of
from copilog.store.entries import entry_of
from copilog.store.packing import pack, unpack

TEXTS = st.none() | st.sampled_from(["", "a\n", "b\n", "a\nb\n" * 40, "b\nb\n" * 40, "\u2028ä\n"])


def edited(*changes: tuple[str | None, str | None], files: tuple[FileState, ...] = ()) -> Conversation:
    return Conversation(
        id="vscode:beds",
        source="vscode-session",
        file_changes=[FileChange(uri="file:///beds.txt", before=before, after=after) for before, after in changes],
        files=list(files),
        provenance=[Provenance(source="vscode-session", path="/home/ana/beds.json", size=3)],
    )


@given(
    st.lists(st.tuples(TEXTS, TEXTS), max_size=6),
    st.lists(st.builds(FileState, uri=st.just("file:///a"), initial=TEXTS, original=TEXTS, current=TEXTS), max_size=3),
)
def test_a_packed_conversation_is_restored(
    changes: list[tuple[str | None, str | None]], files: list[FileState]
) -> None:
    conversation = edited(*changes, files=tuple(files))
    stored = msgspec.convert(msgspec.to_builtins(conversation), Conversation)

    assert conversation_from(document_of(conversation).data) == stored
    assert conversation == stored  # and it was not changed by storing it


def test_a_text_that_many_steps_share_is_stored_once() -> None:
    texts = [f"line {number}\n" * 2000 for number in range(4)]
    conversation = edited(
        *pairwise(texts), files=(FileState(uri="file:///beds.txt", initial=texts[0], current=texts[-1]),)
    )

    assert len(unpack(document_of(conversation).data)) < 1.2 * sum(map(len, texts))


def test_a_lone_surrogate_in_a_text_does_not_affect_the_next_document() -> None:
    entry = entry_of(edited(("a\n", "b\ud83d\n")))
    assert conversation_from(entry.document).file_changes[0].after == "b\ufffd\n"

    conversation = edited(("a\n", "b\n"))
    assert conversation_from(document_of(conversation).data) == conversation


def test_a_document_of_before_can_be_read() -> None:
    conversation = edited(("a\n", "b\n"))
    document = pack(msgspec.json.encode(conversation))

    assert conversation_from(document) == conversation


def test_the_digest_depends_on_texts_but_not_on_file_times() -> None:
    digests = {document_of(edited(("a\n", after))).digest for after in ("b\n", "c\n", None)}
    assert len(digests) == 3

    touched = edited(("a\n", "b\n"))
    touched.provenance[0].size = 4
    assert document_of(touched).digest in digests


# --- chapters ---------------------------------------------------------------------------------------------------


def conversation_of(length: int, **changed: str) -> Conversation:
    """Return a conversation of so many messages; some differ."""
    return Conversation(
        id="cli:long",
        source="cli-events",
        messages=[
            Message(role="user", parts=[Text(text=changed.get(f"m{number}", f"message {number}"))])
            for number in range(length)
        ],
    )


def written(archive: Archive, conversation: Conversation) -> list[int]:
    """Store it; returns the numbers of the chapters that were written."""
    archive.connection.execute("CREATE TEMP TABLE IF NOT EXISTS written (position)")
    archive.connection.execute("DELETE FROM written")
    archive.connection.execute(
        "CREATE TEMP TRIGGER IF NOT EXISTS is_written AFTER INSERT ON main.chapter "
        "BEGIN INSERT INTO written VALUES (new.position); END"
    )
    archive.put(entry_of(conversation), "")
    return [position for (position,) in archive.connection.execute("SELECT position FROM written ORDER BY position")]


@pytest.mark.parametrize("length", [0, 1, CHAPTER, CHAPTER + 1, 2 * CHAPTER, 2 * CHAPTER + 1, 5 * CHAPTER + 7])
def test_a_conversation_of_any_length_comes_back(tmp_path: Path, length: int) -> None:
    with Archive(tmp_path / "archive.db", write=True) as archive:
        archive.put(entry_of(conversation_of(length)), "")

        assert archive.get("cli:long") == conversation_of(length)
        assert len(document_of(conversation_of(length)).chapters) == max(0, length - 1) // CHAPTER


def test_of_a_conversation_that_grows_only_new_chapters_are_written(tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db", write=True) as archive:
        assert written(archive, conversation_of(2 * CHAPTER + 5)) == [0, 1]
        assert written(archive, conversation_of(2 * CHAPTER + 9)) == []
        assert written(archive, conversation_of(3 * CHAPTER + 1)) == [2]
        assert written(archive, conversation_of(3 * CHAPTER + 1, m3="said otherwise")) == [0]

        assert archive.get("cli:long") == conversation_of(3 * CHAPTER + 1, m3="said otherwise")


def test_a_conversation_that_gets_shorter_loses_its_last_chapters(tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db", write=True) as archive:
        for length in (4 * CHAPTER, CHAPTER + 2, 3):
            archive.put(entry_of(conversation_of(length)), "")
            assert archive.get("cli:long") == conversation_of(length)
        assert archive.connection.execute("SELECT count(*) FROM chapter").fetchone() == (0,)


def test_the_digest_depends_on_chapters() -> None:
    length = 2 * CHAPTER
    assert (
        document_of(conversation_of(length)).digest != document_of(conversation_of(length, m0="said otherwise")).digest
    )
    assert document_of(conversation_of(length)).digest == document_of(conversation_of(length)).digest


def test_the_chapters_of_a_conversation_that_is_removed_go_with_it(tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db", write=True) as archive:
        archive.put(entry_of(conversation_of(3 * CHAPTER)), "")
        archive.remove("cli:long")

        assert archive.connection.execute("SELECT count(*) FROM chapter").fetchone() == (0,)
