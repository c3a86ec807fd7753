"""Define the rows of a conversation in the tables of the archive: a struct for each table, with its columns.

The number of the conversation is not among them: it is assigned when they are written.
"""

from __future__ import annotations

import msgspec

NO_CONVERSATION = 2  # `is_empty` of memories that belong to no conversation: lists and figures leave them out


class Row(msgspec.Struct, gc=False):
    """A row of one conversation. Its fields are columns of the table, with the key of the table first."""


def columns_of(rows: type[Row]) -> tuple[str, ...]:
    """Return the names of the columns, in the order of the fields."""
    return rows.__struct_fields__


class ConversationRow(Row):
    id: str
    native_id: str | None
    source: str
    title: str
    title_origin: str | None
    assistant: str | None
    application: str | None
    location: str | None
    workspace: str | None
    repository: str | None
    branch: str | None
    started_at: str | None
    updated_at: str | None
    turns: int
    messages: int
    tool_calls: int
    edits: int
    errors: int
    failed_calls: int
    command_errors: int
    models: str
    modes: str
    agents: str
    skills: str
    marks: str
    is_empty: int
    digest: bytes


class MessageRow(Row):
    position: int
    role: str
    turn: int | None
    created_at: str | None
    mode: str | None
    model: str | None
    parent_call_id: str | None
    title: str | None
    user: str | None
    answer: str | None
    thinking: str | None
    arguments: str | None
    result: str | None
    paths: str | None


class TurnRow(Row):
    position: int
    request_id: str | None
    status: str | None
    agent: str | None
    custom_agent: str | None
    command: str | None
    mode: str | None
    model: str | None
    resolved_model: str | None
    started_at: str | None
    elapsed_ms: float | None
    first_progress_ms: float | None
    waited_ms: float | None
    error: str | None
    vote: int | None
    completed_at: str | None
    details: str | None
    vote_reason: str | None
    error_code: str | None
    agent_evidence: str | None
    is_retry: int
    is_system: int
    superseded: str | None
    branch_from: int | None
    branch_trace: str | None
    only_trace: str | None
    working_ms: float | None
    traces: int
    prompt: int | None
    copied_from: str | None
    answer_models: str | None = None  # set by `entries`, which knows the models of messages


class ToolCallRow(Row):
    message: int
    position: int
    turn: int | None
    call_id: str | None
    name: str
    origin: str | None
    server: str | None
    started_at: str | None
    arguments_bytes: int | None
    result_bytes: int | None
    elapsed_ms: float | None
    approval: str | None
    approval_detail: str | None
    agent: str | None
    subagent: str | None
    parent_call_id: str | None
    programs: str | None
    exit_code: int | None
    outcome: str | None
    outcome_reason: str | None


class FileEditRow(Row):
    position: int
    message: int | None
    turn: int | None
    path: str | None
    action: str | None
    added: int | None
    removed: int | None
    is_undone: int
    origin: str
    call_id: str | None
    fate: str | None
    language: str | None
    created_at: str | None
    is_counted: int


class TokenUsageRow(Row):
    position: int
    turn: int | None
    scope: str | None
    source: str | None
    model: str | None
    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None
    reasoning: int | None
    last_prompt: int | None
    premium_requests: float | None
    credits: float | None
    is_estimated: int
    session_credits: float | None
    parent_call_id: str | None
    helper: str | None


class SkillRow(Row):
    position: int
    turn: int | None
    name: str
    file: str | None
    is_loaded: int
    evidence: str | None


class TraceRow(Row):
    position: int
    source: str
    path: str
    role: str | None
    place: str | None
    marks: str | None


class SpendRow(Row):
    position: int
    turn: int | None
    at: str | None
    model: str | None
    agent: str | None
    subagent: str | None
    parent_call_id: str | None
    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None
    reasoning: int | None
    premium_requests: float | None
    credits: float | None
    source: str
    method: str
    payer: str
    billing: str | None
    has_credits: int
    calls: int | None
    input_at_least: int | None
    output_at_least: int | None
    prompts: str | None = None
    credits_within: float | None = None
    input_at_most: int | None = None
    output_at_most: int | None = None
    replay: str | None = None
    is_calibrated: int = 0


class PromptShareRow(Row):
    position: int
    turn: int | None
    category: str
    label: str | None
    percent: float | None


class RelationRow(Row):
    position: int
    kind: str
    other_id: str
    reason: str | None


class QueuedPromptRow(Row):
    position: int
    prompt: int


class EstimateSampleRow(Row):
    position: int
    sample: str


class CommandRow(Row):
    position: int
    message: int
    turn: int | None
    call_id: str | None
    tool: str | None
    origin: str | None
    command: str
    requested: str | None
    edited_by: str | None
    directory: str | None
    language: str | None
    started_at: str | None
    elapsed_ms: float | None
    exit_code: int | None
    outcome: str | None
    approval: str | None
    approval_detail: str | None


class FileTouchRow(Row):
    position: int
    message: int | None
    turn: int | None
    call_id: str | None
    path: str
    action: str
    tool: str | None
    first_line: int | None
    last_line: int | None
    outcome: str | None


class DocumentRow(Row):
    position: int
    kind: str
    title: str | None
    path: str | None
    turn: int | None
    message: int | None
    number: int | None
    scope: str | None
    type: str | None
    value: str | None
    tool: str | None
    items: int | None
    done: int | None
    created_at: str | None
    updated_at: str | None
    characters: int
    trace: str | None


class MemoryUseRow(Row):
    position: int
    turn: int | None
    path: str
    how: str


# The tables with one row or more for a conversation, in the order of DETAIL_TABLES.
DETAILS: dict[str, type[Row]] = {
    "turn": TurnRow,
    "tool_call": ToolCallRow,
    "file_edit": FileEditRow,
    "token_usage": TokenUsageRow,
    "skill": SkillRow,
    "trace": TraceRow,
    "spend": SpendRow,
    "prompt_share": PromptShareRow,
    "relation": RelationRow,
    "queued_prompt": QueuedPromptRow,
    "estimate_sample": EstimateSampleRow,
    "command": CommandRow,
    "file_touch": FileTouchRow,
    "conversation_document": DocumentRow,
    "memory_use": MemoryUseRow,
}
