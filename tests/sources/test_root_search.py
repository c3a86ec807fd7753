"""Any folder may be named: every home, user data folder and .copilot below it is found, or reported as left out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from copilog.sources.roots import roots_from
from tests.sources.folder_builders import folder

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="needs links that anyone may make")


def found_in(path: Path) -> tuple[set[tuple[str, str]], dict[str, str]]:
    """Return the roots below a folder by kind, and the skipped paths with reasons; relative."""
    skipped: list[tuple[Path, str]] = []
    roots = roots_from(path, skipped=skipped)
    return (
        {(root.kind, root.path.relative_to(path).as_posix()) for root in roots},
        {where.relative_to(path).as_posix(): reason for where, reason in skipped},
    )


def test_a_backup_disk_with_a_folder_per_machine(tmp_path: Path) -> None:
    folder(tmp_path, "laptop/home/ana/.config/Code/User/workspaceStorage/0123/chatSessions")
    folder(tmp_path, "laptop/home/ana/.copilot/session-state/5f0c")
    folder(tmp_path, "laptop/home/ben/.vscode-server/data/User/globalStorage")
    folder(tmp_path, "mac/Users/ana/Library/Application Support/Code - Insiders/User/globalStorage")
    folder(tmp_path, "pc/Users/ana/AppData/Roaming/Code/User/profiles/p1/globalStorage")
    folder(tmp_path, "pc/Users/ana/old/2025/copy of copilot/history-session-state")
    folder(tmp_path, "photos/2026/User/beach")

    places, skipped = found_in(tmp_path)

    assert places == {
        ("vscode", "laptop/home/ana/.config/Code"),
        ("copilot-home", "laptop/home/ana/.copilot"),
        ("vscode", "laptop/home/ben/.vscode-server/data"),
        ("vscode", "mac/Users/ana/Library/Application Support/Code - Insiders"),
        ("vscode", "pc/Users/ana/AppData/Roaming/Code"),
        ("copilot-home", "pc/Users/ana/old/2025/copy of copilot"),
    }
    assert skipped == {}


def test_a_dotfiles_repository(tmp_path: Path) -> None:
    (folder(tmp_path, "config/Code/User") / "settings.json").write_text("{}")
    (folder(tmp_path, "config/another name/User") / "keybindings.json").write_text("[]")
    folder(tmp_path, ".git/objects/ab")

    places, skipped = found_in(tmp_path)

    assert places == {("vscode", "config/Code"), ("vscode", "config/another name")}
    assert list(skipped) == [".git"]


def test_roots_beside_and_below_a_home_are_found_with_it(tmp_path: Path) -> None:
    folder(tmp_path, ".config/Code/User/globalStorage")
    folder(tmp_path, "backup/old-home/.config/Code/User/workspaceStorage")
    folder(tmp_path, "backup/sessions/0123/chatSessions")
    folder(tmp_path, "backup/sessions/4567/chatEditingSessions")
    folder(tmp_path, "downloads/globalStorage-copy/emptyWindowChatSessions")
    folder(tmp_path, "project/workspaceStorage/89ab")
    folder(tmp_path, ".config/Code/portable/user-data/User")

    assert found_in(tmp_path)[0] == {
        ("vscode", ".config/Code"),
        ("vscode", "backup/old-home/.config/Code"),
        ("vscode-storage", "backup/sessions"),
        ("vscode-global", "downloads/globalStorage-copy"),
        ("vscode-user", "project"),
        ("vscode", ".config/Code/portable/user-data"),
    }


def test_folders_that_are_left_out_are_counted_with_the_reason(tmp_path: Path) -> None:
    folder(tmp_path, ".copilot")
    for project in ("a", "b", "c"):
        folder(tmp_path, project, "node_modules", "tool", ".copilot")

    places, skipped = found_in(tmp_path)

    assert places == {("copilot-home", ".copilot")}
    assert skipped == {
        "a/node_modules": "was not searched, and 2 more folders called node_modules: "
        "packages of JavaScript, not data of an editor"
    }


@needs_links
def test_links_make_no_loops_and_those_that_lead_out_are_reported(tmp_path: Path) -> None:
    disk, elsewhere = folder(tmp_path, "disk"), folder(tmp_path, "elsewhere", ".copilot").parent
    folder(disk, "ana", ".copilot")
    (disk / "ana" / "again").symlink_to(disk)
    (disk / "other").symlink_to(elsewhere)

    places, skipped = found_in(disk)

    assert places == {("copilot-home", "ana/.copilot")}
    assert skipped == {"other": f"is a link that leads out of {disk}, to {elsewhere}"}


@needs_links
def test_a_linked_folder_at_a_usual_path_of_a_home_is_read(tmp_path: Path) -> None:
    real = folder(tmp_path, "data", "Code", "User", "globalStorage").parent.parent
    home = folder(tmp_path, "home", ".config").parent
    (home / ".config" / "Code").symlink_to(real)

    assert [(root.kind, root.path, root.application) for root in roots_from(home)] == [("vscode", real, "Code")]


def test_a_folder_that_cannot_be_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path, "ana", ".copilot")
    locked = folder(tmp_path, "ben")
    scandir = os.scandir

    def refusing(path: str) -> object:
        if str(path) == str(locked):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)

    places, skipped = found_in(tmp_path)

    assert places == {("copilot-home", "ana/.copilot")}
    assert skipped == {"ben": "cannot be read: Permission denied"}


def test_nothing_of_a_root_is_found_twice(tmp_path: Path) -> None:
    folder(tmp_path, "Code/User/workspaceStorage/0123/chatSessions")
    folder(tmp_path, "Code/User/globalStorage/emptyWindowChatSessions")
    folder(tmp_path, "Code/User/History/1a2b")

    assert found_in(tmp_path)[0] == {("vscode", "Code")}


@pytest.mark.corpus
def test_every_home_of_real_traces_is_found(corpus: Path) -> None:
    homes = corpus / "homes"
    counted = set()
    for above, folders, _ in os.walk(homes):
        if {"workspaceStorage", "globalStorage"} & set(folders) or Path(above).name == ".copilot":
            counted.add(Path(above))

    places, skipped = found_in(homes)

    assert {path.parent if path.name == "User" else path for path in counted} == {homes / path for _, path in places}
    assert skipped == {}
