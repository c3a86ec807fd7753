"""`copilog compare`"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import click

from copilog.cli.common import Settings, json_option, pass_settings, plural
from copilog.cli.comparison_output import (
    difference_text,
    existing_file,
    position_entry,
    print_positions,
    report_repeats,
)
from copilog.cli.json_output import print_json
from copilog.cli.ledger_output import ledger_entry, print_bad_records, print_columns, reading_bar, safe_line
from copilog.exports.json_text import json_text
from copilog.trajectory_compare import (
    Comparison,
    Difference,
    Summary,
    compare_files,
    compare_trajectories,
    find_conversation,
    read_back,
)

MOST_SHOWN = 10


@click.command(
    "compare",
    epilog="""\b
Examples:
  copilog compare before.jsonl after.jsonl
  copilog compare before.jsonl after.jsonl --id 5f0c2a9e
  copilog compare --json --ignore-provenance before.jsonl after.jsonl | jq .summary""",
)
@click.argument("old", type=existing_file, metavar="OLD")
@click.argument("new", type=existing_file, metavar="NEW")
@click.option(
    "--id",
    "wanted",
    metavar="CID",
    help="Compare only this conversation, field by field. The beginning of its id is enough.",
)
@click.option(
    "--ignore-provenance",
    is_flag=True,
    help="Do not compare the names of events and input files, which depend on the folder that was read.",
)
@click.option(
    "-v", "--verbose", is_flag=True, help=f"Print all differences, not only the first {MOST_SHOWN} of each list."
)
@json_option
@pass_settings
def command(
    settings: Settings,
    old: Path,
    new: Path,
    wanted: str | None,
    ignore_provenance: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Compare two files of trajectories by conversation.

    Reports which conversations are equal, which differ in their payload (messages, metadata, modes, provenance) or
    only in their context, and which are in one file only. A null field counts as absent. The exit code is 0 if the
    files have equal conversations in the same order, and 1 if not, or if lines could not be read.
    """
    ignored = frozenset(["provenance"] if ignore_provenance else [])
    most = None if verbose else MOST_SHOWN
    if wanted is not None:
        return _deep_dive(settings, old, new, wanted, ignored, most, as_json)
    with _comparing(settings, old, new) as comparison:
        summary = comparison.summary(ignored)
        if as_json:
            _print_json(comparison, summary, ignored)
        else:
            _print(settings, comparison, summary, ignored, most)
    print_bad_records([summary.old, summary.new], most)
    click.echo(_closing_line(summary), err=True)
    return 0 if summary.is_equal else 1


@contextmanager
def _comparing(settings: Settings, old: Path, new: Path) -> Iterator[Comparison]:
    with ExitStack() as stack:
        with reading_bar(settings, [old, new]) as heard:  # closed before anything is printed
            comparison = stack.enter_context(compare_files(old, new, heard))
        yield comparison


# --- as JSON ----------------------------------------------------------------------------------------------------


def _print_json(comparison: Comparison, summary: Summary, ignored: frozenset[str]) -> None:
    """Print the numbers, then the lists item by item, as they may be as long as the files."""
    import msgspec

    numbers = msgspec.to_builtins(summary)
    del numbers["old"], numbers["new"]
    document = {
        "is_equal": summary.is_equal,
        "old": ledger_entry(summary.old),
        "new": ledger_entry(summary.new),
        "summary": {**numbers, "order": summary.order._asdict() if summary.order is not None else None},
    }
    lists: dict[str, Iterable[dict[str, Any]]] = {
        "different": ({**pair._asdict(), "verdict": pair.verdict} for pair in comparison.different(ignored)),
        "only_in_old": _positions(comparison.only_in(0)),
        "only_in_new": _positions(comparison.only_in(1)),
        "repeated_in_old": _positions(comparison.repeated_in(0)),
        "repeated_in_new": _positions(comparison.repeated_in(1)),
    }
    click.echo(json_text(document).removesuffix("\n}"), nl=False)
    for name, items in lists.items():
        click.echo(f',\n  "{name}": [', nl=False)
        for number, item in enumerate(items):
            click.echo((",\n    " if number else "\n    ") + json_text(item, is_compact=True), nl=False)
        click.echo("]", nl=False)
    click.echo("\n}")


def _positions(rows: Iterable[tuple[str, int]]) -> Iterator[dict[str, Any]]:
    return ({"conversation_id": conversation_id, "line": line} for conversation_id, line in rows)


# --- as text ----------------------------------------------------------------------------------------------------


