"""From what was found to conversations: every trace is read, and those that belong together become one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from copilog import identity
from copilog.diagnostics import Report
from copilog.ingest.containment import contained
from copilog.ingest.discovery import found_at, founds_in
from copilog.model import Conversation
from copilog.sources import BY_NAME, Found


def read(target: Found | Path | str, *, report: Report | None = None) -> Iterator[Conversation]:
    """Yield the conversations of what `discover` found, of a file, or of all files in a folder."""
    report = report if report is not None else Report()
    if isinstance(target, Found):
        yield from read_found(target, report)
        return
    path = Path(target)
    if path.is_dir():
        for found in founds_in(path, report):
            yield from read_found(found, report)
    else:
        yield from read_found(found_at(path), report)


def read_found(found: Found, report: Report) -> Iterator[Conversation]:
    """Read all traces of a conversation and make one of them."""
    traces: list[Conversation] = []
    if not found.is_index_entry:
        for trace in found.traces():
            traces += read_file(trace, report)
    if found.hint is not None:
        traces.append(identity.copy_of(found.hint))
    by_id: dict[str, list[Conversation]] = {}
    for conversation in traces:
        by_id.setdefault(conversation.id, []).append(conversation)
    for same in by_id.values():
        merged = identity.merge(same)
        _note_orphan(merged, report)
        yield merged


def _note_orphan(conversation: Conversation, report: Report) -> None:
    """Edits without requests are worth telling: the conversation is lost, or lies elsewhere."""
    if not conversation.file_changes or conversation.turns:
        return
    for trace in conversation.provenance:
        if trace.role == "edits":
            reason = "edits of a conversation whose requests are not on disk"
            report.open(trace.path, trace.source).note("orphan-editing-session", reason)


def read_file(found: Found, report: Report) -> Iterator[Conversation]:
    """What one file says, without the other traces."""
    ledger = report.open(str(found.path), found.source)
    for conversation in contained(BY_NAME[found.source].read, found, ledger):
        ledger.conversations += 1
        if conversation.workspace is None:
            conversation.workspace = found.workspace
        elif found.workspace is not None:
            identity.fill(conversation.workspace, found.workspace)
        conversation.application = conversation.application or found.application
        yield conversation
