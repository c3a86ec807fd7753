"""Make the rows of the tables besides messages: turns, calls, edits, tokens, skills, relations, traces.

The rows answer questions about many conversations at once. They are computed when a conversation is stored, so that no
query has to open documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from typing import Any, TypeVar

from copilog import jsonio
from copilog.derive import agent_name, only_traces, repeated_prompts
from copilog.derive.calls import TurnsOfCalls, is_side_call
from copilog.derive.edit_outcomes import EditOutcomes, is_edit_undone
from copilog.derive.exit_codes import exit_code_of
from copilog.derive.failures import turn_status
from copilog.derive.git_contexts import git_contexts
from copilog.derive.helper_usage import helper_of
from copilog.derive.line_counts import RepeatedEdits, changed_lines, total_changes
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
from copilog.store.languages import language_of
from copilog.store.programs import programs_of
from copilog.store.rows import (
    FileEditRow,
    PromptShareRow,
    RelationRow,
    SkillRow,
    TokenUsageRow,
    ToolCallRow,
    TraceRow,
    TurnRow,
)
from copilog.store.schema import UNNAMED
from copilog.store.texts import Calls, Texts
from copilog.store.times import time_text
from copilog.text_cache import cached_by_text

LARGEST_NUMBER = 1 << 63

Number = TypeVar("Number", int, float)


# --- turns ----------------------------------------------------------------------------------------------------------


def turn_rows(conversation: Conversation, texts: list[Texts]) -> Iterator[TurnRow]:
    turns = {turn.index: turn for turn in conversation.turns}
    repeated = _repeated_prompts(conversation, texts) if len(turns) > 1 else ()
    first_tokens = _first_tokens(conversation)
    alone = only_traces(conversation)
    prompts = keys_by_turn(conversation)
    contexts = git_contexts(conversation)
    for turn in turns.values():
        agent, vote, timing, error, took = turn.agent, turn.vote, turn.timing, turn.error, duration_of(turn)
        yield TurnRow(
            position=turn.index,
            request_id=turn.request_id,
            status=turn_status(turn),
            agent=agent_name(agent) if agent else None,
            custom_agent=turn.custom_agent.name if turn.custom_agent else None,
            command=turn.command,
            mode=mode_of(turn),
            model=turn.model.name if turn.model else None,
            resolved_model=turn.ran_model.name if turn.ran_model else turn.model.resolved if turn.model else None,
            started_at=time_text(timing.started_at),
            elapsed_ms=number(took.elapsed_ms),
            first_progress_ms=number(
                timing.first_progress_ms if timing.first_progress_ms is not None else first_tokens.get(turn.index)
            ),
            waited_ms=number(took.waiting_ms),
            error=error.message if error else None,
            vote=(1 if vote.is_up else -1) if vote else None,
            completed_at=time_text(timing.completed_at),
            details=turn.details,
            vote_reason=vote.reason if vote else None,
            error_code=error.code if error else None,
            agent_evidence=(turn.custom_agent.evidence or None) if turn.custom_agent else None,
            is_retry=int(turn.index in repeated),
            is_system=int(turn.is_system_initiated),
            superseded=turn.superseded,
            branch_from=turn.branch.leaves_from if turn.branch else None,
            branch_trace=turn.branch.trace if turn.branch else None,
            only_trace=alone.get(turn.index),
            working_ms=number(took.working_ms),
            traces=max(1, len(turn.traces)),
            prompt=prompts.get(turn.index),
            copied_from=turn.copied_from,
            git_repository=contexts[turn.index].repository if turn.index in contexts else None,
            git_branch=contexts[turn.index].branch if turn.index in contexts else None,
        )


def _repeated_prompts(conversation: Conversation, texts: list[Texts]) -> set[int]:
    """Return the turns that repeat the prompt of the turn before them, by their searchable texts."""
    prompts: dict[int, str] = {}
    for message, row in zip(conversation.messages, texts, strict=False):
        if message.role == "user" and message.turn is not None and message.turn not in prompts and row.user:
            prompts[message.turn] = row.user.strip()
    return repeated_prompts(conversation, prompts)


def _first_tokens(conversation: Conversation) -> dict[int, Any]:
    """Return the time to the first token of each turn's first call, if a store of sessions recorded the calls."""
    found: dict[int, Any] = {}
    turns: TurnsOfCalls | None = None
    for usage in conversation.usage:
        first_ms = (usage.extra or {}).get("time_to_first_token_ms")
        if is_side_call(usage) or not isinstance(first_ms, int | float):
            continue
        turns = turns or TurnsOfCalls(conversation.turns)
        turn = turns.of(usage)
        if turn is not None:
            found.setdefault(turn, first_ms)
    return found


