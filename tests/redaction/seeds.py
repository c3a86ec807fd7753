"""The seed of generated secrets: new in each run, printed when a test fails, and set by COPILOG_REDACTION_SEED."""

from __future__ import annotations

import os
import random

SEED = int(os.environ.get("COPILOG_REDACTION_SEED") or random.SystemRandom().randrange(10**9))


def generator(*of: object) -> random.Random:
    """Return a generator for one case of this run; the seed is printed, and pytest shows it for a failed test."""
    print(f"COPILOG_REDACTION_SEED={SEED}")  # noqa: T201
    return random.Random(f"{SEED} {of}")
