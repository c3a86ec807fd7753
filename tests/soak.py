"""Runs the random tests in large numbers and prints a table for docs/reliability.md: `make soak`."""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from copilog import __version__

PROJECT = Path(__file__).parent.parent
KINDS = {
    "fuzz": "Made-up files, records, texts and queries of any shape; laws of merging",
    "flips": "Sample files with wrong bytes, and with values of another type",
    "kills": "Scans and writers ended by SIGKILL at a random moment, then taken up",
    "archives": "Archives with wrong bits, zeroed and lost pages: checked and salvaged",
    "memory": "Commands on sessions of 160 MB, damaged and in UTF-16, too: nothing is in memory twice",
    "widths": "Pages of the viewer at a random width, in Chromium: nothing sticks out",
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--times", type=int, default=10, help="how many times the counts of `make test`")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 1 << 31))
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    chosen = parser.parse_args(arguments)
    folder = PROJECT / "build"
    folder.mkdir(exist_ok=True)
    say(f"seed {chosen.seed}, {chosen.times} times the counts of `make test`\n")
    started = time.monotonic()
    code = run(chosen.times, chosen.seed, chosen.kinds, folder / "soak.xml")
    table = table_of(folder / "soak.xml", chosen.times, chosen.seed, time.monotonic() - started)
    (folder / "soak.md").write_text(table, encoding="utf-8")
    say(table)
    return code


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def run(times: int, seed: int, kinds: list[str], results: Path) -> int:
    """Run the tests; return the exit code of pytest."""
    environment = {**os.environ, "COPILOG_SOAK": str(times), "COPILOG_SOAK_SEED": str(seed)}
    marks = " or ".join(f"soak(kind='{kind}')" for kind in kinds)
    options = ["-q", "-m", marks, "-n", "auto", f"--hypothesis-seed={seed}", f"--junit-xml={results}"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options], cwd=PROJECT, env=environment, check=False
    ).returncode


def table_of(results: Path, times: int, seed: int, seconds: float) -> str:
    """Return the table of a run as Markdown."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for case in ElementTree.parse(results).iter("testcase"):
        properties = {one.get("name"): one.get("value") or "" for one in case.iter("property")}
        if (kind := properties.get("soak")) not in counts:
            continue
        has_failed = case.find("failure") is not None or case.find("error") is not None
        counts[kind] += Counter(
            tests=1,
            cases=int(properties.get("cases") or 1),
            failed=int(has_failed),
            skipped=len(case.findall("skipped")),
        )
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    conditions = f"{os.cpu_count()} cores, {seconds / 60:.1f} minutes"
    lines = [
        f"copilog {__version__}, {today}, seed {seed}, {times} times the counts of `make test`, {conditions}.",
        "",
        "| Kind | What | Tests | Cases | Failed | Skipped |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for kind, what in KINDS.items():
        row = counts[kind]
        numbers = " | ".join(f"{row[name]:,}" for name in ("tests", "cases", "failed", "skipped"))
        lines.append(f"| `{kind}` | {what} | {numbers} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
