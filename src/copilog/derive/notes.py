"""Collect notes of parts and turns to show with their text: tooltips, reasons, buttons, the input of a hook."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from copilog.derive.line_counts import line_counts_text
from copilog.model import (
    AnyPart,
    Attachment,
    Compaction,
    Conversation,
    Extra,
    Followup,
    Hook,
    Notice,
    Reference,
    ToolCall,
    Turn,
    TurnError,
    prose_of,
)

RULE = "rule"
GIVEN = "given"
PREVIEW = "preview of the whole output"
IN_PAGE = "in the page"  # attributes and styles of an element that the user attached
SHOWN_INPUT = "input as shown"  # if it differs from the arguments
APP = "page of the app"  # HTML that an MCP server showed for a call
CHANGES = ("diff", "new contents")  # of a file, before the user allowed them
ARGUMENTS = "arguments of the button"
DETAILS = (
    RULE,
    GIVEN,
    PREVIEW,
    ARGUMENTS,
    APP,
    IN_PAGE,
    SHOWN_INPUT,
    *CHANGES,
)  # long, or the same for every call: left out of short views


class Note(NamedTuple):
    """A text with its label."""

    label: str
    text: str

    @property
    def is_detail(self) -> bool:
        return self.label in DETAILS


def notes_of(part: AnyPart) -> list[Note]:
    """Return the notes to show with a part, in order."""
    notes = [Note(label, text) for label, text in part.notes.items() if text.strip()] if part.notes else []
    if part.extra is not None:
        notes = _with_recorded(part, part.extra, notes)
    if isinstance(part, ToolCall):
        notes += [Note("title", part.title)] if part.title else []
        notes += [Note(RULE, part.approval.rule)] if part.approval is not None and part.approval.rule else []
    elif isinstance(part, Hook) and part.given:
        notes.append(
            Note(GIVEN, part.given if isinstance(part.given, str) else msgspec.json.encode(part.given).decode())
        )
    elif isinstance(part, Compaction):
        labelled = (("title", part.title), ("instructions", part.instructions))
        notes += [Note(label, text) for label, text in labelled if text]
    return notes


def _with_recorded(part: AnyPart, extra: Extra, notes: list[Note]) -> list[Note]:
    """Add notes for fields that are not shown elsewhere: exit codes, lines of files, pull requests."""
    if isinstance(part, Attachment) and type(code := extra.get("exitCode")) is int:
        notes.append(Note("exit code", str(code)))
    elif isinstance(part, Notice) and isinstance(data := extra.get("multiDiffData"), dict):
        counts = [_lines_of(each) for each in data.get("resources") or () if isinstance(each, dict)]
        notes = [Note(label, _with_counts(text, counts) if label == "files" else text) for label, text in notes]
    elif isinstance(part, Reference) and part.type == "pull-request":
        names = [str(extra[key]) for key in ("owner", "repo", "repository") if isinstance(extra.get(key), str)]
        notes += [Note("repository", "/".join(names))] if names else []
        number = extra.get("number")
        notes += [Note("number", f"#{number}")] if type(number) is int and "number" not in part.notes else []
    return notes


def _lines_of(resource: Extra) -> str:
    lines = tuple(each if type(each := resource.get(key)) is int else None for key in ("added", "removed"))
    return line_counts_text((lines[0], lines[1]))


def _with_counts(files: str, counts: list[str]) -> str:
    """Return one line for each file, with its counts."""
    names = files.split("\n")
    if len(names) != len(counts):
        return files
    return "\n".join(f"{name} {count}".rstrip() for name, count in zip(names, counts, strict=True))


def notes_of_turn(turn: Turn, conversation: Conversation) -> list[Note]:
    """Return the notes of a turn: the reason for a vote down, and what the buttons below an error pass on.

    Also texts before code blocks that the answer itself lacks.
    """
    passed_on = turn.error.passed_on if turn.error is not None else None
    labelled = (("reason to vote down", turn.reason_without_vote), (ARGUMENTS, passed_on))
    notes = [Note(label, text) for label, text in labelled if text]
    recorded = dict.fromkeys(block.before.strip() for block in turn.code_blocks if block.before)
    if not recorded:
        return notes
    answer = "\n".join(
        prose_of(message.parts)
        for message in conversation.messages
        if message.turn == turn.index and message.role == "assistant"
    )
    return notes + [Note("before a code block", text) for text in recorded if text and text not in answer]


def followup_text(followup: Followup) -> str:
    """Return a suggested follow-up question as it was shown, with what it asks and its tooltip if they say more."""
    words = followup.title or followup.text
    others = dict.fromkeys(each for each in (followup.text, followup.tooltip) if each and each != words)
    return f"{words} ({'; '.join(others)})" if others else words


def error_facts(error: TurnError) -> list[str]:
    """Return the facts of an error besides its message: its code, its meaning, the buttons that were offered."""
    offered = [f"offered: {', '.join(error.buttons)}"] if error.buttons else []
    return [fact for fact in (error.code or "", *error.flags, *offered) if fact]
