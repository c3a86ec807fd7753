"""Scenarios as data: one YAML file for each. docs/conformance.md shows how to write one.

Texts of a scenario may hold `{workspace}`, `{home}` and `{session}`: the folder of the run, the program's home folder,
and the folder of the session's own files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

SCENARIOS = Path(__file__).with_name("scenarios")
MARKER = re.compile(r"\[\[([A-Z0-9_-]+)\]\]")
DEFAULT_MODEL = "claude-sonnet-4.5"

OutcomeName = Literal["succeeded", "failed", "denied", "skipped", "cancelled", "running", "unknown"]
StatusName = Literal["complete", "cancelled", "failed", "needs-input", "pending", "unanswered"]


class Data(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What all values of a scenario share: a field that does not exist is an error."""


class Tokens(Data, kw_only=True):
    """The usage that the server reports for one call; `input` includes `cached`, `output` includes `reasoning`."""

    input: int
    output: int
    cached: int = 0
    reasoning: int = 0


class Edit(Data, kw_only=True):
    """A change of a file that a call makes; `path` is relative to the workspace."""

    path: str
    action: Literal["edit", "create", "delete", "rename"] = "edit"
    added: int | None = None
    removed: int | None = None


class Call(Data, kw_only=True):
    """A tool call of the model, and what must come of it."""

    name: str
    arguments: dict[str, Any] | str = {}
    custom: bool = False  # a tool with free text as its input, such as apply_patch
    outcome: OutcomeName = "succeeded"
    exit_code: int | None = None
    result: str | None = None  # a text that the result holds
    reason: str | None = None  # a text that the reason of a failure holds
    edits: list[Edit] = []
    server: str | None = None  # of an MCP tool
    skill: str | None = None  # that the call loads
    todos: list[str] = []  # titles of the to-dos after it
    lasts: float = 0.0  # seconds that it takes at least


class Step(Data, kw_only=True):
    """One answer of the model."""

    text: str = ""
    thinking: str | None = None
    calls: list[Call] = []
    tokens: Tokens | None = None  # None: numbers that no other step of the scenario has
    status: int = 200  # of HTTP; anything else makes `text` the error's message
    times: int = 1  # how often an error is repeated before the next step is served, as programs ask again
    delay: float = 0.0  # seconds before the first byte
    hold: float = 0.0  # seconds in which words keep coming, after the text
    cut: bool = False  # the connection ends in the middle of the text


class Script(Data, kw_only=True):
    """What the model answers to a prompt that holds `[[NAME]]`, in order."""

    steps: list[Step]
    counted: bool = False  # the step is a count of calls, not of assistant messages: where compaction drops messages


class Interrupt(Data, kw_only=True):
    """A signal to the program while it runs."""

    signal: Literal["INT", "TERM", "KILL"]
    script: str  # sent when the call of this script and step was asked for
    step: int = 0
    file: str | None = None  # of the workspace, which has to be there as well: a command has made it
    delay: float = 0.5  # seconds after that


class Turn(Data, kw_only=True):
    """What must be known of a turn beyond its script."""

    status: StatusName | None = "complete"
    mode: str | None = None
    agent: str | None = None  # the custom agent
    skills: list[str] = []
    superseded: str | None = None
    vote: Literal["up", "down"] | None = None  # for its answer; the driver of VS Code sets it where it votes
    images: int = 0  # attached by the user
    error: str | None = None  # a text that the turn's error holds
    recorded_text: str | None = None  # the prompt as the program records it, where that is not as given


class Run(Data, tag="run", tag_field="do", kw_only=True):
    """One non-interactive run: a prompt, in a new session or resumed."""

    prompt: str
    session: str = "main"
    model: str | None = None
    options: list[str] = []
    env: dict[str, str] = {}
    interrupt: Interrupt | None = None
    day: int = 0  # days before today on which the program believes to run
    output: str | None = None  # file of the workspace to which the program's output goes
    continued_at: list[int] = []  # steps that the program asks for by itself, in autopilot: each begins a turn
    turn: Turn = msgspec.field(default_factory=Turn)
    exit_status: int | None = 0
    seconds: float = 60.0


