"""Read a log entry in Markdown, and its messages, into the shape of the JSON export."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from copilog import jsonio
from copilog.errors import BadRecord
from copilog.fields import Json
from copilog.sources.replay.content import CACHE_BREAKPOINT, OPAQUE, TEXT
from copilog.sources.replay.entries import ANSWER, MARKDOWN, UNREAD

# One message of a Markdown log entry: its text, reasoning, tool calls and the marks at its end.


TOOL_SIGN = "🛠️ "

_CALL = re.compile(r"^🛠️ (\S+) \((\S+)\) ", re.MULTILINE)
_CACHE_MARK = "\n[copilot_cache_control: { type: 'ephemeral' }]"
_ANSWER_MARK = re.compile(r"\n\[response_id: (.+) with (.+)\]\Z")
_ENCRYPTED = re.compile(r"^encrypted_content=(\d+) chars(?:\n|\Z)", re.MULTILINE)
_REASONING = "reasoning: "
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_CONTROL = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def message_from(role: str, content: str) -> Json:
    """Return a message in the form of the JSON export."""
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
    """Cut the marks off the end: where the cache may begin, and the id by which the service stores an answer."""
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
    """Cut the tool calls off the end of an assistant's message."""
    found = list(_CALL.finditer(content))
    if not found:
        return content
    ends = [call.start() for call in found[1:]] + [len(content)]
    for call, end in zip(found, ends, strict=True):
        arguments = restored_json(content[call.end() : end].removesuffix("\n"))
        calls.append({"id": call[2], "type": "function", "function": {"name": call[1], "arguments": arguments}})
    return content[: found[0].start()].removesuffix("\n")


def _assistant_parts(content: str) -> list[Json]:
    """Return reasoning and text. If nothing encrypted is between them, the first paragraph is the reasoning."""
    beginning = content.lstrip("\n")
    encrypted = _ENCRYPTED.search(beginning)
    if not beginning.startswith(_REASONING):
        if encrypted is None or encrypted.start() > 0:
            return _parts(beginning)
        return [_thinking_of_message("", encrypted[1]), *_parts(beginning[encrypted.end() :])]
    if encrypted is not None:
        thought = beginning[len(_REASONING) : encrypted.start()].removesuffix("\n")
        return [_thinking_of_message(thought, encrypted[1]), *_parts(beginning[encrypted.end() :])]
    thought, _, text = beginning.removeprefix(_REASONING).partition("\n\n")
    return [_thinking_of_message(thought, None), *_parts(text)]


def _thinking_of_message(text: str, encrypted: str | None) -> Json:
    thought: Json = {"text": text}
    if encrypted is not None:
        thought["encrypted_chars"] = int(encrypted)
    return {"type": OPAQUE, "value": {"type": "thinking", "thinking": thought}}


def _parts(content: str) -> list[Json]:
    """Return text, and between it images, which are JSON on a line of their own."""
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
    """Return arguments as JSON text again: the log shows them with real line breaks in their strings."""
    restored = _STRING.sub(lambda found: re.sub(r"[\n\t\r]", lambda it: _CONTROL[it[0]], found[0]), text)
    try:
        value = jsonio.decode(restored.encode("utf-8", "replace"))[0]
    except BadRecord:
        return text
    return jsonio.encode(value)


# One log entry as Markdown, converted back to the form of the JSON export. The layout is line by line: headings,
# fences, `key : value`. Fences are not escaped, so that a message with a fence on a line of its own can be cut at the
# wrong line; the lines after it decide, as well as they can. Format notes: docs/formats/chat-replay.md, "Markdown".


NOTE = "> 🚨"
NOT_AVAILABLE = "Not available"

_TITLE = re.compile(r"# (.*) - (\S+)")
_TOOL_TITLE = re.compile(r"# Tool Call - (.+)")
_FENCE = re.compile(r"(~{3,}|`{3,})\w*\s*")
_ROLE = re.compile(r"### (System|Developer|User|Assistant|Tool)\s*")
_PAIR = re.compile(r"([A-Za-z][\w ]{0,40}?) *: ?(.*)", re.DOTALL)
_TOOLS = re.compile(r"tools(?: \(\d+\))?\s*: ?")
_ENDINGS = ("## Prediction", "## Response", "## FAILED", "## CANCELED", '<a id="response">', "<style>")
_CONTENTS = re.compile(r"\s*- \[[\w ]+\]\(#[\w-]+\)")
_TABLE = re.compile(r"</?(?:pre|code|details)>(?:</?(?:pre|code)>)?|~{3,}|`{3,}")
_MILLISECONDS = re.compile(r"(\d+(?:\.\d+)?)ms")

