"""The evidence in a range of the input: small values with positions and their meaning, and no texts.

`combine` is associative, commutative and idempotent, so that ranges can be read in any order, by any number of
processes, and twice. Comparisons (which snapshot wins, which fact holds) use the combined evidence.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from copilog.telemetry.events import Place, Seq
from copilog.telemetry.facts import Facts, combine_facts
from copilog.telemetry.model_events import Pieces
from copilog.telemetry.model_events import combine as combine_pieces

MOST_BAD = 100  # positions listed per range; the rest is counted


class Snapshot(msgspec.Struct, frozen=True, gc=False):
    """One `engine.messages` event, or one rebuilt model call, without its texts."""

    file: int
    offset: int
    length: int
    instant: int
    conversation: str  # the id by which facts are looked up; sub-agents also have a key of their own
    letters: str
    others: tuple[str, ...] = ()
    request_id: str | None = None
    message_id: str | None = None
    call_id: str | None = None
    model: str | None = None  # of the last message
    is_base_model: bool = False  # from the answer, not from the request
    is_subagent: bool = False
    is_rebuilt: bool = False
    is_incomplete: bool = False

    @property
    def seq(self) -> Seq:
        return self.file, self.offset

    @property
    def place(self) -> Place:
        return self.file, self.offset, self.length


class Closing(NamedTuple):
    """An answer that could close a conversation: of several the greatest counts (R-30)."""

    instant: int
    minus_file: int
    minus_offset: int
    length: int
    request_id: str | None
    message_id: str | None
    model: str | None

    @property
    def place(self) -> Place:
        return -self.minus_file, -self.minus_offset, self.length


class Closings(msgspec.Struct):
    """The last answers of a conversation."""

    by_call: dict[str, Closing] = {}
    by_request: dict[str, Closing] = {}


class BadPosition(NamedTuple):
    """A record that could not be used, and why."""

    offset: int
    line: int | None  # counted from 0 within the range
    code: str
    reason: str


class RecordCounts(msgspec.Struct):
    """The outcome of the records of one range."""

    seen: int = 0
    used: int = 0
    ignored: dict[str, int] = {}
    bad: int = 0
    bad_positions: list[BadPosition] = []
    lines: int = 0

    def reject(self, place: BadPosition) -> None:
        """Count a bad record, already seen. Only the first positions are listed."""
        self.bad += 1
        if len(self.bad_positions) < MOST_BAD:
            self.bad_positions.append(place)


class Evidence(msgspec.Struct):
    """All evidence after reading."""

    facts: Facts = msgspec.field(default_factory=Facts)
    snapshots: dict[str, dict[Seq, Snapshot]] = {}
    closings: dict[str, Closings] = {}
    contexts: dict[str, dict[str, Place]] = {}  # conversation -> property -> first event that has it
    pieces: Pieces = msgspec.field(default_factory=Pieces)
    books: dict[Seq, RecordCounts] = {}  # by file and beginning of the range


def add_snapshot(evidence: Evidence, key: str, snapshot: Snapshot) -> None:
    evidence.snapshots.setdefault(key, {})[snapshot.seq] = snapshot


def add_closing(evidence: Evidence, key: str, closing: Closing, call_id: str | None) -> None:
    closings = evidence.closings.get(key)
    if closings is None:
        closings = evidence.closings[key] = Closings()
    if call_id is not None:
        _keep_greatest(closings.by_call, call_id, closing)
    if closing.request_id is not None:
        _keep_greatest(closings.by_request, closing.request_id, closing)


def add_context(evidence: Evidence, conversation: str, name: str, place: Place) -> None:
    places = evidence.contexts.setdefault(conversation, {})
    if name not in places or place < places[name]:
        places[name] = place


def combine(left: Evidence, right: Evidence) -> Evidence:
    """Add the right evidence to `left`, and return it."""
    combine_facts(left.facts, right.facts)
    for key, snapshots in right.snapshots.items():
        left.snapshots.setdefault(key, {}).update(snapshots)
    for key, closings in right.closings.items():
        known = left.closings.setdefault(key, Closings())
        for call_id, closing in closings.by_call.items():
            _keep_greatest(known.by_call, call_id, closing)
        for request_id, closing in closings.by_request.items():
            _keep_greatest(known.by_request, request_id, closing)
    for conversation, places in right.contexts.items():
        for name, place in places.items():
            add_context(left, conversation, name, place)
    combine_pieces(left.pieces, right.pieces)
    left.books.update(right.books)
    return left


def _keep_greatest(closings: dict[str, Closing], key: str, closing: Closing) -> None:
    known = closings.get(key)
    # Fields after the position belong to one and the same event, so they need not be compared.
    if known is None or closing[:3] > known[:3]:
        closings[key] = closing
