"""The page docs/formats/leaves.md: run as a module to write it anew after a rule or a sample has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from copilog import ingest
from copilog.diagnostics import Ledger
from copilog.ingest.leaves.rules import PROTECTED, RULES
from copilog.sources import SOURCES

PAGE = Path(__file__).parent.parent / "docs" / "formats" / "leaves.md"
DATA = Path(__file__).parent / "data"
# In recorded runs of real programs texts are masked; the comparison with their truth has its own count of such texts.
SAMPLES = sorted(path for path in DATA.iterdir() if path.is_dir() and path.name != "conformance")
BEGINNING = """# Texts that are not in the conversation

`copilog inspect` walks every text of 12 characters or more (a leaf) of a file, and looks for it in the conversations
that were read from that file, outside of `extra`. It is found if it is there as it is, or inside a longer text, or
line by line in the order of one text; in the spelling that a reader gives it (addresses decoded, links with their
names, base64 as bytes). A part of a kind that nobody has described is stored as it is, so its texts are found; its kind
is counted as unknown. JSON inside a string is walked too, below `#`. Ids and times are counted apart: by their shape
(UUIDs, hexadecimal, numbers, known prefixes), or by a name such as `id` or `requestId` and having no space.

Everything else needs a reason from [the list](../diagnostics.md#texts), given by its path. Paths are written with `*`
for items of lists and for keys that are data; in a rule `**` stands for any number of names and `{a,b}` for either.
What people and models wrote is protected: no rule covers such a path. A text at a path that no rule names is
unaccounted for, and the tests fail. Run `python -m tests.leaf_table` to write this page anew.
"""


def page() -> str:
    return (
        "\n".join(
            [
                BEGINNING,
                *_counts(ingest.inspect(SAMPLES)),
                "",
                *_rules(),
            ]
        ).rstrip()
        + "\n"
    )


def _counts(ledgers: Iterable[Ledger]) -> list[str]:
    """How many leaves the samples have, by source and by what became of them."""
    counts: dict[str, Counter[str]] = {source.name: Counter() for source in SOURCES}
    for ledger in ledgers:
        if ledger.source is not None and ledger.leaves is not None:
            found = {"found again": ledger.leaves.found, "id or time": ledger.leaves.ids}
            counts[ledger.source].update(found | ledger.leaves.reasons)
    lines = ["## By source and reason", "", "Leaves of the samples in `tests/data`.", ""]
    lines += ["| Source | Reason | Leaves |", "|---|---|---|"]
    for source, by_reason in counts.items():
        lines += [
            f"| `{source}` | {reason} | {by_reason[reason]} |" for reason in sorted(by_reason) if by_reason[reason]
        ]
    return lines


def _rules() -> list[str]:
    lines: list[str] = []
    sources = [source.name for source in SOURCES]
    written: set[str] = set()
    for source in sources:
        alike = [
            name
            for name in sources
            if (RULES.get(name), PROTECTED.get(name)) == (RULES.get(source), PROTECTED.get(source))
        ]
        if source in written or (source not in RULES and source not in PROTECTED):
            continue
        written.update(alike)
        lines += ["## " + ", ".join(alike), "", "| Path | Reason |", "|---|---|"]
        lines += [f"| `{pattern}` | {reason} |" for pattern, reason in RULES.get(source, ())]
        lines += [f"| `{pattern}` | protected |" for pattern in PROTECTED.get(source, ())]
        lines.append("")
    return lines


if __name__ == "__main__":
    PAGE.write_text(page())
