"""Whether resumed sessions of Copilot CLI count on their own days: copilog, agentsview and ccusage against the truth.

    python -m benchmarks.bench_days [--sessions 200] [--seed 1] [--agentsview BINARY] [--ccusage BINARY] [--json]

Two homes are made up from the seed: one whose logs have totals of each run, and one whose totals are of all runs so
far. For each of them and each program it prints the days whose tokens are right, the tokens that are on a wrong day,
and the dollars. Of copilog, it also prints on how many of the days that agentsview has right both have the same
dollars. agentsview 0.46.1 comes from PyPI and ccusage 20.0.24 from npm, into a folder that is thrown away; either may
be named instead.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.contender_index import FailedError, bare_environment, copilog, run
from benchmarks.contender_usage import VERSION, install_ccusage
from benchmarks.resumed_sessions import Truth, write_home

Json = dict[str, Any]

AGENTSVIEW, CCUSAGE = "0.46.1", VERSION
CENTS = 0.0001  # what dollars of a day may differ by: one of them rounds to a millionth for each model


class Day(NamedTuple):
    """What a program says of a day."""

    tokens: int  # input, what came from a cache included, and output
    dollars: float


Days = dict[str, Day]


def main() -> None:
    options = _parser().parse_args()
    with tempfile.TemporaryDirectory(prefix="copilog-days-") as name:
        folder = Path(name)
        programs = _programs(options, folder)
        results = [
            _compare(folder / kind, kind, programs, options)
            for kind in ("totals of each run", "totals of all runs so far")
        ]
    if options.json:
        print(json.dumps(results))
        return
    for result in results:
        _print(result)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--agentsview", type=Path)
    parser.add_argument("--ccusage", type=Path)
    parser.add_argument("--json", action="store_true")
    return parser


# --- programs -------------------------------------------------------------------------------------------------------

Program = Callable[[Path, Path], Days]  # of a home, with a folder of its own


def _programs(options: argparse.Namespace, folder: Path) -> dict[str, Program | str]:
    """Return each program, or why it cannot be run."""
    programs: dict[str, Program | str] = {"copilog": of_copilog}
    for name, version, given, install, days in (
        ("agentsview", AGENTSVIEW, options.agentsview, _install_agentsview, of_agentsview),
        ("ccusage", CCUSAGE, options.ccusage, lambda place: install_ccusage(place, CCUSAGE), of_ccusage),
    ):
        try:
            binary = given or install(folder / name)
        except (FailedError, subprocess.SubprocessError, OSError) as error:
            programs[f"{name} {version}"] = str(error)
            continue
        programs[f"{name} {version}"] = partial(days, binary)
    return programs


def _install_agentsview(folder: Path) -> Path:
    command = [sys.executable, "-m", "venv", str(folder)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    pip = folder / ("Scripts" if sys.platform == "win32" else "bin") / "pip"
    wanted = [str(pip), "install", "--quiet", f"agentsview=={AGENTSVIEW}"]
    subprocess.run(wanted, check=True, capture_output=True, timeout=300)
    found = shutil.which("agentsview", path=str(pip.parent))
    if found is None:
        raise FailedError("its package has no program")
    return Path(found)


def of_copilog(home: Path, own: Path) -> Days:
    environment = bare_environment(own) | {"TZ": "UTC"}
    archive = own / "archive.db"
    run(copilog("scan", "--root", home, "--archive", archive), environment)
    arguments = ("stats", "tokens", "--by", "day", "--all", "--json", "--archive", archive, "--no-scan")
    rows = json.loads(run(copilog(*arguments), environment).output)
    return {row["name"]: Day((row["input"] or 0) + (row["output"] or 0), row["dollars"] or 0.0) for row in rows}


def of_agentsview(binary: Path, home: Path, own: Path) -> Days:
    environment = bare_environment(home) | {
        "TZ": "UTC",
        "COPILOT_HOME": str(home / ".copilot"),
        "AGENTSVIEW_NO_DAEMON": "1",
        "AGENTSVIEW_DATA_DIR": str(own),
    }
    run([str(binary), "sync"], environment)
    command = [str(binary), "usage", "daily", "--json", "--all", "--offline", "--no-sync", "--timezone", "UTC"]
    rows = json.loads(run(command, environment).output)["daily"]
    return {row["date"]: Day(_tokens_of(row), row["totalCost"]["microdollars"] / 1e6) for row in rows}


def of_ccusage(binary: Path, home: Path, own: Path) -> Days:
    environment = bare_environment(own) | {"TZ": "UTC", "COPILOT_HOME": str(home / ".copilot"), "NO_COLOR": "1"}
    rows = json.loads(run([str(binary), "copilot", "daily", "--json", "--offline"], environment).output)["daily"]
    return {row["date"]: Day(_tokens_of(row), row["totalCost"]) for row in rows}


def _tokens_of(row: Json) -> int:
    names = ("inputTokens", "cacheReadTokens", "cacheCreationTokens", "outputTokens")
    return sum(row[name] for name in names)


# --- comparing ------------------------------------------------------------------------------------------------------


def _compare(folder: Path, kind: str, programs: dict[str, Program | str], options: argparse.Namespace) -> Json:
    home = folder / "home"
    home.mkdir(parents=True)
    truth = write_home(home, options.sessions, options.seed, cumulative=kind.endswith("so far"))
    days = tokens_of(truth)
    found: dict[str, Days] = {}
    rows = []
    for number, (name, program) in enumerate(programs.items()):
        own = folder / f"own-{number}"
        own.mkdir()
        if isinstance(program, str):
            rows.append({"program": name, "missing": program})
            continue
        found[name] = program(home, own)
        rows.append({"program": name, **score(found[name], days)})
    other = next((said for name, said in found.items() if name.startswith("agentsview")), {})
    right = [day for day, tokens in days.items() if day in other and other[day].tokens == tokens]
    mine = found["copilog"]
    same = [day for day in right if day in mine and abs(mine[day].dollars - other[day].dollars) <= CENTS]
    return {
        "home": kind,
        "days": len(days),
        "programs": rows,
        "agentsview_right": len(right),
        "same_dollars": len(same),
    }


def tokens_of(truth: Truth) -> dict[str, int]:
    """Return the tokens of each day, of all models together."""
    return {day: sum(used.input + used.output for used in models.values()) for day, models in truth.items()}


def score(said: Days, truth: dict[str, int]) -> Json:
    """Return how many days are right, and how many tokens are missing on their day or are there on a wrong one."""
    wrong = sum(abs((said[day].tokens if day in said else 0) - truth.get(day, 0)) for day in said.keys() | truth.keys())
    return {
        "right_days": sum(day in said and said[day].tokens == tokens for day, tokens in truth.items()),
        "wrong_tokens": wrong,
        "tokens": sum(day.tokens for day in said.values()),
        "dollars": round(sum(day.dollars for day in said.values()), 4),
    }


def _print(result: Json) -> None:
    print(f"\n{result['home']}: {result['days']} days")
    for row in result["programs"]:
        if "missing" in row:
            print(f"  {row['program']:<20} could not be run: {row['missing']}")
            continue
        told = f"{row['right_days']:>4} days right, {row['wrong_tokens']:>14,} tokens on a wrong day"
        print(f"  {row['program']:<20} {told}, {row['tokens']:>14,} in all, ${row['dollars']:,.2f}")
    print(
        f"  dollars are the same on {result['same_dollars']} of {result['agentsview_right']} days agentsview has right"
    )


if __name__ == "__main__":
    main()
