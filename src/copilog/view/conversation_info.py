"""Facts about a conversation: its files, participants, duration and usage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from copilog.derive import NOT_DONE, is_counted, without_superseded
from copilog.derive.charges import Charge
from copilog.derive.file_touches import CHANGES, FileTouch, file_touches
from copilog.derive.helper_usage import used_by_helpers
from copilog.derive.line_counts import counted_edits, line_counts_text, total_lines
from copilog.derive.outcomes import count_failures
from copilog.model import (
    ArguedEdit,
    Conversation,
    Provenance,
    ToolCall,
    Turn,
    Usage,
    best_usage,
    duration_of,
    parts_of,
    turn_number,
)
from copilog.view.terminal_text import clean_line
from copilog.view.wording import (
    MARKS,
    conflict_text,
    counted,
    elapsed_text,
    model_text,
    size_text,
    span_text,
    superseded_text,
    timestamp_text,
    title_text,
    usage_text,
)

MOST_TURNS = 200  # rows of the table
MOST_FILES = 100
MOST_TURNS_OF_A_FILE = 8
COUNTS = ("input", "output", "cache_read", "cache_write", "reasoning", "premium_requests", "credits")


@dataclass(slots=True, kw_only=True)
class Trace:
    """One file of the conversation."""

    role: str
    source: str
    path: str
    place: str
    facts: list[str]
    overruled: list[str]  # facts that another trace overruled


@dataclass(slots=True, kw_only=True)
class Share:
    """The share of a category in a prompt."""

    label: str
    percent: float


@dataclass(slots=True, kw_only=True)
class TurnRow:
    """A turn in the table of times and tokens."""

    turn: int
    status: str
    model: str
    started: str
    taken: str
    worked: str
    first: str
    waited: str
    input: int | None
    output: int | None
    cached: int | None
    cost: str
    source: str  # the source of the numbers


@dataclass(slots=True, kw_only=True)
class TouchedFile:
    """A file that tools or attachments touched."""

    path: str
    actions: str  # "read 3 times, edited"
    turns: list[int]  # the first of them, from 0
    other_turns: int  # how many more there are


@dataclass(slots=True, kw_only=True)
class Panel:
    """All facts about a conversation."""

    facts: list[tuple[str, str]]
    marks: list[tuple[str, str]]
    related: list[tuple[str, str, str]]  # kind, id, reason
    traces: list[Trace]
    usage: list[tuple[str, list[tuple[str, str]], str]]  # model, counts, source
    shares: list[Share]
    shares_of: str = ""
    turns: list[TurnRow] = field(default_factory=list)
    other_turns: list[tuple[int, str]] = field(default_factory=list)  # where they begin, text
    files: list[TouchedFile] = field(default_factory=list)  # the most touched first
    other_files: int = 0  # that are not listed


def panel_of(
    conversation: Conversation, *, is_whole: bool = False, first_turn: int = 0, charges: Sequence[Charge] = ()
) -> Panel:
    """Return all facts; of a very long conversation only some turns, unless all are requested.

    `charges` are those of the archive, which also knows what belongs to several turns together.
    """
    charged = {charge.turn: charge for charge in charges}
    superseded = [turn for turn in conversation.turns if not is_counted(turn)]
    conversation = without_superseded(conversation)
    marks = [*conversation.marks, *(["pending-edits"] if conversation.has_pending_edits else [])]
    shares_of, shares = _shares(conversation)
    turns = conversation.turns
    first, end = (0, len(turns)) if is_whole else (first_turn, first_turn + MOST_TURNS)
    files = touched_files(conversation)
    return Panel(
        facts=[*facts_of(conversation), *([("Superseded", superseded_text(superseded))] if superseded else [])],
        marks=[(clean_line(mark, 60), MARKS.get(mark, "")) for mark in marks],
        related=[
            (
                clean_line(relation.kind, 60),
                clean_line(relation.other_id, 200),
                clean_line(relation.reason or "", 200),
            )
            for relation in conversation.relations
        ],
        traces=[_trace(trace) for trace in conversation.provenance],
        usage=list(_usage(conversation, charges)),
        shares=shares,
        shares_of=shares_of,
        turns=[_row(turn, charged.get(turn.index)) for turn in turns[first:end]],
        other_turns=[
            (start, counted(number, f"{word} turn"))
            for start, number, word in (
                (max(first - MOST_TURNS, 0), min(first, len(turns)), "earlier"),
                (end, len(turns) - end, "more"),
            )
            if number > 0
        ],
        files=files if is_whole else files[:MOST_FILES],
        other_files=0 if is_whole else max(0, len(files) - MOST_FILES),
    )


def touched_files(conversation: Conversation) -> list[TouchedFile]:
    """Return the files that were touched: edited ones first, and those of most turns before others."""
    by_path: dict[str, list[FileTouch]] = {}
    for touch in file_touches(conversation):
        by_path.setdefault(touch.path, []).append(touch)
    ranked = sorted(by_path.items(), key=lambda item: _importance(item[1]), reverse=True)
    return [_touched_file(path, touches) for path, touches in ranked]


def _importance(touches: list[FileTouch]) -> tuple[bool, int, int]:
    is_changed = any(touch.action in CHANGES and touch.outcome not in NOT_DONE for touch in touches)
    return is_changed, len({touch.turn for touch in touches}), len(touches)


def _touched_file(path: str, touches: list[FileTouch]) -> TouchedFile:
    counts = Counter(
        f"{touch.action} ({touch.outcome})" if touch.outcome in NOT_DONE else touch.action for touch in touches
    )
    turns = sorted({touch.turn for touch in touches if touch.turn is not None})
    return TouchedFile(
        path=clean_line(path, 300),
        actions=", ".join(action if times == 1 else f"{action} {times:,} times" for action, times in counts.items()),
        turns=turns[:MOST_TURNS_OF_A_FILE],
        other_turns=max(0, len(turns) - MOST_TURNS_OF_A_FILE),
    )


def facts_of(conversation: Conversation) -> Iterator[tuple[str, str]]:
    """Yield names and values of the facts that have a line."""
    workspace = conversation.workspace
    start = conversation.started_at or conversation.updated_at
    yield from _fact("Title from", *title_text(conversation))
    yield from _fact("Id", conversation.id)
    yield from _fact("Source", conversation.source)
    yield from _fact("Assistant", conversation.assistant)
    yield from _fact("Application", conversation.application, conversation.location)
    if workspace is not None:
        yield from _fact("Workspace", workspace.folder or workspace.uri, workspace.authority)
        yield from _fact("Repository", workspace.repository, workspace.branch, workspace.commit)
    if start is not None:
        yield "Time", span_text(start, conversation.updated_at)
    yield from _times(conversation)
    yield from _fact("Models", *distinct(model_names(conversation)))
    modes = (turn.mode.kind or turn.mode.name for turn in conversation.turns if turn.mode is not None)
    yield from _fact("Modes", *distinct(modes))
    agents = (turn.custom_agent.name for turn in conversation.turns if turn.custom_agent is not None)
    yield from _fact("Custom agents", *distinct(agents))
    loaded = distinct(skill.name for turn in conversation.turns for skill in turn.skills if skill.is_loaded)
    known = {name.casefold() for name in loaded}
    every = distinct(skill.name for turn in conversation.turns for skill in turn.skills)
    yield from _fact("Skills loaded", *loaded)
    yield from _fact("Skills offered", *(name for name in every if name.casefold() not in known))
    yield "Content", ", ".join(content_text(conversation))


def _times(conversation: Conversation) -> Iterator[tuple[str, str]]:
    """Yield sums over the turns whose times are known."""
    took = [duration_of(turn) for turn in conversation.turns if is_counted(turn)]
    for name, times in (
        ("Elapsed time", [each.elapsed_ms for each in took]),
        ("Working time", [each.working_ms for each in took]),
        ("Waiting for you", [each.waiting_ms or None for each in took]),
    ):
        known = [time for time in times if time is not None]
        if known:
            yield name, elapsed_text(sum(known))


def _fact(name: str, *values: str | None) -> Iterator[tuple[str, str]]:
    words = [clean_line(value, 300) for value in values if value]
    if words:
        yield name, " · ".join(words)


def model_names(conversation: Conversation) -> Iterator[str]:
    for turn in conversation.turns:
        if words := model_text(turn):
            yield words


def distinct(words: Iterable[str | None]) -> list[str]:
    """Return each item once, in order."""
    return list(dict.fromkeys(word for word in words if word))


def content_text(conversation: Conversation, *, has_messages: bool = True) -> Iterator[str]:
    """Yield counts of turns, messages, calls, failed calls, edited files and unsent prompts, as text."""
    yield counted(len(conversation.turns), "turn")
    if has_messages:
        yield counted(len(conversation.messages), "message")
    calls = [part for part in parts_of(conversation) if isinstance(part, ToolCall)]
    if calls:
        yield counted(len(calls), "tool call")
    failed, errors = count_failures(calls)
    if failed:
        yield f"{counted(failed, 'call')} failed"
    if errors:
        yield f"{counted(errors, 'command')} ended with an error"
    edits = counted_edits(conversation)
    files = {edit.path or (edit.uri if not isinstance(edit, ArguedEdit) else None) for edit in edits}
    if files:
        yield f"{counted(len(files), 'file')} edited {line_counts_text(total_lines(edits))}".rstrip()
    if conversation.queued:
        yield counted(len(conversation.queued), "queued prompt")


def _trace(trace: Provenance) -> Trace:
    place = trace.pointer or " ".join(word for word in (trace.table, trace.row) if word)
    facts = [
        size_text(trace.size) if trace.size is not None else "",
        f"changed {timestamp_text(trace.modified_at)}" if trace.modified_at is not None else "",
    ]
    return Trace(
        role=trace.role,
        source=clean_line(trace.source, 60),
        path=clean_line(trace.path),
        place=clean_line(place, 300),
        facts=[fact for fact in facts if fact],
        overruled=[conflict_text(conflict) for conflict in trace.conflicts],
    )


# --- tokens -----------------------------------------------------------------------------------------------------


def _usage(conversation: Conversation, charges: Sequence[Charge]) -> Iterator[tuple[str, list[tuple[str, str]], str]]:
    """Yield what was spent; the usage recorded by model, else the sum of the turns; then helper requests."""
    if charges:
        total, unanswered = total_of(charges)
        counts = _counts_of(total)
        if unanswered is not None:
            counts.append(("premium requests of failed or cancelled turns", f"{unanswered:,.10g}"))
        if counts:
            yield "spent", counts, _of_turns(charges)
    yield from _usage_of_answers(conversation, has_sum=not charges)
    helpers = used_by_helpers(conversation)
    if helpers is not None:
        yield "helpers", _counts_of(helpers), clean_line(helpers.source, 200)


def usages_of(conversation: Conversation) -> Iterator[str]:
    """Yield the usage recorded for the conversation, one line each; counts of single calls are only in the JSON."""
    for usage in conversation.usage:
        if usage.scope != "call":
            facts = [clean_line(usage.model or "", 60), *usage_text(usage)]
            yield " · ".join(fact for fact in facts if fact)
    helpers = used_by_helpers(conversation)
    if helpers is not None:
        yield " · ".join([f"helpers ({clean_line(helpers.source, 100)})", *usage_text(helpers)])


def spent_text(charges: Sequence[Charge]) -> Iterator[str]:
    """Yield what the conversation used and cost, as a line; nothing if nothing was recorded."""
    total, unanswered = total_of(charges)
    words = usage_text(total)
    if unanswered is not None:
        words.append(f"{unanswered:g} premium {'request' if unanswered == 1 else 'requests'} failed or cancelled")
    if words:
        yield " · ".join([*words, _of_turns(charges)])


def total_of(charges: Sequence[Charge]) -> tuple[Usage, float | None]:
    """Return the sum of charges, and beside it the premium requests of turns that failed or were cancelled."""
    sums = {name: _sum([charge.usage for charge in charges], name) for name in COUNTS}
    answered = [charge.usage for charge in charges if not charge.is_unanswered]
    unanswered = [charge.usage for charge in charges if charge.is_unanswered]
    sums["premium_requests"] = _sum(answered, "premium_requests")
    return Usage(**sums), _sum(unanswered, "premium_requests")  # type: ignore[arg-type]


def _of_turns(charges: Sequence[Charge]) -> str:
    superseded = sum(charge.is_superseded for charge in charges)
    words = counted(sum(charge.turn is not None for charge in charges), "turn")
    return f"{words}, {superseded:,} superseded" if superseded else words


def _usage_of_answers(conversation: Conversation, *, has_sum: bool) -> Iterator[tuple[str, list[tuple[str, str]], str]]:
    recorded = [usage for usage in conversation.usage if usage.scope != "call"]
    for total in recorded:
        yield clean_line(total.model or "all models", 80), _counts_of(total), _source(total)
    if recorded or not has_sum:
        return
    usages = [usage for turn in conversation.turns if (usage := best_usage(turn)) is not None]
    if usages:
        sums = {name: _sum(usages, name) for name in COUNTS}
        added = Usage(**sums, is_estimated=any(usage.is_estimated for usage in usages))  # type: ignore[arg-type]
        sources = ", ".join(distinct(clean_line(usage.source, 60) for usage in usages))
        yield "turns added up", _counts_of(added), sources


def _sum(usages: list[Usage], name: str) -> float | None:
    values = [value for usage in usages if (value := getattr(usage, name)) is not None]
    return sum(values) if values else None


def _counts_of(usage: Usage) -> list[tuple[str, str]]:
    counts: list[tuple[str, float | None]] = [
        ("input", usage.input),
        ("output", usage.output),
        ("from cache", usage.cache_read),
        ("to cache", usage.cache_write),
        ("reasoning", usage.reasoning),
        ("last prompt", usage.last_prompt),
        ("premium requests", usage.premium_requests),
        ("credits", usage.credits),
    ]
    return [(name, f"{value:,.10g}") for name, value in counts if value is not None]


def _source(usage: Usage) -> str:
    words = clean_line(usage.source, 80) or "not said"
    return f"{words} (estimated)" if usage.is_estimated else words


def _shares(conversation: Conversation) -> tuple[str, list[Share]]:
    """Return the shares of the last prompt that has them: the latest prompt is the most complete."""
    for turn in reversed(conversation.turns):
        for usage in turn.usage:
            shares = [
                Share(label=clean_line(share.label or share.category, 60), percent=share.percent)
                for share in usage.by_category
                if share.percent is not None
            ]
            if shares:
                return f"turn {turn_number(turn.index)}", shares
    return "", []


def _row(turn: Turn, charge: Charge | None) -> TurnRow:
    usage = best_usage(turn)
    timing = turn.timing
    took = duration_of(turn)
    return TurnRow(
        turn=turn.index,
        status=turn.status or "",
        model=model_text(turn),
        started=timestamp_text(timing.started_at) if timing.started_at is not None else "",
        taken=elapsed_text(took.elapsed_ms) if took.elapsed_ms is not None else "",
        worked=elapsed_text(took.working_ms) if took.working_ms is not None else "",
        first=elapsed_text(timing.first_progress_ms) if timing.first_progress_ms is not None else "",
        waited=elapsed_text(took.waiting_ms) if took.waiting_ms else "",
        input=(usage.input if usage.input is not None else usage.last_prompt) if usage is not None else None,
        output=usage.output if usage is not None else None,
        cached=usage.cache_read if usage is not None else None,
        cost=_cost_of(turn, charge),
        source=_source(usage) if usage is not None else "",
    )


def _cost_of(turn: Turn, charge: Charge | None) -> str:
    """Return the credits of a turn, else its premium requests; `÷` marks what was recorded for several turns."""
    usages = [charge.usage] if charge is not None else turn.usage
    spent = next((item.credits for item in usages if item.credits is not None), None)
    premium = next((item.premium_requests for item in usages if item.premium_requests is not None), None)
    cost = f"{spent:g} credits" if spent is not None else f"{premium:g} premium" if premium is not None else ""
    return f"÷{cost}" if cost and charge is not None and charge.is_spread else cost
