import json
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from copilog.sources import roots
from copilog.sources.roots import Machine, Root, WorkspaceRecord, default_roots, roots_from, storage_folders

not_for_root = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="needs permissions that bind this user"
)


def folder(path: Path, *parts: str) -> Path:
    path = path.joinpath(*parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


def machine(
    home: Path,
    system: Literal["linux", "darwin", "windows"] = "linux",
    environ: Mapping[str, str] | None = None,
    **others: Any,
) -> Machine:
    return Machine(system=system, home=home, environ=environ or {}, **others)


def found(candidates: list[Root]) -> list[tuple[str, str | None, Path, str]]:
    return [(root.kind, root.application, root.path, root.why) for root in candidates if root.exists]


def what(path: Path, inside: Path | None = None) -> list[tuple[str, str | None, str]]:
    """The kind, application and relative place of each root that a folder stands for."""
    return [
        (root.kind, root.application, root.path.relative_to(inside or path).as_posix()) for root in roots_from(path)
    ]


# The usual places of a machine


@pytest.mark.parametrize(
    ("system", "base", "name"),
    [
        ("linux", ".config", "Linux"),
        ("darwin", "Library/Application Support", "macOS"),
        ("windows", "AppData/Roaming", "Windows"),
    ],
)
def test_each_system_has_its_place(
    tmp_path: Path, system: Literal["linux", "darwin", "windows"], base: str, name: str
) -> None:
    stable = folder(tmp_path, base, "Code")
    codium = folder(tmp_path, base, "VSCodium - Insiders")
    copilot = folder(tmp_path, ".copilot")

    candidates = default_roots(machine(tmp_path, system))

    assert found(candidates) == [
        ("vscode", "Code", stable, f"default place on {name}"),
        ("vscode", "VSCodium - Insiders", codium, f"default place on {name}"),
        ("copilot-home", None, copilot, "default place"),
    ]
    assert tmp_path / base / "Cursor" in [root.path for root in candidates if not root.exists]


def test_variables_move_the_places(tmp_path: Path) -> None:
    environ = {
        "XDG_CONFIG_HOME": str(tmp_path / "settings"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "VSCODE_APPDATA": str(tmp_path / "appdata"),
        "VSCODE_PORTABLE": str(tmp_path / "stick"),
        "VSCODE_AGENT_FOLDER": str(tmp_path / "agent" / ".vscode-server-insiders"),
        "COPILOT_HOME": str(tmp_path / "pilot"),
        "APPDATA": "",
    }
    folder(tmp_path, ".config", "Code")  # not looked at
    expected = [
        ("vscode", None, folder(tmp_path, "stick", "user-data"), "VSCODE_PORTABLE"),
        ("vscode", "Code", folder(tmp_path, "appdata", "Code"), "VSCODE_APPDATA"),
        (
            "vscode",
            "Code - Insiders",
            folder(tmp_path, "agent", ".vscode-server-insiders", "data"),
            "VSCODE_AGENT_FOLDER",
        ),
        ("vscode", "Code", folder(tmp_path, "settings", "Code"), "XDG_CONFIG_HOME"),
        ("copilot-home", None, folder(tmp_path, "pilot"), "COPILOT_HOME"),
        ("copilot-home", None, folder(tmp_path, "state", ".copilot"), "XDG_STATE_HOME"),
        ("copilot-home", None, folder(tmp_path, "settings", ".copilot"), "XDG_CONFIG_HOME"),
    ]

    assert found(default_roots(machine(tmp_path, environ=environ))) == expected


def test_windows_follows_appdata(tmp_path: Path) -> None:
    code = folder(tmp_path, "roaming", "Code")
    environ = {"APPDATA": str(tmp_path / "roaming")}

    assert found(default_roots(machine(tmp_path / "home", "windows", environ))) == [
        ("vscode", "Code", code, "default place on Windows")
    ]


@pytest.mark.parametrize(
    ("place", "application", "why"),
    [
        (".var/app/com.visualstudio.code/config/Code", "Code", "Flatpak"),
        (".var/app/com.vscodium.codium/config/VSCodium", "VSCodium", "Flatpak"),
        ("snap/code/current/.config/Code", "Code", "Snap"),
        ("snap/code-insiders/common/.config/Code - Insiders", "Code - Insiders", "Snap"),
        (".vscode-server/data", "Code", "remote server"),
        (".vscode-server-insiders/data", "Code - Insiders", "remote server"),
        (".vscode-remote/data", "code-oss-dev", "remote server"),
        (".vscodium-server/data", "VSCodium", "remote server"),
        (".local/share/code-server", "code-server", "code-server"),
    ],
)
def test_special_places_on_linux(tmp_path: Path, place: str, application: str, why: str) -> None:
    path = folder(tmp_path, place)

    assert found(default_roots(machine(tmp_path))) == [("vscode", application, path, why)]
    assert what(tmp_path) == [("vscode", application, place)]


def test_a_folder_counts_once_whatever_leads_to_it(tmp_path: Path) -> None:
    copilot = folder(tmp_path, ".copilot")
    folder(tmp_path, "state")
    (tmp_path / "state" / ".copilot").symlink_to(copilot, target_is_directory=True)
    environ = {"COPILOT_HOME": str(copilot), "XDG_STATE_HOME": str(tmp_path / "state")}

    assert found(default_roots(machine(tmp_path, environ=environ))) == [("copilot-home", None, copilot, "COPILOT_HOME")]


@pytest.mark.parametrize(
    ("system", "executable", "data"),
    [
        ("linux", "opt/VSCode-linux-x64/bin/code", "opt/VSCode-linux-x64/data/user-data"),
        ("linux", "opt/VSCode-linux-x64/code", "opt/VSCode-linux-x64/data/user-data"),
        ("windows", "Tools/VSCode/bin/code.cmd", "Tools/VSCode/data/user-data"),
        (
            "darwin",
            "Apps/Visual Studio Code.app/Contents/Resources/app/bin/code",
            "Apps/code-portable-data/user-data",
        ),
    ],
)
def test_a_portable_install_is_found_by_its_executable(
    tmp_path: Path, system: Literal["linux", "darwin", "windows"], executable: str, data: str
) -> None:
    program = tmp_path / executable
    folder(program.parent)
    program.touch()
    links = folder(tmp_path, "bin")
    (links / program.name).symlink_to(program)

    candidates = default_roots(machine(tmp_path / "home", system, path_dirs=(tmp_path / "none", links)))
    [portable] = [root for root in candidates if root.why == "portable install of code"]
    assert portable == Root("vscode", tmp_path / data, "Code", "portable install of code", exists=False)

    folder(tmp_path, data)
    assert found(default_roots(machine(tmp_path / "home", system, path_dirs=(links,)))) == [
        ("vscode", "Code", tmp_path / data, "portable install of code")
    ]


def test_windows_disks_are_seen_from_wsl(tmp_path: Path) -> None:
    users = folder(tmp_path, "mnt", "c", "Users")
    code = folder(users, "ana", "AppData", "Roaming", "Code")
    copilot = folder(users, "ana", ".copilot")
    for nobody in ("Public", "Default", "All Users"):
        folder(users, nobody, "AppData", "Roaming", "Code")
    folder(users, "empty")
    (users / "desktop.ini").touch()
    folder(tmp_path, "mnt", "wsl", "Users", "ana", "AppData", "Roaming", "Code")
    mounts = tmp_path / "mnt"

    assert found(default_roots(machine(tmp_path / "home", is_wsl=True, mounts=mounts))) == [
        ("vscode", "Code", code, "WSL: Windows disk C"),
        ("copilot-home", None, copilot, "WSL: Windows disk C"),
    ]
    assert found(default_roots(machine(tmp_path / "home", mounts=mounts))) == []
    assert found(default_roots(machine(tmp_path / "home", is_wsl=True, mounts=tmp_path / "none"))) == []


def test_this_machine_can_be_asked() -> None:
    assert roots.this_machine().home == Path.home()
    assert all(root.path.is_absolute() for root in default_roots(roots.this_machine()))


# What a folder is


def test_a_home_folder_of_any_system(tmp_path: Path) -> None:
    for place in (
        "Library/Application Support/Code",
        "AppData/Roaming/Code - Insiders",
        ".config/VSCodium",
        ".vscode-server/data",
        ".copilot",
        ".local/state/.copilot",
        "Code/projects",  # not what it looks like
        "User",
    ):
        folder(tmp_path, place)

    assert what(tmp_path) == [
        ("vscode", "VSCodium", ".config/VSCodium"),
        ("vscode", "Code", ".vscode-server/data"),
        ("vscode", "Code", "Library/Application Support/Code"),
        ("vscode", "Code - Insiders", "AppData/Roaming/Code - Insiders"),
        ("copilot-home", None, ".copilot"),
        ("copilot-home", None, ".local/state/.copilot"),
    ]


def test_every_level_of_a_user_data_root(tmp_path: Path) -> None:
    data = folder(tmp_path, "Code")
    workspace = folder(data, "User", "workspaceStorage", "0123abcd")
    folder(workspace, "chatSessions")
    profile = folder(data, "User", "profiles", "5f3a", "globalStorage").parent
    folder(data, "User", "globalStorage", "emptyWindowChatSessions")

    for path, kind in [
        (tmp_path, "vscode"),
        (data, "vscode"),
        (data / "User", "vscode-user"),
        (profile, "vscode-user"),
        (data / "User" / "workspaceStorage", "vscode-storage"),
        (workspace, "vscode-workspace"),
        (data / "User" / "globalStorage", "vscode-global"),
    ]:
        [root] = roots_from(path)
        assert (root.kind, root.application, root.why) == (kind, "Code", "--root")
        assert root.path == (data if path == tmp_path else path)
        assert root.exists


@pytest.mark.parametrize("sign", ["chatSessions/", "chatEditingSessions/", "state.vscdb", "workspace.json"])
def test_workspaces_under_another_name(tmp_path: Path, sign: str) -> None:
    storage = folder(tmp_path, "backup")
    workspace = folder(storage, "1700000000000")
    if sign.endswith("/"):
        folder(workspace, sign)
    else:
        (workspace / sign).touch()

    assert what(storage) == [("vscode-storage", None, ".")]
    assert what(workspace) == [("vscode-workspace", None, ".")]


@pytest.mark.parametrize(
    ("named", "place", "application"),
    [
        ("stick", "stick/VSCode/data/user-data", None),
        ("stick/VSCode", "stick/VSCode/data/user-data", None),
        ("stick/VSCode/data", "stick/VSCode/data/user-data", None),
        ("stick/VSCode/data/user-data", "stick/VSCode/data/user-data", None),
        (".vscode-server", ".vscode-server/data", "Code"),
        (".vscode-server/data", ".vscode-server/data", "Code"),
        ("my-own-folder", "my-own-folder", None),
    ],
)
def test_portable_and_server_folders(tmp_path: Path, named: str, place: str, application: str | None) -> None:
    folder(tmp_path, place, "User")

    expected = [] if named == "stick" else [("vscode", application, place)]
    assert what(tmp_path / named, inside=tmp_path) == expected


@pytest.mark.parametrize("content", ["session-state/", "history-session-state/", "session-store.db"])
def test_a_copilot_home_under_any_name(tmp_path: Path, content: str) -> None:
    home = folder(tmp_path, "copy-of-dot-copilot")
    if content.endswith("/"):
        folder(home, content)
    else:
        (home / content).touch()

    assert what(home) == [("copilot-home", None, ".")]
    assert what(folder(tmp_path, "empty", ".copilot")) == [("copilot-home", None, ".")]


def test_folders_full_of_homes_are_not_searched(tmp_path: Path) -> None:
    for above in ("home", "Users", "elsewhere"):
        folder(tmp_path, above, "ana", ".config", "Code", "User", "workspaceStorage")
    folder(tmp_path, "home", "ben", "chatSessions")

    assert what(tmp_path / "home") == what(tmp_path / "Users") == what(tmp_path / "elsewhere") == []


def test_other_folders_are_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert roots_from(tmp_path) == roots_from(tmp_path / "file") == roots_from(tmp_path / "missing") == []


def test_a_named_folder_does_not_depend_on_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_HOME", str(folder(tmp_path, "pilot")))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder(tmp_path, "settings", "Code").parent))

    assert roots_from(folder(tmp_path, "other")) == []


def test_a_relative_path_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder(tmp_path, "Code", "User", "workspaceStorage"))

    [root] = roots_from(Path(), why="config file")
    assert (root.kind, root.application, root.path, root.why) == ("vscode-storage", "Code", Path.cwd(), "config file")


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


def test_a_root_behind_a_link_is_fine(code: Root, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(code.path, target_is_directory=True)
    [root] = roots_from(link)

    assert [place.path for place in storage_folders(root)] == [
        link / place.path.relative_to(code.path) for place in storage_folders(code)
    ]


def test_a_root_that_is_gone_has_no_folders(tmp_path: Path) -> None:
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
        (b'{"folder": "/home/ana"}', "no URI"),
        (b'{"folder": null}', "no URI"),
        (b'{"configuration": {"id": 7}}', "no URI"),
    ],
)
def test_a_bad_record_is_named_in_plain_words(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "workspace.json").write_bytes(content)

    with pytest.raises(ValueError, match=reason):
        roots.workspace_of(tmp_path)
