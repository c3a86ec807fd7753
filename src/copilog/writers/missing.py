"""What an exported document cannot contain, for the note at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from copilog.view.wording import counted, size_text
from copilog.writers.markdown_text import plain


class Missing:
    """Counts what is missing while a conversation is written."""

    def __init__(self) -> None:
        self.edits = 0  # without a record of the change
        self.superseded = ""  # superseded turns, as text
        self._files: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

    def add_bytes(self, kind: str, size: int) -> None:
        self._files[kind] += 1
        self._bytes[kind] += size

    def lines(self) -> Iterator[str]:
        if self.superseded:
            yield f"{self.superseded}; `copilog show ID --superseded` shows them"
        for kind, number in self._files.items():
            yield f"{counted(number, 'file')} of type {plain(kind, 60)}, {size_text(self._bytes[kind])}"
        if self.edits:
            yield f"{counted(self.edits, 'edit')} of which only the file name was recorded"
        yield (
            "fields that this format does not show, such as ids, checkpoints and single model calls; "
            "`copilog show ID --json` has all of them"
        )
