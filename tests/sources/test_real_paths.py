"""Real paths, of which each folder is looked at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from copilog.sources.real_paths import RealPaths


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
@pytest.mark.parametrize(
    "name",
    [
        "plain/deep", "missing", "missing/deep/er", "file/below", "link/deep", "link/missing", "nowhere/deep",
        "circle/deep", "plain/../link", "link/up/plain",
    ],
)  # fmt: skip
def test_they_are_those_of_the_system(tmp_path: Path, name: str) -> None:
    (tmp_path / "plain" / "deep").mkdir(parents=True)
    (tmp_path / "plain" / "up").symlink_to(tmp_path)
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to("plain")
    (tmp_path / "nowhere").symlink_to("gone")
    (tmp_path / "circle").symlink_to("circle")
    paths = RealPaths()

    assert paths.of(tmp_path / name) == os.path.realpath(tmp_path / name)
    assert paths.of(tmp_path / name) == os.path.realpath(tmp_path / name)  # once more, from what is known
