"""The small values that parts, turns and conversations are made of."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

Extra = dict[str, Any]
OutcomeKind = Literal["succeeded", "failed", "denied", "skipped", "cancelled", "running", "unknown"]
TitleOrigin = Literal[
    "custom",
    "computed",
    "named",
    "index",
    "session list",
    "generated",
    "summary",
    "store",
    "first prompt",
    "placeholder",
]


class Value(msgspec.Struct, omit_defaults=True, kw_only=True):
    """The base of all types of the model: fields by name, defaults left out of the JSON."""


class Range(Value, kw_only=True):
    """A range of text, lines and columns from 1, the end column exclusive."""

    start_line: int
    start_column: int = 1
    end_line: int
    end_column: int = 1


class Place(Value, kw_only=True):
    """A file or other resource, perhaps a range or a symbol in it."""

    uri: str | None = None
    path: str | None = None
    range: Range | None = None
    name: str | None = None  # of a symbol, or as shown
    symbol_kind: int | None = None
    extra: Extra | None = None


class Model(Value, kw_only=True):
    """The requested language model, and the one that answered, as recorded."""

    id: str  # as recorded: "copilot/gpt-5"
    name: str  # without its vendor: "gpt-5"
    vendor: str | None = None  # "copilot"
    resolved: str | None = None  # the pick of a router such as "auto", as recorded
    extra: Extra | None = None


class RanModel(Value, kw_only=True):
    """The language model that answered in a turn, concluded from all records of it by `derive.models`."""

    name: str
    evidence: str  # the evidence: model totals, resolved model, call record, details


class Agent(Value, kw_only=True):
    """The chat participant that answered."""

    id: str
    name: str | None = None
    full_name: str | None = None
    extension: str | None = None
    extension_version: str | None = None
    extra: Extra | None = None


class Mode(Value, kw_only=True):
    """The mode of the chat: ask, edit, agent, or a custom agent on top of one of them."""

    kind: str | None = None  # ask, edit, agent
    id: str | None = None  # as recorded, e.g. "custom", or the address of a custom agent's file
    name: str | None = None
    is_builtin: bool | None = None
    permission_level: str | None = None
    evidence: str = ""  # "modeInfo", "agent id", ...
    extra: Extra | None = None


class CustomAgent(Value, kw_only=True):
    """A custom agent that was active, and the evidence."""

    name: str | None = None
    uri: str | None = None
    instructions: str | None = None
    tools: list[str] = []
    evidence: str = ""  # "modeInfo", "prompt text", ...
    extra: Extra | None = None


class Skill(Value, kw_only=True):
    """A skill that was offered to the model or loaded by it, and the evidence."""

    name: str
    file: str | None = None
    description: str | None = None
    is_loaded: bool = False
    evidence: str = ""


class Usage(Value, kw_only=True):
    """Tokens and cost from one record. A turn may have several; `best_usage` chooses."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    last_prompt: int | None = None  # size of the last call's prompt: never to be summed as input
    model: str | None = None
    premium_requests: float | None = None
    credits: float | None = None
    session_credits: float | None = None
    by_category: list[PromptShare] = []
    scope: Literal["call", "turn", "session"] = "turn"
    parent_call_id: str | None = None  # the call whose sub-agent used it
    source: str = ""
    is_estimated: bool = False
    extra: Extra | None = None


class PromptShare(Value, kw_only=True):
    """The part of the prompt that a category took."""

    category: str
    label: str | None = None
    percent: float | None = None


class Timing(Value, kw_only=True):
    """When a turn began, and how long it took."""

    started_at: datetime | None = None
    responded_at: datetime | None = None  # when the response object was created
    completed_at: datetime | None = None
    first_progress_ms: float | None = None
    elapsed_ms: float | None = None  # as recorded: the complete participant call, or the generation without waits
    generated_ms: float | None = None  # generation without waiting for the user
    waited_ms: float | None = None  # waiting for confirmations


class Duration(Value, kw_only=True):
    """How long a turn took, concluded from its `Timing` by `derive.times`. Unknown stays None."""

    elapsed_ms: float | None = None  # from start to end
    waiting_ms: float | None = None  # of that, waiting for the user
    working_ms: float | None = None  # the rest
    problems: list[str] = []  # recorded spans that are impossible, as text


class Branch(Value, kw_only=True):
    """Where a turn leaves the trunk: copies of a session that continued separately."""

    leaves_from: int | None = None  # index of the last turn that both have; None if they share no turn
    trace: str  # path of the trace that has the branch


class Title(Value, kw_only=True):
    """A title of some trace, and its origin."""

    text: str
    origin: TitleOrigin | None  # None in documents of earlier versions; `derive.titles` decides


