"""The stages of an extraction in their order: find, collect, combine, plan, finish.

find      paths -> files -> ranges of bytes       inputs.py, spool.py
collect   range -> evidence                       collect.py, in parallel
combine   evidence of all ranges -> one           evidence.py, in any order
plan      who wins, what is merged into it        merge.py
finish    winners read again -> lines             finish.py, in parallel
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path

import msgspec

from copilog.diagnostics import Report
from copilog.engine import Engine, engine_for
from copilog.telemetry.collect import Collector, Reading, collect
from copilog.telemetry.events import Event, Place, text_prop
from copilog.telemetry.evidence import Evidence, Snapshot, combine
from copilog.telemetry.finish import Batch, Finished, Finishing, finish, matching
from copilog.telemetry.inputs import InputFile, Readable, parts_of, prepare
from copilog.telemetry.merge import Plan, plan_of, plans
from copilog.telemetry.messages import system_prompt
from copilog.telemetry.model_calls import Call, Recipe, Skipped, calls, recipe
from copilog.telemetry.rereading import Fetch
from copilog.telemetry.run_ledgers import SOURCE, fill_report
from copilog.telemetry.sampling import SampleMode, chosen
from copilog.telemetry.scan import TagSummary
from copilog.telemetry.shapes import Shape
from copilog.telemetry.spool import spool_folder

Progress = Callable[[str, int, int], None]  # the stage, its progress, its total

MIB = 1 << 20
LARGEST_PART, SMALLEST_PART = 32 * MIB, MIB
WORTH_PROCESSES = 8 * MIB  # a smaller input is read sooner than a process starts
BATCH = 16  # conversations


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of an extraction; the command's options under their own names."""

    sample: int | None = None
    seed: int = 0
    sample_mode: SampleMode = "random"
    regex: str | None = None
    require_system_first: bool = True
    json_recovery: bool = False
    context_tag_map: str | None = None
    wants_tag_summary: bool = False
    merge_tool_metadata: bool = True
    jobs: int = 1
    compat: bool = False
    correlate: bool = True
    streaming: bool = True

    def reading(self) -> Reading:
        return Reading(self.compat, self.correlate, self.json_recovery, self.require_system_first)

    def finishing(self) -> Finishing:
        return Finishing(self.reading(), self.context_tag_map, self.regex, self.wants_tag_summary)


