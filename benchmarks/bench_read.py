"""How long reading takes, against the time that a fast parser needs for the same JSON.

    python -m benchmarks.bench_read [--sessions 2000] [--seed 1] [--rounds 3] [--folder DIR] [--json]

A home is made up from the seed. Each contender then reads it in a process of its own, on one core; the contenders
take turns, and the best of the rounds counts. Seconds are those of the processor, so that other programs on the machine
do not count; the time on the clock is in the JSON. A second home, four times as large, shows what memory does.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import processes

GROWTH = 4
SMALLEST_TIME = 1e-9

CAVEATS = """\
What these numbers do not show:
- disks: the files were just written, so they come from memory, and only the processor's time counts;
- your own conversations: the text is made up, and proportions differ from home to home;
- what follows reading: searching, rendering and writing are not part of it;
- more than one core: each contender has one;
- what orjson would need to do the same: it decodes and forgets, copilog builds the model, counts each part, and
  (everything) also copies and queries databases, reads texts beside editing sessions, replays edits and makes diffs."""


def main() -> None:
    options = _parser().parse_args()
    if options.make is not None:
        _make(options.make, options.sessions, options.seed)
    elif options.contender is not None:
        _run_contender(options.contender, options.home)
    elif options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
        _print(_measure(options.folder, options), as_json=options.json)
    else:
        with tempfile.TemporaryDirectory(prefix="copilog-bench-") as folder:
            _print(_measure(Path(folder), options), as_json=options.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_read", description="How fast copilog reads.")
    parser.add_argument("--sessions", type=int, default=2000, help="how many sessions to make up (2000)")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes another home (1)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each contender runs (3)")
    parser.add_argument("--folder", type=Path, help="where to write the homes, which then stay there")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    for internal in ("--make", "--home"):
        parser.add_argument(internal, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--contender", help=argparse.SUPPRESS)
    return parser


# --- in a process of its own ----------------------------------------------------------------------------------------


def _make(folder: Path, sessions: int, seed: int) -> None:
    from benchmarks.generate import write_home

    print(json.dumps(write_home(folder, sessions, seed)._asdict()))


def _run_contender(name: str, home: Path) -> None:
    from benchmarks.contenders import CONTENDERS

    processes.stay_on_one_core()
    run = CONTENDERS[name](home)
    begun, begun_on_clock = time.process_time(), time.perf_counter()
    size = run()
    result = {
        "seconds": max(time.process_time() - begun, SMALLEST_TIME),
        "clock_seconds": time.perf_counter() - begun_on_clock,
        "bytes": size,
        "peak_bytes": processes.peak_bytes(),
    }
    print(json.dumps(result))


# --- measuring ------------------------------------------------------------------------------------------------------


def _measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks.contenders import BASELINES, CONTENDERS

    home, large_home = folder / f"home-{options.sessions}", folder / f"home-{options.sessions * GROWTH}"
    for path in (home, large_home):
        if path.exists():
            raise SystemExit(f"{path} is already there; name another --folder")
    written = _child("--make", home, "--sessions", options.sessions, "--seed", options.seed)
    rows: dict[str, dict[str, Any]] = {}
    for _ in range(options.rounds):
        for name in CONTENDERS:
            result = _child("--contender", name, "--home", home)
            best = rows.setdefault(name, result)
            for key in ("seconds", "clock_seconds"):
                best[key] = min(best[key], result[key])
            best["peak_bytes"] = _larger(best["peak_bytes"], result["peak_bytes"])
    large = _child("--make", large_home, "--sessions", options.sessions * GROWTH, "--seed", options.seed)
    for name, row in rows.items():
        row["bytes_per_second"] = row["bytes"] / row["seconds"]
        row["ratio"] = row["seconds"] / rows[BASELINES[name]]["seconds"]
        row["peak_bytes_of_large_home"] = _child("--contender", name, "--home", large_home)["peak_bytes"]
    return {
        "machine": processes.machine(),
        "seed": options.seed,
        "home": written,
        "large_home": large,
        "contenders": rows,
    }


def _child(*arguments: object) -> dict[str, Any]:
    return processes.child("benchmarks.bench_read", *arguments)


def _larger(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


# --- showing --------------------------------------------------------------------------------------------------------


def _print(measured: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(measured, indent=2))
        return
    home, large = measured["home"], measured["large_home"]
    print(f"{measured['machine']}; seed {measured['seed']}")
    print(f"home: {home['sessions']:,} sessions, {home['files']:,} files, {_megabytes(home['bytes'])} MB")
    print(f"large home: {large['sessions']:,} sessions, {_megabytes(large['bytes'])} MB\n")
    print(f"{'':24}{'MB':>8}{'seconds':>10}{'MB/s':>8}{'ratio':>8}{'peak MB':>10}{'large home':>12}")
    for name, row in measured["contenders"].items():
        print(
            f"{name:24}{_megabytes(row['bytes']):>8}{row['seconds']:>10.3f}{_megabytes(row['bytes_per_second']):>8}"
            f"{row['ratio']:>8.2f}{_megabytes(row['peak_bytes']):>10}{_megabytes(row['peak_bytes_of_large_home']):>12}"
        )
    print("\nratio: seconds against those of orjson over the same JSON; peak: the most memory of the process\n")
    print(CAVEATS)


def _megabytes(size: float | None) -> str:
    return "-" if size is None else f"{size / 1e6:,.0f}"


if __name__ == "__main__":
    main()
