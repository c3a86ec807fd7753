"""Pack bytes with zstd, at the fastest level: documents are written more often than they are read."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

from copilog.errors import CopilogError

LEVEL = 1


def pack(data: bytes | bytearray | memoryview) -> bytes:
    """Return the data as one zstd frame."""
    compressor = _compressor()
    packed: bytes = compressor.compress(data, compressor.FLUSH_FRAME)
    return packed


def pack_pieces(pieces: Iterable[bytes]) -> bytes:
    """Return the pieces, joined, as one frame: for data that is too large for memory."""
    compressor = _compressor()
    packed: list[bytes] = []
    try:
        packed += (compressor.compress(piece) for piece in pieces)
        packed.append(compressor.flush())
    except BaseException:
        _compressor.cache_clear()  # this compressor is in the middle of a frame
        raise
    return b"".join(packed)


def unpack(packed: bytes) -> bytes:
    """Return the packed data; the data of consecutive frames is joined."""
    data: bytes = _zstd().decompress(packed)
    return data


@cache
def _compressor() -> Any:
    """Return the compressor that the process shares: its tables are larger than most documents."""
    return _zstd().ZstdCompressor(LEVEL)


@cache
def _zstd() -> Any:
    try:
        return importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    except ImportError:
        raise CopilogError("the archive needs a library for zstd: pip install backports.zstd") from None