Lines = list[str]


def entry_from_markdown(text: str) -> Json | None:
    """Return the log entry of a Markdown file; None for one that only states that it is empty."""
    if text.count("\r\n") == text.count("\n"):  # converted after writing; otherwise they belong to quoted text
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    start = _start_of(lines)
    if start is None:
        raise BadRecord("an empty log entry")
    heading, body = lines[start], lines[start + 1 :]
    unread = _content_lines(lines[:start])
    if tool := _TOOL_TITLE.fullmatch(heading.rstrip()):
        return _tool_call(tool[1], body, unread)
    if (title := _TITLE.fullmatch(heading.rstrip())) and _find(body, lambda line: line.rstrip() == "## Metadata"):
        return _request(title[1], title[2], body, unread)
    if heading.strip() == NOT_AVAILABLE:
        return None
    if heading.startswith("# "):
        return {"kind": "request", "type": MARKDOWN, "name": heading[2:].strip(), "content": text}
    raise BadRecord("neither a request nor a tool call")


def _start_of(lines: Lines) -> int | None:
    """Return the line of the title, else the first line with content."""
    head = lines[: (_find(lines, lambda line: line.startswith("## ")) or len(lines) + 1) - 1]
    titles = (index for index, line in enumerate(head) if _TITLE.fullmatch(line.rstrip()))
    says = (index for index, line in enumerate(lines) if line.strip() and not line.startswith(NOTE))
    return next(titles, next(says, None))


def _content_lines(lines: Lines) -> Lines:
    """Return the lines that are neither blank nor of the format itself: a note, the table of contents."""
    return [line for line in lines if line.strip() and not line.startswith(NOTE) and not _CONTENTS.fullmatch(line)]


def _without_style(lines: Lines) -> Lines:
    """Return the lines without the style that a log ends with."""
    style = next((index for index in reversed(range(len(lines))) if lines[index].strip() == "<style>"), len(lines))
    end = next((index for index in range(style, len(lines)) if lines[index].strip() == "</style>"), len(lines))
    return lines[:style] + lines[end + 1 :]


# --- requests ---------------------------------------------------------------------------------------------------


def _request(name: str, native_id: str, lines: Lines, unread: Lines) -> Json:
    start = _find(lines, lambda line: line.rstrip() == "## Metadata") or 0
    unread += _content_lines(lines[: max(start - 1, 0)])
    metadata, rest = _between(lines, "## Metadata", "## Request Messages")
    entry: Json = {"kind": "request", "id": native_id, "name": name, "metadata": _metadata(metadata, unread)}
    messages, rest = _messages(rest, unread)
    entry["requestMessages"] = {"messages": messages}
    prediction = _find(rest, lambda line: line.startswith("## Prediction"))
    if prediction:
        unread += _content_lines(rest[: prediction - 1])
        fence = _opening(rest, prediction)
        unread += _content_lines(rest[prediction:fence])
        content, rest = _fenced(rest[fence:], lambda line: line.startswith(_ENDINGS[1:]))
        entry["requestMessages"]["prediction"] = {"content": content}
    entry |= _response(rest, unread)
    if unread:
        entry[UNREAD] = "\n".join(unread)
    return entry


def _opening(lines: Lines, start: int) -> int:
    """Return the first fence from a line on; the line itself if there is none before the next heading."""
    for index in range(start, len(lines)):
        if _FENCE.fullmatch(lines[index]):
            return index
        if lines[index].startswith("## "):
            break
    return start


def _between(lines: Lines, first: str, second: str) -> tuple[Lines, Lines]:
    """Return the lines between two headings, and those after the second."""
    start = _find(lines, lambda line: line.rstrip() == first) or 0
    length = _find(lines[start:], lambda line: line.startswith("## "))
    if length is None:
        return lines[start:], []
    end = start + length
    return lines[start : end - 1], lines[end:] if lines[end - 1].rstrip() == second else lines[end - 1 :]


def _find(lines: Lines, is_it: Callable[[str], bool]) -> int | None:
    """Return the number of lines up to and including the first of a kind; None if there is none."""
    return next((index + 1 for index, line in enumerate(lines) if is_it(line)), None)


