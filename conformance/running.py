"""One scenario with one version of a program, from empty folders to compared facts."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Protocol

import msgspec

from conformance.cli_driver import CliDriver, ScenarioError
from conformance.compare import compare
from conformance.facts import Compared, Performed, Truth
from conformance.known import explain
from conformance.model_server import ModelServer
from conformance.observe import observe
from conformance.scenario import Scenario
from conformance.truth import truth_of
from conformance.tui_driver import TerminalError
from conformance.workspace import Places, make

TRIES = 3  # of a run that does not go as its scenario says; a difference is never tried again
PERFORMED, TRUTH = "performed.json", "truth.json"  # in the folder of a run


class Result(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What became of a scenario with a version."""

    scenario: str
    program: str
    version: str
    seconds: float
    compared: list[Compared] = []
    error: str | None = None  # the run did not go as its scenario says, in any try
    failed_tries: list[str] = []  # why earlier tries did not go as the scenario says

    def count(self, verdict: str) -> int:
        """Return how many facts have a verdict."""
        return sum(one.verdict == verdict for one in self.compared)

    def is_failure(self) -> bool:
        """Return whether the run did not go as it says, or has a difference that is not known."""
        return self.error is not None or any(one.verdict == "different" and one.reason is None for one in self.compared)


class Driver(Protocol):
    """What performs the actions of a scenario."""

    def perform(self) -> Performed:
        """Perform all actions, in order."""
        ...


class Kept(msgspec.Struct, kw_only=True):
    """A run whose folders are still there."""

    folder: Path  # what copilog is given
    truth: Truth
    result: Result


def perform(scenario: Scenario, version: str, scratch: Path) -> Kept:
    """Run a scenario in a folder of its own, and compare."""
    began = time.monotonic()
    places = Places(scratch)
    make(scenario, places)
    scripts = {name: scenario.script(name) for name in scenario.scripts}
    with ModelServer(scripts, places.fill) as server:
        try:
            performed = _driver(scenario, version, places, server).perform()
        finally:
            (scratch / "served.json").write_bytes(msgspec.json.format(msgspec.json.encode(server.log)))
            (scratch / "requests.json").write_bytes(msgspec.json.encode(server.requests))
    (scratch / PERFORMED).write_bytes(msgspec.json.format(msgspec.json.encode(performed)))
    kept = compare_kept(scenario, scratch)
    kept.result.seconds = round(time.monotonic() - began, 2)
    return kept


def compare_kept(scenario: Scenario, scratch: Path) -> Kept:
    """Compare what a run left in its folder, or in a copy of it."""
    began = time.monotonic()
    performed = msgspec.json.decode((scratch / PERFORMED).read_bytes(), type=Performed)
    truth = truth_of(scenario, performed, Places(Path(performed.home).parent).fill)
    (scratch / TRUTH).write_bytes(msgspec.json.format(msgspec.json.encode(truth)))
    folder = Places(scratch).home
    compared = explain(compare(truth, observe(folder, truth)), scenario.program, scenario.name, performed.version)
    result = Result(
        scenario=scenario.name,
        program=scenario.program,
        version=performed.version,
        seconds=round(time.monotonic() - began, 2),
        compared=compared,
    )
    return Kept(folder=folder, truth=truth, result=result)


def run_scenario(scenario: Scenario, version: str, keep: Path | None = None) -> Result:
    """Run a scenario in a scratch folder, which is kept if `keep` names where; again if the run itself fails."""
    failed: list[str] = []
    began = time.monotonic()
    while True:
        try:
            result = _try(scenario, version, keep)
        except (ScenarioError, TerminalError) as error:
            failed.append(str(error))
            if len(failed) < TRIES:
                continue
            seconds = round(time.monotonic() - began, 2)
            result = Result(
                scenario=scenario.name, program=scenario.program, version=version, seconds=seconds, error=failed.pop()
            )
        result.failed_tries = failed
        return result


def _try(scenario: Scenario, version: str, keep: Path | None) -> Result:
    scratch = Path(tempfile.mkdtemp(prefix="copilog-conf-"))
    try:
        return perform(scenario, version, scratch).result
    finally:
        if keep is not None:
            shutil.rmtree(keep, ignore_errors=True)
            sockets = shutil.ignore_patterns("*.sock")  # what a killed program leaves
            shutil.copytree(scratch, keep, symlinks=True, ignore=sockets)
        shutil.rmtree(scratch, ignore_errors=True)


def _driver(scenario: Scenario, version: str, places: Places, server: ModelServer) -> Driver:
    """Return the driver of a scenario's program."""
    if scenario.program == "vscode":
        from conformance.vscode_driver import VsCodeDriver  # needs a browser

        return VsCodeDriver(scenario, version, places, server)
    return CliDriver(scenario, version, places, server)
