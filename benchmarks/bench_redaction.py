"""What redaction finds, what it takes for a secret and is none, and how fast it is; written into docs/redaction.md.

    python -m benchmarks.bench_redaction [--cases 20] [--seed 1] [--megabytes 100] [--write]

Secrets and look-alikes are made up from the seed, by `tests/redaction`, which knows nothing of the detectors. If
detect-secrets is installed (it is no dependency), it is measured beside.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from copilog.cli.common import default_jobs
from copilog.engine import engine_for
from copilog.redaction import Redactor, find_in_each, leaves_of
from tests.redaction.lookalikes import LOOKALIKES
from tests.redaction.places import HARD_PLACES, PLACES, Place, conversation_with, fits, is_left
from tests.redaction.shapes import HARD, PROVIDERS, SHAPES, TOKENS, Shape

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "redaction.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
SOURCES = {
    "the sample": (ROOT / "src" / "copilog" / "sample",),
    "the project's sources, tests and documents": tuple(ROOT / name for name in ("src", "tests", "docs", "benchmarks")),
    "its lock files": (ROOT / "requirements", ROOT / "assets"),
}
SUFFIXES = {".py", ".js", ".css", ".html", ".json", ".jsonl", ".md", ".txt", ".toml", ".yaml", ".yml", ".log", ".sh"}
MEGA = 1_000_000
LISTED_MISSES = 40
RIVAL_CHARACTERS = 1_000_000  # of the texts that a rival is measured with


class Recall(NamedTuple):
    shape: Shape
    place: Place
    tried: int
    found: int


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_redaction", description=__doc__)
    parser.add_argument("--cases", type=int, default=20, help="secrets of each shape in each place (20)")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other secrets (1)")
    parser.add_argument("--megabytes", type=int, default=100, help="how much text is scanned for the speed (100)")
    parser.add_argument("--write", action="store_true", help="write the result into docs/redaction.md")
    options = parser.parse_args()
    lines = "\n".join(measured(options.cases, options.seed, options.megabytes))
    if not options.write:
        print(lines)
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{lines}\n\n{END}{after}", encoding="utf-8")


def measured(cases: int, seed: int, megabytes: int) -> Iterator[str]:
    """Yield the lines of the page."""
    rng = random.Random(seed)
    recalls = [_recall(shape, place, cases, rng) for shape in SHAPES for place in PLACES if fits(shape, place)]
    yield f"By `python -m benchmarks.bench_redaction --write`: seed {seed}, {cases} secrets of each shape and place."
    yield from ("", "### How fast", "", *_speed(megabytes))
    yield from ("", "### What is found", "", *_recall_table(recalls))
    yield from ("", "### What is missed", "", *_misses(recalls), "", *_hard(cases, rng))
    yield from ("", "### What is taken for a secret and is none", "", *_false_hits(seed))
    yield from ("", "### Beside a library", "", *_rivals(seed))


# --- recall -----------------------------------------------------------------------------------------------------------


def _recall(shape: Shape, place: Place, cases: int, rng: random.Random) -> Recall:
    found = 0
    for _ in range(cases):
        planted = shape.make(rng)
        made = Redactor().value(conversation_with(planted, place, rng))
        found += not is_left(planted, place, made)
    return Recall(shape, place, cases, found)


def _recall_table(recalls: Sequence[Recall]) -> Iterator[str]:
    tried, found = sum(each.tried for each in recalls), sum(each.found for each in recalls)
    yield (
        f"{_share(found, tried)} % of {tried:,} secrets of {len(SHAPES)} shapes, of {len(PROVIDERS)} providers and of "
        f"no provider, in {len(PLACES)} places. In percent; a dash: such a text cannot stand there."
    )
    yield ""
    yield f"| Shape | {' | '.join(place.name for place in PLACES)} |"
    yield f"|---|{'---|' * len(PLACES)}"
    by_cell = {(each.shape.name, each.place.name): each for each in recalls}
    for shape in SHAPES:
        cells = [by_cell.get((shape.name, place.name)) for place in PLACES]
        shares = ["–" if cell is None else _share(cell.found, cell.tried) for cell in cells]
        yield f"| {shape.name} | {' | '.join(shares)} |"
    totals = [[each for each in recalls if each.place == place] for place in PLACES]
    shares = [_share(sum(each.found for each in column), sum(each.tried for each in column)) for column in totals]
    yield f"| **all** | {' | '.join(shares)} |"


def _misses(recalls: Sequence[Recall]) -> Iterator[str]:
    missed = sorted((each for each in recalls if each.found < each.tried), key=lambda each: each.found - each.tried)
    if not missed:
        yield "None in this run."
    for each in missed[:LISTED_MISSES]:
        yield f"- {each.shape.name} in {each.place.name}: {each.tried - each.found} of {each.tried}"
    if len(missed) > LISTED_MISSES:
        yield f"- and {len(missed) - LISTED_MISSES} more cells of the table"


def _hard(cases: int, rng: random.Random) -> Iterator[str]:
    """Yield how much is found of what says little by its form, and in encodings that are not decoded."""
    yield "The shapes above are those that redaction knows. These are harder, and show where it ends:"
    yield ""
    yield "| | found, in percent |"
    yield "|---|---|"
    for shape in HARD:
        recall = _recall(shape, PLACES[0], cases, rng)
        yield f"| {shape.name} | {_share(recall.found, recall.tried)} |"
    for place in HARD_PLACES:
        recalls = [_recall(shape, place, 1, rng) for shape in TOKENS]
        yield f"| tokens of providers: {place.name} | {_share(sum(each.found for each in recalls), len(recalls))} |"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}".rstrip("0").rstrip(".") if whole else "–"


# --- false hits -------------------------------------------------------------------------------------------------------


def _false_hits(seed: int) -> Iterator[str]:
    yield "Names are e-mail addresses, users in home paths and hosts; those of the sample and the tests are made up."
    yield ""
    yield "| Text | MB | secrets | a MB | names | a MB |"
    yield "|---|---|---|---|---|---|"
    listed: list[str] = []
    rng = random.Random(seed)
    texts: dict[str, dict[str, str]] = {name: dict(_texts(folders)) for name, folders in SOURCES.items()}
    texts |= {f"look-alikes: {name}": {str(n): make(rng) for n in range(20)} for name, make in LOOKALIKES.items()}
    for name, files in texts.items():
        found = [
            (path, leaf)
            for path, findings in zip(files, find_in_each(list(files.values())), strict=True)
            for finding in findings
            for leaf in leaves_of(finding)
        ]
        size = sum(map(len, files.values())) / MEGA
        secrets = [(path, leaf) for path, leaf in found if not leaf.is_personal]
        names = len(found) - len(secrets)
        yield f"| {name} | {size:.1f} | {len(secrets)} | {len(secrets) / size:.2f} | {names} | {names / size:.1f} |"
        counts = Counter((path, leaf.kind, leaf.evidence) for path, leaf in secrets)
        listed += [f"- `{path}`: {count} {kind} ({why})" for (path, kind, why), count in counts.items()]
    if listed:
        yield from ("", "What was taken for secrets:", "", *listed)


def _texts(folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix in SUFFIXES and path != PAGE and "vendor" not in path.parts:
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8", errors="replace")


# --- speed ------------------------------------------------------------------------------------------------------------


def _speed(megabytes: int) -> Iterator[str]:
    own = [text for _, text in _texts(SOURCES["the project's sources, tests and documents"])]
    texts: list[str] = []
    while sum(map(len, texts)) < megabytes * MEGA:
        texts += own
    batches = [texts[at : at + 100] for at in range(0, len(texts), 100)]
    size = sum(map(len, texts)) / MEGA
    yield f"{size:.0f} MB of text, as the sources of this project have it, scanned with all detectors:"
    yield ""
    yield "| Processes | seconds | of processors | MB a second |"
    yield "|---|---|---|---|"
    for jobs in sorted({1, default_jobs()}):
        spent = _processor_seconds()
        with engine_for(jobs) as engine:
            began = time.perf_counter()
            for _ in engine.map(find_in_each, batches):
                pass
            seconds = time.perf_counter() - began
        yield f"| {jobs} | {seconds:.1f} | {_processor_seconds() - spent:.1f} | {size / seconds:.0f} |"
    began = time.process_time()
    find_in_each(own)
    seconds = time.process_time() - began
    yield ""
    rate = sum(map(len, own)) / MEGA / seconds
    yield (
        "Other programs ran at the same time: seconds of processors, divided by their number, are what an idle machine "
        f"needs. One core scans {rate:.0f} MB in a second of its own."
    )


def _processor_seconds() -> float:
    """Return what this process and its ended children have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


