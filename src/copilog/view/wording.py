"""Numbers, times, paths, outcomes and labels as text: the same on every surface."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from urllib.parse import unquote

from copilog.derive import Placed
from copilog.derive.counting import branch_name, only_trace_of, reasons_of
from copilog.derive.exit_codes import exit_code_of
from copilog.derive.models import model_of, names_of, requested_model
from copilog.derive.outcomes import outcome_of
from copilog.derive.references import UsedFile
from copilog.model import (
    AnyDocument,
    Approval,
    Branch,
    Conflict,
    Conversation,
    Place,
    Range,
    Relation,
    ToolCall,
    Turn,
    Usage,
    duration_of,
    turn_number,
)
from copilog.view.terminal_text import clean_line, json_text

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
    "artifact": "Saved file",
    "research": "Research",
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
MARKS = {
    "damaged": "parts of its file could not be used",
    "cut": "if turns are lost, they came after all that could be read",
    "headless": "the beginning of its log is lost",
    "stub": "only an index lists it; its messages are not here",
    "external": "the index says that another agent stores it",
    "empty": "the index says that it has no prompts",
    "imported": "it came from an export",
    "orphan-edits": "only its file edits are left",
    "prompts-only": "typed prompts that are in no other conversation; their answers are lost",
    "helpers-only": "only helper requests, such as one for a title; the conversation itself is not in its file",
    "memory": "only a memory of it is left",
    "collection": "memories that belong to no conversation",
    "resource": "only tool output that was stored in separate files is left",
    "pending-edits": "some edits were neither kept nor undone",
}
RELATIONS = {"prompts-of": "has prompts of", "prompts-in": "has prompts in", "forked-as": "forked as"}
VERBS = {"edit": "edited", "create": "created", "delete": "deleted", "rename": "renamed"}
UNMADE = {"failed": "failed", "denied": "was denied", "skipped": "was skipped", "cancelled": "was cancelled"}
EDIT_OUTCOMES = {
    "kept": "accepted",
    "undone": "undone",
    "changed": "changed by the user afterwards",
    "pending": "not decided",
}
EDIT_VERBS = {"keep": "kept", "undo": "undid", "modify": "modified"}
SIGNS = {"agent": "@", "command": "/", "prompt": "/"}
SCOPES = {"turn": "Context sent with this prompt", "conversation": "Context sent once", "system": "System prompt"}
TOPICS = {
    "progress": "",
    "task": "",
    "info": "",
    "system": "",
    "command": "button",
    "mcp-servers": "MCP servers started",
    "model-resolution": "model chosen",
    "session-created": "session created",
}
QUESTIONS = {
    "confirmation": "Confirmation", "elicitation": "Question", "questions": "Questions", "plan": "Plan to review",
}  # fmt: skip
BADGES = {
    "cancelled": "cancelled",
    "failed": "failed",
    "needs-input": "not finished",
    "pending": "not finished",
    "unanswered": "not answered",
}
GOING = {"needs-input": "waits for you", "pending": "running"}  # while that may still be so
MOST_VALUE = 120  # characters of an overruled fact
UNITS = (("kB", 10**3), ("MB", 10**6), ("GB", 10**9))

_LINK = re.compile(r"\[([^\[\]]+)\]\([^()\s]*\)")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,2})([^*\s][^*\n]*)\1(?![\w*])")


def counted(number: int, word: str, plural: str | None = None) -> str:
    """Return a count with its noun: `1 turn`, `1,204 turns`."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def size_text(number: int) -> str:
    """Return a number of bytes as text."""
    if number < 1000:
        return counted(number, "byte")
    unit, factor = next(((unit, factor) for unit, factor in UNITS if number < 1000 * factor), UNITS[-1])
    value = number / factor
    return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"


def elapsed_text(milliseconds: float) -> str:
    """Return a duration as text: `850 ms`, `12.3 s`, `3 min 05 s`, `2 h 10 min`."""
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


def timestamp_text(moment: datetime) -> str:
    """Return a timestamp in local time, to the second."""
    try:
        return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):  # the first and the last day of the calendar have no local time
        return moment.isoformat(" ", "seconds")


