"""What is shipped works by itself: the wheel in an empty environment, the locks, the tree."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The copilog command of a fresh environment that has just the wheel and its pinned dependencies."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=PROJECT, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    environment = folder / "venv"
    venv.create(environment, with_pip=True)
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(scripts / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    lock = PROJECT / "requirements" / "run.txt"
    subprocess.run([*pip, "--require-hashes", "-r", str(lock)], check=True, capture_output=True)
    subprocess.run([*pip, "--no-deps", str(wheel)], check=True, capture_output=True)
    return scripts / "copilog"


def test_the_wheel_runs_in_an_empty_environment(installed: Path, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    done = subprocess.run(
        [str(installed), "--sample", "list", "--json"], capture_output=True, text=True, check=True, env=environment
    )

    assert len(json.loads(done.stdout)) >= 12


def test_locks_carry_hashes_and_no_address() -> None:
    for lock in (PROJECT / "requirements").glob("*.txt"):
        text = lock.read_text()
        assert "://" not in text
        names = re.findall(r"^[A-Za-z0-9][\w.\-]*==", text, re.MULTILINE)
        assert names
        assert text.count("--hash=sha256:") >= len(names)
