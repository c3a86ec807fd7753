"""Documents: the whole conversation, with the texts of files kept once each."""

from __future__ import annotations

from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from copilog.model import Conversation, FileChange, FileState, Provenance
from copilog.store.documents import conversation_from, document_of
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
def test_what_was_stored_comes_back(changes: list[tuple[str | None, str | None]], files: list[FileState]) -> None:
    conversation = edited(*changes, files=tuple(files))
    stored = msgspec.convert(msgspec.to_builtins(conversation), Conversation)

    assert conversation_from(document_of(conversation)[0]) == stored
    assert conversation == stored  # and it was not changed by storing it


def test_a_text_that_many_steps_share_is_kept_once() -> None:
    texts = [f"line {number}\n" * 2000 for number in range(4)]
    conversation = edited(
        *pairwise(texts), files=(FileState(uri="file:///beds.txt", initial=texts[0], current=texts[-1]),)
    )

    assert len(unpack(document_of(conversation)[0])) < 1.2 * sum(map(len, texts))


def test_half_a_character_in_a_text_does_no_harm_to_the_next_document() -> None:
    entry = entry_of(edited(("a\n", "b\ud83d\n")))
    assert conversation_from(entry.document).file_changes[0].after == "b\ufffd\n"

    conversation = edited(("a\n", "b\n"))
    assert conversation_from(document_of(conversation)[0]) == conversation


def test_a_document_of_before_can_be_read() -> None:
    conversation = edited(("a\n", "b\n"))
    document = pack(msgspec.json.encode(conversation))

    assert conversation_from(document) == conversation


def test_the_digest_tells_texts_apart_but_not_when_a_file_was_touched() -> None:
    digests = {document_of(edited(("a\n", after)))[1] for after in ("b\n", "c\n", None)}
    assert len(digests) == 3

    touched = edited(("a\n", "b\n"))
    touched.provenance[0].size = 4
    assert document_of(touched)[1] in digests