def span_text(start: datetime, end: datetime | None) -> str:
    """Return a period, with the day once if both ends have the same."""
    first = timestamp_text(start)
    last = timestamp_text(end) if end is not None else first
    if first == last:
        return first
    return f"{first} to {last.removeprefix(first[:11]) if last[:10] == first[:10] else last}"


def duration_facts(turn: Turn) -> list[str]:
    """Return how long a turn took, its working time if that differs, and the delays before its answer."""
    took, first = duration_of(turn), turn.timing.first_progress_ms
    facts = []
    if took.elapsed_ms is not None:
        facts.append(elapsed_text(took.elapsed_ms))
    if took.working_ms is not None and took.working_ms != took.elapsed_ms:
        facts.append(f"{elapsed_text(took.working_ms)} working")
    if first is not None:
        facts.append(f"first progress after {elapsed_text(first)}")
    if took.waiting_ms:
        facts.append(f"waited {elapsed_text(took.waiting_ms)} for the user")
    return facts


def model_text(turn: Turn) -> str:
    """Return the model that ran, after the requested one if they differ: `auto: gpt-5`."""
    ran, asked = model_of(turn), requested_model(turn)
    return clean_line(f"{asked}: {ran}" if asked else ran or "", 100)


def title_text(conversation: Conversation) -> list[str]:
    """Return the source of the title, and the other titles of the traces."""
    if conversation.title_origin is None:
        return []
    others = [title for title in conversation.titles if title.text != conversation.title]
    return [conversation.title_origin, *(f"also “{title.text}” ({title.origin or 'unknown'})" for title in others)]


def path_text(path: str, folder: str | None) -> str:
    """Return a path, or the address of a file, as one line; relative to the conversation's folder if it is in it."""
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


def location_text(place: Place, folder: str | None) -> str:
    """Return a location: `src/app.py:3-10`, `login in src/app.py`."""
    words = path_text(place.path or place.uri or "", folder)
    if place.range is not None and words:
        words += f":{_line_ranges_text(place.range)}"
    if place.name and place.name != words:
        name = clean_line(place.name, 100)
        words = f"{name} in {words}" if words else name
    return words or "a place without a name"


def used_file_text(used: UsedFile, folder: str | None) -> str:
    """Return a file with all its ranges and symbols: `src/app.py:3-10, 42`, `login, logout in src/app.py`."""
    places = [reference.place for reference in used.references if reference.place is not None]
    if not places:
        first = used.references[0]
        return path_text(first.text or first.variable or "something", folder)
    words = path_text(places[0].path or places[0].uri or "", folder)
    ranges = dict.fromkeys(_line_ranges_text(place.range) for place in places if place.range is not None)
    if ranges and words:
        words += ":" + ", ".join(ranges)
    names = dict.fromkeys(clean_line(place.name, 100) for place in places if place.name and place.name != words)
    if names:
        words = f"{', '.join(names)} in {words}" if words else ", ".join(names)
    return words or "a place without a name"


def _line_ranges_text(lines: Range) -> str:
    return f"{lines.start_line}" if lines.start_line == lines.end_line else f"{lines.start_line}-{lines.end_line}"


def document_text(document: AnyDocument, facts: str = "") -> str:
    """Return the kind of a document, with its title or its path, and facts about it."""
    kind = DOCUMENTS.get(document.kind, clean_line(document.kind, 40))
    name = clean_line(document.title or document.path or "", 100)
    return " · ".join(word for word in (kind, name, facts) if word)


def markdown_as_plain(text: str) -> str:
    """Return short Markdown as plain text: links as their labels, without marks of emphasis and code."""
    text = _LINK.sub(r"\1", text)
    return _EMPHASIS.sub(r"\2", text).replace("`", "")


def outcome_text(call: ToolCall) -> list[str]:
    """Return how a call ended, unless its mark and approval say so, and any record to the contrary.

    A command that ended with an error is reported with its call, as its terminal may not be recorded.
    """
    outcome = outcome_of(call)
    approval = call.approval if outcome.kind in ("denied", "skipped") else None
    said = approval_text(approval) if approval is not None and approval.kind != "not-needed" else ""
    words = "" if outcome.kind in ("succeeded", "unknown") or said else str(outcome.kind)
    if call.status == "prepared" and outcome.kind == "unknown":
        words = "prepared"
    code = exit_code_of(call)
    facts = [words, f"exit code {code}" if code else ""]
    if outcome.against:
        facts.append(f"recorded to the contrary: {clean_line(', '.join(outcome.against), 200)}")
    return [word for word in facts if word]


