"""Real files of other people, where there are some: everything is accounted for, and nothing breaks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from copilog import ingest
from copilog.diagnostics import Ledger, Report

pytestmark = pytest.mark.corpus

# Kinds of part that real files have and that nobody has described yet.
UNKNOWN_KINDS: set[str] = set()


@pytest.fixture(scope="module")
def ledgers(corpus: Path) -> list[Ledger]:
    return list(ingest.inspect([corpus]))


def test_the_books_of_every_file_balance(ledgers: list[Ledger]) -> None:
    assert [ledger.path for ledger in ledgers if not ledger.balances()] == []
    assert sum(ledger.source is not None for ledger in ledgers) > 0


def test_no_reader_breaks(ledgers: list[Ledger], monkeypatch: pytest.MonkeyPatch, corpus: Path) -> None:
    monkeypatch.delenv("COPILOG_RAISE")
    contained = list(ingest.inspect([corpus]))

    assert [found for ledger in contained for found in ledger.diagnostics() if found.code == "crash"] == []
    assert [ledger.diagnostics() for ledger in contained] == [ledger.diagnostics() for ledger in ledgers]


def test_all_undescribed_kinds_are_listed(ledgers: list[Ledger]) -> None:
    kinds: Counter[str] = Counter()
    for ledger in ledgers:
        kinds.update(ledger.unknown)
        kinds.update(ledger.parts.unknown)

    assert set(kinds) == UNKNOWN_KINDS


def test_all_traces_merge_and_each_conversation_comes_once(corpus: Path) -> None:
    report = Report()

    conversations = list(ingest.read(corpus, report=report))

    ids = Counter(conversation.id for conversation in conversations)
    assert [native_id for native_id, count in ids.items() if count > 1] == []
    assert report.balances()
    for conversation in conversations:
        leads = [place for place in conversation.provenance if place.role == "lead"]
        is_partial = {"stub", "orphan-edits", "resource"} & set(conversation.marks)
        assert len(leads) <= 1 if is_partial else len(leads) == 1
        assert [turn.index for turn in conversation.turns] == list(range(len(conversation.turns)))
