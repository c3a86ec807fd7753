"""Install and run the other programs, each with an environment of its own and on a copy of the folder."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from conformance.programs import UnavailableError, cache_folder, install
from conformance.vscode_server import USER_DATA

VERSIONS = {"agentsview": "0.46.1", "ccusage": "20.0.24"}
RUN_SECONDS = 120
MACHINES = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64"}
TABLES = ("sessions", "messages", "tool_calls", "tool_result_events", "usage_events")
CONFIG = "result_content_blocked_categories = []\n"  # by default it keeps no results of tools that read files
Json = dict[str, Any]


class Archive(msgspec.Struct, kw_only=True):
    """What agentsview answers: the rows of its database, and its report on days."""

    sessions: list[Json] = []
    messages: list[Json] = []
    tool_calls: list[Json] = []
    tool_result_events: list[Json] = []
    usage_events: list[Json] = []
    daily: list[Json] = []


class Reports(msgspec.Struct, kw_only=True):
    """What ccusage answers: its reports on sessions and on days."""

    sessions: list[Json] = []
    daily: list[Json] = []


def ask_agentsview(home: Path) -> Archive:
    """Let agentsview read a home folder, and return what it stored."""
    command = [str(_agentsview())]
    with _copied(home) as (copy, store):
        environment = _environment(copy) | {
            "AGENTSVIEW_DATA_DIR": str(store),
            "AGENTSVIEW_NO_DAEMON": "1",
            "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
            "AGENTSVIEW_TELEMETRY_ENABLED": "0",
            "VSCODE_COPILOT_DIR": str(copy / USER_DATA / "User"),
        }
        (store / "config.toml").write_text(CONFIG, encoding="utf-8")
        _run([*command, "sync"], environment)
        report = _run([*command, "usage", "daily", "--all", "--json", "--no-sync", "--offline"], environment)
        with closing(sqlite3.connect(store / "sessions.db")) as connection:
            connection.row_factory = sqlite3.Row
            rows = {name: [dict(row) for row in connection.execute(f"SELECT * FROM {name}")] for name in TABLES}
    return msgspec.convert({**rows, "daily": json.loads(report).get("daily") or []}, Archive)


def ask_ccusage(home: Path) -> Reports:
    """Let ccusage report on a home folder."""
    command = [str(_ccusage()), "copilot"]
    with _copied(home) as (copy, _):
        environment = _environment(copy) | {"COPILOT_HOME": str(copy / ".copilot"), "NO_COLOR": "1"}
        sessions = json.loads(_run([*command, "session", "--json", "--offline"], environment))
        daily = json.loads(_run([*command, "daily", "--json", "--offline"], environment))
    return Reports(sessions=rows_of(sessions, "sessions"), daily=rows_of(daily, "daily"))


def rows_of(document: Any, name: str) -> list[Json]:
    """Return the rows of a report. Without any usage it is an empty list instead of an object."""
    return list(document.get(name) or []) if isinstance(document, dict) else []


@contextmanager
def _copied(home: Path) -> Iterator[tuple[Path, Path]]:
    """Yield a copy of a home folder and an empty folder: a reader of databases may write beside them."""
    with tempfile.TemporaryDirectory(prefix="copilog-contender-") as scratch:
        copy, store = Path(scratch, "home"), Path(scratch, "store")
        shutil.copytree(home, copy, symlinks=True, ignore=shutil.ignore_patterns("*.sock", "node_modules"))
        store.mkdir()
        yield copy, store


def _environment(home: Path) -> dict[str, str]:
    zone = {"TZ": os.environ["TZ"]} if "TZ" in os.environ else {}
    return {"HOME": str(home), "PATH": os.defpath, "LANG": "C.UTF-8", "DO_NOT_TRACK": "1", **zone}


def _run(command: list[str], environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        command, env=dict(environment), capture_output=True, text=True, timeout=RUN_SECONDS, check=False
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise UnavailableError(f"{Path(command[0]).name} ended with {done.returncode}: {lines[-1] if lines else ''}")
    return done.stdout


def _agentsview() -> Path:
    """Return the program itself; the script in `bin` only starts it."""
    version = VERSIONS["agentsview"]
    folder = cache_folder() / "contenders" / f"agentsview-{version}"
    pattern = "agentsview/bin/agentsview*"
    if not any(folder.glob(pattern)):
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
        done = subprocess.run([*pip, f"agentsview=={version}"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise UnavailableError(f"pip cannot install agentsview: {done.stderr.strip()[-300:]}")
    return next(folder.glob(pattern))


def _ccusage() -> Path:
    """Return the program for this platform, without the script that looks for it."""
    version = VERSIONS["ccusage"]
    folder = cache_folder() / "contenders" / f"ccusage-{version}"
    package = f"@ccusage/ccusage-{sys.platform}-{MACHINES.get(platform.machine(), platform.machine())}"
    program = folder / "node_modules" / package / "bin" / "ccusage"
    if not program.exists():
        install(folder, f"ccusage@{version}")
    program.chmod(0o755)
    return program
