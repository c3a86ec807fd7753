"""What of a conversation has to be on the screen: from the model alone, without the code that writes exports."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from html import unescape
from typing import NamedTuple

from markdown_it import MarkdownIt

from conformance.judge_page import Screen
from copilog.derive import is_counted
from copilog.model import (
    AnyPart,
    Conversation,
    Message,
    Notice,
    Reference,
    Terminal,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    parts_of,
)
from copilog.uris import label_of

_TAG = re.compile(r"<[^>]*>")
_LINK = re.compile(r"\[\]\([^)]*\)")
_ICON = re.compile(r"\$\([a-z-]+\)")
_markdown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_LINES = re.compile(r":\d+(-\d+)?(?=`)")
NOT_DRAWN = "Failed to render content"  # what VS Code shows in place of a part
REFERENCE = "\u2060"
LONGEST_LINE = 200
PICTURE = "generatedImage"  # shown as the picture, without words
UNSEEN_CALLS = ("prepared",)  # statuses of calls that never ran


class Missing(NamedTuple):
    """What is not on the screen."""

    prompts: list[str]
    answers: list[str]
    calls: list[str]
    expected_calls: int

    def __bool__(self) -> bool:
        return bool(self.prompts or self.answers or self.calls)


def missing_from(screen: Screen, conversation: Conversation) -> Missing:
    """Return the prompts, lines of answers and tool calls that are not on the screen."""
    prompts, answers, calls = [], [], Counter[str]()
    names: dict[str, list[str]] = {}
    hidden = _runs(conversation)
    for turn in conversation.turns:
        if not _is_shown(turn):
            continue
        messages = [message for message in conversation.messages if message.turn == turn.index]
        if not turn.is_request_hidden and not turn.is_system_initiated:
            prompts += [f'Selected "{turn.confirmation}"'] if turn.confirmation else _prompt_lines(messages)
        undone = turn.undone_from
        for message in messages:
            if message.role != "assistant":
                continue
            kept = [part for part in message.parts if undone is None or (part.position or 0) < undone]
            if message.parent_call_id is None:
                answers += _answer_lines(kept)
            for call in _shown_calls(kept, message, hidden):
                words = _words_of(call, messages)
                calls[words[0]] += 1
                names[words[0]] = words
    shown_prompts, shown_answers = letters(screen.prompts), letters(screen.answers)
    absent = [
        f"{number} of {count} {name}"
        for name, count in calls.items()
        if (number := count - max(shown_answers.count(letters(word)) for word in names[name])) > 0
    ]
    return Missing(
        [line for line in prompts if not _is_in(line, shown_prompts)],
        [line for line in answers if not _is_in(line, shown_answers)] + [NOT_DRAWN] * (NOT_DRAWN in screen.answers),
        absent,
        sum(calls.values()),
    )


def _runs(conversation: Conversation) -> set[str]:
    """Return the calls that carry the id of the run that they start: VS Code shows neither them nor their run."""
    calls = [part for part in parts_of(conversation) if isinstance(part, ToolCall)]
    return {call.id for call in calls if call.subagent is not None and call.subagent.run_id is not None}


def _shown_calls(parts: Sequence[AnyPart], message: Message, hidden: set[str]) -> Iterator[ToolCall]:
    pictures = {part.position for part in parts if part.native == PICTURE}
    for part in parts:
        if not isinstance(part, ToolCall) or part.is_hidden or part.status in UNSEEN_CALLS:
            continue
        is_picture = part.position is not None and part.position in pictures
        if not is_picture and hidden.isdisjoint({part.id, message.parent_call_id or ""}):
            yield part


def _answer_lines(parts: Sequence[AnyPart]) -> list[str]:
    """Return the lines of an answer, cut where a link to a file or a notice is: VS Code shows those in its own way."""
    pieces = [part.text if isinstance(part, Text) else REFERENCE if _is_prose(part) else "" for part in parts]
    return [piece for line in lines_of("".join(pieces)) for piece in line.split(REFERENCE) if letters(piece)]


def _is_prose(part: AnyPart) -> bool:
    return (isinstance(part, Reference) and part.type == "inline") or isinstance(part, Notice)


def _is_in(line: str, shown: str) -> bool:
    """Return whether a line is shown; the names of icons are shown only if a text does not ask for the icons."""
    return letters(line) in shown or letters(_ICON.sub("", line)) in shown


def _is_shown(turn: Turn) -> bool:
    return is_counted(turn) and not turn.is_hidden and turn.branch is None


def _prompt_lines(messages: list[Message]) -> list[str]:
    texts = [
        part.text
        for message in messages
        if message.role == "user" and message.parent_call_id is None
        for part in message.parts
        if isinstance(part, Text)
    ]
    return [line for text in texts for line in lines_of(text)]


def _any_link(url: str) -> bool:  # noqa: ARG001 - VS Code opens files, too
    return True


_markdown.validateLink = _any_link  # type: ignore[method-assign]


def lines_of(text: str) -> list[str]:
    """Return the lines of Markdown as a reader sees them, without marks; long ones are cut."""
    html = _markdown.render(_LINK.sub("", text))
    html = re.sub(r"<img[^>]*>", "\n", html)
    plain = unescape(_TAG.sub("", re.sub(r"</(td|th|p|li|h\d|pre|tr)>|<br */?>", "\n", html)))
    return [line.strip()[:LONGEST_LINE] for line in plain.split("\n") if letters(line)]


def letters(text: str) -> str:
    """Return only letters and digits: spaces, punctuation and the order of decorations differ on a screen."""
    return "".join(char for char in unicodedata.normalize("NFC", text) if char.isalnum())


def _words_of(call: ToolCall, messages: list[Message]) -> list[str]:
    """Return the words by which a call can be recognised, the best ones first."""
    parts = [part for message in messages for part in message.parts]
    lines = [part for part in parts if isinstance(part, Terminal) and part.call_id == call.id]
    words: list[str | None] = [(line.shown or line.command).strip().split("\n")[0][:60] for line in lines]
    if call.subagent is not None:
        words += [call.subagent.description, call.subagent.name]
    words += ["".join(lines_of(call.message)[:1]) if call.message else None, call.title, call.name, call.tool_id]
    words += ["".join(lines_of(_LINES.sub("", call.message))[:1])] if call.message else []
    at = call.position
    words += [part.text for part in parts if isinstance(part, Notice) and at is not None and part.position == at]
    results = [part for part in parts if isinstance(part, ToolResult) and part.call_id == call.id]
    words += [label_of(place) for result in results for place in result.places]
    return [word for word in words if word and letters(word)] or [call.id]
