"""How long it takes to measure an archive, against ccusage; which figure takes how long; and the status line.

    python -m benchmarks.bench_stats [--sessions 2000] [--growth 10] [--seed 1] [--rounds 5] [--data DIR]
                                     [--ccusage BINARY | --alone] [--json]

A home with sessions of VS Code and of Copilot CLI is made up from the seed and kept in an archive. `copilog stats` of
that archive and `ccusage copilot` of the same folder of Copilot CLI then take turns, each as a whole process: copilog
with the archive as it is, and after a look at all files for changes; the program of ccusage alone, and as the script of
npm starts it. ccusage comes from npm into a folder that is thrown away, or is named. Then each section of the figures
by itself, in a process that has the archive open, on this archive and on one with ten times the rows; then `copilog
statusline` on both.
What cannot be run is named, and the rest still runs. About 3 GB of disk are needed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import processes
from benchmarks.contender_index import FailedError, bare_environment, copilog, run
from benchmarks.contender_usage import (
    Ccusage,
    CcusageOfNpm,
    CopilogStats,
    CopilogStatsOfDisk,
    UsageTeller,
    install_ccusage,
)
from benchmarks.races import Json, best, race_parser, run_race, spread
from benchmarks.stats_report import print_report

SECTIONS = {
    "totals": "copilog.analysis.totals",
    "tokens": "copilog.analysis.tokens",
    "models": "copilog.analysis.models",
    "tools": "copilog.analysis.tools",
    "agents": "copilog.analysis.agents",
    "skills": "copilog.analysis.skills",
    "work": "copilog.analysis.work_outcomes",
    "activity": "copilog.analysis.activity",
}
# What a process that has begun already needs for a command, from its entry to its end.
OWN_WORK = """\
import time
begun, used = time.perf_counter(), time.process_time()
import sys
from copilog.__main__ import main
try:
    main()
except SystemExit:
    pass
