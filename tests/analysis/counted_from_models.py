"""Figures counted once more, from the conversations themselves: a plain walk through turns, messages and parts.

Nothing here reads a table of the archive, so that a figure and its drill-down can be held against it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

from copilog.derive import agent_name, is_counted, model_of
from copilog.derive.documents import documents_of
from copilog.derive.exit_codes import exit_code_of
from copilog.derive.failures import turn_status
from copilog.derive.model_names import key_of
from copilog.model import Conversation, ToolCall, ToolResult, Turn, duration_of
from copilog.store.schema import UNNAMED

Key = tuple[str, ...]
Counts = dict[str, dict[Key, dict[str, float]]]  # figure -> key -> id of a conversation -> amount
LONG_ID = 20
AUTOMATIC = ("setting", "granted", "not-needed")
ENDS = {"complete": "completed", "cancelled": "cancelled", "failed": "failed"}


def counted_from(conversations: list[Conversation]) -> Counts:
    """Return what each conversation adds to each figure; amounts of nothing are left out."""
    counts: Counts = defaultdict(lambda: defaultdict(lambda: defaultdict(float)))
    copies = _copies(conversations)
    for conversation in conversations:
        turns = {
            turn.index: turn
            for turn in conversation.turns
            if is_counted(turn) and (conversation.id, turn.index) not in copies
        }
        for name, key, amount in _figures_of(conversation, turns):
            counts[name][key][conversation.id] += amount
    return {
        name: {
            key: found
            for key, by_id in by_key.items()
            if (found := {id_: amount for id_, amount in by_id.items() if amount})
        }
        for name, by_key in counts.items()
    }


def _copies(conversations: list[Conversation]) -> set[tuple[str, int]]:
    """Return the turns that an earlier conversation has, too."""
    first: dict[tuple[str, datetime | None], str] = {}
    copies = set()
    for conversation in sorted(conversations, key=lambda one: (one.started_at is None, one.started_at or datetime.min)):
        for turn in filter(is_counted, conversation.turns):
            started = turn.timing.started_at
            if turn.request_id and (started is not None or len(turn.request_id) >= LONG_ID):
                owner = first.setdefault((turn.request_id, started), conversation.id)
                if owner != conversation.id:
                    copies.add((conversation.id, turn.index))
    return copies


Found = Iterator[tuple[str, Key, float]]  # figure, key, amount


def _figures_of(conversation: Conversation, turns: dict[int, Turn]) -> Found:
    yield "totals.conversations", (), 1
    yield "totals.sources.times", (conversation.provenance[0].source,), 1
    for document, _ in documents_of(conversation):
        if document.turn is None or document.turn in turns:
            yield "totals.documents.times", (document.kind,), 1
    touched = conversation.updated_at or conversation.started_at
    for turn in turns.values():
        yield from _of_turn(turn)
        yield from _of_clock("turns", turn.timing.started_at or touched)
    for message in conversation.messages:
        if message.turn is not None and message.turn not in turns:
            continue
        yield "totals.messages", (), 1
        of_turn = turns[message.turn] if message.turn is not None else None
        for part in message.parts:
            if isinstance(part, ToolCall):
                yield from _of_call(part, conversation)
                yield from _of_clock(
                    "tool_calls", (of_turn.timing.started_at if of_turn is not None else None) or touched
                )


def _of_clock(what: str, at: datetime | None) -> Found:
    if at is not None:
        local = at.astimezone()
        yield f"time.by_day.{what}", (f"{local:%Y-%m-%d}",), 1
        yield f"time.by_weekday.{what}", (f"{local:%A}",), 1
        yield f"time.by_hour.{what}", (f"{local:%H}",), 1


def _of_turn(turn: Turn) -> Found:
    status, took, model = turn_status(turn), duration_of(turn), key_of(model_of(turn) or "")
    yield "totals.turns", (), 1
    yield "work.turns", (), 1
    yield f"work.{ENDS.get(status or '', 'unknown_ends')}", (), 1
    if turn.vote is not None:
        yield f"work.votes_{'up' if turn.vote.is_up else 'down'}", (), 1
        if turn.vote.reason:
            yield "work.vote_reasons.times", (turn.vote.reason,), 1
    for name, amount in (("elapsed", took.elapsed_ms), ("working", took.working_ms), ("waiting", took.waiting_ms)):
        yield f"work.{name}_ms", (), amount or 0
    yield "work.timed_turns", (), took.elapsed_ms is not None
    yield "work.working_turns", (), took.working_ms is not None
    if model:
        yield "models.models.turns", (model,), 1
        yield "models.models.failed", (model,), status == "failed"
    else:
        yield "models.unknown_turns", (), 1
    names = {
        "custom": (turn.custom_agent.name or UNNAMED) if turn.custom_agent else None,
        "participant": agent_name(turn.agent) if turn.agent else None,
    }
    for kind, agent in names.items():
        if agent:
            yield "agents.agents.turns", (kind, agent.casefold()), 1
            yield "agents.agents.failed", (kind, agent.casefold()), status == "failed"
    for skill in turn.skills:
        yield "skills.skills.loaded", (skill.name.casefold(),), skill.is_loaded


def _of_call(call: ToolCall, conversation: Conversation) -> Found:
    outcome = call.outcome.kind if call.outcome else None
    approval = call.approval.kind if call.approval else None
    decision = "unknown_confirmations"
    if "denied" in (outcome, approval):
        decision = "denied"
    elif approval in AUTOMATIC:
        decision = "automatic"
    elif approval == "user":
        decision = "by_user"
    facts = {
        "calls": 1,
        "failed": outcome == "failed",
        "command_errors": exit_code_of(call) not in (None, 0),
        decision: 1,
    }
    yield "totals.tool_calls", (), 1
    for name, amount in facts.items():
        yield f"tools.{name}", (), amount
        if name != "unknown_confirmations":
            yield f"tools.tools.{name}", (call.name,), amount
        if call.origin == "mcp" and name in ("calls", "failed"):
            yield f"tools.servers.{name}", (call.server or UNNAMED,), amount
    results = [part for one in conversation.messages for part in one.parts if isinstance(part, ToolResult)]
    result = next((part for part in reversed(results) if part.call_id == call.id), None)
    if result is not None:
        yield "tools.tools.result_bytes", (call.name,), len((result.full_text or result.text or "").encode())
    if call.subagent is not None:
        name = (call.subagent.name or UNNAMED).casefold()
        yield "agents.agents.turns", ("subagent", name), 1
        yield "agents.agents.failed", ("subagent", name), outcome == "failed"
