"""List every file that a conversation touched: which tool, in which turn, which lines, and how the call ended.

A file of a search is the one that was searched (`searched`) or that had a hit (`found`). A tool of which nothing is
known but the path among its arguments `named` the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from copilog.derive.argued_edits import WRITING_TOOLS, is_among
from copilog.derive.call_paths import LONGEST_SEARCHED, paths_in_arguments
from copilog.derive.line_counts import total_changes
from copilog.derive.outcomes import outcome_of
from copilog.derive.tool_names import SHELLS, key_of
from copilog.model import Attachment, Conversation, FileEdit, Range, ToolCall, ToolResult

Action = Literal["read", "viewed", "searched", "found", "edited", "created", "deleted", "renamed", "attached", "named"]

_MADE: dict[str, Action] = {"edit": "edited", "create": "created", "delete": "deleted", "rename": "renamed"}
CHANGES = frozenset(_MADE.values())
_BY_TOOL: dict[str, Action] = {
    **dict.fromkeys(("readfile", "readnotebookcelloutput", "getnotebooksummary", "copilotgetnotebooksummary"), "read"),
    **dict.fromkeys(("view", "viewimage", "listdirectory", "readproject", "showfile"), "viewed"),
    **dict.fromkeys(
        ("findtextinfiles", "findfiles", "findtestfiles", "searchcodebase", "grep", "rg", "glob", "lsp", "usages"),
        "searched",
    ),
}
_COMMANDS: dict[str, Action] = {
    "view": "viewed", "create": "created", "str_replace": "edited", "insert": "edited", "edit": "edited",
}  # fmt: skip
_OF_SEARCH = "searched"


class FileTouch(NamedTuple):
    """A touch of a file; lines count from 1."""

    message: int | None
    turn: int | None
    call_id: str | None
    path: str
    action: Action
    tool: str | None
    first_line: int | None = None
    last_line: int | None = None
    outcome: str | None = None


def file_touches(conversation: Conversation) -> list[FileTouch]:
    """Return the touches in their order, each once. The calls' outcomes have been concluded."""
    calls = {part.id: part for message in conversation.messages for part in message.parts if type(part) is ToolCall}
    edited = _edited_by_calls(conversation)
    found: list[FileTouch] = []
    for position, message in enumerate(conversation.messages):
        for part in message.parts:
            if type(part) is ToolCall:
                found += _of_call(part, position, message.turn, edited.get(part.id, ()))
            elif type(part) is FileEdit:
                found += _of_edit(part, position, message.turn, calls.get(part.call_id or ""))
            elif type(part) is ToolResult and part.places:
                found += _of_result(part, position, message.turn, calls.get(part.call_id))
            elif type(part) is Attachment and part.place is not None and part.is_sent:
                found += _of_attachment(part, position, message.turn)
    changed = {(touch.turn, touch.path) for touch in found if touch.action in CHANGES}
    for change in total_changes(conversation.file_changes):
        path = change.path or change.uri
        if (change.turn, path) not in changed:
            found.append(FileTouch(None, change.turn, None, path, _MADE[change.action], None))
    return list(dict.fromkeys(found))


def _edited_by_calls(conversation: Conversation) -> dict[str, list[str]]:
    """Return the files that edits in the answer name, by their call."""
    edited: dict[str, list[str]] = {}
    for message in conversation.messages:
        for part in message.parts:
            if type(part) is FileEdit and part.call_id is not None:
                edited.setdefault(part.call_id, []).append(part.path or part.uri or "")
    return edited


def _of_call(call: ToolCall, position: int, turn: int | None, edited: Any) -> Iterator[FileTouch]:
    outcome = outcome_of(call).kind
    for edit in call.edits:
        yield FileTouch(position, turn, call.id, edit.path, _MADE[edit.action], call.name, outcome=outcome)
    recorded = [*edited, *(edit.path for edit in call.edits)]
    key = key_of(call)
    if key in SHELLS:
        return
    first, last, command = _lines_in(call.arguments)
    action: Action = _BY_TOOL.get(key, "named")
    if key in WRITING_TOOLS:
        action = _COMMANDS.get(command or "", "created" if key in ("createfile", "create") else "edited")
    for path in paths_in_arguments(call.arguments):
        if not is_among(path, recorded):
            yield FileTouch(position, turn, call.id, path, action, call.name, first, last, outcome)


def _of_edit(edit: FileEdit, position: int, turn: int | None, call: ToolCall | None) -> Iterator[FileTouch]:
    path = edit.path or edit.uri
    if path:
        tool = call.name if call is not None else None
        yield FileTouch(position, turn, edit.call_id, path, _MADE[edit.action], tool, outcome=edit.outcome)


def _of_result(result: ToolResult, position: int, turn: int | None, call: ToolCall | None) -> Iterator[FileTouch]:
    action = _BY_TOOL.get(key_of(call), "named") if call is not None else "named"
    if action == _OF_SEARCH:
        action = "found"
    named = paths_in_arguments(call.arguments) if call is not None else []
    for place in result.places:
        path = place.path or place.uri
        if path and (place.range is not None or not is_among(path, named)):
            outcome = outcome_of(call).kind if call is not None else None
            tool = call.name if call is not None else None
            yield FileTouch(position, turn, result.call_id, path, action, tool, *_lines_of(place.range), outcome)


def _of_attachment(attachment: Attachment, position: int, turn: int | None) -> Iterator[FileTouch]:
    assert attachment.place is not None
    path = attachment.place.path or attachment.place.uri
    if path:
        yield FileTouch(position, turn, None, path, "attached", None, *_lines_of(attachment.place.range))


def _lines_of(lines: Range | None) -> tuple[int | None, int | None]:
    return (lines.start_line, lines.end_line) if lines is not None else (None, None)


class _Lines(msgspec.Struct, gc=False):
    """The arguments that name lines, in Copilot's tools. The decoder skips others."""

    startLine: Any = None  # noqa: N815
    endLine: Any = None  # noqa: N815
    startLineNumberBaseOne: Any = None  # noqa: N815
    endLineNumberBaseOne: Any = None  # noqa: N815
    offset: Any = None
    limit: Any = None
    view_range: Any = None
    command: Any = None


_decode = msgspec.json.Decoder(_Lines).decode


def _lines_in(arguments: str | None) -> tuple[int | None, int | None, str | None]:
    """Return the first and the last line that the arguments name, and the command of an editor of several."""
    if not arguments or len(arguments) > LONGEST_SEARCHED or arguments[0] != "{":
        return None, None, None
    try:
        given = _decode(arguments)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None, None, None
    command = given.command if isinstance(given.command, str) else None
    first, last = _number(given.startLine), _number(given.endLine)
    if isinstance(given.view_range, list) and len(given.view_range) == 2:
        first, last = map(_number, given.view_range)
    elif first is None and given.startLineNumberBaseOne is not None:
        first, last = _number(given.startLineNumberBaseOne), _number(given.endLineNumberBaseOne)
    elif first is None and _number(given.offset) is not None:
        first, count = _number(given.offset), _number(given.limit)
        last = first + count - 1 if first is not None and count is not None else None
    return first, last, command


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 31 else None
