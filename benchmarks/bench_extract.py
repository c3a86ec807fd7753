"""How long `copilog extract` takes and how much memory, against a fast parser alone and against the plain way.

    python -m benchmarks.bench_extract [--mib 1024] [--big-mib 4096] [--seed 1] [--rounds 3] [--jobs 2] [--data DIR]

Telemetry is made up from the seed and read once, so that it comes from memory. Three contenders follow:
- orjson, in a loop on one core: every line, and every messagesJson after its parts are joined;
- `copilog extract`, the whole process from its start to its end; both take turns, and the time on the clock counts;
- the standard json and SQLite in two passes, once (`benchmarks/contender_telemetry.py`). Its output must be the same.
Memory is measured in runs of their own, on this telemetry and on more of it. --big-mib 0 leaves the latter out.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import processes
from benchmarks.generate_telemetry import MIB, write_telemetry

Json = dict[str, Any]

BASELINE, EXTRACT, PLAIN = "orjson, lines and messages", "copilog extract", "json and SQLite, two passes"
DISK_FACTOR = 3  # the telemetry, the plain way's database, and two outputs
WANTED = {"ratio": 1.5, "times_faster": 6.0, "peak_mib": 500.0}

CAVEATS = """\
ratio: seconds on the clock against those of orjson. memory: parent and workers together, looked at every 50 ms; pages
that several of them share count once (Pss), and what is mapped of the input counts as well.
What these numbers do not show:
- cold disks: the files were just written, so they come from memory;
- other machines: extract uses as many processes as --jobs says, orjson one core;
- your own telemetry: the text is made up. Long snapshots that overlap are fast to read, many small events are not;
- what orjson would need to do the same: it decodes and forgets."""


def main() -> None:
    options = _parser().parse_args()
    if options.make is not None:
        print(json.dumps(write_telemetry(options.make, int(options.mib * MIB), options.seed)._asdict()))
    elif options.loop is not None:
        _run_loop(options.loop)
    elif options.data is not None:
        options.data.mkdir(parents=True, exist_ok=True)
        _print(_measure(options.data, options), as_json=options.json)
    else:
        with tempfile.TemporaryDirectory(prefix="copilog-bench-") as folder:
            _print(_measure(Path(folder), options), as_json=options.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_extract", description="How fast extract is.")
    parser.add_argument("--mib", type=float, default=1024, help="how much telemetry to make up, in MiB (1024)")
    parser.add_argument("--big-mib", type=float, default=4096, help="how much for the second look at memory (4096)")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other telemetry (1)")
    parser.add_argument("--rounds", type=int, default=3, help="how often extract and orjson run (3)")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes extract may use (2)")
    parser.add_argument("--data", type=Path, help="where to write the telemetry, which then stays there")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    for internal in ("--make", "--loop"):
        parser.add_argument(internal, type=Path, help=argparse.SUPPRESS)
    return parser


# --- in a process of its own ----------------------------------------------------------------------------------------


def _run_loop(data: Path) -> None:
    processes.stay_on_one_core()
    begun = time.perf_counter()
    decoded = _decode_everything(data)
    print(json.dumps({"seconds": time.perf_counter() - begun, **decoded}))


def _decode_everything(data: Path) -> Json:
    """Decode every line, and every list of messages in it, and forget them."""
    import orjson

    lines = snapshots = bad = 0
    for path in _files(data):
        with path.open("rb", buffering=1 << 20) as file:
            for line in file:
                lines += 1
                try:
                    record = orjson.loads(line)
                    messages = _joined_messages(record)
                    if messages is not None:
                        snapshots += 1
                        orjson.loads(messages)
                except orjson.JSONDecodeError:  # broken lines, and snapshots that were cut when they were sent
                    bad += 1
    return {"lines": lines, "snapshots": snapshots, "bad": bad}


def _joined_messages(record: Any) -> str | None:
    if not isinstance(record, dict):
        return None
    data = record.get("data")
    properties = data["baseData"]["properties"] if data else record.get("properties", {})
    first: str | None = properties.get("messagesJson")
    if first is None or "messagesJson_02" not in properties:
        return first
    parts = [first]
    while part := properties.get(f"messagesJson_{len(parts) + 1:02}"):
        parts.append(part)
    return "".join(parts)


# --- measuring ------------------------------------------------------------------------------------------------------


def _measure(folder: Path, options: argparse.Namespace) -> Json:
    data, out, plain_out = folder / f"telemetry-{options.mib:g}", folder / "extract.jsonl", folder / "plain.jsonl"
    free = shutil.disk_usage(folder).free
    _check_space(folder, free, options)
    written = _make(data, options.mib, options.seed)
    _warm(data)
    rows: dict[str, list[float]] = {BASELINE: [], EXTRACT: [], PLAIN: []}
    decoded: Json = {}
    for _ in range(options.rounds):
        decoded = processes.child("benchmarks.bench_extract", "--loop", data)
        rows[BASELINE].append(decoded["seconds"])
        rows[EXTRACT].append(_seconds(_extract_command(data, out, options.jobs), folder))
    plain = [sys.executable, "-m", "benchmarks.contender_telemetry", str(data), "-o", str(plain_out)]
    rows[PLAIN].append(_seconds(plain, processes.project_folder()))
    is_same = filecmp.cmp(out, plain_out, shallow=False)
    trajectories = sum(1 for _ in out.open("rb"))
    memory = {"telemetry": processes.run_and_watch(_extract_command(data, out, options.jobs), folder)._asdict()}
    big_written = None
    if options.big_mib:
        if options.data is None:
            shutil.rmtree(data)
        big = folder / f"telemetry-{options.big_mib:g}-big"
        big_written = _make(big, options.big_mib, options.seed)
        memory["more of it"] = processes.run_and_watch(_extract_command(big, out, options.jobs), folder)._asdict()
    return {
        "machine": processes.machine(),
        "seed": options.seed,
        "jobs": options.jobs,
        "free_bytes": free,
        "telemetry": {**written, "snapshots": decoded["snapshots"], "bad": decoded["bad"]},
        "more_telemetry": big_written,
        "trajectories": trajectories,
        "contenders": _compared(rows, written["bytes"]),
        "same_output": is_same,
        "memory": memory,
    }


def _check_space(folder: Path, free: int, options: argparse.Namespace) -> None:
    needed = int(max(options.mib * DISK_FACTOR, options.big_mib + options.mib) * MIB)
    print(f"{free / 1e9:,.0f} GB free in {folder}, about {needed / 1e9:,.1f} GB needed", file=sys.stderr)
    if free < needed:
        raise SystemExit("that is not enough: name a roomier --data, or a smaller --mib or --big-mib")


def _make(data: Path, mib: float, seed: int) -> Json:
    if data.exists():
        raise SystemExit(f"{data} is already there; name another --data")
    return processes.child("benchmarks.bench_extract", "--make", data, "--mib", mib, "--seed", seed)


def _files(data: Path) -> Iterator[Path]:
    return iter(sorted(data.rglob("*.jsonl")))


def _warm(data: Path) -> None:
    for path in _files(data):
        with path.open("rb") as file:
            while file.read(16 * MIB):
                pass


def _extract_command(data: Path, out: Path, jobs: int) -> list[str]:
    command = [sys.executable, "-m", "copilog", "extract", str(data), "-o", str(out), "--jobs", str(jobs)]
    return [*command, "--no-context-tag-summary"]


def _seconds(command: list[str], cwd: Path) -> float:
    """The time on the clock from the start of a process to its end."""
    begun = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begun
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return seconds


def _compared(rows: dict[str, list[float]], size: int) -> dict[str, Json]:
    compared: dict[str, Json] = {}
    for name, seconds in rows.items():
        best, median = min(seconds), statistics.median(seconds)
        compared[name] = {
            "seconds": best,
            "median_seconds": median,
            "bytes_per_second": size / best,
            "ratio": best / min(rows[BASELINE]),
            "median_ratio": median / statistics.median(rows[BASELINE]),
        }
    compared[PLAIN]["times_slower"] = min(rows[PLAIN]) / min(rows[EXTRACT])
    return compared


# --- showing --------------------------------------------------------------------------------------------------------


def _print(measured: Json, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(measured, indent=2))
        return
    telemetry = measured["telemetry"]
    print(f"{measured['machine']}; seed {measured['seed']}, {measured['jobs']} jobs")
    print(
        f"telemetry: {telemetry['bytes'] / MIB:,.0f} MiB in {telemetry['files']} files, {telemetry['events']:,} events,"
        f" {telemetry['snapshots']:,} lists of messages, {measured['trajectories']:,} trajectories\n"
    )
    print(f"{'':30}{'seconds':>9}{'median':>9}{'MB/s':>7}{'ratio':>8}{'median':>8}")
    for name, row in measured["contenders"].items():
        print(
            f"{name:30}{row['seconds']:>9.2f}{row['median_seconds']:>9.2f}{row['bytes_per_second'] / 1e6:>7,.0f}"
            f"{row['ratio']:>8.2f}{row['median_ratio']:>8.2f}"
        )
    ratio = measured["contenders"][EXTRACT]["ratio"]
    times = measured["contenders"][PLAIN]["times_slower"]
    print(f"\nextract against orjson: {ratio:.2f} ({WANTED['ratio']} or less is wanted)")
    print(f"the plain way against extract: {times:.1f} times as long ({WANTED['times_faster']:g} or more is wanted)")
    print(f"the same bytes from both: {'yes' if measured['same_output'] else 'NO'}\n")
    for name, size in (("telemetry", telemetry), ("more of it", measured["more_telemetry"])):
        if size is not None:
            memory = measured["memory"][name]
            peak = f"{_mib(memory['shared_once'])} MiB, Rss added up {_mib(memory['resident'])} MiB"
            print(f"peak memory of extract on {size['bytes'] / MIB:,.0f} MiB: {peak} (under {WANTED['peak_mib']:g})")
    print(f"\n{CAVEATS}")


def _mib(size: int | None) -> str:
    return "-" if size is None else f"{size / MIB:,.0f}"


if __name__ == "__main__":
    main()
