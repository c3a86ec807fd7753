"""The process at the other end: reads questions from standard input, and writes the ranges of the matches.

It imports nothing but the standard library, so that it starts quickly, and ends when its input ends.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import re
import signal
import sys
from functools import lru_cache
from itertools import islice

TOO_SLOW = 1  # the exit code that the watchdog leaves

Span = tuple[int, int]
Question = tuple[str, int, str, int, float]  # pattern, flags, text, the most matches, and the limit in seconds


def spans_of(pattern: re.Pattern[str], text: str, most: int) -> list[Span]:
    """Return the ranges of the first matches."""
    return [match.span() for match in islice(pattern.finditer(text), most)]


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    compiled = lru_cache(maxsize=64)(re.compile)
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        while True:
            try:
                pattern, flags, text, most, seconds = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own parent
            except (EOFError, pickle.UnpicklingError):
                return 0
            # A thread without Python: the search does not let other Python threads run.
            faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
            try:
                spans = spans_of(compiled(pattern, flags), text, most)
            finally:
                faulthandler.cancel_dump_traceback_later()
            pickle.dump(spans, sys.stdout.buffer, protocol=5)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.exit(0)
    except Exception:  # noqa: BLE001 - the parent reports that this process ended
        sys.exit(2)
