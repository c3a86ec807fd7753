"""A cache of results for repeated short texts; not for long ones, as a text of a file may be of any length."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

Answer = TypeVar("Answer")

LONGEST_TEXT = 1000


def cached_by_text(
    most: int, longest: int = LONGEST_TEXT
) -> Callable[[Callable[[str], Answer]], Callable[[str], Answer]]:
    """Cache the last results of a function of one text, `most` of them; those of longer texts are not cached."""

    def decorate(function: Callable[[str], Answer]) -> Callable[[str], Answer]:
        kept = lru_cache(maxsize=most)(function)

        @wraps(function)
        def answer(text: str) -> Answer:
            return kept(text) if len(text) <= longest else function(text)

        return answer

    return decorate
