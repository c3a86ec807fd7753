"""What the tables beside the messages hold of a conversation: turns, calls, edits, tokens, skills, relations, traces.

Rows are in the order of the tables' columns but without the number of the conversation. Whatever is asked of many
conversations at once stands here, worked out when a conversation is stored, so that nobody has to open documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from typing import Any

from copilog import jsonio
from copilog.derive import agent_name, only_traces, repeated_prompts
from copilog.derive.calls import TurnsOfCalls, is_aside
from copilog.derive.exit_codes import exit_code_of
from copilog.derive.failures import turn_status
from copilog.derive.fates import Fates
from copilog.derive.helper_usage import helper_of
from copilog.derive.line_counts import RepeatedEdits, changed_lines, whole_changes
from copilog.derive.outcomes import is_made
from copilog.derive.prompts import keys_by_turn
from copilog.model import (
    Conversation,
    FileEdit,
    Provenance,
    Terminal,
    ToolCall,
    Turn,
    Usage,
    duration_of,
)
from copilog.remembering import remembered
from copilog.store.languages import language_of
from copilog.store.programs import programs_of
from copilog.store.texts import UNNAMED, Calls, Texts
from copilog.store.times import moment

Row = tuple[Any, ...]

LARGEST_NUMBER = 1 << 63


# --- turns ----------------------------------------------------------------------------------------------------------


def turn_rows(conversation: Conversation, texts: list[Texts]) -> Iterator[Row]:
    turns = {turn.index: turn for turn in conversation.turns}
    repeated = _repeated_prompts(conversation, texts) if len(turns) > 1 else ()
    first_tokens = _first_tokens(conversation)
    alone = only_traces(conversation)
    prompts = keys_by_turn(conversation)
    for turn in turns.values():
        agent, vote, timing, error, took = turn.agent, turn.vote, turn.timing, turn.error, duration_of(turn)
        yield (
            turn.index,
            turn.request_id,
            turn_status(turn),
            agent_name(agent) if agent else None,
            turn.custom_agent.name if turn.custom_agent else None,
            turn.command,
            mode_of(turn),
            turn.model.name if turn.model else None,
            turn.ran_model.name if turn.ran_model else turn.model.resolved if turn.model else None,
            moment(timing.started_at),
            number(took.elapsed_ms),
            number(timing.first_progress_ms if timing.first_progress_ms is not None else first_tokens.get(turn.index)),
            number(took.waiting_ms),
            error.message if error else None,
            (1 if vote.is_up else -1) if vote else None,
            moment(timing.completed_at),
            turn.details,
            vote.reason if vote else None,
            error.code if error else None,
            (turn.custom_agent.evidence or None) if turn.custom_agent else None,
            int(turn.index in repeated),
            int(turn.is_system_initiated),
            turn.superseded,
            turn.branch.leaves_from if turn.branch else None,
            turn.branch.trace if turn.branch else None,
            alone.get(turn.index),
            number(took.working_ms),
            max(1, len(turn.traces)),
            prompts.get(turn.index),
        )


def _repeated_prompts(conversation: Conversation, texts: list[Texts]) -> set[int]:
    """Return the turns that ask once more what the turn before them asked, by the words that are searched."""
    prompts: dict[int, str] = {}
    for message, row in zip(conversation.messages, texts, strict=False):
        if message.role == "user" and message.turn is not None and message.turn not in prompts and row.user:
            prompts[message.turn] = row.user.strip()
    return repeated_prompts(conversation, prompts)


def _first_tokens(conversation: Conversation) -> dict[int, Any]:
    """How long the first call of each turn took to its first token, where a store of sessions tells of each call."""
    found: dict[int, Any] = {}
    turns: TurnsOfCalls | None = None
    for usage in conversation.usage:
        first_ms = (usage.extra or {}).get("time_to_first_token_ms")
        if is_aside(usage) or not isinstance(first_ms, int | float):
            continue
        turns = turns or TurnsOfCalls(conversation.turns)
        turn = turns.of(usage)
        if turn is not None:
            found.setdefault(turn, first_ms)
    return found


def mode_of(turn: Turn) -> str | None:
    return turn.mode.kind or turn.mode.name if turn.mode else None


def agent_of(turn: Turn) -> str | None:
    """Who answered: the custom agent, else the chat participant."""
    if turn.custom_agent is not None and turn.custom_agent.name:
        return turn.custom_agent.name
    return agent_name(turn.agent) if turn.agent is not None else None


# --- calls ----------------------------------------------------------------------------------------------------------


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
        call_id, approval, subagent, outcome = call.id, call.approval, call.subagent, call.outcome
        result, terminal = results.get(call_id), terminals.get(call_id)
        rows.append(
            (
                position,
                part,
                turn,
                call_id,
                call.name,
                call.origin,
                call.server,
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
                _whole(exit_code_of(call)),
                outcome.kind if outcome else None,
                outcome.reason if outcome else None,
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


def _size(text: str) -> int:
    """Bytes of a text as UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


