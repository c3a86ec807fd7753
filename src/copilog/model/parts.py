"""The kinds of part that a message is made of."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from copilog.model.values import (
    Approval,
    ArguedEdit,
    Extra,
    Outcome,
    OutcomeKind,
    Place,
    Question,
    ResultItem,
    SubAgent,
    TextEdit,
    TodoItem,
    TreeNode,
    Value,
    Verdict,
)

UNASKED = "unasked"  # `native` of a call that the model did not request: the extension itself used the tool
UNFINISHED = "unfinished"  # among the notes of a prompt that is cut in the file


class Part(Value, tag_field="kind", gc=False, kw_only=True):
    """One piece of a message.

    `native` is the writer's own name of the kind, if it is more specific; `position` is the part's index in the
    writer's list, so that its raw JSON can be found again below the turn's pointer; `notes` has further texts that the
    user saw with the part, by their labels: a tooltip, a reason, the titles of buttons.
    """

    native: str | None = None
    position: int | None = None
    notes: dict[str, str] = {}
    extra: Extra | None = None


class Text(Part, tag="text", gc=False, kw_only=True):
    """Prose: the user's own text, or the assistant's answer as Markdown."""

    text: str
    vulnerabilities: list[str] = []


class Prompt(Part, tag="prompt", gc=False, kw_only=True):
    """The text sent to the model around the user's text, tags included."""

    text: str
    scope: Literal["turn", "conversation", "system"] = "turn"


class Thinking(Part, tag="thinking", gc=False, kw_only=True):
    """Reasoning. Never part of the answer."""

    text: str
    id: str | None = None
    title: str | None = None
    elapsed_ms: float | None = None


class ToolCall(Part, tag="tool-call", gc=False, kw_only=True):
    """A tool was called, or was about to be."""

    id: str
    name: str  # the name that the model used, else the registered one
    arguments: str | None = None  # JSON text
    status: Literal["complete", "failed", "denied", "skipped", "cancelled", "prepared", "unknown"] = "unknown"
    tool_id: str | None = None  # the registered name
    message: str | None = None  # what the user saw
    title: str | None = None
    origin: str | None = None  # internal, extension, mcp, user, external, program
    server: str | None = None  # of an MCP tool; else the extension
    approval: Approval | None = None
    subagent: SubAgent | None = None
    is_hidden: bool = False
    round_id: str | None = None
    started_at: datetime | None = None
    elapsed_ms: float | None = None  # from its start to its end, as recorded
    native_ids: list[str] = []  # every spelling of the id
    verdicts: list[Verdict] = []  # outcomes in other traces
    outcome: Outcome | None = None  # concluded; `status` is from the trace itself
    exit_code: int | None = None  # of the command of the call, as recorded
    concluded_exit_code: int | None = None  # the same, from all traces and texts
    edits: list[ArguedEdit] = []  # concluded: files that only this call records


class ToolResult(Part, tag="tool-result", gc=False, kw_only=True):
    """The result of a tool."""

    call_id: str
    text: str = ""
    is_error: bool = False
    origin: str = ""  # where it was recorded: "model" (what the model saw), "display", "terminal", "resource file"
    items: list[ResultItem] = []
    places: list[Place] = []  # files found or read
    display: str | None = None  # the text that the user saw, if it differs
    full_text: str | None = None  # output that was too long and has a file of its own
    full_text_path: str | None = None


class Terminal(Part, tag="terminal", gc=False, kw_only=True):
    """A command run in a terminal."""

    call_id: str | None = None
    command: str  # what was executed
    original: str | None = None  # what the model requested
    edited_by_tool: str | None = None
    edited_by_user: str | None = None
    shown: str | None = None
    output: str | None = None
    is_output_cut: bool = False
    exit_code: int | None = None  # as recorded
    concluded_exit_code: int | None = None  # that of its call
    cwd: str | None = None
    language: str | None = None
    is_background: bool = False
    started_at: datetime | None = None
    elapsed_ms: float | None = None


class TodoList(Part, tag="todo-list", gc=False, kw_only=True):
    """The assistant's to-do list at this point."""

    call_id: str | None = None
    items: list[TodoItem]


