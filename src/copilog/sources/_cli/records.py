"""From records to events: what is no event is bad, and what stands in a log twice is read once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.intake.records import JsonLines
from copilog.intake.remarks import Remarks
from copilog.sources._cli.event import (
    Envelope,
    Event,
    decode_envelope,
    event_from_envelope,
    event_from_object,
    looks_like_event,
)


class Records:
    """The events of one log, in order. What cannot be used is in the ledger when the next one comes."""

    def __init__(self, path: Path, ledger: Ledger, remarks: Remarks) -> None:
        self._ledger = ledger
        self._remarks = remarks
        self._lines = JsonLines(path, ledger, looks_like_event, decode=decode_envelope, remarks=remarks)
        self._is_damaged = False

    @property
    def is_damaged(self) -> bool:
        return self._is_damaged or self._lines.is_damaged

    def __iter__(self) -> Iterator[Event]:
        seen: set[int] = set()
        twice = 0
        first_twice: Event | None = None
        for value, line, offset, size in self._lines:
            if type(value) is Envelope:
                event = event_from_envelope(value, line, offset, size)
            else:
                try:
                    event = event_from_object(value, line, offset, size)
                except BadRecord as error:
                    self._is_damaged = True
                    self._ledger.reject(error.code, str(error), line=line, offset=offset)
                    continue
            if not event.is_ephemeral and event.id is not None:
                # An id alone proves nothing: some writers number from 1 again.
                key = hash((event.id, event.native, event.stamp, event.size))
                if key in seen:
                    twice += 1
                    first_twice = first_twice or event
                    self._ledger.ignore("duplicate-event")
                    continue
                seen.add(key)
            yield event
        if first_twice is not None:
            reason = f"{twice} events stand in the log twice; each is read once"
            self._remarks.note("duplicate-event", reason, "info", line=first_twice.line, offset=first_twice.offset)
