"""Names for exported files: from the title, which anyone may have written, to something that every system takes."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

from copilog.export.formats import Format
from copilog.model import Conversation, title_of

LONGEST_NAME = 60  # characters, so that four bytes for each and an ending still make a name on any system
NO_NAME = "conversation"

_ODD = re.compile(r"[^\w]+")
# Windows takes these for devices, whatever ending they have.
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d|conin|conout|clock)", re.IGNORECASE)


def file_name(conversation: Conversation, kind: Format) -> str:
    """`2026-05-04-fix-the-tide-table.html`: letters and digits of any script, and hyphens."""
    moment = conversation.started_at or conversation.updated_at
    day = f"{moment.date().isoformat()}-" if moment is not None else ""
    return f"{day}{stem_of(title_of(conversation))}{kind.ending}"


def stem_of(title: str) -> str:
    """A title as a name without odd characters, hidden beginnings, devices and endings."""
    words = unicodedata.normalize("NFC", title[: 8 * LONGEST_NAME])
    stem = _ODD.sub("-", words).replace("_", "-").strip("-")[:LONGEST_NAME].strip("-").lower()
    return f"{NO_NAME}-{stem}" if _DEVICES.fullmatch(stem) else stem or NO_NAME


def numbered(name: str, number: int) -> str:
    """Another name, where the first is taken."""
    stem, dot, ending = name.rpartition(".")
    return f"{stem}-{number}{dot}{ending}"


def content_disposition(name: str) -> str:
    """The header that makes a browser keep an answer as a file: the name in ASCII, and as it is."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    stem, _, ending = plain.rpartition(".")
    plain = f"{_ODD.sub('-', stem).strip('-') or NO_NAME}.{ending}"
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
