"""Records that were collected, read once more by their position."""

from __future__ import annotations

from copilog.errors import BadFile, BadRecord
from copilog.telemetry.events import Event, Place, event_of
from copilog.telemetry.inputs import Readable
from copilog.telemetry.records import decode_record, read_at


class Fetch:
    """Returns the event at a position; `read` also returns whether its record had to be recovered."""

    def __init__(self, files: dict[int, Readable], recovery: bool) -> None:
        self._files = files
        self._recovery = recovery

    def __call__(self, place: Place) -> Event:
        return self.read(place)[0]

    def read(self, place: Place) -> tuple[Event, bool]:
        file, offset, length = place
        try:
            data = read_at(self._files[file], offset, length)
        except BadFile as error:
            raise BadRecord(f"again: {error}", "changed-while-reading") from None
        record, recovered = decode_record(data, self._recovery)
        event = event_of(record)
        if event is None:
            raise BadRecord("the file was changed while it was read", "changed-while-reading")
        return event, recovered
