"""The turns of a conversation: a line each for the outline, a head above and a foot below their messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from msgspec.structs import replace

from copilog.derive import agent_name, in_reading_order, is_counted, may_still_run, reason_of, repeated_prompts
from copilog.derive.costs_in_details import credits_in
from copilog.derive.counting import last_number
from copilog.derive.failures import has_failed
from copilog.derive.notes import error_facts, followup_text, notes_of_turn
from copilog.derive.references import used_files
from copilog.derive.running import status_label
from copilog.model import Conversation, Message, Prompt, ToolCall, Turn, Usage, best_usage, prose_of, turn_number
from copilog.tags import user_text
from copilog.view.blocks import TurnFoot, TurnHead
from copilog.view.build_state import BuildState
from copilog.view.frames import Framed, Frames
from copilog.view.messages import speaker_of
from copilog.view.parts import changes_of, edits_before, is_typed
from copilog.view.terminal_text import clean_line
from copilog.view.wording import (
    BADGES,
    GOING,
    counted,
    details_text,
    duration_facts,
    model_text,
    only_trace_text,
    timestamp_text,
    usage_text,
    used_file_text,
)

LONGEST_LINE = 90


@dataclass(slots=True, kw_only=True)
class OutlineEntry:
    """One turn in the outline."""

    kind: ClassVar[str] = "turn"
    turn: int
    message: int | None  # its first message
    words: str
    status: str  # complete, failed, cancelled, ...
    marks: list[str] = field(default_factory=list)  # undone, retried, voted up
    calls: int = 0
    is_superseded: bool = False


# --- the outline --------------------------------------------------------------------------------------------------


def outline_of(conversation: Conversation) -> list[OutlineEntry]:
    """Return a line for each turn, in reading order."""
    prompts = first_prompts(conversation)
    firsts: dict[int | None, int] = {}
    calls: dict[int | None, int] = {}
    for number, message in enumerate(conversation.messages):
        firsts.setdefault(message.turn, number)
        for part in message.parts:
            if isinstance(part, ToolCall):
                calls[message.turn] = calls.get(message.turn, 0) + 1
    repeated = repeated_prompts(conversation, prompts)
    return [
        OutlineEntry(
            turn=turn.index,
            message=firsts.get(turn.index),
            words=clean_line(prompts.get(turn.index, ""), LONGEST_LINE) or _text_without_prompt(turn),
            status=turn.status or "complete",
            marks=[words for _, words in marks_of(turn, repeated)],
            calls=calls.get(turn.index, 0),
            is_superseded=not is_counted(turn),
        )
        for turn, _ in in_reading_order(conversation)
    ]


def framed_outline(conversation: Conversation, entries: Iterable[OutlineEntry]) -> list[Any]:
    """Return the lines of an outline, with branches and superseded turns in frames."""
    return list(Frames(conversation).around(Framed(entry, entry.turn) for entry in entries))


def first_prompts(conversation: Conversation) -> dict[int, str]:
    """Return the first prompt of each turn."""
    prompts: dict[int, str] = {}
    for message in conversation.messages:
        turn = message.turn
        if message.role == "user" and message.parent_call_id is None and turn is not None and turn not in prompts:
            words = _prompt_text(message)
            if words:
                prompts[turn] = words
    return prompts


def _prompt_text(message: Message) -> str:
    words = prose_of(message.parts).strip()
    if words and "<" in words and not is_typed(message):
        return user_text(words) or ""
    sent = (part.text for part in message.parts if isinstance(part, Prompt) and part.scope == "turn")
    return words or next((own for text in sent if (own := user_text(text))), "")


def _text_without_prompt(turn: Turn) -> str:
    if turn.confirmation:
        return f"[{clean_line(turn.confirmation, 60)}]"
    if turn.is_system_initiated:
        return clean_line(turn.system_label or "", 80) or "begun by the system"
    return f"/{clean_line(turn.command, 60)}" if turn.command else "(no words)"


def marks_of(turn: Turn, repeated: set[int]) -> Iterator[tuple[str, str]]:
    """Yield what is unusual about a turn: a style and a text each."""
    if turn.superseded:
        yield "superseded", clean_line(reason_of(turn), 80)
    elif turn.is_undone:
        yield "undone", "undone"
    elif turn.undone_from is not None:
        yield "undone", "partly undone"
    if turn.status is not None and turn.status in BADGES:
        is_open = may_still_run(turn.status, turn.timing.started_at, turn.timing.completed_at)
        yield turn.status, GOING[turn.status] if is_open else BADGES[turn.status]
    if turn.index in repeated:
        yield "retried", "asked again"
    if turn.is_hidden and not turn.superseded:
        yield "hidden", "hidden in VS Code"
    elif turn.is_request_hidden and not turn.superseded:
        yield "hidden", "request hidden in VS Code"
    if turn.vote is not None:
        yield ("up", "voted up") if turn.vote.is_up else ("down", "voted down")


# --- above a turn -------------------------------------------------------------------------------------------------


def turn_head(turn: Turn, before: Turn | None, repeated: set[int], stage: BuildState) -> TurnHead:
    """Return the turn's number, start and outcome, and how its settings differ from the turn before."""
    started = turn.timing.started_at
    return TurnHead(
        turn=turn.index,
        number=turn_number(turn.index),
        of=last_number(stage.conversation),
        speaker=speaker_of(turn),
        time=timestamp_text(started) if started is not None else "",
        iso_time=started.isoformat() if started is not None else "",
        badges=[mark for mark in marks_of(turn, repeated) if mark[0] not in ("up", "down")],
        model=model_text(turn),
        mode=_mode_name(turn),
        changes=list(_changes(turn, before)),
        before=edits_before([(event.action, event.uri) for event in turn.edited_files], stage.folder),
        pressed=clean_line(turn.confirmation or "", 100),
        only_trace=only_trace_text(turn, stage.only_traces),
        is_superseded=not is_counted(turn),
    )


