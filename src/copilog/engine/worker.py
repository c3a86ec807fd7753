"""The process at the other end of `processes.py`: reads (function, part) from standard input, writes results.

It ends when its input ends, so that it does not outlive the one it works for.
"""

from __future__ import annotations

import gc
import os
import pickle
import shutil
import signal
import sys
from tempfile import SpooledTemporaryFile
from typing import IO, Any

MOST_BYTES_IN_MEMORY = 8 << 20  # of a packed result, besides the result itself; a larger one goes through a file
_PIECE_BYTES = 1 << 20


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends us
    source = os.fdopen(os.dup(0), "rb", buffering=1 << 20)
    target = os.fdopen(os.dup(1), "wb", buffering=1 << 20)
    os.dup2(2, 1)  # accidental output must not come between results
    gc.disable()  # the objects have no cycles: see benchmarks/bench_extract.py
    paths = _received(source)
    if paths is not None:
        sys.path[:] = paths
    while (task := _received(source)) is not None:
        work, part = task
        if work is None:  # only prepared: its module is imported by now
            continue
        with SpooledTemporaryFile(MOST_BYTES_IN_MEMORY) as answer:
            try:
                pickle.dump((True, work(part)), answer, protocol=5)
            except Exception as error:  # noqa: BLE001 - the parent raises it
                answer.seek(0)
                answer.truncate()
                answer.write(_packed_error(error))
            answer.seek(0)
            try:
                shutil.copyfileobj(answer, target, _PIECE_BYTES)
                target.flush()
            except BrokenPipeError:
                return


def _received(source: IO[bytes]) -> Any:
    """Return the next message of the parent, or None if the parent is gone, perhaps in the middle of a message."""
    try:
        return pickle.load(source)  # noqa: S301 - written by our own parent
    except (EOFError, pickle.UnpicklingError):
        return None


def _packed_error(error: Exception) -> bytes:
    try:
        packed = pickle.dumps((False, error), protocol=5)
        pickle.loads(packed)  # noqa: S301 - some errors can be pickled, and not be read again
    except Exception:  # noqa: BLE001
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")), protocol=5)
    return packed


if __name__ == "__main__":
    main()
