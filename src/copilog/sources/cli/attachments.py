"""What a prompt comes with: files, selections, images, and bytes that a log names by their hash."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from pathlib import Path
from typing import Any

from copilog import jsonio
from copilog.errors import BadFile, CopilogError
from copilog.fields import Json, rest, take_int, take_str, text_from
from copilog.intake.records import lines_of, record_at
from copilog.model import Attachment, Place, Range

# Attachments of a prompt: files, selections, images, things on GitHub.


GITHUB = "github_"  # a family that grows
KNOWN_TYPES = frozenset({"file", "directory", "selection", "blob", "extension_context"})


def attachment_from(item: Json, assets: Assets) -> Attachment:
    """Return one attachment. The content of a type without a description goes to `extra`."""
    kind = take_str(item, "type") or ""
    made = Attachment(type=kind, name=take_str(item, "displayName"), native=kind)
    reader = _READERS.get(kind)
    if reader is not None:
        reader(item, made)
    elif kind.startswith(GITHUB):
        _github(item, made)
    made.mime_type = take_str(item, "mimeType")
    made.data = bytes_from_base64(item, "data") or assets.take(item)
    made.omitted = take_str(item, "omittedReason")
    if made.mime_type is not None and made.mime_type.startswith("image/"):
        made.type = "image"
    made.extra = rest(item)
    return made


def is_described(kind: Any) -> bool:
    return isinstance(kind, str) and (kind in KNOWN_TYPES or kind.startswith(GITHUB))


def _file(item: Json, made: Attachment) -> None:
    path = take_str(item, "path")
    if path is not None:
        made.place = Place(path=path, range=_line_range(item))


def _line_range(item: Json) -> Range | None:
    """Return lines from 1, the last one included."""
    lines: Any = item.get("lineRange")
    ends: list[Any] = [lines.get("start"), lines.get("end")] if isinstance(lines, dict) else []
    if not ends or not all(_is_number(end) for end in ends):
        return None
    del item["lineRange"]
    return Range(start_line=ends[0], end_line=ends[1])


def _selection(item: Json, made: Attachment) -> None:
    made.text = take_str(item, "text")
    path = take_str(item, "filePath")
    if path is not None:
        made.place = Place(path=path, range=_selected(item.get("selection")))


def _selected(value: Any) -> Range | None:
    """Return the selected range, from 1. Writers disagree whether they count from 0, so the raw value stays as well."""
    ends: list[Any] = [value.get("start"), value.get("end")] if isinstance(value, dict) else []
    numbers: list[Any] = [end.get(key) for end in ends if isinstance(end, dict) for key in ("line", "character")]
    if len(numbers) != 4 or not all(_is_number(number) for number in numbers):
        return None
    start_line, start_column, end_line, end_column = (number + 1 for number in numbers)
    return Range(start_line=start_line, start_column=start_column, end_line=end_line, end_column=end_column)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53


def _github(item: Json, made: Attachment) -> None:
    made.name = made.name or take_str(item, "title") or take_str(item, "name")
    number = take_int(item, "number")
    made.id = str(number) if number is not None else None
    url, path = take_str(item, "url"), take_str(item, "path")
    if url is not None or path is not None:
        made.place = Place(uri=url, path=path)


def _extension_context(item: Json, made: Attachment) -> None:
    made.name = made.name or take_str(item, "title")
    made.id = take_str(item, "instanceId")
    made.text = text_from(item.pop("payload", None))


_READERS: dict[str, Callable[[Json, Attachment], None]] = {
    "file": _file,
    "directory": _file,
    "selection": _selection,
    "extension_context": _extension_context,
}


def asset_attachment(data: Json, assets: Assets) -> Attachment:
    """Read bytes that the log stores for later events to refer to."""
    asset_id = take_str(data, "assetId")
    made = Attachment(
        type=take_str(data, "type") or "resource",
        id=asset_id,
        mime_type=take_str(data, "mimeType"),
        data=bytes_from_base64(data, "data"),
        description=take_str(data, "description"),
        is_automatic=True,
        native="session.binary_asset",
    )
    if asset_id is not None and made.data is not None:
        assets.keep(asset_id, made.data)
    made.extra = rest(data)
    return made


# Bytes that a log stores once and names elsewhere by their hash.


MARK = b'"session.binary_asset"'
MOST_CACHED = 4  # an asset is mostly next to the event that names it


class Assets:
    """The binary assets of a log. Only their offsets are held; the bytes are read on demand."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cached: dict[str, bytes] = {}
        self._positions: dict[str, tuple[int, int]] | None = None  # offset and size of the line

    def keep(self, asset_id: str, data: bytes) -> None:
        """Cache the bytes of an asset."""
        self._cached[asset_id] = data
        while len(self._cached) > MOST_CACHED:
            del self._cached[next(iter(self._cached))]

    def take(self, block: Json) -> bytes | None:
        """Return the bytes that a block names. The block keeps its id."""
        asset_id = block.get("assetId")
        if not isinstance(asset_id, str):
            return None
        if asset_id not in self._cached:
            data = self._read(asset_id)
            if data is None:
                return None
            self.keep(asset_id, data)
        return self._cached[asset_id]

    def _read(self, asset_id: str) -> bytes | None:
        if self._positions is None:
            self._positions = self._find_all()
        if asset_id not in self._positions:
            return None
        offset, size = self._positions[asset_id]
        try:
            return bytes_from_base64(record_at(self._path, offset, size)["data"], "data")
        except (CopilogError, KeyError, TypeError):
            return None

    def _find_all(self) -> dict[str, tuple[int, int]]:
        """Find all assets of the log in one pass, as they may come after the event that names them."""
        places: dict[str, tuple[int, int]] = {}
        try:
            for line in lines_of(self._path):
                if MARK not in line.data:
                    continue
                asset_id = _asset_id(line.data)
                if asset_id is not None:
                    places.setdefault(asset_id, (line.offset, len(line.data)))
        except BadFile:
            pass
        return places


def _asset_id(line: bytes) -> str | None:
    try:
        value, _ = jsonio.decode(line)
    except CopilogError:
        return None
    if not isinstance(value, dict) or value.get("type") != "session.binary_asset":
        return None
    data = value.get("data")
    asset_id = data.get("assetId") if isinstance(data, dict) else None
    return asset_id if isinstance(asset_id, str) else None


def bytes_from_base64(obj: Json, key: str) -> bytes | None:
    """Return the bytes of a base64 text and remove it; text that is not base64 stays."""
    text = obj.get(key)
    if not isinstance(text, str) or not text:
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    del obj[key]
    return data
