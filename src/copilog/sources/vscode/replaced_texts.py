"""Find the texts that a later line of a session log replaced and that the final state lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from copilog.model import AnyDocument, DraftDocument, Message, Notice

SHORTEST = 12  # minimum number of characters of a text to report
# Fields without text of users or models: addresses, ids, names, and what was shown only while something ran.
NO_TEXT = frozenset(
    {
        *("kind", "source", "presentation", "language", "mimeType", "icon", "iconPath", "themeIcon", "isTrusted"),
        *("$mid", "scheme", "authority", "path", "query", "fragment", "fsPath", "external", "_sep", "_formatted"),
        *("uri", "uris", "baseUri", "cacheKey", "agent", "slashCommand", "invocationMessage", "originMessage"),
        *("id", "requestId", "responseId", "sessionId", "modelId", "toolId", "toolCallId", "subAgentInvocationId"),
        *("terminalToolSessionId", "terminalCommandId", "statefulMarker", "encrypted", "encrypted_content"),
    }
)
Lost = dict[str, list[tuple[int | None, str]]]  # by request: positions of parts, and texts
DRAFT_FIELDS = ("inputState", "inputText", "pendingRequests")


class Overwritten:
    """The values that lines replaced, by their paths."""

    __slots__ = ("drafts", "in_requests")

    def __init__(self) -> None:
        # the id of the request, its field (None for all of it), the item of the field, the value
        self.in_requests: list[tuple[str, str | None, int | None, Any]] = []
        self.drafts: list[Any] = []

    def add_items(self, request_id: str, field: str, first: int, old: list[Any], new: list[Any]) -> None:
        """Add items of a request's field that a line replaces by others, unless the new ones continue them."""
        for offset, item in enumerate(old):
            if not (offset < len(new) and _is_continued(item, new[offset])):
                self.in_requests.append((request_id, field, first + offset, item))

    def lost_of_requests(self, requests: Iterable[Any]) -> Lost:
        """Return by request the texts that it no longer has, with the positions of their parts."""
        if not self.in_requests:
            return {}
        final: dict[str, Any] = {}
        held: dict[str, str] = {}
        lost: Lost = {}
        for name, field, position, value in self.in_requests:
            texts = list(dict.fromkeys(_texts_in(value)))
            if not texts:
                continue
            final = final or _by_id(requests)
            request = final.get(name)
            successor = set(_texts_in(_item_at(request, field, position)))  # it nearly always has all of them
            texts = [text for text in texts if text not in successor]
            if texts and name not in held:
                held[name] = "\0".join(_texts_in(request))
            texts = [text for text in texts if text not in held[name]]
            if texts:
                held[name] += "\0" + "\0".join(texts)
                lost.setdefault(name, []).append((position if field == "response" else None, "\n".join(texts)))
        return lost

    def lost_drafts(self, state: Any, removed: list[Any]) -> list[str]:
        """Return the texts of the input box and of queued prompts that were neither sent nor are in the final state."""
        typed = set(_prompts_in(self.drafts))
        if not typed or not isinstance(state, dict):
            return []
        requests = state.get("requests")
        sent = [*(requests if isinstance(requests, list) else []), *removed]
        kept: list[Any] = [request.get("message") for request in sent if isinstance(request, dict)]
        held = "\0".join(_texts_in([kept, *(state.get(field) for field in DRAFT_FIELDS)]))
        lost: list[str] = []
        for text in sorted(typed, key=lambda text: (-len(text), text)):
            if text not in held:
                held += f"\0{text}"
                lost.append(text)
        return lost


def _by_id(requests: Iterable[Any]) -> dict[str, Any]:
    """Return the requests that have an id; a damaged one may be of any type."""
    named = ((request.get("requestId"), request) for request in requests if isinstance(request, dict))
    return {name: request for name, request in named if isinstance(name, str)}


def _item_at(request: Any, field: str | None, position: int | None) -> Any:
    """Return the final value of a request at the path of a replaced value."""
    value = request.get(field) if isinstance(request, dict) and field is not None else request
    if position is None or not isinstance(value, list):
        return value
    return value[position] if position < len(value) else None


def _is_continued(old: Any, new: Any) -> bool:
    """Return whether an item is the same as before, or prose that continues it."""
    is_part = isinstance(old, dict) and isinstance(new, dict)
    before, after = (old.get("value"), new.get("value")) if is_part else (old, new)
    is_prose = isinstance(before, str) and isinstance(after, str) and after.startswith(before)
    return is_prose or bool(old == new)


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts of a value that users or models may have written."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            if len(value) >= SHORTEST:
                yield value
        elif isinstance(value, dict):
            waiting += [item for key, item in reversed(value.items()) if key not in NO_TEXT]
        elif isinstance(value, list):
            waiting += reversed(value)


def _prompts_in(values: list[Any]) -> Iterator[str]:
    """Yield the typed prompts: texts of the input box, messages of queued prompts."""
    for value in values:
        if isinstance(value, str):
            yield from _texts_in(value)
        elif isinstance(value, dict) and ("inputText" in value or "request" in value):
            request = value.get("request")
            yield from _texts_in(
                [value.get("inputText"), request.get("message") if isinstance(request, dict) else None]
            )
        elif isinstance(value, list):
            yield from _prompts_in(value)


# --- the model ----------------------------------------------------------------------------------------------------


def add_withdrawn(messages: list[Message], lost: list[tuple[int | None, str]], turn: int) -> None:
    """Add lost texts of a request to its answer, each before the part that replaced it."""
    answers = [message for message in messages if message.role == "assistant"]
    if not answers:
        answers = [Message(role="assistant", parts=[], turn=turn)]
        messages += answers
    for position, text in lost:
        notice = Notice(topic="cleared", text=text, native="overwritten", position=position)
        message, at = _insertion_point(position, answers)
        message.parts.insert(at, notice)


def _insertion_point(position: int | None, answers: list[Message]) -> tuple[Message, int]:
    """Return the message and index of the first part at or after a position; the end if there is none."""
    for message in answers if position is not None else ():
        for at, part in enumerate(message.parts):
            if part.position is not None and position is not None and part.position >= position:
                return message, at
    return answers[-1], len(answers[-1].parts)


def drafts_as_documents(drafts: list[str]) -> list[AnyDocument]:
    return [DraftDocument(text=text) for text in drafts]
