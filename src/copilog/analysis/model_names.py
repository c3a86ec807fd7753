"""The spelling of a model in figures: the most frequent one."""

from __future__ import annotations

from collections import Counter, defaultdict

from copilog.analysis.name_keys import most_common
from copilog.derive.model_names import key_of, plain_name


class ModelNames:
    """The spellings of each model, with their frequencies."""

    def __init__(self) -> None:
        self._met: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def key_of(self, name: str | None, times: int = 1) -> str:
        """Return the model's key, and count its spelling."""
        if name is None:
            return ""
        key = key_of(name)
        if key:
            self._met[key][plain_name(name)] += times
        return key

    def shown(self, key: str) -> str:
        """Return the most frequent spelling, without vendor and date."""
        return most_common(self._met[key])[0]