# --- edits ----------------------------------------------------------------------------------------------------------


def edit_rows(conversation: Conversation, calls: Calls) -> Iterator[Row]:
    """Yield edits of answers, then those that only arguments record, then those of the editing history."""
    argued = [(number_of_message, call) for number_of_message, _, call in calls.calls if call.edits]
    if not calls.edits and not argued and not conversation.file_changes:
        return
    rows = _EditRows(conversation, argued)
    made = ((number_of_message, edit) for number_of_message, edit in calls.edits if is_made(edit))
    for position, row in enumerate(chain(rows.of_answer(made), rows.of_arguments(argued), rows.of_history())):
        yield position, *row


class _EditRows:
    """The rows of edits, without their position."""

    def __init__(self, conversation: Conversation, argued: list[tuple[int, ToolCall]]) -> None:
        self._conversation = conversation
        self._turns = {turn.index: turn for turn in conversation.turns}
        self._fates = Fates(conversation)
        self._repeated = RepeatedEdits(conversation.file_changes, (call for _, call in argued))

    def of_answer(self, edits: Iterable[tuple[int, FileEdit]]) -> Iterator[Row]:
        for number_of_message, edit in edits:
            message = self._conversation.messages[number_of_message]
            turn = self._turn(message.turn)
            is_undone = turn is not None and is_edit_undone(edit, turn)
            path = edit.path or edit.uri
            yield (
                number_of_message,
                message.turn,
                path,
                edit.action,
                *changed_lines(edit),
                int(is_undone),
                "answer",
                edit.call_id,
                self._fates.of(edit.uri, message.turn, is_undone),
                language_of(path, None),
                moment(message.created_at or _start_of(turn)),
                int(not self._repeated.has(message.turn, edit)),
            )

    def of_arguments(self, calls: Iterable[tuple[int, ToolCall]]) -> Iterator[Row]:
        for number_of_message, call in calls:
            message = self._conversation.messages[number_of_message]
            turn = self._turn(message.turn)
            is_undone = turn is not None and turn.is_undone
            for edit in call.edits:
                yield (
                    number_of_message,
                    message.turn,
                    edit.path,
                    edit.action,
                    *changed_lines(edit),
                    int(is_undone),
                    "arguments",
                    call.id,
                    self._fates.of(f"file://{edit.path}", message.turn, is_undone),
                    language_of(edit.path, None),
                    moment(call.started_at or message.created_at or _start_of(turn)),
                    int(not self._repeated.has(message.turn, edit)),
                )

    def of_history(self) -> Iterator[Row]:
        for change in whole_changes(self._conversation.file_changes):
            turn = self._turn(change.turn)
            is_undone = change.is_undone or (turn is not None and turn.is_undone and turn.undone_from is None)
            yield (
                None,
                change.turn,
                change.path or change.uri,
                change.action,
                *changed_lines(change),
                int(is_undone),
                "snapshot",
                None,
                self._fates.of(change.uri, change.turn, is_undone),
                language_of(change.path or change.uri, change.language),
                moment(_start_of(turn)),
                1,
            )

    def _turn(self, index: int | None) -> Turn | None:
        return self._turns.get(index) if index is not None else None


def _start_of(turn: Turn | None) -> datetime | None:
    return turn.timing.started_at if turn is not None else None


def is_edit_undone(edit: FileEdit, turn: Turn) -> bool:
    if turn.undone_from is not None and edit.position is not None:
        return edit.position >= turn.undone_from
    return turn.is_undone


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
            helper_of(usage),
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
    return position, trace.source, trace.path, trace.role, trace.pointer or row, " ".join(trace.marks) or None
