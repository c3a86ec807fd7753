"""What all benchmarks need of processes: one per contender, on one core, and how much memory each had."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

SAMPLE_SECONDS = 0.05


class Memory(NamedTuple):
    """The peak of a family of processes; None where the system does not tell."""

    shared_once: int | None  # pages that several processes share count once (Pss)
    resident: int | None  # what each has in memory, added up (Rss)


def child(module: str, *arguments: object) -> dict[str, Any]:
    """Run a module in another process. The parent stays small: a child's peak begins with its parent's size."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, cwd=project_folder(), stdout=subprocess.PIPE, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def project_folder() -> Path:
    return Path(__file__).resolve().parent.parent


def stay_on_one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def peak_bytes() -> int | None:
    """The most memory that this process has had; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def run_and_watch(command: list[str], cwd: Path) -> Memory:
    """Run a command to its end and say how much memory it and all its children had together."""
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        watcher = _Watcher(process.pid)
        watcher.start()
        _, complaints = process.communicate()
        watcher.is_over.set()
        watcher.join()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{complaints}")
    return watcher.peak()


class _Watcher(threading.Thread):
    """Looks at a process and all that it started, again and again."""

    def __init__(self, process_id: int) -> None:
        super().__init__(daemon=True)
        self.process_id = process_id
        self.is_over = threading.Event()
        self.shared_once = self.resident = 0

    def run(self) -> None:
        while not self.is_over.wait(SAMPLE_SECONDS):
            memory = [_memory_of(process_id) for process_id in _family(self.process_id)]
            self.shared_once = max(self.shared_once, sum(pss for pss, _ in memory))
            self.resident = max(self.resident, sum(rss for _, rss in memory))

    def peak(self) -> Memory:
        return Memory(self.shared_once or None, self.resident or None)


def _family(process_id: int) -> list[int]:
    """A process and all its descendants that are alive."""
    found = [process_id]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:  # it has just ended
                continue
    return found


def _memory_of(process_id: int) -> tuple[int, int]:
    """Pss and Rss in bytes; nothing for a process that has just ended."""
    try:
        lines = Path(f"/proc/{process_id}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0, 0
    sizes = dict(line.split(":", 1) for line in lines[1:])
    pss, rss = (int(sizes[name].split()[0]) * 1024 for name in ("Pss", "Rss"))
    return pss, rss
