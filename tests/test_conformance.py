"""Recorded runs of real programs: what copilog reads is what was scripted."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from conformance.facts import Truth
from conformance.masking import prose_left
from conformance.recording import RECORDED, compare_recorded, mask_of, recorded
from conformance.scenario import SCENARIOS, load

MOST_BYTES = 5 << 20
MOST_WORDS = 25  # of the vendors in one piece: notices are shorter
EVERYWHERE = {  # what each run is compared for
    "cli": {"superseded", "model.asked", "documents", "compactions", "began", "edits", "vote", "request.output"},
    "vscode": {"superseded turns", "model.asked", "documents", "compactions", "edits", "vote", "request.output"},
}
FOREIGN_FOLDERS = (b"/copilog-conf-", b"/root/", b"/Users/", b"/.cache/")
FOREIGN_PATH = re.compile(rb"/copilog-conf-|/root/|/Users/|/home/(?!ana\b)|/\.cache/|/tmp/|/var/folders/")


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The days of the recorded truths are those of UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.mark.parametrize("name", recorded())
def test_recorded_run_is_read_as_it_was_scripted(name: str) -> None:
    compared = compare_recorded(name)
    different = {
        f"{one.fact.kind} at {one.fact.where}": (one.fact.expected, one.observed)
        for one in compared
        if one.verdict == "different" and one.reason is None
    }
    assert sum(one.verdict == "equal" for one in compared) >= len(compared) // 2
    assert different == {}


def test_recorded_runs_are_small_and_have_no_path_of_the_machine_that_recorded_them() -> None:
    files = [path for path in RECORDED.rglob("*") if path.is_file()]
    assert files
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
    for path in files:
        content = path.read_bytes()
        assert FOREIGN_PATH.findall(content) == [], path
        assert [name for name in FOREIGN_FOLDERS if name.hex().encode() in content] == [], path


@pytest.mark.parametrize("name", recorded())
def test_recorded_run_has_no_prose_of_a_vendor(name: str) -> None:
    truth = msgspec.json.decode((RECORDED / name / "truth.json").read_bytes(), type=Truth)
    mask = mask_of(truth, load(SCENARIOS / truth.program / f"{truth.scenario}.yaml"), {})
    prose = {
        path.name: piece
        for path in (RECORDED / name / "written").rglob("*")
        for text in texts_of(path)
        for piece in prose_left(mask, text, MOST_WORDS)
    }
    assert prose == {}


@pytest.mark.parametrize("name", recorded())
def test_recorded_truth_has_all_that_a_run_is_compared_for_today(name: str) -> None:
    truth = msgspec.json.decode((RECORDED / name / "truth.json").read_bytes(), type=Truth)
    kinds = {fact.kind for fact in truth.facts}
    assert sorted(EVERYWHERE[truth.program] - kinds) == []
    calls = {fact.where for fact in truth.facts if fact.kind == "call.name"}
    assert not calls or "edits" in kinds
    prompted = {fact.where for fact in truth.facts if fact.kind == "subagent.prompt"}
    assert prompted == {fact.where for fact in truth.facts if fact.kind == "subagent.name"}


def texts_of(path: Path) -> Iterator[str]:
    if not path.is_file():
        return
    if path.suffix != ".db":
        yield from path.read_text(encoding="utf-8", errors="replace").split("\n")
        return
    with closing(sqlite3.connect(path)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                for value in row:
                    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
                    if isinstance(text, str):
                        yield text
