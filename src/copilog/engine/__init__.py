"""How work is spread: one process or several. Engines call functions without knowledge of what they do."""

from __future__ import annotations

from copilog.engine.base import AHEAD, Engine, WorkerLost
from copilog.engine.serial import Serial

__all__ = ["Engine", "Serial", "WorkerLost", "engine_for"]


def engine_for(jobs: int, ahead: int = AHEAD) -> Engine:
    """Return an engine that keeps so many cores busy. No process is started before there is work.

    `ahead` is how many parts a core is given before the first of their results is read: more of them if the caller that
    reads the results is busy at times.
    """
    if jobs <= 1:
        return Serial()
    from copilog.engine.processes import Processes

    return Processes(jobs, ahead)
