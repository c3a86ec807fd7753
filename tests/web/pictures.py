"""Screenshots as small files: pages have few colours, so a palette of 256 holds them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS = 256
TRUECOLOUR, PALETTE = 2, 3


def with_palette(png: bytes) -> bytes:
    """Return the same picture (8 bits, red, green, blue, as Chromium writes it) with a palette of colours.

    Whatever else is in it takes the nearest of them: shades at the edges of letters and lines.
    """
    pixels = _decoded(png)
    height, width, _ = pixels.shape
    flat = pixels.reshape(-1, 3).astype(np.uint32)
    colours, places, counts = np.unique(
        flat[:, 0] << 16 | flat[:, 1] << 8 | flat[:, 2], return_inverse=True, return_counts=True
    )
    kept = _kept(_split(colours), counts)
    numbers = _nearest(_split(colours), kept)[places.reshape(-1)].astype(np.uint8).reshape(height, width)
    rows = b"".join(b"\0" + row.tobytes() for row in numbers)
    header = struct.pack(">IIBBBBB", width, height, 8, PALETTE, 0, 0, 0)
    chunks = {b"IHDR": header, b"PLTE": kept.astype(np.uint8).tobytes(), b"IDAT": zlib.compress(rows, 9)}
    return SIGNATURE + b"".join(chunk(name, data) for name, data in {**chunks, b"IEND": b""}.items())


def _split(colours: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    return np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=-1).astype(np.int64)


def _kept(colours: npt.NDArray[np.int64], counts: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Half of the palette are the most frequent colours, the rest what would suffer most without one of its own."""
    order = np.argsort(-counts, kind="stable")
    chosen = list(order[: COLOURS // 2])
    distance = np.min([((colours - colours[one]) ** 2).sum(-1) for one in chosen], axis=0)
    while len(chosen) < COLOURS and distance.any():
        chosen.append((distance * np.sqrt(counts)).argmax())
        distance = np.minimum(distance, ((colours - colours[chosen[-1]]) ** 2).sum(-1))
    return colours[sorted(chosen)]


def _nearest(colours: npt.NDArray[np.int64], kept: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """For each colour the number of the nearest one that is kept."""
    return np.concatenate(
        [
            ((some[:, None] - kept[None]) ** 2).sum(-1).argmin(-1)
            for some in np.array_split(colours, len(colours) // 512 + 1)
        ]
    )


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def chunks_of(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(SIGNATURE)
    while place < len(png):
        (size,) = struct.unpack_from(">I", png, place)
        yield png[place + 4 : place + 8], png[place + 8 : place + 8 + size]
        place += size + 12


def _decoded(png: bytes) -> Pixels:
    """Undo the filters of each row."""
    parts: dict[bytes, bytes] = {}
    for name, data in chunks_of(png):
        parts[name] = parts.get(name, b"") + data
    width, height, depth, kind, *_ = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert (depth, kind) == (8, TRUECOLOUR), "not the kind of picture that Chromium takes"
    raw = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, 1 + width * 3)
    pixels = np.zeros((height, width, 3), np.uint8)
    above = np.zeros((width, 3), np.uint8)
    for number, row in enumerate(raw):
        above = pixels[number] = _unfiltered(int(row[0]), row[1:].reshape(width, 3), above)
    return pixels


def _unfiltered(kind: int, row: Pixels, above: Pixels) -> Pixels:
    if kind == 0:
        return row
    if kind == 1:
        return np.cumsum(row, axis=0, dtype=np.uint8)
    if kind == 2:
        return row + above
    return _pixel_by_pixel(kind, row, above)


def _pixel_by_pixel(kind: int, row: Pixels, above: Pixels) -> Pixels:
    """Averages and Paeth need the pixel before."""
    done = []
    left, corner = [0, 0, 0], [0, 0, 0]
    for value, up in zip(row.tolist(), above.tolist(), strict=True):
        guesses = [_guess(kind, *near) for near in zip(left, up, corner, strict=True)]
        left = [(part + guess) & 255 for part, guess in zip(value, guesses, strict=True)]
        corner = up
        done.append(left)
    return np.array(done, np.uint8)


def _guess(kind: int, left: int, up: int, corner: int) -> int:
    if kind == 3:
        return (left + up) // 2
    guess = left + up - corner
    return min((left, up, corner), key=lambda near: abs(guess - near))
