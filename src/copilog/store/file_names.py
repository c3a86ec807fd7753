r"""Names of files as the archive has them. On disk they may be any bytes; what is no character is spelled out there.

The byte 255, which Python has as one half character, stands in the archive as six letters: `\udcff`.
"""

from __future__ import annotations

import re

_SPELLED = re.compile(r"\\u(d[89a-f][0-9a-f]{2})")


def spelled(name: str) -> str:
    """The name as text that can be stored."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()


def on_disk(name: str) -> str:
    """What a name that was stored is on disk."""
    return _SPELLED.sub(lambda match: chr(int(match[1], 16)), name) if "\\ud" in name else name