def _print(
    settings: Settings, comparison: Comparison, summary: Summary, ignored: frozenset[str], most: int | None
) -> None:
    from rich.text import Text

    sections = ", ".join(f"{name} {number:,}" for name, number in summary.by_section.items() if number)
    numbers = {
        "equal": summary.equal,
        "payload differs": summary.payload,
        "context alone differs": summary.context,
        "only in OLD": summary.only_in_old,
        "only in NEW": summary.only_in_new,
    }
    print_columns(settings, ["number", "conversations"], [[Text(f"{n:,}"), Text(what)] for what, n in numbers.items()])
    if sections:
        settings.out.print(Text(f"\nsections that differ: {sections}", "dim"))
    if summary.order is not None:
        first, was, now = summary.order
        settings.out.print(
            Text(
                f"\norder differs; the first at a different position is {safe_line(first)}, lines {was:,} and {now:,}",
                "yellow",
            )
        )
    for verdict, title in (("payload", "payload differs"), ("context", "context alone differs")):
        pairs = (pair for pair in comparison.different(ignored) if pair.verdict == verdict)
        number = summary.payload if verdict == "payload" else summary.context
        rows = (
            (pair.conversation_id, f"lines {pair.old_line:,} and {pair.new_line:,}: {', '.join(pair.sections)}")
            for pair in pairs
        )
        _print_list(settings, title, rows, number, most)
    lists = (
        ("only in OLD", comparison.only_in(0), summary.only_in_old),
        ("only in NEW", comparison.only_in(1), summary.only_in_new),
        ("repeated in OLD", comparison.repeated_in(0), summary.repeated_in_old),
        ("repeated in NEW", comparison.repeated_in(1), summary.repeated_in_new),
    )
    for title, places, number in lists:
        _print_list(settings, title, ((each, f"line {line:,}") for each, line in places), number, most)


def _print_list(settings: Settings, title: str, rows: Iterable[tuple[str, str]], number: int, most: int | None) -> None:
    from rich.text import Text

    if not number:
        return
    settings.out.print(Text(f"\n{title}", "bold"))
    for conversation_id, words in islice(rows, most):
        settings.out.print(Text.assemble("  ", (safe_line(conversation_id), "cyan"), (f"  {words}", "dim")))
    if most is not None and number > most:
        settings.out.print(Text(f"  and {number - most:,} more (-v lists them)", "dim"))


def _closing_line(summary: Summary) -> str:
    both = summary.equal + summary.payload + summary.context
    line = f"{both:,} {plural(both, 'conversation')} in both files, {summary.equal:,} equal"
    apart = summary.only_in_old + summary.only_in_new
    if apart:
        line += f"; {apart:,} in one of them alone"
    bad = summary.old.bad_count() + summary.new.bad_count()
    return line + (f"; {bad:,} bad {plural(bad, 'line')}" if bad else "")


# --- one conversation -------------------------------------------------------------------------------------------


def _deep_dive(
    settings: Settings, old: Path, new: Path, wanted: str, ignored: frozenset[str], most: int | None, as_json: bool
) -> int:
    with reading_bar(settings, [old, new]) as heard:
        sightings = find_conversation(old, new, wanted, heard)
    sides = [
        (path, sighting, read_back(path, sighting) if sighting is not None else None)
        for path, sighting in zip((old, new), sightings, strict=True)
    ]
    mine, theirs = sides[0][2], sides[1][2]
    found: dict[str, list[Difference]] = {}
    if mine is not None and theirs is not None:
        sections = compare_trajectories(mine, theirs)
        found = {name: items for name, items in sections.items() if name not in ignored}
    report_repeats(sides)
    if as_json:
        name = next(sighting.conversation_id for sighting in sightings if sighting is not None)
        places = {side: position_entry(*each) for side, each in zip(("old", "new"), sides, strict=True)}
        document = {"conversation_id": name, **places, "differences": found}
        print_json(document)
    else:
        print_positions(settings, sides)
        for section, items in found.items():
            _print_differences(settings, section, items, most)
    number = sum(map(len, found.values()))
    is_in_one = mine is None or theirs is None
    click.echo("only one file has it" if is_in_one else f"{number:,} {plural(number, 'difference')}", err=True)
    return 1 if is_in_one or number else 0


def _print_differences(settings: Settings, section: str, items: list[Difference], most: int | None) -> None:
    from rich.text import Text

    settings.out.print(Text(f"\n{section}", "bold"))
    for difference in items[:most]:
        settings.out.print(Text.assemble("  ", (safe_line(difference.path), "cyan"), "  ", difference_text(difference)))
    hidden = len(items) - len(items[:most])
    if hidden:
        settings.out.print(Text(f"  and {hidden:,} more (-v lists them)", "dim"))
