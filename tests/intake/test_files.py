"""The gate: regular files are opened, everything else is refused with a reason, and nothing is waited for."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from copilog.errors import BadFile
from copilog.intake.files import opened, read_bytes


def refused(path: Path) -> tuple[str, str]:
    with pytest.raises(BadFile) as caught, opened(path):
        pass
    return caught.value.code, str(caught.value)


def test_regular_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\0\xff")

    assert read_bytes(tmp_path / "file") == b"\0\xff"


def test_a_missing_file_or_a_folder_cannot_be_read(tmp_path: Path) -> None:
    assert refused(tmp_path / "missing") == ("unreadable", "cannot be read: No such file or directory")
    assert refused(tmp_path)[0] == "unreadable"


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert refused(tmp_path / "pipe") == ("not-a-file", "is a pipe, and only regular files are read")


def test_a_device_is_refused() -> None:
    assert refused(Path("/dev/zero")) == ("not-a-file", "is a device, and only regular files are read")


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        assert refused(tmp_path / "s") == ("not-a-file", "is a socket, and only regular files are read")
