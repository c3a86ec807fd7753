"""Name exported files: make a name that every system accepts from the title, which may be hostile."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from urllib.parse import quote

from copilog.exports.formats import Format
from copilog.model import Conversation, title_of

LONGEST_NAME = 60  # characters: with four bytes for each and an ending, the name is valid on any system
NO_NAME = "conversation"

_ODD = re.compile(r"[^\w]+")
# Windows treats these as devices, whatever their ending.
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d|conin|conout|clock)", re.IGNORECASE)


def file_name(conversation: Conversation, kind: Format) -> str:
    """Return a name like `2026-05-04-fix-the-tide-table.html`: letters and digits of any script, and hyphens."""
    return name_of(conversation.started_at or conversation.updated_at, title_of(conversation), kind)


def name_of(moment: datetime | None, title: str, kind: Format) -> str:
    """Return the name of a file from the time and the title of its conversation."""
    day = f"{moment.date().isoformat()}-" if moment is not None else ""
    return f"{day}{stem_of(title)}{kind.ending}"


def stem_of(title: str) -> str:
    """Return a title as a name without special characters, leading dots, device names and endings."""
    words = unicodedata.normalize("NFC", title[: 8 * LONGEST_NAME])
    stem = _ODD.sub("-", words).replace("_", "-").strip("-")[:LONGEST_NAME].strip("-").lower()
    return f"{NO_NAME}-{stem}" if _DEVICES.fullmatch(stem) else stem or NO_NAME


def numbered(name: str, number: int) -> str:
    """Return a numbered name for when the first one is taken."""
    stem, dot, ending = name.partition(".")
    return f"{stem}-{number}{dot}{ending}"


def content_disposition(name: str) -> str:
    """Return the header that makes a browser save a response as a file: the name in ASCII, and in full."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    stem, _, ending = plain.partition(".")
    plain = f"{_ODD.sub('-', stem).strip('-') or NO_NAME}.{ending}"
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
