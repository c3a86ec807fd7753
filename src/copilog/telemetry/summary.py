"""The summary of tags that a run writes: which tags the messages had, and which of them are not in the catalogue."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from copilog.atomic_files import atomic_file
from copilog.telemetry.scan import TagSummary

DEFAULT_FOLDER = Path("analysis", "prompt_context")
FILE_NAME = "tag_scan_summary.json"


def run_folder(parent: Path = DEFAULT_FOLDER) -> Path:
    """Return a folder for this run, named by its time; a second run in the same second gets a name of its own."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    folder = parent / stamp
    number = 1
    while folder.exists():
        number += 1
        folder = parent / f"{stamp}-{number}"
    return folder


def write_summary(summary: TagSummary, folder: Path) -> Path:
    """Write the file completely or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE_NAME
    with atomic_file(path, is_private=True) as file:
        file.write(msgspec.json.format(msgspec.json.encode(summary.to_json()), indent=2) + b"\n")
    return path
