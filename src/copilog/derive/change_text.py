"""Choose the text to show for a file's change: its diff, or the inserted texts if the file is not on disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from copilog.model import FileChange

TEXTS = ("txt", "text", "source")  # keys of the text in VS Code's edits, operations and cells


def shown_diff(change: FileChange) -> str | None:
    """Return the diff of a change, else its inserted lines, each with a leading plus; None if unknown."""
    if change.diff or not change.unapplied:
        return change.diff
    texts = [text for edit in change.unapplied for text in _texts_in(edit) if text]
    return "\n".join(f"+{line}" for text in texts for line in text.rstrip("\n").split("\n")) or None


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in TEXTS and isinstance(item, str):
                yield item
            else:
                yield from _texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item)
