"""The command line of the suite."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path

import msgspec

from conformance.facts import Performed
from conformance.programs import VERSIONS, NoSuchVersionError, UnavailableError, prepare
from conformance.report import print_result
from conformance.running import PERFORMED, Result, compare_kept, run_scenario
from conformance.scenario import Scenario, applies, load_all
from conformance.schemas import has_schema, print_additions, print_difference
from conformance.vscode_setup import CODE_SERVERS, JUDGES, install

ALL_VERSIONS = {"cli": VERSIONS, "vscode": tuple(CODE_SERVERS)}  # the newest is the last
PREPARE: dict[str, Callable[[str], object]] = {"cli": prepare, "vscode": install}
JOBS = {"cli": 3, "vscode": 1}  # runs at the same time: those of the CLI mostly wait


def main(arguments: Sequence[str]) -> int:
    """Run a command, and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="run scenarios and compare")
    run.add_argument("--program", choices=[*ALL_VERSIONS, "all"], default="cli")
    run.add_argument("--version", action="append", help="default: the newest; `all` for every pinned one")
    run.add_argument("--scenario", action="append", help="by name; default: all")
    run.add_argument("--ci", action="store_true", help="only scenarios that CI runs")
    run.add_argument("--jobs", type=int, help="how many at the same time")
    run.add_argument("--keep", type=Path, help="folder to which the folders of the runs are copied")
    run.add_argument("--json", action="store_true", help="print the results as JSON")
    run.set_defaults(function=_run)
    again = commands.add_parser("compare", help="compare runs that `run --keep` kept, without running anything")
    again.add_argument("folders", nargs="+", type=Path)
    again.add_argument("--json", action="store_true", help="print the results as JSON")
    again.set_defaults(function=_compare)
    record = commands.add_parser("record", help="run scenarios, and keep masked traces of them for the tests")
    record.add_argument("names", nargs="*", help="SCENARIO-VERSION; default: those that are recorded")
    record.add_argument("--kept", type=Path, help="folder of `run --keep`, whose runs are recorded instead of new ones")
    record.add_argument("--again", action="store_true", help="only mask anew what is recorded")
    record.set_defaults(function=_record)
    table = commands.add_parser("table", help="write the table of docs/conformance.md")
    table.add_argument("results", nargs="+", type=Path, help="what `run --json` printed")
    table.set_defaults(function=_table)
    judge = commands.add_parser("judge", help="let VS Code import, list, open and export what copilog exports")
    judge.add_argument("--version", action="append", help="default: the newest; `all` for every pinned one")
    judge.add_argument("--ci", action="store_true", help="only one conversation of each kind")
    judge.add_argument("--case", action="append", help="only cases whose name has this text")
    judge.add_argument("--pictures", type=Path, help="folder for pictures of what is not as expected")
    judge.add_argument("--table", action="store_true", help="write the table of docs/vscode.md")
    judge.add_argument("--save", type=Path, help="file for the verdicts")
    judge.add_argument("--load", type=Path, action="append", help="saved verdicts: write their table, run nothing")
    judge.set_defaults(function=_judge)
    imports = commands.add_parser("imports", help="let the Copilot CLI import what copilog exports for it")
    imports.add_argument("folders", nargs="*", type=Path, help="default: the bundled sample")
    imports.add_argument("--version", default=VERSIONS[-1])
    imports.add_argument("--resume", type=int, default=2, help="how many conversations of each source are resumed")
    imports.set_defaults(function=_imports)
    difference = commands.add_parser(
        "writers-diff", help="print what a version's event schema added, and what of it copilog does not know"
    )
    difference.add_argument("version")
    difference.set_defaults(function=_writers_diff)
    given = parser.parse_args(arguments)
    try:
        return int(given.function(given))
    except NoSuchVersionError as error:
        print(error, file=sys.stderr)
        return 2
    except UnavailableError as error:
        print(f"not run: {error}", file=sys.stderr)
        return 1 if os.environ.get("CI") else 0


def _imports(given: argparse.Namespace) -> int:
    from conformance.imports import print_judged

    return print_judged(given.folders, given.version, given.resume)


