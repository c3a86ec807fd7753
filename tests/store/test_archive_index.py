"""What is stored is found, and is the same whichever way it came about."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.store import indexing
from copilog.store.archive import Archive
from tests.soaking import SEED, counted
from tests.store.archive_rows import HARBOUR, MOORING, hits, put_all, rows, words_with
from tests.stored import entry


def test_stored_texts_are_found_after_indexing(archive: Archive) -> None:
    archive.put(entry("a1", HARBOUR), "files-1")
    assert archive.has_pending()
    assert hits(archive, "harbour") == []

    assert archive.index_pending() == 1

    assert not archive.has_pending()
    assert hits(archive, "harbour") == [("vscode:a1", 1)]
    assert archive.index_pending() == 0


def test_a_title_is_found_in_a_row_of_its_own(archive: Archive) -> None:
    put_all(archive, entry("a1", HARBOUR, title="Spring tides"))

    assert hits(archive, "title : spring") == [("vscode:a1", 2)]


@pytest.mark.parametrize("is_large", [True, False])
def test_words_are_found_by_a_part_of_them(archive: Archive, is_large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "FEW_BYTES", 0 if is_large else 1 << 20)

    put_all(archive, entry("a1", HARBOUR), entry("b2", MOORING))

    assert words_with(archive, "oor") == ["mooring"]
    assert words_with(archive, "caf") == ["cafe"]  # as the index spells it
    assert ("at",) in rows(archive, "SELECT word FROM word")


def test_words_of_a_few_changes_are_added_to_the_list_of_words(archive: Archive) -> None:
    put_all(archive, entry("a1", HARBOUR))
    put_all(archive, entry("a1", HARBOUR, MOORING))

    assert words_with(archive, "oor") == ["mooring"]
    assert words_with(archive, "arb") == ["harbour"]


def test_during_a_scan_the_list_of_words_may_be_updated_later(archive: Archive) -> None:
    archive.put(entry("a1", HARBOUR), "files-1")

    archive.index_pending(finish=False)

    assert (hits(archive, "harbour"), words_with(archive, "arb")) == ([("vscode:a1", 1)], [])
    assert archive.has_pending()
    archive.index_pending()
    assert words_with(archive, "arb") == ["harbour"]
    assert not archive.has_pending()


def test_a_limit_leaves_the_rest_for_later(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "BATCH_BYTES", 1)
    for name in ("a1", "b2", "c3"):
        archive.put(entry(name, HARBOUR), "files-1")

    assert archive.index_pending(limit_bytes=1) == 1
    assert archive.index_pending() == 2


exchanges = st.lists(
    st.tuples(st.sampled_from(["high water", "mooring", "knots", ""]), st.sampled_from(["noon", "harbour", "ebb"])),
    max_size=4,
)
puts = st.lists(st.tuples(st.sampled_from(["a1", "b2", "c3"]), exchanges), max_size=8)


@given(puts, st.lists(st.booleans(), min_size=8, max_size=8), st.booleans())
@settings(max_examples=25)
def test_archives_of_the_same_conversations_have_the_same_content(
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[tuple[str, list[tuple[str, str]]]],
    indexed_after: list[bool],
    finish: bool,
) -> None:
    folder = tmp_path_factory.mktemp("archives")
    with Archive(folder / "slow.db", write=True) as slow, Archive(folder / "quick.db", write=True) as quick:
        for (name, exchanged), is_indexed in zip(changes, indexed_after, strict=False):
            slow.put(entry(name, *exchanged), "s")
            if is_indexed:
                slow.index_pending(finish=finish)
        slow.index_pending()
        for name, exchanged in sorted(dict(changes).items(), reverse=True):
            quick.put(entry(name, *exchanged), "q")
        quick.index_pending()

        assert slow.fingerprint() == quick.fingerprint()
        assert slow.check() == quick.check() == []


def test_fingerprints_of_different_archives_differ(tmp_path: Path) -> None:
    prints = set()
    for number, entries in enumerate(
        (
            [entry("a1", HARBOUR)],
            [entry("a1", MOORING)],
            [entry("a1", HARBOUR, title="Tides")],
            [entry("a1", HARBOUR), entry("b2", HARBOUR)],
            [],
        )
    ):
        with Archive(tmp_path / f"{number}.db", write=True) as archive:
            put_all(archive, *entries)
            prints.add(archive.fingerprint())

    assert len(prints) == 5


WRITER = """
import sys
from pathlib import Path
from copilog.store import indexing
from copilog.store.archive import Archive
from tests.stored import entry

indexing.BATCH_BYTES = 2_000
with Archive(Path(sys.argv[1]), write=True) as archive:
    print("begun", flush=True)
    for number in range(60):
        texts = [(f"question {number} {word}", "noon " * word) for word in range(1 + number % 7)]
        archive.put(entry(f"n{number % 20}", *texts), "s")
        if number % 5 == 4:
            archive.index_pending(finish=number % 2 == 0)
    archive.index_pending()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.soak(kind="kills")
def test_a_writer_that_is_killed_leaves_an_archive_that_the_next_makes_good(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    moments = random.Random(SEED)
    delays = [0.0, 0.002, 0.01, 0.02, 0.05, 0.1]
    delays += [moments.uniform(0, 0.2) for _ in range(counted(len(delays)) - len(delays))]
    record_property("cases", len(delays))

    def start(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", WRITER, str(tmp_path / name)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])

    start("whole.db").communicate()
    for delay in delays:
        process = start("killed.db")
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    assert start("killed.db").communicate()[0] == "begun\n"

    with Archive(tmp_path / "whole.db", write=True) as whole, Archive(tmp_path / "killed.db", write=True) as killed:
        assert killed.check() == []
        assert killed.fingerprint() == whole.fingerprint()


def test_two_that_index_at_once_do_not_index_twice(tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db", write=True) as one, Archive(tmp_path / "archive.db", write=True) as other:
        one.put(entry("a1", HARBOUR), "files-1")

        assert (one.index_pending(), other.index_pending()) == (1, 0)
        assert one.check() == []
