"""Files that are no telemetry, damaged files and odd folders: named and counted, and the others are read."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import copilog
from copilog import Report
from copilog.errors import UsageError
from copilog.trajectory import ConversationTrajectory, encode_trajectory
from tests.telemetry.streams import (
    assistant,
    contents,
    line_of,
    reported,
    snapshot,
    system,
    trajectories,
    user,
    write_lines,
)

GOOD = snapshot([system(), user(), assistant()], "good")
LATER = snapshot([system(), user("And peas?")], "later")


def survives(path: Path, **options: Any) -> tuple[list[ConversationTrajectory], Report]:
    """Return the trajectories of bad input. The ledger balances, and every line is JSON."""
    found, report = reported(path, **options)
    assert report.balances()
    for trajectory in found:
        json.loads(encode_trajectory(trajectory).decode("utf-8"), parse_constant=pytest.fail)
    return found, report


def ids(found: list[ConversationTrajectory]) -> list[str]:
    return [trajectory.conversation_id for trajectory in found]


PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000a49444154789c6300010000")
FOREIGN = {
    "README": b"# Beans\n\nSow them in May.\n",
    "picture": PNG,
    "empty": b"",
    "mark": b"\xef\xbb\xbf",
    "blank": b" \n\r\n\t\n",
    "NUL bytes": b"\x00" * 5000,
    "list of numbers": b"[1, 2, 3]",
    "torn list": b'[{"a": 1}, {"b',
    "UTF-16": "﻿" .encode("utf-16-le") + '{"name": "engine.messages"}\n'.encode("utf-16-le"),
    "brackets": b"[" * 200_000,
    "braces": b'{"a":' * 50_000,
    "commas": b"[,,,]",
    "one word": b"beans",
}  # fmt: skip


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("data", FOREIGN.values(), ids=FOREIGN)
def test_a_file_that_is_not_telemetry_is_counted_and_yields_nothing(
    tmp_path: Path, data: bytes, streaming: bool
) -> None:
    path = tmp_path / "README.md"
    path.write_bytes(data)

    for options in ({}, {"json_recovery": True}, {"compat": True}):
        found, report = survives(path, streaming=streaming, **options)

        assert found == []
        assert str(path) in report.files


@pytest.mark.parametrize("data", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file_beside_telemetry_changes_nothing(tmp_path: Path, data: bytes) -> None:
    folder = tmp_path / "in"
    write_lines(folder, LATER, name="z.jsonl")
    write_lines(folder, GOOD, name="a.jsonl")
    (folder / "m.json").write_bytes(data)
    (folder / "notes.txt").write_bytes(data)

    found, report = survives(folder)

    assert ids(found) == ["good", "later"]
    assert f"{folder}/notes.txt" not in report.files


def test_a_session_file_of_the_editor_beside_telemetry_is_a_conversation_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write_lines(folder, GOOD, name="z.jsonl")
    session = {"version": 3, "sessionId": "s-1", "requests": [{"message": {"text": "Hi"}}]}
    (folder / "a.json").write_text(json.dumps(session))

    found, _ = survives(folder)

    assert ids(found)[0] == "good"
    assert [contents(trajectory) for trajectory in found[1:]] in ([], [["Hi"]])


PACKED = {
    "events.jsonl.gz": gzip.compress(line_of(GOOD) * 50)[:-20],
    "words.jsonl.gz": b"not packed at all",
    "empty.jsonl.gz": b"",
    "words.jsonl.zst": b"not packed at all",
    "cut.jsonl.zst": bytes.fromhex("28b52ffd0458"),
    "words.parquet": b"PAR1 not really PAR1",
}


@pytest.mark.parametrize("name", PACKED)
def test_a_damaged_packed_file_is_named_and_the_others_are_read(tmp_path: Path, name: str) -> None:
    good = write_lines(tmp_path, LATER, name="z.jsonl")
    path = tmp_path / name
    path.write_bytes(PACKED[name])

    report = Report()
    found = trajectories([path, good], report=report)

    assert "later" in ids(found)
    assert report.balances()
    assert name == "empty.jsonl.gz" or any(told.path == str(path) for told in report.diagnostics())


def test_a_folder_without_input_is_an_error_of_the_caller(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match="empty"):
        trajectories(empty)

    (empty / "README.md").write_text("# Beans\n")
    with pytest.raises(UsageError, match="empty"):
        trajectories(empty)


def test_a_path_that_is_not_there_is_an_error_of_the_caller(tmp_path: Path) -> None:
    good = write_lines(tmp_path, GOOD)

    with pytest.raises(UsageError, match=r"gone\.jsonl"):
        trajectories([good, tmp_path / "gone.jsonl"])


def test_links_that_lead_in_circles_or_nowhere_break_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write_lines(folder, GOOD)
    (folder / "again").symlink_to(folder, target_is_directory=True)
    (folder / "gone.jsonl").symlink_to(tmp_path / "nowhere.jsonl")
    (folder / "folder.json").mkdir()

    found, _ = survives(folder)

    assert ids(found) == ["good"]


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write_lines(folder, GOOD)
    os.mkfifo(folder / "pipe.jsonl")
    program = "import sys, copilog; print([t.conversation_id for t in copilog.extract(sys.argv[1])])"

    ended = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, timeout=30, text=True)

    assert ended.stdout.strip() == "['good']", ended.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to the superuser")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write_lines(folder, GOOD)
    locked = write_lines(folder, LATER, name="locked.jsonl")
    locked.chmod(0)

    found, report = survives(folder)

    assert ids(found) == ["good"]
    assert any(told.path == f"{folder}/locked.jsonl" for told in report.diagnostics())


@pytest.mark.parametrize("then", [b"", b"x" * 1000, None])
def test_records_lost_during_reading_are_counted(tmp_path: Path, then: bytes | None) -> None:
    path = write_lines(tmp_path, *(snapshot([system(), user(f"Bed {number}")], f"{number}") for number in range(60)))
    report = Report()
    found = copilog.extract(path, report=report)

    assert next(found).conversation_id == "0"
    if then is None:
        path.unlink()
    else:
        path.write_bytes(then)
    others = len(list(found))

    assert report.balances()
    assert report.files[str(path)].conversations == others + 1
    assert others == 59 or report.bad_records() == 59 - others


def test_a_cancelled_extraction_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(line_of(record) + b"\n" for record in (GOOD, LATER))))

    found = copilog.extract(path)
    assert next(found).conversation_id == "good"
    assert len(list(temporary.iterdir())) == 1
    del found

    assert list(temporary.iterdir()) == []
