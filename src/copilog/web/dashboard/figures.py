"""The figures of a dashboard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from copilog.analysis import Chosen, Selection, measure_chosen
from copilog.analysis.figures import Stats
from copilog.analysis.token_methods import MethodRow, tokens_by_method
from copilog.definitions import Definition

MOST_ROWS = 20  # of a table

# Reads the definitions of this machine and of these workspaces; None if definitions are not read.
Look = Callable[[Sequence[str]], list[Definition] | None]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    stats: Stats
    methods: list[MethodRow]
    selection: Selection
    now: datetime
    workspaces: list[str]
    defined: list[Definition] | None  # None: definitions were not read


def measure(chosen: Chosen, look: Look) -> Measured:
    rows = chosen.connection.execute(
        "SELECT DISTINCT workspace FROM temp.chosen WHERE workspace IS NOT NULL ORDER BY workspace"
    )
    workspaces = [folder for (folder,) in rows]
    defined = look(workspaces)
    return Measured(
        stats=measure_chosen(chosen, defined=defined, limit=MOST_ROWS),
        methods=tokens_by_method(chosen),
        selection=chosen.selection,
        now=chosen.now,
        workspaces=workspaces,
        defined=defined,
    )
