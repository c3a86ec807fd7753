"""The versions of the Copilot CLI that are run, and where they are installed.

They come from the package registry by name and version, into a cache folder of the suite, and are run as they are.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

VERSIONS = ("1.0.20", "1.0.34", "1.0.46", "1.0.60", "1.0.75", "1.0.89", "1.0.92", "1.0.102")
NEWEST = VERSIONS[-1]
PACKAGE = "@github/copilot"
NODE = "24.21.0"  # for versions whose program for this platform is not in the registry
INSTALL_SECONDS = 300
START_SECONDS = 60


class UnavailableError(Exception):
    """A program cannot be run on this machine; the message says why."""


class NoSuchVersionError(UnavailableError):
    """The registry has no such version: a mistake of the caller, not a lack of this machine."""


def cache_folder() -> Path:
    """Return where programs are installed: COPILOG_CONFORMANCE_CACHE, else a folder in the user's cache."""
    named = os.environ.get("COPILOG_CONFORMANCE_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "copilog-conformance")


def command_of(version: str) -> list[str]:
    """Return the command that runs a version of the CLI. Install it first if it is not in the cache."""
    folder = cache_folder() / "cli" / version
    modules = folder / "node_modules" / "@github"
    if not (modules / "copilot" / "package.json").exists():
        install(folder, f"{PACKAGE}@{version}")
    program = modules / f"copilot-{_platform()}" / "copilot"
    if program.exists():
        return [str(program)]
    return [str(_node()), str(modules / "copilot" / "index.js")]


def prepare(version: str) -> None:
    """Install a version of the CLI and let it unpack its own files: runs at the same time would all do so."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(unpacked_folder()),
        "COPILOT_CACHE_HOME": str(unpacked_folder()),
        "COPILOT_PKG_CACHE_HOME": str(unpacked_folder()),
        "XDG_CACHE_HOME": str(unpacked_folder()),
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
    }
    command = [*command_of(version), "--version"]
    subprocess.run(command, env=environment, capture_output=True, timeout=START_SECONDS, check=True)


def unpacked_folder() -> Path:
    """Return where the CLI unpacks its own files: kept, as that takes longer than a scenario."""
    return cache_folder() / "unpacked"


def install(folder: Path, package: str) -> None:
    """Install a package into a folder of its own. Raise UnavailableError if that is not possible."""
    npm = shutil.which("npm") or shutil.which("npm", path=str(Path(sys.executable).parent))
    if npm is None:
        raise UnavailableError("npm is not installed")
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = folder.with_name(f"{folder.name}.{os.getpid()}")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    command = [npm, "install", "--no-audit", "--no-fund", "--no-save", "--prefix", str(scratch), package]
    try:
        done = subprocess.run(
            command, cwd=scratch, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"npm took more than {INSTALL_SECONDS} s to install {package}") from None
    if done.returncode != 0:
        shutil.rmtree(scratch, ignore_errors=True)
        lines = [line for line in done.stderr.splitlines() if "error" in line]
        if any("ETARGET" in line or "E404" in line for line in lines):
            raise NoSuchVersionError(f"the registry has no {package}")
        raise UnavailableError(f"npm cannot install {package}: {lines[0] if lines else 'no reason given'}")
    shutil.rmtree(folder, ignore_errors=True)
    scratch.rename(folder)


def _platform() -> str:
    machine = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{platform.system().lower()}-{machine}"


def _node() -> Path:
    package = f"node-{_platform()}"
    folder = cache_folder() / f"node-{NODE}"
    program = folder / "node_modules" / package / "bin" / "node"
    if not program.exists():
        install(folder, f"{package}@{NODE}")
    return program
