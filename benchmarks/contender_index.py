"""Two programs that keep conversations in a database: `copilog scan`, and `agentsview sync` from PyPI.

Each runs as a whole process with an environment of its own: the made-up home is its home, and nothing of the machine's
configuration reaches it. agentsview is run without its daemon, its telemetry and its look for updates.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Protocol

BINARY = "agentsview/bin/agentsview"  # in site-packages; the script in bin/ only starts it
LAST_LINES = 3  # of what a program complained about


class FailedError(Exception):
    """A program cannot do what it was asked for; the message says what it answered."""


class Run(NamedTuple):
    """One process from its start to its end."""

    seconds: float  # on the clock
    cpu_seconds: float  # of the processor, with all processes that it started
    output: str


class Contender(Protocol):
    """A program that takes a home into a database of its own, and again only what changed."""

    name: str

    def command(self, home: Path, store: Path) -> list[str]: ...

    def environment(self, home: Path, store: Path) -> dict[str, str]: ...

    def database(self, store: Path) -> Path: ...

    def stored(self, store: Path) -> dict[str, int | None]: ...


class Copilog:
    """This project."""

    name = "copilog"
    # Of the archive's views for people.
    queries: Mapping[str, str] = {
        "sessions": "SELECT count(*) FROM conversations",
        "messages": "SELECT count(*) FROM messages",
        "tool calls": "SELECT count(*) FROM tool_calls",
        "tool results": "SELECT count(*) FROM tool_calls WHERE result_bytes > 0",
        "edits": "SELECT count(*) FROM file_edits",
    }

    def command(self, home: Path, store: Path) -> list[str]:
        return copilog("scan", "--archive", self.database(store), "--root", home, "--json")

    def environment(self, home: Path, store: Path) -> dict[str, str]:
        return bare_environment(home) | {"XDG_DATA_HOME": str(store), "XDG_CONFIG_HOME": str(store)}

    def database(self, store: Path) -> Path:
        return store / "archive.db"

    def stored(self, store: Path) -> dict[str, int | None]:
        return counts(self.database(store), self.queries)


class Agentsview:
    """The other one."""

    name = "agentsview"
    queries: Mapping[str, str] = {
        "sessions": "SELECT count(*) FROM sessions",
        "messages": "SELECT count(*) FROM messages",
        "tool calls": "SELECT count(*) FROM tool_calls",
        "tool results": (
            "SELECT (SELECT count(*) FROM tool_calls WHERE result_content <> '')"
            " + (SELECT count(*) FROM tool_result_events WHERE content <> '')"
        ),
        "edits": "SELECT 0",  # it has no place for them
    }

    def __init__(self, binary: Path) -> None:
        self.binary = binary

    def command(self, home: Path, store: Path) -> list[str]:  # noqa: ARG002 (both come with the environment)
        return [str(self.binary), "sync"]

    def environment(self, home: Path, store: Path) -> dict[str, str]:
        return bare_environment(home) | {
            "AGENTSVIEW_DATA_DIR": str(store),
            "AGENTSVIEW_NO_DAEMON": "1",
            "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
            "AGENTSVIEW_TELEMETRY_ENABLED": "0",
            "DO_NOT_TRACK": "1",
        }

    def database(self, store: Path) -> Path:
        return store / "sessions.db"

    def stored(self, store: Path) -> dict[str, int | None]:
        return counts(self.database(store), self.queries)

    def version(self) -> str:
        with tempfile.TemporaryDirectory(prefix="copilog-bench-") as folder:
            home = Path(folder)
            return run([str(self.binary), "--version"], self.environment(home, home)).output.partition(" (")[0].strip()


def copilog(*arguments: object) -> list[str]:
    """The command line of this project, as a user would start it."""
    script = Path(sys.executable).parent / "copilog"
    start = [str(script)] if script.exists() else [sys.executable, "-m", "copilog"]
    return [*start, *map(str, arguments)]


def bare_environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.defpath, "LANG": "C.UTF-8"}


def run(command: list[str], environment: Mapping[str, str]) -> Run:
    """Run a program to its end."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaints:
        begun = time.perf_counter()
        try:
            process = subprocess.Popen(command, env=dict(environment), stdout=output, stderr=complaints)
        except OSError as error:
            raise FailedError(str(error)) from error
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)  # so that nobody waits for it again
        if process.returncode != 0:
            complaints.seek(0)
            lines = complaints.read().decode(errors="replace").split("\n")
            said = " ".join([line for line in lines if line.strip()][-LAST_LINES:])
            raise FailedError(f"ended with {process.returncode}: {said}")
        output.seek(0)
        return Run(seconds, used.ru_utime + used.ru_stime, output.read().decode(errors="replace"))


def counts(database: Path, queries: Mapping[str, str]) -> dict[str, int | None]:
    """What a database holds; None for what it has no table for."""
    found: dict[str, int | None] = {}
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
        for name, query in queries.items():
            try:
                (found[name],) = connection.execute(query).fetchone()
            except sqlite3.OperationalError:
                found[name] = None
    return found


def size_of(database: Path) -> int:
    """A database with what SQLite keeps beside it."""
    return sum(path.stat().st_size for path in database.parent.glob(f"{database.name}*"))


def install_agentsview(folder: Path) -> Path:
    """Put agentsview into a new environment in this folder, from where pip gets its packages, and say where it is."""
    python = folder / "bin" / "python"
    try:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "agentsview"]
        subprocess.run(command, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise FailedError(f"agentsview could not be installed: {_last_line(error.stderr)}") from error
    binary = next(folder.glob(f"lib/*/site-packages/{BINARY}"), None)
    return binary or folder / "bin" / "agentsview"


def _last_line(complaint: str | bytes | None) -> str:
    text = complaint.decode(errors="replace") if isinstance(complaint, bytes) else complaint or ""
    return text.strip().rsplit("\n", 1)[-1]
