"""Characters that are invisible, or change the text direction, made visible.

An attacker may have put them there to mislead the user, or to give a model text that the user does not see. Joiners
stay: many scripts and emoji need them.
"""

from __future__ import annotations

import re

_LINE_END = re.compile("\r\n|[\r\x85\u2028\u2029]")
_ODD = re.compile(
    "[\U000e0020-\U000e007e]+"  # an invisible copy of ASCII
    "|([\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000\U000e0001\U000e007f\ud800-\udfff])\\1*"
)


def visible(text: str) -> str:
    """Return the text with line feeds only; each invisible character is replaced by its name."""
    text = _LINE_END.sub("\n", text)
    return _ODD.sub(_named, text)


def visible_line(text: str, limit: int = 160) -> str:
    """Return the text as one line of at most so many characters."""
    line = " ".join(visible(text[: 8 * limit]).split())
    is_cut = len(line) > limit or len(text) > 8 * limit
    return line[: limit - 1] + "…" if is_cut else line


def cut(text: str, limit: int) -> tuple[str, int]:
    """Return the beginning of a text, and the number of characters left out."""
    return (text, 0) if len(text) <= limit else (text[:limit], len(text) - limit)


def _named(match: re.Match[str]) -> str:
    run, character = match[0], match[1]
    if character is None:
        return f"⟨hidden: {''.join(chr(ord(each) - 0xE0000) for each in run)}⟩"
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code) * len(run)  # the picture of the control character, such as ␛
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd" * len(run)
    return f"⟨U+{code:04X}⟩" if len(run) == 1 else f"⟨U+{code:04X} ×{len(run)}⟩"
