"""The turns of a conversation: a line each for the outline, a head above and a foot below what was said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from markupsafe import Markup

from copilog.derive import agent_name, in_reading_order, is_counted, is_going, reason_of, repeated_prompts
from copilog.derive.notes import error_facts, followup_words, notes_of_turn
from copilog.derive.references import used_files
from copilog.model import Conversation, Message, Prompt, ToolCall, Turn, best_usage, prose_of
from copilog.render.branches import only_trace_words
from copilog.render.footer import details_words
from copilog.render.html.addresses import Addresses
from copilog.render.html.blocks import Chip, Edit, Labelled, Stage
from copilog.render.html.edits import changes_of
from copilog.render.html.frames import Framed, Frames
from copilog.render.html.markdown import markdown_html
from copilog.render.html.notes import labelled
from copilog.render.request import EDIT_VERBS
from copilog.render.safe import clean_line
from copilog.render.words import (
    counted,
    duration_facts,
    model_words,
    moment_words,
    path_words,
    usage_words,
    used_file_words,
)
from copilog.tags import user_text

LONGEST_LINE = 90
BADGES = {
    "cancelled": "cancelled",
    "failed": "failed",
    "needs-input": "not finished",
    "pending": "not finished",
    "unanswered": "not answered",
}
GOING = {"needs-input": "waits for you", "pending": "running"}  # while that may still be so


@dataclass(slots=True, kw_only=True)
class OutlineEntry:
    """One turn in the outline."""

    kind: ClassVar[str] = "turn"
    turn: int
    address: str
    message: int | None  # its first message
    words: str
    status: str  # complete, failed, cancelled, ...
    marks: list[str] = field(default_factory=list)  # undone, retried, voted up
    calls: int = 0
    is_superseded: bool = False


@dataclass(slots=True, kw_only=True)
class TurnHead:
    """What stands above a turn."""

    kind: ClassVar[str] = "turn-head"
    turn: int
    number: int
    time: str = ""
    iso_time: str = ""
    badges: list[tuple[str, str]] = field(default_factory=list)  # look, words
    model: str = ""
    mode: str = ""
    changes: list[str] = field(default_factory=list)  # of model, mode and agent since the turn before
    before: list[str] = field(default_factory=list)  # what the user did with earlier edits
    pressed: str = ""
    only_trace: str = ""  # where the turn is, if one trace of several has it
    raw: str | None = None


@dataclass(slots=True, kw_only=True)
class TurnFoot:
    """What stands below a turn."""

    kind: ClassVar[str] = "turn-foot"
    turn: int
    error: Markup | None = None
    error_facts: list[str] = field(default_factory=list)
    is_cancelled: bool = False
    facts: list[str] = field(default_factory=list)
    vote: str = ""  # up, down
    vote_reason: str = ""
    skills: list[str] = field(default_factory=list)
    references: list[Chip] = field(default_factory=list)
    citations: list[tuple[str, str]] = field(default_factory=list)  # licence, address
    followups: list[str] = field(default_factory=list)
    notes: list[Labelled] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)


# --- the outline ------------------------------------------------------------------------------------------------


def outline_of(conversation: Conversation, addresses: Addresses) -> list[OutlineEntry]:
    """A line for each turn, in the order in which they are read."""
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
            address=addresses.turn(turn.index),
            message=firsts.get(turn.index),
            words=clean_line(prompts.get(turn.index, ""), LONGEST_LINE) or _without_words(turn),
            status=turn.status or "complete",
            marks=[words for _, words in _marks(turn, repeated)],
            calls=calls.get(turn.index, 0),
            is_superseded=not is_counted(turn),
        )
        for turn, _ in in_reading_order(conversation)
    ]


def framed_outline(conversation: Conversation, entries: Iterable[OutlineEntry]) -> list[Any]:
    """The lines of an outline, those of branches and of superseded turns in their frames."""
    return list(Frames(conversation).around(Framed(entry, entry.turn) for entry in entries))


def first_prompts(conversation: Conversation) -> dict[int, str]:
    """What the user asked first in each turn."""
    prompts: dict[int, str] = {}
    for message in conversation.messages:
        turn = message.turn
        if message.role == "user" and message.parent_call_id is None and turn is not None and turn not in prompts:
            words = _words_of(message)
            if words:
                prompts[turn] = words
    return prompts


def _words_of(message: Message) -> str:
    words = prose_of(message.parts).strip()
    if words and "<" in words:
        return user_text(words) or ""
    sent = (part.text for part in message.parts if isinstance(part, Prompt) and part.scope == "turn")
    return words or next((own for text in sent if (own := user_text(text))), "")


def _without_words(turn: Turn) -> str:
    if turn.confirmation:
        return f"[{clean_line(turn.confirmation, 60)}]"
    if turn.is_system_initiated:
        return clean_line(turn.system_label or "", 80) or "begun by the system"
    return f"/{clean_line(turn.command, 60)}" if turn.command else "(no words)"


def _marks(turn: Turn, repeated: set[int]) -> Iterator[tuple[str, str]]:
    """What is unusual about a turn: how it looks, and in words."""
    if turn.status is not None and turn.status in BADGES:
        is_open = is_going(turn.status, turn.timing.started_at, turn.timing.completed_at)
        yield turn.status, GOING[turn.status] if is_open else BADGES[turn.status]
    if turn.index in repeated:
        yield "retried", "asked again"
    if turn.superseded:
        yield "superseded", clean_line(reason_of(turn), 80)
    elif turn.is_undone:
        yield "undone", "undone"
    elif turn.undone_from is not None:
        yield "undone", "partly undone"
    if turn.is_hidden and not turn.superseded:
        yield "hidden", "hidden in VS Code"
    elif turn.is_request_hidden and not turn.superseded:
        yield "hidden", "request hidden in VS Code"
    if turn.vote is not None:
        yield ("up", "voted up") if turn.vote.is_up else ("down", "voted down")


# --- above a turn -----------------------------------------------------------------------------------------------


def turn_head(turn: Turn, before: Turn | None, repeated: set[int], stage: Stage) -> TurnHead:
    """The number of a turn, when it began, how it ended, and what is different from the one before."""
    started = turn.timing.started_at
    return TurnHead(
        turn=turn.index,
        number=turn.index + 1,
        time=moment_words(started) if started is not None else "",
        iso_time=started.isoformat() if started is not None else "",
        badges=[mark for mark in _marks(turn, repeated) if mark[0] not in ("up", "down")],
        model=model_words(turn),
        mode=_mode_name(turn),
        changes=list(_changes(turn, before)),
        before=list(_edits_before(turn, stage)),
        pressed=clean_line(turn.confirmation or "", 100),
        only_trace=only_trace_words(turn, stage.only_traces),
        raw=stage.addresses.raw_turn(turn.index),
    )


def _mode_name(turn: Turn) -> str:
    if turn.custom_agent is not None and turn.custom_agent.name:
        return f"custom agent {clean_line(turn.custom_agent.name, 80)}"
    if turn.mode is not None and (turn.mode.name or turn.mode.kind):
        return f"{clean_line(turn.mode.kind or turn.mode.name or '', 60)} mode"
    return ""


def _changes(turn: Turn, before: Turn | None) -> Iterator[str]:
    if before is None:
        return
    for what, now, then in (
        ("Model", model_words(turn), model_words(before)),
        ("Mode", _mode_name(turn), _mode_name(before)),
    ):
        if now and then and now != then:
            yield f"{what} changed from {then} to {now}"


def _edits_before(turn: Turn, stage: Stage) -> Iterator[str]:
    """What the user did with earlier edits before sending this."""
    by_action: dict[str, list[str]] = {}
    for event in turn.edited_files:
        by_action.setdefault(event.action, []).append(path_words(event.uri or "", stage.folder) or "a file")
    for action, names in by_action.items():
        yield f"{EDIT_VERBS.get(action, clean_line(action, 40)).capitalize()} the edits to {', '.join(names)}"


# --- below a turn -----------------------------------------------------------------------------------------------


def turn_foot(turn: Turn, numbers: list[int], stage: Stage) -> TurnFoot:
    """How a turn ended, how long it took, what it cost, and what came with it."""
    error = turn.error
    is_cancelled = turn.status == "cancelled"
    is_plain = is_cancelled and error is not None and error.code == "canceled"
    return TurnFoot(
        turn=turn.index,
        error=markdown_html(error.message or "It failed without a message.") if error and not is_plain else None,
        error_facts=[clean_line(fact, 200) for fact in error_facts(error)] if error else [],
        is_cancelled=is_cancelled,
        facts=list(_facts(turn)),
        vote="" if turn.vote is None else "up" if turn.vote.is_up else "down",
        vote_reason=clean_line(turn.vote.reason or "", 200) if turn.vote is not None else "",
        skills=[clean_line(skill.name, 60) for skill in turn.skills if skill.is_loaded],
        references=_references(turn, stage),
        citations=[
            (clean_line(citation.license or "unknown", 60), clean_line(citation.uri or "", 300))
            for citation in turn.citations
        ],
        followups=[clean_line(followup_words(followup), 300) for followup in turn.followups],
        notes=[labelled(note, stage) for note in notes_of_turn(turn, stage.conversation)],
        edits=list(changes_of(turn, numbers, stage)),
    )


def _facts(turn: Turn) -> Iterator[str]:
    if turn.details and (words := details_words(turn)):
        yield words
    if turn.agent is not None:
        yield clean_line(f"@{agent_name(turn.agent)}", 80)
    if turn.command:
        yield clean_line(f"/{turn.command}", 80)
    yield from duration_facts(turn)
    best = best_usage(turn)
    if best is not None:
        yield from usage_words(best)
    if best is None or best.credits is None:
        spent = next((usage.credits for usage in turn.usage if usage.credits is not None), None)
        if spent is not None:
            yield f"{spent:g} credits"
    if turn.rounds:
        yield counted(len(turn.rounds), "call of the model", "calls of the model")


def _references(turn: Turn, stage: Stage) -> list[Chip]:
    """What the answer was based on, each file once."""
    chips: list[Chip] = []
    for used in used_files(turn, stage.folder):
        facts = [clean_line(used.status_words, 200)] if used.status_words else []
        chips.append(Chip(label="used", name=used_file_words(used, stage.folder), facts=facts))
    return chips
