"""Record conversations that the archive cannot store in the ledger of their file; and detect unreadable files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from copilog.diagnostics import Ledger

if TYPE_CHECKING:
    from copilog.store.entries import Entry


class Refusal(NamedTuple):
    """The source, path and reason of a refused conversation, which itself is large."""

    source: str
    path: str
    row: str  # name of this conversation's ledger in a file of many conversations
    reason: str


def refusal_of(entry: Entry) -> Refusal:
    """Return the reason why a conversation is not stored, and the file it was read from."""
    trace = min(entry.traces, key=lambda trace: trace.role != "lead")
    reason = f"the conversation has {len(entry.messages) - 1:,} messages, more than the archive can store"
    return Refusal(trace.source, trace.path, f"{trace.path}#{entry.id.partition(':')[2]}", reason)


def record_refusals(refusals: Iterable[Refusal], books: list[Ledger]) -> None:
    """Record refusals in the ledgers of their files; add a ledger for a file that has none."""
    for refusal in refusals:
        ledger = next((book for book in books if book.path in (refusal.path, refusal.row)), None)
        if ledger is None:
            ledger = Ledger(path=refusal.row, source=refusal.source)
            books.append(ledger)
        ledger.note("too-many-messages", refusal.reason, "error")


def could_not_be_read(ledger: Ledger) -> bool:
    """Return whether the system denied access to a file, which the next scan tries again."""
    return any(note.code == "unreadable" for note in ledger.notes)
