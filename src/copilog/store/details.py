"""What the tables beside the messages hold of a conversation: turns, calls, edits, tokens, skills, relations, traces.

Rows are in the order of the tables' columns but without the number of the conversation. Whatever is asked of many
conversations at once stands here, worked out when a conversation is stored, so that nobody has to open documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from copilog import jsonio
from copilog.model import (
    Conversation,
    FileChange,
    FileEdit,
    Provenance,
    Terminal,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
    duration_ms,
)
from copilog.remembering import remembered
from copilog.store.fates import Fates
from copilog.store.languages import language_of
from copilog.store.programs import programs_of
from copilog.store.texts import UNNAMED, Calls, Texts
from copilog.store.times import moment

Row = tuple[Any, ...]

LARGEST_NUMBER = 1 << 63
LONGEST_CANCELLED_MS = 3_600_000


# --- turns ----------------------------------------------------------------------------------------------------------


def turn_rows(conversation: Conversation, texts: list[Texts]) -> Iterator[Row]:
    turns = {turn.index: turn for turn in conversation.turns}
    repeated = _repeated_prompts(conversation, texts) if len(turns) > 1 else ()
    first_tokens = _first_tokens(conversation)
    for turn in turns.values():
        agent, vote, timing, error = turn.agent, turn.vote, turn.timing, turn.error
        yield (
            turn.index,
            turn.request_id,
            turn.status,
            (agent.name or agent.id) if agent else None,
            turn.custom_agent.name if turn.custom_agent else None,
            turn.command,
            mode_of(turn),
            turn.model.name if turn.model else None,
            turn.model.resolved if turn.model else None,
            moment(timing.started_at),
            number(_took_ms(turn)),
            number(timing.first_progress_ms if timing.first_progress_ms is not None else first_tokens.get(turn.index)),
            number(timing.waited_ms),
            error.message if error else None,
            (1 if vote.is_up else -1) if vote else None,
            moment(timing.completed_at),
            turn.details,
            vote.reason if vote else None,
            error.code if error else None,
            (turn.custom_agent.evidence or None) if turn.custom_agent else None,
            int(turn.index in repeated),
            int(turn.is_system_initiated),
        )


def _repeated_prompts(conversation: Conversation, texts: list[Texts]) -> set[int]:
    """Turns that ask once more what the turn before them asked."""
    prompts: dict[int, str] = {}
    for message, row in zip(conversation.messages, texts, strict=False):
        if message.role == "user" and message.turn is not None and message.turn not in prompts and row.user:
            prompts[message.turn] = row.user.strip()
    repeated: set[int] = set()
    before: str | None = None
    for turn in conversation.turns:
        prompt = prompts.get(turn.index)
        if prompt and prompt == before:
            repeated.add(turn.index)
        before = prompt
    return repeated


def _took_ms(turn: Turn) -> float | None:
    """How long a turn took, without waiting for a person.

    A turn that was open when its window was closed is cancelled when that is opened again, which may be days later: of
    cancelled turns, such an end tells nothing.
    """
    took = duration_ms(turn)
    is_recorded = turn.timing.generated_ms is not None or turn.timing.completed_at is None
    if took is not None and turn.status == "cancelled" and not is_recorded and took > LONGEST_CANCELLED_MS:
        return None
    return took


def turns_by_number(turns: list[Turn]) -> dict[int, int]:
    """The turns by their number in a store, which counts prompts and may leave some out."""
    numbers = {turn.index: (turn.extra or {}).get("turn_index") for turn in turns}
    if any(number is not None for number in numbers.values()):
        return {number if isinstance(number, int) else index: index for index, number in numbers.items()}
    prompted = [turn for turn in turns if turn.request_id is not None] or turns
    return {number: turn.index for number, turn in enumerate(prompted)}


def _first_tokens(conversation: Conversation) -> dict[int, Any]:
    """How long the first call of each turn took to its first token, where a store of sessions tells of each call."""
    found: dict[int, Any] = {}
    index_of: dict[int, int] = {}
    for usage in conversation.usage:
        told = usage.extra or {}
        is_aside = told.get("agent_id") or told.get("parent_tool_call_id") or told.get("initiator") == "compaction"
        if is_aside or "time_to_first_token_ms" not in told:
            continue
        index_of = index_of or turns_by_number(conversation.turns)
        number_of_turn, first_ms = told.get("turn_index"), told["time_to_first_token_ms"]
        if isinstance(number_of_turn, int) and number_of_turn in index_of and isinstance(first_ms, int | float):
            found.setdefault(index_of[number_of_turn], first_ms)
    return found


def mode_of(turn: Turn) -> str | None:
    return turn.mode.kind or turn.mode.name if turn.mode else None


def model_of(turn: Turn) -> str | None:
    return turn.model.resolved or turn.model.name if turn.model else None


def agent_of(turn: Turn) -> str | None:
    """Who answered: the custom agent, else the chat participant."""
    if turn.custom_agent is not None and turn.custom_agent.name:
        return turn.custom_agent.name
    return (turn.agent.name or turn.agent.id) if turn.agent is not None else None


# --- calls ----------------------------------------------------------------------------------------------------------


FAILED = 8  # the column of `call_rows` that tells it


def call_rows(conversation: Conversation, calls: Calls) -> list[Row]:
    """The calls: what they were, how they went, and who made them."""
    agents = {turn.index: agent_of(turn) for turn in conversation.turns} if calls.calls else {}
    messages, results, terminals = conversation.messages, calls.results, calls.terminals
    rows: list[Row] = []
    for position, part, call in calls.calls:
        message = messages[position]
        turn, parent = message.turn, message.parent_call_id
        agent = calls.subagents.get(parent) if parent is not None else None
        if agent is None and turn is not None:
            agent = agents.get(turn)
        call_id, status, approval, subagent = call.id, call.status, call.approval, call.subagent
        result, terminal = results.get(call_id), terminals.get(call_id)
        is_known = result is not None or status != "unknown"
        rows.append(
            (
                position,
                part,
                turn,
                call_id,
                call.name,
                status,
                call.origin,
                call.server,
                int(has_failed(call, result)) if is_known else None,
                moment(call.started_at),
                _size(call.arguments) if call.arguments is not None else None,
                _size(result.full_text or result.text) if result is not None else None,
                _elapsed_ms(call, terminal, calls.ended_at.get(call_id)),
                approval.kind if approval else None,
                approval.detail if approval else None,
                agent,
                (subagent.name or UNNAMED) if subagent else None,
                parent,
                _programs_in(terminal.command) if terminal is not None else None,
                _whole(terminal.exit_code) if terminal is not None else None,
            )
        )
    return rows


@remembered(512)
def _programs_in(command: str) -> str | None:
    """The programs of a command as a JSON list. People and models run the same few again and again."""
    programs = programs_of(command)
    return jsonio.encode(programs) if programs else None


def _elapsed_ms(call: ToolCall, terminal: Terminal | None, ended_at: datetime | None) -> float | None:
    """As it was recorded, else from its start to its result."""
    if terminal is not None and terminal.elapsed_ms is not None:
        return number(terminal.elapsed_ms)
    if call.subagent is not None and call.subagent.elapsed_ms is not None:
        return number(call.subagent.elapsed_ms)
    if ended_at is None or call.started_at is None or ended_at < call.started_at:
        return None
    return (ended_at - call.started_at).total_seconds() * 1000


def has_failed(call: ToolCall, result: ToolResult | None) -> bool:
    """Whether a call says so itself, or its result does."""
    return call.status == "failed" or (result is not None and result.is_error)


def _size(text: str) -> int:
    """Bytes of a text as UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


