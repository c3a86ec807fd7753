"""A list of conversations as CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.exports.conversations import (
    a_conversation,
    corpus_conversations,
    exported,
    hostile_conversations,
    left_out_of,
    sample_conversations,
)
from tests.exports.round_trips import recorded_in


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))


def test_a_row_for_each_conversation_with_counts_and_recorded_tokens(tmp_path: Path) -> None:
    done = exported([a_conversation()], "csv", tmp_path / "all.csv")
    [row] = rows_of(tmp_path / "all.csv")
    assert row["conversation"] == "vscode:one"
    assert row["title"] == "Tide file"
    assert row["started_at"] == "2026-05-04T12:00:00+00:00"
    assert (row["turns"], row["messages"], row["tool_calls"]) == ("1", "5", "1")
    assert (row["input"], row["output"], row["cache_read"], row["credits"]) == ("1200", "80", "1000", "")
    assert left_out_of(done).items() >= {"texts": 3, "thoughts of models": 1, "tool results": 1}.items()


def test_the_sample_has_a_row_each_in_one_file(tmp_path: Path) -> None:
    whole = sample_conversations()
    exported(whole, "csv", tmp_path / "all.csv")
    rows = rows_of(tmp_path / "all.csv")
    assert [row["conversation"] for row in rows] == [each.id for each in whole]
    assert float(rows[1]["premium_requests"]) == pytest.approx(recorded_in(whole[1])["premium_requests"])


def test_hostile_texts_are_cells_and_no_formulas(tmp_path: Path) -> None:
    exported(hostile_conversations(), "csv", tmp_path / "all.csv")
    rows = rows_of(tmp_path / "all.csv")
    assert len(rows) == len(hostile_conversations())
    titles = [row["title"] for row in rows]
    assert '\'=HYPERLINK("x")' in titles
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())
    assert "\x1b" not in (tmp_path / "all.csv").read_text(encoding="utf-8")


@pytest.mark.corpus
def test_the_corpus_has_a_row_each(tmp_path: Path, corpus: Path) -> None:
    exported(list(corpus_conversations(corpus)), "csv", tmp_path / "all.csv")
    assert len(rows_of(tmp_path / "all.csv")) == len(corpus_conversations(corpus))
