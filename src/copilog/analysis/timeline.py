"""Lay out one conversation as a waterfall: what ran when, and what it waited for.

The axis is time at work. After a long time without activity, as between two evenings, the axis has a break, so that
seconds stay readable. Much is recorded without a time, mostly in VS Code: what happened in a turn at an unrecorded time
is laid out in its order and marked as a guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from copilog.analysis.figures import Figures
from copilog.derive import is_branched, is_counted, model_of, turns_before
from copilog.derive.counting import branch_name
from copilog.derive.exit_codes import exit_code_of
from copilog.derive.outcomes import outcome_of
from copilog.derive.running import status_label
from copilog.derive.times import next_starts
from copilog.model import Conversation, Message, Terminal, ToolCall, ToolResult, Turn, duration_of, turn_number
from copilog.store.details import agent_of
from copilog.store.schema import UNNAMED
from copilog.store.times import time_text

LONGEST_GAP_MS = 20_000.0  # between turns, as drawn
UNKNOWN_TURN_MS = 10_000.0  # of a turn whose duration cannot be determined
MAIN = "main"


class Span(Figures, kw_only=True):
    """An operation that took time. Offsets are those of the axis, in milliseconds."""

    kind: str  # turn, first-token, tool, subagent, wait
    name: str
    track: int
    start_ms: float
    end_ms: float
    turn: int  # from 0, deprecated
    number: int = 0  # of the turn, from 1
    at: str | None = None  # when it began, if that was recorded
    message: int | None = None
    status: str | None = None  # of a turn; of a call its outcome
    exit_code: int | None = None  # of the command that a call ran
    is_guessed: bool = False  # its turn is recorded, but not its time

    def __post_init__(self) -> None:
        self.number = turn_number(self.turn)


class Switch(Figures, kw_only=True):
    """A change of the model or of the agent."""

    kind: str  # model, agent
    before: str
    after: str
    at_ms: float
    turn: int  # from 0, deprecated
    number: int = 0  # of the turn, from 1

    def __post_init__(self) -> None:
        self.number = turn_number(self.turn)


class Break(Figures, kw_only=True):
    """A time without activity that the axis leaves out."""

    at_ms: float
    gap_ms: float


class Timeline(Figures, kw_only=True):
    tracks: list[str]  # the main conversation, then branches and sub-agents in the order of their start
    spans: list[Span]
    switches: list[Switch]
    breaks: list[Break]
    length_ms: float  # of the axis
    working_ms: float | None  # of all turns that record it
    guessed: int  # spans whose time is not recorded


def timeline_of(conversation: Conversation) -> Timeline:
    """Return the waterfall of a conversation."""
    drawing = _Drawing(conversation)
    turns = _in_time(conversation)
    for turn in turns:
        drawing.add(turn)
    spans = drawing.spans
    worked = [took for turn in turns if (took := duration_of(turn).working_ms) is not None]
    return Timeline(
        tracks=drawing.tracks,
        spans=spans,
        switches=list(_switches(conversation, drawing.starts)),
        breaks=drawing.breaks,
        length_ms=max((span.end_ms for span in spans), default=0.0),
        working_ms=sum(worked) if worked else None,
        guessed=sum(span.is_guessed for span in spans),
    )


def _in_time(conversation: Conversation) -> list[Turn]:
    """Return the turns that count, by their start: branches ran at the same time as the trunk."""
    if not is_branched(conversation):
        return [turn for turn in conversation.turns if is_counted(turn)]
    before = turns_before(conversation)
    starts: dict[int, datetime] = {}
    long_ago = datetime.min.replace(tzinfo=UTC)
    for turn in conversation.turns:
        last = before[turn.index]
        known = starts.get(last.index, long_ago) if last is not None else long_ago
        starts[turn.index] = turn.timing.started_at or known
    return sorted(filter(is_counted, conversation.turns), key=lambda turn: (starts[turn.index], turn.index))


class _Call:
    """A tool call, with what determines its time."""

    def __init__(self, number: int, message: Message, part: ToolCall) -> None:
        self.number = number
        self.parent = message.parent_call_id
        self.part = part
        self.started_at = part.started_at or (part.subagent.started_at if part.subagent is not None else None)
        self.elapsed_ms = part.subagent.elapsed_ms if part.subagent is not None else None
        self.ended_at: datetime | None = None

    def length_ms(self) -> float | None:
        if self.elapsed_ms is not None:
            return max(self.elapsed_ms, 0.0)
        if self.started_at is not None and self.ended_at is not None and self.ended_at >= self.started_at:
            return _ms(self.ended_at - self.started_at)
        return None


class _Drawing:
    """The waterfall under construction, turn by turn."""

    def __init__(self, conversation: Conversation) -> None:
        self.spans: list[Span] = []
        self.breaks: list[Break] = []
        self.tracks: list[str] = [MAIN]
        self.starts: dict[int, float] = {}  # of turns, on the axis
        self._track_of: dict[str, int] = {}  # of sub-agents, by the call that started them
        self._track_of_branch: dict[tuple[int | None, str], int] = {}
        self._offsets: dict[str, float] = {}  # of calls, from the begin of their turn
        self._calls = _calls_by_turn(conversation)
        self._times = _times_by_turn(conversation)
        self._next_starts = next_starts(conversation)
        self._cursor = 0.0  # the end of the last turn, on the axis
        self._ended_at: datetime | None = None  # and its time

    def add(self, turn: Turn) -> None:
        times = self._times.get(turn.index, [])
        begun = turn.timing.started_at or (times[0] if times else None)
        length = duration_of(turn).elapsed_ms
        if length is None and begun is not None:
            length = _recorded_ms(begun, times, self._calls.get(turn.index, []), self._next_starts.get(turn.index))
        start = self._start_of(begun)
        self.starts[turn.index] = start
        whole = Span(
            kind="turn",
            name=model_of(turn) or "turn",
            track=self._track_for(turn),
            start_ms=start,
            end_ms=start + (length if length is not None else UNKNOWN_TURN_MS),
            turn=turn.index,
            at=time_text(begun),
            status=status_label(turn),
            is_guessed=begun is None or length is None,
        )
        self.spans.append(whole)
        self._fill(turn, whole, begun)
        self._cursor = whole.end_ms
        if begun is not None:
            self._ended_at = begun + timedelta(milliseconds=length or 0)

    def _track_for(self, turn: Turn) -> int:
        """Return the main track, or that of the turn's branch."""
        if turn.branch is None:
            return 0
        key = turn.branch.leaves_from, turn.branch.trace
        if key not in self._track_of_branch:
            self._track_of_branch[key] = len(self.tracks)
            self.tracks.append(branch_name(turn.branch))
        return self._track_of_branch[key]

    def _start_of(self, begun: datetime | None) -> float:
        """Return the offset on the axis: as long after the turn before as recorded, except for long breaks."""
        if not self.spans:
            return 0.0
        if begun is None or self._ended_at is None:
            return self._cursor
        gap = _ms(begun - self._ended_at)
        if gap > LONGEST_GAP_MS:
            self.breaks.append(Break(at_ms=self._cursor, gap_ms=gap))
            gap = LONGEST_GAP_MS
        return max(self._cursor + gap, 0.0)

    def _fill(self, turn: Turn, whole: Span, begun: datetime | None) -> None:
        """Add the spans of a turn."""
        first = turn.timing.first_progress_ms
        if first is not None and first >= 0:
            self.spans.append(_part_of(whole, "first-token", "first token", 0.0, min(first, _length(whole))))
        calls = self._calls.get(turn.index, [])
        known = {call.part.id for call in calls}
        inner: dict[str | None, list[_Call]] = {}
        for call in calls:
            inner.setdefault(call.parent if call.parent in known else None, []).append(call)
        self._add_calls(inner, None, whole, begun, min(first or 0.0, _length(whole)), _length(whole))
        waited = duration_of(turn).waiting_ms
        if waited:
            asked = [call for call in calls if call.part.approval and call.part.approval.kind == "user"]
            until = self._offsets.get(asked[0].part.id, 0.0) if asked else _length(whole)
            start = min(max(until - waited, 0.0), _length(whole) - waited)
            self.spans.append(_part_of(whole, "wait", "waiting for the user", start, start + waited, is_guessed=True))

    def _add_calls(
        self,
        inner: dict[str | None, list[_Call]],
        parent: str | None,
        whole: Span,
        begun: datetime | None,
        start: float,
        end: float,
    ) -> None:
        """Add calls between two offsets of the turn: those with a time at that time, the others in their order."""
        calls = inner.pop(parent, [])
        slot = max(end - start, 0.0) / (len(calls) or 1)
        for number, call in enumerate(calls):
            took = call.length_ms()
            if call.started_at is not None and begun is not None:
                offset = min(max(_ms(call.started_at - begun), 0.0), _length(whole))
                length, is_guessed = min(took or 0.0, _length(whole) - offset), took is None
            else:
                offset = start + number * slot
                length, is_guessed = min(took if took is not None else slot, max(end - offset, 0.0)), True
            self._offsets[call.part.id] = offset
            self.spans.append(self._span_of(call, whole, offset, offset + length, is_guessed))
            self._add_calls(inner, call.part.id, whole, begun, offset, offset + length)

    def _span_of(self, call: _Call, whole: Span, start: float, end: float, is_guessed: bool) -> Span:
        span = _part_of(whole, "tool", call.part.name, start, end, is_guessed=is_guessed)
        span.track = self._track_of.get(call.parent, whole.track) if call.parent is not None else whole.track
        span.message, span.at = call.number, time_text(call.started_at)
        span.status, span.exit_code = outcome_of(call.part).kind, exit_code_of(call.part)
        subagent = call.part.subagent
        if subagent is not None:
            span.kind, span.name = "subagent", subagent.name or UNNAMED
            span.track = self._track_of.setdefault(call.part.id, len(self.tracks))
            if span.track == len(self.tracks):
                self.tracks.append(span.name)
        return span


