"""The parameters that the stored estimates were made with. `calibrating` finds them; figures only read them.

Here is also whether `calibrating` has anything to do, as it is slow to import, and most scans need nothing of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import msgspec

STALE = "calibration is stale"  # a key of `meta`: triggers set it when a sample is added or removed
_UNCALIBRATED = "SELECT 1 FROM spend WHERE replay IS NOT NULL AND NOT is_calibrated LIMIT 1"


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
    return _defaults()


def is_settled(connection: sqlite3.Connection) -> bool:
    """Return whether all stored estimates are made with the parameters that the samples tell."""
    if connection.execute("SELECT 1 FROM meta WHERE key = ?", (STALE,)).fetchone():
        return False
    if not connection.execute(_UNCALIBRATED).fetchone():
        return True
    return _values_of(calibration_of(connection)) == _values_of(_defaults())  # rows are made with these


def _values_of(rows: Iterable[CalibrationRow]) -> set[tuple[str, float, float, float]]:
    return {(row.name, row.low, row.likely, row.high) for row in rows}


def _defaults() -> list[CalibrationRow]:
    from copilog.derive.estimating import DEFAULTS

    return [CalibrationRow(name, *value, 0) for name, value in sorted(DEFAULTS.items())]
