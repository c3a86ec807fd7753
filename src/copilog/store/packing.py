"""Bytes packed with zstd, at the level that costs least: documents are written more often than they are read."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

from copilog.errors import CopilogError

LEVEL = 1


def pack(data: bytes | bytearray | memoryview) -> bytes:
    """The data as one zstd frame."""
    compressor = _compressor()
    packed: bytes = compressor.compress(data, compressor.FLUSH_FRAME)
    return packed


def pack_pieces(pieces: Iterable[bytes]) -> bytes:
    """The pieces, joined, as one frame: for data that is too large to be held as a whole."""
    compressor = _compressor()
    packed: list[bytes] = []
    try:
        packed += (compressor.compress(piece) for piece in pieces)
        packed.append(compressor.flush())
    except BaseException:
        _compressor.cache_clear()  # this one is in the middle of a frame
        raise
    return b"".join(packed)


def unpack(packed: bytes) -> bytes:
    """What was packed; frames that stand one behind the other give their data joined."""
    data: bytes = _zstd().decompress(packed)
    return data


@cache
def _compressor() -> Any:
    """One for the whole process: its tables are larger than most documents."""
    return _zstd().ZstdCompressor(LEVEL)


@cache
def _zstd() -> Any:
    try:
        return importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    except ImportError:
        raise CopilogError("the archive needs a library for zstd: pip install backports.zstd") from None
