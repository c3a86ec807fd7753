"""What the command line of the suite runs, and that running nothing is never a success."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec
import pytest

from conformance import commands
from conformance.facts import Performed
from conformance.programs import NoSuchVersionError
from conformance.running import Result
from conformance.scenario import Scenario


class NoPool:
    """Runs what is submitted at once, in this process."""

    def __init__(self, workers: int) -> None:
        assert workers > 0

    def __enter__(self) -> NoPool:
        return self

    def __exit__(self, *_: object) -> None: ...

    def submit(self, work: object, scenario: Scenario, version: str, folder: Path | None) -> NoFuture:
        return NoFuture(Result(scenario=scenario.name, program=scenario.program, version=version, seconds=0))


class NoFuture:
    def __init__(self, made: Result) -> None:
        self.made = made

    def result(self) -> Result:
        return self.made


def _note(prepared: list[str], program: str, version: str) -> None:
    prepared.append(program)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Programs and versions that were prepared, while nothing real is run."""
    prepared: list[str] = []
    monkeypatch.setattr(commands, "ProcessPoolExecutor", NoPool)
    monkeypatch.setattr(commands, "has_schema", lambda version: True)
    monkeypatch.setattr(commands, "print_difference", lambda version, file: 0)
    for program in commands.PREPARE:
        monkeypatch.setitem(commands.PREPARE, program, partial(_note, prepared, program))
    return prepared


@pytest.mark.parametrize(
    "arguments",
    [["run", "--scenario", "no-such-scenario"], ["compare", "."], ["compare", "no-such-folder"]],
    ids=["run", "compare a folder without runs", "compare no folder"],
)
def test_running_nothing_is_not_a_success(
    arguments: Sequence[str], runs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)

    assert commands.main(arguments) == 2

    assert "; there are " in capsys.readouterr().err
    assert runs == []


@pytest.mark.parametrize("arguments", [["writers-diff", "9.9.9"], ["run", "--scenario", "walk", "--version", "9.9.9"]])
def test_a_version_that_does_not_exist_is_not_a_success(
    arguments: Sequence[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(version: str, *_: object) -> None:
        raise NoSuchVersionError(f"the registry has no {version}")

    monkeypatch.setattr(commands, "print_difference", refuse)
    monkeypatch.setitem(commands.PREPARE, "cli", refuse)

    assert commands.main(arguments) == 2
    assert "the registry has no 9.9.9" in capsys.readouterr().err


def test_a_kept_run_of_no_scenario_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    performed = Performed(scenario="gone", program="cli", version="1.0.102", workspace="/w", home="/h")
    (tmp_path / "performed.json").write_bytes(msgspec.json.encode(performed))

    assert commands.main(["compare", str(tmp_path)]) == 2
    assert "no scenario gone" in capsys.readouterr().err


def test_all_versions_of_all_programs_run(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["run", "--program", "all", "--version", "all"]) == 0

    assert [runs.count(program) for program in ("cli", "vscode")] == [
        len(commands.ALL_VERSIONS["cli"]),
        len(commands.ALL_VERSIONS["vscode"]),
    ]
    printed = capsys.readouterr().out
    for program, versions in commands.ALL_VERSIONS.items():
        assert all(f"{program} {version} " in printed for version in versions)


def test_an_event_that_is_not_known_fails_the_run(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def differ(version: str, file: object) -> int:
        compared.append(version)
        return 1

    monkeypatch.setattr(commands, "print_difference", differ)

    assert commands.main(["run", "--scenario", "walk"]) == 1
    assert compared == [commands.ALL_VERSIONS["cli"][-1]]
