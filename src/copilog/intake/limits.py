"""How much of other programs' data is held at once, and how long queries of their databases may take."""

from __future__ import annotations

import os
from contextlib import suppress

MIB = 1 << 20
RECORD_MIB = 256
RECORD_VARIABLE = "COPILOG_MAX_RECORD_MB"
QUERY_SECONDS = 30.0


def largest_record() -> int:
    """Return the largest size of a record in bytes, unpacked: 256 MB, or what the environment sets."""
    with suppress(ValueError):
        wanted = int(os.environ.get(RECORD_VARIABLE, ""))
        if wanted > 0:
            return wanted * MIB
    return RECORD_MIB * MIB


def megabytes(size: int) -> str:
    """Return a size for messages, never rounded to zero."""
    return f"{size / MIB:,.1f} MB" if size < 10 * MIB else f"{size // MIB:,} MB"
