"""The public face: what is exported, and that the documented examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import copilog

DOCS = Path(__file__).parent.parent / "docs"


def test_everything_listed_can_be_had_and_nothing_else_is_promised() -> None:
    for name in copilog.__all__:
        assert getattr(copilog, name) is not None
    assert dir(copilog) == sorted(copilog.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = copilog.nothing


def test_importing_it_imports_nothing_heavy() -> None:
    code = "import sys, copilog; print([name for name in ('msgspec', 'sqlite3', 'click') if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def examples(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(2))
def test_the_examples_of_the_python_page_run(number: int, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}

    done = subprocess.run(
        [sys.executable, "-c", examples("python.md")[number]],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )

    assert done.stderr == ""
    assert done.returncode == 0
    if number == 1:
        assert "balanced: True" in done.stdout
