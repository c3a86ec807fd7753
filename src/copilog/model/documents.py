"""The kinds of document that belong to a conversation beside its messages: checkpoints, plans, memories and others.

A document is one thing, wherever it was found: `traces` names every file that has it, and `turn` the turn that it
belongs to. Its time is what was recorded; where nothing was, the times of its files are in the provenance.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from copilog.model.values import Extra, TodoItem, Value

MemoryScope = Literal["user", "repository", "workspace", "session"]
SECTIONS = ("overview", "history", "work_done", "technical_details", "important_files", "next_steps")


class Document(Value, tag_field="kind", kw_only=True):
    """A text, or a fact about the whole, that belongs to the conversation or to one of its turns."""

    text: str = ""
    title: str | None = None
    path: str | None = None  # its path at the writer
    turn: int | None = None  # index of the turn that it belongs to
    created_at: datetime | None = None
    updated_at: datetime | None = None
    traces: list[str] = []  # paths of the files that have it, as in the provenance
    extra: Extra | None = None

    @property
    def kind(self) -> str:
        """Return the name of the kind, as in JSON; of a foreign kind, the name that was recorded."""
        return str(self.__struct_config__.tag)


class CheckpointDocument(Document, tag="checkpoint", kw_only=True):
    """A summary with sections, which replaced the history in later prompts."""

    number: int | None = None
    sections: dict[str, str] = {}  # of the text, by name: those of SECTIONS and any others


class SummaryDocument(Document, tag="summary", kw_only=True):
    """A summary without a number: of the session, or of the history up to a turn."""


class PlanDocument(Document, tag="plan", kw_only=True):
    """The plan of a session."""


class MemoryDocument(Document, tag="memory", kw_only=True):
    """A text that the memory tool wrote."""

    scope: MemoryScope | None = None  # whose memory it is


class ResearchDocument(Document, tag="research", kw_only=True):
    """A report of the research agent."""

    size: int | None = None  # bytes, if its text is not here


class ArtifactDocument(Document, tag="artifact", kw_only=True):
    """A file that the session saved for itself: an artifact, a long pasted text."""

    size: int | None = None  # bytes, if its text is not here


class TodosDocument(Document, tag="todos", kw_only=True):
    """One state of a to-do list. The text has a line for each item."""

    items: list[TodoItem] = []


class SessionFileDocument(Document, tag="session-file", kw_only=True):
    """A file that the session touched, as a session store lists it, at the first time."""

    tool: str | None = None


class ReferenceDocument(Document, tag="reference", kw_only=True):
    """A commit, pull request or issue that the session named, as a session store lists it."""

    type: str | None = None  # commit, pr, issue, ref
    value: str | None = None


class SkillDocument(Document, tag="skill", kw_only=True):
    """The text of a loaded skill."""


class BackupDocument(Document, tag="backup", kw_only=True):
    """A file as it was before a later edit."""


class ChangesDocument(Document, tag="changes", kw_only=True):
    """Changes that the folder had against its repository, as a diff."""


class TableDocument(Document, tag="table", kw_only=True):
    """Rows of a table that the agent made for itself."""


class HelperDocument(Document, tag="helper", kw_only=True):
    """A request beside the conversation, such as one for a title, with its answer."""


class ChoiceDocument(Document, tag="choice", kw_only=True):
    """Another answer that the model offered."""


class PredictionDocument(Document, tag="prediction", kw_only=True):
    """A text that the model was given as the likely answer."""


class UnreadDocument(Document, tag="unread", kw_only=True):
    """A part of a response that its reader did not understand."""


class DraftDocument(Document, tag="draft", kw_only=True):
    """A prompt that was typed and never sent."""


class PromptDocument(Document, tag="prompt", kw_only=True):
    """The first line of a prompt whose request is in another conversation."""


class NotesDocument(Document, tag="notes", kw_only=True):
    """Notes of the writer about the whole conversation."""


class IndexedDocument(Document, tag="indexed", kw_only=True):
    """A text that only a search index still has."""


class OtherDocument(Document, tag="other", kw_only=True):
    """A document of a kind that this version does not know, from JSON of another one."""

    type: str  # its kind there

    @property
    def kind(self) -> str:
        return self.type


AnyDocument = (
    CheckpointDocument
    | SummaryDocument
    | PlanDocument
    | MemoryDocument
    | ResearchDocument
    | ArtifactDocument
    | TodosDocument
    | SessionFileDocument
    | ReferenceDocument
    | SkillDocument
    | BackupDocument
    | ChangesDocument
    | TableDocument
    | HelperDocument
    | ChoiceDocument
    | PredictionDocument
    | UnreadDocument
    | DraftDocument
    | PromptDocument
    | NotesDocument
    | IndexedDocument
    | OtherDocument
)
