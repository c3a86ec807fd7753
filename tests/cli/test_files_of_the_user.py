"""Files that the user names for settings, the token and the tags: regular files only, and none without end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from copilog.errors import BadFile
from copilog.intake.files import read_small
from tests.cli.homes import run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs pipes with names")

REASON = {kind: f"is a {kind}, and only regular files are read" for kind in ("pipe", "device")}


@pytest.fixture(autouse=True)
def limited_time() -> Iterator[None]:
    """End a test that waits for a pipe or reads a device, which would never end."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError("it is still reading")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(params=REASON)
def endless(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """Return a file that never ends, and why it is refused."""
    if request.param == "device":
        return Path("/dev/zero"), REASON["device"]
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe", REASON["pipe"]


def test_a_config_file_must_be_a_regular_file(endless: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    path, reason = endless
    monkeypatch.setenv("COPILOG_CONFIG", str(path))

    for command in (["list", "--sample"], ["config"], ["stats", "--sample"], ["schema"]):
        ended = run(*command)
        assert ended.code == 2, command
        assert f"{path}: the config file {reason}" in ended.err
    checked = run("doctor", "--sample")
    assert checked.code == 0
    assert f"{path}: the config file {reason}" in checked.out


def test_a_token_file_must_be_a_regular_file(endless: tuple[Path, str], tmp_path: Path) -> None:
    path, reason = endless
    archive = tmp_path / "archive.db"
    run("scan", "--sample", "--archive", archive)

    ended = run("serve", "--archive", archive, "--no-scan", "--no-browser", "--token-file", path)

    assert ended.code == 2
    assert f"{path}: the token file {reason}" in ended.err


@pytest.mark.parametrize("command", [["extract", "{given}", "-o", "{out}"], ["tags", "{given}"]])
def test_a_tag_map_must_be_a_regular_file(endless: tuple[Path, str], command: list[str], tmp_path: Path) -> None:
    path, reason = endless
    (tmp_path / "session.json").write_text('{"version": 3, "requests": []}')
    given = [word.format(given=tmp_path / "session.json", out=tmp_path / "out.jsonl") for word in command]

    ended = run(*given, "--context-tag-map", path)

    assert ended.code == 2
    assert f"the tag map cannot be used: {path}: {reason}" in ended.err


def test_files_of_the_user_have_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"#" * (17 << 20))
    path.chmod(0o600)
    monkeypatch.setenv("COPILOG_CONFIG", str(path))

    assert f"{path}: the config file is larger than 1.0 MB" in run("list", "--sample").err
    monkeypatch.delenv("COPILOG_CONFIG")
    assert f"{path}: the token file is larger than 4 KB" in run("serve", "--no-browser", "--token-file", path).err
    assert "large: is larger than 16 MB" in run("tags", path, "--context-tag-map", path).err


def test_a_small_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345678")

    assert read_small(tmp_path / "file", 8) == b"12345678"
    with pytest.raises(BadFile):
        read_small(tmp_path / "file", 7)


def test_a_config_file_that_does_not_exist_is_only_missed_if_it_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOG_CONFIG", str(tmp_path / "none.toml"))

    assert "no such config file (COPILOG_CONFIG names it)" in run("list", "--sample").err
