"""Every text that the formats documents name, at its path: `...` stands for a text, `@` in a string for a number."""

from __future__ import annotations

from itertools import count
from typing import Any


def filled(value: Any, numbers: count[int] | None = None) -> Any:
    """A record with a text of its own, found nowhere else, for each `...` in it, and a number for each `@`."""
    numbers = numbers if numbers is not None else count(100)
    if value is ...:
        return f"zq text number {next(numbers)} of its own"
    if isinstance(value, str):
        return value.replace("@", str(next(numbers))) if "@" in value else value
    if isinstance(value, dict):
        return {key: filled(item, numbers) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, numbers) for item in value]
    return value
