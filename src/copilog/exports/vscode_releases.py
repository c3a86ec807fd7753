"""Compare releases of VS Code, whose files differ."""

from __future__ import annotations

import re

from copilog.errors import UsageError

FIRST_WITHOUT_USER = (1, 108)  # earlier ones import only what names who asked
FIRST_WITH_LOGS = (1, 109)  # began to write sessions as .jsonl
_RELEASE = re.compile(r"(\d+)\.(\d+)(?:\.\d+)?")


def is_before(release: str | None, first: tuple[int, int]) -> bool:
    """Return whether a release that the user named is before another one; raise UsageError if it is none."""
    if release is None:
        return False
    found = _RELEASE.fullmatch(release)
    if found is None:
        raise UsageError(f"{release}: not a release of VS Code, such as 1.108")
    return (int(found[1]), int(found[2])) < first
