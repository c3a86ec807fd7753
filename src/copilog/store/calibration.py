"""The parameters that the stored estimates were made with. `calibrating` finds them; figures only read them."""

from __future__ import annotations

import sqlite3

import msgspec


class CalibrationRow(msgspec.Struct, frozen=True):
    """A parameter of estimates; `conversations` of the user have a value for it, 0 for a default."""

    name: str
    low: float
    likely: float
    high: float
    conversations: int


def calibration_of(connection: sqlite3.Connection) -> list[CalibrationRow]:
    """Return the parameters that the stored estimates were made with."""
    rows = connection.execute("SELECT name, low, likely, high, conversations FROM calibration ORDER BY name")
    found = [CalibrationRow(*row) for row in rows]
    if found:
        return found
    from copilog.derive.estimating import DEFAULTS

    return [CalibrationRow(name, *value, 0) for name, value in sorted(DEFAULTS.items())]
