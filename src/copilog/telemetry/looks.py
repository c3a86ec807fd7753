"""Whether a file is telemetry, by a glance at its first event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from copilog.telemetry.events import raw_name_of
from copilog.telemetry.inputs import PACKED_ENDINGS

_HEAD_BYTES = 1 << 20
_ENVELOPE = frozenset({"data", "properties", "customDimensions", "measurements", "iKey"})


def looks_like_telemetry(path: Path) -> bool:
    """Whether the first value of the file is an event. Packed files count by their names.

    What is no file counts, too: it is told of where telemetry is read.
    """
    name = path.name.lower()
    if name.endswith(tuple(PACKED_ENDINGS)):
        return not name.endswith(".tar.gz")
    if not path.is_file():  # a pipe would be waited for
        return True
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    return is_event(_first_value(head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")))


def is_event(value: Any) -> bool:
    return isinstance(value, dict) and raw_name_of(value) is not None and not _ENVELOPE.isdisjoint(value)


def _first_value(text: str) -> Any:
    """The first object of a file of lines, of an array, or of concatenated objects."""
    start = text.find("{")
    if start < 0 or text[:start].strip("[ \t\r\n"):
        return None
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None
