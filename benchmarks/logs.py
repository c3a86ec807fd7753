"""A session as the log of changes that VS Code would have written while it grew."""

from __future__ import annotations

from benchmarks.sessions import Session
from benchmarks.words import Json, Words

# What a request gets only when its answer is complete.
LATE_FIELDS = ("result", "followups", "responseMarkdownInfo", "elapsedMs", "completionTokens", "modelState")
COMPACTED = 0.2  # part of all logs that were written anew as one line


def log_lines(session: Session, words: Words) -> list[Json]:
    """The lines of a log; its replay gives the session's state."""
    state = session.state
    if words.chance(COMPACTED):
        return [{"kind": 0, "v": state}]
    title = state.get("customTitle")
    start = {**state, "requests": [], "responderUsername": ""}
    start.pop("customTitle", None)
    lines: list[Json] = [{"kind": 0, "v": start}]
    lines.append({"kind": 1, "k": ["responderUsername"], "v": state["responderUsername"]})
    for number, request in enumerate(session.requests):
        text = request["message"]["text"]
        lines.append({"kind": 1, "k": ["inputState", "inputText"], "v": text[:80]})
        lines += _request_lines(request, number, words)
        lines.append({"kind": 1, "k": ["inputState", "inputText"], "v": ""})
    if title is not None:
        lines.append({"kind": 1, "k": ["customTitle"], "v": title})
    return lines


def _request_lines(request: Json, number: int, words: Words) -> list[Json]:
    parts = request["response"]
    path = ["requests", number]
    first = {key: value for key, value in request.items() if key not in LATE_FIELDS}
    lines: list[Json] = []
    written = 0
    for end in sorted(words.rng.sample(range(1, len(parts) + 1), k=min(words.rng.randint(1, 4), len(parts)))):
        shown = [*parts[written : end - 1], _begun(parts[end - 1])]
        if not lines:
            lines.append(
                {"kind": 2, "k": ["requests"], "v": [{**first, "response": shown, "modelState": {"value": 0}}]}
            )
        else:
            lines.append({"kind": 2, "k": [*path, "response"], "v": shown, "i": written})
        written = end - 1  # the last part was still growing: it is cut off and sent again
    lines.append({"kind": 2, "k": [*path, "response"], "v": parts[written:], "i": written})
    lines += [{"kind": 1, "k": [*path, key], "v": request[key]} for key in LATE_FIELDS if key in request]
    return lines


def _begun(part: Json) -> Json:
    """A part while its text is still coming in."""
    text = part.get("value")
    return {**part, "value": text[: len(text) // 2]} if isinstance(text, str) else part