def _run(given: argparse.Namespace) -> int:
    programs = list(ALL_VERSIONS) if given.program == "all" else [given.program]
    chosen = {program: list(_chosen(program, given)) for program in programs}
    if not any(chosen.values()):
        return _say_nothing("no scenario of that name and version", known_scenarios(programs))
    versions = {program: dict.fromkeys(version for _, version in runs) for program, runs in chosen.items()}
    for program, needed in versions.items():
        for version in needed:
            PREPARE[program](version)
    status = _report(chain.from_iterable(_results(runs, given) for runs in chosen.values()), as_json=given.json)
    differences = [print_difference(version, sys.stderr) for version in versions.get("cli", ()) if has_schema(version)]
    return max(status, *differences, 0)


def _results(chosen: list[tuple[Scenario, str]], given: argparse.Namespace) -> Iterator[Result]:
    """Run scenarios of one program, several at a time, and yield their results in order."""
    if not chosen:
        return
    jobs = given.jobs or JOBS[chosen[0][0].program]
    with ProcessPoolExecutor(min(jobs, len(chosen))) as pool:
        waiting = [
            pool.submit(run_scenario, scenario, version, _folder(given.keep, scenario, version))
            for scenario, version in chosen
        ]
        for future in waiting:
            yield future.result()


def _say_nothing(what: str, names: Iterable[str]) -> int:
    """Report that there is nothing to do, which is never a success. Return the exit status."""
    print(f"{what}; there are {', '.join(names)}", file=sys.stderr)
    return 2


def known_scenarios(programs: Iterable[str]) -> list[str]:
    """Return the names of all scenarios of programs, in order."""
    return sorted({one.name for program in programs for one in load_all(program)})


def _compare(given: argparse.Namespace) -> int:
    scenarios: dict[tuple[str, str], Scenario] = {
        (one.program, one.name): one for program in ALL_VERSIONS for one in load_all(program)
    }
    folders = [path.parent for folder in given.folders for path in sorted(folder.rglob(PERFORMED))]
    runs = [(folder, msgspec.json.decode((folder / PERFORMED).read_bytes(), type=Performed)) for folder in folders]
    if not runs:
        return _say_nothing(f"no kept run below {', '.join(map(str, given.folders))}", ["those of `run --keep FOLDER`"])
    missing = sorted({run.scenario for _, run in runs if (run.program, run.scenario) not in scenarios})
    if missing:
        return _say_nothing(f"no scenario {', '.join(missing)}", known_scenarios(ALL_VERSIONS))
    known = [(scenarios[run.program, run.scenario], folder) for folder, run in runs]
    return _report((compare_kept(scenario, folder).result for scenario, folder in known), as_json=given.json)


def _report(results: Iterable[Result], *, as_json: bool) -> int:
    """Print results as they come, and return the exit status."""
    seen: list[Result] = []
    for result in results:
        print_result(result, sys.stderr if as_json else sys.stdout)
        seen.append(result)
    if as_json:
        print(msgspec.json.encode(seen).decode())
    return 1 if any(result.is_failure() for result in seen) else 0


def _chosen(program: str, given: argparse.Namespace) -> Iterator[tuple[Scenario, str]]:
    known = ALL_VERSIONS[program]
    versions = known if "all" in (given.version or []) else given.version or known[-1:]
    if given.program == "all":
        versions = [version for version in versions if version in known]
    scenarios = [one for one in load_all(program) if not given.scenario or one.name in given.scenario]
    for version in versions:
        for scenario in scenarios:
            if version != known[-1] and not (scenario.older or given.scenario):
                continue
            if applies(scenario.since, scenario.until, version) and (scenario.ci or not given.ci):
                yield scenario, version


def _folder(keep: Path | None, scenario: Scenario, version: str) -> Path | None:
    return keep / f"{scenario.name}-{version}" if keep else None


def _record(given: argparse.Namespace) -> int:
    from conformance.recording import mask_again, record

    return mask_again(given.names) if given.again else record(given.names, given.kept)


def _table(given: argparse.Namespace) -> int:
    from conformance.table import write_table

    results = [result for path in given.results for result in msgspec.json.decode(path.read_bytes(), type=list[Result])]
    write_table(results)
    return 0


def _judge(given: argparse.Namespace) -> int:
    from conformance.judge_report import judge_and_report  # needs a browser

    known = tuple(JUDGES)
    versions = known if "all" in (given.version or []) else given.version or known[-1:]
    if not set(versions) <= set(known):
        return _say_nothing(f"no version {', '.join(versions)}", known)
    return judge_and_report(versions, given)


def _writers_diff(given: argparse.Namespace) -> int:
    status = print_difference(given.version, sys.stdout)
    print_additions(given.version, sys.stdout)
    return status
