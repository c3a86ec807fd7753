"""The command line of the suite."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from conformance.programs import VERSIONS
from conformance.report import print_result
from conformance.running import Result, run_scenario
from conformance.scenario import applies, load_all
from conformance.vscode_setup import CODE_SERVERS

ALL_VERSIONS = {"cli": VERSIONS, "vscode": tuple(CODE_SERVERS)}  # the newest is the last


def main(arguments: Sequence[str]) -> int:
    """Run a command, and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="run scenarios and compare")
    run.add_argument("--program", choices=["cli", "vscode"], default="cli")
    run.add_argument("--version", action="append", help="default: the newest; `all` for every pinned one")
    run.add_argument("--scenario", action="append", help="by name; default: all")
    run.add_argument("--keep", type=Path, help="folder to which the folders of the runs are copied")
    run.add_argument("--json", action="store_true")
    run.set_defaults(function=_run)
    given = parser.parse_args(arguments)
    return int(given.function(given))


def _run(given: argparse.Namespace) -> int:
    known = ALL_VERSIONS[given.program]
    versions = known if "all" in (given.version or []) else given.version or known[-1:]
    results: list[Result] = []
    for version in versions:
        for scenario in load_all(given.program):
            if given.scenario and scenario.name not in given.scenario:
                continue
            if not applies(scenario.since, scenario.until, version):
                continue
            keep = given.keep / f"{scenario.name}-{version}" if given.keep else None
            result = run_scenario(scenario, version, keep)
            print_result(result, sys.stdout)
            results.append(result)
    return 1 if any(result.error or result.count("different") for result in results) else 0
