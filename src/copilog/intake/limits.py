"""How much is held at once of what others wrote, and how long a query may take; what is more is `too-large`."""

from __future__ import annotations

import os
from contextlib import suppress

MIB = 1 << 20
RECORD_MIB = 256
RECORD_VARIABLE = "COPILOG_MAX_RECORD_MB"
QUERY_SECONDS = 30.0
PATTERN_SECONDS = 5.0
SHORT_TEXT = 16  # characters on which no pattern takes long


def largest_record() -> int:
    """Return how many bytes a record may have, unpacked: 256 MB, unless the environment says otherwise."""
    with suppress(ValueError):
        wanted = int(os.environ.get(RECORD_VARIABLE, ""))
        if wanted > 0:
            return wanted * MIB
    return RECORD_MIB * MIB


def megabytes(size: int) -> str:
    """Return a size as people read it, never rounded to nothing."""
    return f"{size / MIB:,.1f} MB" if size < 10 * MIB else f"{size // MIB:,} MB"