def _mode_name(turn: Turn) -> str:
    if turn.custom_agent is not None and turn.custom_agent.name:
        return f"custom agent {clean_line(turn.custom_agent.name, 80)}"
    if turn.mode is not None and (turn.mode.name or turn.mode.kind):
        return f"{clean_line(turn.mode.kind or turn.mode.name or '', 60)} mode"
    return ""


def _modes(turn: Turn) -> Iterator[str]:
    if turn.mode is not None and (turn.mode.kind or turn.mode.name):
        yield clean_line(f"{turn.mode.kind or turn.mode.name} mode", 80)
    if turn.custom_agent is not None:
        yield clean_line(f"custom agent {turn.custom_agent.name or ''}", 100)


def _changes(turn: Turn, before: Turn | None) -> Iterator[str]:
    if before is None:
        return
    for what, now, then in (
        ("Model", model_text(turn), model_text(before)),
        ("Mode", _mode_name(turn), _mode_name(before)),
    ):
        if now and then and now != then:
            yield f"{what} changed from {then} to {now}"


# --- below a turn -------------------------------------------------------------------------------------------------


def turn_foot(turn: Turn, numbers: list[int], stage: BuildState) -> TurnFoot:
    """Return how a turn ended, its duration and cost, and its references. `numbers` are its messages."""
    error = turn.error
    is_cancelled = turn.status == "cancelled"
    is_plain = is_cancelled and error is not None and error.code == "canceled"
    best = best_usage(turn)
    loaded = {skill.name for skill in turn.skills if skill.is_loaded}
    return TurnFoot(
        turn=turn.index,
        status=status_label(turn) or "",
        model=model_text(turn),
        modes=list(_modes(turn)),
        error=error.message or "It failed without a message." if error is not None and not is_plain else "",
        error_facts=[clean_line(fact, 200) for fact in error_facts(error)] if error is not None else [],
        is_failed=has_failed(turn),
        is_cancelled=is_cancelled,
        details=details_text(turn) if turn.details else "",
        who=list(_participants(turn)),
        times=duration_facts(turn),
        amounts=list(_amounts(turn)),
        vote="" if turn.vote is None else "up" if turn.vote.is_up else "down",
        vote_reason=clean_line(turn.vote.reason or "", 200) if turn.vote is not None else "",
        skills=[clean_line(skill.name, 60) for skill in turn.skills if skill.is_loaded],
        offered_skills=[clean_line(skill.name, 60) for skill in turn.skills if skill.name not in loaded],
        shares=[
            f"{clean_line(share.label or share.category, 60)} {share.percent:g} %"
            for share in (best.by_category if best is not None else ())
            if share.percent is not None
        ],
        references=[
            (used_file_text(used, stage.folder), clean_line(used.status_label, 200))
            for used in used_files(turn, stage.folder)
        ],
        citations=[
            (clean_line(citation.license or "unknown", 60), clean_line(citation.uri or "", 300), citation.snippet or "")
            for citation in turn.citations
        ],
        followups=[clean_line(followup_text(followup), 300) for followup in turn.followups],
        notes=notes_of_turn(turn, stage.conversation),
        edits=list(changes_of(turn.index, numbers, stage)),
        last=numbers[-1] if numbers else 0,
    )


def _participants(turn: Turn) -> Iterator[str]:
    if turn.agent is not None:
        yield clean_line(f"@{agent_name(turn.agent)}", 80)
    if turn.command:
        yield clean_line(f"/{turn.command}", 80)


def _amounts(turn: Turn) -> Iterator[str]:
    """Yield tokens and cost; credits only if the line of details does not say the same."""
    best = best_usage(turn)
    known = [best, *turn.usage] if best is not None else turn.usage
    spent = next((usage.credits for usage in known if usage.credits is not None), None)
    if best is not None:
        yield from usage_text(replace(best, credits=None))
    if spent is not None and spent != credits_in(turn.details or ""):
        yield from usage_text(Usage(credits=spent))
    if turn.rounds:
        yield counted(len(turn.rounds), "call of the model", "calls of the model")
