"""How the estimates of an archive were made."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from copilog.analysis.figures import CalibrationRow
from copilog.store.calibration import calibration_of


def calibration_rows(connection: sqlite3.Connection) -> list[CalibrationRow]:
    """Return the parameters that the estimates of an archive were made with."""
    return [CalibrationRow(**msgspec.structs.asdict(row)) for row in calibration_of(connection)]


def method_text(rows: Sequence[CalibrationRow]) -> str:
    """Return a text about how the estimates of an archive were made: which parameters are the user's own."""
    own = [f"{row.name} ({row.conversations})" for row in rows if row.conversations]
    if not own:
        return "calls replayed, with default rates"
    rest = "; default rates else" if len(own) < len(rows) else ""
    return f"calls replayed, with rates from your own conversations: {'; '.join(own)}{rest}"
