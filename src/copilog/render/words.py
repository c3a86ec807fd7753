"""Numbers, times, places and verdicts as people write them."""

from __future__ import annotations

import math
import re
from datetime import datetime
from urllib.parse import unquote

from copilog.derive.exit_codes import exit_code_of
from copilog.derive.models import asked_for, model_of
from copilog.derive.outcomes import outcome_of
from copilog.derive.references import UsedFile
from copilog.model import Approval, Conversation, Document, Place, Range, ToolCall, Turn, Usage, duration_of
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
DOCUMENTS = {
    "backup": "File before an edit",
    "changes": "Changes of a file that were not committed",
    "checkpoint": "Checkpoint",
    "choice": "Another answer of the model",
    "draft": "Prompt that was typed and never sent",
    "file": "Saved file",
    "helper": "Call of a model for the program itself",
    "indexed": "Text of the search index",
    "memory": "Memory",
    "notes": "Notes",
    "plan": "Plan",
    "prediction": "Prediction that was sent along",
    "summary": "Summary",
    "table": "Table",
    "todos": "Things to do",
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


def duration_facts(turn: Turn) -> list[str]:
    """How long a turn took, how much of that it worked where that differs, and what came before its answer."""
    took, first = duration_of(turn), turn.timing.first_progress_ms
    facts = []
    if took.elapsed_ms is not None:
        facts.append(duration_words(took.elapsed_ms))
    if took.working_ms is not None and took.working_ms != took.elapsed_ms:
        facts.append(f"{duration_words(took.working_ms)} working")
    if first is not None:
        facts.append(f"first progress after {duration_words(first)}")
    if took.waiting_ms:
        facts.append(f"waited {duration_words(took.waiting_ms)} for the user")
    return facts


def model_words(turn: Turn) -> str:
    """The model that ran, after the one that was asked for where that is another: `auto: gpt-5`."""
    ran, asked = model_of(turn), asked_for(turn)
    return clean_line(f"{asked}: {ran}" if asked else ran or "", 100)


def title_words(conversation: Conversation) -> list[str]:
    """Where the title is from, and what other titles the traces have."""
    if conversation.title_origin is None:
        return []
    others = [title for title in conversation.titles if title.text != conversation.title]
    return [conversation.title_origin, *(f"also “{title.text}” ({title.origin or 'unknown'})" for title in others)]


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
        words += f":{_lines_words(place.range)}"
    if place.name and place.name != words:
        name = clean_line(place.name, 100)
        words = f"{name} in {words}" if words else name
    return words or "a place without a name"


def used_file_words(used: UsedFile, folder: str | None) -> str:
    """`src/app.py:3-10, 42`, `login, logout in src/app.py`: a file once, with every range and symbol of it."""
    places = [reference.place for reference in used.references if reference.place is not None]
    if not places:
        first = used.references[0]
        return path_words(first.text or first.variable or "something", folder)
    words = path_words(places[0].path or places[0].uri or "", folder)
    ranges = dict.fromkeys(_lines_words(place.range) for place in places if place.range is not None)
    if ranges and words:
        words += ":" + ", ".join(ranges)
    names = dict.fromkeys(clean_line(place.name, 100) for place in places if place.name and place.name != words)
    if names:
        words = f"{', '.join(names)} in {words}" if words else ", ".join(names)
    return words or "a place without a name"


def _lines_words(lines: Range) -> str:
    return f"{lines.start_line}" if lines.start_line == lines.end_line else f"{lines.start_line}-{lines.end_line}"


def document_words(document: Document) -> str:
    """What a document of the conversation is: its kind, with its title or where it was kept."""
    kind = DOCUMENTS.get(document.kind, clean_line(document.kind, 40))
    name = clean_line(document.title or document.path or "", 100)
    return f"{kind} · {name}" if name else kind


def markdown_words(text: str) -> str:
    """Short Markdown as people would say it: links by their names, without marks of emphasis and code."""
    text = _LINK.sub(r"\1", text)
    return _EMPHASIS.sub(r"\2", text).replace("`", "")


def outcome_words(call: ToolCall, *, full: bool) -> list[str]:
    """How a call ended, where the mark and the approval do not say it, and whatever was recorded to the contrary.

    A command that ended with an error is told with its call: what it ran in may not be recorded.
    """
    outcome = outcome_of(call)
    said = approval_words(call.approval, full=full) if outcome.kind in ("denied", "skipped") else ""
    words = "" if outcome.kind in ("succeeded", "unknown") or said else str(outcome.kind)
    if call.status == "prepared" and outcome.kind == "unknown":
        words = "prepared"
    code = exit_code_of(call)
    told = [words, f"exit code {code}" if code else ""]
    if outcome.against:
        told.append(f"recorded to the contrary: {clean_line(', '.join(outcome.against), 200)}")
    if full and outcome.evidence:
        told.append(f"evidence: {clean_line(', '.join(outcome.evidence), 200)}")
    if full and outcome.reason:
        told.append(f"reason: {clean_line(outcome.reason, 300)}")
    return [word for word in told if word]


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