class Key(Data, kw_only=True):
    """One thing done at the terminal: exactly one field is set, apart from those that describe a prompt."""

    prompt: str | None = None  # typed, then Enter: a turn of the conversation
    turn: Turn = msgspec.field(default_factory=Turn)
    session: str | None = None  # in which the prompt is recorded, once it differs from that of the action
    model: str | None = None  # with which the prompt is answered, once it differs
    type: str | None = None  # typed as it is, without Enter
    press: list[str] = []  # names of keys as tmux has them
    see: str | None = None  # wait until the screen shows it
    served: str | None = None  # wait until "SCRIPT STEP" was asked for
    answered: str | None = None  # wait until "SCRIPT STEP" was answered to its end
    idle: bool = False  # wait until the screen has not changed for a second
    sleep: float | None = None
    new_session: str | None = None  # the session folder that appeared last gets this name
    signal: Literal["INT", "TERM", "KILL"] | None = None


class Terminal(Data, tag="terminal", tag_field="do", kw_only=True):
    """One run of the interactive program in a terminal."""

    keys: list[Key]
    session: str = "main"
    model: str | None = None
    options: list[str] = []
    env: dict[str, str] = {}
    seconds: float = 90.0


class Shell(Data, tag="shell", tag_field="do", kw_only=True):
    """A command of our own in the workspace: prepares what the program is to find."""

    command: str


class PageStep(Data, kw_only=True):
    """One thing done in VS Code: exactly one field is set, apart from those that describe a prompt."""

    prompt: str | None = None  # typed, then Enter: a turn of the conversation
    turn: Turn = msgspec.field(default_factory=Turn)
    edit: str | None = None  # with `prompt`: the script of an earlier prompt, which is edited instead
    wait: bool = True  # with `prompt`: until the answer has ended
    mode: str | None = None  # choose a mode or a custom agent by its name
    model: str | None = None  # choose a model by its id
    approve: str | None = None  # wait for a confirmation, and press the button with this text
    ended: bool = False  # wait until no answer is running
    keep: bool = False  # all edits that are undecided
    undo: bool = False
    cancel: bool = False  # the running answer
    retry: bool = False  # the last answer
    vote: Literal["up", "down"] | None = None  # for the last answer
    restore: str | None = None  # the checkpoint before the prompt of this script
    image: str | None = None  # attach a small picture of this color to the next prompt
    new_session: str | None = None  # start one, of this name
    fork: str | None = None  # the conversation at its last prompt, into a session of this name
    window: str | None = None  # open a window of this name on the same folder, or switch to it; the first is "main"
    served: str | None = None  # wait until "SCRIPT STEP" was asked for
    answered: str | None = None  # wait until "SCRIPT STEP" was answered to its end
    see: str | None = None  # wait until the chat shows it
    command: str | None = None  # of the command palette
    press: list[str] = []  # names of keys as Playwright has them
    saved: str | None = None  # wait until VS Code has saved this text
    quiet: bool = False  # wait until VS Code has nothing left to save
    crash: bool = False  # end all processes of the server at once: the last step


class Page(Data, tag="page", tag_field="do", kw_only=True):
    """One run of VS Code, with the workspace open in a browser."""

    steps: list[PageStep]
    session: str = "main"
    seconds: float = 300.0


Action = Run | Terminal | Shell | Page


class Expected(Data, kw_only=True):
    """A fact that cannot be derived from the scripts: its kind, where it is, and its value. Kinds: see `truth`."""

    kind: str
    where: str
    value: Any
    how: Literal["equal", "holds", "between"] = "equal"  # see `Fact`
    since: str | None = None  # first version of which it holds
    until: str | None = None  # last one
    seen: bool = False  # taken from what a version wrote, as nothing outside of the program tells it


