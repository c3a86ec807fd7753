"""A cache of results for repeated short texts; not for long ones, as a text of a file may be of any length.

And one object for equal long texts, of which a large conversation may have many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts: dict[str, str] = {text: text for text in texts if len(text) >= WORTH_SHARING}

    def share(self, holder: Any) -> None:
        """Replace the `text` of an object by an equal one that was shared before."""
        text = getattr(holder, "text", None)
        if type(text) is str and len(text) >= WORTH_SHARING:
            holder.text = self._texts.setdefault(text, text)

    def share_in(self, value: Any) -> Any:
        """Return a JSON value with its long texts replaced by equal ones that were shared before. Changes the value."""
        if type(value) is str:
            return self._texts.get(value, value) if len(value) >= WORTH_SHARING else value
        if type(value) is dict:
            for key, item in value.items():
                if type(item) in (str, dict, list):
                    value[key] = self.share_in(item)
        elif type(value) is list:
            for position, item in enumerate(value):
                if type(item) in (str, dict, list):
                    value[position] = self.share_in(item)
        return value
