"""Find what belongs to one conversation alone: its own files and folders, and its records of files that it shares.

Only traces that were read on this machine are followed: a file of copilog's own may name any path, and nothing is
packed because a file names it.

    own files    of sources that have a file, or a folder, for each session: as they are
    records      of all other files: what their source reads of this conversation alone, as the model has it; no other
                 row, key or line is looked at for it
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from copilog.derive.prompts import HISTORIES
from copilog.diagnostics import Ledger
from copilog.errors import CopilogError
from copilog.intake.folders import files_below, is_regular_file
from copilog.model import RECORDED, Conversation, Provenance, read_traces
from copilog.sources import BY_NAME, Found, Probe, Source

# The folder of one session that a file is in, by the name of the folder that has all of them. All files of this folder
# belong to the session.
FOLDERS_OF_SESSIONS = {
    "vscode-editing": "chatEditingSessions",
    "vscode-resources": "chat-session-resources",
    "cli-events": "session-state",
    "session-todos": "session-state",
    "rewind-snapshots": "session-state",
    "debug-logs": "debug-logs",
}
# Sources whose files have one conversation each, whatever they are called and wherever they are.
ONE_EACH = frozenset({
    "vscode-session", "vscode-session-log", "cli-events", "cli-history", "transcripts", "debug-logs", "memories",
    "vscode-editing", "vscode-resources", "session-todos", "rewind-snapshots",
})  # fmt: skip
# The model has all that is left to a history of typed prompts; its file has the prompts of other conversations, too.
WITHOUT_RECORDS = frozenset({*HISTORIES, "copilog-json", "copilog-bundle"})

_APPLICATION_DATA = ("workspaceStorage", "globalStorage", "profiles")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\\:*?\"<>|\ud800-\udfff]")


class OwnFile(NamedTuple):
    """A file that belongs to one conversation alone."""

    path: Path
    source: str


class RecordsOf(NamedTuple):
    """What a shared file has of one conversation."""

    trace: Provenance
    conversation: Conversation


class Content(NamedTuple):
    """What belongs to one conversation besides its model; `missing` counts files that are gone or were elsewhere."""

    files: list[OwnFile]
    records: list[RecordsOf]
    missing: int


def content_of(conversation: Conversation) -> Content:
    """Return the files and records of a conversation that are on this machine now."""
    files: dict[Path, OwnFile] = {}
    records: list[RecordsOf] = []
    missing = 0
    read = {id(trace) for trace in read_traces(conversation) if RECORDED not in trace.marks}
    shared: set[tuple[str, str]] = set()
    for trace in conversation.provenance:
        source = BY_NAME.get(trace.source)
        if id(trace) not in read or source is None or not is_regular_file(Path(trace.path)):
            missing += trace.source not in WITHOUT_RECORDS
        elif _is_own(trace, source, conversation):
            for path in _files_with(Path(trace.path), source.name):
                files.setdefault(path, OwnFile(path, source.name))
        elif source.name not in WITHOUT_RECORDS and (trace.path, source.name) not in shared:
            shared.add((trace.path, source.name))
            records += _records_in(trace, source, conversation)
    return Content([files[path] for path in sorted(files)], records, missing)


def _is_own(trace: Provenance, source: Source, conversation: Conversation) -> bool:
    """Return whether a file has nothing of another conversation."""
    if source.name in ONE_EACH:
        return True
    if source.is_index or source.name in WITHOUT_RECORDS:
        return False
    found = Found(Path(trace.path), source.name)
    try:  # such as a debug export, which has one conversation or several
        return all(made.id == conversation.id for made in source.read(found, Ledger()))
    except CopilogError:
        return False


def _files_with(path: Path, source: str) -> list[Path]:
    """Return the files of the folder of a session, or a file that is in none."""
    above = FOLDERS_OF_SESSIONS.get(source)
    for folder in path.parents if above is not None else ():
        if folder.parent.name == above:
            return [inner for inner in files_below(folder) if is_regular_file(inner)]
    return [path]


def _records_in(trace: Provenance, source: Source, conversation: Conversation) -> Iterator[RecordsOf]:
    """Yield what a shared file has of a conversation, read as if it had nothing else."""
    path = Path(trace.path)
    found = Found(path, source.name, conversation.native_id)
    try:
        if not source.claims(Probe(path)):
            return
        stat = path.stat()
        made = list(_stubs(path, source.name, stat.st_size, stat.st_mtime_ns).get(conversation.id, ()))
        made += [one for one in source.read(found, Ledger()) if one.id == conversation.id]
    except (CopilogError, OSError):
        return
    for one in made:
        yield RecordsOf(trace, one)


@lru_cache(maxsize=4)
def _stubs(path: Path, source: str, _size: int, _modified: int) -> dict[str, list[Conversation]]:
    """Return what an index has of each conversation; those inside of the file are read."""
    stubs: dict[str, list[Conversation]] = {}
    for stub in BY_NAME[source].index(Found(path, source), Ledger()):
        if "inside" not in stub.marks:
            stubs.setdefault(stub.id, []).append(stub)
    return stubs


def member_name(path: Path, homes: dict[str, int]) -> str:
    """Return the name of a file in a bundle: as below its home folder, so that the unpacked bundle is one, too."""
    parts = path.parts
    start = _start_of(parts)
    home = homes.setdefault("/".join(parts[:start]), len(homes) + 1)
    return "/".join(["files", str(home), *(_safe(part) for part in parts[start:])])


def _start_of(parts: tuple[str, ...]) -> int:
    """Return the index of the first part that belongs to a program: `.copilot`, or the `Code` of `Code/User`."""
    for at, part in enumerate(parts):
        if part == ".copilot":
            return at
        if part == "User" and at and at + 1 < len(parts) and parts[at + 1] in _APPLICATION_DATA:
            return at - 1
    above = (at for at, part in enumerate(parts) if part in {"chatSessions", *FOLDERS_OF_SESSIONS.values()})
    return max(next(above, len(parts) - 1), 1)


def _safe(part: str) -> str:
    """Return a part of a path that every system accepts."""
    return _UNSAFE.sub("_", part) if part not in (".", "..") else "_"
