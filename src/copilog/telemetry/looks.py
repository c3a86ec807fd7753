"""Whether a file is telemetry, by a glance at its beginning."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from copilog.telemetry.events import RECOGNISED, raw_name_of
from copilog.telemetry.inputs import PACKED_ENDINGS

_HEAD_BYTES = 1 << 20
_MOST_LINES = 50  # that are tried when the first one is torn
_NAME = re.compile(r'"name"\s*:\s*"(?:[^"\\]*/)?(?:' + "|".join(map(re.escape, sorted(RECOGNISED))) + '")')
_ENVELOPE = frozenset({"data", "properties", "customDimensions", "measurements", "iKey"})


def looks_like_telemetry(path: Path) -> bool:
    """Whether the file begins with an event. Packed files count by their names.

    A first line that is torn, or longer than what is looked at, does not hide what the file is. What is no file
    counts, too: it is told of where telemetry is read.
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
    text = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if not text.startswith(("{", "[")):
        return False
    first = _first_value(text)
    if first is not None:
        return is_event(first)
    lines = text.split("\n", _MOST_LINES)[1:_MOST_LINES]
    return any(is_event(_first_value(line.strip())) for line in lines) or _NAME.search(text) is not None


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
