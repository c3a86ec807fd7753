"""Numbers, times, places and verdicts as people write them."""

from __future__ import annotations

import math
import re
from datetime import datetime
from urllib.parse import unquote

from copilog.model import Approval, Place, Usage
from copilog.render.safe import clean_line

APPROVALS = {
    "denied": "denied",
    "not-needed": "no approval needed",
    "setting": "auto-approved",
    "granted": "approved before",
    "user": "approved by the user",
    "skipped": "skipped by the user",
    "unknown": "",
}
GRANTS = {
    "session": "approved for the session",
    "workspace": "approved for the workspace",
    "profile": "always approved",
}
UNITS = (("kB", 10**3), ("MB", 10**6), ("GB", 10**9))

_LINK = re.compile(r"\[([^\[\]]+)\]\([^()\s]*\)")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,2})([^*\s][^*\n]*)\1(?![\w*])")


def counted(number: int, word: str, plural: str | None = None) -> str:
    """`1 turn`, `1,204 turns`."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def size_words(number: int) -> str:
    """A number of bytes."""
    if number < 1000:
        return counted(number, "byte")
    unit, factor = next(((unit, factor) for unit, factor in UNITS if number < 1000 * factor), UNITS[-1])
    value = number / factor
    return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"


def duration_words(milliseconds: float) -> str:
    """`850 ms`, `12.3 s`, `3 min 05 s`, `2 h 10 min`."""
    if not math.isfinite(milliseconds):
        return "?"
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes:02} min"


def moment_words(moment: datetime) -> str:
    """A moment in local time, to the second."""
    try:
        return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):  # the first and the last day of the calendar have no local time
        return moment.isoformat(" ", "seconds")


def span_words(start: datetime, end: datetime | None) -> str:
    """From when to when, the day named once."""
    first = moment_words(start)
    last = moment_words(end) if end is not None else first
    if first == last:
        return first
    return f"{first} to {last.removeprefix(first[:11]) if last[:10] == first[:10] else last}"


def path_words(path: str, folder: str | None) -> str:
    """A path, or the address of a file, as one line; relative to the folder of the conversation if it lies in it."""
    if path.startswith("file://"):
        path = unquote(path.removeprefix("file://"))
        path = path[1:] if path[2:3] == ":" else path  # /c:/Users
    if folder:
        base = folder.rstrip("/\\")
        is_windows = "\\" in base or base[1:2] == ":"
        same = path.lower().startswith(base.lower()) if is_windows else path.startswith(base)
        if base and same and path[len(base) : len(base) + 1] in ("/", "\\") and len(path) > len(base) + 1:
            path = path[len(base) + 1 :]
    return clean_line(path)


def place_words(place: Place, folder: str | None) -> str:
    """`src/app.py:3-10`, `login in src/app.py`."""
    words = path_words(place.path or place.uri or "", folder)
    if place.range is not None and words:
        first, last = place.range.start_line, place.range.end_line
        words += f":{first}" if first == last else f":{first}-{last}"
    if place.name and place.name != words:
        name = clean_line(place.name, 100)
        words = f"{name} in {words}" if words else name
    return words or "a place without a name"


def markdown_words(text: str) -> str:
    """Short Markdown as people would say it: links by their names, without marks of emphasis and code."""
    text = _LINK.sub(r"\1", text)
    return _EMPHASIS.sub(r"\2", text).replace("`", "")


def approval_words(approval: Approval | None, *, full: bool) -> str:
    """Who let a tool run; nothing where nobody had to, unless all is to be told."""
    if approval is None or (approval.kind == "not-needed" and not full):
        return ""
    detail = clean_line(approval.detail, 100) if approval.detail else ""
    if approval.kind == "granted" and detail in GRANTS:
        return GRANTS[detail]
    words = APPROVALS[approval.kind]
    return f"{words} ({detail})" if words and detail else words


def usage_words(usage: Usage) -> list[str]:
    """Tokens and cost, each as a short phrase."""
    counts = [
        (usage.input, "in"),
        (usage.output, "out"),
        (usage.cache_read, "from cache"),
        (usage.cache_write, "to cache"),
        (usage.reasoning, "for reasoning"),
    ]
    phrases = [f"{number:,} {where}" for number, where in counts if number is not None]
    if usage.input is None and usage.last_prompt is not None:
        phrases.insert(0, f"{usage.last_prompt:,} in the last prompt")
    words = ["tokens: " + ", ".join(phrases) + (" (estimated)" if usage.is_estimated else "")] if phrases else []
    if usage.premium_requests is not None:
        words.append(f"{usage.premium_requests:g} premium {'request' if usage.premium_requests == 1 else 'requests'}")
    if usage.credits is not None:
        words.append(f"{usage.credits:g} {'credit' if usage.credits == 1 else 'credits'}")
    return words
