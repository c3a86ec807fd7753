"""Conversations that the archive cannot take, told in the books of the file that holds them; and files that refuse."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from copilog.diagnostics import Ledger

if TYPE_CHECKING:
    from copilog.store.entries import Entry


class Refusal(NamedTuple):
    """What there is to tell: little, as the conversation itself is large."""

    source: str
    path: str
    row: str  # how the books of a file of many conversations name this one
    reason: str


def refusal_of(entry: Entry) -> Refusal:
    """Why a conversation is not stored, and which file it was read from."""
    trace = min(entry.traces, key=lambda trace: trace.role != "lead")
    reason = f"the conversation has {len(entry.messages) - 1:,} messages, more than the archive can number"
    return Refusal(trace.source, trace.path, f"{trace.path}#{entry.id.partition(':')[2]}", reason)


def tell_refusals(refusals: Iterable[Refusal], books: list[Ledger]) -> None:
    """Write them into the books of their files, which are begun where there are none."""
    for refusal in refusals:
        ledger = next((book for book in books if book.path in (refusal.path, refusal.row)), None)
        if ledger is None:
            ledger = Ledger(path=refusal.row, source=refusal.source)
            books.append(ledger)
        ledger.note("too-many-messages", refusal.reason, "error")


def could_not_be_read(ledger: Ledger) -> bool:
    """Whether the system would not let anybody read a file; later it may."""
    return any(note.code == "unreadable" for note in ledger.notes)