def mode_of(turn: Turn) -> str | None:
    return turn.mode.kind or turn.mode.name if turn.mode else None


def agent_of(turn: Turn) -> str | None:
    """Return the agent that answered: the custom agent, else the chat participant."""
    if turn.custom_agent is not None and turn.custom_agent.name:
        return turn.custom_agent.name
    return agent_name(turn.agent) if turn.agent is not None else None


# --- calls ----------------------------------------------------------------------------------------------------------


def call_rows(conversation: Conversation, calls: Calls) -> list[ToolCallRow]:
    """Return the rows of calls: their tool, outcome, and agent."""
    agents = {turn.index: agent_of(turn) for turn in conversation.turns} if calls.calls else {}
    messages, results, terminals = conversation.messages, calls.results, calls.terminals
    rows: list[ToolCallRow] = []
    for position, part, call in calls.calls:
        message = messages[position]
        turn, parent = message.turn, message.parent_call_id
        agent = calls.subagents.get(parent) if parent is not None else None
        if agent is None and turn is not None:
            agent = agents.get(turn)
        call_id, approval, subagent, outcome = call.id, call.approval, call.subagent, call.outcome
        result, terminal = results.get(call_id), terminals.get(call_id)
        rows.append(
            ToolCallRow(
                message=position,
                position=part,
                turn=turn,
                call_id=call_id,
                name=call.name,
                origin=call.origin,
                server=call.server,
                started_at=time_text(call.started_at),
                arguments_bytes=_size(call.arguments) if call.arguments is not None else None,
                result_bytes=_size(result.full_text or result.text) if result is not None else None,
                elapsed_ms=_elapsed_ms(call, terminal, calls.ended_at.get(call_id)),
                approval=approval.kind if approval else None,
                approval_detail=approval.detail if approval else None,
                agent=agent,
                subagent=(subagent.name or UNNAMED) if subagent else None,
                parent_call_id=parent,
                programs=_programs_in(terminal.command) if terminal is not None else None,
                exit_code=number(exit_code_of(call)),
                outcome=outcome.kind if outcome else None,
                outcome_reason=outcome.reason if outcome else None,
            )
        )
    return rows


@cached_by_text(512)
def _programs_in(command: str) -> str | None:
    """Return the programs of a command as a JSON list. Cached, as the same few commands are run repeatedly."""
    programs = programs_of(command)
    return jsonio.encode(programs) if programs else None


def _elapsed_ms(call: ToolCall, terminal: Terminal | None, ended_at: datetime | None) -> float | None:
    """Return the recorded duration of a call, else the time from its start to its result."""
    if terminal is not None and terminal.elapsed_ms is not None:
        return number(terminal.elapsed_ms)
    if call.subagent is not None and call.subagent.elapsed_ms is not None:
        return number(call.subagent.elapsed_ms)
    if call.elapsed_ms is not None:
        return number(call.elapsed_ms)
    if ended_at is None or call.started_at is None or ended_at < call.started_at:
        return None
    return (ended_at - call.started_at).total_seconds() * 1000