def _messages(lines: Lines, unread: Lines) -> tuple[list[Json], Lines]:
    """Return the messages of a request, and the lines after them. A line of no message is added to `unread`."""
    messages: list[Json] = []
    while True:
        start = next((index for index, line in enumerate(lines) if line.strip()), None)
        if start is None or lines[start].startswith(_ENDINGS):
            return messages, lines[start or 0 :]
        if not _opens_message(lines, start):
            if not _ROLE.fullmatch(lines[start]):
                unread.append(lines[start])
            lines = lines[start + 1 :]
            if _FENCE.fullmatch(lines[0]) if lines else False:  # of a heading that a stray line separates from it
                content, lines = _fenced(lines, None)
                unread.append(content)
            continue
        role = _ROLE.fullmatch(lines[start])
        content, rest = _fenced(lines[start + 1 :], None)
        messages.append(message_from(role[1].lower() if role else "", content))
        lines = rest


def _opens_message(lines: Lines, index: int) -> bool:
    if not _ROLE.fullmatch(lines[index]) or index + 1 >= len(lines):
        return False
    return _FENCE.fullmatch(lines[index + 1]) is not None


def _fenced(lines: Lines, is_end: Callable[[str], bool] | None) -> tuple[str, Lines]:
    """Return the text in the fence that the lines begin with, and the lines after it.

    The fence ends at the first closing line that is followed by something that only the log itself writes.
    """
    opening = _FENCE.fullmatch(lines[0]) if lines else None
    if opening is None:
        return "", lines
    for index in range(1, len(lines)):
        if lines[index].rstrip() != opening[1]:
            continue
        after = next((place for place in range(index + 1, len(lines)) if lines[place].strip()), None)
        if after is None or _follows_fence(lines, after, is_end):
            return "\n".join(lines[1:index]), lines[index + 1 :]
    return "\n".join(lines[1:]).removesuffix("\n"), []


def _follows_fence(lines: Lines, index: int, is_end: Callable[[str], bool] | None) -> bool:
    if is_end is not None:
        return is_end(lines[index])
    return lines[index].startswith(_ENDINGS) or _opens_message(lines, index)


def _response(lines: Lines, unread: Lines) -> Json:
    start = _find(lines, lambda line: line.startswith(_ENDINGS[1:4]))
    before = lines[: start - 1] if start else _without_style(lines)
    unread += [line for line in _content_lines(before) if not line.startswith(_ENDINGS)]
    if start is None:
        return {"type": "ChatMLSuccess"}
    heading, lines = lines[start - 1].rstrip(), lines[start:]
    if heading == "## CANCELED":
        unread += _content_lines(_without_style(lines))
        return {"type": "ChatMLCancelation", "response": {"type": "canceled"}}
    if heading.startswith("## FAILED"):
        end = _find(lines, lambda line: line.startswith("<style>"))
        reason = "\n".join([heading.removeprefix("## FAILED:").strip(), *lines[: end - 1 if end else None]])
        return {"type": "ChatMLFailure", "response": {"type": "failure", "reason": reason.strip()}}
    opening = _opening(lines, 0)
    unread += [line for line in _content_lines(lines[:opening]) if not _ROLE.fullmatch(line)]
    content, rest = _fenced(lines[opening:], lambda line: line.startswith("<style>"))
    unread += _content_lines(_without_style(rest))
    if heading.endswith("(truncated)"):
        return {"type": "ChatMLFailure", "response": {"type": "truncated", "message": content}}
    said = message_from("assistant", content)
    text = "".join(part["text"] for part in said["content"] if part["type"] == 1)
    answer: Json = {"type": "ChatMLSuccess", "response": {"type": "success", "message": [text]}}
    if "toolCalls" in said:
        answer[ANSWER] = said
    return answer


# --- metadata ---------------------------------------------------------------------------------------------------


def _metadata(lines: Lines, unread: Lines) -> Json:
    """Return the values of the metadata table. Keys without a value are left out."""
    found: Json = {}
    text = "\n".join(lines)
    text, tools = _cut_tools(text)
    for line in text.split("\n"):
        pair = _PAIR.fullmatch(line)
        if pair is None or line.startswith("<"):
            if line.strip() and not _TABLE.fullmatch(line.strip()):
                unread.append(line)
            continue
        key, value = pair[1], _value(pair[1], pair[2].strip())
        if value is not None:
            found["resolvedModel" if key == "resolved model" else key] = value
    if tools is not None:
        found["tools"] = tools
    return found


