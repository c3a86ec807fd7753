"""The measuring of figures in words and tables."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

MIB = 1 << 20
OURS = "copilog"
RATIOS = {
    "seconds": "on the clock",
    "median_seconds": "by medians",
    "cpu_seconds": "of CPU",
    "median_cpu_seconds": "by medians of CPU",
}
WANTED_MS = 50

CAVEATS = """\
seconds: on the clock, from the start of a process to its end, the best of all rounds; CPU: of the processor.
What these numbers do not show:
- cold disks: the files were just written, so they come from memory;
- that both do the same: ccusage reads the end of each log of Copilot CLI and adds up its tokens; copilog has read all
  files before, VS Code's too, and tells every figure that it has, tokens among them. The time that the scan took is not
  in it, only, where it says so, that of the look for files that have changed, which is what it does for users;
- your own archive: the made-up one has few tools, one model of Copilot CLI, and no agents or skills to speak of."""


def print_report(measured: Json) -> None:
    home, summaries = measured["home"], measured["home"]["summaries"]
    print(f"{measured['machine']}; seed {measured['seed']}; {measured['ccusage'] or 'no ccusage'}")
    print(f"home: {home['sessions']:,} sessions, {home['bytes'] / MIB:,.0f} MiB; ", end="")
    print(f"{summaries['conversations']:,} of them of Copilot CLI, with {summaries['tokens']:,} tokens")
    for about in measured["archives"].values():
        counts = ", ".join(f"{about[name]:,} {name.replace('_', ' ')}s" for name in about if name != "bytes")
        print(f"archive: {counts}; {about['bytes'] / MIB:,.0f} MiB")
    again = measured["scanned_again"]
    state = "up to date" if not again["read"] else "NOT up to date"
    print(f"the archive is {state}: another scan read {again['read']:,} of {again['seen']:,} files")
    if measured["contenders"]:
        _print_race(measured["contenders"])
    if any(measured["sections"].values()):
        _print_sections(measured["sections"])
    for name, line in measured["statusline"].items():
        if line:
            _print_statusline(name, line)
    for line in measured["missing"]:
        print(f"\nmissing: {line}")
    print(f"\n{CAVEATS}")


def _print_race(rows: dict[str, Json]) -> None:
    heads = "".join(f"{head:>10}" for head in ("seconds", "median", "CPU", "median"))
    print(f"\n{'whole processes':28}{heads}{'conversations':>15}{'tokens':>16}")
    for name, row in rows.items():
        times = "".join(f"{row[key]:>10.3f}" for key in RATIOS)
        print(f"{name:28}{times}{row['told']['conversations']:>15,}{row['told']['tokens']:>16,}")
    for ours in (name for name in rows if name.startswith(OURS)):
        for other in (name for name in rows if not name.startswith(OURS)):
            ratios = ", ".join(f"{rows[ours][key] / rows[other][key]:.2f} {words}" for key, words in RATIOS.items())
            print(f"{ours} to {other}: {ratios}")


def _print_sections(sections: dict[str, dict[str, Json]]) -> None:
    small, large = sections.get("archive", {}), sections.get("large_archive", {})
    print(f"\n{'section, ms':24}{'archive':>10}" + (f"{'larger':>10}{'times':>8}" if large else ""))
    for name, spread in small.items():
        line = f"{name:24}{spread['seconds'] * 1000:>10.1f}"
        if name in large:
            grown = large[name]["seconds"]
            line += f"{grown * 1000:>10.1f}{grown / max(spread['seconds'], 1e-9):>8.1f}"
        print(line)
    sums = [sum(spread["seconds"] for spread in each.values()) for each in (small, large) if each]
    times = f"{sums[1] / sums[0]:>8.1f}" if len(sums) > 1 and sums[0] else ""
    print(f"{'all of them':24}" + "".join(f"{seconds * 1000:>10.1f}" for seconds in sums) + times)


def _print_statusline(archive: str, line: Json) -> None:
    print(f"\ncopilog statusline, {archive.replace('_', ' ')}: {line['line']}")
    for name, text in (("own", "its own work"), ("whole", "whole process"), ("python", "Python doing nothing")):
        spread = line[name]
        more = f", CPU {spread['cpu_seconds'] * 1000:.1f} ms ({WANTED_MS} ms is wanted)" if name == "own" else ""
        print(f"{text:24}{spread['seconds'] * 1000:>10.1f} ms, median {spread['median_seconds'] * 1000:.1f} ms{more}")
