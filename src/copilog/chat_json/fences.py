"""Put the empty code block around each run of edits, by which VS Code shows one line for the file.

Reading drops it. It was an item of its own where a position is free, else the end and the beginning of texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from copilog.chat_json.parts import FENCE
from copilog.fields import Json

Placed = tuple[int | None, Json]  # an item of a response, and the position at which it was read

EDITS = ("textEditGroup", "notebookEditGroup")
BESIDE_EDITS = (*EDITS, "codeblockUri", "undoStop")
_OPEN = re.compile(r"(?:^|\n)```[^\n`]*\n?$")


def with_fences(items: Sequence[Placed]) -> list[Placed]:
    """Return items with a fence before and after each run of edits that has none."""
    runs = [list(run) for _, run in groupby(items, key=lambda placed: placed[1].get("kind") in BESIDE_EDITS)]
    made: list[Placed] = []
    closes = False
    for run in runs:
        has_edits = any(item.get("kind") in EDITS for _, item in run)
        is_open = bool(made) and _text_of(made[-1][1]) is not None and _OPEN.search(_text_of(made[-1][1]) or "")
        if closes:
            _close(made, run[0])
        closes = has_edits and not is_open
        if closes:
            _open_before(made, run[0])
        made += run
    if closes:
        _close(made, None)
    return made


def _text_of(item: Json) -> str | None:
    text = item.get("value") if "kind" not in item else None
    return text if isinstance(text, str) else None


def _open_before(made: list[Placed], first: Placed) -> None:
    position = first[0]
    last, item = made[-1] if made else (-1, {})
    text = _text_of(item)
    if position is not None and last is not None and position > last + 1:
        made.append((position - 1, {"value": FENCE}))
    elif text is not None:
        item["value"] = text + FENCE
    else:
        made.append((None, {"value": FENCE}))


def _close(made: list[Placed], following: Placed | None) -> None:
    last = made[-1][0]
    text = _text_of(following[1]) if following is not None else None
    position = following[0] if following is not None else None
    if following is None or (position is not None and last is not None and position > last + 1):
        made.append((None if last is None else last + 1, {"value": FENCE}))
    elif text is not None:
        following[1]["value"] = FENCE + text
    else:
        made.append((None, {"value": FENCE}))
