"""Search a text with a pattern that a user wrote, within a time limit."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from copilog.errors import UsageError

PATTERN_SECONDS = 5.0
SHORT_TEXT = 16  # characters, on which every pattern is fast


def has_match_within_limit(pattern: re.Pattern[str], text: str) -> bool:
    """Return whether a pattern matches. Raise UsageError if that takes too long, as some patterns take forever."""
    with time_limit(pattern, text):
        return pattern.search(text) is not None


@contextmanager
def time_limit(pattern: re.Pattern[str], text: str) -> Iterator[None]:
    """Raise UsageError if a search for a pattern takes too long.

    The limit needs a system timer, which exists on Linux and macOS, in the main thread of each process.
    """
    has_timer = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not has_timer or len(text) < SHORT_TEXT:
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        raise UsageError(
            f"the pattern {pattern.pattern!r} takes longer than {PATTERN_SECONDS:g} s on a text of "
            f"{len(text):,} characters; write one without repetitions inside repetitions"
        )

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, PATTERN_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
