"""Text that is safe to print to a terminal.

A conversation contains any text: a web page, the output of a program, an attack. Nothing in it may control the
terminal, nor may lone surrogates remain, which cannot be printed.
"""

from __future__ import annotations

import re
from typing import Any

from copilog import jsonio

_REPLACEMENT = "\ufffd"
# Control characters but tab and line feed, marks that change the text direction, lone surrogates.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# Characters that are invisible, or change the text direction, as on a page; joiners stay, for
# the scripts and emoji that need them.
UNSEEN = re.compile("[\u00ad\u061c\u115f\u180e\u200b\u200e\u200f\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]")
_LINE_END = re.compile("\r\n|[\r\x85\u2028\u2029]")
_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles, links
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"
    r"|\x1b[ -/]*[0-~]"
)


def clean(text: str) -> str:
    """Return the text with its lines; control characters become visible."""
    if not _UNSAFE.search(text):
        return text
    return _UNSAFE.sub(_visible, _LINE_END.sub("\n", text))


def clean_line(text: str, limit: int | None = None) -> str:
    """Return the text as one line, cut to a length."""
    if limit is not None and len(text) > 8 * limit:
        text = text[: 8 * limit]
    line = " ".join(clean(text).split())
    return line if limit is None or len(line) <= limit else line[: limit - 1] + "…"


def clean_output(text: str) -> str:
    """Return the output of a program as the user saw it: without colours, overwritten lines in their last state."""
    if "\x1b" in text or "\x9b" in text or "\x9d" in text:
        text = _ESCAPE_SEQUENCE.sub("", text)
    if "\r" in text:
        lines = text.replace("\r\n", "\n").split("\n")
        text = "\n".join(_as_last_seen(line) for line in lines)
    return clean(text)


def json_text(value: Any) -> str:
    """Return any JSON value as clean text."""
    try:
        return clean(jsonio.encode(value))
    except (RecursionError, TypeError, ValueError):  # lone surrogates raise a ValueError
        return clean(repr(value))


def _as_last_seen(line: str) -> str:
    return next((piece for piece in reversed(line.split("\r")) if piece), "")


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)  # the picture of the control character, such as ␛
    return "␡" if code == 0x7F else _REPLACEMENT
