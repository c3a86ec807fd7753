"""One part after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from copilog.engine.base import Engine, Part, Result


class Serial(Engine):
    def map(self, work: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
        return map(work, parts)
