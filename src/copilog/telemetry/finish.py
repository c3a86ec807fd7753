"""From plans to lines: winners are read again, completed according to their plan, scanned for context and encoded.

Runs in any process: a `Batch` holds everything but the bytes of the input.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from copilog.errors import BadRecord
from copilog.patterns import has_match_within_limit
from copilog.tags import Catalogue, load_catalogue
from copilog.telemetry.collect import Reading
from copilog.telemetry.events import Event, Json, Place, prop, text_prop, timestamp_of, turn_index
from copilog.telemetry.evidence import Snapshot
from copilog.telemetry.inputs import Readable
from copilog.telemetry.merge import ENGINE, Plan
from copilog.telemetry.messages import read_messages
from copilog.telemetry.model_calls import Recipe, rebuilt_from
from copilog.telemetry.rereading import Fetch
from copilog.telemetry.scan import PROPERTIES, TagSummary, context_of
from copilog.trajectory import ConversationTrajectory, TrajectoryMessage, TrajectoryMetadata, encode_trajectory


class Finishing(msgspec.Struct, frozen=True):
    """The options that decide how conversations are finished."""

    reading: Reading
    tag_map: str | None = None
    pattern: str | None = None
    wants_summary: bool = False


class Batch(msgspec.Struct):
    """Some conversations, and the positions of their records."""

    plans: list[Plan]
    files: dict[int, Readable]
    recipes: dict[tuple[int, int], Recipe]  # of rebuilt snapshots
    finishing: Finishing


class Finished(msgspec.Struct):
    """Lines without line breaks, in the order of the plans, with None for those that a pattern excludes.

    `failed` has, by position, why a winner could not be read in full, though its outline could.
    """

    lines: list[bytes | None]
    summary: TagSummary | None = None
    failed: dict[int, tuple[str, str]] = {}  # code and reason


class Reread(msgspec.Struct):
    """A snapshot with its texts."""

    event: Event
    messages: list[TrajectoryMessage]
    truncated: bool
    recovered: bool


def finish(batch: Batch) -> Finished:
    """Return the lines of a batch."""
    finishing = batch.finishing
    catalogue = load_catalogue(Path(finishing.tag_map) if finishing.tag_map else None)
    pattern = re.compile(finishing.pattern) if finishing.pattern is not None else None
    finished = Finished([], TagSummary() if finishing.wants_summary else None)
    for position, plan in enumerate(batch.plans):
        line = None
        try:
            reader = Reader(batch)
            winner = reader.read(plan.winner)
            if pattern is None or has_match(winner.messages, pattern):
                trajectory = trajectory_from(plan, winner, reader, catalogue, finished.summary)
                line = encode_trajectory(trajectory)
        except BadRecord as error:
            finished.failed[position] = (error.code, str(error))
        except RecursionError:
            finished.failed[position] = ("bad-messages", "nested too deeply")
        finished.lines.append(line)
    return finished


def matching(batch: Batch) -> list[bool]:
    """Return which conversations of a batch have a user message that matches the pattern (R-33)."""
    pattern = re.compile(batch.finishing.pattern or "")
    return [_matches(plan, batch, pattern) for plan in batch.plans]


def _matches(plan: Plan, batch: Batch, pattern: re.Pattern[str]) -> bool:
    try:
        return has_match(Reader(batch).read(plan.winner).messages, pattern)
    except (BadRecord, RecursionError):
        return True  # so that it is finished, and reported, there


def has_match(messages: list[TrajectoryMessage], pattern: re.Pattern[str]) -> bool:
    return any(message.role == "user" and has_match_within_limit(pattern, message.content) for message in messages)


class Reader:
    """Reads snapshots again. Donors are cached for one conversation at a time."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._reading = batch.finishing.reading
        self._cached: dict[tuple[int, int], Reread | None] = {}
        self.fetch = Fetch(batch.files, self._reading.recovery)

    def shown(self, file: int) -> str:
        return self._batch.files[file].shown

    def read(self, snapshot: Snapshot) -> Reread:
        if snapshot.is_rebuilt:
            return self._read(rebuilt_from(self._batch.recipes[snapshot.seq], self.fetch), False)
        return self._read(*self.fetch.read(snapshot.place))

    def read_donor(self, snapshot: Snapshot) -> Reread | None:
        """Return a snapshot that may have missing fields, or None if it cannot be read in full."""
        if snapshot.seq not in self._cached:
            try:
                self._cached[snapshot.seq] = self.read(snapshot)
            except (BadRecord, RecursionError):
                self._cached[snapshot.seq] = None
        return self._cached[snapshot.seq]

    def read_answer(self, place: Place) -> TrajectoryMessage:
        return self._read(*self.fetch.read(place)).messages[-1]

    def _read(self, event: Event, recovered: bool) -> Reread:
        found = read_messages(event.properties, retention=self._reading.retention, recovery=self._reading.recovery)
        return Reread(event, found.messages, found.truncated, recovered or found.recovered)


