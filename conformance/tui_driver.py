"""The interactive program, in a terminal of tmux: keys are sent to it, and its screen is read."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from conformance.facts import Asked
from conformance.programs import UnavailableError
from conformance.scenario import MARKER, Key, Terminal

if TYPE_CHECKING:
    from conformance.cli_driver import CliDriver

WIDTH, HEIGHT = 160, 50
POLL_SECONDS = 0.1
STILL_SECONDS = 0.8
KEY_SECONDS = 20.0  # for one key to show its effect


class TerminalError(Exception):
    """The screen did not show what the scenario waits for; the message has the screen."""


class Tmux:
    """One window of a tmux server of our own."""

    def __init__(self, name: str) -> None:
        program = shutil.which("tmux")
        if program is None:
            raise UnavailableError("tmux is not installed")
        self._program = program
        self._socket = f"copilog-conformance-{os.getpid()}-{name}"

    def start(self, command: list[str], folder: str, environment: dict[str, str]) -> int:
        """Run a command in a new window, and return its process id."""
        variables = [f"{name}={value}" for name, value in environment.items()]
        line = shlex.join(["env", "-i", "TERM=xterm-256color", *variables, *command])
        self._call(
            "-f", "/dev/null", "new-session", "-d", "-x", str(WIDTH), "-y", str(HEIGHT), "-c", folder, f"exec {line}"
        )
        self._call("set-option", "-g", "remain-on-exit", "on")
        return int(self._call("display-message", "-p", "#{pane_pid}"))

    def type(self, text: str) -> None:
        """Type a text as it is."""
        self._call("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        """Press keys by their names in tmux."""
        self._call("send-keys", *keys)

    def screen(self) -> str:
        """Return the text of the screen."""
        return self._call("capture-pane", "-p")

    def is_over(self) -> bool:
        """Return whether the program has ended."""
        return self._call("display-message", "-p", "#{pane_dead}").strip() == "1"

    def stop(self) -> None:
        """End the tmux server and what runs in it."""
        subprocess.run([self._program, "-L", self._socket, "kill-server"], capture_output=True, check=False)

    def _call(self, *arguments: str) -> str:
        command = [self._program, "-L", self._socket, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def perform(driver: CliDriver, action: Terminal) -> None:
    """Start the program in a terminal, do what the action says, and leave it."""
    before = driver.session_ids()
    window = Tmux(driver.scenario.name)
    command = [*driver.command, *driver.options(action.session, action.options)]
    environment = driver.environment(action.model, action.env)
    process = window.start(command, str(driver.places.workspace), environment)
    typist = Typist(driver, action, window, process, before)
    try:
        _wait(lambda: ">" in window.screen() or "❯" in window.screen(), window, "the prompt", action.seconds)
        typist.settle()
        for key in action.keys:
            typist.do(key)
        typist.leave()
    finally:
        window.stop()


class Typist:
    """Do the keys of an action, one by one, and remember the prompts."""

    def __init__(self, driver: CliDriver, action: Terminal, window: Tmux, process: int, before: set[str]) -> None:
        self.driver, self.action, self.window, self.process = driver, action, window, process
        self.before = before
        self.session = action.session
        self.model = action.model or driver.scenario.model

    def do(self, key: Key) -> None:
        """Do one thing."""
        fill = self.driver.places.fill
        if key.prompt is not None:
            self._prompt(key, fill(key.prompt))
        elif key.type is not None:
            self.window.type(fill(key.type))
            self.settle(0.5)
        elif key.press:
            for name in key.press:
                self.window.press(name)
                time.sleep(0.25)
        elif key.see is not None:
            see = key.see
            _wait(lambda: see in self.window.screen(), self.window, see, KEY_SECONDS)
        elif key.served is not None or key.answered is not None:
            script, _, step = (key.served or key.answered or "").partition(" ")
            try:
                self.driver.server.wait(script, int(step or 0), answered=key.answered is not None)
            except TimeoutError as error:
                raise TerminalError(f"{error}; the screen:\n{_squeezed(self.window)}") from None
        elif key.idle:
            self.settle()
        elif key.sleep is not None:
            time.sleep(key.sleep)
        elif key.new_session is not None:
            self._name(key.new_session)
        elif key.signal is not None:
            os.kill(self.process, getattr(signal, f"SIG{key.signal}"))
            _wait(self.window.is_over, self.window, "the end of the program", KEY_SECONDS)

    def settle(self, still_seconds: float = STILL_SECONDS) -> None:
        """Wait until the screen has not changed for some time."""
        last, since = self.window.screen(), time.monotonic()
        end = since + KEY_SECONDS
        while time.monotonic() - since < still_seconds and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
            screen = self.window.screen()
            if screen != last:
                last, since = screen, time.monotonic()

    def leave(self) -> None:
        """Leave the program, and give the session its name if it has none yet."""
        end = time.monotonic() + KEY_SECONDS
        while not self.window.is_over():  # with several sessions, each has to be left
            if time.monotonic() > end:
                raise TerminalError(f"the program does not end; the screen:\n{_squeezed(self.window)}")
            self.window.press("Escape")
            time.sleep(0.3)
            self.window.type("/exit")
            time.sleep(0.3)
            self.window.press("Enter")
            self.settle()
        if self.session not in self.driver.performed.sessions:
            self._name(self.session)

    def _prompt(self, key: Key, text: str) -> None:
        self.window.type(text)
        time.sleep(0.4)
        self.window.press("Enter")
        self.session = key.session or self.session
        self.model = key.model or self.model
        scripts = MARKER.findall(text)
        asked = Asked(session=self.session, text=text, model=self.model, scripts=scripts, turn=key.turn)
        self.driver.performed.asked.append(asked)

    def _name(self, name: str) -> None:
        _wait(lambda: bool(self.driver.session_ids() - self.before), self.window, "a new session", KEY_SECONDS)
        self.driver.name_session(name, self.before)
        self.before = self.driver.session_ids()


def _wait(holds: Callable[[], bool], window: Tmux, what: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TerminalError(f"waited {seconds:g} s for {what!r}; the screen:\n{_squeezed(window)}")
        time.sleep(POLL_SECONDS)


def _squeezed(window: Tmux) -> str:
    """Return the screen without empty lines."""
    return "\n".join(line.rstrip() for line in window.screen().splitlines() if line.strip())
