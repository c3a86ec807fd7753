"""Run as a user whom permissions of files bind, also where the tests run as root."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_VERSION_3 = 0x20080522
_ANY_FILE = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH


@contextmanager
def bound_by_permissions() -> Iterator[None]:
    """Give up root's right to read any file, in this thread, until the block ends. Skip the test if that fails."""
    if sys.platform == "win32":
        pytest.skip("needs the permissions of POSIX")
    if os.geteuid() != 0:
        yield
        return
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux lets root give up its right to read any file for a while")
    before = _capabilities()
    _set_capabilities(before[0] & ~_ANY_FILE, *before[1:])
    try:
        yield
    finally:
        _set_capabilities(*before)


def _capabilities() -> tuple[int, int, int, int, int, int]:
    """Return the effective, permitted and inheritable capabilities of this thread, in two words each."""
    words = (ctypes.c_uint32 * 6)()
    _call("capget", words)
    effective, permitted, inheritable, *high = words
    return effective, permitted, inheritable, high[0], high[1], high[2]


def _set_capabilities(*words: int) -> None:
    _call("capset", (ctypes.c_uint32 * 6)(*words))


def _call(name: str, words: ctypes.Array[ctypes.c_uint32]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)((ctypes.c_uint32 * 2)(_VERSION_3, 0), words):
        pytest.skip(f"{name}: {os.strerror(ctypes.get_errno())}")
