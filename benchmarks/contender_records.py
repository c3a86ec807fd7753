"""The plain contender's reading of files: records and their offsets (R-1 to R-4 of docs/formats/telemetry.md)."""

from __future__ import annotations

import gzip
import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

Json = dict[str, Any]

SUFFIXES = (".json", ".jsonl", ".ndjson")


class InputFile(NamedTuple):
    number: int
    path: Path
    shown: str


def input_files(paths: list[Path]) -> list[InputFile]:
    """R-1, R-22: all files in the order in which they are read, with the names they are shown by."""
    found: list[tuple[str, Path]] = []
    for path in paths:
        if not path.is_dir():
            found.append((path.as_posix(), path))
            continue
        for folder, _, names in os.walk(path):
            for name in names:
                if name.lower().removesuffix(".gz").endswith(SUFFIXES):
                    file = Path(folder, name)
                    found.append((f"{path.as_posix()}/{file.relative_to(path).as_posix()}", file))
    return [InputFile(number, path, shown) for number, (shown, path) in enumerate(sorted(found))]


def records(file: InputFile, *, recovery: bool) -> Iterator[tuple[int, Json, bool]]:
    """The objects of a file with their offsets, and whether one had to be recovered (R-2, R-4, R-8b)."""
    is_packed = file.path.suffix.lower() == ".gz"
    with gzip.open(file.path) if is_packed else file.path.open("rb", buffering=1 << 20) as lines:
        offset = lines.seek(3 if lines.read(3) == b"\xef\xbb\xbf" else 0)
        if _is_document(lines):
            lines.seek(offset)
            yield from _records_of_document(lines.read(), offset)
            return
        lines.seek(offset)
        for line in lines:
            if line.strip():
                value, is_recovered = _decode_line(line.rstrip(b"\n"), recovery=recovery)
                if isinstance(value, dict):
                    yield offset, value, is_recovered
            offset += len(line)


def _is_document(lines: Any) -> bool:
    """Whether a file is one array, or objects that do not keep to lines."""
    filled = (line.strip() for line in lines if line.strip())
    first, second = next(filled, b""), next(filled, b"")
    if first[:1] not in (b"[", b"{"):
        return False
    if not second or first[:1] == b"[":
        return not (second and value_of(first) is not None)
    return value_of(first) is None and _continues(first.decode("utf-8", "replace"), second.decode("utf-8", "replace"))


def _continues(first: str, second: str) -> bool:
    """Whether an object that began on one line goes on in the next: then what comes next does not break it at once."""
    try:
        json.JSONDecoder().raw_decode(f"{first}\n{second}")
    except json.JSONDecodeError as error:
        return error.pos > len(first) + 1
    return False


def _records_of_document(data: bytes, start: int) -> Iterator[tuple[int, Json, bool]]:
    """The elements of an array, or concatenated objects, up to the first that is broken."""
    text = data.decode("utf-8", "surrogateescape")
    position = _after_space(text, 0)
    is_array = text.startswith("[", position)
    position = _after_space(text, position + 1) if is_array else position
    measured, offset = 0, start
    while True:
        try:
            value, end = DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            return
        if re.search("[\udc80-\udcff]", text[position:end]):
            return
        offset += len(text[measured:position].encode("utf-8", "surrogateescape"))
        measured = position
        if isinstance(value, dict):
            yield offset, value, False
        position = _after_space(text, end)
        if is_array:
            if not text.startswith(",", position):
                return
            position = _after_space(text, position + 1)


def _after_space(text: str, position: int) -> int:
    while text[position : position + 1] in (" ", "\t", "\r", "\n"):
        position += 1
    return position


def _decode_line(line: bytes, *, recovery: bool) -> tuple[Any, bool]:
    value = value_of(line)
    if value is not None or not recovery:
        return value, False
    try:
        text = re.sub("[\x00-\x1f]", "", line.decode("utf-8"))
        return DECODER.raw_decode(text.lstrip())[0], True
    except (ValueError, RecursionError):
        return None, False


def value_of(text: bytes | str) -> Any:
    """The value of strict JSON, or None."""
    try:
        return DECODER.decode(text.decode("utf-8") if isinstance(text, bytes) else text)
    except (ValueError, RecursionError):
        return None


def _no_number(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def _finite(text: str) -> float | None:
    """R-40: a number beyond all bounds is none."""
    number = float(text)
    return number if math.isfinite(number) else None


DECODER = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite)
