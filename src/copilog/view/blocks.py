"""What a reader sees of a conversation, block by block, as plain values that each writer draws in its own way.

Texts are as they were recorded: a writer makes them safe for its medium. A block has the position of its part, so that
a writer can link to it; texts that are a field of that part have the field's name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

from copilog.derive.line_counts import UNKNOWN, Lines
from copilog.derive.notes import Note
from copilog.tags import Segment, segments
from copilog.view.arguments import Arguments

At = tuple[int, int]  # the index of a message, and that of a part in it
NOWHERE: At = (-1, 0)  # the position of what belongs to no message
LONGEST_SEARCHED = 2_000_000  # characters in which tags are searched for


@dataclass(slots=True, kw_only=True)
class Block:
    """One block of a message."""

    kind: ClassVar[str] = ""
    at: At = NOWHERE
    notes: list[Note] = field(default_factory=list)  # notes to show with it


# --- prose and context --------------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class Link:
    """A file, a symbol or an address that prose refers to, at its mark in the text."""

    words: str
    where: str = ""
    remark: str = ""  # notes of the reference, to show right after it

    @property
    def target(self) -> str:
        """Return the target of the link, unless its label contains it."""
        return "" if self.where in self.words else self.where

    @property
    def is_named(self) -> bool:
        """Return whether the label names at least the file."""
        name = self.where.replace("\\", "/").rpartition("/")[2].partition(":")[0]
        return not self.target or (bool(name) and name in self.words)


@dataclass(slots=True, kw_only=True)
class Prose(Block):
    """Markdown of the answer, joined up to the next block; `links` are at the marks in it."""

    kind: ClassVar[str] = "prose"
    text: str
    links: list[Link] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # vulnerabilities that Copilot reported in it


@dataclass(slots=True, kw_only=True)
class TypedText(Block):
    """The text that the user typed, with the start, end and kind of each mention in it."""

    kind: ClassVar[str] = "words"
    text: str
    mentions: list[tuple[int, int, str]] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Thought(Block):
    """Consecutive thoughts, joined."""

    kind: ClassVar[str] = "thought"
    title: str = ""
    elapsed: str = ""
    text: str = ""


@dataclass(kw_only=True)
class Context(Block):
    """The context that Copilot sent around the user's text; always folded."""

    kind: ClassVar[str] = "context"
    title: str
    text: str
    is_system: bool = False  # sent once, or for the system: not with this text
    typed: str = ""  # what the user typed, as recorded separately
    given: list[Segment] | None = None  # the pieces, if they are known

    @cached_property
    def pieces(self) -> list[Segment]:
        """Return the pieces of the context: in tags, between tags, and the user's own text."""
        if self.given is not None:
            return self.given
        is_short = len(self.text) <= LONGEST_SEARCHED
        found = (
            segments(self.text, is_system=self.is_system, typed=self.typed)
            if is_short
            else [Segment(self.text, None, False)]
        )
        return [piece for piece in found if piece.inside]


@dataclass(slots=True, kw_only=True)
class Chip(Block):
    """A file, a picture, a mention or an address: a name, and perhaps content."""

    kind: ClassVar[str] = "chip"
    role: Literal["attached", "mentioned", "linked", "found"] = "attached"
    label: str  # file, image, symbol, pull request
    name: str
    where: str = ""
    facts: list[str] = field(default_factory=list)
    text: str = ""
    data: bytes | None = None
    mime_type: str = ""
    item: int | None = None  # which item of a tool's result it is
    is_hidden: bool = False  # added by Copilot, and invisible to the user
    is_faint: bool = False  # not chosen by the user, or not sent


@dataclass(slots=True, kw_only=True)
class Chips(Block):
    """Consecutive chips."""

    kind: ClassVar[str] = "chips"
    chips: list[Chip]


