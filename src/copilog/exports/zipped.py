"""Pack a folder of exported conversations, for a browser that downloads a single file."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from copilog.exports.chosen import Chosen
from copilog.exports.formats import Format, Making
from copilog.exports.writing import write

CHUNK = 1 << 20


def zipped(chosen: Chosen, kind: Format, making: Making) -> Iterator[bytes]:
    """Write the folder to a temporary place, and yield it as a .zip file."""
    with tempfile.TemporaryDirectory(prefix="copilog-") as place:
        folder = Path(place, f"conversations-{kind.name}")
        write(chosen, kind, folder, making)
        packed = Path(place, "packed.zip")
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.rglob("*")):
                archive.write(path, path.relative_to(place))
        with packed.open("rb") as file:
            while piece := file.read(CHUNK):
                yield piece
