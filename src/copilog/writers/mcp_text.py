"""Text that is safe to give to a language model: without invisible characters, and limited in length.

A conversation contains text of web pages, programs and users. Characters that a user would not see, but a model would
read, are removed: escape sequences, direction marks, tags, lone surrogates.
"""

from __future__ import annotations

import re

BYTES_PER_TOKEN = 4  # an estimate that needs no tokenizer: English and code come close, other scripts stay below

_LINE_END = re.compile("\r\n|[\r\x85\u2028\u2029]")
_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles, links
    r"|\x1b[ -/]*[0-~]"
)
# Control characters but tab and line feed, marks of zero width or of direction, tags, lone surrogates.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff\ud800-\udfff]"
)
_BACKTICKS = re.compile("`{3,}")


def plain(text: str) -> str:
    """Return the text with its lines, without invisible characters."""
    if "\x1b" in text or "\x9b" in text or "\x9d" in text:
        text = _ESCAPE_SEQUENCE.sub("", text)
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN.sub("", _LINE_END.sub("\n", text))


def one_line(text: str, limit: int = 200) -> str:
    """Return the beginning of the text as one line."""
    line = " ".join(plain(text[: 8 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def shortened(text: str, limit: int | None) -> str:
    """Return the text; if it is too long, its beginning and its end."""
    if limit is None or len(text) <= limit:
        return text
    tail = limit // 3
    head = limit - tail
    left_out = f"\n… {len(text) - limit:,} characters left out …\n"
    return text[:head].rstrip() + left_out + (text[-tail:].lstrip() if tail else "")


def fenced(text: str, language: str = "") -> str:
    """Return the text as a code block that it cannot end."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{language}\n{text}{end}{fence}"


def tokens_of(text: str) -> int:
    """Return about how many tokens a text has."""
    return -(-size_of(text) // BYTES_PER_TOKEN)


def size_of(text: str) -> int:
    """Return the number of bytes in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def beginning_of(text: str, size: int) -> str:
    """Return as much of a text as fits into so many bytes, up to the end of a line or word if one is near."""
    part = text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")
    for mark in ("\n", " "):
        end = part.rfind(mark) + 1
        if end > len(part) * 3 // 4:
            return part[:end]
    return part
