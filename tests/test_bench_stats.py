"""The measuring of figures runs, with whom there is to race. How fast anybody is, is not tested."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.contender_index import FailedError
from benchmarks.contender_usage import Ccusage, CcusageOfNpm, CopilogStats, Told, end_sessions, install_ccusage
from benchmarks.generate_home import STATE_FOLDER, write_both
from benchmarks.multiply_archive import multiply
from benchmarks.stats_report import print_report
from copilog import ingest
from copilog.analysis.statusline import connect, status_of, workspace_filter
from copilog.diagnostics import Report
from copilog.store.archive import Archive
from tests.measured import LIGHTHOUSE, at, measured_archive

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs processes as POSIX has them")

SESSIONS = 8

# As much of ccusage as the race needs; it refuses to ask the network for prices.
STAND_IN = f"""#!{sys.executable}
import json, os, pathlib, sys
if "--version" in sys.argv:
    print("ccusage 0.0.0")
    sys.exit()
if sys.argv[1:] != ["copilot", "session", "--json", "--offline"]:
    sys.exit("not like this")
logs = pathlib.Path(os.environ["COPILOT_HOME"], "session-state").glob("*/events.jsonl")
used = [json.loads(log.read_bytes().splitlines()[-1])["data"]["modelMetrics"] for log in logs]
tokens = sum(m["usage"]["inputTokens"] + m["usage"]["outputTokens"] for models in used for m in models.values())
print(json.dumps({{"sessions": used, "totals": {{"totalTokens": tokens}}}}))
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    path = tmp_path / "ccusage"
    path.write_text(STAND_IN, encoding="utf-8")
    path.chmod(0o755)
    return path


