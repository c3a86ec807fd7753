"""Give each line of a log entry in Markdown a path, by the headings of the format.

This does not use the reader, so that texts which the reader drops are noticed. A path names what the format writes (a
heading, a mark, a value of the metadata); any other line below the metadata is `/body`, and is stored or reported.
Format notes: docs/formats/chat-replay.md, "Markdown".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

NOTE = "> 🚨"
HEADINGS = frozenset(
    {"## Metadata", "## Request Messages", "## Prediction", "## Response", "## Response (truncated)", "## CANCELED"}
    | {"## Request", "## Thinking", "### System", "### Developer", "### User", "### Assistant", "### Tool"}
    | {'<a id="response"></a>', "<pre><code>", "</code></pre>", "<details>", "</details>", "Not available"}
)
_CONTENTS = re.compile(r"\s*- \[[\w ]+\]\(#[\w-]+\)")
_PAIR = re.compile(r"([A-Za-z][\w ]{0,40}?) *: ?(.*)")
_TOOLS = re.compile(r"(?:<summary>)?tools(?: \(\d+\))? *: ?(.*)")
_CALL = re.compile(r"🛠️ (\S+)(?: \((\S+)\) (.*))?")
_FIELD = re.compile(r"(id|tool|thinkingId) *: *(\S+)")
_FENCE = re.compile(r"(?:~{3,}|`{3,})\w*")
_MARK = re.compile(r"\[copilot_cache_control: \{ type: 'ephemeral' \}\]|encrypted_content=\d+ chars")
_ANSWER = re.compile(r"\[response_id: (.+) with (.+)\]")
_QUOTE = re.compile(r'(?<!\\)((?:\\\\)*)"')


def lines_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield the non-blank lines of an entry, with their paths; of arguments, only the content of strings."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    start = next((index for index, line in enumerate(lines) if line.startswith("## ")), len(lines))
    for line in lines[:start]:
        yield from _of_head(line)
    if start < len(lines) and lines[start].rstrip() == "## Metadata":
        end = next((index for index in range(start + 1, len(lines)) if lines[index].startswith("## ")), len(lines))
        yield from _of_metadata(lines[start + 1 : end])
        start = end
    style = _start_of_style(lines, start)
    yield from _of_body(lines[start:style])
    yield from (("/style", line) for line in lines[style:])


def _start_of_style(lines: list[str], start: int) -> int:
    """Return the index where the style at the end of the log begins; the number of lines if there is none."""
    style = next((index for index in range(len(lines) - 1, start, -1) if lines[index].strip() == "<style>"), len(lines))
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    before = next((line.strip() for line in reversed(lines[start:style]) if line.strip()), "")
    return style if last == "</style>" or _FENCE.fullmatch(before) else len(lines)


def _of_head(line: str) -> Iterator[tuple[str, str]]:
    if line.startswith("# "):
        yield "/title", line[2:]
    elif line.startswith(NOTE):
        yield "/note", line
    elif _CONTENTS.fullmatch(line):
        yield "/contents", line
    elif line.strip() in HEADINGS:
        yield "/heading", line
    elif line.strip():
        yield "/head", line


def _of_metadata(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the values of the metadata by key. The list of tools is JSON of many lines, sometimes folded."""
    in_tools = False
    for line in lines:
        tools, pair = _TOOLS.fullmatch(line), _PAIR.fullmatch(line)
        if tools is not None:
            in_tools = not tools[1].rstrip().endswith("]")
            yield "/metadata/tools", tools[1]
        elif in_tools:
            in_tools = line.rstrip() not in ("]", "</details>")
            yield "/metadata/tools", line
        elif line.strip() in HEADINGS or _FENCE.fullmatch(line.strip()):
            yield "/heading", line
        elif pair is not None:
            yield f"/metadata/{pair[1]}", pair[2].strip()
        elif line.strip():
            yield "/metadata", line


def _of_body(lines: list[str]) -> Iterator[tuple[str, str]]:
    in_arguments = False
    for line in lines:
        bare = line.strip()
        call = _CALL.fullmatch(line)
        if _FENCE.fullmatch(bare) or bare in HEADINGS:
            in_arguments = False
            yield "/heading", line
        elif call is not None or line.startswith("args : "):
            in_arguments = True
            name, arguments = (call[1], call[3] or "") if call is not None else ("", line[7:])
            yield "/body/call" if call is not None and call[2] else "/body/callId", name
            yield from (("/body", piece) for piece in _strings_in(arguments))
        elif answer := _ANSWER.fullmatch(bare):
            in_arguments = False
            yield "/mark", answer[1]
            yield "/mark/model", answer[2]
        elif _MARK.fullmatch(bare):
            yield "/mark/kind", line
        elif in_arguments:
            yield from (("/body", piece) for piece in _strings_in(line))
        elif field := _FIELD.fullmatch(line):
            yield f"/body/{field[1]}", field[2]
        elif bare:
            yield "/body", line.removeprefix("## FAILED: ").removeprefix("reasoning: ")


def _strings_in(line: str) -> Iterator[str]:
    """Yield the text between the quotation marks of a line of JSON, in which strings may span several lines."""
    for piece in _QUOTE.sub(r"\1" + "\0", line).split("\0"):
        yield piece.rstrip("\\")