sys.stdout.flush()
print(time.perf_counter() - begun, time.process_time() - used)
"""


def main() -> None:
    options = _parser().parse_args()
    if options.make is not None:
        print(json.dumps(_make(options.make, options.sessions, options.seed)))
    elif options.multiply is not None:
        from benchmarks.multiply_archive import multiply

        multiply(options.archive, options.multiply, options.growth)
        print(json.dumps({}))
    elif options.archive is not None:
        print(json.dumps(_time_sections(options.archive, options.rounds)))
    else:
        run_race(options, _measure, print_report)


def _parser() -> argparse.ArgumentParser:
    parser = race_parser("bench_stats", "How fast figures are.", other="ccusage", rounds=5)
    parser.add_argument(
        "--growth", type=int, default=10, help="how many times larger is the second archive; 0: none (10)"
    )
    for internal in ("--make", "--multiply", "--archive"):
        parser.add_argument(internal, type=Path, help=argparse.SUPPRESS)
    return parser


# --- in a process of its own ----------------------------------------------------------------------------------------


def _make(home: Path, sessions: int, seed: int) -> Json:
    from benchmarks.contender_usage import end_sessions
    from benchmarks.generate_home import write_both

    written = write_both(home, sessions, seed)
    return written._asdict() | {"summaries": end_sessions(home)._asdict()}


def _time_sections(path: Path, rounds: int) -> dict[str, list[float]]:
    """The seconds of each section in a process that is warm, and of the choice that all of them need."""
    library: Any = importlib.import_module("copilog")
    selection: Any = importlib.import_module("copilog.analysis.selection")
    with library.open(path) as archive:
        chosen = selection.choose(archive)
        seconds = {"choose": _seconds(lambda: selection.choose(archive), rounds)}
        for name, module in SECTIONS.items():
            section: Callable[[Any], Any] = getattr(importlib.import_module(module), name)
            seconds[name] = _seconds(lambda section=section: section(chosen), rounds)  # type: ignore[misc]
    return seconds


def _seconds(work: Callable[[], Any], rounds: int) -> list[float]:
    work()
    taken = []
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return taken


# --- measuring ------------------------------------------------------------------------------------------------------


def _measure(folder: Path, options: argparse.Namespace) -> Json:
    home = folder / f"used-{options.sessions}-{options.seed}"
    written = _once(home, "--make", home, "--sessions", options.sessions, "--seed", options.seed)
    missing: list[str] = []
    with tempfile.TemporaryDirectory(prefix="stats-", dir=folder) as scratch:
        work = Path(scratch)
        archives = {"archive": _archive_of(home, work)}
        if options.growth > 1:
            archives["large_archive"] = _grown(archives["archive"], options.growth)
        other = _other(work, options, missing)
        contenders: list[UsageTeller] = [CopilogStats(), CopilogStatsOfDisk()]
        contenders += [other, CcusageOfNpm(other.binary)] if other else []
        return {
            "machine": processes.machine(),
            "seed": options.seed,
            "ccusage": other.version() if other else None,
            "home": written,
            "archives": {name: _about(archive) for name, archive in archives.items()},
            "scanned_again": _files(home, archives["archive"], work),
            "contenders": _race(home, archives["archive"], work, contenders, options.rounds, missing),
            "sections": {name: _sections(archive, work, options.rounds, missing) for name, archive in archives.items()},
            "statusline": {
                name: _statusline(archive, work, options.rounds, missing) for name, archive in archives.items()
            },
            "missing": missing,
        }


def _once(made: Path, *arguments: object) -> Json:
    """Have something made in another process, unless it was made before; return what was said about it."""
    about = made.with_name(f"{made.name}.json")  # written last: what has none is not whole
    if not about.exists():
        if made.exists():
            raise SystemExit(f"{made} is not whole; remove it, or name another --data")
        about.write_text(json.dumps(processes.child("benchmarks.bench_stats", *arguments)), encoding="utf-8")
    said: Json = json.loads(about.read_bytes())
    return said


def _archive_of(home: Path, work: Path) -> Path:
    archive = home.with_name(f"{home.name}.db")
    _files(home, archive, work)
    return archive


def _files(home: Path, archive: Path, work: Path) -> Json:
    """Scan the home, and return how many files were seen and read: none are read if the archive is up to date."""
    output = run(copilog("scan", "--archive", archive, "--root", home, "--json"), bare_environment(work)).output
    files: Json = json.loads(output)["files"]
    return files


def _grown(archive: Path, growth: int) -> Path:
    larger = archive.with_name(f"{archive.stem}-x{growth}.db")
    _once(larger, "--multiply", larger, "--archive", archive, "--growth", growth)
    return larger


def _other(work: Path, options: argparse.Namespace, missing: list[str]) -> Ccusage | None:
    if options.alone:
        return None
    try:
        other = Ccusage(options.ccusage or install_ccusage(work / "npm"))
        other.version()
        return other
    except FailedError as error:
        missing.append(f"ccusage: {error}; the numbers of copilog stand alone")
        return None


def _race(
    home: Path, archive: Path, work: Path, contenders: list[UsageTeller], rounds: int, missing: list[str]
) -> dict[str, Json]:
    """Whole processes in turn, after one of each that does not count. One that fails is out, and it is noted why."""
    rows: dict[str, Json] = {}
    runs: dict[str, list[Json]] = {each.name: [] for each in contenders}
    for number in range(rounds + 1):
        for each in contenders if number % 2 else contenders[::-1]:
            if each.name not in runs:
                continue
            try:
                done = run(each.command(home, archive), each.environment(home, work))
                rows[each.name] = {"told": each.told(json.loads(done.output))._asdict()}
            except (FailedError, ValueError, LookupError) as error:
                missing.append(f"{each.name}: {error}")
                del runs[each.name]
                continue
            if number:
                runs[each.name].append({"seconds": done.seconds, "cpu_seconds": done.cpu_seconds})
    return {name: rows[name] | _best(done) for name, done in runs.items() if done}


def _best(runs: list[Json]) -> Json:
    cpu_seconds = [each["cpu_seconds"] for each in runs]
    return best((each["seconds"] for each in runs), cpu_seconds) | {"median_cpu_seconds": median(cpu_seconds)}


def _sections(archive: Path, work: Path, rounds: int, missing: list[str]) -> dict[str, Json]:
    command = [sys.executable, "-m", "benchmarks.bench_stats", "--archive", str(archive), "--rounds", str(rounds)]
    environment = bare_environment(work) | {"PYTHONPATH": str(processes.project_folder())}
    try:
        seconds: dict[str, list[float]] = json.loads(run(command, environment).output)
    except FailedError as error:
        missing.append(f"the sections of {archive.name}: {error}")
        return {}
    return {name: spread(taken) for name, taken in seconds.items()}


# --- the status line ------------------------------------------------------------------------------------------------


def _statusline(archive: Path, work: Path, rounds: int, missing: list[str]) -> Json:
    """A line about the busiest day: the whole process, its own work, and what Python needs to do nothing at all."""
    day = _busiest_day(archive)
    arguments = ["statusline", "--archive", str(archive), "--at", f"{day}T12:00:00"]
    environment = bare_environment(work)
    try:
        line = run(copilog(*arguments), environment).output.strip()
        whole = [run(copilog(*arguments), environment).seconds for _ in range(rounds)]
        own = [_own_work(arguments, environment) for _ in range(rounds)]
        nothing = [run([sys.executable, "-c", "pass"], environment).seconds for _ in range(rounds)]
    except FailedError as error:
        missing.append(f"copilog statusline: {error}")
        return {}
    return {"line": line, "whole": spread(whole), "own": _best(own), "python": spread(nothing)}


def _own_work(arguments: list[str], environment: dict[str, str]) -> Json:
    last = run([sys.executable, "-c", OWN_WORK, *arguments], environment).output.splitlines()[-1]
    return dict(zip(("seconds", "cpu_seconds"), map(float, last.split()), strict=True))


def _busiest_day(archive: Path) -> str:
    with closing(sqlite3.connect(f"{archive.as_uri()}?mode=ro", uri=True)) as connection:
        (day,) = connection.execute(
            "SELECT date(started_at, 'localtime') FROM turn WHERE started_at IS NOT NULL"
            " GROUP BY 1 ORDER BY count(*) DESC"
        ).fetchone()
    return str(day)


def _about(archive: Path) -> Json:
    with closing(sqlite3.connect(f"{archive.as_uri()}?mode=ro", uri=True)) as connection:
        counts = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("conversation", "turn", "message", "tool_call", "spend")
        }
    return counts | {"bytes": archive.stat().st_size}


if __name__ == "__main__":
    main()
