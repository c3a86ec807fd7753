"""`copilog inspect`"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from copilog.cli.common import EMPTY, Settings, json_option, pass_settings, plural, printable, strict_option
from copilog.cli.json_output import print_json
from copilog.diagnostics import Diagnostic, LeafCounts, Ledger, Tally, add_counts
from copilog.sources import SOURCES


class SourceName(click.Choice):  # type: ignore[type-arg] # it has none in older releases
    """The name of a format. For any other name, the error has the nearest ones."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from difflib import get_close_matches

        if value not in self.choices:
            near = get_close_matches(str(value), self.choices, 3, 0)
            self.fail(f"there is no format {printable(str(value))!r}; the nearest are {', '.join(near)}", param, ctx)
        return value


@click.command(
    "inspect",
    epilog="""\b
Examples:
  copilog inspect chat.json
  copilog inspect ~/.config/Code/User/workspaceStorage
  copilog inspect --json backup/ | jq .totals""",
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@click.option(
    "--source",
    metavar="NAME",
    type=SourceName([source.name for source in SOURCES]),
    help="Read all files as this format, instead of detecting it.",
)
@click.option("-v", "--verbose", is_flag=True, help="Also list files of unknown format, and all remarks.")
@json_option
@strict_option
@pass_settings
def command(
    settings: Settings,
    paths: tuple[Path, ...],
    source: str | None,
    verbose: bool,
    as_json: bool,
    strict: bool | None,
) -> int:
    """Report what was read of each file, and what was not.

    Every record is counted as used, as ignored (with the reason), or as bad (with its position and the reason). Every
    text of 12 characters or more is counted as present in the conversations, as left out for a reason, or as
    unaccounted for. Files of unknown format inside a folder are skipped.
    """
    from copilog.ingest import inspect
    from copilog.ingest.skipped import is_skipped

    ledgers: list[Ledger] = []
    with settings.progress("reading") as advance:
        for ledger in inspect(paths, source=source):
            ledgers.append(ledger)
            advance()
    if as_json:
        document = {"files": [file_entry(ledger) for ledger in ledgers], "totals": totals_of(ledgers)}
        print_json(document)
    else:
        _print(settings, ledgers, verbose)
    known = [ledger for ledger in ledgers if ledger.source is not None]
    skipped = sum(map(is_skipped, ledgers))
    bad = sum(ledger.bad_count() + ledger.parts.bad_count() for ledger in ledgers)
    broken = any(note.code == "crash" for ledger in ledgers for note in ledger.notes)
    conversations = sum(ledger.conversations for ledger in known)
    click.echo(
        f"{conversations:,} {plural(conversations, 'conversation')} in {len(known):,} {plural(len(known), 'file')}"
        f"; {len(ledgers) - len(known) - skipped:,} of unknown format; {bad:,} bad {plural(bad, 'record')}"
        f"{f'; {skipped:,} not read' if skipped else ''}",
        err=True,
    )
    is_imperfect = bad or len(known) < len(ledgers)
    return 1 if broken or (is_imperfect and settings.is_strict(strict)) else 0


# --- as JSON ----------------------------------------------------------------------------------------------------


def file_entry(ledger: Ledger) -> dict[str, Any]:
    """Return the ledger of one file."""
    return {
        "path": ledger.path,
        "source": ledger.source,
        "conversations": ledger.conversations,
        **_counts(ledger),
        "unknown": add_counts([ledger.unknown, ledger.parts.unknown]),
        "parts": {**_counts(ledger.parts), "unknown": ledger.parts.unknown},
        "notes": [_entry(note) for note in ledger.notes],
        **({"leaves": _leaves_entry(ledger.leaves)} if ledger.leaves is not None else {}),
    }


def _leaves_entry(leaves: LeafCounts) -> dict[str, Any]:
    return {
        "seen": leaves.seen(),
        "found": leaves.found,
        "ids": leaves.ids,
        "reasons": leaves.reasons,
        "unaccounted": leaves.unaccounted,
    }


def _counts(tally: Tally) -> dict[str, Any]:
    return {
        "seen": tally.seen,
        "used": tally.used,
        "ignored": tally.ignored,
        "bad": [_entry(diagnostic) for diagnostic in tally.bad],
    }


def _entry(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return a diagnostic as data: its position, code and reason."""
    place = {
        name: value
        for name in ("line", "offset", "pointer", "table", "row")
        if (value := getattr(diagnostic, name)) is not None
    }
    return {**place, "code": diagnostic.code, "level": diagnostic.level, "reason": diagnostic.reason}


def totals_of(ledgers: Iterable[Ledger], files: int | None = None) -> dict[str, Any]:
    """Return the totals of all files; `files` is their number, if some ledgers are totals already."""
    books = list(ledgers)
    parts = [ledger.parts for ledger in books]
    return {
        "files": len(books) if files is None else files,
        "conversations": sum(ledger.conversations for ledger in books),
        **_sums(books),
        "unknown": add_counts([count for ledger in books for count in (ledger.unknown, ledger.parts.unknown)]),
        "parts": {**_sums(parts), "unknown": add_counts([tally.unknown for tally in parts])},
        "notes": add_counts([{note.code: 1} for ledger in books for note in ledger.notes]),
        **({"leaves": _leaves_entry(leaves)} if (leaves := all_leaves(books)) is not None else {}),
    }


def all_leaves(ledgers: Iterable[Ledger]) -> LeafCounts | None:
    """Return the leaves of all files together; None if none were counted."""
    walked = [ledger.leaves for ledger in ledgers if ledger.leaves is not None]
    total = LeafCounts()
    for leaves in walked:
        total.add(leaves)
    return total if walked else None


def _sums(tallies: Iterable[Tally]) -> dict[str, Any]:
    books = list(tallies)
    return {
        "seen": sum(tally.seen for tally in books),
        "used": sum(tally.used for tally in books),
        "ignored": add_counts([tally.ignored for tally in books]),
        "bad": sum(tally.bad_count() for tally in books),
    }


# --- as text ----------------------------------------------------------------------------------------------------


def _print(settings: Settings, ledgers: list[Ledger], verbose: bool) -> None:
    from rich.text import Text

    from copilog.ingest.skipped import is_skipped

    for ledger in ledgers:
        if is_skipped(ledger):
            settings.out.print(Text(f"{printable(ledger.path)}  not read", "bold"))
            _print_diagnostics(settings, ledger, verbose)
            continue
        if ledger.source is None:
            is_empty = any(note.code == "empty-file" for note in ledger.notes)
            if verbose or is_empty:
                settings.out.print(Text(f"{printable(ledger.path)}  {EMPTY if is_empty else 'unknown format'}", "dim"))
            continue
        line = Text(printable(ledger.path), "bold")
        line.append(f"  {ledger.source}", "cyan")
        line.append(f"  {ledger.conversations:,} {plural(ledger.conversations, 'conversation')}")
        line.append(f"  records {_figures(ledger)}", "dim")
        if ledger.parts.seen:
            line.append(f"  parts {_figures(ledger.parts)}", "dim")
        settings.out.print(line)
        for kind, number in add_counts([ledger.unknown, ledger.parts.unknown]).items():
            settings.out.print(Text(f"    unknown kind {printable(kind)}: {number:,}", "yellow"))
        _print_diagnostics(settings, ledger, verbose)
        for path, number in (ledger.leaves.unaccounted if ledger.leaves is not None else {}).items():
            settings.out.print(Text(f"    {printable(path)}: {number:,} {plural(number, 'text')} unaccounted", "red"))
    _print_leaves(settings, all_leaves(ledgers))


def _print_leaves(settings: Settings, leaves: LeafCounts | None) -> None:
    """Print how many texts were stored, ignored or are unaccounted for, by reason."""
    from rich.table import Table

    if leaves is None or not leaves.seen():
        return
    table = Table(box=None, padding=(0, 2), title="Texts of 12 characters or more", title_justify="left")
    table.add_column("texts", justify="right")
    table.add_column("")
    table.add_row(f"{leaves.found:,}", "present in the conversations")
    table.add_row(f"{leaves.ids:,}", "ids and times")
    for reason, number in sorted(leaves.reasons.items()):
        table.add_row(f"{number:,}", reason)
    table.add_row(f"{sum(leaves.unaccounted.values()):,}", "unaccounted")
    settings.out.print(table)


def _figures(tally: Tally) -> str:
    figures = f"{tally.seen:,} seen, {tally.used:,} used"
    for reason, number in tally.ignored.items():
        figures += f", {number:,} ignored ({reason})"
    if tally.bad_count():
        figures += f", {tally.bad_count():,} bad"
    return figures


def _print_diagnostics(settings: Settings, ledger: Ledger, verbose: bool) -> None:
    from rich.text import Text

    styles = {"error": "red", "warning": "yellow", "info": "dim"}
    for diagnostic in ledger.diagnostics():
        if diagnostic.level == "info" and not verbose:
            continue
        place = diagnostic.place().removeprefix(diagnostic.path).lstrip(":#") or "whole file"
        line = Text(f"    {printable(place)}: {printable(diagnostic.reason)}", styles[diagnostic.level])
        line.append(f"  [{diagnostic.code}]", "dim")
        if diagnostic.advice and verbose:
            line.append(f"  {diagnostic.advice}", "dim")
        settings.out.print(line)