# --- edits ----------------------------------------------------------------------------------------------------------


def edit_rows(conversation: Conversation, calls: Calls) -> Iterator[Row]:
    """Edits that answers made, then those that the editing history has."""
    if not calls.edits and not conversation.file_changes:
        return
    turns = {turn.index: turn for turn in conversation.turns}
    fates = Fates(conversation)
    for position, (number_of_message, edit) in enumerate(calls.edits):
        message = conversation.messages[number_of_message]
        turn = turns.get(message.turn) if message.turn is not None else None
        is_undone = turn is not None and is_edit_undone(edit, turn)
        yield (
            position,
            number_of_message,
            message.turn,
            edit.path or edit.uri,
            edit.action,
            edit.added,
            edit.removed,
            int(is_undone),
            "answer",
            edit.call_id,
            fates.of(edit.uri, message.turn, is_undone),
            language_of(edit.path or edit.uri, None),
            moment(message.created_at or _start_of(turn)),
        )
    for position, change in enumerate(whole_changes(conversation.file_changes), len(calls.edits)):
        turn = turns.get(change.turn) if change.turn is not None else None
        is_undone = change.is_undone or (turn is not None and turn.is_undone and turn.undone_from is None)
        yield (
            position,
            None,
            change.turn,
            change.path or change.uri,
            change.action,
            change.added,
            change.removed,
            int(is_undone),
            "snapshot",
            None,
            fates.of(change.uri, change.turn, is_undone),
            language_of(change.path or change.uri, change.language),
            moment(_start_of(turn)),
        )


