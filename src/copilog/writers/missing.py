"""What an exported document could not carry, to be said at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from copilog.view.wording import counted, size_words
from copilog.writers.markdown_text import plain


class Missing:
    """Counts while a conversation is written."""

    def __init__(self) -> None:
        self.edits = 0  # without a record of what was changed
        self.superseded = ""  # turns that no longer count, in words
        self._files: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

    def add_bytes(self, kind: str, size: int) -> None:
        self._files[kind] += 1
        self._bytes[kind] += size

    def lines(self) -> Iterator[str]:
        if self.superseded:
            yield f"{self.superseded}; `copilog show ID --superseded` shows them"
        for kind, number in self._files.items():
            yield f"{counted(number, 'file')} of type {plain(kind, 60)}, {size_words(self._bytes[kind])}"
        if self.edits:
            yield f"{counted(self.edits, 'edit')} of which nothing but the name of the file was recorded"
        yield (
            "fields that have no words of their own, such as ids, checkpoints and calls of the model one by one; "
            "`copilog show ID --json` has them all"
        )
