"""Bytes that a log keeps once and names elsewhere by their hash."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

from copilog import jsonio
from copilog.errors import BadFile, CopilogError
from copilog.intake.records import lines_of, record_at
from copilog.sources._vscode.take import Json

MARK = b'"session.binary_asset"'
MOST_KEPT = 4  # an asset mostly stands right beside what names it


class Assets:
    """The binary assets of a log. Only where each stands is remembered; its bytes are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: dict[str, bytes] = {}
        self._places: dict[str, tuple[int, int]] | None = None  # offset and size of the line

    def keep(self, asset_id: str, data: bytes) -> None:
        """Remember the bytes of an asset that was just met."""
        self._kept[asset_id] = data
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]

    def take(self, block: Json) -> bytes | None:
        """The bytes that a block names. Its id stays where it is."""
        asset_id = block.get("assetId")
        if not isinstance(asset_id, str):
            return None
        if asset_id not in self._kept:
            data = self._read(asset_id)
            if data is None:
                return None
            self.keep(asset_id, data)
        return self._kept[asset_id]

    def _read(self, asset_id: str) -> bytes | None:
        if self._places is None:
            self._places = self._find_all()
        if asset_id not in self._places:
            return None
        offset, size = self._places[asset_id]
        try:
            return bytes_from_base64(record_at(self._path, offset, size)["data"], "data")
        except (CopilogError, KeyError, TypeError):
            return None

    def _find_all(self) -> dict[str, tuple[int, int]]:
        """Look through the whole log once: what is named may come first."""
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
    """Bytes kept as base64 text; a text that is none stays where it is."""
    text = obj.get(key)
    if not isinstance(text, str) or not text:
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    del obj[key]
    return data
