"""The pieces that a conversation's page is made of, each a plain value that a macro of parts.html draws.

What comes from a conversation is either a `str`, which the template escapes, or `Markup` made by the modules beside
this one, which let nothing through that a browser would obey.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from markupsafe import Markup

from copilog.model import Conversation
from copilog.render.html.addresses import Addresses
from copilog.render.html.nesting import Nesting
from copilog.render.safe import clean_line

FateOf = Callable[[str | None, int | None, bool], str | None]  # address of a file, turn, whether it is undone


def nothing_known(uri: str | None, turn: int | None, is_undone: bool) -> str | None:  # noqa: ARG001
    """The fate of an edit when nobody was asked for it."""
    return "undone" if is_undone else None


@dataclass(slots=True)
class Stage:
    """What all pieces of one page need to know."""

    conversation: Conversation
    nesting: Nesting
    addresses: Addresses = field(default_factory=Addresses)
    fate_of: FateOf = nothing_known
    is_whole: bool = False  # nothing is left to be loaded later
    wanted: int | None = None  # a message that must be there, however deep it lies
    coloured: int = 0  # characters of files that were highlighted so far
    only_traces: dict[int, str] = field(default_factory=dict)  # by turn: the trace that alone has it

    @property
    def folder(self) -> str | None:
        workspace = self.conversation.workspace
        return workspace.folder if workspace is not None else None

    @property
    def assistant(self) -> str:
        return clean_line(self.conversation.assistant or "", 80) or "Assistant"


@dataclass(slots=True, kw_only=True)
class Block:
    """One piece. `raw` is the address of its JSON."""

    kind: ClassVar[str] = ""
    raw: str | None = None
    notes: list[Labelled] = field(default_factory=list)  # what is shown with it beyond its own text


@dataclass(slots=True, kw_only=True)
class Long:
    """A text ready for the page, perhaps only its beginning."""

    html: Markup
    left_out: str = ""  # how much of it, in words
    link: str | None = None  # to all of it


@dataclass(slots=True, kw_only=True)
class Labelled:
    """A text, and what it is."""

    label: str
    body: Long
    is_folded: bool = False


@dataclass(slots=True, kw_only=True)
class Prose(Block):
    kind: ClassVar[str] = "prose"
    html: Markup
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Words(Block):
    """What the user typed."""

    kind: ClassVar[str] = "words"
    html: Markup


@dataclass(slots=True, kw_only=True)
class Thought(Block):
    kind: ClassVar[str] = "thought"
    title: str = ""
    facts: list[str] = field(default_factory=list)
    body: Long | None = None


@dataclass(slots=True, kw_only=True)
class Tagged:
    """A piece of a prompt: in a tag, between tags, or the user's own."""

    name: str
    origin: str  # injected, user, file
    note: str
    size: str
    body: Long
    is_own: bool = False


@dataclass(slots=True, kw_only=True)
class Context(Block):
    """What the product put around the user's words."""

    kind: ClassVar[str] = "context"
    title: str
    facts: list[str]
    pieces: list[Tagged]


@dataclass(slots=True, kw_only=True)
class Chip:
    """A file, a picture or a word that stands for something, in a box of its own."""

    label: str  # file, image, symbol
    name: str
    where: str = ""
    facts: list[str] = field(default_factory=list)
    picture: str | None = None
    body: Long | None = None
    notes: list[Labelled] = field(default_factory=list)
    is_faint: bool = False  # not chosen by the user, or not sent


@dataclass(slots=True, kw_only=True)
class Chips(Block):
    kind: ClassVar[str] = "chips"
    label: str = ""
    chips: list[Chip]


@dataclass(slots=True, kw_only=True)
class Diff:
    unified: Markup
    split: Markup | None = None


@dataclass(slots=True, kw_only=True)
class Edit(Block):
    """An edit of a file."""

    kind: ClassVar[str] = "edit"
    verb: str
    path: str
    new_path: str = ""
    added: int | None = None
    removed: int | None = None
    fate: str | None = None  # kept, undone, changed, pending
    facts: list[str] = field(default_factory=list)
    diff: Diff | None = None
    body: Long | None = None
    is_open: bool = True


@dataclass(slots=True, kw_only=True)
class Todo(Block):
    kind: ClassVar[str] = "todo"
    items: list[tuple[str, str, str]]  # state, title, description
    done: int


@dataclass(slots=True, kw_only=True)
class Shell(Block):
    """A command and what it printed."""

    kind: ClassVar[str] = "shell"
    command: str
    remark: str = ""
    output: Long | None = None
    exit_code: int | None = None
    facts: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Result(Block):
    """What a tool gave back."""

    kind: ClassVar[str] = "result"
    anchor: int | None = None  # the message that it came in, where that is shown nowhere else
    title: str = "Result"
    is_error: bool = False
    is_said: bool = False  # something beside it says the same
    is_output: bool = False  # all of its text is the output of the terminal above
    body: Long | None = None
    display: Long | None = None
    full: Long | None = None
    full_where: str = ""
    pieces: list[Long] = field(default_factory=list)
    pictures: list[tuple[str, str]] = field(default_factory=list)  # address, words
    chips: list[Chip] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Call(Block):
    """A tool call with all that belongs to it."""

    kind: ClassVar[str] = "call"
    id: str
    name: str
    status: str
    headline: str = ""
    added: int | None = None
    removed: int | None = None
    remarks: list[str] = field(default_factory=list)
    arguments: Long | None = None
    patch: Diff | None = None
    helper: str = ""  # the sub-agent
    helper_facts: list[str] = field(default_factory=list)
    task: Long | None = None
    answer: Long | None = None
    shells: list[Shell] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    below: list[Shown] = field(default_factory=list)
    number_below: int = 0
    more_below: str | None = None
    is_open: bool = False
    is_faint: bool = False


@dataclass(slots=True, kw_only=True)
class Aside(Block):
    """Something that is neither said nor done: a notice, a hook, a summary, a checkpoint, a kind that nobody knows."""

    kind: ClassVar[str] = "aside"
    look: str  # notice, warning, hook, checkpoint, compaction, unknown, tree, undone
    title: str
    facts: list[str] = field(default_factory=list)
    html: Markup | None = None
    body: Long | None = None  # folded


@dataclass(slots=True, kw_only=True)
class Asked(Block):
    """Something the user was asked."""

    kind: ClassVar[str] = "asked"
    title: str
    state: str = ""
    message: Markup | None = None
    questions: list[tuple[str, list[str], str | None]] = field(default_factory=list)  # words, options, answer


@dataclass(slots=True, kw_only=True)
class Shown:
    """One message."""

    kind: ClassVar[str] = "message"
    number: int
    role: str
    speaker: str
    blocks: list[Block]
    turn: int | None = None
    time: str = ""
    facts: list[str] = field(default_factory=list)  # the model and its like, where they are worth a word
    conflict: str = ""
    is_continued: bool = False  # the same speaker as in the message before
    is_stray: bool = False  # of a sub-agent whose call is not here
    link: str = ""
    raw: str | None = None