def outcome_details(call: ToolCall) -> list[str]:
    """Return the evidence for a call's outcome, and that no approval was needed if nothing else says so."""
    outcome = outcome_of(call)
    facts = [
        f"evidence: {clean_line(', '.join(outcome.evidence), 200)}" if outcome.evidence else "",
        approval_words(call.approval.kind, None) if call.approval is not None and _is_silent(call.approval) else "",
    ]
    return [word for word in facts if word]


def approval_text(approval: Approval | None) -> str:
    """Return who approved a tool call; nothing if approval was not needed, unless the record says why."""
    return "" if approval is None or _is_silent(approval) else approval_words(approval.kind, approval.detail)


def _is_silent(approval: Approval) -> bool:
    return approval.kind == "not-needed" and not approval.detail


def approval_words(kind: str, detail: str | None) -> str:
    """Return who approved a tool call, or that no approval was needed."""
    detail = clean_line(detail, 100) if detail else ""
    if kind == "granted" and detail in GRANTS:
        return GRANTS[detail]
    words = APPROVALS[kind]
    return f"{words} ({detail})" if words and detail else words


def usage_text(usage: Usage) -> list[str]:
    """Return tokens and cost, each as a short phrase."""
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


def details_text(turn: Turn) -> str:
    """Return VS Code's line under the answer: the model's display name and its multiplier, without repetition."""
    name, _, rest = clean_line(turn.details or "", 100).partition(" • ")
    names = names_of(turn)
    known = [*names, *(names[0] + name for name in names[1:])]
    is_known = _letters(name) in [_letters(word) for word in known]
    return rest if is_known else ", ".join(word for word in (name, rest) if word)


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def sentence(words: str) -> str:
    """Return text as the beginning of a sentence, hyphens as blanks."""
    words = words.replace("-", " ")
    return words[:1].upper() + words[1:]


def in_sentence(words: str) -> str:
    """Return text as within a sentence: lower-case, unless it is a name in capitals."""
    return words if words[1:2].isupper() else words[:1].lower() + words[1:]


# --- branches, superseded turns and turns of one trace alone ------------------------------------------------------


def branch_title(branch: Branch) -> str:
    """Return the title of a branch."""
    name = branch_name(branch)
    return f"{name[0].upper()}{name[1:]}"


def sizes_of(placed: Iterable[Placed]) -> Counter[tuple[int | None, str]]:
    """Return how many turns of its own each branch has, by `branch_key`."""
    return Counter(branch_key(each.branches[-1]) for each in placed if each.branches)


def branch_key(branch: Branch) -> tuple[int | None, str]:
    return branch.leaves_from, branch.trace


def superseded_text(turns: Sequence[Turn]) -> str:
    """Return how many turns are superseded, and why: `2 turns no longer count (removed, undone)`."""
    reasons = ", ".join(clean_line(reason, 80) for reason in reasons_of(turns))
    verb = "counts" if len(turns) == 1 else "count"
    return f"{counted(len(turns), 'turn')} no longer {verb} ({reasons})"


def only_trace_text(turn: Turn, only_traces: dict[int, str]) -> str:
    """Return the only trace that has a turn; empty if several have it, or if the turn's branch names it."""
    path = only_trace_of(turn, only_traces)
    return f"only in {clean_line(path)}" if path is not None else ""


def relation_text(relation: Relation) -> str:
    """Return how a conversation is related to another: `fork of vscode:1`."""
    return f"{RELATIONS.get(relation.kind) or clean_line(relation.kind) + ' of'} {clean_line(relation.other_id)}"


def conflict_text(conflict: Conflict) -> str:
    """Return a fact that was overruled by another trace: `status of turn 3: cancelled`."""
    where = f" of turn {turn_number(conflict.turn)}" if conflict.turn is not None else ""
    value = conflict.value if isinstance(conflict.value, str) else json_text(conflict.value)
    return f"{clean_line(conflict.field, 60)}{where}: {clean_line(value, MOST_VALUE)}"
