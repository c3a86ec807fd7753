"""Describe the tables of the Parquet dataset: columns, types and meanings, for the writer, the card and the docs."""

from __future__ import annotations

from typing import Literal, NamedTuple

Type = Literal["text", "integer", "number", "flag", "time", "texts"]


class Column(NamedTuple):
    """A column; `texts` is a list of texts, and times are in UTC, with microseconds."""

    name: str
    type: Type
    meaning: str


class Table(NamedTuple):
    """A table, its columns in order; `conversation` is the first column of each."""

    name: str
    meaning: str
    columns: tuple[Column, ...]


MONTH = "month"  # the partition, of all tables: when the conversation began; `unknown` if that is not recorded
ID = Column("conversation", "text", "id of the conversation")
TURN = Column("turn", "integer", "index of the turn, from 0; deprecated, until 0.3")
NUMBER = Column("number", "integer", "number of the turn, from 1")
SUPERSEDED = Column("superseded", "text", "why the turn no longer counts, such as `undone`; null for turns that count")
CALLER = Column("parent_call_id", "text", "the call whose sub-agent it belongs to; null for the main agent")

CONVERSATIONS = Table(
    "conversations",
    "a row for each conversation; its counts are those of turns that count",
    (
        ID,
        Column("native_id", "text", "the id that the writer gave"),
        Column("source", "text", "the kind of file that it was read from"),
        Column("title", "text", "title"),
        Column("assistant", "text", "who answered"),
        Column("application", "text", "the program, such as `Code`"),
        Column("location", "text", "panel, editor, terminal, notebook"),
        Column("workspace", "text", "path of the folder"),
        Column("repository", "text", "address of the repository"),
        Column("branch", "text", "branch of the repository"),
        Column("started_at", "time", "when it began"),
        Column("updated_at", "time", "when it was last changed"),
        Column("turns", "integer", "turns"),
        Column("messages", "integer", "messages"),
        Column("tool_calls", "integer", "calls of tools"),
        Column("edits", "integer", "edits of files"),
        Column("errors", "integer", "turns and calls that failed"),
        Column("models", "texts", "models that ran"),
        Column("modes", "texts", "modes of the chat"),
        Column("agents", "texts", "agents that took part"),
        Column("skills", "texts", "skills that were loaded"),
        Column("marks", "texts", "what is special: damaged, imported, ..."),
    ),
)
TURNS = Table(
    "turns",
    "a row for each request of the user with everything that was done about it",
    (
        ID,
        TURN,
        NUMBER,
        Column("request_id", "text", "id of the request"),
        Column("status", "text", "complete, cancelled, failed, ..."),
        Column("agent", "text", "the participant that answered"),
        Column("custom_agent", "text", "the custom agent"),
        Column("command", "text", "the slash command"),
        Column("mode", "text", "ask, edit, agent"),
        Column("model", "text", "the requested model"),
        Column("resolved_model", "text", "the model that ran"),
        Column("started_at", "time", "when the request was sent"),
        Column("completed_at", "time", "when the answer was complete"),
        Column("elapsed_ms", "number", "milliseconds from start to end"),
        Column("working_ms", "number", "the same without waiting for the user"),
        Column("waited_ms", "number", "milliseconds of waiting for the user"),
        Column("first_progress_ms", "number", "milliseconds to the first progress"),
        Column("error", "text", "message of the error"),
        Column("error_code", "text", "code of the error"),
        Column("vote", "integer", "1 for a vote up, -1 for one down"),
        Column("vote_reason", "text", "reason of the vote"),
        Column("is_retry", "flag", "whether it repeats the prompt before it"),
        Column("is_system", "flag", "whether the program sent it by itself"),
        SUPERSEDED,
        Column("branch_from", "integer", "the turn that its branch leaves from"),
        Column("copied_from", "text", "id of the conversation that a fork has it from"),
    ),
)
MESSAGES = Table(
    "messages",
    "a row for each message, in order",
    (
        ID,
        Column("message", "integer", "number of the message, from 0"),
        TURN,
        NUMBER,
        Column("role", "text", "system, user, assistant, tool"),
        Column("created_at", "time", "when it was written"),
        Column("mode", "text", "mode of the chat"),
        Column("model", "text", "the model that wrote it"),
        CALLER,
        Column("text", "text", "the prose: what the user typed, or what the assistant answered"),
        Column("prompt", "text", "the prompt as it was sent, with its context; the system prompt"),
        Column("thinking", "text", "the model's thinking"),
        Column("pictures", "integer", "pictures of the message, which are not in the dataset"),
        SUPERSEDED,
    ),
)
TOOL_CALLS = Table(
    "tool_calls",
    "a row for each call of a tool, with its result",
    (
        ID,
        Column("message", "integer", "number of the message"),
        Column("position", "integer", "number of the part in the message"),
        TURN,
        NUMBER,
        Column("call_id", "text", "id of the call"),
        Column("name", "text", "name of the tool"),
        Column("origin", "text", "internal, extension, mcp, ..."),
        Column("server", "text", "the MCP server or the extension"),
        Column("agent", "text", "the agent that called it"),
        Column("subagent", "text", "the sub-agent that it started"),
        CALLER,
        Column("started_at", "time", "when it began"),
        Column("elapsed_ms", "number", "milliseconds"),
        Column("approval", "text", "who allowed it: setting, user, ..."),
        Column("outcome", "text", "succeeded, failed, denied, ..."),
        Column("outcome_reason", "text", "why it failed or did not run"),
        Column("exit_code", "integer", "exit code of its command"),
        Column("programs", "texts", "programs of its command"),
        Column("command", "text", "the command that ran in a terminal"),
        Column("arguments", "text", "arguments, as JSON text"),
        Column("result", "text", "the result: the whole output if it is recorded, else what the model received"),
        SUPERSEDED,
    ),
)
EDITS = Table(
    "edits",
    "a row for each edit of a file, without its text",
    (
        ID,
        Column("position", "integer", "number of the edit"),
        Column("message", "integer", "number of the message; null if only the editing history has it"),
        TURN,
        NUMBER,
        Column("call_id", "text", "the call that made it"),
        Column("created_at", "time", "when it was made"),
        Column("path", "text", "path of the file"),
        Column("language", "text", "language of the file"),
        Column("action", "text", "edit, create, delete, rename"),
        Column("added", "integer", "lines added"),
        Column("removed", "integer", "lines removed"),
        Column("outcome", "text", "kept, undone, changed, pending; null if not recorded"),
        Column("origin", "text", "where it was recorded: answer, arguments, snapshot"),
        Column("is_undone", "flag", "whether it was undone"),
        Column("is_counted", "flag", "whether figures count it; false for a second record of an edit"),
        SUPERSEDED,
    ),
)
SPENDING = Table(
    "spending",
    "tokens and cost, each once: any rows may be added up",
    (
        ID,
        Column("position", "integer", "number of the row"),
        TURN,
        NUMBER,
        Column("at", "time", "when it was spent"),
        Column("model", "text", "model"),
        Column("agent", "text", "agent"),
        Column("subagent", "text", "sub-agent"),
        CALLER,
        Column("input", "integer", "tokens of input, with those from a cache"),
        Column("output", "integer", "tokens of output, with reasoning"),
        Column("cache_read", "integer", "tokens of input that came from a cache"),
        Column("cache_write", "integer", "tokens of input that were written to a cache"),
        Column("reasoning", "integer", "tokens of output that were reasoning"),
        Column("calls", "integer", "calls of the model"),
        Column("premium_requests", "number", "premium requests"),
        Column("credits", "number", "credits"),
        Column("input_at_least", "integer", "the least input of an estimate"),
        Column("output_at_least", "integer", "the least output of an estimate"),
        Column("payer", "text", "copilot, own key, unknown"),
        Column("billing", "text", "what the record names: requests, credits"),
        Column("source", "text", "where the numbers were recorded"),
        Column("method", "text", "recorded, spread over turns, or estimated"),
        SUPERSEDED,
    ),
)
TABLES = (CONVERSATIONS, TURNS, MESSAGES, TOOL_CALLS, EDITS, SPENDING)
