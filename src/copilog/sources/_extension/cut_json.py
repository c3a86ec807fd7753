"""JSON text that was cut off at a length: what stands before the cut is still there."""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from copilog import jsonio
from copilog.errors import BadRecord

# What writers put where they cut: a debug log at 5,000 characters, spans at a length that can be set.
_CUT_MARK = re.compile(r"(?:\[truncated\]|\.\.\.\[truncated, original \d+ chars\])\Z")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
_HALF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_CLOSING = {"[": "]", "{": "}"}
MOST_STEPS_BACK = 6


def is_cut(text: str) -> bool:
    """Whether a text ends with what writers put where they cut."""
    return _CUT_MARK.search(text) is not None


def without_cut_mark(text: str) -> str:
    return _CUT_MARK.sub("", text)


def decode_cut(text: str) -> tuple[Any, bool]:
    """The value of JSON text, and whether its end is missing. None when nothing can be read."""
    try:
        return jsonio.decode(text.encode("utf-8", "replace"))[0], False
    except BadRecord:
        return _closed(without_cut_mark(text)), True


def _closed(text: str) -> Any:
    """Close what is open at the end; where that is not enough, go back to where the last values began."""
    open_brackets: list[str] = []
    steps: deque[tuple[int, str]] = deque(maxlen=MOST_STEPS_BACK)  # commas and opening brackets, with what closes
    is_in_string = False
    for token in _TOKEN.finditer(text):
        found = token[0]
        if found in ("[", "{"):
            open_brackets.append(_CLOSING[found])
            steps.append((token.end(), "".join(reversed(open_brackets))))
        elif found in ("]", "}"):
            if not open_brackets or open_brackets.pop() != found:
                return None
        elif found == ",":
            steps.append((token.start(), "".join(reversed(open_brackets))))
        else:
            is_in_string = token.end() == len(text) and not (len(found) > 1 and _ends_string(found))
    end = _HALF_ESCAPE.sub("", text) + '"' if is_in_string else text
    candidates = [end + "".join(reversed(open_brackets))]
    candidates += [text[:position] + closing for position, closing in reversed(steps)]
    for candidate in candidates:
        try:
            return jsonio.decode(candidate.encode("utf-8", "replace"))[0]
        except BadRecord:
            continue
    return None


def _ends_string(token: str) -> bool:
    """Whether a string token has its closing quote, and not an escaped one."""
    if not token.endswith('"'):
        return False
    backslashes = len(token[:-1]) - len(token[:-1].rstrip("\\"))
    return backslashes % 2 == 0
