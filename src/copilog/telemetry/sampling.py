"""A sample of conversations: the same choice on every machine, for any number of processes (R-33)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from heapq import nsmallest
from typing import Literal

SampleMode = Literal["random", "first"]


def chosen(keys: Sequence[str], count: int, seed: int, mode: SampleMode) -> set[int]:
    """Return the positions of the chosen keys, which are in first-seen order."""
    if mode == "first":
        return set(range(min(count, len(keys))))
    return set(nsmallest(count, range(len(keys)), key=lambda position: _draw(seed, keys[position])))


def _draw(seed: int, key: str) -> bytes:
    return hashlib.sha256(f"{seed}:{key}".encode("utf-8", "replace")).digest()