def trajectory_from(
    plan: Plan, winner: Reread, reader: Reader, catalogue: Catalogue, summary: TagSummary | None
) -> ConversationTrajectory:
    messages = winner.messages
    for position, mode in plan.modes.items():
        messages[position].mode = mode
    for position, (model, source) in plan.models.items():
        messages[position].model, messages[position].model_source = model, source
    for position in plan.conflicts:
        messages[position].model_conflict = True
    merge_log = _merge_tools(plan, messages, reader)
    if plan.closing is not None:
        messages.append(_closing_answer(plan, reader))
    modes = [message.mode for message in messages if message.role == "user" and message.mode is not None]
    properties = winner.event.properties
    return ConversationTrajectory(
        conversation_id=plan.key,
        messages=messages,
        context=context_of(messages, _context_properties(plan, properties, reader), catalogue, summary),
        metadata=TrajectoryMetadata(
            mode=modes[0] if modes else None,
            intent=text_prop(properties, "intent"),
            detected_intent=text_prop(properties, "detectedIntent"),
            timestamp=timestamp_of(winner.event),
            turn_index=turn_index(properties),
            message_id=text_prop(properties, "messageId"),
            truncated=winner.truncated or None,
            recovered=winner.recovered or None,
            incomplete=plan.winner.is_incomplete or None,
            subagent=plan.winner.is_subagent or None,
            merge_log=merge_log or None,
        ),
        mode_distribution={mode: modes.count(mode) for mode in sorted(set(modes))},
        telemetry_type=winner.event.name,
        file_path=reader.shown(plan.winner.file),
    )


def _merge_tools(plan: Plan, messages: list[TrajectoryMessage], reader: Reader) -> list[tuple[int, str, str, int]]:
    """Copy the tool metadata of the first donor with a matching text to messages, with its origin (R-26 to R-29)."""
    log: list[tuple[int, str, str, int]] = []
    guarded = not plan.is_unguarded
    for position, donors in sorted(plan.tool_donors.items()):
        message = messages[position]
        field = "tool_calls" if message.role == "assistant" else "tool_call_id"
        for donor in donors:
            reread = reader.read_donor(donor)
            other = reread.messages[position] if reread is not None else None
            if other is None or (guarded and not is_compatible(message.content, other.content)):
                continue
            setattr(message, field, getattr(other, field))
            message.merged = [field]
            log.append((position, field, reader.shown(donor.file), donor.offset))
            break
    return log


def is_compatible(left: str, right: str) -> bool:
    """Return whether one text is how the other begins, except for spaces (R-28)."""
    left, right = " ".join(left.split()), " ".join(right.split())
    return left.startswith(right) or right.startswith(left)


def _closing_answer(plan: Plan, reader: Reader) -> TrajectoryMessage:
    assert plan.closing is not None
    answer = reader.read_answer(plan.closing.place)
    answer.appended = True
    if plan.closing.model is not None:
        answer.model, answer.model_source = plan.closing.model, ENGINE
        answer.model_conflict = plan.closing_conflicts or None
    return answer


def _context_properties(plan: Plan, properties: Json, reader: Reader) -> Json:
    """Return the context in the winner's event, and what it lacks from events made for that (R-34)."""
    found: Json = {}
    for name in PROPERTIES:
        value = prop(properties, name)
        if value is None and name in plan.contexts:
            value = prop(reader.fetch(plan.contexts[name]).properties, name)
        if value is not None:
            found[name] = value
    return found
