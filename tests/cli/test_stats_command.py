"""`copilog stats` as people call it."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from copilog.analysis.figures import Stats
from copilog.cli import main
from copilog.cli.stats import COLUMNS, LEFT_OUT, SECTIONS
from copilog.cli.tables import bar, cell, duration, money, short_number, size
from copilog.model import Conversation, Message, Model, Text, Turn
from copilog.store.archive import Archive
from tests.measured import measured_archive
from tests.stored import concluded_entry


@pytest.fixture(autouse=True)
def clock_in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    if hasattr(time, "tzset"):
        time.tzset()
    yield
    monkeypatch.undo()
    if hasattr(time, "tzset"):
        time.tzset()


@pytest.fixture
def archive(tmp_path: Path) -> str:
    measured_archive(tmp_path / "archive.db").close()
    return str(tmp_path / "archive.db")


def run(archive: str, *arguments: str) -> int:
    return main(["--archive", archive, "stats", "--no-scan", *arguments])


def told(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    printed = capsys.readouterr()
    return printed.out, printed.err


def as_json(archive: str, capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run(archive, *arguments, "--json") == 0
    return json.loads(told(capsys)[0])


def test_the_main_figures_fit_on_a_screen(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(archive) == 0

    out, err = told(capsys)
    assert "4 conversations, 8 turns, 20 messages, 11 tool calls" in out
    assert "2 edits of 2 files (+14 -3): 1 kept, 1 undone" in out
    assert "turns: 1 cancelled, 2 failed, 1 asked again" in out
    assert "turns by day, 2026-05-04 to 2026-05-06" in out
    for name in ("gpt-5-mini", "tide-tables", "run_in_terminal", "Navigator", "chart-reading", "tides.py"):
        assert name in out
    assert len(out.splitlines()) < 70
    assert err == "8 turns of 4 conversations\n"


def test_json_has_all_figures(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = as_json(archive, capsys)

    assert list(document) == list(Stats.__struct_fields__)
    assert document["totals"]["turns"] == 8
    assert document["tokens"]["total"]["premium_requests"] == 3


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_has_a_page_of_its_own(archive: str, capsys: pytest.CaptureFixture[str], section: str) -> None:
    assert run(archive, section) == 0
    out, _ = told(capsys)
    document = as_json(archive, capsys, section)

    assert set(SECTIONS[section].tables) <= set(document)
    for table in SECTIONS[section].tables:
        assert (table.replace("_", " ") in out) == bool(document[table])


@pytest.mark.parametrize("section", SECTIONS)
def test_a_table_of_each_section_is_there_as_csv(
    archive: str, capsys: pytest.CaptureFixture[str], section: str
) -> None:
    assert run(archive, section, "--csv") == 0
    rows = list(csv.DictReader(io.StringIO(told(capsys)[0])))
    document = as_json(archive, capsys, section, "--table", SECTIONS[section].tables[0])

    assert len(rows) == len(document) > 0
    assert set(rows[0]) == set(document[0])


def test_tokens_by_day(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = as_json(archive, capsys, "tokens", "--by", "day")

    assert [row["name"] for row in rows] == ["2026-05-04", "2026-05-05", "2026-05-06"]
    assert (rows[0]["input"], rows[0]["output"], rows[0]["credits"]) == (32_000, 1_500, 3.5)


def test_a_period_and_a_query_select_what_is_measured(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(archive, "--since", "2026-05-05T00:00:00Z", "--until", "2026-05-06T00:00:00Z", "-q", "lamp") == 0

    out, err = told(capsys)
    assert "1 conversation, 2 turns" in out
    assert err == "2 turns of 1 conversation since 2026-05-05 00:00 until 2026-05-06 00:00\n"


def test_an_empty_selection_is_not_an_error(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(archive, "--until", "2001") == 0

    out, err = told(capsys)
    assert out.startswith("0 conversations, 0 turns")
    assert err.startswith("0 turns of 0 conversations")
    for section in SECTIONS:
        assert run(archive, section, "--until", "2001") == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tools", "--by", "day"], "--by can be used with tokens only"),
        (["tools", "--table", "by_day"], "tools has no table by_day; it has tools"),
        (["tokens", "--by", "day", "--table", "by_day"], "cannot be used together"),
        (["--since", "whenever"], "is not a date"),
        (["rocks"], "Invalid value for"),
        (["-q", '"open'], "is not closed"),
        (["-w", "nowhere"], "no conversation has 'nowhere' in the name of its workspace"),
    ],
)
def test_invalid_combinations_of_options_are_reported(
    archive: str, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(archive, *arguments) == 2
    assert message in told(capsys)[1]


def test_names_in_conversations_cannot_control_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with measured_archive(tmp_path / "odd.db") as opened, opened.connection as connection:
        connection.execute("UPDATE tool_call SET name = 'a' || char(27) || '[2J' WHERE name = 'bash'")

    assert run(str(tmp_path / "odd.db"), "tools") == 0
    assert "\x1b" not in told(capsys)[0]


def test_all_configured_columns_exist() -> None:
    from copilog.analysis import figures

    for name, columns in COLUMNS.items():
        assert set(columns) <= set(getattr(figures, name).__struct_fields__)
        assert set(LEFT_OUT[name]) <= set(getattr(figures, name).__struct_fields__) - set(columns)


def test_an_unlisted_column_comes_last(
    archive: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COLUMNS, "ToolRow", ("name", "failed"))

    assert run(archive, "tools", "--table", "tools") == 0
    head = told(capsys)[0].splitlines()[1].split()
    assert head[:3] == ["name", "failed", "calls"]
    assert "timed" not in head


def test_a_name_that_a_spreadsheet_would_run_is_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with measured_archive(tmp_path / "odd.db") as opened, opened.connection as connection:
        connection.execute("UPDATE tool_call SET name = '=1+1' WHERE name = 'bash'")

    assert run(str(tmp_path / "odd.db"), "tools", "--csv") == 0
    assert "'=1+1," in told(capsys)[0]


def test_values_are_formatted_for_reading() -> None:
    assert [duration(value) for value in (950, 1500, 90_000, 7_200_000)] == ["950 ms", "1.5 s", "2 min", "2.0 h"]
    assert [money(value) for value in (0, 0.002, 3.14159, 12_345)] == ["$0.00", "$0.0020", "$3.14", "$12,345.00"]
    assert money(0.00002) == "<$0.0001"
    assert [short_number(value) for value in (950, 1_234, 45_600, 999_999, 4_500_000)] == [
        "950", "1.2K", "45.6K", "1.0M", "4.5M",
    ]  # fmt: skip
    assert [size(value) for value in (12, 1_500, 250_000_000)] == ["12 B", "1.5 KB", "250 MB"]
    assert cell("failure_rate", 0.034) == "3.4%"
    assert cell("tools", ["read", "edit"]) == "read > edit"
    assert cell("evidence", {"file read": 2}) == "file read (2)"
    assert cell("path", "/home/ana/" + "deep/" * 20 + "tides.py").endswith("deep/tides.py")


def test_bars_grow_in_eighths() -> None:
    assert bar(1, 4) == "████"
    assert bar(0.5, 4) == "██"
    assert bar(0.001, 4) == "▏"
    assert bar(0, 4) == ""


def test_csv_and_json_cannot_be_used_together(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(archive, "tokens", "--csv", "--json") == 2
    assert "--csv and --json" in told(capsys)[1]


def test_unrecorded_tokens_are_not_shown_as_0(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(archive, "tokens", "--query", "pull/12") == 0
    out, _ = told(capsys)

    assert "tokens recorded: 400 out; those that went in were not" in out
    assert "tokens estimated, where none were recorded: at least 10.2K in; likely 10.2K in; at most 10.2K in" in out
    assert cell("input", 0) == cell("estimated_output", 0) == cell("credits", None) == "-"
    assert cell("premium_requests", 0.0) == cell("failed", 0) == "0"


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the clock of this system cannot be set")
def test_timestamps_are_shown_in_local_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "EST5")
    time.tzset()

    assert cell("last_at", "2026-05-06T02:30:00.000Z") == "2026-05-05 21:30"


def test_a_turn_can_be_opened_by_its_id() -> None:
    assert cell("id", "vscode:5152790e-278e#12") == "5152790e#12"


def test_an_own_key_without_recorded_tokens_is_not_shown_as_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = Turn(index=0, model=Model(id="openrouter/gpt-5", name="gpt-5", vendor="openrouter"))
    texts = [Message(role=role, parts=[Text(text="why?")], turn=0) for role in ("user", "assistant")]
    with Archive(tmp_path / "own.db", write=True) as made:
        made.put(concluded_entry(Conversation(id="vscode:own", source="x", turns=[asked], messages=texts)), "made up")

    assert run(str(tmp_path / "own.db"), "tokens") == 0

    assert "of that on own key: tokens not recorded" in told(capsys)[0]


def test_a_narrow_window_names_the_columns_left_out(
    archive: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")

    assert run(archive, "tokens", "--by", "conversation") == 0

    out, _ = told(capsys)
    assert "no room for calls, cached" in out
    assert max(map(len, re.sub(r"\x1b\[[\d;]*m", "", out).splitlines())) <= 60


def test_a_table_is_found_without_its_section(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert as_json(archive, capsys, "--table", "switches") == as_json(archive, capsys, "models", "--table", "switches")
    assert as_json(archive, capsys, "--table", "by_hour")[9]["turns"] == 2


def test_the_page_of_a_section_shows_the_last_days(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(archive, "time", "-n", "2") == 0
    out, _ = told(capsys)

    assert "by day, the last 2 of 3" in out
    assert "2026-05-05" in out
    assert "2026-05-04  " not in out
    assert len(as_json(archive, capsys, "time", "-n", "2")["by_day"]) == 3


def test_excel_gets_a_byte_order_mark_and_its_line_ends(archive: str) -> None:
    command = [sys.executable, "-m", "copilog", "stats", "--archive", archive, "--no-scan", "--csv=excel", "models"]
    printed = subprocess.run(command, capture_output=True, check=True).stdout

    assert printed.startswith(b"\xef\xbb\xbfname,")
    assert printed.count(b"\r\n") == printed.count(b"\n") > 1
    rows = list(csv.DictReader(io.StringIO(printed.decode("utf-8-sig"), newline="")))
    assert "gpt-5-mini" in [row["name"] for row in rows]


def test_a_section_may_follow_the_option(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(archive, "--csv", "tools") == 0
    assert told(capsys)[0].startswith("name,calls,")


def test_bars_have_a_legend_and_show_what_the_table_is_sorted_by(
    archive: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")

    assert run(archive, "tokens", "--by", "model") == 0

    out, _ = told(capsys)
    head = next(line for line in out.splitlines() if "dollars" in line)
    assert re.sub(r"\x1b\[[0-9;]*m", "", head).split()[-2:] == ["dollars,", "all"]
    lengths = [line.count("█") for line in out.splitlines() if "█" in line]
    assert lengths == sorted(lengths, reverse=True)


def test_times_say_of_how_many_turns_they_are_known(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(archive) == 0

    assert "(time known for 7 of 8 turns)" in told(capsys)[0]


def test_unknown_is_empty_as_csv(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(archive, "tokens", "--by", "model", "--csv") == 0

    names, *rows = [line.split(",") for line in told(capsys)[0].splitlines()]
    row = dict(zip(names, next(row for row in rows if row[0] == "gpt-4.1"), strict=True))
    assert {row[name] for name in ("input", "cache_read", "reasoning", "credits", "calls")} == {""}
    assert row["output"] == "400"


def test_estimates_name_the_rates_that_are_the_users_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--sample", "tokens"]) == 0
    out, _ = told(capsys)

    assert "calls replayed, with rates from your own conversations: fixed part, agent (" in out
    assert "; default rates else)" in out
    assert re.search(r"^fixed part, agent +[\d,.]+ +[\d,.]+ +[\d,.]+ +\d+", out, re.MULTILINE)


def test_another_model_says_how_many_turns_it_leaves_out(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Three turns have an estimated input: two of which only the last prompt is recorded, one without any record."""
    assert run(archive, "--as-model", "gpt-5-mini") == 0
    assert "left out, because no tokens are recorded: 3 of 8 turns" in told(capsys)[0]

    assert run(archive, "--as-model", "gpt-5-mini", "--json") == 0
    rows = json.loads(told(capsys)[0])
    assert [rows[1][name] for name in ("selected_turns", "turns_without_tokens")] == [8, 3]


def test_figures_of_a_period_are_compared_with_the_time_before(
    archive: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(archive, "--since", "2026-05-05", "--until", "2026-05-05") == 0

    # 4 May has 2 turns with 33,500 tokens; 5 May has 3 with 36,200.
    line = (
        "2026-05-05, compared with what was in the day before (2026-05-04): 3 turns after 2, 36.2K tokens after 33.5K"
    )
    assert line in told(capsys)[0]