class Extraction:
    """One run. `lines` does the work; `report` and `summary` are complete at its end."""

    def __init__(
        self,
        files: Sequence[InputFile],
        options: Options,
        report: Report | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.options = options
        self.report = report if report is not None else Report()
        self.summary = TagSummary() if options.wants_tag_summary else None
        self.keys: frozenset[str] = frozenset()  # of all conversations that were found
        self.rivals: list[str] = []  # conversations of other sources that take part in sampling
        self.chosen_rivals: set[str] | None = None
        self._files = files
        self._progress = progress or (lambda _stage, _done, _total: None)

    def lines(self) -> Generator[bytes, None, None]:
        """Yield the trajectories as JSON, without line breaks, in first-seen order."""
        with spool_folder() as spool, engine_for(self._jobs()) as engine:
            files = self._prepared(spool, engine)
            evidence = self._collected(files, engine)
            fill_report(self.report, files.values(), evidence.books)
            reading = self.options.reading()
            add_rebuilt_calls(evidence, files, reading, self.report)
            found = plans(evidence, reading, merge_tools=self.options.merge_tool_metadata)
            self.keys = frozenset(plan.key for plan in found)
            batches = Batches(found, files, evidence, self.options.finishing())
            yield from self._finished(batches, engine)

    def _jobs(self) -> int:
        return self.options.jobs if self._bytes() >= WORTH_PROCESSES else 1

    def _bytes(self) -> int:
        return sum(map(_size_of, self._files))

    def _prepared(self, spool: str, engine: Engine) -> dict[int, Readable]:
        """Return the inputs as plain files; packed ones are unpacked in parallel."""
        readables = {}
        done, total = 0, self._bytes()
        for readable in engine.map(_prepare, [(file, spool) for file in self._files]):
            readables[readable.index] = readable
            done += _size_of(self._files[len(readables) - 1])
            if readable.spooled or len(readables) == len(self._files):
                self._progress("unpacking", done, total)
        return readables

    def _collected(self, files: dict[int, Readable], engine: Engine) -> Evidence:
        total = sum(file.size for file in files.values())
        size = max(SMALLEST_PART, min(LARGEST_PART, total // (self.options.jobs * 4)))
        parts = [part for file in files.values() for part in parts_of(file, size, streaming=self.options.streaming)]
        reading = self.options.reading()
        evidence = Evidence()
        done = 0
        self._progress("reading", done, total)
        tasks = [(part, reading) for part in parts]
        for part, found in zip(parts, engine.map(collect, tasks), strict=True):
            evidence = combine(evidence, found)
            done += part.end - part.start
            self._progress("reading", done, total)
        return evidence

    def _finished(self, batches: Batches, engine: Engine) -> Iterator[bytes]:
        if self.options.sample is not None:
            batches.keep(self._sampled(batches, engine))
        done, total = 0, sum(plan.winner.length for plan in batches.plans)
        self._progress("writing", done, total)
        following = iter(batches.plans)
        finished: Finished
        for finished in engine.map(finish, batches.all()):
            self._add_summary(finished)
            for position, line in enumerate(finished.lines):
                plan = next(following)
                done += plan.winner.length
                if position in finished.failed:
                    plan, line = self._without_winner(plan, *finished.failed[position], batches)
                if line is not None:
                    batches.count(plan, self.report)
                    yield line
            self._progress("writing", done, total)

    def _without_winner(self, plan: Plan, code: str, reason: str, batches: Batches) -> tuple[Plan, bytes | None]:
        """Finish the conversation with the next best snapshots; the one that failed is bad."""
        while True:
            ledger = self.report.open(batches.shown(plan), SOURCE)
            ledger.used -= 1
            ledger.reject(code, reason, offset=plan.winner.offset)
            again = batches.plan_without_winner(plan, merge_tools=self.options.merge_tool_metadata)
            if again is None:
                return plan, None
            finished = finish(batches.batch([again]))
            self._add_summary(finished)
            if not finished.failed:
                return again, finished.lines[0]
            plan = again
            code, reason = finished.failed[0]

    def _add_summary(self, finished: Finished) -> None:
        if self.summary is not None and finished.summary is not None:
            self.summary = self.summary.combine(finished.summary)

    def _sampled(self, batches: Batches, engine: Engine) -> list[Plan]:
        candidates = batches.plans
        if self.options.regex is not None:
            fits = [fit for answer in engine.map(matching, batches.all()) for fit in answer]
            candidates = [plan for plan, fit in zip(candidates, fits, strict=True) if fit]
        keys = [plan.key for plan in candidates]
        keys += [rival for rival in self.rivals if rival not in self.keys]
        wanted = chosen(keys, self.options.sample or 0, self.options.seed, self.options.sample_mode)
        self.chosen_rivals = {keys[position] for position in wanted if position >= len(candidates)}
        return [plan for position, plan in enumerate(candidates) if position in wanted]


def _size_of(file: InputFile) -> int:
    try:
        return Path(file.path).stat().st_size
    except OSError:
        return 0


def _prepare(task: tuple[InputFile, str]) -> Readable:
    return prepare(*task)


class Batches:
    """The plans, divided into batches with everything that they need."""

    def __init__(self, found: list[Plan], files: dict[int, Readable], evidence: Evidence, finishing: Finishing) -> None:
        self.plans = found
        self._files = files
        self._evidence = evidence
        self._finishing = finishing

    def keep(self, wanted: list[Plan]) -> None:
        self.plans = wanted

    def all(self) -> Iterator[Batch]:
        for group in _batched(self.plans, BATCH):
            yield self.batch(group)

    def batch(self, group: list[Plan]) -> Batch:
        files = {place[0] for plan in group for place in _record_positions(plan)}
        recipes = {
            snapshot.seq: self._recipe(snapshot)
            for plan in group
            for snapshot in _snapshots_of(plan)
            if snapshot.is_rebuilt
        }
        # A recipe's records may be in any file.
        known = self._files if recipes else {index: self._files[index] for index in files}
        return Batch(group, known, recipes, self._finishing)

    def plan_without_winner(self, plan: Plan, *, merge_tools: bool) -> Plan | None:
        snapshots = self._evidence.snapshots[plan.key]
        del snapshots[plan.winner.seq]
        if not snapshots:
            return None
        reading = self._finishing.reading
        return plan_of(plan.key, list(snapshots.values()), self._evidence, reading, merge_tools=merge_tools)

    def _recipe(self, snapshot: Snapshot) -> Recipe:
        assert snapshot.call_id is not None
        fetch = Fetch(self._files, self._finishing.reading.recovery)
        return recipe(self._evidence.pieces, snapshot.call_id, fetch)

    def shown(self, plan: Plan) -> str:
        return self._files[plan.winner.file].shown

    def count(self, plan: Plan, report: Report) -> None:
        report.open(self.shown(plan), SOURCE).conversations += 1


def _batched(found: list[Plan], size: int) -> Iterator[list[Plan]]:
    for start in range(0, len(found), size):
        yield found[start : start + size]


def _snapshots_of(plan: Plan) -> Iterator[Snapshot]:
    yield plan.winner
    for donors in plan.tool_donors.values():
        yield from donors


def _record_positions(plan: Plan) -> Iterator[Place]:
    yield from (snapshot.place for snapshot in _snapshots_of(plan))
    yield from plan.contexts.values()
    if plan.closing is not None:
        yield plan.closing.place


def add_rebuilt_calls(evidence: Evidence, files: dict[int, Readable], reading: Reading, report: Report) -> None:
    """Add snapshots of model calls that were sent in pieces (R-15)."""
    if evidence.pieces.is_empty():
        return
    for call in calls(evidence.pieces, Fetch(files, reading.recovery), reading.retention):
        why_not = call.reason if isinstance(call, Skipped) else _add_call(evidence, call, reading)
        if why_not is not None:
            ledger = report.open(files[call.seq[0]].shown, SOURCE)
            ledger.used -= 1  # the event that begins the call was counted as used for a snapshot
            ledger.ignore(why_not)
            ledger.note("skipped-call", f"a model call was not used: {why_not}", "info", offset=call.seq[1])


def _add_call(evidence: Evidence, call: Call, reading: Reading) -> str | None:
    shape = call.shape
    if not shape.letters:
        return "no_messages"
    if not shape.letters.startswith("s") and system_prompt(call.properties):
        shape = Shape("s" + shape.letters, shape.others)
    event = Event(call.name, call.name[call.name.rfind("/") + 1 :], call.time, call.properties)
    conversation = text_prop(call.properties, "conversationId")
    assert conversation is not None, "calls without one are skipped"
    collector = Collector(evidence, reading, call.seq[0])
    place = (*call.seq, call.length)
    return collector.add(conversation, event, place, shape, is_rebuilt=True, is_incomplete=call.incomplete)
