"""The race in words and tables: what was measured, and what is wanted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]

MIB = 1 << 20
OURS, THEIRS = "copilog", "agentsview"
WANTED_TIMES = 8.0
WANTED_SECONDS = {"rescan": 0.3, "rare": 0.25, "common": 0.4, "warm": 0.05, "help": 0.15}

CAVEATS = """\
seconds: on the clock, from the start of a process to its end, the best of all rounds; CPU: of the processor, with all
processes that it started. memory: all processes together, looked at every 50 ms; pages that they share count once.
What these numbers do not show:
- cold disks: the files were just written, so they come from memory;
- your own conversations: the text is made up of few words, which makes indexes smaller than those of real text, and
  common words more common;
- that both do the same: agentsview reads sessions and logs alone, copilog also editing sessions and the databases of
  VS Code; what each stored is in the table."""


def print_report(measured: Json) -> None:
    home = measured["home"]
    print(f"{measured['machine']}; seed {measured['seed']}; {measured['agentsview'] or 'no agentsview'}")
    print(f"home: {home['sessions']:,} sessions, {home['files']:,} files, {_mib(home['bytes'])} MiB\n")
    if measured["contenders"]:
        _print_race(measured["contenders"], measured["memory"])
    _print_memory(measured["memory"].get(OURS, {}))
    if measured["search"]:
        _print_search(measured["search"])
    _print_wanted("copilog --help", measured["help"], WANTED_SECONDS["help"])
    for line in measured["missing"]:
        print(f"\nmissing: {line}")
    print(f"\n{CAVEATS}")


def _print_race(rows: dict[str, Json], memory: dict[str, Json]) -> None:
    print(f"{'':24}" + "".join(f"{name:>12}{'CPU':>8}" for name in rows) + ("   times faster" if len(rows) > 1 else ""))
    steps = {step: {name: row["steps"][step] for name, row in rows.items()} for step in _steps(rows)}
    for step, done in steps.items():
        line = "".join(f"{each['seconds']:>10.2f} s{each['cpu_seconds']:>6.2f} s" for each in done.values())
        print(f"{step:24}{line}{_times(done)}")
    peaks = [memory[name]["home"]["shared_once"] for name in rows]
    _print_cells("peak memory, MiB", map(_mib, peaks))
    _print_cells("database, MiB", (_mib(row["database_bytes"]) for row in rows.values()))
    for what in next(iter(rows.values()))["stored"]:
        _print_cells(what, (_count(row["stored"][what]) for row in rows.values()))
    print(f"\nwanted: the first scan {WANTED_TIMES:g} times faster; the others no slower, or under ", end="")
    print(f"{WANTED_SECONDS['rescan']} s")


def _print_cells(what: str, cells: Iterable[str]) -> None:
    print((f"{what:24}" + "".join(f"{cell:>12}{'':8}" for cell in cells)).rstrip())


def _steps(rows: dict[str, Json]) -> list[str]:
    return list(next(iter(rows.values()))["steps"])


def _times(done: dict[str, Json]) -> str:
    if OURS not in done or THEIRS not in done:
        return ""
    return f"{done[THEIRS]['seconds'] / done[OURS]['seconds']:>15.2f}"


def _print_memory(peaks: Json) -> None:
    if "large_home" in peaks:
        written, peak = peaks["large_home_written"], peaks["large_home"]["shared_once"]
        print(f"\npeak memory of a scan of {written['sessions']:,} sessions, {_mib(written['bytes'])} MiB: ", end="")
        print(f"{_mib(peak)} MiB (no more than of the smaller home is wanted)")


def _print_search(search: Json) -> None:
    home = search["home"]
    print(
        f"\nto search: {home['sessions']:,} sessions, {home['messages']:,} messages, {_mib(home['bytes'])} MiB", end=""
    )
    if "scan" in search:
        print(f"; scanned in {search['scan']['seconds']:.1f} s, archive {_mib(search['database_bytes'])} MiB", end="")
        print(f" with {_count(search['stored']['messages'])} messages", end="")
    print()
    for name in ("rare", "common"):
        if name in search:
            _print_wanted(f"copilog search, {name} word", search[name], WANTED_SECONDS[name])
    for name, spread in search.get("warm", {}).items():
        _print_wanted(f"in a warm process, {name} word", spread, WANTED_SECONDS["warm"])


def _print_wanted(what: str, spread: Json, wanted: float) -> None:
    print(f"{what:34}{spread['seconds']:>8.3f} s, median {spread['median_seconds']:.3f} s ({wanted} s is wanted)")


def _mib(size: int | None) -> str:
    return "-" if size is None else f"{size / MIB:,.0f}"


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"
