"""Where VS Code, its forks and Copilot CLI store data, and which of their folders hold conversations.

`default_roots` has the default paths of a machine. `roots_from` decides what a folder is by its structure alone, so
that a home folder copied from another system can be read as well. Nothing below a root is ever written.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from copilog.errors import BadFile
from copilog.intake.files import read_bytes
from copilog.intake.folders import is_gone, is_open, require_access, unreadable
from copilog.jsonio import replace_lone_surrogates
from copilog.sources.real_paths import RealPaths, is_plain_folder
from copilog.sources.root_search import COPILOT_FOLDERS, RootKind, Skipped, search
from copilog.uris import uri_parts, uri_to_path, uri_to_string

StorageKind = Literal["workspace", "global", "profile", "copilot-home"]

PRODUCTS = (
    "Code",
    "Code - Insiders",
    "Code - Exploration",
    "Code - OSS",
    "code-oss-dev",
    "VSCodium",
    "VSCodium - Insiders",
    # Forks, which may have changed the formats.
    "Cursor",
    "Windsurf",
    "Trae",
    "Positron",
)
_BASES = {"linux": ".config", "darwin": "Library/Application Support", "windows": "AppData/Roaming"}
_BASE_VARIABLES = {"linux": "XDG_CONFIG_HOME", "windows": "APPDATA"}
_SYSTEM_NAMES = {"linux": "Linux", "darwin": "macOS", "windows": "Windows"}
_SERVERS = {
    ".vscode-server": "Code",
    ".vscode-server-insiders": "Code - Insiders",
    ".vscode-remote": "code-oss-dev",
    ".vscodium-server": "VSCodium",
}
_CODE_SERVERS = {"linux": ".local/share/code-server", "darwin": "Library/Application Support/code-server"}
_FLATPAKS = {
    "com.visualstudio.code": "Code",
    "com.visualstudio.code.insiders": "Code - Insiders",
    "com.visualstudio.code-oss": "Code - OSS",
    "com.vscodium.codium": "VSCodium",
    "com.vscodium.codium-insiders": "VSCodium - Insiders",
}
_SNAPS = {"code": "Code", "code-insiders": "Code - Insiders", "codium": "VSCodium"}
_EXECUTABLES = {
    "code": "Code",
    "code-insiders": "Code - Insiders",
    "code-oss": "Code - OSS",
    "codium": "VSCodium",
    "codium-insiders": "VSCodium - Insiders",
    "cursor": "Cursor",
    "windsurf": "Windsurf",
    "positron": "Positron",
}
# The path of a program's data below a root: a link there leads to a root of its own.
_LINKED: Mapping[RootKind, Mapping[str, RootKind]] = {
    "vscode": {
        "User": "vscode-user",
        "User/workspaceStorage": "vscode-storage",
        "User/globalStorage": "vscode-global",
    },
    "vscode-user": {"workspaceStorage": "vscode-storage", "globalStorage": "vscode-global"},
}
_COPILOT_FOLDERS = (".copilot", ".local/state/.copilot", ".config/.copilot")
LINK = "link at "  # begins the `why` of a root that a link leads to
_NOBODYS_FOLDERS = {"All Users", "Default", "Default User", "Public"}


class Root(msgspec.Struct, frozen=True):
    """A folder to read, and why it is read.

    The kind says what the path is: a user data root, which has User/ (vscode); that User/ or a profile (vscode-user);
    its workspaceStorage/ (vscode-storage) or one folder of that (vscode-workspace); a globalStorage/ (vscode-global);
    or a .copilot/ (copilot-home). A single file that the user named is a root by itself (file).
    """

    kind: RootKind
    path: Path
    application: str | None
    why: str
    exists: bool
    named: Path | None = None  # the folder or file that the user named: this one or one around it


class Machine(msgspec.Struct, frozen=True):
    """All values that the default paths depend on, so that any system can be imitated."""

    system: Literal["linux", "darwin", "windows"]
    home: Path
    environ: Mapping[str, str]
    is_wsl: bool = False
    mounts: Path = Path("/mnt")  # where WSL shows the disks of Windows
    path_dirs: tuple[Path, ...] = ()  # where executables are


class StorageFolder(msgspec.Struct, frozen=True):
    """A folder with conversations: of one workspace, of no workspace (global), of a profile, or of Copilot CLI."""

    path: Path
    kind: StorageKind
    application: str | None
    root: Root | None  # None for the folder around a single file that the user named


class WorkspaceRecord(msgspec.Struct, frozen=True):
    """The owner of a workspace's storage folder: a folder, or a .code-workspace file."""

    kind: Literal["folder", "workspace"]
    uri: str
    path: str | None
    authority: str | None
    scheme: str