def _size(text: str) -> int:
    """Return the bytes of a text as UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


# --- edits ----------------------------------------------------------------------------------------------------------


def edit_rows(conversation: Conversation, calls: Calls) -> Iterator[FileEditRow]:
    """Yield edits of answers, then those that only arguments record, then those of the editing history."""
    argued = [(number_of_message, call) for number_of_message, _, call in calls.calls if call.edits]
    if not calls.edits and not argued and not conversation.file_changes:
        return
    rows = _EditRows(conversation, argued)
    made = ((number_of_message, edit) for number_of_message, edit in calls.edits if is_made(edit))
    for position, row in enumerate(chain(rows.of_answer(made), rows.of_arguments(argued), rows.of_history())):
        row.position = position
        yield row


class _EditRows:
    """Makes the rows of edits; their positions are set once all rows are made."""

    def __init__(self, conversation: Conversation, argued: list[tuple[int, ToolCall]]) -> None:
        self._conversation = conversation
        self._turns = {turn.index: turn for turn in conversation.turns}
        self._outcomes = EditOutcomes(conversation)
        self._repeated = RepeatedEdits(conversation.file_changes, (call for _, call in argued))

    def of_answer(self, edits: Iterable[tuple[int, FileEdit]]) -> Iterator[FileEditRow]:
        for number_of_message, edit in edits:
            message = self._conversation.messages[number_of_message]
            turn = self._turn(message.turn)
            is_undone = turn is not None and is_edit_undone(edit, turn)
            path = edit.path or edit.uri
            added, removed = changed_lines(edit)
            yield FileEditRow(
                position=0,
                message=number_of_message,
                turn=message.turn,
                path=path,
                action=edit.action,
                added=added,
                removed=removed,
                is_undone=int(is_undone),
                origin="answer",
                call_id=edit.call_id,
                fate=self._outcomes.of(edit.uri, message.turn, is_undone),
                language=language_of(path, None),
                created_at=time_text(message.created_at or _start_of(turn)),
                is_counted=int(not self._repeated.has(message.turn, edit)),
            )

    def of_arguments(self, calls: Iterable[tuple[int, ToolCall]]) -> Iterator[FileEditRow]:
        for number_of_message, call in calls:
            message = self._conversation.messages[number_of_message]
            turn = self._turn(message.turn)
            is_undone = turn is not None and turn.is_undone
            for edit in call.edits:
                added, removed = changed_lines(edit)
                yield FileEditRow(
                    position=0,
                    message=number_of_message,
                    turn=message.turn,
                    path=edit.path,
                    action=edit.action,
                    added=added,
                    removed=removed,
                    is_undone=int(is_undone),
                    origin="arguments",
                    call_id=call.id,
                    fate=self._outcomes.of(f"file://{edit.path}", message.turn, is_undone),
                    language=language_of(edit.path, None),
                    created_at=time_text(call.started_at or message.created_at or _start_of(turn)),
                    is_counted=int(not self._repeated.has(message.turn, edit)),
                )

    def of_history(self) -> Iterator[FileEditRow]:
        for change in total_changes(self._conversation.file_changes):
            turn = self._turn(change.turn)
            is_undone = change.is_undone or (turn is not None and turn.is_undone and turn.undone_from is None)
            added, removed = changed_lines(change)
            yield FileEditRow(
                position=0,
                message=None,
                turn=change.turn,
                path=change.path or change.uri,
                action=change.action,
                added=added,
                removed=removed,
                is_undone=int(is_undone),
                origin="snapshot",
                call_id=None,
                fate=self._outcomes.of(change.uri, change.turn, is_undone),
                language=language_of(change.path or change.uri, change.language),
                created_at=time_text(_start_of(turn)),
                is_counted=1,
            )

    def _turn(self, index: int | None) -> Turn | None:
        return self._turns.get(index) if index is not None else None


def _start_of(turn: Turn | None) -> datetime | None:
    return turn.timing.started_at if turn is not None else None


# --- tokens, skills, and what else there is ------------------------------------------------------------------------


def usage_rows(conversation: Conversation) -> Iterator[TokenUsageRow]:
    for position, (turn, usage) in enumerate(_usages(conversation)):
        yield TokenUsageRow(
            position=position,
            turn=turn,
            scope=usage.scope,
            source=usage.source,
            model=usage.model,
            input=number(usage.input),
            output=number(usage.output),
            cache_read=number(usage.cache_read),
            cache_write=number(usage.cache_write),
            reasoning=number(usage.reasoning),
            last_prompt=number(usage.last_prompt),
            premium_requests=number(usage.premium_requests),
            credits=number(usage.credits),
            is_estimated=int(usage.is_estimated),
            session_credits=number(usage.session_credits),
            parent_call_id=usage.parent_call_id,
            helper=helper_of(usage),
        )


def share_rows(conversation: Conversation) -> Iterator[PromptShareRow]:
    """Yield the rows of the shares of prompts."""
    shares = ((turn, share) for turn, usage in _usages(conversation) for share in usage.by_category)
    for position, (turn, share) in enumerate(shares):
        yield PromptShareRow(position, turn, share.category, share.label, number(share.percent))


def _usages(conversation: Conversation) -> Iterator[tuple[int | None, Usage]]:
    for turn in conversation.turns:
        for usage in turn.usage:
            yield turn.index, usage
    for usage in conversation.usage:
        yield None, usage


def number(recorded: Number | None) -> Number | None:
    """Return a recorded number; None if it is too large for a table. The document has it in any case."""
    return None if recorded is None or abs(recorded) >= LARGEST_NUMBER else recorded


def skill_rows(turns: Iterable[Turn]) -> Iterator[SkillRow]:
    skills = ((turn.index, skill) for turn in turns for skill in turn.skills)
    for position, (turn, skill) in enumerate(skills):
        yield SkillRow(position, turn, skill.name, skill.file, int(skill.is_loaded), skill.evidence or None)


def relation_rows(conversation: Conversation) -> Iterator[RelationRow]:
    for position, relation in enumerate(conversation.relations):
        yield RelationRow(position, relation.kind, relation.other_id, relation.reason)


def trace_row(position: int, trace: Provenance) -> TraceRow:
    row = f"{trace.table} {trace.row or ''}".rstrip() if trace.table else None
    return TraceRow(
        position=position,
        source=trace.source,
        path=trace.path,
        role=trace.role,
        place=trace.pointer or row,
        marks=" ".join(trace.marks) or None,
    )
