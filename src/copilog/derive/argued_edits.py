"""Find edits that are recorded only in the arguments of a call, not as a part of the answer.

Where some edits of a call failed, its arguments do not show which: then none of them is evidence for lines.
"""

from __future__ import annotations

from collections.abc import Iterable

from copilog.derive.edit_arguments import Lines, joined, lines_in_arguments
from copilog.derive.outcomes import Walked, is_done, is_partly_done
from copilog.derive.own_texts import reports_edit_of
from copilog.derive.tool_names import EDITING_TOOLS, OF_SEVERAL_FILES, key_of
from copilog.model import ArguedEdit, FileEdit, ToolCall

CREATING = frozenset({"createfile", "create"})
WRITING_TOOLS = EDITING_TOOLS | CREATING | {"edit", "insert", "strreplace", "strreplaceeditor"}


def conclude_argued_edits(walked: Walked) -> None:
    """Add the edits that only arguments record to their calls."""
    calls = [(turn, call) for turn, call in walked.calls if call.arguments and key_of(call) in WRITING_TOOLS]
    if not calls:
        return
    partly = {call.id for _, call in calls if is_partly_done(call)}
    recorded: dict[str, list[str]] = {}  # by call: files whose lines are recorded by edits in the answer
    vague: dict[str, list[str]] = {}  # files whose edits in the answer have no line counts
    by_turn: dict[int | None, list[str]] = {}  # files of edits without a call
    for turn, edit in walked.edits:
        path = edit.path or edit.uri or ""
        if edit.call_id in partly:
            edit.diff = edit.added = edit.removed = None  # made of the arguments
        if edit.call_id is None:
            by_turn.setdefault(turn, []).append(path)
        else:
            (vague if is_vague(edit) else recorded).setdefault(edit.call_id, []).append(path)
    for turn, call in calls:
        is_recorded = call.id in recorded and key_of(call) not in OF_SEVERAL_FILES
        if is_recorded or not is_done(call) or call.status == "prepared":
            call.edits = []
        else:
            others = [*recorded.get(call.id, ()), *by_turn.get(turn, ())]
            call.edits = _edits_of(call, others, vague.get(call.id, []))
            if call.id in partly:
                results = walked.results.get(call.id, [])
                call.edits = [
                    ArguedEdit(path=edit.path, action=edit.action)
                    for edit in call.edits
                    if any(reports_edit_of(edit.path, result.text) for result in results)
                    and not is_among(edit.path, vague.get(call.id, ()))
                ]


def is_vague(edit: FileEdit) -> bool:
    """Return whether an edit of the answer has neither a diff nor line counts."""
    return edit.added is None and edit.removed is None and not edit.diff


def _edits_of(call: ToolCall, recorded: list[str], vague: list[str]) -> list[ArguedEdit]:
    pieces: dict[str, list[Lines]] = {}
    for path, lines in lines_in_arguments(call.arguments):
        if not is_among(path, recorded):
            pieces.setdefault(path, []).append(lines)
    edits = [_edit_of(path, joined(lines), is_new=key_of(call) in CREATING) for path, lines in pieces.items()]
    return [edit for edit in edits if edit.added is not None or not is_among(edit.path, vague)]


def _edit_of(path: str, lines: Lines, *, is_new: bool) -> ArguedEdit:
    action = "create" if is_new else lines.action
    if lines.is_rough or action == "delete":
        return ArguedEdit(path=path, action=action)
    return ArguedEdit(path=path, action=action, added=len(lines.added), removed=len(lines.removed))


def is_among(path: str, others: Iterable[str]) -> bool:
    """Return whether a file is one of others; either path may be relative to some folder."""
    plain = _plain(path)
    return any(plain == other or _is_end(plain, other) or _is_end(other, plain) for other in map(_plain, others))


def _is_end(end: str, path: str) -> bool:
    return not end.startswith("/") and end[1:2] != ":" and path.endswith(f"/{end}")


def _plain(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./")