def this_machine() -> Machine:
    """Return the machine that this process runs on."""
    folders = (Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder)
    return Machine(
        system="darwin" if sys.platform == "darwin" else "windows" if sys.platform == "win32" else "linux",
        home=Path.home(),
        environ=dict(os.environ),
        is_wsl=sys.platform == "linux" and "microsoft" in platform.release().lower(),
        path_dirs=tuple(folder for folder in folders if folder.is_absolute()),
    )


def default_roots(machine: Machine | None = None) -> list[Root]:
    """Return all default paths, whether they exist or not; each folder once, also where several paths lead to it."""
    machine = machine or this_machine()
    return _with_linked(
        [
            *_roots_of_variables(machine),
            *_system_roots(machine),
            *_portable_roots(machine),
            *_copilot_roots(machine),
            *_windows_roots_in_wsl(machine),
        ]
    )


def roots_from(path: Path, why: str = "--root", skipped: list[Skipped] | None = None) -> list[Root]:
    """Return the root at a named folder, and all roots at any depth below it; none if there are none.

    Folders that were not searched, or could not be, go to `skipped`, each with a reason.
    """
    path = path.absolute()
    passed_over: list[Skipped] = []
    roots = _with_linked(_roots_at(path, why, passed_over))
    if skipped is not None:
        places = {_real_path_of(root.path) for root in roots}
        for path_skipped, reason in passed_over:
            if not (os.path.islink(path_skipped) and _real_path_of(path_skipped) in places):  # noqa: PTH114
                skipped.append((path_skipped, reason))
    return [replace(root, named=path) for root in roots]


def is_default_path_in(home: Path, path: Path) -> bool:
    """Return whether a path is a default path in a home folder of some system, or directly in a folder."""
    return path.parent == home or any(root.path == path for root in _roots_inside(home, ""))


def _roots_at(path: Path, why: str, skipped: list[Skipped]) -> list[Root]:
    if not _is_folder(path):
        return []
    below = [_root(kind, found, _application_of(kind, found), why) for kind, found in search(path, PRODUCTS, skipped)]
    is_root_itself = any(root.path == path for root in below)
    usual = [] if is_root_itself else [root for root in _roots_inside(path, why) if root.exists]
    roots = list(_by_place([*usual, *below]).values())
    if not roots and _is_folder(path / "User"):
        return [_root("vscode", path, _application_of("vscode", path), why)]
    return roots


def storage_folders(root: Root, skipped: list[tuple[Path, str]] | None = None) -> Iterator[StorageFolder]:
    """Yield the folders of a root that may hold conversations.

    Links out of the root are not followed. They and unreadable folders go to `skipped`, each with a reason.
    """
    skipped = [] if skipped is None else skipped
    for kind, folder in _paths_of_storage(root, skipped):
        yield StorageFolder(folder, kind, root.application, root)