# --- libraries --------------------------------------------------------------------------------------------------------


def _rivals(seed: int) -> Iterator[str]:
    if importlib.util.find_spec("detect_secrets") is None:
        yield "Not measured: detect-secrets is not installed."
        return
    from importlib.metadata import version

    rng = random.Random(seed)
    lines = {shape.name: [f"Use this: {shape.make(rng).text} now" for _ in range(10)] for shape in TOKENS}
    text = "\n".join(text for _, text in _texts(SOURCES["the project's sources, tests and documents"]))[
        :RIVAL_CHARACTERS
    ]
    rivals: dict[str, Callable[[str], int]] = {
        "copilog": _own,
        f"detect-secrets {version('detect-secrets')}": _detect_secrets,
    }
    yield (
        f"Each of {len(TOKENS)} shapes of tokens ten times, alone in a line; and {RIVAL_CHARACTERS / MEGA:.0f} MB of "
        "the project's own text. Seconds are those of the processor."
    )
    yield ""
    yield "| | tokens found | MB a second | false hits a MB |"
    yield "|---|---|---|---|"
    for name, scan in rivals.items():
        found = scan("\n".join(line for made in lines.values() for line in made))
        began = time.process_time()
        hits = scan(text)
        seconds = time.process_time() - began
        share = _share(found, sum(map(len, lines.values())))
        yield f"| {name} | {share} % | {len(text) / MEGA / seconds:.2f} | {hits / (len(text) / MEGA):.0f} |"


def _own(text: str) -> int:
    """Return how many lines of a text have a secret."""
    return sum(any(not each.is_personal for each in found) for found in find_in_each(text.split("\n")))


def _detect_secrets(text: str) -> int:
    """Return how many lines of a text have a finding, by the defaults of the library for files."""
    from detect_secrets.core.scan import scan_file  # type: ignore[import-not-found,unused-ignore]
    from detect_secrets.settings import default_settings  # type: ignore[import-not-found,unused-ignore]

    with tempfile.TemporaryDirectory() as folder, default_settings():
        path = Path(folder, "text.txt")
        path.write_text(text, encoding="utf-8")
        return len({secret.line_number for secret in scan_file(str(path))})


if __name__ == "__main__":
    main()
