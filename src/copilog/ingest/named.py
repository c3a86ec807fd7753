"""Conversations of a path that somebody named: of any source, and out of telemetry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from copilog.diagnostics import Report
from copilog.ingest.reading import read
from copilog.ingest.trajectories import Inputs, sort_inputs
from copilog.model import Conversation
from copilog.telemetry.pipeline import Extraction, Options
from copilog.telemetry.spool import spool_folder


def read_named(path: Path, report: Report, *, jobs: int = 1) -> Iterator[Conversation]:
    """All conversations of a file or a folder; telemetry is rebuilt first."""
    inputs = sort_inputs([path])
    yield from inputs.conversations(report)
    if inputs.telemetry:
        yield from _rebuilt(inputs, report, jobs)


def _rebuilt(inputs: Inputs, report: Report, jobs: int) -> Iterator[Conversation]:
    """Trajectories are spooled, and read like any file of them; then they say which file of events they are from."""
    options = Options(jobs=jobs, require_system_first=False)
    with spool_folder() as folder:
        spooled = Path(folder, "trajectories.jsonl")
        with spooled.open("wb") as file, closing(Extraction(inputs.telemetry, options, report).lines()) as lines:
            for line in lines:
                file.write(line + b"\n")
        for conversation in read(spooled, report=Report()):
            kept = (conversation.extra or {}).get("trajectory", {})
            for trace in conversation.provenance:
                trace.path = kept.get("file_path") or trace.path
                trace.size = trace.modified_at = None
            yield conversation
