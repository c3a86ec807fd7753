"""Calibrate the estimates of an archive by what its own conversations record of their tokens.

Each conversation stores a sample of its records (`estimate_sample`), and each estimated row of `spend` the calls that
it replays. So the parameters follow from the samples, and the estimates from the parameters, without any document. Rows
are made with the defaults, and the end of a scan calibrates them (`recalibrate`): all surfaces read rows.

Parameters are rounded, so that they rarely change when conversations are added. The result depends on the stored
conversations alone, not on the scans that stored them.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from copilog.derive.calibration import Prompt, Sample, calibrate, sample_of
from copilog.derive.estimating import DEFAULTS, Calibration, Range
from copilog.derive.replayed_calls import Replay, Replays
from copilog.model import Conversation
from copilog.store.calibration import STALE, CalibrationRow, calibration_of
from copilog.store.database import transaction
from copilog.store.estimated_spend import ReplayedCalls, estimate_of
from copilog.store.rows import EstimateSampleRow, SpendRow

DIGITS = 2  # that count, of a parameter of the user's own
MOST_TURNS = 100  # of a sample: the last ones
ROWS_AT_ONCE = 5_000  # in a transaction

# The columns of an estimate, in the order of `numbers()`; those that a row has recorded no place for stay empty.
_ESTIMATED = (
    "input", "cache_read", "input_at_least", "input_at_most", "output", "output_at_least", "output_at_most",
)  # fmt: skip
_SETS = ", ".join(f"{name} = iif({name} IS NULL, NULL, ?)" for name in _ESTIMATED)
_UPDATE = f"UPDATE spend SET {_SETS}, is_calibrated = 1 WHERE conversation = ? AND position = ?"  # noqa: S608 - names


def sample_rows(conversation: Conversation, replays: Replays) -> list[EstimateSampleRow]:
    """Return the sample of a conversation, if it records anything that determines parameters."""
    sample = sample_of(conversation, replays=replays)
    if sample.input is None and sample.output is None and not (sample.counted or sample.prompts or sample.outputs):
        return []
    sample.id = ""
    sample.replays = list(_merged(sample.replays))
    sample.prompts = [
        Prompt(replay=_rounded(one.replay), tokens=one.tokens, fixed=one.fixed) for one in sample.prompts[-MOST_TURNS:]
    ]
    sample.outputs = [(_rounded(replay), output) for replay, output in sample.outputs[-MOST_TURNS:]]
    return [EstimateSampleRow(0, msgspec.json.encode(sample).decode())]


def _merged(replays: Iterable[Replay]) -> Iterator[Replay]:
    """Yield one replay for each kind of call and model: parameters depend on sums alone."""
    sums: dict[tuple[str, str | None], Replay] = {}
    for one in replays:
        found = sums.get((one.kind, one.model))
        if found is None:
            sums[one.kind, one.model] = msgspec.structs.replace(one, turn=0, parent=None)
            continue
        for name in ("calls", "acting", "context", "kept_calls", "kept_context", "written"):
            setattr(found, name, getattr(found, name) + getattr(one, name))
    return map(_rounded, sums.values())


def _rounded(replay: Replay) -> Replay:
    sizes = ("context", "last_context", "kept_context", "written")
    return msgspec.structs.replace(replay, **{name: round(getattr(replay, name), 1) for name in sizes})


# --- the archive ----------------------------------------------------------------------------------------------------


def recalibrate(connection: sqlite3.Connection) -> None:
    """Find the parameters in the samples of the archive, and update the estimates that were made with others."""
    stale = connection.execute("SELECT 1 FROM meta WHERE key = ?", (STALE,)).fetchone()
    known = calibration_of(connection)
    found = list(_calibrated(connection)) if stale else known
    calibration = {row.name: Range(row.low, row.likely, row.high) for row in found}
    has_changed = found != known
    if has_changed or calibration != DEFAULTS:  # rows are made with the defaults
        rows = _estimated_rows(connection, calibration, is_all=has_changed)
        while batch := list(islice(rows, ROWS_AT_ONCE)):
            with transaction(connection):
                connection.executemany(_UPDATE, batch)
    if stale:
        with transaction(connection):
            connection.execute("DELETE FROM calibration")
            connection.executemany(
                "INSERT INTO calibration VALUES (?, ?, ?, ?, ?)", map(msgspec.structs.astuple, found)
            )
            connection.execute("DELETE FROM meta WHERE key = ?", (STALE,))


def parameters_of(connection: sqlite3.Connection) -> Calibration:
    """Return the parameters that the stored estimates were made with."""
    return {row.name: Range(row.low, row.likely, row.high) for row in calibration_of(connection)}


def with_parameters(rows: Iterable[SpendRow], calibration: Calibration) -> Iterator[SpendRow]:
    """Yield the rows of a conversation, its estimates made with these parameters, as `recalibrate` makes them."""
    decode = msgspec.json.Decoder(ReplayedCalls).decode
    for row in rows:
        if row.replay is None:
            yield row
            continue
        numbers = zip(_ESTIMATED, estimate_of(decode(row.replay), calibration).numbers(), strict=True)
        known = {name: number for name, number in numbers if getattr(row, name) is not None}
        yield msgspec.structs.replace(row, **known, is_calibrated=1)


def _calibrated(connection: sqlite3.Connection) -> Iterator[CalibrationRow]:
    """Yield the parameters: the user's own where enough conversations have a value, else the defaults."""
    decode = msgspec.json.Decoder(Sample).decode
    samples = [decode(sample) for (sample,) in connection.execute("SELECT sample FROM estimate_sample")]
    counts: dict[str, int] = {}
    parameters = calibrate(samples, DEFAULTS, is_own=True, counts=counts)
    for name, value in sorted(parameters.items()):
        own = counts.get(name, 0)
        low, likely, high = map(_significant, value) if own else value
        yield CalibrationRow(name, low, likely, high, own)


def _significant(value: float) -> float:
    return round(value, DIGITS - 1 - math.floor(math.log10(abs(value)))) if value else 0.0


def _estimated_rows(
    connection: sqlite3.Connection, calibration: Calibration, *, is_all: bool
) -> Iterator[tuple[int | None, ...]]:
    """Yield the numbers of estimated rows, and which row they are of; without `is_all`, of those that are not done."""
    rest = "" if is_all else " AND NOT is_calibrated"
    rows = connection.execute(
        f"SELECT conversation, position, replay FROM spend WHERE replay IS NOT NULL{rest}"  # noqa: S608 - a constant
    ).fetchall()
    decode = msgspec.json.Decoder(ReplayedCalls).decode
    for conversation, position, replay in rows:
        found = estimate_of(decode(replay), calibration)
        yield (*found.numbers(), conversation, position)
