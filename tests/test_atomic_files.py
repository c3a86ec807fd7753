"""A file appears when it is whole, or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from copilog.atomic_files import DRAFT, CannotWrite, atomic_file, atomic_folder, remove_stale_drafts
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


# --- what a killed process leaves -----------------------------------------------------------------------------------


def killed_while_writing(path: Path, *, is_folder: bool = False) -> Path:
    """Start a process that is killed while it writes to a path; return what it leaves."""
    opening = f"atomic_{'folder' if is_folder else 'file'}"
    program = (
        "import sys, time; from pathlib import Path; from copilog import atomic_files\n"
        f"with atomic_files.{opening}(Path(sys.argv[1])): print('open', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"open\n"
    process.kill()
    process.wait()
    process.stdout.close()
    (left,) = (each for each in path.parent.iterdir() if each.suffix == DRAFT)
    make_old(left)
    return left


def make_old(path: Path) -> None:
    os.utime(path, (1_600_000_000, 1_600_000_000))


@pytest.mark.skipif(os.name == "nt", reason="no locks")
def test_the_draft_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    killed_while_writing(tmp_path / "out.md")
    with atomic_file(tmp_path / "out.md") as file:
        file.write(b"x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.md"]


@pytest.mark.skipif(os.name == "nt", reason="no locks")
def test_the_folder_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    killed_while_writing(tmp_path / "out", is_folder=True)
    with atomic_folder(tmp_path / "out") as folder:
        (folder / "one").touch()
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(os.name == "nt", reason="no locks")
def test_a_draft_that_is_being_written_stays(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "out") as one:
        one.write(b"one")
        (draft,) = tmp_path.iterdir()
        make_old(draft)
        with atomic_file(tmp_path / "out") as other:
            other.write(b"other")
        assert (tmp_path / "out").read_bytes() == b"other"
    assert (tmp_path / "out").read_bytes() == b"one"


@pytest.mark.parametrize(
    "name", [".out.part", ".out.0123456789ab.txt", ".other.0123456789ab.part", "out.0123456789ab.part"]
)
def test_files_with_other_names_stay(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    make_old(tmp_path / name)
    with atomic_file(tmp_path / "out"):
        pass
    assert (tmp_path / name).exists()


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_what_a_link_of_such_a_name_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    (tmp_path / ".out.0123456789ab.part").symlink_to(tmp_path / "precious")
    with atomic_file(tmp_path / "out"):
        pass
    assert (tmp_path / "precious").exists()


def test_a_folder_that_was_about_to_be_replaced_gets_its_name_back(tmp_path: Path) -> None:
    old = tmp_path / ".out.0123456789ab.old"
    old.mkdir()
    (old / "precious").touch()
    make_old(old)
    remove_stale_drafts(tmp_path / "out")
    assert (tmp_path / "out" / "precious").exists()


# --- a full disk ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opening", [atomic_file, atomic_folder])
def test_a_full_disk_is_reported_with_what_to_do(tmp_path: Path, opening: Any) -> None:
    path = tmp_path / "out"
    with pytest.raises(CannotWrite, match=r"out: cannot be written: No space left .*make room"), opening(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_device_without_room_is_reported() -> None:
    device = Path("/dev/full")
    with pytest.raises(CannotWrite, match="full: cannot be written: No space left"), atomic_file(device) as file:
        file.write(b"x" * 100)
