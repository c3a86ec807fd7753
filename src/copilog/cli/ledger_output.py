"""What commands that read long files share: a bar over bytes, columns, and ledgers as text and as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from copilog.cli.common import Settings, plural
from copilog.diagnostics import Ledger, add_counts

if TYPE_CHECKING:
    from rich.text import Text

MIB = 1 << 20


@contextmanager
def reading_bar(settings: Settings, paths: Iterable[str | Path]) -> Iterator[Callable[[int], None]]:
    """Show a bar over the bytes of some files; call what it yields with the number of bytes read."""
    from copilog.cli.extract import progress_bar

    total = sum(Path(path).stat().st_size for path in paths)
    done = shown = 0
    with progress_bar(settings) as show:

        def heard(read: int) -> None:
            nonlocal done, shown
            done += read
            if show is not None and done - shown >= MIB:
                shown = done
                show("reading", done, total)

        yield heard


def safe_line(text: str) -> str:
    """Return text from outside as one line that is safe to print."""
    from copilog.view.terminal_text import clean_line

    return clean_line(text)


def ledger_entry(ledger: Ledger) -> dict[str, Any]:
    """Return the ledger of one file as data."""
    return {
        "path": ledger.path,
        "seen": ledger.seen,
        "used": ledger.used,
        "ignored": ledger.ignored,
        "bad": ledger.bad_count(),
        "first_bad": [
            {"line": bad.line, "offset": bad.offset, "code": bad.code, "reason": bad.reason} for bad in ledger.bad
        ],
        "notes": [{"code": note.code, "reason": note.reason} for note in ledger.notes],
    }


def print_bad_records(ledgers: Iterable[Ledger], most: int | None) -> None:
    """Print files that could not be read, and the positions of bad records up to a number, to standard error."""
    books = list(ledgers)
    for note in (note for ledger in books for note in ledger.notes if note.level != "info" or most is None):
        click.echo(safe_line(f"{note.place()}: {note.reason}  [{note.code}]"), err=True)
    shown = [bad for ledger in books for bad in ledger.bad][:most]
    for bad in shown:
        click.echo(safe_line(f"{bad.place()}: {bad.reason}  [{bad.code}]"), err=True)
    hidden = sum(ledger.bad_count() for ledger in books) - len(shown)
    if shown and hidden:
        where = "" if most is None else " (-v shows them)"
        click.echo(f"and {hidden:,} more bad {plural(hidden, 'record')}{where}", err=True)


def figures(ledgers: Iterable[Ledger]) -> str:
    """Return counts such as `12 records seen in 1 file: 9 used, 2 ignored (other_event 2), 1 bad`."""
    books = list(ledgers)
    seen, used = sum(ledger.seen for ledger in books), sum(ledger.used for ledger in books)
    bad = sum(ledger.bad_count() for ledger in books)
    ignored = add_counts(ledger.ignored for ledger in books)
    reasons = ", ".join(f"{reason} {number:,}" for reason, number in sorted(ignored.items()))
    return (
        f"{seen:,} {plural(seen, 'record')} seen in {len(books):,} {plural(len(books), 'file')}: {used:,} used, "
        f"{sum(ignored.values()):,} ignored{f' ({reasons})' if reasons else ''}, {bad:,} bad"
    )


def print_columns(settings: Settings, heads: list[str], rows: list[list[Text]], *, right: int = 1) -> None:
    """Print columns side by side, the first ones right-aligned. Lines are cut to the width of a terminal."""
    from rich.text import Text

    table = [[Text(head, "bold") for head in heads], *rows]
    widths = [max(row[column].cell_len for row in table) for column in range(len(heads))]
    for row in table:
        line = Text(no_wrap=True)
        for column, (cell, width) in enumerate(zip(row[:-1], widths[:-1], strict=True)):
            cell.align("right" if column < right else "left", width)
            line.append_text(cell).append("  ")
        line.append_text(row[-1])
        if settings.out.is_terminal:
            line.truncate(settings.out.width, overflow="ellipsis")
        settings.out.print(line, crop=False, overflow="ignore")
