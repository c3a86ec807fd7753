"""Add the stars, labels and notes of bundles to the conversations of the archive, when a bundle is read.

What the user has added here stays: stars and labels are united, and a note is added below the other one.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from copilog.errors import BadFile
from copilog.sources.base import Probe
from copilog.sources.own_files.bundle import CopilogBundle, read_manifest
from copilog.sources.own_files.manifest import Bundled
from copilog.store.annotations import label, note, star
from copilog.store.archive import Archive
from copilog.store.parts import merged_id_of

MOST_LABELS, LONGEST_LABEL, LONGEST_NOTE = 100, 200, 100_000


def add_annotations(archive: Archive, paths: Iterable[str]) -> None:
    """Add the annotations of those files that are bundles."""
    for path in map(Path, paths):
        if path.suffix.lower() != ".zip" or not CopilogBundle().claims(Probe(path)):
            continue
        try:
            manifest = read_manifest(path)
        except BadFile:  # the scan has reported it
            continue
        for bundled in manifest.conversations:
            if bundled.is_starred or bundled.labels or bundled.note:
                _add(archive, bundled)


def _add(archive: Archive, bundled: Bundled) -> None:
    name = merged_id_of(archive.connection, bundled.id) or bundled.id
    known = archive.summaries([name]).get(name)
    if known is None:  # it was removed, or could not be read
        return
    if bundled.is_starred:
        star(archive.connection, name, True)
    labels = [each[:LONGEST_LABEL] for each in bundled.labels[:MOST_LABELS] if each.strip()]
    if labels:
        label(archive.connection, name, tuple(labels))
    text = (bundled.note or "")[:LONGEST_NOTE].strip()
    if text and text not in (known.note or ""):
        note(archive.connection, name, f"{known.note}\n\n{text}" if known.note else text)
