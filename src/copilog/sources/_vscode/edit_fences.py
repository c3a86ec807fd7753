"""Fences around edits: VS Code writes them into the response itself, and hides them.

A file that a tool edits is an empty code block there: the opening fence, `undoStop`, `codeblockUri`, the edits, the
closing fence. The fences stand in parts of their own, or at the end and the beginning of what the model said.
Format notes: docs/formats/vscode-chat.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator

EDITS = ("textEditGroup", "notebookEditGroup", "codeblockUri")
BESIDE = (*EDITS, "undoStop")
_OPENING = re.compile(r"(?:^|\n)```\n?$")
_CLOSING = re.compile(r"^\n?```(?:\n|$)")


def texts_without_fences(items: list[object]) -> dict[int, str]:
    """Return the texts of the parts that have such a fence, without it, by the part's position."""
    found: dict[int, str] = {}
    for before, after in _around_edits(items):
        opening, closing = _text(items, before, found), _text(items, after, found)
        if _OPENING.search(opening) and _CLOSING.search(closing):
            found[before] = _OPENING.sub("", opening)
            found[after] = _CLOSING.sub("", closing)
    return found


def _around_edits(items: list[object]) -> Iterator[tuple[int, int]]:
    """Yield the positions of the parts before and behind each run of edits."""
    before, has_edits = -1, False
    for position, item in enumerate(items):
        kind = item.get("kind") if type(item) is dict else None
        if kind in BESIDE:
            has_edits = has_edits or kind in EDITS
            continue
        if has_edits and before >= 0:
            yield before, position
        before, has_edits = position, False


def _text(items: list[object], position: int, found: dict[int, str]) -> str:
    item = items[position]
    value = item.get("value") if isinstance(item, dict) and item.get("kind") is None else None
    return found.get(position, value if isinstance(value, str) else "")
