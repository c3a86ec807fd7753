"""Small pure functions about a conversation that many callers need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from copilog.model.conversation import Conversation, FileState, Message, Provenance, Turn
from copilog.model.parts import AnyPart, Notice, Reference, Text, ToolResult
from copilog.model.values import Duration, Usage

RECORDED = "recorded"  # mark of a trace: a file of copilog's own, whose conversation names traces that were not read


def is_recorded(conversation: Conversation) -> bool:
    """Return whether a conversation is as a file of copilog's own records it.

    Such a file contains a merged conversation with all its traces, but only that file was read: the others may not
    exist on this machine, and whoever made the file could have named any.
    """
    return bool(conversation.provenance) and RECORDED in conversation.provenance[0].marks


def read_traces(conversation: Conversation) -> list[Provenance]:
    """Return the traces that the conversation was read from."""
    return conversation.provenance[:1] if is_recorded(conversation) else conversation.provenance


def prose_of(parts: Sequence[AnyPart]) -> str:
    """Return the text of a message as shown: prose with its inline references, without thinking and tools.

    Prose continues from part to part; a notice, such as a warning or the title of a button, is a paragraph of its own,
    and a reference never runs into a fence.
    """
    pieces: list[str] = []
    after_notice = False
    for part in parts:
        if type(part) is Text:  # ten times faster than isinstance with a union
            is_notice = False
        elif type(part) is Reference:
            is_notice = False
            if pieces and part.text and ends_with_fence(pieces[-1]):
                pieces.append("\n")
        elif type(part) is Notice and part.is_prose:
            is_notice = True
        else:
            continue
        if not part.text:
            continue
        if pieces and (is_notice or after_notice):
            pieces.append("\n\n")
        pieces.append(part.text)
        after_notice = is_notice
    return "".join(pieces)


def ends_with_fence(text: str) -> bool:
    """Return whether the last line of a text is the fence of a code block, so that no text may follow it there."""
    line = text[text.rfind("\n") + 1 :].strip(" \t>")
    return line.startswith(("```", "~~~")) and not line.strip(line[0])


UNNAMED = "contents/"


def unnamed_uri(name: str) -> str:
    """Return a substitute URI for a file with a recorded text, but without a name."""
    return f"{UNNAMED}{name}"


def unnamed_files(conversation: Conversation) -> list[FileState]:
    """Return the texts of files without recorded names."""
    return [file for file in conversation.files if file.uri.startswith(UNNAMED)]


def is_empty(conversation: Conversation) -> bool:
    """Return whether there is nothing to read: no turns, no edits, no document, no text of a file, no draft."""
    has_text = conversation.turns or conversation.file_changes or conversation.documents or conversation.queued
    draft = conversation.draft.text.strip() if conversation.draft is not None else ""
    return not has_text and not draft and not unnamed_files(conversation)


def is_counted(turn: Turn) -> bool:
    """Return whether a turn counts: it was not removed, undone, hidden or replaced."""
    return turn.superseded is None


def messages_of(conversation: Conversation, turn: int) -> list[Message]:
    """Return the messages of one turn, in order."""
    return [message for message in conversation.messages if message.turn == turn]


def parts_of(conversation: Conversation) -> Iterator[AnyPart]:
    """Yield all parts of all messages, in order."""
    for message in conversation.messages:
        yield from message.parts


def results_by_call(conversation: Conversation) -> dict[str, ToolResult]:
    """Return the result of each tool call that has one."""
    return {part.call_id: part for part in parts_of(conversation) if isinstance(part, ToolResult)}


def title_of(conversation: Conversation) -> str:
    """Return a title to show: the concluded or recorded one, else the first line of a prompt, else a placeholder."""
    return conversation.title or first_prompt_line(conversation) or "(untitled)"


TITLE_UNITS = 200  # where VS Code cuts a title, in UTF-16 units


def first_prompt_line(conversation: Conversation) -> str:
    """Return the first line of the user's first prompt, cut as in VS Code; empty if no counted prompt has text.

    Removed prompts do not count, as in VS Code.
    """
    turns = {turn.index: turn for turn in conversation.turns}
    for message in conversation.messages:
        if message.role != "user" or message.parent_call_id is not None:
            continue
        turn = turns.get(message.turn) if message.turn is not None else None
        if turn is not None and (turn.is_system_initiated or not is_counted(turn)):
            continue
        line = prose_of(message.parts).strip().partition("\n")[0].strip()
        if line:
            return _cut_units(line)
    return ""


def _cut_units(text: str) -> str:
    if len(text) <= TITLE_UNITS // 2 or (text.isascii() and len(text) <= TITLE_UNITS):
        return text
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * TITLE_UNITS]
    return units.decode("utf-16-le", "ignore")


def best_usage(turn: Turn) -> Usage | None:
    """Return the best of the usages that were recorded for a turn: totals before single numbers.

    A turn that used several models has a total for each: they are added up.
    """
    ranked = sorted(turn.usage, key=lambda usage: (usage.input is None, usage.output is None, usage.is_estimated))
    if not ranked:
        return None
    best = ranked[0]
    same = [usage for usage in ranked if usage.source == best.source and usage.scope == best.scope]
    if len(same) == 1:
        return best
    return Usage(
        **{name: _sum_of(same, name) for name in COUNTS},
        scope=best.scope,
        source=best.source,
        is_estimated=any(usage.is_estimated for usage in same),
    )


COUNTS = ("input", "output", "cache_read", "cache_write", "reasoning", "premium_requests", "credits")


def _sum_of(usages: list[Usage], name: str) -> Any:
    """Return the sum of the recorded numbers, or None if there are none."""
    values = [value for usage in usages if (value := getattr(usage, name)) is not None]
    return sum(values) if values else None


def duration_of(turn: Turn) -> Duration:
    """Return how long a turn took, as `derive.times` concluded it; all unknown if it did not."""
    return turn.duration or Duration()
