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


class Result(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What became of a scenario with a version."""

    scenario: str
    program: str
    version: str
    seconds: float
    compared: list[Compared] = []
    error: str | None = None  # the run did not go as its scenario says

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
    performed: Performed
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
    truth = truth_of(scenario, performed, places.fill)
    compared = explain(compare(truth, observe(places.home, truth)), scenario.program, scenario.name, version)
    result = Result(
        scenario=scenario.name,
        program=scenario.program,
        version=version,
        seconds=round(time.monotonic() - began, 2),
        compared=compared,
    )
    return Kept(folder=places.home, truth=truth, performed=performed, result=result)


def run_scenario(scenario: Scenario, version: str, keep: Path | None = None) -> Result:
    """Run a scenario in a scratch folder, which is kept if `keep` names where."""
    scratch = Path(tempfile.mkdtemp(prefix="copilog-conf-"))
    began = time.monotonic()
    try:
        return perform(scenario, version, scratch).result
    except (ScenarioError, TerminalError) as error:
        seconds = round(time.monotonic() - began, 2)
        return Result(
            scenario=scenario.name, program=scenario.program, version=version, seconds=seconds, error=str(error)
        )
    finally:
        if keep is not None:
            shutil.rmtree(keep, ignore_errors=True)
            shutil.copytree(scratch, keep, symlinks=True)
        shutil.rmtree(scratch, ignore_errors=True)


def _driver(scenario: Scenario, version: str, places: Places, server: ModelServer) -> Driver:
    """Return the driver of a scenario's program."""
    if scenario.program == "vscode":
        from conformance.vscode_driver import VsCodeDriver  # needs a browser

        return VsCodeDriver(scenario, version, places, server)
    return CliDriver(scenario, version, places, server)
