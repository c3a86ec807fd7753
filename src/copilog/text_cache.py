"""A cache of results for repeated short texts; not for long ones, as a text of a file may be of any length.

And one object for equal long texts, of which a large conversation may have many.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

Answer = TypeVar("Answer")

LONGEST_TEXT = 1000
WORTH_SHARING = 256  # characters


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


class SharedTexts:
    """The long texts of a large conversation: equal ones become one object, so that they are in memory once."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def share(self, holder: Any) -> None:
        """Replace the `text` of an object by an equal one that was shared before."""
        text = getattr(holder, "text", None)
        if type(text) is str and len(text) >= WORTH_SHARING:
            holder.text = self._texts.setdefault(text, text)