# --- calls and edits ----------------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class Shell(Block):
    """A command that was run, and its output."""

    kind: ClassVar[str] = "shell"
    command: str
    asked: str = ""  # the command that the model requested, if another was run
    changed_by: str = ""
    output: str = ""
    exit_code: int | None = None
    facts: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Result(Block):
    """The result of a tool, except what other blocks show."""

    kind: ClassVar[str] = "result"
    tool: str = ""
    lost_call: str = ""  # the id of its call, if the call is not in the conversation
    anchor: int | None = None  # its message, if no other block shows the message
    is_error: bool = False
    beside: Literal["", "edit", "list", "output", "words"] = ""  # what has nearly the same content: folded
    is_file: bool = False  # a file that was read: the call shows the number of its lines
    is_output: bool = False  # all of its text is the terminal output above
    text: str = ""
    path: str = ""  # of the file that the text is from
    display: str = ""  # the text that the user saw, if it differs
    full_text: str = ""
    full_path: str = ""
    pieces: list[tuple[int, str]] = field(default_factory=list)  # index of the item, text
    chips: list[Chip] = field(default_factory=list)

    @property
    def is_said(self) -> bool:
        return bool(self.beside) and not self.is_error

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.pieces or self.chips or self.display or self.full_text)


@dataclass(slots=True, kw_only=True)
class Helper:
    """The sub-agent that a call started."""

    name: str
    facts: list[str] = field(default_factory=list)
    task: str = ""
    answer: str = ""  # if no result has it


@dataclass(slots=True, kw_only=True)
class Call(Block):
    """A tool call with its terminals, result, edits and sub-agent."""

    kind: ClassVar[str] = "call"
    id: str
    name: str
    status: str  # succeeded, failed, ...
    headline: str = ""
    said: str = ""  # what Copilot showed with the call
    lines: Lines = UNKNOWN
    length: str = ""  # of a file that was read: how many lines
    remarks: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)  # the other arguments, if everything is shown
    arguments: str = ""  # as recorded; empty if a list shows the same
    given: Arguments = field(default_factory=Arguments)  # those that no other block shows
    has_patch: bool = False  # no later edit shows the change with true line numbers
    helper: Helper | None = None
    shells: list[Shell] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    below: list[int] = field(default_factory=list)  # messages of the sub-agent
    is_open: bool = False
    is_faint: bool = False

    @property
    def patch(self) -> str:
        """Return the change that the arguments describe."""
        return self.given.patch if self.has_patch else ""


@dataclass(slots=True, kw_only=True)
class Edit(Block):
    """An edit of a file, from the answer or only from the editing history."""

    kind: ClassVar[str] = "edit"
    action: str
    verb: str
    path: str
    new_path: str = ""
    lines: Lines = UNKNOWN
    outcome: str = ""  # kept, undone, changed, pending
    outcome_words: str = ""
    facts: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # not finished, not made
    diff: str = ""
    is_recorded: bool = True  # else only the file name is known
    is_in_call: bool = False  # the call shows the change
    is_open: bool = True
    cells: str = ""  # operations on the cells of a notebook, as JSON


@dataclass(slots=True, kw_only=True)
class Todo(Block):
    """A to-do list of the assistant."""

    kind: ClassVar[str] = "todo"
    tasks: list[tuple[str, str, str]]  # done, doing or open; title; description

    @property
    def done(self) -> int:
        return sum(state == "done" for state, _, _ in self.tasks)


# --- questions and notices ----------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class QuestionForm(Block):
    """A form that the user was asked to fill in: text, options and answer of each question."""

    kind: ClassVar[str] = "asked"
    title: str
    state: str = ""
    message: str = ""
    is_plan: bool = False
    questions: list[tuple[str, list[str], str | None]] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class EventNote(Block):
    """Any other event: a notice, a hook, a summary, a checkpoint, a part of unknown kind."""

    kind: ClassVar[str] = "aside"
    look: str  # notice, warning, switch, hook, checkpoint, compaction, unknown, tree, undone, withdrawn
    title: str = ""
    facts: list[str] = field(default_factory=list)
    words: str = ""  # Markdown
    text: str = ""  # folded
    is_serious: bool = False  # it stopped something
    is_detail: bool = False  # left out of short views
    is_routine: bool = False  # progress and the like: MCP leaves it out


