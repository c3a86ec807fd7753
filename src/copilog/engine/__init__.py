"""How work is spread: one process or several. Engines receive functions and never know what they run."""

from __future__ import annotations

from copilog.engine.base import AHEAD, Engine, WorkerLost
from copilog.engine.serial import Serial

__all__ = ["Engine", "Serial", "WorkerLost", "engine_for"]


def engine_for(jobs: int, ahead: int = AHEAD) -> Engine:
    """An engine that keeps so many cores busy. Nothing is started before there is work.

    `ahead` is how many parts a core is given before the first of their results is taken: more of them where whoever
    takes the results is busy with something else at times.
    """
    if jobs <= 1:
        return Serial()
    from copilog.engine.processes import Processes

    return Processes(jobs, ahead)
