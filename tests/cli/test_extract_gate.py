"""When `copilog extract` replaces its output, and when it ends with 1 and leaves everything as it was."""

from __future__ import annotations

import gzip
import os
import re
import sys
from pathlib import Path

import pytest

from copilog import patterns
from copilog.cli.json_output import with_escapes
from tests.cli.homes import Outcome, run
from tests.telemetry.streams import assistant, snapshot, system, user, write_lines

OLD = b"what was there before\n"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "out.jsonl"
    path.write_bytes(OLD)
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in", snapshot([system(), user("Are there beans?"), assistant()], "talk"))


def extract(target: Path, *arguments: object) -> Outcome:
    return run("extract", *arguments, "-o", target, "--no-context-tag-summary")


def is_left_alone(target: Path, outcome: Outcome) -> bool:
    drafts = [path.name for path in target.parent.iterdir() if path.name.endswith(".part")]
    return (outcome.code, target.read_bytes(), drafts) == (1, OLD, []) and "was not changed" in outcome.err


def broken(folder: Path, name: str) -> Path:
    path = folder / name
    content = {
        "cut.jsonl.gz": gzip.compress(os.urandom(999))[:7],
        "words.jsonl.zst": b"words",
        "image.jsonl": b"\x89PNG\r\n\x1a\n\xff\xfe",
        "zip.jsonl": b"PK\x03\x04rest",
    }
    path.write_bytes(content[name])
    return path


@pytest.mark.parametrize("name", ["cut.jsonl.gz", "words.jsonl.zst", "image.jsonl", "zip.jsonl"])
def test_a_named_file_that_cannot_be_decoded_leaves_the_output_alone(
    good: Path, target: Path, tmp_path: Path, name: str
) -> None:
    path = broken(tmp_path, name)

    for arguments in ([path], [good, path]):
        assert is_left_alone(target, extract(target, *arguments))
    assert name in extract(target, good, path).err


def test_a_missing_library_leaves_the_output_alone(
    good: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("backports.zstd", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    packed = tmp_path / "events.jsonl.zst"
    packed.write_bytes(b"\x28\xb5\x2f\xfd" + b"\0" * 20)

    outcome = extract(target, good, packed, "--jobs", "1")

    assert is_left_alone(target, outcome)
    assert "pip install" in outcome.err


def test_a_file_that_may_not_be_read_leaves_the_output_alone(
    good: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed.jsonl"
    closed.write_bytes(good.read_bytes())
    really_open = os.open

    def refuse(path: str | Path, *rest: int, **more: int) -> int:
        if str(path) == str(closed):
            raise PermissionError(13, "Permission denied")
        return really_open(path, *rest, **more)

    monkeypatch.setattr(os, "open", refuse)

    outcome = extract(target, good, closed)

    assert is_left_alone(target, outcome)
    assert "Permission denied" in outcome.err


def test_input_without_a_usable_record_leaves_the_output_alone(target: Path, tmp_path: Path) -> None:
    for data in (b"", b"\n\n", b'{"name": "other"}\n', b"words\n"):
        path = tmp_path / "events.jsonl"
        path.write_bytes(data)

        outcome = extract(target, path)

        assert is_left_alone(target, outcome), data
        assert "no input had a usable record" in outcome.err or "not JSON" in outcome.err


def test_an_empty_or_foreign_file_in_a_folder_is_only_reported(good: Path, target: Path) -> None:
    (good.parent / "empty.jsonl").touch()
    (good.parent / "foreign.json").write_text("[1, 2]")

    outcome = extract(target, good.parent)
    strict = extract(target, good.parent, "--strict")

    assert (outcome.code, strict.code) == (0, 1)
    assert "empty.jsonl" in outcome.err
    assert "talk" in target.read_text()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--regex", "peas"], "no user message matches --regex"),
        (["--sample", "0"], "--sample 0 selects none"),
    ],
)
def test_filters_without_a_match_are_reported(good: Path, target: Path, options: list[str], why: str) -> None:
    outcome = extract(target, good, *options)

    assert (outcome.code, target.read_bytes()) == (0, b"")
    assert why in outcome.err


@pytest.mark.skipif(sys.platform == "win32", reason="has no such timer")
def test_a_regex_that_takes_too_long_is_stopped(target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "PATTERN_SECONDS", 0.2)
    path = write_lines(tmp_path / "in", snapshot([system(), user("a" * 40 + "b"), assistant()], "talk"))

    outcome = extract(target, path, "--regex", "(a+)+$")

    assert (outcome.code, target.read_bytes()) == (2, OLD)
    assert "takes longer than 0.2 s" in outcome.err


def test_control_characters_are_escaped() -> None:
    line = '{"a": "\x9b31m \u202e b \x7f é 😀"}'.encode()

    shown = with_escapes(line.decode()).encode()

    assert shown == '{"a": "\\u009b31m \\u202e b \\u007f é 😀"}'.encode()
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202e]", shown.decode())
