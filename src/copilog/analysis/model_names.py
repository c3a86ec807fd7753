"""How a model is spelled in figures: the way that was met most often."""

from __future__ import annotations

from collections import Counter, defaultdict

from copilog.analysis.name_keys import most_common
from copilog.derive.model_names import key_of, plain_name


class ModelNames:
    """The spellings that were met of each model, and how often."""

    def __init__(self) -> None:
        self._met: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def key_of(self, name: str | None, times: int = 1) -> str:
        """The model's key, its spelling noted."""
        if name is None:
            return ""
        key = key_of(name)
        if key:
            self._met[key][plain_name(name)] += times
        return key

    def shown(self, key: str) -> str:
        """The spelling that was met most often, without vendor and date."""
        return most_common(self._met[key])[0]