def _part_of(whole: Span, kind: str, name: str, start: float, end: float, *, is_guessed: bool = False) -> Span:
    """Return a span within a turn; its offsets are those from the turn's begin."""
    return Span(
        kind=kind,
        name=name,
        track=whole.track,
        start_ms=whole.start_ms + start,
        end_ms=whole.start_ms + max(start, end),
        turn=whole.turn,
        is_guessed=is_guessed or whole.is_guessed,
    )


def _recorded_ms(
    begun: datetime, times: list[datetime], calls: list[_Call], next_start: datetime | None
) -> float | None:
    """Return the time up to the last event of a turn that has a time, but at most up to the next turn."""
    ends = [_ms(time - begun) for time in times]
    ends += [_ms(call.started_at - begun) + (call.length_ms() or 0.0) for call in calls if call.started_at is not None]
    last = max(ends, default=0.0)
    if next_start is not None and next_start > begun:
        last = min(last, _ms(next_start - begun))
    return last if last > 0 else None


def _calls_by_turn(conversation: Conversation) -> dict[int, list[_Call]]:
    found: dict[int, list[_Call]] = {}
    by_id: dict[str, _Call] = {}
    for number, message in enumerate(conversation.messages):
        for part in message.parts:
            if isinstance(part, ToolCall):
                call = by_id[part.id] = _Call(number, message, part)
                if message.turn is not None:
                    found.setdefault(message.turn, []).append(call)
            elif isinstance(part, ToolResult) and part.call_id in by_id:
                by_id[part.call_id].ended_at = message.created_at
            elif isinstance(part, Terminal) and part.call_id in by_id:
                by_id[part.call_id].elapsed_ms = part.elapsed_ms
                by_id[part.call_id].started_at = by_id[part.call_id].started_at or part.started_at
    return found


def _times_by_turn(conversation: Conversation) -> dict[int, list[datetime]]:
    found: dict[int, list[datetime]] = {}
    for message in conversation.messages:
        if message.turn is not None and message.created_at is not None:
            found.setdefault(message.turn, []).append(message.created_at)
    return found


def _switches(conversation: Conversation, starts: dict[int, float]) -> Iterator[Switch]:
    last = turns_before(conversation)
    for kind, name_of in (("model", model_of), ("agent", agent_of)):
        names: dict[int | None, str | None] = {}  # the last one recorded up to a turn
        for turn in filter(is_counted, conversation.turns):
            turn_before = last[turn.index]
            before = names.get(turn_before.index) if turn_before is not None else None
            name = name_of(turn)
            if name and before and name != before:
                yield Switch(kind=kind, before=before, after=name, at_ms=starts[turn.index], turn=turn.index)
            names[turn.index] = name or before


def _length(span: Span) -> float:
    return span.end_ms - span.start_ms


def _ms(delta: timedelta) -> float:
    return delta.total_seconds() * 1000
