"""The most memory that a command has, measured in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

_MEASURED = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "copilog", *sys.argv[1:]], capture_output=True, text=True)
sys.stderr.write(done.stderr)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""


class Done(NamedTuple):
    """How a command ended, and the most memory that it had, in MB."""

    code: int
    peak: int
    err: str


def measured(folder: Path, *arguments: object, **variables: str) -> Done:
    """Run a command in a process of its own, with an archive of its own."""
    environ = {**os.environ, "COPILOG_ARCHIVE": str(folder / "archive.db"), **variables}
    command = [sys.executable, "-c", _MEASURED, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environ, cwd=folder)
    code, peak = done.stdout.split()
    return Done(int(code), int(peak), done.stderr)