def bench(*arguments: object) -> str:
    command = [sys.executable, "-m", "benchmarks.bench_stats", "--sessions", SESSIONS, "--rounds", "1", "--growth", "2"]
    done = subprocess.run(
        [*map(str, command), *map(str, arguments)],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


# --- the home -------------------------------------------------------------------------------------------------------


def test_every_log_ends_with_a_summary_that_is_read_without_a_flaw(tmp_path: Path) -> None:
    write_both(tmp_path, SESSIONS, 1)

    told = end_sessions(tmp_path)

    report = Report()
    found = ingest.discover([tmp_path / ".copilot"], report=report)
    usages = [usage for each in found for made in ingest.read(each, report=report) for usage in made.usage]
    assert [diagnostic.place() for diagnostic in report.diagnostics()] == []
    recorded = [usage for usage in usages if usage.source == "session.shutdown"]
    assert told == (SESSIONS // 2, sum((usage.input or 0) + (usage.output or 0) for usage in recorded))
    assert told.tokens > 0


def test_summaries_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    digests = []
    for name in ("a", "b"):
        write_both(tmp_path / name, 4, 1)
        end_sessions(tmp_path / name)
        logs = sorted((tmp_path / name / STATE_FOLDER).glob("*/events.jsonl"))
        digests.append([hashlib.sha256(log.read_bytes()).hexdigest() for log in logs])

    assert digests[0] == digests[1]


# --- a larger archive -----------------------------------------------------------------------------------------------


def test_a_larger_archive_has_every_row_again_a_month_earlier(tmp_path: Path) -> None:
    measured_archive(tmp_path / "archive.db").close()

    multiply(tmp_path / "archive.db", tmp_path / "larger.db", 3)

    def counts(name: str) -> list[int]:
        tables = ("conversation", "turn", "message", "tool_call", "file_edit", "spend", "trace")
        with closing(sqlite3.connect(tmp_path / name)) as connection:
            return [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]

    assert counts("larger.db") == [3 * count for count in counts("archive.db")]
    with closing(connect(tmp_path / "larger.db")) as connection:
        is_wanted = workspace_filter(LIGHTHOUSE)
        now, before = (status_of(connection, at(day, "18:00:00"), is_wanted=is_wanted) for day in (5, 6))
        assert (now.turns_today, before.turns_today) == (2, 1)
        ids = connection.execute("SELECT id FROM conversation WHERE id LIKE 'vscode:harbour%' ORDER BY 1").fetchall()
        assert ids == [("vscode:harbour",), ("vscode:harbour+1",), ("vscode:harbour+2",)]
        days = connection.execute(
            "SELECT date(started_at) FROM conversation WHERE id LIKE 'vscode:harbour%' ORDER BY 1"
        )
        assert days.fetchall() == [("2026-03-05",), ("2026-04-04",), ("2026-05-04",)]
    with Archive(tmp_path / "larger.db") as archive:
        assert archive.count(include_empty=True) == 15


# --- the contenders -------------------------------------------------------------------------------------------------


def test_both_record_the_tokens_of_summaries() -> None:
    rows = [
        {"source": "session.shutdown", "input": 40, "output": 2},
        {"source": "replayed calls", "input": 7, "output": 7},
    ]
    ours = {"totals": {"conversations": 3}, "tokens": {"origins": rows}}
    theirs = {"sessions": [{}], "totals": {"totalTokens": 42}}

    assert CopilogStats().told(ours) == Told(3, 42)
    assert Ccusage(Path("ccusage")).told(theirs) == Told(1, 42)


def test_the_program_of_ccusage_is_also_run_as_npm_starts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = tmp_path / "node_modules"
    script, node = modules / ".bin" / "ccusage", tmp_path / "bin" / "node"
    for path in (script, node):
        path.parent.mkdir(parents=True)
        path.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(node.parent))

    started = CcusageOfNpm(modules / "@ccusage" / "ccusage-linux-x64" / "bin" / "ccusage").start()

    assert started == [str(node), str(script)]


def test_a_missing_npm_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(FailedError, match="npm is not installed"):
        install_ccusage(tmp_path / "npm")


def test_what_npm_complains_about_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm = tmp_path / "npm"
    npm.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('npm error: no such package')\n", encoding="utf-8")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(FailedError, match="no such package"):
        install_ccusage(tmp_path / "folder")


# --- the benchmark --------------------------------------------------------------------------------------------------


def test_it_runs_and_what_was_made_is_used_again(stand_in: Path, tmp_path: Path) -> None:
    arguments = ["--ccusage", stand_in, "--data", tmp_path / "data", "--json"]

    first, second = (json.loads(bench(*arguments)) for _ in range(2))

    assert [line.partition(":")[0] for line in first["missing"]] == ["ccusage, as npm starts it"]
    assert first["scanned_again"]["read"] == 0 < first["scanned_again"]["seen"]
    assert first["home"] == second["home"]
    assert first["archives"] == second["archives"]
    assert first["ccusage"] == "ccusage 0.0.0"
    told = {name: row["told"] for name, row in first["contenders"].items()}
    assert told["ccusage"] == first["home"]["summaries"]
    assert told["copilog"]["tokens"] == told["ccusage"]["tokens"]
    assert told["copilog, after a look"] == told["copilog"]
    assert list(first["sections"]["archive"]) == list(first["sections"]["large_archive"])
    assert "turn" in first["statusline"]["large_archive"]["line"]


def test_without_ccusage_the_numbers_of_copilog_stand_alone(tmp_path: Path) -> None:
    printed = bench("--ccusage", tmp_path / "nowhere", "--growth", "0")

    assert "missing: ccusage: " in printed
    assert "its own work" in printed
    assert "What these numbers do not show" in printed


def test_the_report_has_the_ratio_and_the_growth_of_each_section(capsys: pytest.CaptureFixture[str]) -> None:
    times = {"seconds": 0.4, "median_seconds": 0.5, "cpu_seconds": 0.3, "median_cpu_seconds": 0.6}
    told = {"conversations": 2, "tokens": 42}
    measured: dict[str, Any] = {
        "machine": "a machine",
        "seed": 1,
        "ccusage": "ccusage 20",
        "home": {"sessions": 2, "bytes": 1 << 20, "summaries": told},
        "archives": {"archive": {"conversation": 2, "tool_call": 7, "bytes": 1 << 20}},
        "scanned_again": {"seen": 7, "read": 0, "bytes_read": 0},
        "contenders": {
            "copilog": times | {"told": told},
            "copilog, after a look": times | {"seconds": 0.6, "told": told},
            "ccusage": times | {"seconds": 0.1, "told": told},
        },
        "sections": {"archive": {"work": {"seconds": 0.01}}, "large_archive": {"work": {"seconds": 0.1}}},
        "statusline": {"archive": {"line": "2 turns", "own": times, "whole": times, "python": times}, "large": {}},
        "missing": ["ccusage: no such thing"],
    }

    print_report(measured)

    printed = capsys.readouterr().out
    rest = "1.00 by medians, 1.00 of CPU, 1.00 by medians of CPU"
    assert f"copilog to ccusage: 4.00 on the clock, {rest}" in printed
    assert f"copilog, after a look to ccusage: 6.00 on the clock, {rest}" in printed
    assert "copilog to copilog" not in printed
    assert "the archive is up to date: another scan read 0 of 7 files" in printed
    assert next(line for line in printed.splitlines() if line.startswith("work")).split() == [
        *("work", "10.0", "100.0", "10.0"),
    ]
    assert "2 conversations, 7 tool calls" in printed
    assert "missing: ccusage: no such thing" in printed
