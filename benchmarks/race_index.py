"""How long it takes to keep a home's conversations in an archive and to find them again, against agentsview.

    python -m benchmarks.race_index [--sessions 2000] [--messages 300000] [--seed 1] [--rounds 3] [--data DIR]
                                    [--agentsview BINARY | --alone] [--json]

A home with sessions of VS Code and of Copilot CLI is made up from the seed. `copilog scan` and `agentsview sync` take
turns on a copy of it, each as a whole process: a first scan, one with nothing changed, one after a log has grown, one
after a session was replaced. agentsview comes from PyPI into an environment that is thrown away, or is named.
Then memory, on this home and on one with each session several times; then searching in an archive of many messages;
then bare start-up.
What cannot be run is named, and the rest still runs. About 8 GB of disk are needed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import processes
from benchmarks.contender_index import (
    Agentsview,
    Contender,
    Copilog,
    FailedError,
    Run,
    bare_environment,
    copilog,
    install_agentsview,
    run,
    size_of,
)
from benchmarks.multiply_home import multiply
from benchmarks.race_changes import leave_alone, lengthen_a_log, replace_a_session
from benchmarks.race_report import print_report
from benchmarks.races import Json, best, race_parser, run_race, spread

SEARCHES = 5  # whole processes for each word
WARM_SEARCHES = 20
STARTS = 7
HITS = 50
# What is run in each round: its name, what changes before, and how often.
STEPS: tuple[tuple[str, Callable[[Path], None], int], ...] = (
    ("first scan", leave_alone, 1),
    ("nothing changed", leave_alone, 3),
    ("one log longer", lengthen_a_log, 1),
    ("one session replaced", replace_a_session, 1),
)


def main() -> None:
    options = _parser().parse_args()
    if options.make is not None:
        print(json.dumps(_make(options)))
    elif options.warm is not None:
        print(json.dumps(_search_warm(options.warm, options.words)))
    else:
        run_race(options, _measure, print_report)


def _parser() -> argparse.ArgumentParser:
    parser = race_parser("race_index", "How fast the archive is.", other="agentsview", rounds=3)
    parser.add_argument("--growth", type=int, default=4, help="how often the second home has each session; 0: none (4)")
    parser.add_argument("--messages", type=int, default=300_000, help="how many messages to search; 0: none (300000)")
    for internal in ("--make", "--warm"):
        parser.add_argument(internal, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--kind", help=argparse.SUPPRESS)
    parser.add_argument("--words", nargs="*", help=argparse.SUPPRESS)
    return parser


# --- in a process of its own ----------------------------------------------------------------------------------------


def _make(options: argparse.Namespace) -> Json:
    from benchmarks.generate_home import write_both, write_messages

    if options.kind == "messages":
        return write_messages(options.make, options.messages, options.seed)._asdict()
    return write_both(options.make, options.sessions, options.seed)._asdict()


def _search_warm(archive: Path, words: list[str]) -> dict[str, list[float]]:
    """How long each search takes in a process that has the archive open and has searched before."""
    library: Any = importlib.import_module("copilog")
    opened = library.open(archive)
    seconds: dict[str, list[float]] = {}
    for word in words:
        _search(opened, word)
        for _ in range(WARM_SEARCHES):
            begun = time.perf_counter()
            _search(opened, word)
            seconds.setdefault(word, []).append(time.perf_counter() - begun)
    return seconds


def _search(opened: Any, word: str) -> int:
    hits = opened.search(word, limit=HITS).hits
    if not hits:
        raise SystemExit(f"{word} was not found")
    return len(hits)


# --- measuring ------------------------------------------------------------------------------------------------------


def _measure(folder: Path, options: argparse.Namespace) -> Json:
    missing: list[str] = []
    home, written = _home(folder, "home", options.sessions, options)
    with tempfile.TemporaryDirectory(prefix="race-", dir=folder) as scratch:
        work = Path(scratch)
        other = _other(work, options, missing)
        contenders: list[Contender] = [Copilog(), *([other] if other else [])]
        rows = _race(home, work, contenders, options.rounds, missing)
        return {
            "machine": processes.machine(),
            "seed": options.seed,
            "agentsview": other.version() if other else None,
            "home": written,
            "contenders": rows,
            "memory": _memory(folder, work, [each for each in contenders if each.name in rows], options),
            "search": _searches(folder, work, options, missing) if options.messages and Copilog.name in rows else None,
            "help": _timed(copilog("--help"), bare_environment(work), STARTS),
            "missing": missing,
        }


def _other(work: Path, options: argparse.Namespace, missing: list[str]) -> Agentsview | None:
    if options.alone:
        return None
    try:
        other = Agentsview(options.agentsview or install_agentsview(work / "environment"))
        other.version()
        return other
    except FailedError as error:
        missing.append(f"agentsview: {error}; the numbers of copilog stand alone")
        return None


def _home(folder: Path, kind: str, count: int, options: argparse.Namespace) -> tuple[Path, Json]:
    """A home of so many sessions or messages: one that was made before, or a new one."""
    home = folder / f"{kind}-{count}-{options.seed}"
    about = folder / f"{home.name}.json"  # written last: a home without it is not whole
    if not about.exists():
        if home.exists():
            raise SystemExit(f"{home} is not whole; remove it, or name another --data")
        count_option = "--messages" if kind == "messages" else "--sessions"
        made = processes.child(
            "benchmarks.race_index", "--make", home, "--kind", kind, count_option, count, "--seed", options.seed
        )
        about.write_text(json.dumps(made), encoding="utf-8")
    written: Json = json.loads(about.read_bytes())
    return home, written


def _race(home: Path, work: Path, contenders: list[Contender], rounds: int, missing: list[str]) -> dict[str, Json]:
    """What each contender needs for each step. One that fails is out, and the reason is noted."""
    copy = Path(shutil.copytree(home, work / "home"))
    runs: dict[str, dict[str, list[Run]]] = {each.name: {} for each in contenders}
    for number in range(rounds):
        for each in contenders:
            shutil.rmtree(work / each.name, ignore_errors=True)
            (work / each.name).mkdir()
        in_turn = contenders if number % 2 == 0 else contenders[::-1]
        for step, change, times in STEPS:
            change(copy)
            for each in [each for each in in_turn if each.name in runs]:
                try:
                    done = [_scan(each, copy, work / each.name) for _ in range(times)]
                    runs[each.name].setdefault(step, []).extend(done)
                except FailedError as error:
                    missing.append(f"{each.name}, {step}: {error}")
                    del runs[each.name]
    return {each.name: _row(each, runs[each.name], work / each.name) for each in contenders if each.name in runs}


def _scan(contender: Contender, home: Path, store: Path) -> Run:
    return run(contender.command(home, store), contender.environment(home, store))


def _row(contender: Contender, runs: dict[str, list[Run]], store: Path) -> Json:
    return {
        "steps": {step: _best(done) for step, done in runs.items()},
        "database_bytes": size_of(contender.database(store)),
        "stored": contender.stored(store),
    }


def _best(runs: list[Run]) -> Json:
    return best((each.seconds for each in runs), (each.cpu_seconds for each in runs))


def _timed(command: list[str], environment: dict[str, str], times: int) -> Json:
    return _best([run(command, environment) for _ in range(times)])


def _memory(folder: Path, work: Path, contenders: list[Contender], options: argparse.Namespace) -> dict[str, Json]:
    """The peak of a first scan, in runs of their own; of the larger home for copilog alone."""
    home, _ = _home(folder, "home", options.sessions, options)
    peaks = {each.name: {"home": _peak(each, home, work)} for each in contenders}
    if options.growth and Copilog.name in peaks:
        large = work / "large"
        written = {"sessions": options.sessions * options.growth, **multiply(home, large, options.growth)}
        peaks[Copilog.name] |= {"large_home": _peak(Copilog(), large, work), "large_home_written": written}
        shutil.rmtree(large)
    return peaks


def _peak(contender: Contender, home: Path, work: Path) -> Json:
    with tempfile.TemporaryDirectory(dir=work) as store:
        environment = contender.environment(home, Path(store))
        assignments = [f"{name}={value}" for name, value in environment.items()]
        command = ["env", "-i", *assignments, *contender.command(home, Path(store))]
        return processes.run_and_watch(command, work)._asdict()


# --- searching ------------------------------------------------------------------------------------------------------


def _searches(folder: Path, work: Path, options: argparse.Namespace, missing: list[str]) -> Json:
    home, written = _home(folder, "messages", options.messages, options)
    words = {"rare": written["rare_word"], "common": written["common_word"]}
    contender, store = Copilog(), work / "searched"
    archive = contender.database(store)
    measured: Json = {"home": written}
    store.mkdir()
    try:
        measured["scan"] = _best([_scan(contender, home, store)])
        measured |= {"stored": contender.stored(store), "database_bytes": size_of(archive)}
        for name, word in words.items():
            measured[name] = _time_search(archive, word, bare_environment(store))
    except FailedError as error:
        missing.append(f"copilog, search: {error}")
    try:
        module = [sys.executable, "-m", "benchmarks.race_index", "--warm", str(archive), "--words", *words.values()]
        environment = bare_environment(store) | {"PYTHONPATH": str(processes.project_folder())}
        seconds = json.loads(run(module, environment).output)
        measured["warm"] = {name: spread(seconds[word]) for name, word in words.items()}
    except FailedError as error:
        missing.append(f"copilog, search in a warm process: {error}")
    return measured


def _time_search(archive: Path, word: str, environment: dict[str, str]) -> Json:
    """The time of whole processes, once one of them has shown that it finds the word."""
    command = copilog("search", "--archive", archive, "--no-scan", "--limit", HITS, word)
    if word not in run(command, environment).output.lower():
        raise FailedError(f"{word} was not found")
    return _timed(command, environment, SEARCHES)


if __name__ == "__main__":
    main()