AnyBlock = (
    Prose | TypedText | Thought | Context | Chip | Chips | Call | Shell | Result | Edit | Todo
    | QuestionForm | EventNote
)  # fmt: skip


# --- messages and turns -------------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class Shown:
    """One message."""

    kind: ClassVar[str] = "message"
    number: int
    role: str  # user, assistant, system, tool, event
    speaker: str
    blocks: list[AnyBlock]
    turn: int | None = None
    time: str = ""
    facts: list[str] = field(default_factory=list)  # the model and similar facts, if they are shown
    conflict: str = ""
    is_continued: bool = False  # the same speaker as the message before
    is_stray: bool = False  # of a sub-agent whose call is not in the conversation
    is_helper: bool = False  # of a sub-agent


@dataclass(slots=True, kw_only=True)
class TurnHead:
    """The head of a turn, shown above its messages."""

    kind: ClassVar[str] = "turn-head"
    turn: int
    number: int
    of: int | None  # the number of turns, if all of them count
    speaker: str = "You"
    time: str = ""
    iso_time: str = ""
    badges: list[tuple[str, str]] = field(default_factory=list)  # look, text
    model: str = ""
    mode: str = ""
    changes: list[str] = field(default_factory=list)  # of model, mode and agent since the turn before
    before: list[tuple[str, list[str]]] = field(default_factory=list)  # what the user did with which edited files
    pressed: str = ""
    only_trace: str = ""  # the trace with the turn, if only one of several has it
    is_superseded: bool = False


@dataclass(slots=True, kw_only=True)
class TurnFoot:
    """The foot of a turn, shown below its messages."""

    kind: ClassVar[str] = "turn-foot"
    turn: int
    status: str = ""
    model: str = ""
    modes: list[str] = field(default_factory=list)
    error: str = ""
    error_facts: list[str] = field(default_factory=list)
    is_failed: bool = False
    is_cancelled: bool = False
    details: str = ""  # Copilot's name of the model, and its multiplier
    who: list[str] = field(default_factory=list)  # the participant, the command
    times: list[str] = field(default_factory=list)
    amounts: list[str] = field(default_factory=list)  # tokens, cost, calls of the model
    vote: str = ""  # up, down
    vote_reason: str = ""
    skills: list[str] = field(default_factory=list)
    offered_skills: list[str] = field(default_factory=list)
    shares: list[str] = field(default_factory=list)  # of the prompt, by category
    references: list[tuple[str, str]] = field(default_factory=list)  # name, how much of it was used
    citations: list[tuple[str, str, str]] = field(default_factory=list)  # licence, address, code
    followups: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    last: int = 0  # the last message of the turn

    @property
    def facts(self) -> list[str]:
        return [fact for fact in (self.details, *self.who, *self.times, *self.amounts) if fact]


@dataclass(slots=True, kw_only=True)
class Continued:
    """Marks where a turn continues: at the top of a window, or after messages of another turn."""

    kind: ClassVar[str] = "continued"
    number: int | None  # None outside of the turns


@dataclass(slots=True, kw_only=True)
class Waiting:
    """A prompt that was never sent, or the draft in the input box."""

    title: str
    blocks: list[AnyBlock]


@dataclass(slots=True)
class ShownDocument:
    """A document that no message shows: a plan, a memory, a checkpoint."""

    title: str
    text: str
    number: int | None  # its address on a page, like that of a message


@dataclass(slots=True, kw_only=True)
class Tail:
    """What belongs to no turn: shown at the very end."""

    kind: ClassVar[str] = "tail"
    edits: list[Edit] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)  # name, outcome
    unnamed: list[tuple[str, str]] = field(default_factory=list)  # replacement of the name, text
    documents: list[ShownDocument] = field(default_factory=list)
    lists: list[tuple[str, list[str]]] = field(default_factory=list)  # headings with their lines
    waiting: list[Waiting] = field(default_factory=list)


def location_chip(words: str, label: str = "file") -> Chip:
    """Return a file or address as a chip."""
    return Chip(role="found", label=label, name=words)
