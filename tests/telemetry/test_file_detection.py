"""Telling telemetry from other files by a glance."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from copilog import Report, extract
from copilog.ingest.trajectories import sort_inputs
from copilog.telemetry.file_detection import begins_with_telemetry
from tests.cli.homes import session
from tests.telemetry.streams import event, snapshot, system, user

EVENT = json.dumps(snapshot([system(), user("Where is the rake?")]))
LONG = json.dumps(event("copilot-chat/engine.messages", {"messagesJson": "x" * (1 << 20)}))


@pytest.mark.parametrize(
    "text",
    [
        EVENT,
        f"{EVENT}\n{EVENT}\n",
        f"[{EVENT},\n{EVENT}]",
        f"\ufeff\n {EVENT}",
        '{"name": "torn\n' + EVENT + "\n",
        LONG,
        json.dumps({"name": "anything", "time": "2026-05-01T10:00:00Z", "properties": {}}),
    ],
    ids=["one", "lines", "array", "mark", "torn first line", "long first line", "another event"],
)
def test_events_are_telemetry(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text, encoding="utf-8")
    assert begins_with_telemetry(path)


@pytest.mark.parametrize(
    "text",
    ["", "words", "[]", "{}", "[1, 2]", json.dumps({"name": "a person"}), json.dumps(session("s", EVENT)), "{" * 5000],
)
def test_other_files_are_not_telemetry(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text, encoding="utf-8")
    assert not begins_with_telemetry(path)


def test_a_file_of_neither_format_is_reported(tmp_path: Path) -> None:
    (tmp_path / "session.json").write_text(json.dumps(session("here", "Hello")))
    (tmp_path / "settings.json").write_text('{"editor.fontSize": 14}')
    (tmp_path / "events.jsonl").write_text('{"torn\n' + EVENT + "\n")
    inputs = sort_inputs([tmp_path])

    assert [Path(file.path).name for file in inputs.telemetry] == ["events.jsonl"]
    assert [Path(name).name for name in inputs.unknown] == ["settings.json"]
    report = Report()
    assert len(list(extract(tmp_path, report=report))) == 2
    assert (report.bad_records(), report.balances()) == (1, True)
