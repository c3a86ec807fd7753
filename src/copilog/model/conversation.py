"""Messages, turns and conversations."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from copilog.model.documents import AnyDocument
from copilog.model.parts import AnyPart
from copilog.model.values import (
    Agent,
    Branch,
    Citation,
    CodeBlock,
    Conflict,
    CustomAgent,
    Duration,
    EditedFileEvent,
    Extra,
    Followup,
    Mode,
    Model,
    RanModel,
    Round,
    Skill,
    Timing,
    Title,
    TitleOrigin,
    TurnError,
    Usage,
    UsedReference,
    Value,
    Vote,
)

Role = Literal["system", "user", "assistant", "tool"]
Status = Literal["complete", "cancelled", "failed", "needs-input", "pending", "unanswered"]


class Message(Value, gc=False, kw_only=True):
    """One message. `turn` is the index of its turn; `parent_call_id` the tool call whose sub-agent wrote it."""

    role: Role
    parts: list[AnyPart]
    turn: int | None = None
    id: str | None = None
    created_at: datetime | None = None
    mode: str | None = None
    model: str | None = None
    model_source: str | None = None
    model_conflict: str | None = None
    parent_call_id: str | None = None
    extra: Extra | None = None


class Turn(Value, kw_only=True):
    """The fields of one request."""

    index: int
    pointer: str | None = None  # the position of the request in its file
    request_id: str | None = None
    response_id: str | None = None
    status: Status | None = None
    agent: Agent | None = None
    command: str | None = None  # the slash command
    mode: Mode | None = None
    custom_agent: CustomAgent | None = None
    model: Model | None = None
    skills: list[Skill] = []
    timing: Timing = msgspec.field(default_factory=Timing)
    usage: list[Usage] = []
    details: str | None = None  # the line under the answer: model and multiplier
    error: TurnError | None = None
    vote: Vote | None = None
    reason_without_vote: str | None = None  # the reason for a vote down; the vote itself is not recorded
    followups: list[Followup] = []
    references: list[UsedReference] = []
    citations: list[Citation] = []
    edited_files: list[EditedFileEvent] = []
    rounds: list[Round] = []
    code_blocks: list[CodeBlock] = []
    confirmation: str | None = None  # the button that sent this request
    is_undone: bool = False
    undone_from: int | None = None  # index of the first response part that was undone
    is_hidden: bool = False
    is_request_hidden: bool = False
    is_system_initiated: bool = False
    system_label: str | None = None
    superseded: str | None = None  # why the turn no longer counts: removed, hidden, undone, replaced, rewound, absent
    branch: Branch | None = None  # None for the trunk
    copied_from: str | None = None  # id of the conversation in which the turn was sent, if a fork copied it from there
    traces: list[str] = []  # paths of its traces, if the conversation has several
    part_orders: list[list[str]] = []  # of its traces, if they do not record how calls, thinking and texts follow
    duration: Duration | None = None  # concluded from `timing`
    ran_model: RanModel | None = None  # concluded; `model` is what was recorded
    extra: Extra | None = None


class Queued(Value, kw_only=True):
    """A prompt that was waiting to be sent and was never answered."""

    id: str | None = None
    type: str | None = None  # queued, steering
    message: Message
    extra: Extra | None = None


class Draft(Value, kw_only=True):
    """The text of the input box."""

    text: str = ""
    attachments: list[AnyPart] = []
    mode: Mode | None = None
    model: Model | None = None
    extra: Extra | None = None


class FileChange(Value, kw_only=True):
    """A file before and after the edits of one request, or of one step of it."""

    uri: str
    path: str | None = None
    request_id: str | None = None
    turn: int | None = None
    checkpoint: str | None = None  # the step within the request; None for the complete request
    action: Literal["edit", "create", "delete", "rename"] = "edit"
    old_uri: str | None = None
    before: str | None = None
    after: str | None = None
    diff: str | None = None
    added: int | None = None
    removed: int | None = None
    is_undone: bool = False
    language: str | None = None
    unapplied: list[Any] = []  # recorded edits whose text is in neither `before` nor `after`
    extra: Extra | None = None


class FileState(Value, kw_only=True):
    """A file that the conversation touched: its text at first, and now, and whether the edits were kept."""

    uri: str
    path: str | None = None
    initial: str | None = None
    original: str | None = None
    current: str | None = None
    decision: Literal["undecided", "accepted", "rejected"] | None = None
    is_deleted: bool = False
    language: str | None = None
    request_id: str | None = None
    extra: Extra | None = None


class Workspace(Value, kw_only=True):
    """The folder that the conversation belongs to."""

    folder: str | None = None  # a path as people write it
    uri: str | None = None
    kind: Literal["folder", "workspace", "empty"] | None = None
    authority: str | None = None  # of a remote folder
    storage_id: str | None = None
    repository: str | None = None
    branch: str | None = None
    commit: str | None = None
    extra: Extra | None = None


class Relation(Value, kw_only=True):
    """The relation of this conversation to another one."""

    kind: str  # fork, forked-as, continuation, subagent, delegation, possible-duplicate, prompts-of, prompts-in
    other_id: str
    reason: str | None = None


class Provenance(Value, kw_only=True):
    """One trace of the conversation: its file, and the position there."""

    source: str
    path: str
    role: Literal["lead", "copy", "index", "edits", "resource", "earlier"] = "lead"  # earlier: from a previous scan
    size: int | None = None
    modified_at: datetime | None = None
    pointer: str | None = None
    table: str | None = None
    row: str | None = None
    workspace: str | None = None
    marks: list[str] = []  # of this trace alone: damaged, headless, transcript, ...
    conflicts: list[Conflict] = []  # values of this trace that another one overruled


class Conversation(Value, kw_only=True):
    """One conversation, from any source, with every trace of it in `provenance`."""

    id: str  # "vscode:<native id>"
    native_id: str | None = None
    source: str
    title: str | None = None  # the one to show, of `titles` or the first prompt
    title_origin: TitleOrigin | None = None  # the origin of the title
    titles: list[Title] = []  # every title that a trace has
    assistant: str | None = None  # who answered: "GitHub Copilot", "Positron Assistant"
    application: str | None = None  # "Code", "Code - Insiders", "VSCodium"
    location: str | None = None  # panel, editor, terminal, notebook
    workspace: Workspace | None = None
    started_at: datetime | None = None
    updated_at: datetime | None = None
    turns: list[Turn] = []
    messages: list[Message] = []
    queued: list[Queued] = []
    draft: Draft | None = None
    file_changes: list[FileChange] = []
    files: list[FileState] = []
    documents: list[AnyDocument] = []
    has_pending_edits: bool | None = None
    marks: list[str] = []  # damaged, headless, stub, imported, external, orphan-edits, prompts-only, helpers-only
    usage: list[Usage] = []
    relations: list[Relation] = []
    provenance: list[Provenance] = []
    extra: Extra | None = None
