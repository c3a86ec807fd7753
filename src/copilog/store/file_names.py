r"""Encode file names for the archive. On disk they may be any bytes; invalid characters are escaped in the archive.

The byte 255, which Python decodes to a lone surrogate, is written as six characters: `\udcff`. If a name has
such characters itself, their backslash is escaped: `\u005cudcff`.
"""

from __future__ import annotations

import re

_CODE = r"(005c|d[89a-f][0-9a-f]{2})"
_SPELLED = re.compile(rf"\\u{_CODE}")
_LIKE_ESCAPE = re.compile(rf"\\(?=u{_CODE})")


def spelled(name: str) -> str:
    """Return the name as text that can be stored."""
    if "\\u" in name:
        name = _LIKE_ESCAPE.sub(r"\\u005c", name)
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()


def on_disk(name: str) -> str:
    """Return the name on disk of a stored name."""
    return _SPELLED.sub(lambda match: chr(int(match[1], 16)), name) if "\\u" in name else name
