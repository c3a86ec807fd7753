"""Two programs that tell what was used: `copilog stats` from an archive, and `ccusage` from the logs of Copilot CLI.

ccusage comes from npm: a small script, which users call, and a package for each system with the program that the script
starts. Both run here: with the script, Node has to start before the program does.
It gets the made-up folder of Copilot CLI, uses the prices that it was built with, and has nothing to send anywhere.
Both have an empty folder for a home, so that nothing of the machine reaches them.

It knows of tokens from the summary at the end of a log alone. The logs of `generate_home` have none, so one is added.
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from benchmarks.contender_index import FailedError, bare_environment, copilog, run
from benchmarks.generate_home import STATE_FOLDER

Json = dict[str, Any]

PACKAGE, VERSION = "ccusage", "20.0.24"
INSTALL_SECONDS = 120
MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
INPUT_FOR_OUTPUT = 40  # how much more goes into a model than comes out of it
CACHED = 0.8


class Told(NamedTuple):
    """What a program says was used."""

    conversations: int
    tokens: int  # those of which a summary tells: input with what came from a cache, and output


class UsageTeller(Protocol):
    """A program that reports on a home or on an archive of it, as JSON."""

    name: str

    def command(self, home: Path, archive: Path) -> list[str]: ...

    def environment(self, home: Path, store: Path) -> dict[str, str]: ...

    def told(self, document: Json) -> Told: ...


class CopilogStats:
    """This project: every figure that it has."""

    name = "copilog"

    def command(self, home: Path, archive: Path) -> list[str]:  # noqa: ARG002 - the archive is taken as it is
        return copilog("stats", "--archive", archive, "--no-scan", "--json")

    def environment(self, home: Path, store: Path) -> dict[str, str]:  # noqa: ARG002 - it reads the archive
        return bare_environment(store)

    def told(self, document: Json) -> Told:
        recorded = [row for row in document["tokens"]["origins"] if row["source"] == "session.shutdown"]
        tokens = sum((row["input"] or 0) + (row["output"] or 0) for row in recorded)
        return Told(document["totals"]["conversations"], tokens)


class CopilogStatsOfDisk(CopilogStats):
    """The same, after a look at all files of the home for what has changed."""

    name = "copilog, after a look"

    def command(self, home: Path, archive: Path) -> list[str]:
        return copilog("stats", "--archive", archive, "--root", home, "--json")


class Ccusage:
    """The other one: tokens and cost by session. Its program, without the script that users call."""

    name = "ccusage"

    def __init__(self, binary: Path) -> None:
        self.binary = binary

    def command(self, home: Path, archive: Path) -> list[str]:  # noqa: ARG002 - it reads the home of its environment
        return [*self.start(), "copilot", "session", "--json", "--offline"]

    def start(self) -> list[str]:
        return [str(self.binary)]

    def environment(self, home: Path, store: Path) -> dict[str, str]:
        return bare_environment(store) | {"COPILOT_HOME": str(home / ".copilot"), "NO_COLOR": "1", "DO_NOT_TRACK": "1"}

    def told(self, document: Json) -> Told:
        return Told(len(document["sessions"]), document["totals"]["totalTokens"])

    def version(self) -> str:
        return run([str(self.binary), "--version"], bare_environment(Path(self.binary).parent)).output.strip()


class CcusageOfNpm(Ccusage):
    """The same, as users call it: the script of npm starts Node, which starts the program."""

    name = "ccusage, as npm starts it"

    def start(self) -> list[str]:
        node, script = shutil.which("node"), self.binary.parents[3] / ".bin" / PACKAGE
        if node is None or not script.exists():
            raise FailedError("there is no Node, or no script of npm beside the program")
        return [node, str(script)]


def install_ccusage(folder: Path, version: str = VERSION) -> Path:
    """Put ccusage into a folder, from where npm gets its packages, and say where the program itself is."""
    npm = shutil.which("npm")
    if npm is None:
        raise FailedError("npm is not installed, which would get it; name the program with --ccusage")
    folder.mkdir(parents=True)
    package = f"@{PACKAGE}/{PACKAGE}-{_system()}"
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder)]
    command.append(f"{PACKAGE}@{version}")  # with the package of this system
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except (subprocess.SubprocessError, OSError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().rsplit("\n", 1)[-1]
        raise FailedError(f"{package} could not be installed: {said}") from error
    binary = folder / "node_modules" / package / "bin" / (f"{PACKAGE}.exe" if sys.platform == "win32" else PACKAGE)
    if not binary.exists():
        raise FailedError(f"{package} has no {binary.name}")
    binary.chmod(0o755)  # npm does so only for scripts that the package names
    return binary


def _system() -> str:
    machine = platform.machine().lower()
    return f"{sys.platform}-{MACHINES.get(machine, machine)}"


# --- summaries ------------------------------------------------------------------------------------------------------


def end_sessions(home: Path) -> Told:
    """Write a summary to the end of each log of Copilot CLI, and say what they come to."""
    logs = sorted((home / STATE_FOLDER).glob("*/events.jsonl"))
    return Told(len(logs), sum(_end_session(log) for log in logs))


def _end_session(log: Path) -> int:
    output: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    prompts = 0
    event: Json = {}
    for line in log.read_bytes().splitlines():
        event = json.loads(line)
        data = event["data"]
        prompts += event["type"] == "user.message"
        if event["type"] == "assistant.message":
            output[data["model"]] += data["outputTokens"]
            calls[data["model"]] += 1
    metrics = {
        model: {"requests": {"count": calls[model], "cost": prompts}, "usage": _usage(number)}
        for model, number in output.items()
    }
    data = {
        "shutdownType": "routine",
        "totalPremiumRequests": prompts,
        "totalApiDurationMs": 0,
        "modelMetrics": metrics,
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, event["id"])
    ended = event | {"type": "session.shutdown", "data": data, "id": str(number), "parentId": event["id"]}
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(ended, separators=(",", ":")) + "\n")
    return sum(each["usage"]["inputTokens"] + each["usage"]["outputTokens"] for each in metrics.values())


def _usage(output: int) -> Json:
    given = output * INPUT_FOR_OUTPUT
    cached = int(given * CACHED)
    return {
        "inputTokens": given,
        "outputTokens": output,
        "cacheReadTokens": cached,
        "cacheWriteTokens": (given - cached) // 2,
    }
