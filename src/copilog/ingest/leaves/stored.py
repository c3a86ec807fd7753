"""Return what is stored of one file: its conversations, or those of the file that it is a companion of."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from copilog import identity
from copilog.definitions import definitions_in_file
from copilog.diagnostics import Report
from copilog.ingest.reading import read_file
from copilog.model import Conversation
from copilog.sources import BY_NAME, Found, Probe


def stored_of(found: Found, read: Sequence[Conversation]) -> list[object]:
    """Return the conversations of a file as they are stored, each merged from all its traces in it, and its agents.

    For a file that is read with another one, such as a plan next to a log, return the conversations of that file.
    """
    if found.source == "vscode-workspace":
        from copilog.sources.vscode.workspace import workspace_from

        with suppress(ValueError):  # the ledger reports it
            return [workspace_from(found.path.parent)]
        return []
    owner = None if read else _owner_of(found)
    if owner is not None:
        source = BY_NAME[found.source]
        read = list(read_file(Found(owner, source.name, source.native_id(Probe(owner))), Report()))
    merged: list[object] = [identity.merge(traces) for traces in identity.grouped_by_conversation(list(read))]
    if found.source == "vscode-state":
        merged += definitions_in_file(found.path) or []
    return merged


def _owner_of(found: Found) -> Path | None:
    """Return the file that a companion is read with."""
    path, folder = found.path, found.path.parent
    if found.source == "cli-events":
        from copilog.sources.cli.companions import main_file, session_folder_of

        session = session_folder_of(path)
        return main_file(session) if session is not None else None
    names = {"vscode-editing": "state.json", "rewind-snapshots": "index.json"}
    if found.source in names and (folder.parent / names[found.source]).is_file():
        return folder.parent / names[found.source]
    if found.source == "vscode-editing":
        return min(folder.iterdir(), default=None)  # without the state, the first text is used for all
    return folder / "main.jsonl" if found.source == "debug-logs" and (folder / "main.jsonl").is_file() else None
