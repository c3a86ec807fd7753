"""Number turns: users count from 1, the model from 0.

`turn` is the index of a turn, from 0. Results and JSON have `number` beside it, which `copilog show --turn` takes.
"""

from __future__ import annotations

from typing import overload


@overload
def turn_number(index: int) -> int: ...
@overload
def turn_number(index: int | None) -> int | None: ...
def turn_number(index: int | None) -> int | None:
    """Return the number of a turn from its index: 1 is the first one of the trunk, and the branches follow."""
    return None if index is None else index + 1