class Gap(Data, kw_only=True):
    """Facts that the program does not record: shell patterns of kind and place, versions, and the reason."""

    kind: str
    where: str = "*"
    since: str | None = None
    until: str | None = None  # the last version that does not record it
    records: Any = None  # what the program records instead, where that is something
    reason: str


class Scenario(Data, kw_only=True):
    """One scenario: a file of its own, named like it."""

    name: str
    about: str
    program: Literal["cli", "vscode"] = "cli"
    since: str | None = None  # first version to which it applies
    until: str | None = None  # last one
    model: str = DEFAULT_MODEL
    wire: Literal["completions", "responses"] = "completions"
    options: list[str] = []
    env: dict[str, str] = {}
    files: dict[str, str] = {}  # of the workspace
    home_files: dict[str, str] = {}  # of the program's home folder
    images: dict[str, str] = {}  # of the workspace: name -> color of a small picture
    git: bool = False  # whether the workspace is a repository
    mcp: bool = False  # whether the suite's own MCP server `weather` is configured
    scripts: dict[str, list[Step] | Script]
    actions: list[Action]
    copied: dict[str, list[str]] = {}  # session -> scripts of the turns that it has from the session it was forked from
    alone: dict[str, str] = {}  # files of the home folder that are also read by themselves: name -> shell pattern
    expect: list[Expected] = []
    gaps: list[Gap] = []
    settings: dict[str, Any] = {}  # for the driver of VS Code
    ci: bool = True  # whether CI runs it, with the newest version
    older: bool = False  # whether it is run with older versions, too

    def script(self, name: str) -> Script:
        """Return a script, with the short form made long."""
        script = self.scripts[name]
        return script if isinstance(script, Script) else Script(steps=script)


def load(path: Path) -> Scenario:
    """Read one scenario."""
    with path.open(encoding="utf-8") as file:
        scenario = msgspec.convert(yaml.safe_load(file), Scenario)
    if scenario.name != path.stem:
        raise ValueError(f"{path}: the scenario is named {scenario.name!r}, its file is not")
    _check(scenario)
    return _with_tokens(scenario)


def load_all(program: str) -> list[Scenario]:
    """Read all scenarios of a program, by name."""
    return [load(path) for path in sorted((SCENARIOS / program).glob("*.yaml"))]


def prompts_of(scenario: Scenario) -> Iterator[str]:
    """Yield the prompts that the actions give, in order."""
    for action in scenario.actions:
        if isinstance(action, Run):
            yield action.prompt
        elif isinstance(action, Terminal):
            yield from (key.prompt for key in action.keys if key.prompt is not None)
        elif isinstance(action, Page):
            yield from (step.prompt for step in action.steps if step.prompt is not None)


def marker_of(text: str) -> str | None:
    """Return the last script that a text names; None if it names none."""
    names = MARKER.findall(text)
    return names[-1] if names else None


def version_key(version: str) -> tuple[int, ...]:
    """Return a version as numbers, to compare."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def applies(since: str | None, until: str | None, version: str) -> bool:
    """Return whether a version is within a range of versions."""
    key = version_key(version)
    return (since is None or key >= version_key(since)) and (until is None or key <= version_key(until))


def _check(scenario: Scenario) -> None:
    """Raise ValueError if a prompt names a script that does not exist, or two prompts name the same one."""
    used: set[str] = set()
    for prompt in prompts_of(scenario):
        for name in MARKER.findall(prompt):
            if name not in scenario.scripts:
                raise ValueError(f"{scenario.name}: no script {name}")
            if name in used:
                raise ValueError(f"{scenario.name}: two prompts name the script {name}")
            used.add(name)


def _with_tokens(scenario: Scenario) -> Scenario:
    """Give each step that has no usage numbers of its own ones that no other step has."""
    number = 0
    for name in scenario.scripts:
        for step in scenario.script(name).steps:
            number += 1
            if step.tokens is None:
                step.tokens = Tokens(
                    input=10_000 + 101 * number,
                    output=200 + 7 * number,
                    cached=5_000 + 13 * number,
                    reasoning=3 * number,
                )
    return scenario