def _cut_tools(text: str) -> tuple[str, Any]:
    """Return the list of tools: in a collapsed section in newer logs, the last of the values in older ones."""
    before, details, after = text.partition("<details>")
    if details:
        inner, _, rest = after.partition("</details>")
        summary, _, listed = inner.partition("</summary>")
        names = _TOOLS.sub("", summary.strip().removeprefix("<summary>"), count=1)
        return before + rest, _decoded(listed) or [name.strip() for name in names.split(",") if name.strip()]
    start = re.search(r"^tools(?: \(\d+\))?\s*: ?(?=\[)", text, re.MULTILINE)
    if start is None:
        return text, None
    listed = text[start.end() :]
    end = listed.rfind("\n]")
    end = end + 2 if end >= 0 else listed.find("]") + 1 or len(listed)
    return text[: start.start()] + listed[end:], _decoded(listed[:end])


def _value(key: str, text: str) -> Any:
    """Return a value of the table: a number, JSON, a time in milliseconds, or the text unchanged."""
    if text in ("", "undefined", "null"):
        return None
    if duration := _MILLISECONDS.fullmatch(text):
        return _decoded(duration[1])
    if key == "lastResponseId" and " using " in text:
        marker, _, model = text.rpartition(" using ")
        return {"marker": marker, "modelId": model}
    if text[0] in "{[" or key in ("maxPromptTokens", "maxResponseTokens", "location"):
        decoded = _decoded(text)
        return text if decoded is None else decoded
    return text


def _decoded(text: str) -> Any:
    try:
        return jsonio.decode(text.encode("utf-8", "replace"))[0]
    except BadRecord:
        return None


# --- tool calls -------------------------------------------------------------------------------------------------


def _tool_call(native_id: str, lines: Lines, unread: Lines) -> Json:
    entry: Json = {"kind": "toolCall", "id": native_id.strip()}
    start = _find(lines, lambda line: line.rstrip() == "## Request")
    if start is None:
        raise BadRecord("a tool call without its request")
    opening = _opening(lines, start)
    unread += _content_lines(lines[: start - 1]) + _content_lines(lines[start:opening])
    asked, lines = _fenced(lines[opening:], lambda line: line.startswith(("## Response", "## Thinking")))
    head, has_arguments, arguments = asked.partition("\nargs : ")
    for line in head.split("\n"):
        key, _, value = line.partition(":")
        if key.strip() == "tool":
            entry["tool"] = value.strip()
        elif key.strip() != "id" and line.strip():
            unread.append(line)
    if has_arguments:
        entry["args"] = restored_json(arguments)
    response = _find(lines, lambda line: line.rstrip() == "## Response")
    if response is not None:
        opening = _opening(lines, response)
        unread += _content_lines(lines[: response - 1]) + _content_lines(lines[response:opening])
        entry["response"], lines = _pieces(lines[opening:])
    thinking = _find(lines, lambda line: line.rstrip() == "## Thinking")
    unread += _content_lines(lines[: thinking - 1 if thinking else None])
    if thinking is not None:
        entry["thinking"] = _thinking(lines[thinking:], unread)
    if unread:  # most likely more of the result
        entry["response"] = [*entry.get("response", []), "\n".join(unread)]
    return entry


def _pieces(lines: Lines) -> tuple[list[str], Lines]:
    """Return the pieces of a result, each in a fence of its own: one begins right where the one before ends."""
    pieces: list[str] = []
    while lines and _FENCE.fullmatch(lines[0]):
        end = next((index for index in range(1, len(lines)) if _ends_piece(lines, index)), len(lines))
        pieces.append("\n".join(lines[1:end]))
        lines = lines[end + 1 :]
    return pieces, lines


def _ends_piece(lines: Lines, index: int) -> bool:
    if lines[index].rstrip() != "~~~":
        return False
    after = lines[index + 1].rstrip() if index + 1 < len(lines) else ""
    return after in ("~~~", "## Thinking") or not any(line.strip() for line in lines[index + 1 :])


def _thinking(lines: Lines, unread: Lines) -> Json:
    thought: Json = {}
    opening = _opening(lines, 0)
    for line in _content_lines(lines[:opening]):
        if line.startswith("thinkingId:"):
            thought["id"] = line.partition(":")[2].strip()
        else:
            unread.append(line)
    thought["text"], _ = _fenced(lines[opening:], lambda line: False)  # noqa: ARG005
    return thought
