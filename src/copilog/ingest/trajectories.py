"""Write trajectories of named files and folders: rebuild telemetry, rewrite conversations of every other source.

Telemetry comes first, in first-seen order; then conversations in the order of their files. A conversation in both is
written once, as telemetry has it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import msgspec

from copilog.diagnostics import Ledger, Report
from copilog.errors import UsageError
from copilog.ingest.discovery import founds_in, identify_or_note
from copilog.ingest.reading import read, read_folder
from copilog.sources import Probe, identify
from copilog.tags import load_catalogue
from copilog.telemetry.file_detection import begins_with_telemetry
from copilog.telemetry.finish import has_match
from copilog.telemetry.inputs import InputFile, LeftOut, list_files
from copilog.telemetry.pipeline import Extraction, Options, Progress
from copilog.telemetry.run_ledgers import SOURCE
from copilog.telemetry.sampling import chosen
from copilog.telemetry.scan import TagSummary, context_of
from copilog.telemetry.summary import write_summary
from copilog.trajectory import ConversationTrajectory, trajectories_of, trajectory_pieces

AnyPath = str | os.PathLike[str]

_decode = msgspec.json.Decoder(ConversationTrajectory).decode


def extract(
    paths: AnyPath | Sequence[AnyPath],
    *,
    sample: int | None = None,
    seed: int = 0,
    sample_mode: Literal["random", "first"] = "random",
    regex: str | None = None,
    require_system_first: bool = True,
    json_recovery: bool = False,
    context_tag_map: AnyPath | None = None,
    context_tag_summary_dir: AnyPath | None = None,
    merge_tool_metadata: bool = True,
    jobs: int = 1,
    compat: bool = False,
    correlate: bool = True,
    streaming: bool = True,
    report: Report | None = None,
) -> Iterator[ConversationTrajectory]:
    """Yield one trajectory per conversation of the named files and folders.

    The options are those of `copilog extract`. Without `correlate` a message has only role and text, and no other
    event is used for modes and models. Without `streaming` files are read in one part each; the result is the same.
    A summary of tags is written if its path is given.
    """
    options = Options(
        sample=sample,
        seed=seed,
        sample_mode=sample_mode,
        regex=regex,
        require_system_first=require_system_first,
        json_recovery=json_recovery,
        context_tag_map=None if context_tag_map is None else os.fspath(context_tag_map),
        wants_tag_summary=context_tag_summary_dir is not None,
        merge_tool_metadata=merge_tool_metadata,
        jobs=jobs,
        compat=compat,
        correlate=correlate,
        streaming=streaming,
    )
    run = Trajectories(paths, options, report)
    return _decoded(run, context_tag_summary_dir)


def _decoded(run: Trajectories, summary_folder: AnyPath | None) -> Iterator[ConversationTrajectory]:
    for line in run.lines():
        yield _decode(line)
    if summary_folder is not None and run.summary is not None:
        write_summary(run.summary, Path(summary_folder))


class Trajectories:
    """One run of `extract`. Wrong paths and options raise at once; `lines` does the work."""

    def __init__(
        self,
        paths: AnyPath | Sequence[AnyPath],
        options: Options,
        report: Report | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.report = report if report is not None else Report()
        self.conversations = 0
        self.told_already = 0  # conversations of other sources that telemetry also has
        self.options = _checked(options)
        given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        self.inputs = sort_inputs(given)
        self._named = [os.fspath(path) for path in given if not Path(path).is_dir()]
        for entry in self.inputs.left_out:
            self.report.open(entry.shown, SOURCE).note(entry.code, entry.note)
        self._telemetry = Extraction(self.inputs.telemetry, options, self.report, progress)
        self._catalogue = load_catalogue(Path(options.context_tag_map) if options.context_tag_map else None)
        self._own_summary = TagSummary()

    @property
    def summary(self) -> TagSummary | None:
        """Return the tags of all messages that were written."""
        if self._telemetry.summary is None:
            return None
        return self._telemetry.summary.combine(self._own_summary)

    def failures(self) -> list[str]:
        """Return why the output of this run must not replace an earlier one; empty if all inputs were usable.

        A named file could not be opened or decoded at all, a library is missing, or there was no usable record.
        """
        reasons = [reason for path in self._named if (reason := self._failure_of(path))]
        for ledger in self.report.files.values():
            reasons += [f"{ledger.path}: {note.reason}" for note in ledger.notes if note.code == "missing-library"]
        if not reasons and not any(map(_usable, self.report.files.values())) and not self.report.quiet.used:
            reasons.append("no input had a usable record")
        return list(dict.fromkeys(reasons))

    def _failure_of(self, path: str) -> str | None:
        shown = os.fsencode(path).decode("utf-8", "replace")
        ledger = self.report.files.get(shown) or self.report.files.get(path)
        if ledger is None or _usable(ledger):
            return None
        fatal = [note for note in ledger.diagnostics() if note.level == "error"]
        is_undecodable = fatal and ledger.bad_count() == ledger.seen
        return f"{shown}: {fatal[0].reason}" if is_undecodable else None

    def lines(self) -> Generator[bytes, None, None]:
        """Yield the trajectories as JSON, without line breaks."""
        with closing(self.lines_in_pieces()) as lines:
            yield from map(b"".join, lines)

    def lines_in_pieces(self) -> Generator[Iterable[bytes], None, None]:
        """Yield the same lines, each in pieces, which need less memory."""
        wanted = None
        if self.options.sample is not None and self.inputs.has_conversations:
            rivals = [trajectory.conversation_id for trajectory in self._fitting(Report())]
            self._telemetry.rivals = rivals
        if self.inputs.telemetry:
            with closing(self._telemetry.lines()) as lines:
                for line in lines:
                    self.conversations += 1
                    yield (line,)
            wanted = self._telemetry.chosen_rivals
        elif self.options.sample is not None:
            rivals = self._telemetry.rivals
            positions = chosen(rivals, self.options.sample, self.options.seed, self.options.sample_mode)
            wanted = {rivals[position] for position in positions}
        for trajectory in self._fitting(self.report):
            key = trajectory.conversation_id
            if key in self._telemetry.keys:
                self.told_already += 1
            elif wanted is None or key in wanted:
                self.conversations += 1
                summary = self._own_summary if self.options.wants_tag_summary else None
                trajectory.context = context_of(trajectory.messages, trajectory.context, self._catalogue, summary)
                yield trajectory_pieces(trajectory)

    def _fitting(self, report: Report) -> Iterator[ConversationTrajectory]:
        """Yield the conversations that are not telemetry, and that match the pattern."""
        pattern = re.compile(self.options.regex) if self.options.regex is not None else None
        for conversation in self.inputs.conversations(report):
            for trajectory in trajectories_of(conversation):
                if pattern is None or has_match(trajectory.messages, pattern):
                    yield trajectory


def _usable(ledger: Ledger) -> int:
    """Return the number of usable records, including those that an option leaves out."""
    return ledger.used + ledger.ignored.get("not_system_first", 0)


def _checked(options: Options) -> Options:
    if options.regex is not None:
        try:
            re.compile(options.regex)
        except re.error as error:
            raise UsageError(f"the pattern {options.regex!r} is not a valid regular expression: {error}") from None
    if options.sample is not None and options.sample < 0:
        raise UsageError("a sample must have 0 or more conversations")
    if options.jobs < 1:
        raise UsageError("at least one job is needed")
    if options.context_tag_map is not None:
        try:
            load_catalogue(Path(options.context_tag_map))
        except (OSError, ValueError) as error:
            raise UsageError(f"the tag map cannot be used: {error}") from None
    return options


class Inputs(msgspec.Struct):
    """The named files and folders, by how they are read."""

    telemetry: list[InputFile] = []
    files: list[Path] = []
    folders: list[Path] = []
    passed_over: frozenset[Path] = frozenset()  # telemetry files in those folders
    left_out: list[LeftOut] = []
    unknown: list[str] = []  # files with a suffix of telemetry that are neither telemetry nor conversations

    @property
    def has_conversations(self) -> bool:
        return bool(self.files or self.folders)

    def paths(self) -> Iterator[str | Path]:
        """Yield all named files, and the telemetry files of named folders."""
        yield from (file.path for file in self.telemetry)
        yield from self.files

    def conversations(self, report: Report) -> Iterator[Any]:
        for path in self.files:
            yield from read(path, report=report)
        for folder in self.folders:
            yield from read_folder(folder, report, self.passed_over)


def sort_inputs(given: Sequence[AnyPath]) -> Inputs:
    """Separate telemetry from other files, by its first event; a file that no source claims counts as telemetry."""
    inputs = Inputs()
    telemetry: list[InputFile] = []
    for path in given:
        if Path(path).is_dir():
            telemetry += _sort_folder(path, inputs)
        else:
            [file] = list_files([path])
            if begins_with_telemetry(Path(path)) or identify(Probe(Path(path))) is None:
                telemetry.append(file)
            else:
                inputs.files.append(Path(path))
    inputs.telemetry = _in_order(telemetry)
    return inputs


def _sort_folder(folder: AnyPath, inputs: Inputs) -> list[InputFile]:
    try:
        candidates = list_files([folder], inputs.left_out)
        nothing: UsageError | None = None
    except UsageError as error:  # the folder may still have databases of conversations
        candidates, nothing = [], error
    events = [file for file in candidates if begins_with_telemetry(Path(file.path))]
    passed_over = frozenset(Path(file.path) for file in events)
    if len(events) == len(candidates) and events:
        return events
    if next(iter(founds_in(Path(folder), Report(), passed_over)), None) is None:
        if nothing is not None:
            raise nothing
        return candidates
    inputs.folders.append(Path(folder))
    inputs.passed_over |= passed_over
    others = (file for file in candidates if Path(file.path) not in passed_over)
    inputs.unknown += [file.shown for file in others if identify_or_note(Probe(Path(file.path)), Report()) is None]
    return events


def _in_order(files: list[InputFile]) -> list[InputFile]:
    """Sort and renumber the files, each once (R-1)."""
    by_place: dict[str, InputFile] = {}
    for file in sorted(files, key=lambda file: file.shown):
        by_place.setdefault(os.path.realpath(file.path), file)
    return [msgspec.structs.replace(file, index=index) for index, file in enumerate(by_place.values())]
