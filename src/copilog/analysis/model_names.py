"""Models are known by many names: `copilot/gpt-4.1`, `GPT-4.1`, `gpt-4.1-2025-04-14`. They are counted as one."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from copilog.analysis.names import most_common
from copilog.remembering import remembered

NO_NAMES = frozenset({"", "unknown", "undefined", "none", "null"})  # names that say nothing

_REMARK = re.compile(r"\s*\([^()]*\)$")  # Claude Sonnet 4 (Preview)
_DATE = re.compile(r"[-@](?:20\d\d-?[01]\d-?[0-3]\d|(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01]))$")
_BETWEEN = re.compile(r"[\s._-]+")


@remembered(4096)
def plain_name(name: str) -> str:
    """A model's name as it was written, without vendor, remark and date: `gpt-4.1` of `copilot/gpt-4.1-2025-04-14`."""
    return _DATE.sub("", _REMARK.sub("", name.strip().rpartition("/")[2]))


@remembered(4096)
def key_of(name: str) -> str:
    """What is the same for all names of a model; empty where the name says nothing."""
    key = _BETWEEN.sub("-", plain_name(name)).casefold()
    return "" if key in NO_NAMES else key


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
