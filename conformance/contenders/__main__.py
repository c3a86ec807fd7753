"""`python -m conformance.contenders FOLDER...`: compare agentsview and ccusage on kept runs of the suite."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import msgspec

from conformance.contenders.rows import parts_of_runs, runs_below
from conformance.contenders.table import section
from conformance.programs import UnavailableError


def main(arguments: list[str]) -> int:
    """Print the section of the documentation; with `--json`, write what it is made of to a file."""
    parser = argparse.ArgumentParser(prog="python -m conformance.contenders", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="with runs that `run --keep` kept, or recorded ones")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args(arguments)
    runs = [run for folder in given.folders for run in runs_below(folder)]
    if not runs:
        parser.error("no folder of a run: a run has truth.json beside home")
    try:
        parts = parts_of_runs(runs)
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return 1
    if given.json:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(parts)) + b"\n")
    print(section(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
