"""Several processes of our own, each fed through its standard input.

Not multiprocessing: its workers run the caller's main module again, so that `copilog.extract(..., jobs=2)` in a plain
script would start the script anew, and a fork copies the threads of progress bars in whatever state they are.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from typing import Any

from copilog.engine.base import AHEAD, Engine, Part, Result, WorkerLost

_COMMAND = (sys.executable, "-P", "-m", "copilog.engine.worker")


class Processes(Engine):
    def __init__(self, jobs: int, ahead: int = AHEAD) -> None:
        self._jobs = jobs
        self._ahead = ahead
        self._workers: list[Worker] = []

    def prepare(self, work: Callable[[Any], Any]) -> None:
        while len(self._workers) < self._jobs:
            self._workers.append(Worker())
            self._workers[-1].prepare(work)

    def map(self, work: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
        waiting = iter(enumerate(parts))
        todo: SimpleQueue[tuple[int, Any] | None] = SimpleQueue()
        done: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()
        first = list(islice(waiting, self._jobs * self._ahead))
        while len(self._workers) < min(self._jobs, len(first)):
            self._workers.append(Worker())
        for item in first:
            todo.put(item)
        for worker in self._workers:
            threading.Thread(target=worker.serve, args=(work, todo, done), daemon=True).start()
        try:
            yield from _in_order(waiting, todo, done, len(first))
        finally:
            for _ in self._workers:
                todo.put(None)

    def close(self) -> None:
        for worker in self._workers:
            worker.end()
        self._workers.clear()


def _in_order(
    waiting: Iterator[tuple[int, Any]],
    todo: SimpleQueue[tuple[int, Any] | None],
    done: SimpleQueue[tuple[int, Any, BaseException | None]],
    pending: int,
) -> Iterator[Any]:
    """Yield the results in the order of their parts. A new part is sent out for each that leaves."""
    early: dict[int, Any] = {}
    following = 0
    while pending:
        index, result, error = done.get()
        if error is not None:
            raise error
        early[index] = result
        while following in early:
            yield early.pop(following)
            following += 1
            pending -= 1
            more = next(waiting, None)
            if more is not None:
                todo.put(more)
                pending += 1


class Worker:
    """One process, and the connection to it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own module, in our own interpreter
            _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self._send(sys.path)

    def prepare(self, work: Callable[[Any], Any]) -> None:
        """Have the function's module imported."""
        with suppress(OSError):  # an ended process is noticed when it is given work
            self._send((None, work))

    def serve(
        self,
        work: Callable[[Any], Any],
        todo: SimpleQueue[tuple[int, Any] | None],
        done: SimpleQueue[tuple[int, Any, BaseException | None]],
    ) -> None:
        """Take parts and return results until there are no more."""
        while (item := todo.get()) is not None:
            index, part = item
            try:
                self._send((work, part))
                assert self._process.stdout is not None
                is_good, value = pickle.load(self._process.stdout)  # noqa: S301 - written by our own process
            except (OSError, EOFError, pickle.UnpicklingError):
                lost = WorkerLost("a worker process ended before its work was done; was it killed, or out of memory?")
                done.put((index, None, lost))
                return
            except Exception as error:  # noqa: BLE001 - it is raised again by whoever waits for the result
                done.put((index, None, error))
                return
            done.put((index, value, None) if is_good else (index, None, value))

    def _send(self, value: Any) -> None:
        assert self._process.stdin is not None
        pickle.dump(value, self._process.stdin, protocol=5)
        self._process.stdin.flush()

    def end(self) -> None:
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):  # the reader of the remaining output is gone
                    stream.close()
        self._process.wait()
