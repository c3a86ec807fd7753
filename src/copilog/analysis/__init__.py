"""Figures about conversations, from the tables of the archive. docs/metrics.md defines each.

    from copilog.analysis import Selection, measure

    with copilog.open() as archive:
        stats = measure(archive, Selection(workspace="tide-tables"))
        print(stats.tokens.total.output, stats.tools.failed)

Every section has a function of its own, which takes what `choose` returns. None of them opens a conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from copilog.analysis.figures import Stats
    from copilog.analysis.selection import Chosen, Selection, choose
    from copilog.definitions import Definition
    from copilog.store.archive import Archive

MOST_ROWS = 20


def measure(
    archive: Archive,
    selection: Selection | None = None,
    *,
    defined: Sequence[Definition] | None = None,
    limit: int | None = MOST_ROWS,
    prices: bool = True,
    now: datetime | None = None,
) -> Stats:
    """Return all sections. `defined` are the agents and skills of this machine, if the caller has read them."""
    from copilog.analysis.selection import choose

    return measure_chosen(choose(archive, selection, now=now), defined=defined, limit=limit, prices=prices)


def measure_chosen(
    chosen: Chosen, *, defined: Sequence[Definition] | None = None, limit: int | None = MOST_ROWS, prices: bool = True
) -> Stats:
    """Return all sections of a selection that `choose` prepared."""
    from copilog.analysis.activity import activity
    from copilog.analysis.agents import agents
    from copilog.analysis.figures import Stats
    from copilog.analysis.models import models
    from copilog.analysis.skills import skills
    from copilog.analysis.tokens import tokens
    from copilog.analysis.tools import tools
    from copilog.analysis.totals import totals
    from copilog.analysis.work_outcomes import work
    from copilog.store.times import time_text

    return Stats(
        since=time_text(chosen.selection.since),
        until=time_text(chosen.selection.until),
        totals=totals(chosen),
        tokens=tokens(chosen, limit=limit, prices=prices),
        models=models(chosen, limit=limit),
        tools=tools(chosen, limit=limit),
        agents=agents(chosen, defined, limit=limit),
        skills=skills(chosen, defined, limit=limit),
        work=work(chosen, limit=limit),
        time=activity(chosen),
    )


def __getattr__(name: str) -> Any:
    """Return a name of `selection`, imported on first use: the status line starts faster without it."""
    if name not in ("Chosen", "Selection", "choose"):
        raise AttributeError(f"module 'copilog.analysis' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("copilog.analysis.selection"), name)


__all__ = ["Chosen", "Selection", "choose", "measure", "measure_chosen"]
