"""Which program wrote a log whose first lines are lost, blank or foreign, and that lies in no folder of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from copilog.sources import Probe, identify
from tests.samples import DATA

TRANSCRIPTS = sorted((DATA / "transcripts").rglob("*.jsonl"))
LOGS = {
    "cli-events": next(path for path in (DATA / "cli_events").rglob("events.jsonl")),
    "transcripts": TRANSCRIPTS[0],
    "debug-logs": next(path for path in (DATA / "debug_logs").rglob("main.jsonl")),
    "otel-file": DATA / "otel_file" / "ferry.jsonl",
    "vscode-session-log": DATA / "vscode_session_log" / "streaming_answer.jsonl",
}


def source_of(path: Path) -> tuple[str, str | None] | None:
    """Return the source of a file, and the id that it gives to the conversation."""
    probe = Probe(path)
    source = identify(probe)
    return (source.name, source.native_id(probe)) if source is not None else None


@pytest.mark.parametrize("before", [b"\n", b" \r\n", b"not a record\n"])
@pytest.mark.parametrize("name", LOGS)
def test_lines_before_the_first_record_do_not_hide_a_format(name: str, before: bytes, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_bytes(LOGS[name].read_bytes())
    plain = source_of(path)
    assert plain is not None
    assert plain[0] == name

    for count in (1, 19, 20, 500):
        path.write_bytes(before * count + LOGS[name].read_bytes())
        assert source_of(path) == plain


@pytest.mark.parametrize("kept", [40, 1])
@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_whose_first_line_is_cut_stays_one(transcript: Path, kept: int, tmp_path: Path) -> None:
    first, rest = transcript.read_bytes().split(b"\n", 1)
    path = tmp_path / transcript.name
    path.write_bytes(first[-kept:] + b"\n" + rest)

    assert source_of(path) == ("transcripts", transcript.stem)


def test_a_cli_log_whose_first_line_is_cut_is_no_transcript(tmp_path: Path) -> None:
    first, rest = LOGS["cli-events"].read_bytes().split(b"\n", 1)
    path = tmp_path / "some.jsonl"
    path.write_bytes(first[-40:] + b"\n" + rest)

    found = source_of(path)

    assert found is not None
    assert found[0] == "cli-events"