def folder_around(path: Path) -> StorageFolder | None:
    """Return the storage folder of a file, judged by the names of the folders around it."""
    for folder in path.parents:
        if folder.parent.name == "workspaceStorage":
            return _storage_folder("workspace", folder, folder.parent.parent)
        if folder.name == "globalStorage":
            return _storage_folder("global", folder, folder.parent)
        if folder.name == ".copilot":
            return StorageFolder(folder, "copilot-home", None, None)
        if folder.name in COPILOT_FOLDERS:
            return StorageFolder(folder.parent, "copilot-home", None, None)
    if path.parent.name == "chatSessions":
        return StorageFolder(path.parent.parent, "workspace", None, None)
    if path.parent.name in ("emptyWindowChatSessions", "transferredChatSessions"):
        return StorageFolder(path.parent.parent, "global", None, None)
    return None


def _storage_folder(kind: StorageKind, folder: Path, user: Path) -> StorageFolder:
    """Return a storage folder below a `User/`, which is in the folder of its application."""
    application = user.parent.name if user.name == "User" and user.parent.name in PRODUCTS else None
    return StorageFolder(folder, kind, application, None)


def workspace_of(folder: Path) -> WorkspaceRecord | None:
    """Return the owner of a workspace's storage folder, or None for an empty window. Raise ValueError if unclear."""
    try:
        file = folder / "workspace.json"
        if is_gone(file):
            return None
        record = json.loads(read_bytes(file))
    except BadFile as error:
        raise ValueError(f"workspace.json {error}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"workspace.json is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise ValueError("workspace.json is not a JSON object")  # noqa: TRY004 - one kind of error for bad content
    if "folder" in record:
        return _workspace_record("folder", record["folder"])
    if "workspace" in record or "configuration" in record:  # the second name is that of old releases
        return _workspace_record("workspace", record.get("workspace", record.get("configuration")))
    raise ValueError("workspace.json names neither a folder nor a workspace")


def _workspace_record(kind: Literal["folder", "workspace"], value: Any) -> WorkspaceRecord:
    uri, parts = uri_to_string(value), uri_parts(value)
    if uri is None or parts is None:
        raise ValueError(f"the {kind} in workspace.json is not a URI")
    path = uri_to_path(value)
    return WorkspaceRecord(
        kind,
        replace_lone_surrogates(uri),
        replace_lone_surrogates(path) if path else path,
        replace_lone_surrogates(parts.authority) or None,
        replace_lone_surrogates(parts.scheme),
    )


# The default paths of a machine


def _roots_of_variables(machine: Machine) -> Iterator[Root]:
    portable = machine.environ.get("VSCODE_PORTABLE")
    if portable:
        yield _root("vscode", Path(portable, "user-data"), None, "VSCODE_PORTABLE")
    base = machine.environ.get("VSCODE_APPDATA")
    if base:
        for product in PRODUCTS:
            yield _root("vscode", Path(base, product), product, "VSCODE_APPDATA")
    server = machine.environ.get("VSCODE_AGENT_FOLDER")
    if server:
        yield _root("vscode", Path(server, "data"), _SERVERS.get(Path(server).name), "VSCODE_AGENT_FOLDER")


def _system_roots(machine: Machine) -> Iterator[Root]:
    variable = _BASE_VARIABLES.get(machine.system, "")
    base = machine.environ.get(variable)
    why = variable if base and machine.system == "linux" else f"default place on {_SYSTEM_NAMES[machine.system]}"
    for product in PRODUCTS:
        yield _root("vscode", Path(base or machine.home / _BASES[machine.system], product), product, why)
    yield from _special_roots(machine.home, machine.system)


def _special_roots(home: Path, system: str) -> Iterator[Root]:
    """Yield the paths in a home folder that are not below the system's usual folder for settings."""
    if system == "linux":
        for name, product in _FLATPAKS.items():
            yield _root("vscode", home / ".var/app" / name / "config" / product, product, "Flatpak")
        for name, product in _SNAPS.items():
            for part in ("current", "common"):
                yield _root("vscode", home / "snap" / name / part / ".config" / product, product, "Snap")
    if system in _CODE_SERVERS:
        yield _root("vscode", home / _CODE_SERVERS[system], "code-server", "code-server")
    for name, product in _SERVERS.items():
        yield _root("vscode", home / name / "data", product, "remote server")


def _portable_roots(machine: Machine) -> Iterator[Root]:
    """Yield the data folders of portable installs, which are next to the program."""
    endings = ("", ".cmd", ".exe") if machine.system == "windows" else ("",)
    for name, product in _EXECUTABLES.items():
        candidates = (folder / f"{name}{ending}" for folder in machine.path_dirs for ending in endings)
        executable = next((Path(os.path.realpath(path)) for path in candidates if _is_file(path)), None)
        if executable is None:
            continue
        bundle = next((folder for folder in executable.parents if folder.suffix == ".app"), None)
        if bundle:
            data = bundle.parent / f"{name}-portable-data"
        else:
            folder = executable.parent
            data = (folder.parent if folder.name == "bin" else folder) / "data"
        yield _root("vscode", data / "user-data", product, f"portable install of {name}")


def _copilot_roots(machine: Machine) -> Iterator[Root]:
    home = machine.environ.get("COPILOT_HOME")
    if home:
        yield _root("copilot-home", Path(home), None, "COPILOT_HOME")
    yield _root("copilot-home", machine.home / ".copilot", None, "default place")
    for variable in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        base = machine.environ.get(variable)
        if base:
            yield _root("copilot-home", Path(base, ".copilot"), None, variable)


def _windows_roots_in_wsl(machine: Machine) -> Iterator[Root]:
    if not machine.is_wsl:
        return
    for disk in _children(machine.mounts):
        if len(disk.name) != 1:
            continue
        why = f"WSL: Windows disk {disk.name.upper()}"
        for user in _children(disk / "Users"):
            if user.name in _NOBODYS_FOLDERS or not _children(user):  # empty, not a folder, or not readable
                continue
            for product in PRODUCTS:
                yield _root("vscode", user / _BASES["windows"] / product, product, why)
            yield _root("copilot-home", user / ".copilot", None, why)


# What a folder is


def _roots_inside(path: Path, why: str) -> Iterator[Root]:
    """Yield the roots at their default paths in a home folder of any system, also where these are links."""
    for system, base in _BASES.items():
        for product in PRODUCTS:
            yield _root("vscode", path / base / product, product, why)
        for root in _special_roots(path, system):
            yield _root("vscode", root.path, root.application, why)
    for name in _COPILOT_FOLDERS:
        yield _root("copilot-home", path / name, None, why)


def _application_of(kind: RootKind, path: Path) -> str | None:
    """Return the application, by the name of its user data root: the folder that holds User/."""
    if kind == "copilot-home":
        return None
    user = next((folder for folder in (path, *path.parents) if folder.name == "User"), None)
    data_root = path if kind == "vscode" else user.parent if user else None
    if data_root is None:
        return None
    if data_root.name == "data":
        return _SERVERS.get(data_root.parent.name)
    return data_root.name if data_root.name in (*PRODUCTS, "code-server") else None


# The folders of a root


def _paths_of_storage(root: Root, skipped: list[tuple[Path, str]]) -> Iterator[tuple[StorageKind, Path]]:
    top = Path(os.path.realpath(root.path))

    def enter(folder: Path) -> list[Path]:
        return [folder] if _may_enter(folder, top, skipped) else []

    def enter_own(folder: Path) -> list[Path]:
        """Enter a folder at a program's path. If it is a link out of the root, its target is a root of its own."""
        is_elsewhere = not Path(os.path.realpath(folder)).is_relative_to(top) and _is_folder(folder)
        return [] if is_elsewhere else enter(folder)

    def enter_all_in(folder: Path) -> Iterator[Path]:
        for place in enter(folder):
            for child in _children(place):
                if is_plain_folder(child) and is_open(child):
                    yield child  # as reliable as resolving its path, which takes far longer
                else:
                    yield from enter(child)

    if root.kind == "copilot-home":
        yield from (("copilot-home", folder) for folder in enter(root.path))
    elif root.kind == "vscode-workspace":
        yield from (("workspace", folder) for folder in enter(root.path))
    elif root.kind == "vscode-storage":
        yield from (("workspace", folder) for folder in enter_all_in(root.path))
    elif root.kind == "vscode-global":
        kind: StorageKind = "profile" if root.path.parent.parent.name == "profiles" else "global"
        yield from ((kind, folder) for folder in enter(root.path))
    else:
        for user in enter_own(root.path / "User" if root.kind == "vscode" else root.path):
            for storage in enter_own(user / "workspaceStorage"):
                yield from (("workspace", folder) for folder in enter_all_in(storage))
            kind = "profile" if user.parent.name == "profiles" else "global"
            yield from ((kind, folder) for folder in enter_own(user / "globalStorage"))
            for profile in enter_all_in(user / "profiles"):
                yield from (("profile", folder) for folder in enter(profile / "globalStorage"))


def _may_enter(folder: Path, top: Path, skipped: list[tuple[Path, str]]) -> bool:
    """Return whether a folder exists, inside the root, and is readable. A stray file is skipped without a note."""
    try:
        target = Path(os.path.realpath(folder, strict=True))
        if not target.is_dir():
            return False
        if not target.is_relative_to(top):
            skipped.append((folder, f"is a link that leads out of {top}, to {target}"))
            return False
        require_access(target)
    except FileNotFoundError:
        if os.path.islink(folder):  # noqa: PTH114 - it raises nothing
            skipped.append((folder, "is a link that leads nowhere"))
    except OSError as error:
        skipped.append((folder, unreadable(error)))
    else:
        return True
    return False


def _root(kind: RootKind, path: Path, application: str | None, why: str) -> Root:
    return Root(kind, path, application, why, exists=_is_folder(path))


def _with_linked(roots: Iterable[Root]) -> list[Root]:
    """Return the roots, each once, with the targets of links at paths where a program stores its data.

    Such a target is a root of its own, so that a `User` in a folder of dotfiles is read. Each folder is a root once,
    so a circle of links ends.
    """
    by_place = _by_place(roots)
    found = [_at_target(root) for root in by_place.values()]
    known = set(by_place)
    for root in found:  # grows during the loop
        if not root.exists:
            continue
        top = os.path.realpath(root.path)
        for name, kind in _LINKED.get(root.kind, {}).items():
            link = root.path / name
            target = Path(os.path.realpath(link))
            if not target.is_relative_to(top) and _is_folder(target) and _real_path_of(target) not in known:
                known.add(_real_path_of(target))
                found.append(Root(kind, target, root.application, f"{LINK}{link}", exists=True))
    return found


def _at_target(root: Root) -> Root:
    """Return the root; if it is a link to a folder, the target with the same data."""
    if not (root.exists and os.path.islink(root.path)):  # noqa: PTH114 - it raises nothing
        return root
    return replace(root, path=Path(os.path.realpath(root.path)), why=f"{LINK}{root.path}")


def _real_path_of(path: Path) -> str:
    return os.path.normcase(os.path.realpath(path))


def _by_place(roots: Iterable[Root]) -> dict[str, Root]:
    """Return the roots by their real paths, each once."""
    by_place: dict[str, Root] = {}
    paths = RealPaths()
    for root in roots:
        by_place.setdefault(os.path.normcase(paths.of(root.path)), root)
    return by_place


def _children(folder: Path) -> list[Path]:
    """Return the entries of a folder by name; none if it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _is_folder(path: Path) -> bool:
    """Return whether a path leads to a folder, or to an entry without permission, which is reported later."""
    try:
        return path.is_dir()
    except PermissionError:
        return True
    except OSError:
        return False


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