class Conflict(Value, kw_only=True):
    """A value of the conversation, or of one of its turns, in a trace that another trace overruled."""

    field: str  # title, status, answer, ...
    value: Any
    turn: int | None = None  # index of the turn; None for the conversation itself


class TurnError(Value, kw_only=True):
    """Why a turn failed or was cut short."""

    message: str
    code: str | None = None
    flags: list[str] = []  # incomplete, filtered, redacted, quota-exceeded, rate-limited, expected
    buttons: list[str] = []  # what the user was offered to do about it
    passed_on: str | None = None  # what these buttons pass on, as JSON
    extra: Extra | None = None


class Vote(Value, kw_only=True):
    """Thumbs up or down."""

    is_up: bool
    reason: str | None = None


class Followup(Value, kw_only=True):
    """A next question that was suggested."""

    text: str
    title: str | None = None
    tooltip: str | None = None
    agent: str | None = None
    command: str | None = None
    extra: Extra | None = None


class UsedReference(Value, kw_only=True):
    """Something the answer was based on."""

    place: Place | None = None
    text: str | None = None  # a reference that is not a file
    variable: str | None = None
    status: str | None = None  # complete, partial, omitted
    status_text: str | None = None  # the same, as shown to the user
    extra: Extra | None = None


class Citation(Value, kw_only=True):
    """Public code that the answer resembles."""

    uri: str | None = None
    license: str | None = None
    snippet: str | None = None
    extra: Extra | None = None


class EditedFileEvent(Value, kw_only=True):
    """What the user did with edits of earlier turns before sending this request."""

    uri: str | None
    action: str  # keep, undo, modify


class Round(Value, kw_only=True):
    """One call of the model within a turn, as the extension recorded it."""

    id: str | None = None
    text: str = ""
    thinking: str | None = None
    call_ids: list[str] = []
    started_at: datetime | None = None
    model: str | None = None
    hook_context: str | None = None  # what hooks added for the model after it
    extra: Extra | None = None


class CodeBlock(Value, kw_only=True):
    """A block of code of the answer, as the extension recorded it."""

    code: str
    language: str | None = None
    uri: str | None = None
    before: str | None = None  # the prose that the block follows
    extra: Extra | None = None


class TextEdit(Value, omit_defaults=False, gc=False):
    """Replace a range by a text. A range of nothing inserts."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int
    text: str
    eol: int | None = None


class TodoItem(Value, kw_only=True):
    id: str | None = None
    title: str
    status: str | None = None
    description: str | None = None


class Question(Value, kw_only=True):
    """One question to the user, with its answer."""

    id: str | None = None
    title: str | None = None
    text: str | None = None
    type: str | None = None
    options: list[str] = []
    answer: str | None = None
    extra: Extra | None = None


class Outcome(Value, kw_only=True):
    """How a tool call ended, concluded from all records of it by `derive.outcomes`."""

    kind: OutcomeKind
    reason: str | None = None  # why it failed or did not run, as recorded
    evidence: list[str] = []  # the evidence: confirmation, error flag, error text, transcript, ...
    against: list[str] = []  # evidence to the contrary


class Verdict(Value, kw_only=True):
    """How a call ended according to another trace; `derive.outcomes` weighs it against the leading one."""

    source: str  # of that trace: "vscode-transcript", ...
    kind: OutcomeKind
    reason: str | None = None
    exit_code: int | None = None


class ArguedEdit(Value, kw_only=True):
    """An edit of a file that only the arguments of its call record; None for unknown line counts."""

    path: str
    action: Literal["edit", "create", "delete", "rename"] = "edit"
    added: int | None = None
    removed: int | None = None


class Approval(Value, kw_only=True):
    """Who allowed a tool to run."""

    kind: Literal["denied", "not-needed", "setting", "granted", "user", "skipped", "unknown"]
    detail: str | None = None  # the setting's name, the grant's scope, the button pressed, the reason
    rule: str | None = None  # what the user saw about it: the rule that allowed or denied a command, as Markdown
    extra: Extra | None = None


class SubAgent(Value, kw_only=True):
    """The request to a sub-agent, by the tool call that started it, and its result."""

    run_id: str | None = None
    name: str | None = None
    description: str | None = None
    prompt: str | None = None
    result: str | None = None
    model: str | None = None
    started_at: datetime | None = None
    elapsed_ms: float | None = None
    extra: Extra | None = None


class ResultItem(Value, kw_only=True):
    """One piece of a tool's output: text, bytes, or a pointer to a resource."""

    text: str | None = None
    mime_type: str | None = None
    data: bytes | None = None
    place: Place | None = None
    extra: Extra | None = None


class TreeNode(Value, kw_only=True):
    """A file or folder of a file tree that the answer showed."""

    label: str
    uri: str | None = None
    children: list[TreeNode] = []
