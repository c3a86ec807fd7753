"""What some tools do, beyond a call and its result: commands run, files changed, lists of things to do."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any, Literal

from copilog.derive.edit_arguments import lines_in_arguments
from copilog.model import AnyPart, FileEdit, Terminal, TodoItem, TodoList
from copilog.sources.cli.tool_calls import Call
from copilog.textdiff import count_changes

Action = Literal["edit", "create", "delete", "rename"]

SHELLS = {"bash": "bash", "powershell": "powershell", "local_shell": None, "shell": None}
WRITERS: dict[str, Action] = {
    "create": "create",
    "edit": "edit",
    "insert": "edit",
    "str_replace": "edit",
    "apply_patch": "edit",
}
ANY_EDITOR = "str_replace_editor"  # the older tool, which also reads: its argument `command` decides
WRITING_COMMANDS = ("create", "str_replace", "insert", "edit")

_RECORDED: dict[str, Action] = {"create": "create", "delete": "delete", "rename": "rename", "move": "rename"}
DIFF = "diff --git "
_NEW_PATH = re.compile(r"^\+\+\+ (?:b/)?(.+?)\s*$", re.MULTILINE)
_OLD_PATH = re.compile(r"^--- (?:a/)?(.+?)\s*$", re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$|^\*\*\* Move to: (.+?)\s*$", re.MULTILINE)
_TODO = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+\[(.)\]\s+(.*?)\s*$")
_TODO_STATES = {" ": "not-started", "x": "completed", "X": "completed", ">": "in-progress", "~": "in-progress"}
_TODO_WORDS = {"pending": "not-started", "in_progress": "in-progress", "done": "completed"}


def parts_at_start(call: Call) -> list[AnyPart]:
    """Return the parts of a call that its arguments determine."""
    name = call.part.name
    if name in SHELLS:
        command = call.argument("command")
        if command is not None:
            call.terminal = _terminal(call, command)
            return [call.terminal]
    elif name == "update_todo":
        items = _todo_items(call.arguments)
        if items:
            return [TodoList(call_id=call.part.id, items=items, native=name)]
    return []


def _terminal(call: Call, command: str) -> Terminal:
    is_background = call.argument("mode") == "async"
    if isinstance(call.arguments, dict):
        is_background = is_background or call.arguments.get("async") is True or call.arguments.get("detach") is True
    return Terminal(
        call_id=call.part.id,
        command=command,
        language=SHELLS[call.part.name],
        is_background=is_background,
        started_at=call.started_at,
        native=call.part.name,
    )


# --- things to do -----------------------------------------------------------------------------------------------


def _todo_items(arguments: Any) -> list[TodoItem]:
    """Return the list, which is a Markdown checklist or objects."""
    todos = arguments.get("todos", arguments.get("todoList")) if isinstance(arguments, dict) else None
    if isinstance(todos, str):
        found = [match for line in todos.split("\n") if (match := _TODO.match(line))]
        return [TodoItem(title=match[2], status=_TODO_STATES.get(match[1])) for match in found]
    if not isinstance(todos, list):
        return []
    return [_todo_item(item) for item in todos if isinstance(item, dict)]


def _todo_item(item: dict[str, Any]) -> TodoItem:
    title = item.get("title", item.get("content"))
    status, description = item.get("status"), item.get("description")
    return TodoItem(
        id=str(item["id"]) if isinstance(item.get("id"), str | int) else None,
        title=title if isinstance(title, str) else "",
        status=_TODO_WORDS.get(status, status) if isinstance(status, str) else None,
        description=description if isinstance(description, str) else None,
    )


# --- files ------------------------------------------------------------------------------------------------------


def is_writer(call: Call) -> bool:
    """Return whether a call changes files. The older editor also shows them."""
    name = call.part.name
    return name in WRITERS or (name == ANY_EDITOR and call.argument("command") in WRITING_COMMANDS)


def file_edits(call: Call, detail: str | None) -> list[FileEdit]:
    """Return the files that a successful call changed, each with its diff if the log has one."""
    diffs = _diffs_in(detail) if detail is not None else []
    touched = _touched_by(call)
    if len(diffs) == len(touched):
        return [_file_edit(call, action, path, diff) for (action, path), diff in zip(touched, diffs, strict=True)]
    if diffs:
        return [_file_edit(call, _action_in(diff), _path_in(diff), diff) for diff in diffs]
    return [_file_edit(call, action, path, None) for action, path in touched]


def with_recorded(call: Call, edits: list[FileEdit], recorded: Any) -> list[FileEdit]:
    """Return the edits of a call with absolute paths, and those that only `fileEdits` (since 1.0.92) records."""
    made = list(edits)
    for item in recorded if isinstance(recorded, list) else ():
        path, kind = (item.get("path"), item.get("kind")) if isinstance(item, dict) else (None, None)
        if not isinstance(path, str) or not path:
            continue
        known = next((edit for edit in made if edit.path is not None and _is_end_of(edit.path, path)), None)
        if known is not None:
            known.path = path
        elif len(made) == 1 and made[0].path is None:
            made[0].path = path
        else:
            made.append(_file_edit(call, _RECORDED.get(kind, "edit") if isinstance(kind, str) else "edit", path, None))
    return made


def _is_end_of(path: str, whole: str) -> bool:
    """Return whether another path ends with a path that is relative, or lacks its first slash."""
    parts = PurePath(path.replace("\\", "/").lstrip("/")).parts
    return bool(parts) and PurePath(whole.replace("\\", "/")).parts[-len(parts) :] == parts


def is_diff(text: str) -> bool:
    return text.lstrip("\n").startswith(DIFF)


def _touched_by(call: Call) -> list[tuple[Action, str | None]]:
    if call.part.name == "apply_patch":
        return _files_of_patch(call)
    command = call.argument("command") if call.part.name == ANY_EDITOR else None
    action = "create" if command == "create" else WRITERS.get(call.part.name, "edit")
    return [(action, call.argument("path"))]


def _files_of_patch(call: Call) -> list[tuple[Action, str | None]]:
    patch = call.arguments if isinstance(call.arguments, str) else call.argument("input") or call.argument("patch")
    files: list[tuple[Action, str | None]] = []
    for match in _PATCHED.finditer(patch or ""):
        if match[3] is not None:
            if files:
                files[-1] = ("rename", match[3])
            continue
        actions: dict[str, Action] = {"Add": "create", "Update": "edit", "Delete": "delete"}
        files.append((actions[match[1]], match[2]))
    return files


def _diffs_in(detail: str) -> list[str]:
    """Return a text of diffs by file, or nothing if it is not one."""
    diffs = detail.lstrip("\n")
    if not diffs.startswith(DIFF):
        return []
    starts = [0]
    while (before := diffs.find("\n" + DIFF, starts[-1])) >= 0:
        starts.append(before + 1)
    return [diffs[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]


def _file_edit(call: Call, action: Action, path: str | None, diff: str | None) -> FileEdit:
    added, removed = count_changes(diff) if diff is not None else (None, None)
    if action == "create" and diff is not None and added and _counts_end(call, path, diff, added):
        added -= 1
    return FileEdit(
        action=action,
        path=path,
        diff=diff,
        added=added,
        removed=removed,
        is_done=True,
        call_id=call.part.id,
        native=call.part.name,
    )


def _counts_end(call: Call, path: str | None, diff: str, added: int) -> bool:
    """Return whether the diff of a new file shows the end of its last line, or an empty file, as one more line."""
    if not diff.rstrip("\n").endswith("\n+"):
        return False
    written = list(lines_in_arguments(call.part.arguments))
    found = [lines for name, lines in written if len(written) == 1 or _is_end_of(path or name, name)]
    return len(found) == 1 and len(found[0].added) == added - 1


def _action_in(diff: str) -> Action:
    head = diff.partition("\n@@")[0]
    if "create file mode" in head or "new file mode" in head or "--- a/dev/null" in head or "--- /dev/null" in head:
        return "create"
    if "deleted file mode" in head or "+++ /dev/null" in head or "+++ b/dev/null" in head:
        return "delete"
    return "rename" if "rename to " in head else "edit"


def _path_in(diff: str) -> str | None:
    """Return the path of the file; the diff drops the first slash of an absolute one."""
    for pattern in (_NEW_PATH, _OLD_PATH):
        match = pattern.search(diff)
        if match and match[1] not in ("/dev/null", "dev/null"):
            return match[1]
    return None
