"""Search texts with patterns that users wrote, within a time limit for each text.

Some patterns take forever, and a search cannot be interrupted from Python. The main thread has a timer of the system
that ends it, on Linux and macOS. Anywhere else, a process of our own searches, which ends itself.
"""

from __future__ import annotations

import atexit
import pickle
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from types import FrameType

from copilog.errors import CopilogError, UsageError
from copilog.patterns import worker
from copilog.patterns.worker import Span, spans_of

PATTERN_SECONDS = 5.0
SHORT_TEXT = 16  # characters, on which every pattern is fast
_FAST_STEPS = 100_000_000  # about a second

_ESCAPE_OR_CLASS = re.compile(r"\\[^1-9]|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPEATED_GROUP_OR_REFERENCE = re.compile(r"\)\s*[*+?{]|\\[1-9]|\(\?(?:P=|\()")
_REPETITION = re.compile(r"(?<!\()[*+?{]")


def has_match_within_limit(pattern: re.Pattern[str], text: str) -> bool:
    """Return whether a pattern matches. Raise SlowPatternError if that takes too long."""
    return bool(spans_within_limit(pattern, text, 1))


def spans_within_limit(pattern: re.Pattern[str], text: str, most: int) -> list[Span]:
    """Return the ranges of the first matches. Raise SlowPatternError if the search takes too long."""
    if len(text) < SHORT_TEXT or _is_surely_fast(pattern, text):
        return spans_of(pattern, text, most)
    try:
        if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
            with _timer():
                return spans_of(pattern, text, most)
        return _searching.spans(pattern, text, most)
    except _TooSlowError:
        raise SlowPatternError(
            f"the pattern {pattern.pattern!r} takes longer than {PATTERN_SECONDS:g} s on a text of "
            f"{len(text):,} characters; write one without repetitions inside repetitions"
        ) from None


class SlowPatternError(UsageError):
    """A pattern that takes too long."""


class _TooSlowError(Exception):
    """A search took longer than the limit."""


def _is_surely_fast(pattern: re.Pattern[str], text: str) -> bool:
    """Return whether a search cannot take long: few repetitions, none of them of a group, in a short text."""
    count = _repetitions_in(pattern.pattern)
    return count is not None and len(text) ** (count + 1) <= _FAST_STEPS


@lru_cache(maxsize=64)
def _repetitions_in(pattern: str) -> int | None:
    """Return an upper bound of the number of repetitions; None if one may be of a group, or repeats what matched."""
    plain = _ESCAPE_OR_CLASS.sub("x", pattern)
    return None if _REPEATED_GROUP_OR_REFERENCE.search(plain) else len(_REPETITION.findall(plain))


@contextmanager
def _timer() -> Iterator[None]:
    """Raise _TooSlowError when the limit has passed. Needs the main thread."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise _TooSlowError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, PATTERN_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class _SearchProcess:
    """A process that searches one text at a time. It is started on first use, and again after it ended itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def spans(self, pattern: re.Pattern[str], text: str, most: int) -> list[Span]:
        with self._lock:
            try:
                return self._answer((pattern.pattern, pattern.flags, text, most, PATTERN_SECONDS))
            except (OSError, EOFError, pickle.UnpicklingError):
                code = self.end()
        if code == worker.TOO_SLOW:
            raise _TooSlowError
        raise CopilogError(f"the process that searches with patterns ended with code {code}")

    def _answer(self, question: worker.Question) -> list[Span]:
        if self._process is None or self._process.poll() is not None:
            if self._process is not None:
                self.end()
            command = [sys.executable, "-I", "-S", worker.__file__]
            self._process = subprocess.Popen(  # noqa: S603 - our own module, in our own interpreter
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump(question, self._process.stdin, protocol=5)
        self._process.stdin.flush()
        spans: list[Span] = pickle.load(self._process.stdout)  # noqa: S301 - written by our own process
        return spans

    def end(self) -> int | None:
        """End the process, which no longer answers or is no longer needed. Return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        try:
            return process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


_searching = _SearchProcess()
atexit.register(_searching.end)
