"""Dashboards, cached until the archive changes, so that the next page of a list needs no new measurement."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime
from threading import Lock
from typing import Any, NamedTuple

from copilog.analysis import choose
from copilog.analysis.plans import Plan
from copilog.store.archive import Archive
from copilog.web.dashboard.figures import Look, Measured, measure
from copilog.web.dashboard.links import Links
from copilog.web.dashboard.page import sections_of
from copilog.web.dashboard.panels import Section
from copilog.web.filters import Filters, measured_by

MOST_KEPT = 24


class Board(NamedTuple):
    """Figures, and the sections that show them."""

    measured: Measured
    sections: list[Section]


class Boards:
    """A cache of the most recent dashboards. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._cached: OrderedDict[Any, Board] = OrderedDict()

    def of(self, archive: Archive, filters: Filters, now: datetime, look: Look, plan: Plan) -> Board:
        """Return the dashboard for these filters, from the cache if possible. Raise UsageError for invalid filters."""
        selection = measured_by(filters, now)
        key = (archive.path, state_of(archive), filters, selection, now.astimezone().date())
        with self._lock:
            board = self._cached.get(key)
        if board is None or look(board.measured.workspaces) != board.measured.defined:
            measured = measure(choose(archive, selection, now=now, plan=plan), look)
            board = Board(measured, sections_of(measured, Links(filters, now)))
        with self._lock:
            self._cached[key] = board
            self._cached.move_to_end(key)
            while len(self._cached) > MOST_KEPT:
                self._cached.popitem(last=False)
        return board


def state_of(archive: Archive) -> tuple[Any, ...]:
    """Return a value that changes whenever a conversation, a star or a label does."""
    connection = archive.connection
    stored = connection.execute("SELECT count(*), max(stored_at), max(gone_at) FROM conversation").fetchone()
    annotated = connection.execute("SELECT count(*), max(changed_at) FROM annotation").fetchone()
    labelled = connection.execute("SELECT id, label FROM label").fetchall()
    return stored, annotated, hash(tuple(labelled))
