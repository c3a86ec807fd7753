"""A repair that is killed at any moment leaves the old file or the new one, and undo gives the old one back."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from copilog.recover import journal
from copilog.recover.repairing import plan_repair
from tests.database_builders import is_posix
from tests.recover.lost_homes import log_bytes
from tests.soaking import SEED, counted

REPAIRING = """
import sys
from pathlib import Path
from copilog.recover import journal
from copilog.recover.repairing import plan_repair
plan = plan_repair(Path(sys.argv[1]))
print("ready", flush=True)
journal.apply(plan)
print("done", flush=True)
"""


@is_posix
@pytest.mark.soak(kind="kills")
def test_a_killed_repair_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    luck = random.Random(SEED)
    broken = log_bytes("s1", *(f"prompt {number} " + "word " * 2000 for number in range(40))) + b"{torn"
    path = tmp_path / "chatSessions" / "s1.jsonl"
    path.parent.mkdir()
    path.write_bytes(broken)
    repaired = plan_repair(path).after
    rounds, longest = counted(8), None
    for _ in range(rounds):
        with subprocess.Popen([sys.executable, "-c", REPAIRING, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            started = time.monotonic()
            if longest is None:  # the first one is left alone, to learn how long it takes
                assert process.stdout.readline() == b"done\n"
                longest = time.monotonic() - started
            else:
                time.sleep(luck.uniform(0, 1.2 * longest))
            process.send_signal(signal.SIGKILL)
        assert path.read_bytes() in (broken, repaired)
        for entry in journal.entries():
            journal.undo(entry)
        assert path.read_bytes() == broken
    record_property("cases", rounds)
