"""One message of a Markdown log entry: its text, reasoning, tool calls and the marks at its end."""

from __future__ import annotations

import re
from typing import Any

from copilog import jsonio
from copilog.errors import BadRecord
from copilog.sources._replay.raw import CACHE_BREAKPOINT, OPAQUE, TEXT
from copilog.sources._vscode.take import Json

TOOL_SIGN = "🛠️ "

_CALL = re.compile(r"^🛠️ (\S+) \((\S+)\) ", re.MULTILINE)
_CACHE_MARK = "\n[copilot_cache_control: { type: 'ephemeral' }]"
_ANSWER_MARK = re.compile(r"\n\[response_id: (.+) with (.+)\]\Z")
_ENCRYPTED = re.compile(r"^encrypted_content=(\d+) chars(?:\n|\Z)", re.MULTILINE)
_REASONING = "reasoning: "
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_CONTROL = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def message_from(role: str, content: str) -> Json:
    """A message as the JSON export has it."""
    message: Json = {"role": role}
    marks: list[Json] = []
    content = _cut_marks("\n" + content, marks).removeprefix("\n")
    if role == "tool" and content.startswith(TOOL_SIGN):
        first, _, content = content.partition("\n")
        message["toolCallId"] = first.removeprefix(TOOL_SIGN).strip()
    calls: list[Json] = []
    if role == "assistant":
        content = _cut_calls(content, calls)
    parts = _assistant_parts(content) if role == "assistant" else _parts(content)
    message["content"] = parts + marks
    if calls:
        message["toolCalls"] = calls
    return message


def _cut_marks(content: str, marks: list[Json]) -> str:
    """Take the marks off the end: where the cache may begin, and which answer the service remembers."""
    answer = _ANSWER_MARK.search(content)
    if answer is not None:
        value = {"type": "stateful_marker", "value": {"marker": answer[1], "modelId": answer[2]}}
        marks.append({"type": OPAQUE, "value": value})
        content = content[: answer.start()]
    if content.endswith(_CACHE_MARK):
        marks.append({"type": CACHE_BREAKPOINT, "cacheType": "ephemeral"})
        content = content.removesuffix(_CACHE_MARK).removesuffix("\n")
    return content


def _cut_calls(content: str, calls: list[Json]) -> str:
    """Take the tool calls off the end of an assistant's message."""
    found = list(_CALL.finditer(content))
    if not found:
        return content
    ends = [call.start() for call in found[1:]] + [len(content)]
    for call, end in zip(found, ends, strict=True):
        arguments = restored_json(content[call.end() : end].removesuffix("\n"))
        calls.append({"id": call[2], "type": "function", "function": {"name": call[1], "arguments": arguments}})
    return content[: found[0].start()].removesuffix("\n")


def _assistant_parts(content: str) -> list[Json]:
    """Reasoning and text. Where nothing encrypted stands between them, the first paragraph is the reasoning."""
    beginning = content.lstrip("\n")
    encrypted = _ENCRYPTED.search(beginning)
    if not beginning.startswith(_REASONING):
        if encrypted is None or encrypted.start() > 0:
            return _parts(beginning)
        return [_thinking("", encrypted[1]), *_parts(beginning[encrypted.end() :])]
    if encrypted is not None:
        thought = beginning[len(_REASONING) : encrypted.start()].removesuffix("\n")
        return [_thinking(thought, encrypted[1]), *_parts(beginning[encrypted.end() :])]
    thought, _, text = beginning.removeprefix(_REASONING).partition("\n\n")
    return [_thinking(thought, None), *_parts(text)]


def _thinking(text: str, encrypted: str | None) -> Json:
    thought: Json = {"text": text}
    if encrypted is not None:
        thought["encrypted_chars"] = int(encrypted)
    return {"type": OPAQUE, "value": {"type": "thinking", "thinking": thought}}


def _parts(content: str) -> list[Json]:
    """Text, and between it images, which stand on a line of their own as JSON."""
    parts: list[Json] = []
    lines: list[str] = []
    for line in content.split("\n"):
        image = _image(line)
        if image is None:
            lines.append(line)
            continue
        if any(lines):
            parts.append({"type": TEXT, "text": "\n".join(lines)})
        lines = []
        parts.append(image)
    if any(lines):
        parts.append({"type": TEXT, "text": "\n".join(lines)})
    return parts


def _image(line: str) -> Json | None:
    if not line.startswith("{") or '"imageUrl"' not in line:
        return None
    try:
        value: Any = jsonio.decode(line.encode("utf-8", "replace"))[0]
    except BadRecord:
        return None
    return value if isinstance(value, dict) and isinstance(value.get("imageUrl"), dict) else None


def restored_json(text: str) -> str:
    """Arguments as JSON text again: the log shows them with real line breaks in their strings."""
    restored = _STRING.sub(lambda found: re.sub(r"[\n\t\r]", lambda it: _CONTROL[it[0]], found[0]), text)
    try:
        value = jsonio.decode(restored.encode("utf-8", "replace"))[0]
    except BadRecord:
        return text
    return jsonio.encode(value)
