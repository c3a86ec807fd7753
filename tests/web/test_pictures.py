"""Pictures with a palette are the pictures they were."""

from __future__ import annotations

import struct
import zlib

from tests.web.pictures import SIGNATURE, chunk, chunks_of, with_palette

RED, GREEN, BLUE = b"\xff\0\0", b"\0\xff\0", b"\0\0\xff"


def png_of(width: int, *rows: bytes) -> bytes:
    """Return a picture of rows that begin with their filter."""
    header = struct.pack(">IIBBBBB", width, len(rows), 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows))), (b"IEND", b""))
    return SIGNATURE + b"".join(chunk(name, data) for name, data in chunks)


def colours_of(png: bytes) -> list[list[bytes]]:
    """Return the rows of a picture with a palette."""
    parts = dict(chunks_of(png))
    width, height = struct.unpack_from(">II", parts[b"IHDR"])
    numbers = zlib.decompress(parts[b"IDAT"])
    palette = [parts[b"PLTE"][start : start + 3] for start in range(0, len(parts[b"PLTE"]), 3)]
    rows = [numbers[row * (width + 1) + 1 : (row + 1) * (width + 1)] for row in range(height)]
    return [[palette[number] for number in row] for row in rows]


def test_every_way_to_write_a_row_is_understood() -> None:
    plain = b"\0" + RED + GREEN
    minus_left = b"\x01" + RED + b"\x01\xff\0"  # green is red plus (1, 255, 0)
    minus_above = b"\x02" + bytes(6)
    minus_average = b"\x03" + b"\x80\0\0" + b"\x81\x80\0"
    minus_paeth = b"\x04" + bytes(6)

    made = with_palette(png_of(2, plain, minus_left, minus_above, minus_average, minus_paeth))

    assert colours_of(made) == [[RED, GREEN]] * 5


def test_a_rare_colour_far_from_all_others_is_kept() -> None:
    greys = [bytes([shade, shade, shade]) for shade in range(256)]
    shades = [bytes([shade, shade, shade + 1]) for shade in range(255)]
    row = b"\0" + b"".join(greys * 2 + shades * 2) + BLUE

    made = with_palette(png_of(len(row) // 3, row))

    assert colours_of(made)[0][-1] == BLUE
