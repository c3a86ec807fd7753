"""Files of exports: complete or not there, never replaced by an empty one, and with an index in a folder."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

import copilog
from copilog.errors import CopilogError, UsageError
from copilog.exports.chosen import Chosen, chosen_of
from copilog.exports.folder_index import NAME
from copilog.exports.formats import NAMES, Format, Making, Shape, format_named
from copilog.exports.index import Entry
from copilog.exports.writing import Exported, NothingToWrite, write
from copilog.model import Branch, Conversation, Message, Text, Turn

FIRST, SECOND = "vscode:1", "vscode:2"


def a_conversation(conversation_id: str, title: str, words: str = "Hello") -> Conversation:
    return Conversation(
        id=conversation_id,
        source="vscode-session",
        title=title,
        started_at=datetime(2026, 5, 4, 8, tzinfo=UTC),
        turns=[Turn(index=0)],
        messages=[Message(role="user", turn=0, parts=[Text(text=words)])],
    )


def two() -> list[Conversation]:
    return [a_conversation(FIRST, "Low tide"), a_conversation(SECOND, "High tide")]


def a_format(shape: Shape, words: str = "a line\n", ending: str = ".txt") -> Format:
    def pieces(conversations: Iterable[Conversation], index: Sequence[Entry], making: Making) -> Iterator[str]:
        for conversation in conversations:
            making.left_out.add(conversation.id, "pictures", 2)
            yield words

    return Format("plain", "Plain", ending, "text/plain", pieces, shape=shape)


def written(output: Path | None, kind: Format, conversations: Iterable[Conversation] | None = None) -> Exported:
    return write(chosen_of(two() if conversations is None else conversations), kind, output, Making(by="copilog 1"))


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def markdown() -> Format:
    kind = format_named("markdown")
    assert kind is not None
    return kind


# --- folders --------------------------------------------------------------------------------------------------------


def test_a_folder_has_a_file_for_each_conversation_and_an_index_for_people_and_for_programs(tmp_path: Path) -> None:
    exported = written(tmp_path / "notes", markdown())
    assert names_in(tmp_path / "notes") == ["2026-05-04-high-tide.md", "2026-05-04-low-tide.md", NAME, "index.md"]
    assert exported.conversations == 2
    assert {path.name for path in exported.paths} == set(names_in(tmp_path / "notes")) - {NAME}
    index = json.loads((tmp_path / "notes" / NAME).read_text())
    assert [(each["id"], each["file"]) for each in index["conversations"]] == [
        (FIRST, "2026-05-04-low-tide.md"),
        (SECOND, "2026-05-04-high-tide.md"),
    ]
    assert "[Low tide](<2026-05-04-low-tide.md>), 2026-05-04 08:00, 1 turn" in (
        tmp_path / "notes" / "index.md"
    ).read_text().replace("2026-05-04T", "2026-05-04 ")


def test_a_second_export_replaces_its_own_files_under_their_names_although_the_title_changed(tmp_path: Path) -> None:
    written(tmp_path, markdown())
    before = names_in(tmp_path)
    written(tmp_path, markdown(), [a_conversation(FIRST, "Another title", "Other words")])
    assert names_in(tmp_path) == before
    assert "Other words" in (tmp_path / "2026-05-04-low-tide.md").read_text()
    assert "High tide" in (tmp_path / "index.md").read_text()


def test_exports_into_one_folder_at_once_have_one_index_with_all_their_conversations(tmp_path: Path) -> None:
    ids = [f"vscode:{number}" for number in range(6)]
    with ThreadPoolExecutor(len(ids)) as pool:
        kinds = [[a_conversation(each, "Low tide")] for each in ids]
        list(pool.map(lambda each: written(tmp_path, markdown(), each), kinds))
    assert [name for name in names_in(tmp_path) if name.startswith("index")] == ["index.md"]
    index = json.loads((tmp_path / NAME).read_text())["conversations"]
    assert {each["id"] for each in index} == set(ids)
    assert len({each["file"] for each in index}) == len(ids)
    assert all(each["file"] in (tmp_path / "index.md").read_text() for each in index)


def test_files_of_others_are_never_replaced(tmp_path: Path) -> None:
    for name in ("2026-05-04-low-tide.md", "index.md"):
        (tmp_path / name).write_text("mine")
    written(tmp_path, markdown())
    for name in ("2026-05-04-low-tide.md", "index.md"):
        assert (tmp_path / name).read_text() == "mine"
    assert {"2026-05-04-low-tide-2.md", "index-2.md"} <= set(names_in(tmp_path))


@pytest.mark.parametrize("name", ["../outside.md", "/etc/passwd", "..", "a/b.md", "C:\\x.md"])
def test_an_index_that_somebody_changed_names_no_file_outside_of_its_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "notes"
    written(folder, markdown())
    index = json.loads((folder / NAME).read_text())
    index["conversations"][0]["file"] = name
    index["indexes"]["markdown"] = name
    (folder / NAME).write_text(json.dumps(index))
    written(folder, markdown())
    assert names_in(tmp_path) == ["notes"]


def test_an_interrupted_export_uses_the_same_names_when_it_is_repeated(tmp_path: Path) -> None:
    def pieces(conversations: Iterable[Conversation], index: Sequence[Entry], making: Making) -> Iterator[str]:
        for conversation in conversations:
            yield "half"
            if conversation.id == SECOND:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        written(tmp_path, Format("plain", "Plain", ".txt", "text/plain", pieces))
    assert names_in(tmp_path) == ["2026-05-04-low-tide.txt", NAME]
    written(tmp_path, a_format("document"))
    assert names_in(tmp_path) == ["2026-05-04-high-tide.txt", "2026-05-04-low-tide.txt", NAME]


def test_a_format_of_one_conversation_per_file_refuses_one_file_for_several(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name a folder"):
        written(tmp_path / "all.txt", a_format("single"))
    assert names_in(tmp_path) == []


def test_one_conversation_without_a_name_goes_to_a_file_of_its_title(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(None, markdown(), two()[:1])
    written(None, markdown(), two()[:1])
    assert names_in(tmp_path) == ["2026-05-04-low-tide-2.md", "2026-05-04-low-tide.md"]
    written(None, markdown())
    assert names_in(tmp_path / "conversations-markdown")[0] == "2026-05-04-high-tide.md"
    written(None, a_format("lines"))
    assert (tmp_path / "conversations.txt").read_text() == "a line\na line\n"


def a_branched_conversation() -> Conversation:
    conversation = a_conversation(FIRST, "Low tide")
    conversation.turns = [
        Turn(index=0, request_id="a"),
        Turn(index=1, request_id="b"),
        Turn(index=2, request_id="c", branch=Branch(leaves_from=0, trace="/copy.json")),
    ]
    conversation.messages = [
        Message(role="user", turn=number, parts=[Text(text=words)]) for number, words in enumerate(("first", "b", "c"))
    ]
    return conversation


def a_linear_format() -> Format:
    def pieces(conversations: Iterable[Conversation], index: Sequence[Entry], making: Making) -> Iterator[str]:
        for conversation in conversations:
            yield "".join(str(turn.request_id) for turn in conversation.turns)

    return Format("linear", "Linear", ".txt", "text/plain", pieces, shape="single", is_linear=True)


def test_a_conversation_with_branches_becomes_a_file_for_each_end_of_a_linear_format(tmp_path: Path) -> None:
    for _ in range(2):
        exported = written(tmp_path / "notes", a_linear_format(), [a_branched_conversation()])
        assert [path.read_text() for path in exported.paths] == ["ab", "ac"]
        assert names_in(tmp_path / "notes") == ["2026-05-04-low-tide-2.txt", "2026-05-04-low-tide.txt", NAME]
        assert exported.left_out == []


def test_one_linear_file_has_the_trunk_and_counts_the_turns_of_branches(tmp_path: Path) -> None:
    exported = written(tmp_path / "one.txt", a_linear_format(), [a_branched_conversation()])
    assert (tmp_path / "one.txt").read_text() == "ab"
    assert [each.number for each in exported.left_out] == [1]


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["document", "single", "lines"])
def test_an_output_is_never_replaced_by_an_empty_one(tmp_path: Path, shape: Shape) -> None:
    path = tmp_path / "all.txt"
    path.write_text("before")
    with pytest.raises(NothingToWrite, match="have nothing that a Plain file contains"):
        written(path, a_format(shape, words=""), two()[:1])
    assert path.read_text() == "before"
    assert names_in(tmp_path) == ["all.txt"]


def test_what_was_left_out_is_counted_over_the_conversations(tmp_path: Path) -> None:
    exported = written(tmp_path / "all.txt", a_format("lines"))
    assert [each[:3] for each in exported.left_out] == [("pictures", 4, 2)]


def test_a_conversation_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    known = chosen_of(two())

    def get(conversation_id: str) -> Conversation:
        if conversation_id == FIRST:
            raise UsageError("it has just been removed")
        return known.get(conversation_id)

    exported = write(Chosen(known.entries, get), markdown(), tmp_path / "notes", Making(by="copilog 1"))
    assert exported.failed == [(FIRST, "it has just been removed")]
    assert exported.conversations == 1
    assert names_in(tmp_path / "notes") == ["2026-05-04-high-tide.md", NAME, "index.md"]


def test_files_can_be_read_by_their_owner_alone(tmp_path: Path) -> None:
    exported = written(tmp_path / "notes", markdown())
    for path in [*exported.paths, tmp_path / "notes" / NAME]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


# --- datasets -------------------------------------------------------------------------------------------------------


def a_dataset(words: str) -> Format:
    def write_folder(conversations: Iterable[Conversation], folder: Path, making: Making) -> list[Path]:
        path = folder / "part" / "rows.txt"
        path.parent.mkdir()
        path.write_text(words + "".join(conversation.id for conversation in conversations))
        if words == "interrupted":
            raise KeyboardInterrupt
        return [path]

    return Format("rows", "Rows", "", "text/plain", lambda *_: iter(()), shape="dataset", write_folder=write_folder)


def test_a_dataset_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    rows = tmp_path / "data" / "part" / "rows.txt"
    exported = written(tmp_path / "data", a_dataset("one"))
    assert exported.paths == [rows]
    written(tmp_path / "data", a_dataset("two"))
    assert rows.read_text() == "twovscode:1vscode:2"
    with pytest.raises(KeyboardInterrupt):
        written(tmp_path / "data", a_dataset("interrupted"))
    assert rows.read_text() == "twovscode:1vscode:2"
    assert names_in(tmp_path) == ["data"]


def test_a_dataset_does_not_take_the_place_of_a_folder_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="name a new folder"):
        written(tmp_path, a_dataset("one"))
    assert names_in(tmp_path) == ["mine.txt"]


def test_a_dataset_does_not_take_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    with pytest.raises(UsageError, match="is a file"):
        written(tmp_path / "data", a_dataset("one"))
    assert (tmp_path / "data").read_text() == "mine"


def test_a_file_without_an_ending_that_exists_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("before")
    written(tmp_path / "notes", a_format("lines"))
    assert (tmp_path / "notes").read_text() == "a line\na line\n"


# --- Python ---------------------------------------------------------------------------------------------------------


def test_python_programs_call_one_function(tmp_path: Path) -> None:
    exported = copilog.export(two(), "markdown", tmp_path / "notes")
    assert exported.conversations == 2
    with pytest.raises(UsageError, match="the formats are html, markdown"):
        copilog.export(two(), "pdf", tmp_path / "notes")
    with pytest.raises(UsageError, match="has no use for --max-tokens"):
        copilog.export(two(), "html", tmp_path / "notes", max_tokens=5)


@pytest.mark.parametrize("name", NAMES)
def test_no_conversation_replaces_nothing_in_any_format(name: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("mine")
    with pytest.raises(CopilogError):
        copilog.export([], name, kept)

    assert (kept.read_text(), names_in(tmp_path)) == ("mine", ["kept"])
