"""`copilog statusline`, by the command line and by the quick way around it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from copilog.analysis.fast_statusline import print_quickly
from copilog.cli.statusline import command
from tests.cli.homes import Outcome, run
from tests.measured import LIGHTHOUSE, measured_archive

TUESDAY = "2026-05-05T18:00"


@pytest.fixture(autouse=True)
def clock_in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    if not hasattr(time, "tzset"):
        yield
        return
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    measured_archive(tmp_path / "archive.db").close()
    return tmp_path / "archive.db"


def quickly(*arguments: object) -> str | None:
    """Return what `quick_line` prints; None if it leaves the arguments to the command line."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    before, sys.stdout = sys.stdout, out
    try:
        is_done = print_quickly([str(argument) for argument in arguments])
    finally:
        sys.stdout = before
    out.flush()
    text = out.buffer.getvalue().decode()
    assert is_done == bool(text)
    return text or None


def status(*arguments: object) -> Outcome:
    return run("statusline", *arguments)


def test_statusline_prints_one_line_about_a_day(archive: Path) -> None:
    outcome = status("--archive", archive, "--at", TUESDAY, "--format", "{turns_today} turns · {tokens_today} tokens")

    assert (outcome.code, outcome.out, outcome.err) == (0, "3 turns · ~58k÷ tokens\n", "")


def test_statusline_can_be_limited_to_a_workspace(archive: Path) -> None:
    outcome = status("--archive", archive, "--at", TUESDAY, "-w", LIGHTHOUSE, "--json")

    assert outcome.json["turns_today"] == 2
    assert outcome.json["title"] == "Lighthouse"
    assert outcome.json["problem"] is None


def test_without_an_archive_statusline_says_so_and_exits_with_0(tmp_path: Path) -> None:
    outcome = status("--archive", tmp_path / "nowhere.db")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "copilog: no archive yet; `copilog scan` makes one\n"
    assert list(tmp_path.iterdir()) == []


def test_statusline_does_not_scan(archive: Path) -> None:
    before = archive.read_bytes()

    status("--archive", archive)
    status("--archive", archive, "--no-scan")

    assert archive.read_bytes() == before
    assert not archive.with_name("archive.db.lock").exists()


def test_an_invalid_template_is_a_usage_error(archive: Path) -> None:
    outcome = status("--archive", archive, "--format", "{boat}")

    assert (outcome.code, outcome.out) == (2, "")
    assert "{boat}" in outcome.err
    assert "turns_today" in outcome.err


def test_statusline_refuses_root_and_sample(archive: Path) -> None:
    outcome = run("--sample", "statusline", "--archive", archive)

    assert outcome.code == 2
    assert "cannot be used with" in outcome.err


def test_colours_are_there_when_asked_for(archive: Path) -> None:
    asked = run("--color", "statusline", "--archive", archive, "--at", TUESDAY)
    not_asked = status("--archive", archive, "--at", TUESDAY)

    assert "\x1b[31m1 failed\x1b[0m" in asked.out
    assert "\x1b" not in not_asked.out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--json"],
        ["--no-scan"],
        ["--at", TUESDAY],
        ["--at=2026-05-05", "--json"],
        ["-w", "lighthouse"],
        ["--workspace=lighthouse", "--format={conversations_today}/{turns_today} {title}"],
        ["--workspace", LIGHTHOUSE, "--format", "-"],
    ],
)
def test_quick_line_and_command_print_the_same(archive: Path, arguments: list[str]) -> None:
    assert quickly("--archive", archive, *arguments) == status("--archive", archive, *arguments).out


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--at", "yesterday"],
        ["--format"],
        ["--format", "{boat}"],
        ["-wlighthouse"],
        ["--json=1"],
        ["tides"],
    ],
)
def test_quick_line_leaves_unknown_options_to_the_command(archive: Path, arguments: list[str]) -> None:
    assert quickly("--archive", archive, *arguments) is None


def test_quick_line_leaves_colours_to_the_command(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")

    assert quickly("--archive", archive) is None


def test_quick_line_finds_the_archive_as_all_commands_do(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOG_ARCHIVE", str(archive))

    assert quickly() == status().out
    assert quickly() != quickly("--archive", archive.with_name("nowhere.db"))


def test_python_m_copilog_uses_quick_line(archive: Path) -> None:
    start = [sys.executable, "-X", "importtime", "-m", "copilog", "statusline", "--at", TUESDAY]
    done = subprocess.run(
        [*start, "--archive", archive, "--format", "{turns_today}"], capture_output=True, text=True, check=True
    )

    assert done.stdout == "3\n"
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "copilog.analysis.fast_statusline" in loaded
    assert not loaded & {"click", "msgspec", "copilog.cli"}


def test_all_options_of_quick_line_are_options_of_the_command() -> None:
    known = {name for option in command.params for name in option.opts}

    assert {"--format", "--workspace", "-w", "--archive", "--json", "--no-scan"} <= known


@pytest.mark.parametrize(
    ("options", "turns", "conversations"),
    [
        (("--since", "2026-05-04"), 5, 2),  # of harbour all three, of lighthouse two
        (("--since", "2026-05-04", "--until", "2026-05-04"), 2, 1),
        (("--since", "2026-05-04", "-q", "lamp"), 2, 1),
        (("--since", "2026-05-04", "--model", "claude", "-w", "tide"), 3, 1),
        (("--source", "cli-events"), 2, 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_statusline_accepts_all_periods_and_filters(
    archive: Path, options: tuple[str, ...], turns: int, conversations: int
) -> None:
    told = status("--archive", archive, "--at", TUESDAY, "--json", *options)

    found = json.loads(told.out)
    assert (found["turns_today"], found["conversations_today"]) == (turns, conversations)


def test_an_invalid_query_is_reported(archive: Path) -> None:
    assert status("--archive", archive, "-q", '"open').code == 2


def test_a_period_without_turns_is_not_called_today(archive: Path) -> None:
    told = status("--archive", archive, "--since", "2026-06-01", "--until", "2026-07-01", "--at", TUESDAY)

    assert "no turns then" in told.out
    assert "today" not in told.out


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone of a process cannot be changed")
def test_days_and_months_are_those_of_utc_if_asked_for(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_utc = status("--archive", archive, "--at", "2026-05-05T18:00:00+00:00", "--json").json
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")  # 14 hours ahead: the evening of Tuesday is Wednesday there
    time.tzset()

    theirs = status("--archive", archive, "--at", "2026-05-05T18:00:00+00:00", "--json").json
    github = status("--archive", archive, "--at", "2026-05-05T18:00:00+00:00", "--utc", "--json").json

    assert (theirs["day"], github["day"]) == ("2026-05-06", "2026-05-05")
    assert (github["turns_today"], github["month_used"]) == (in_utc["turns_today"], in_utc["month_used"]) == (3, 7)
    assert theirs["turns_today"] != github["turns_today"]