def _start_of(turn: Turn | None) -> datetime | None:
    return turn.timing.started_at if turn is not None else None


def is_edit_undone(edit: FileEdit, turn: Turn) -> bool:
    if turn.undone_from is not None and edit.position is not None:
        return edit.position >= turn.undone_from
    return turn.is_undone


def whole_changes(changes: list[FileChange]) -> Iterator[FileChange]:
    """The change of each file by each request; the steps of a request only where the whole is not told."""
    whole = {(change.request_id, change.uri) for change in changes if change.checkpoint is None}
    for change in changes:
        if change.checkpoint is None or (change.request_id, change.uri) not in whole:
            yield change


# --- tokens, skills, and what else there is ------------------------------------------------------------------------


def usage_rows(conversation: Conversation) -> Iterator[Row]:
    for position, (turn, usage) in enumerate(_usages(conversation)):
        yield (
            position,
            turn,
            usage.scope,
            usage.source,
            usage.model,
            number(usage.input),
            number(usage.output),
            number(usage.cache_read),
            number(usage.cache_write),
            number(usage.reasoning),
            number(usage.last_prompt),
            number(usage.premium_requests),
            number(usage.credits),
            int(usage.is_estimated),
            number(usage.session_credits),
            usage.parent_call_id,
        )


def share_rows(conversation: Conversation) -> Iterator[Row]:
    """How prompts were made up."""
    shares = ((turn, share) for turn, usage in _usages(conversation) for share in usage.by_category)
    for position, (turn, share) in enumerate(shares):
        yield position, turn, share.category, share.label, number(share.percent)


def _usages(conversation: Conversation) -> Iterator[tuple[int | None, Usage]]:
    for turn in conversation.turns:
        for usage in turn.usage:
            yield turn.index, usage
    for usage in conversation.usage:
        yield None, usage


def number(recorded: float | None) -> float | None:
    """A number as it was recorded, unless it is larger than a table can hold; the document has it in any case."""
    return None if recorded is None or abs(recorded) >= LARGEST_NUMBER else recorded


def _whole(recorded: int | None) -> int | None:
    return None if recorded is None or abs(recorded) >= LARGEST_NUMBER else recorded


def skill_rows(turns: Iterable[Turn]) -> Iterator[Row]:
    skills = ((turn.index, skill) for turn in turns for skill in turn.skills)
    for position, (turn, skill) in enumerate(skills):
        yield position, turn, skill.name, skill.file, int(skill.is_loaded), skill.evidence or None


def relation_rows(conversation: Conversation) -> Iterator[Row]:
    for position, relation in enumerate(conversation.relations):
        yield position, relation.kind, relation.other_id, relation.reason


def trace_row(position: int, trace: Provenance) -> Row:
    row = f"{trace.table} {trace.row or ''}".rstrip() if trace.table else None
    return position, trace.source, trace.path, trace.role, trace.pointer or row
