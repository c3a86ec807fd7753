"""Read conversations of a path that the user named: of any source, and from telemetry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from copilog.diagnostics import Report
from copilog.ingest.discovery import founds_in
from copilog.ingest.reading import read, read_folder, with_detected
from copilog.ingest.trajectories import Inputs, sort_inputs
from copilog.model import Conversation
from copilog.sources import BY_NAME, Found
from copilog.telemetry.pipeline import Extraction, Options
from copilog.telemetry.spool import spool_folder


class Named:
    """A file or a folder that the user named; `report` has the ledgers of its discovery."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.report = Report()
        self.inputs = sort_inputs([path])

    def independent_founds(self) -> list[Found] | None:
        """Return the conversations of a folder, if each can be read without the others.

        None if some files do not name their conversation, as these join any conversation that they fit, or if there
        is telemetry, as the events of a conversation may be anywhere.
        """
        if self.inputs.telemetry or not self.path.is_dir():
            return None
        founds = list(founds_in(self.path, self.report))
        return None if any(BY_NAME[found.source].is_nameless for found in founds) else founds

    def conversations(self, report: Report, *, jobs: int = 1) -> Iterator[Conversation]:
        """Yield all conversations; those of telemetry are rebuilt, and come last."""
        for path in self.inputs.files:
            yield from read(path, report=report)
        for folder in self.inputs.folders:
            yield from with_detected(read_folder(folder, report, self.inputs.passed_over), report)
        if self.inputs.telemetry:
            yield from _rebuilt(self.inputs, report, jobs)


def _rebuilt(inputs: Inputs, report: Report, jobs: int) -> Iterator[Conversation]:
    """Yield conversations from telemetry: spool its trajectories, read them, and restore the paths of their files."""
    options = Options(jobs=jobs, require_system_first=False)
    with spool_folder() as folder:
        spooled = Path(folder, "trajectories.jsonl")
        with spooled.open("wb") as file, closing(Extraction(inputs.telemetry, options, report).lines()) as lines:
            for line in lines:
                file.write(line + b"\n")
        if not spooled.stat().st_size:
            return  # it has no conversation
        for conversation in read(spooled, report=Report()):
            kept = (conversation.extra or {}).get("trajectory", {})
            for trace in conversation.provenance:
                trace.path = kept.get("file_path") or trace.path
                trace.size = trace.modified_at = None
            yield conversation
