"""Homes with each session several times, for measuring what grows with their number."""

from __future__ import annotations

from pathlib import Path

from benchmarks.generate_home import write_both
from benchmarks.multiply_home import multiply
from copilog import discover, read
from copilog.diagnostics import Report


def sessions(home: Path) -> tuple[list[str], list[int], Report]:
    """The ids of all conversations, how many messages each has, and the books of reading them."""
    report = Report()
    conversations = [made for found in discover([home], report=report) for made in read(found, report=report)]
    return [made.id for made in conversations], sorted(len(made.messages) for made in conversations), report


def test_each_session_is_there_so_many_times_and_reads_as_before(tmp_path: Path) -> None:
    write_both(tmp_path / "home", 24, 1)
    ids, lengths, books = sessions(tmp_path / "home")

    written = multiply(tmp_path / "home", tmp_path / "larger", 3)
    more_ids, more_lengths, more_books = sessions(tmp_path / "larger")

    assert len(set(more_ids)) == len(more_ids) == 3 * len(ids)
    assert set(ids) <= set(more_ids)
    assert more_lengths == sorted(3 * lengths)
    found, more_found = (
        [one for one in each.diagnostics() if one.code != "not-searched"]  # one for each root
        for each in (books, more_books)
    )
    assert len(more_found) == 3 * len(found)
    assert written["files"] == sum(path.is_file() for path in (tmp_path / "larger").rglob("*"))
