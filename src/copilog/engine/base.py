"""What an engine does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from types import TracebackType
from typing import Any, TypeVar

from copilog.errors import CopilogError

AHEAD = 3  # running or waiting parts per process: enough to keep it busy, few enough to keep results small

Part = TypeVar("Part")
Result = TypeVar("Result")


class WorkerLost(CopilogError):  # noqa: N818 - it is news, not a fault of ours
    """A worker process has ended, so the run cannot be finished."""


class Engine:
    """Applies a function to parts. Functions are those of modules, and parts and results can be pickled."""

    def map(self, work: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
        """Yield the results in the order of the parts. Parts are read on demand."""
        raise NotImplementedError

    def prepare(self, work: Callable[[Any], Any]) -> None:
        """Prepare for work that is certain to come, while the caller is still busy."""

    def run(
        self,
        work: Callable[[Part], Result],
        parts: Iterable[Part],
        combine: Callable[[Result, Result], Result],
        start: Result,
    ) -> Result:
        """Return all results combined into one."""
        return reduce(combine, self.map(work, parts), start)

    def close(self) -> None:
        """End the processes."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
