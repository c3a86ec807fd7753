"""Whether a file is telemetry, decided by its beginning."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from copilog.errors import BadFile
from copilog.intake.files import opened
from copilog.jsonio import as_utf8
from copilog.telemetry.events import RECOGNISED, is_event
from copilog.telemetry.inputs import LINES_ENDINGS, PACKED_ENDINGS

_HEAD_BYTES = 1 << 20
_MOST_LINES = 50  # lines tried if the first one is torn
_NAME = re.compile(r'"name"\s*:\s*"(?:[^"\\]*/)?(?:' + "|".join(map(re.escape, sorted(RECOGNISED))) + '")')


def begins_with_telemetry(path: Path) -> bool:
    """Return whether the file begins with an event. Packed files are judged by their names.

    A first line that is torn at either end, or longer than the bytes read here, does not hide the format. A path that
    is not a regular file counts, too: it is reported when telemetry is read.
    """
    name = path.name.lower()
    if name.endswith(tuple(PACKED_ENDINGS)):
        return not name.endswith(".tar.gz")
    if not path.is_file():  # opening a pipe would block
        return True
    try:
        with opened(path) as file:
            head = file.read(_HEAD_BYTES)
    except BadFile:
        return False
    text = as_utf8(head)[0].decode("utf-8", "replace").lstrip("\0 \t\r\n")
    if not text.startswith(("{", "[")) and path.suffix.lower() not in LINES_ENDINGS:
        return False
    first = _first_value(text)
    if first is not None:
        return is_event(first)
    lines = text.split("\n", _MOST_LINES)[1:_MOST_LINES]
    return any(is_event(_first_value(line.strip())) for line in lines) or _NAME.search(text) is not None


def _first_value(text: str) -> Any:
    """Return the first object of a file of lines, of an array, or of concatenated objects."""
    start = text.find("{")
    if start < 0 or text[:start].strip("[ \t\r\n"):
        return None
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None
