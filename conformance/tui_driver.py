"""The interactive program, in a terminal of tmux: keys are sent to it, and its screen is read.

Nothing relies on how fast the program is: a text is typed again until the screen shows it, Enter is pressed again until
the text has left the input, and a screen is still only if no thread of the program wants the processor.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.facts import Asked
from conformance.programs import UnavailableError
from conformance.scenario import MARKER, Key, Terminal

if TYPE_CHECKING:
    from conformance.cli_driver import CliDriver

WIDTH, HEIGHT = 160, 50
POLL_SECONDS = 0.1
STILL_SECONDS = 0.8
KEY_SECONDS = 60.0  # for what a key causes
ECHO_SECONDS = 6.0  # for a text or a key to show on the screen, before it is given again
TYPE_TRIES = 5
SHOWN = 40  # characters at the end of a text by which it is recognized on the screen
LOADING = "Loading:"  # while it is shown, the program loses what is typed
SAMPLES, SAMPLE_SECONDS = 6, 0.02  # looks at the threads of the program


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

    def input(self) -> str:
        """Return what the input field holds, without white space: the last line that begins with its sign."""
        lines = [line.strip(" │┃") for line in self.screen().splitlines()]
        texts = [number for number, line in enumerate(lines) if line.startswith(("❯", ">"))]
        if not texts:
            return ""
        field: list[str] = []
        for line in lines[texts[-1] :]:
            if line.startswith(("─", "╰", "▀")):
                break
            field.append(line)
        return _bare("".join(field)[1:])

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
        _wait(lambda: _is_ready(window), window, "the prompt", action.seconds)
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
        self.typed: str | None = None  # the text that the last key typed

    def do(self, key: Key) -> None:
        """Do one thing."""
        fill = self.driver.places.fill
        if key.prompt is not None:
            self._prompt(key, fill(key.prompt))
        elif key.type is not None:
            self._type(fill(key.type))
        elif key.press:
            for name in key.press:
                self._press(name)
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
        """Wait until the screen has not changed for some time, in which the program had nothing to do."""
        last, since = self.window.screen(), time.monotonic()
        end = since + KEY_SECONDS
        while time.monotonic() < end:
            time.sleep(POLL_SECONDS)
            screen = self.window.screen()
            if screen != last:
                last, since = screen, time.monotonic()
            elif time.monotonic() - since >= still_seconds:
                if not _is_busy(self.process):
                    return
                since = time.monotonic() - still_seconds / 2

    def leave(self) -> None:
        """Leave the program, and give the session its name if it has none yet."""
        end = time.monotonic() + KEY_SECONDS
        while not self.window.is_over():  # with several sessions, each has to be left
            if time.monotonic() > end:
                raise TerminalError(f"the program does not end; the screen:\n{_squeezed(self.window)}")
            self._press("Escape")
            self.window.type("/exit")
            _holds_within(lambda: "/exit" in self.window.input(), ECHO_SECONDS)
            self.window.press("Enter")
            _holds_within(lambda: self.window.is_over() or "/exit" not in self.window.input(), ECHO_SECONDS)
            self.settle()
        if self.session not in self.driver.performed.sessions:
            self._name(self.session)

    def _prompt(self, key: Key, text: str) -> None:
        began_at = datetime.now(UTC)
        self._type(text)
        self._press("Enter")
        self.session = key.session or self.session
        self.model = key.model or self.model
        scripts = MARKER.findall(text)
        self.driver.performed.asked.append(
            Asked(
                session=self.session,
                text=text,
                model=self.model,
                scripts=scripts,
                turn=key.turn,
                began_at=began_at,
            )
        )

    def _type(self, text: str) -> None:
        """Type a text, again if the screen does not show it: the program loses keys while it is busy."""
        shown = _bare(text)[-SHOWN:]
        for _ in range(TYPE_TRIES):
            before = _bare(self.window.screen()).count(shown)
            self.window.type(text)
            if self._shows(shown, before + 1):
                self.settle(0.3)
                self.typed = text
                return
            self.settle()
            self.window.press("C-u")  # what has come of it
            self.settle(0.3)
        raise TerminalError(f"{text!r} cannot be typed; the screen:\n{_squeezed(self.window)}")

    def _press(self, name: str) -> None:
        """Press a key, and wait for what it does. Enter after a text: again, until the text has left the input."""
        typed, self.typed = self.typed, None
        shown = _bare(typed or "")[-SHOWN:]
        if name != "Enter" or not shown or shown not in self.window.input():
            before = self.window.screen()
            self.window.press(name)
            _holds_within(lambda: self.window.screen() != before, ECHO_SECONDS / 4)
            self.settle(0.3)
            return
        for _ in range(TYPE_TRIES):
            self.window.press(name)
            if _holds_within(lambda: shown not in self.window.input(), ECHO_SECONDS):
                return
        raise TerminalError(f"{typed!r} cannot be entered; the screen:\n{_squeezed(self.window)}")

    def _shows(self, text: str, times: int) -> bool:
        """Wait until the screen shows a text so many times, and return whether it does."""
        return _holds_within(lambda: _bare(self.window.screen()).count(text) >= times, ECHO_SECONDS)

    def _name(self, name: str) -> None:
        _wait(lambda: bool(self.driver.session_ids() - self.before), self.window, "a new session", KEY_SECONDS)
        self.driver.name_session(name, self.before)
        self.before = self.driver.session_ids()


def _is_ready(window: Tmux) -> bool:
    screen = window.screen()
    return ("❯" in screen or ">" in screen) and LOADING not in screen


def _is_busy(session: int) -> bool:
    """Return whether threads of a terminal session run, or wait for the processor, most of the time."""
    busy = 0
    for _ in range(SAMPLES):
        busy += any(state in "RD" for state in _states(session))
        time.sleep(SAMPLE_SECONDS)
    return busy > SAMPLES // 2


def _states(session: int) -> Iterator[str]:
    """Yield the states of all threads of the processes of a terminal session."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if _status(process / "stat")[3] != str(session):
                continue
            yield from (_status(thread / "stat")[0] for thread in (process / "task").iterdir())
        except OSError:  # it has ended
            continue


def _status(path: Path) -> list[str]:
    """Return the fields of a line of /proc after the name: state, parent, group, session, ..."""
    return path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def _holds_within(holds: Callable[[], bool], seconds: float) -> bool:
    """Wait until a condition holds, and return whether it does."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _wait(holds: Callable[[], bool], window: Tmux, what: str, seconds: float) -> None:
    if not _holds_within(holds, seconds):
        raise TerminalError(f"waited {seconds:g} s for {what!r}; the screen:\n{_squeezed(window)}")


def _bare(text: str) -> str:
    """Return a text without white space, which the screen breaks differently."""
    return "".join(text.split())


def _squeezed(window: Tmux) -> str:
    """Return the screen without empty lines."""
    return "\n".join(line.rstrip() for line in window.screen().splitlines() if line.strip())
