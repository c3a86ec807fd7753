"""Where conversations lie: the usual places of a machine, and what a named folder is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from copilog.sources import roots
from copilog.sources.roots import Machine, Root, default_roots, roots_from
from tests.sources.folder_builders import folder


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
    """Return the kind, application and relative path of each root in a folder."""
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
def test_each_system_has_its_default_paths(
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


def test_environment_variables_move_the_default_paths(tmp_path: Path) -> None:
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
def test_special_paths_on_linux_are_roots(tmp_path: Path, place: str, application: str, why: str) -> None:
    path = folder(tmp_path, place)

    assert found(default_roots(machine(tmp_path))) == [("vscode", application, path, why)]
    assert what(tmp_path) == [("vscode", application, place)]


def test_a_folder_counts_once_also_with_several_links_to_it(tmp_path: Path) -> None:
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


def test_this_machine_is_read_without_error() -> None:
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


@pytest.mark.parametrize(
    "sign", ["chatSessions/", "chatEditingSessions/", "state.vscdb", "state.vscdb.backup", "workspace.json"]
)
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

    assert what(tmp_path / named, inside=tmp_path) == [("vscode", application, place)]


@pytest.mark.parametrize(
    "content",
    [
        "session-state/",
        "history-session-state/",
        "command-history-state/",
        "session-store.db",
        "command-history-state.json",
    ],
)
def test_a_copilot_home_under_any_name(tmp_path: Path, content: str) -> None:
    home = folder(tmp_path, "copy-of-dot-copilot")
    if content.endswith("/"):
        folder(home, content)
    else:
        (home / content).touch()

    assert what(home) == [("copilot-home", None, ".")]
    assert what(folder(tmp_path, "empty", ".copilot")) == [("copilot-home", None, ".")]


def test_folders_full_of_homes_are_searched(tmp_path: Path) -> None:
    for above in ("home", "Users", "elsewhere"):
        folder(tmp_path, above, "ana", ".config", "Code", "User", "workspaceStorage")
    folder(tmp_path, "home", "ben", "chatSessions")

    assert what(tmp_path / "home") == [("vscode", "Code", "ana/.config/Code"), ("vscode-workspace", None, "ben")]
    assert what(tmp_path / "Users") == what(tmp_path / "elsewhere") == [("vscode", "Code", "ana/.config/Code")]


@pytest.mark.parametrize(
    "nested",
    [
        "Code/Backups/Code",
        "Code/User/backup/old/Code",
        "Code/User/globalStorage/Code",
        "Code/User/globalStorage/backup.ext/Code",
        "Code/User/profiles/p1/Code",
        "Code/User/profiles/p1/globalStorage/backup.ext/Code",
        "Code/User/History/abc/Code",
        "Code/User/workspaceStorage/1700000000000/saved/Code",
        "Code/User/workspaceStorage/1700000000000/.copilot",
        "Code/User/workspaceStorage/1700000000000/chatEditingSessions/1/.copilot",
        ".copilot/backup/.copilot",
        ".copilot/session-state/x1/files/.copilot",
        ".copilot/session-state/x1/files/Code",
    ],
)
def test_roots_inside_other_roots_are_listed_once(tmp_path: Path, nested: str) -> None:
    folder(tmp_path, "Code/User/workspaceStorage/1700000000000/chatSessions")
    folder(tmp_path, "Code/User/globalStorage/emptyWindowChatSessions")
    (folder(tmp_path, "Code/User/globalStorage/github.copilot-chat") / "session-store.db").touch()
    (folder(tmp_path, "Code/User/profiles/p1/globalStorage") / "state.vscdb").touch()
    folder(tmp_path, ".copilot/session-state/x1")
    usual = [("copilot-home", None, ".copilot"), ("vscode", "Code", "Code")]
    assert sorted(what(tmp_path)) == usual

    folder(tmp_path, nested, "session-state" if nested.endswith(".copilot") else "User/workspaceStorage")

    kind, application = ("copilot-home", None) if nested.endswith(".copilot") else ("vscode", "Code")
    assert sorted(what(tmp_path)) == sorted([*usual, (kind, application, nested)])


def test_other_folders_have_no_roots(tmp_path: Path) -> None:
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
