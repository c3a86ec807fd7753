"""What a page about a conversation says, and which record says it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

CommandKind = Literal["test", "build", "check", "run", "install"]
Section = Literal[
    "overview", "work done", "history", "technical details", "important files", "plan", "research", "memory",
    "next steps",
]  # fmt: skip


class Origin(NamedTuple):
    """The record that a statement is from; `number` is that of its turn, from 1."""

    words: str  # "checkpoint 2", "the session's summary"
    number: int | None = None
    at: datetime | None = None


class Passage(NamedTuple):
    """A text that someone or something wrote to be kept, under the section that it belongs to."""

    section: Section
    text: str  # Markdown, as recorded
    origin: Origin


class Task(NamedTuple):
    """An entry of a to-do list."""

    title: str
    status: str | None  # as recorded


class TaskList(NamedTuple):
    """The last state of a to-do list."""

    tasks: list[Task]
    origin: Origin


class Attempt(NamedTuple):
    """A command, or a call of another tool with the file it was about."""

    text: str
    is_command: bool
    number: int | None
    exit_code: int | None = None
    directory: str | None = None


class Pitfall(NamedTuple):
    """Something that failed, and the next attempt of the same kind that succeeded."""

    failed: Attempt
    succeeded: Attempt
    failures: int  # that came before the success


class CommandUse(NamedTuple):
    """A command that builds, tests, checks, runs or installs, with its last run."""

    kind: CommandKind
    command: str
    directory: str | None
    exit_code: int | None
    runs: int
    number: int | None


class FileWork(NamedTuple):
    """A file that was changed."""

    path: str
    actions: tuple[str, ...]  # edited, created, deleted, renamed
    outcome: str | None  # kept, undone, changed, pending; None if not recorded
    numbers: tuple[int, ...]


class NamedReference(NamedTuple):
    """A commit, a pull request or an issue."""

    kind: str  # commit, pull-request, issue
    name: str
    url: str | None
    is_made: bool  # the commit was made in the conversation
    number: int | None
    message: str | None = None  # of a commit, as the command that made it has it


class Asked(NamedTuple):
    """A prompt of the user."""

    number: int
    at: datetime | None
    text: str


class Digest(msgspec.Struct, kw_only=True):
    """What is known about one conversation without reading it."""

    id: str
    title: str
    source: str
    workspace: str | None = None  # the folder, else its URI
    repository: str | None = None
    branch: str | None = None
    started_at: datetime | None = None
    updated_at: datetime | None = None
    agents: list[str] = []
    labels: list[str] = []
    note: str | None = None
    is_collection: bool = False  # memories that belong to no conversation
    counts: list[str] = []  # "3 turns", "1 command ended with an error"
    prompts: list[Asked] = []
    passages: list[Passage] = []
    tasks: list[TaskList] = []
    files: list[FileWork] = []
    commands: list[CommandUse] = []
    pitfalls: list[Pitfall] = []
    references: list[NamedReference] = []

    @property
    def has_records(self) -> bool:
        """Return whether someone or something wrote down what was learnt."""
        return bool(self.passages or self.tasks)

    @property
    def is_worth_a_page(self) -> bool:
        """Return whether there is anything to tell of a conversation."""
        if self.is_collection:
            return False
        return bool(self.has_records or self.files or self.commands or self.references or self.counts)
