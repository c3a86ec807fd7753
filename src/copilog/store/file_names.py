r"""Names of files as the archive has them. On disk they may be any bytes; what is no character is spelled out there.

The byte 255, which Python has as one half character, stands in the archive as six letters: `\udcff`. Where a name has
such letters itself, their backslash is spelled out: `\u005cudcff`.
"""

from __future__ import annotations

import re

_CODE = r"(005c|d[89a-f][0-9a-f]{2})"
_SPELLED = re.compile(rf"\\u{_CODE}")
_LOOKS_SPELLED = re.compile(rf"\\(?=u{_CODE})")


def spelled(name: str) -> str:
    """The name as text that can be stored."""
    if "\\u" in name:
        name = _LOOKS_SPELLED.sub(r"\\u005c", name)
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()


def on_disk(name: str) -> str:
    """What a name that was stored is on disk."""
    return _SPELLED.sub(lambda match: chr(int(match[1], 16)), name) if "\\u" in name else name
