"""Run the Copilot CLI for the actions of a scenario, offline and signed out, against the model server."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import msgspec

from conformance.facts import Asked, Performed
from conformance.model_server import ModelServer
from conformance.programs import UnavailableError, command_of, unpacked_folder
from conformance.scenario import MARKER, Interrupt, Run, Scenario, Shell, Terminal
from conformance.workspace import Places

KEPT = ("PATH", "LANG", "LC_ALL", "TERM", "TZ", "TMPDIR")  # of our own environment
FILE_SECONDS = 40.0


class ScenarioError(Exception):
    """A run did not go as its scenario says; the message says where."""


class CliDriver:
    """Perform the actions of one scenario with one version of the program."""

    def __init__(self, scenario: Scenario, version: str, places: Places, server: ModelServer) -> None:
        self.scenario = scenario
        self.places = places
        self.server = server
        self.command = command_of(version)
        self.performed = Performed(
            scenario=scenario.name,
            program="cli",
            version=version,
            workspace=str(places.workspace),
            home=str(places.home),
            served=server.log,
        )

    def perform(self) -> Performed:
        """Perform all actions, in order."""
        for number, action in enumerate(self.scenario.actions):
            if isinstance(action, Run):
                self._run(action, number)
            elif isinstance(action, Terminal):
                from conformance.tui_driver import perform

                perform(self, action)
            elif isinstance(action, Shell):
                command = self.places.fill(action.command)
                environment = {**os.environ, "HOME": str(self.places.home)}
                subprocess.run(["bash", "-c", command], cwd=self.places.workspace, check=True, env=environment)
        return self.performed

    def environment(self, model: str | None = None, extra: dict[str, str] | None = None) -> dict[str, str]:
        """Return the environment of the program: nothing of ours that it does not need."""
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        environment |= {
            "HOME": str(self.places.home),
            "COPILOT_HOME": str(self.places.copilot),
            "COPILOT_CACHE_HOME": str(unpacked_folder()),
            "COPILOT_PKG_CACHE_HOME": str(unpacked_folder()),
            "XDG_CACHE_HOME": str(unpacked_folder()),
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_ALLOW_ALL": "true",
            "COPILOT_PROVIDER_BASE_URL": self.server.url,
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_PROVIDER_WIRE_API": self.scenario.wire,
            "COPILOT_MODEL": model or self.scenario.model,
        }
        given = {**self.scenario.env, **(extra or {})}
        environment |= {name: self.places.fill(value) for name, value in given.items()}
        return {name: value for name, value in environment.items() if value}

    def options(self, session: str, more: list[str]) -> list[str]:
        """Return the options of a run: those of the scenario and the action, and that which resumes a session."""
        options = [self.places.fill(option) for option in (*self.scenario.options, *more)]
        if session in self.performed.sessions:
            options.append(f"--resume={self.performed.sessions[session]}")
        return options

    def session_ids(self) -> set[str]:
        """Return the ids of all sessions that have a folder with events."""
        return {path.parent.name for path in self.places.copilot.glob("session-state/*/events.jsonl")}

    def name_session(self, session: str, before: set[str]) -> None:
        """Give the session that has appeared its name in the scenario."""
        new = self.session_ids() - before
        if session in self.performed.sessions:
            return
        if len(new) != 1:
            raise ScenarioError(f"{self.scenario.name}: {len(new)} sessions appeared where {session!r} was to be")
        self.performed.sessions[session] = new.pop()

    def _run(self, action: Run, number: int) -> None:
        prompt = self.places.fill(action.prompt)
        options = self.options(action.session, action.options)
        if not any(option.startswith(("--allow", "--yolo")) for option in options):
            options.append("--allow-all-tools")
        environment = self.environment(action.model, action.env)
        command = [*_on_day(action.day), *self.command, "-p", prompt, *options]
        before = self.session_ids()
        began_at = datetime.now(UTC)
        output = self.places.home.parent / f"output-{number}.txt"
        if action.output is not None:
            output = self.places.workspace / action.output
        with output.open("wb") as file, subprocess.Popen(
            command, cwd=self.places.workspace, env=environment, stdin=subprocess.DEVNULL, stdout=file,
            stderr=subprocess.STDOUT, start_new_session=True,
        ) as process:  # fmt: skip
            try:
                if action.interrupt is not None:
                    self._interrupt(process, action.interrupt)
                status = process.wait(action.seconds)
            except (subprocess.TimeoutExpired, TimeoutError) as error:
                os.killpg(process.pid, signal.SIGKILL)
                raise ScenarioError(f"{self.scenario.name}: {prompt!r}: {error}\n{_tail(output)}") from None
        ended_at = datetime.now(UTC)
        if action.exit_status is not None and action.interrupt is None and status != action.exit_status:
            raise ScenarioError(f"{self.scenario.name}: {prompt!r}: exit status {status}\n{_tail(output)}")
        self.name_session(action.session, before)
        self.ask(action, prompt, began_at, ended_at)

    def ask(self, action: Run, prompt: str, began_at: datetime, ended_at: datetime) -> None:
        """Remember a prompt."""
        scripts = MARKER.findall(prompt)
        for script in scripts:
            self.performed.day_offsets[script] = action.day
        asked = Asked(
            session=action.session,
            text=prompt,
            model=action.model or self.scenario.model,
            scripts=scripts,
            turn=action.turn,
            began_at=began_at,
            ended_at=ended_at,
        )
        self.performed.asked += self._continued(asked, action.continued_at) if action.continued_at else [asked]

    def _continued(self, asked: Asked, steps: list[int]) -> list[Asked]:
        """Return a prompt and the turns that the program began by itself after it, each with its requests."""
        served = [one for one in self.server.log if one.script in asked.scripts]
        turns: list[Asked] = []
        for first, after in pairwise([0, *steps, len(served) + 1]):
            own = [one.number for one in served if first <= one.step < after]
            text = asked.text if first == 0 else ""
            turns.append(msgspec.structs.replace(asked, text=text, requests=own, began_at=None, ended_at=None))
        return turns

    def _interrupt(self, process: subprocess.Popen[bytes], interrupt: Interrupt) -> None:
        self.server.wait(interrupt.script, interrupt.step, seconds=30)
        if interrupt.file is not None:
            _wait_for(self.places.workspace / interrupt.file)
        time.sleep(interrupt.delay)
        number = getattr(signal, f"SIG{interrupt.signal}")
        if interrupt.signal == "KILL":
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)


def _on_day(days: int) -> list[str]:
    """Return what makes the program believe that it runs some days earlier."""
    if not days:
        return []
    faketime = shutil.which("faketime")
    if faketime is None:
        raise UnavailableError("faketime is not installed")
    return ["env", "FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1", faketime, "-m", "-f", f"-{days}d"]


def _wait_for(path: Path) -> None:
    end = time.monotonic() + FILE_SECONDS
    while not path.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"{path.name} did not appear in {FILE_SECONDS:g} s")
        time.sleep(0.05)


def _tail(path: Path) -> str:
    text = path.read_text(encoding="utf-8", errors="replace")
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)[-1500:]
