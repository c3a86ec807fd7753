"""What races against another program share: their options, where their data is, and how times are told."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def race_parser(module: str, description: str, *, other: str, rounds: int) -> argparse.ArgumentParser:
    """The options of a race of a made-up home against the program `other`."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{module}", description=description)
    parser.add_argument("--sessions", type=int, default=2000, help="how many sessions to make up (2000)")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes another home (1)")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"how often everything runs ({rounds})")
    parser.add_argument("--data", type=Path, help="where made-up data is, or is made and then stays")
    against = parser.add_mutually_exclusive_group()
    against.add_argument(f"--{other}", type=Path, help="its binary, where it is installed already")
    against.add_argument("--alone", action="store_true", help=f"without {other}")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    return parser


def run_race(
    options: argparse.Namespace,
    measure: Callable[[Path, argparse.Namespace], Json],
    print_report: Callable[[Json], None],
) -> None:
    """Measure in the folder that was named, or in one that is thrown away, and tell the numbers."""
    with _folder(options.data) as folder:
        measured = measure(folder, options)
    if options.json:
        print(json.dumps(measured, indent=2))
    else:
        print_report(measured)


@contextmanager
def _folder(data: Path | None) -> Iterator[Path]:
    if data is not None:
        data.mkdir(parents=True, exist_ok=True)
        yield data.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="copilog-bench-") as folder:
        yield Path(folder).resolve()


def spread(seconds: Iterable[float]) -> Json:
    taken = list(seconds)
    return {"seconds": min(taken), "median_seconds": statistics.median(taken)}


def best(seconds: Iterable[float], cpu_seconds: Iterable[float]) -> Json:
    return spread(seconds) | {"cpu_seconds": min(cpu_seconds)}
