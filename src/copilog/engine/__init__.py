"""How work is spread: one process or several. Engines receive functions and never know what they run."""

from __future__ import annotations

from copilog.engine.base import Engine, WorkerLost
from copilog.engine.serial import Serial

__all__ = ["Engine", "Serial", "WorkerLost", "engine_for"]


def engine_for(jobs: int) -> Engine:
    """An engine that keeps so many cores busy. Nothing is started before there is work."""
    if jobs <= 1:
        return Serial()
    from copilog.engine.processes import Processes

    return Processes(jobs)