class Attachment(Part, tag="attachment", gc=False, kw_only=True):
    """Context that went with a prompt: a file, a selection, an image, an instruction file."""

    type: str  # file, directory, symbol, image, paste, prompt-file, ...
    name: str | None = None
    id: str | None = None
    place: Place | None = None
    text: str | None = None
    mime_type: str | None = None
    data: bytes | None = None
    description: str | None = None  # the text for the model about it
    is_sent: bool = True  # False: offered, but switched off
    is_automatic: bool = False  # added by the product, not by the user
    omitted: str | None = None  # partial, full, image-limit


class Mention(Part, tag="mention", gc=False, kw_only=True):
    """A word of the prompt with a meaning: @agent, /command, #file."""

    type: str  # agent, command, prompt, tool, toolset, file, variable
    name: str
    text: str | None = None
    start: int | None = None  # offsets into the message's text
    end: int | None = None
    id: str | None = None
    place: Place | None = None


class Reference(Part, tag="reference", gc=False, kw_only=True):
    """A link to a location: in the middle of the prose, or the file that a code block belongs to."""

    text: str  # as shown in the prose; empty if nothing is shown
    place: Place | None = None
    type: str = "inline"  # inline, code-block, pull-request, extension
    is_edit: bool = False


class FileEdit(Part, tag="file-edit", gc=False, kw_only=True):
    """Edits to one file, as the answer made them."""

    action: Literal["edit", "create", "delete", "rename"] = "edit"
    uri: str | None = None
    path: str | None = None
    new_uri: str | None = None
    batches: list[list[TextEdit]] = []
    cells: list[Any] = []  # notebook operations that are not text edits
    diff: str | None = None
    added: int | None = None
    removed: int | None = None
    is_done: bool | None = None
    is_applied: bool | None = None
    call_id: str | None = None
    outcome: OutcomeKind | None = None  # concluded: that of the call that requested it


class FileTree(Part, tag="file-tree", gc=False, kw_only=True):
    """A tree of files in the answer."""

    root: TreeNode


class Confirmation(Part, tag="confirmation", gc=False, kw_only=True):
    """A question to the user: a confirmation, an elicitation, questions, a plan to review."""

    type: str  # confirmation, elicitation, questions, plan
    title: str | None = None
    message: str | None = None
    options: list[str] = []
    questions: list[Question] = []
    answer: str | None = None
    state: str | None = None  # accepted, rejected, answered, unanswered


class Checkpoint(Part, tag="checkpoint", gc=False, kw_only=True):
    """A state to which the edits can be undone."""

    id: str


class Compaction(Part, tag="compaction", gc=False, kw_only=True):
    """The history up to here was replaced by a summary in later prompts."""

    text: str
    title: str | None = None
    instructions: str | None = None  # what the user wanted the summary to contain
    round_id: str | None = None
    model: str | None = None
    trigger: str | None = None
    elapsed_ms: float | None = None


class Hook(Part, tag="hook", gc=False, kw_only=True):
    """A hook of the user's ran, and may have stopped something."""

    type: str
    is_blocking: bool = False
    reason: str | None = None
    message: str | None = None
    tool: str | None = None
    given: Any = None  # its input, as recorded


class Notice(Part, tag="notice", gc=False, kw_only=True):
    """A message of the product itself: progress, warnings, buttons, servers starting."""

    topic: str  # warning, info, progress, task, system, command, mcp-servers, model-resolution, ...
    text: str = ""
    is_prose: bool = False  # VS Code counts it as part of the answer's text
    data: Extra | None = None


class Unknown(Part, tag="unknown", gc=False, kw_only=True):
    """A kind of part without a description, stored unchanged."""

    type: str
    raw: Any


AnyPart = (
    Text
    | Prompt
    | Thinking
    | ToolCall
    | ToolResult
    | Terminal
    | TodoList
    | Attachment
    | Mention
    | Reference
    | FileEdit
    | FileTree
    | Confirmation
    | Checkpoint
    | Compaction
    | Hook
    | Notice
    | Unknown
)
