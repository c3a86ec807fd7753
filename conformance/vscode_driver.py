"""Run VS Code for the actions of a scenario, offline and signed out, against the model server."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import playwright.sync_api
from playwright.sync_api import BrowserContext, expect, sync_playwright

from conformance.cli_driver import ScenarioError
from conformance.facts import Asked, Performed
from conformance.model_server import ModelServer
from conformance.programs import UnavailableError
from conformance.scenario import MARKER, Page, PageStep, Scenario, Shell, Turn
from conformance.vscode_page import STEP_MS, VIEWPORT, Workbench
from conformance.vscode_server import Running, prepare, serving
from conformance.vscode_setup import install
from conformance.workspace import Places
from tests.web.browsing import chromium_path

QUIET_SECONDS = 7.0  # without a change of any file: VS Code saves conversations and traces every five seconds
QUIET_LIMIT_SECONDS = 240.0
POLL_SECONDS = 0.1
FIRST_WINDOW = "main"
# No name but loopback is found. Playwright's routes would stop the page while the driver waits for something else.
CHROMIUM_OPTIONS = ["--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
DESCRIBING = {"turn", "edit", "wait"}  # fields of a step that say more about a prompt


class VsCodeDriver:
    """Perform the actions of one scenario with one version of the program."""

    def __init__(self, scenario: Scenario, version: str, places: Places, server: ModelServer) -> None:
        self.scenario = scenario
        self.places = places
        self.server = server
        self.vscode = install(version)
        self.models = list(dict.fromkeys([scenario.model, *_models(scenario)]))
        settings = places.fill(scenario.settings)
        self.user_data = prepare(places.home, settings, self.models, server.url, mcp=scenario.mcp)
        self.performed = Performed(
            scenario=scenario.name,
            program="vscode",
            version=version,
            workspace=str(places.workspace),
            home=str(places.home),
            served=server.log,
        )

    def perform(self) -> Performed:
        """Perform all actions, in order."""
        for action in self.scenario.actions:
            if isinstance(action, Page):
                self._visit(action)
            elif isinstance(action, Shell):
                command = self.places.fill(action.command)
                environment = {**os.environ, "HOME": str(self.places.home)}
                subprocess.run(["bash", "-c", command], cwd=self.places.workspace, check=True, env=environment)
        self._name_sessions()
        self._find_own_requests()
        return self.performed

    def _visit(self, action: Page) -> None:
        try:
            with serving(self.vscode, self.places.home, self.places.workspace) as running, browsing() as context:
                _Visit(self, context, running, action).perform()
        except (playwright.sync_api.Error, AssertionError, TimeoutError, RuntimeError) as error:
            raise ScenarioError(f"{self.scenario.name}: {type(error).__name__}: {str(error)[:1500]}") from error

    def wait_until_quiet(self) -> None:
        """Wait until every prompt is saved, and nothing is written any more."""
        last = {one.session: one.text for one in self.performed.asked}
        end = time.monotonic() + QUIET_LIMIT_SECONDS
        seen, since = _state(self.user_data), time.monotonic()
        while time.monotonic() < end:
            time.sleep(POLL_SECONDS)
            now = _state(self.user_data)
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > QUIET_SECONDS and all(
                session_files(self.user_data, prompt) for prompt in last.values()
            ):
                return
        raise ScenarioError(f"{self.scenario.name}: VS Code kept on writing for {QUIET_LIMIT_SECONDS:g} s")

    def _name_sessions(self) -> None:
        """Find the id of each session: the file that holds its last prompt, the largest one if several do."""
        for session in dict.fromkeys(one.session for one in self.performed.asked):
            prompt = [one.text for one in self.performed.asked if one.session == session][-1]
            files = [
                path
                for path in session_files(self.user_data, prompt)
                if path.stem not in self.performed.sessions.values()
            ]
            if not files:
                raise ScenarioError(f"{self.scenario.name}: no session file holds {prompt!r}")
            self.performed.sessions[session] = max(files, key=lambda path: path.stat().st_size).stem

    def _find_own_requests(self) -> None:
        """Find the prompt that each request for a title quotes."""
        for served, body in zip(self.server.log, self.server.requests, strict=True):
            quoted = MARKER.findall(str(body)) if served.kind == "title" else []
            for asked in reversed(self.performed.asked):
                if set(asked.scripts) & set(quoted):
                    asked.own.append(served.number)
                    break


class _Visit:
    """One run of VS Code: its windows, and the sessions that are open in them."""

    def __init__(self, driver: VsCodeDriver, context: BrowserContext, running: Running, action: Page) -> None:
        self.driver = driver
        self.context = context
        self.running = running
        self.action = action
        self.model = driver.scenario.model
        self.windows: dict[str, Workbench] = {}
        self.sessions: dict[str, str] = {}  # window -> session
        self.window = ""

    def perform(self) -> None:
        """Perform all steps, then close the windows."""
        self._switch(FIRST_WINDOW)
        for number, step in enumerate(self.action.steps, 1):
            try:
                self._step(step)
            except (playwright.sync_api.Error, AssertionError, TimeoutError) as error:
                picture = self.driver.places.home.parent / "failed.png"
                self.workbench.screenshot(str(picture))
                name = self.driver.scenario.name
                raise ScenarioError(f"{name}: step {number}: {str(error)[:1500]}\n{picture}") from error
        if self.running.process.poll() is not None:
            return
        self.driver.wait_until_quiet()  # what a window has not saved when it is closed is lost
        for workbench in self.windows.values():
            workbench.close()

    @property
    def workbench(self) -> Workbench:
        """The window that has the focus."""
        return self.windows[self.window]

    def _switch(self, window: str) -> None:
        if window not in self.windows:
            self.windows[window] = Workbench(self.context, self.running.url, self.model)
            self.sessions[window] = self.action.session if window == FIRST_WINDOW else window
        self.window = window
        self.workbench.bring_to_front()

    def _step(self, step: PageStep) -> None:
        match action_of(step):
            case "prompt":
                self._prompt(step)
            case "window":
                self._switch(str(step.window))
            case "new_session":
                self.workbench.new_session()
                self.sessions[self.window] = str(step.new_session)
            case "fork":
                self.workbench.fork()
                self.sessions[self.window] = str(step.fork)
            case "model":
                self.model = str(step.model)
                self.workbench.choose_model(self.model)
            case "served" | "answered":
                script, _, number = (step.served or step.answered or "").partition(" ")
                is_answer = step.answered is not None
                self.driver.server.wait(script, int(number or 0), answered=is_answer, seconds=self.action.seconds)
            case "vote":
                self.workbench.vote(str(step.vote))
                self._last_asked().turn.vote = step.vote
            case "retry":
                self._retry(step.turn)
            case "saved":
                self._wait_until_saved(str(step.saved))
            case "quiet":
                self.driver.wait_until_quiet()
            case "crash":
                self.running.crash()
            case action:
                _click(self.workbench, action, step)

    def _prompt(self, step: PageStep) -> None:
        assert step.prompt is not None
        text = self.driver.places.fill(step.prompt)
        asked = Asked(
            session=self.sessions[self.window],
            text=text,
            model=self.model,
            scripts=MARKER.findall(text),
            turn=step.turn,
            began_at=datetime.now(UTC),
        )
        self.driver.performed.asked.append(asked)
        if step.edit is not None:
            self.workbench.edit(f"[[{step.edit}]]", text)
        else:
            self.workbench.send(text)
        self.driver.server.wait(asked.scripts[0], seconds=self.action.seconds)
        if step.wait:
            self._wait_until_ended()
            asked.ended_at = datetime.now(UTC)

    def _retry(self, turn: Turn) -> None:
        """Ask for the last answer again, and wait for it: a turn that replaces the last one."""
        log = self.driver.server.log
        first = self._last_asked()
        before = len(log)
        began_at = datetime.now(UTC)
        self.workbench.retry()
        end = time.monotonic() + self.action.seconds
        while not any(one.kind == "chat" for one in log[before:]):
            if time.monotonic() > end:
                raise TimeoutError("nothing was asked for again")
            time.sleep(POLL_SECONDS)
        self._wait_until_ended()
        first.turn.superseded = "replaced"
        first.requests = [one.number for one in log[:before] if one.script in first.scripts]
        requests = [one.number for one in log[before:] if one.kind == "chat"]
        again = Asked(
            session=first.session,
            text=first.text,
            model=first.model,
            scripts=first.scripts,
            turn=turn,
            requests=requests,
            began_at=began_at,
            ended_at=datetime.now(UTC),
        )
        self.driver.performed.asked.append(again)

    def _last_asked(self) -> Asked:
        """Return the last prompt of the session that the window shows."""
        return next(one for one in reversed(self.driver.performed.asked) if one.session == self.sessions[self.window])

    def _wait_until_saved(self, text: str) -> None:
        """Wait until the file of some session holds a text."""
        end = time.monotonic() + self.action.seconds
        while not session_files(self.driver.user_data, text):
            if time.monotonic() > end:
                raise TimeoutError(f"{text!r} is not saved")
            time.sleep(POLL_SECONDS)

    def _wait_until_ended(self) -> None:
        self.workbench.wait_until_ended(self.action.seconds * 1000)


def action_of(step: PageStep) -> str:
    """Return the one thing that a step says to do. Raise ScenarioError if it says none or several."""
    names: set[str] = set(msgspec.to_builtins(step)) - DESCRIBING  # without those that have their default
    if len(names) != 1:
        raise ScenarioError(f"a step says to do {sorted(names) or 'nothing'}")
    return names.pop()


def _click(workbench: Workbench, action: str, step: PageStep) -> None:
    """Do what concerns the page alone."""
    match action:
        case "mode":
            workbench.choose_mode(str(step.mode))
        case "approve":
            workbench.approve(str(step.approve))
        case "ended":
            workbench.wait_until_ended()
        case "keep":
            workbench.keep()
        case "undo":
            workbench.undo()
        case "cancel":
            workbench.cancel()
        case "restore":
            workbench.restore(f"[[{step.restore}]]")
        case "image":
            workbench.attach_picture(str(step.image))
        case "see":
            workbench.see(str(step.see))
        case "command":
            workbench.run_command(str(step.command))
        case "press":
            workbench.press(step.press)
        case _:
            raise ScenarioError(f"there is no action {action!r}")


@contextmanager
def browsing() -> Iterator[BrowserContext]:
    """Run a headless Chromium that reaches nothing but loopback."""
    expect.set_options(timeout=STEP_MS)
    with sync_playwright() as started:
        try:
            browser = started.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_OPTIONS)
        except playwright.sync_api.Error as error:
            raise UnavailableError(f"there is no Chromium: {error.message[:200]}") from error
        with browser, browser.new_context(viewport=VIEWPORT, locale="en-US") as context:
            context.grant_permissions(["clipboard-read", "clipboard-write"])
            yield context


def _models(scenario: Scenario) -> Iterator[str]:
    """Yield the models that are chosen along the way."""
    for action in scenario.actions:
        if isinstance(action, Page):
            yield from (step.model for step in action.steps if step.model is not None)


def _state(folder: Path) -> dict[str, int]:
    """Return the sizes of all files that may hold something of a conversation."""
    sizes = {}
    for path in (folder / "User").rglob("*"):
        with suppress(OSError):
            sizes[str(path)] = path.stat().st_size
    return sizes


def session_files(user_data: Path, prompt: str) -> list[Path]:
    """Return the files of sessions that hold a prompt, or the markers of one that has any."""
    marks = [f"[[{name}]]" for name in MARKER.findall(prompt)] or [prompt]
    paths = sorted(user_data.glob("User/*Storage/**/*hatSessions/*.json*"))
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in paths}
    return [path for path, text in texts.items() if all(mark in text for mark in marks)]
