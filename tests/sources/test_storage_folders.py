"""The storage folders of a root, and the workspaces that they belong to."""

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from copilog.sources import roots
from copilog.sources.roots import Root, WorkspaceRecord, roots_from, storage_folders
from tests.sources.folder_builders import folder

not_for_root = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="needs permissions that bind this user"
)


# The folders of a root


@pytest.fixture
def code(tmp_path: Path) -> Root:
    user = folder(tmp_path, "Code", "User")
    for workspace in ("b2", "a1", "no-workspace", "1700000000000"):
        folder(user, "workspaceStorage", workspace)
    (user / "workspaceStorage" / ".DS_Store").touch()
    folder(user, "globalStorage")
    folder(user, "profiles", "office", "globalStorage")
    folder(user, "profiles", "bare")
    [root] = roots_from(tmp_path / "Code")
    return root


def places(root: Root) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    skipped: list[tuple[Path, str]] = []
    kept = [(str(place.kind), place.path.relative_to(root.path).as_posix()) for place in storage_folders(root, skipped)]
    return kept, [(path.relative_to(root.path).as_posix(), reason) for path, reason in skipped]


def test_all_storage_folders_are_listed_by_name(code: Root) -> None:
    assert places(code) == (
        [
            ("workspace", "User/workspaceStorage/1700000000000"),
            ("workspace", "User/workspaceStorage/a1"),
            ("workspace", "User/workspaceStorage/b2"),
            ("workspace", "User/workspaceStorage/no-workspace"),
            ("global", "User/globalStorage"),
            ("profile", "User/profiles/office/globalStorage"),
        ],
        [],
    )
    assert {(place.application, place.root) for place in storage_folders(code)} == {("Code", code)}


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("User", ["workspace"] * 4 + ["global", "profile"]),
        ("User/workspaceStorage", ["workspace"] * 4),
        ("User/globalStorage", ["global"]),
        ("User/profiles/office", ["profile"]),
        ("User/profiles/office/globalStorage", ["profile"]),
    ],
)
def test_parts_of_a_root_have_storage_folders_too(code: Root, place: str, expected: list[str]) -> None:
    [root] = roots_from(code.path / place)

    assert [folder.kind for folder in storage_folders(root)] == expected


def test_single_folders_are_their_own_storage(tmp_path: Path) -> None:
    workspace = folder(tmp_path, "0123abcd", "chatSessions").parent
    copilot = folder(tmp_path, ".copilot")

    for path, kind in [(workspace, "workspace"), (copilot, "copilot-home")]:
        [root] = roots_from(path)
        assert [(place.kind, place.path) for place in storage_folders(root)] == [(kind, path)]


def test_links_out_of_the_root_are_reported_not_followed(code: Root, tmp_path: Path) -> None:
    outside = folder(tmp_path, "outside")
    storage = code.path / "User" / "workspaceStorage"
    (storage / "c3").symlink_to(outside, target_is_directory=True)
    (storage / "d4").symlink_to(storage / "a1", target_is_directory=True)
    (storage / "e5").symlink_to(tmp_path / "missing")
    (storage / "f6").symlink_to(storage / "f6")

    kept, skipped = places(code)

    assert [path for _, path in kept if path.endswith(("c3", "e5", "f6"))] == []
    assert ("workspace", "User/workspaceStorage/d4") in kept
    assert [path for path, _ in skipped] == [f"User/workspaceStorage/{name}" for name in ("c3", "e5", "f6")]
    reasons = [reason for _, reason in skipped]
    assert reasons[0] == f"is a link that leads out of {code.path.resolve()}, to {outside.resolve()}"
    assert reasons[1] == "is a link that leads nowhere"
    assert reasons[2].startswith("cannot be read")


def test_a_root_behind_a_link_is_read_at_its_target(code: Root, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(code.path, target_is_directory=True)
    [root] = roots_from(link)

    assert (root.path, root.why, root.named) == (code.path, f"link at {link}", link)
    assert [place.path for place in storage_folders(root)] == [place.path for place in storage_folders(code)]


def test_a_missing_root_has_no_folders(tmp_path: Path) -> None:
    assert places(Root("vscode", tmp_path / "gone", "Code", "test", exists=False)) == ([], [])


@not_for_root
def test_forbidden_folders_are_reported(code: Root) -> None:
    closed = code.path / "User" / "workspaceStorage" / "a1"
    closed.chmod(0)
    try:
        kept, skipped = places(code)
    finally:
        closed.chmod(stat.S_IRWXU)

    assert len(kept) == 5
    assert skipped == [("User/workspaceStorage/a1", "cannot be read: Permission denied")]


# What a workspace's folder belongs to


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (
            {"folder": "file:///home/ana/proj%20x"},
            WorkspaceRecord("folder", "file:///home/ana/proj%20x", "/home/ana/proj x", None, "file"),
        ),
        (
            {"folder": "file:///c%3A/src/app"},
            WorkspaceRecord("folder", "file:///c%3A/src/app", "c:/src/app", None, "file"),
        ),
        (
            {"folder": "file://server/share"},
            WorkspaceRecord("folder", "file://server/share", "//server/share", "server", "file"),
        ),
        (
            {"folder": "vscode-remote://ssh-remote%2Bhost/home/ana/p"},
            WorkspaceRecord(
                "folder",
                "vscode-remote://ssh-remote%2Bhost/home/ana/p",
                "/home/ana/p",
                "ssh-remote+host",
                "vscode-remote",
            ),
        ),
        (
            {"folder": "vscode-vfs://github/owner/repo"},
            WorkspaceRecord("folder", "vscode-vfs://github/owner/repo", "/owner/repo", "github", "vscode-vfs"),
        ),
        (
            {"workspace": "file:///home/ana/team.code-workspace"},
            WorkspaceRecord(
                "workspace", "file:///home/ana/team.code-workspace", "/home/ana/team.code-workspace", None, "file"
            ),
        ),
        (
            {"configuration": "file:///x.code-workspace"},
            WorkspaceRecord("workspace", "file:///x.code-workspace", "/x.code-workspace", None, "file"),
        ),
        (
            {"configuration": {"$mid": 1, "scheme": "file", "path": "/C:/x y", "fsPath": "z"}},
            WorkspaceRecord("workspace", "file:///c%3A/x%20y", "c:/x y", None, "file"),
        ),
    ],
)
def test_workspace_records(tmp_path: Path, record: object, expected: WorkspaceRecord) -> None:
    (tmp_path / "workspace.json").write_text(json.dumps(record, indent=2), encoding="utf-8-sig")

    assert roots.workspace_of(tmp_path) == expected


def test_a_window_without_a_folder_has_no_record(tmp_path: Path) -> None:
    assert roots.workspace_of(tmp_path) is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not JSON"),
        (b'{"folder": "file:', "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a JSON object"),
        (b"{}", "neither"),
        (b'{"folder": "/home/ana"}', "not a URI"),
        (b'{"folder": null}', "not a URI"),
        (b'{"configuration": {"id": 7}}', "not a URI"),
    ],
)
def test_a_bad_workspace_record_has_a_readable_message(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "workspace.json").write_bytes(content)

    with pytest.raises(ValueError, match=reason):
        roots.workspace_of(tmp_path)
