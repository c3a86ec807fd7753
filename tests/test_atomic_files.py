"""A file appears when it is whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from copilog.atomic_files import CannotWrite, atomic_file
from copilog.errors import UsageError


def test_the_file_appears_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with atomic_file(path) as file:
        file.write(b"one\n")
        assert not path.exists()
    assert path.read_bytes() == b"one\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.jsonl"]


def break_off(path: Path, error: type[BaseException]) -> None:
    with atomic_file(path) as file:
        file.write(b"half")
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError])
def test_the_old_file_stays_if_writing_fails(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(b"before\n")
    with pytest.raises((error, CannotWrite)):
        break_off(path, error)
    assert path.read_bytes() == b"before\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.jsonl"]


def test_a_new_file_has_the_default_permissions(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    with atomic_file(tmp_path / "out") as file:
        file.write(b"x")
    assert (tmp_path / "out").stat().st_mode == plain.stat().st_mode


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.touch()
    path.chmod(0o640)
    with atomic_file(path) as file:
        file.write(b"x")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_bytes(b"before")
    link = tmp_path / "link"
    link.symlink_to(real)
    with atomic_file(link) as file:
        file.write(b"after")
    assert link.is_symlink()
    assert real.read_bytes() == b"after"


def test_a_device_is_written_to(tmp_path: Path) -> None:
    with atomic_file(Path(os.devnull)) as file:
        file.write(b"gone")
    assert not Path(os.devnull).is_file()


def test_a_missing_folder_and_a_folder_as_target_are_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"), atomic_file(tmp_path / "no" / "out"):
        pass
    with pytest.raises(UsageError, match="is a folder"), atomic_file(tmp_path):
        pass
