"""Notes about one file. Of each kind, only as many are reported as a user would read."""

from __future__ import annotations

from copilog.diagnostics import Ledger, Level

MOST_OF_A_KIND = 50


class FileNotes:
    """Passes notes to the ledger: of each code the first ones, and the number of the others."""

    __slots__ = ("_counts", "_ledger")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._counts: dict[str, int] = {}

    def note(
        self, code: str, reason: str, level: Level = "warning", *, line: int | None = None, offset: int | None = None
    ) -> None:
        count = self._counts[code] = self._counts.get(code, 0) + 1
        if count <= MOST_OF_A_KIND:
            self._ledger.note(code, reason, level, line=line, offset=offset)

    def close(self) -> None:
        """Report how many notes were left out."""
        for code, count in self._counts.items():
            if count > MOST_OF_A_KIND:
                self._ledger.note(code, f"and {count - MOST_OF_A_KIND} more like these", "info")
        self._counts.clear()
