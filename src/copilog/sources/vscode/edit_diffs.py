"""Find the tool call that made an edit, and build the diff of the edit from the arguments of that call.

The parts of a response only hold ranges and new text; the old text is in the arguments of the tools that replace a text
by another. Line numbers of these diffs count from the beginning of the replaced text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from copilog import jsonio
from copilog.derive.tool_names import EDITING_TOOLS, key_of
from copilog.errors import BadRecord
from copilog.fields import Json
from copilog.model import FileEdit, ToolCall
from copilog.textdiff import unified_diff
from copilog.uris import uri_to_path

_FILE_OF_PATCH = re.compile(r"\*\*\* (Update|Add|Delete) File: (.+)")
_NEW_NAME = "*** Move to: "
OF_A_SERVER = "mcp_"  # the names of MCP tools start with this


class Change(NamedTuple):
    """One file's change in the arguments of a call; `before` is None for a new file, `patch` replaces both texts."""

    path: str
    before: str | None = None
    after: str | None = None
    patch: list[str] | None = None
    new_path: str | None = None
    is_new: bool = False


class EditingCall:
    """A call that edits files, or may edit them. Its changes are read from the arguments when they are needed."""

    __slots__ = ("_changes", "call", "has_failed", "is_known", "parent", "shown")

    def __init__(self, call: ToolCall, parent: str | None, *, has_failed: bool) -> None:
        self.call = call
        self.parent = parent
        self.has_failed = has_failed
        self.is_known = key_of(call) in EDITING_TOOLS
        self.shown: set[str] = set()  # files whose diff is already on an earlier edit of the same call
        self._changes: list[Change] | None = None

    def changes_to(self, path: str) -> list[Change]:
        return [change for change in self._all_changes() if _is_same_file(path, change)]

    def names(self, path: str) -> bool:
        """Return whether the arguments name a file; in those of an unrecognized tool, any string may be the name."""
        if self.is_known:
            return bool(self.changes_to(path))
        return any(_is_same_file(path, Change(_as_path(text))) for text in _texts_in(_arguments_of(self.call)))

    def names_no_file(self) -> bool:
        return not self._all_changes()

    def _all_changes(self) -> list[Change]:
        if self._changes is None:
            self._changes = list(_changes_of(self.call))
        return self._changes


def may_edit(call: ToolCall) -> bool:
    """Return whether a call's tool edits files, or is unrecognized so that it may."""
    is_foreign = call.origin not in (None, "internal") or call.name.startswith(OF_A_SERVER)
    return is_foreign or key_of(call) in EDITING_TOOLS


class EditingCalls:
    """The calls of one response that edit files or whose tools are unrecognized, in order."""

    def __init__(self) -> None:
        self._known: list[EditingCall] = []
        self._others: list[EditingCall] = []

    def add(self, call: ToolCall, parent: str | None, *, has_failed: bool = False) -> None:
        """Add a call if it may edit a file."""
        made = EditingCall(call, parent, has_failed=has_failed)
        if made.is_known:
            self._known.append(made)
        elif not has_failed:
            self._others.append(made)

    def explain(self, edit: FileEdit) -> EditingCall | None:
        """Set the call that made an edit, if that can be determined, and add the diff."""
        if not self._known:
            return None
        path = edit.path or ""
        made_by = self._editing_call_for(path)
        if made_by is None:
            return None
        edit.call_id = made_by.call.id
        if made_by.is_known and path not in made_by.shown and not edit.cells and (changes := made_by.changes_to(path)):
            made_by.shown.add(path)
            _add_diff(edit, changes)
        return made_by

    def _editing_call_for(self, path: str) -> EditingCall | None:
        """Return the last call that names a file, else the last one that may have edited it.

        A failed call is chosen only if no other call can have made the edit. An unrecognized tool is chosen only if its
        arguments name the file.
        """
        done = [call for call in reversed(self._known) if not call.has_failed]
        failed = [call for call in reversed(self._known) if call.has_failed]
        if path:
            named = next((call for call in (*done, *reversed(self._others)) if call.names(path)), None)
            if named is not None:
                return named
            failed_here = next((call for call in failed if call.names(path)), None)
            if failed_here is not None:
                unclear = next((call for call in done if call.names_no_file()), None)
                return unclear or (None if self._others else failed_here)
        return done[0] if done else None if self._others else failed[0]


def _add_diff(edit: FileEdit, changes: list[Change]) -> None:
    diffs = [diff for change in changes if (diff := _diff_of(change, edit.path or change.path))]
    if edit.action == "edit" and changes[0].is_new:
        edit.action = "create"
    if not diffs or edit.diff is not None:
        return
    edit.diff = diffs[0] + "".join(diff[diff.index("\n@@") + 1 :] for diff in diffs[1:])
    if edit.added is None and edit.removed is None:
        # There is one header, so that all other lines that begin with a sign are changes.
        edit.added, edit.removed = edit.diff.count("\n+") - 1, edit.diff.count("\n-")


def _diff_of(change: Change, path: str) -> str:
    if change.patch is not None:
        return _unified(change, path)
    if change.after is None:
        return ""
    before, after = change.before, change.after
    if before is not None and not before.endswith("\n") and not after.endswith("\n"):
        # These are fragments of a file: a missing line break at the end means nothing.
        before, after = before and f"{before}\n", after and f"{after}\n"
    return unified_diff(before, after, path)


# --- changes in the arguments of calls --------------------------------------------------------------------------


def _arguments_of(call: ToolCall) -> Any:
    try:
        return jsonio.decode((call.arguments or "").encode("utf-8", "replace"))[0]
    except BadRecord:
        return None


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(item)


def _changes_of(call: ToolCall) -> Iterator[Change]:
    arguments = _arguments_of(call)
    if not isinstance(arguments, dict):
        return
    patch, replacements = arguments.get("input"), arguments.get("replacements")
    if key_of(call) == "applypatch" and isinstance(patch, str):
        yield from _changes_of_patch(patch)
    elif isinstance(replacements, list):
        for replacement in replacements:
            if isinstance(replacement, dict):
                yield from _replacement(replacement, arguments.get("filePath"))
    else:
        yield from _replacement(arguments, None)


def _replacement(arguments: Json, default_path: Any) -> Iterator[Change]:
    path = arguments.get("filePath", default_path)
    if not isinstance(path, str):
        return
    before, after = arguments.get("oldString"), arguments.get("newString")
    content = arguments.get("content")
    if isinstance(before, str) and isinstance(after, str):
        yield Change(_as_path(path), before, after)
    elif isinstance(content, str):
        yield Change(_as_path(path), None, content, is_new=True)
    else:
        yield Change(_as_path(path))


def _changes_of_patch(patch: str) -> Iterator[Change]:
    """Yield the files of a patch, each with the lines of its hunks unchanged."""
    change: Change | None = None
    for line in patch.split("\n"):
        header = _FILE_OF_PATCH.match(line)
        if header or line.startswith("*** End Patch"):
            if change is not None:
                yield change
            change = Change(_as_path(header[2].strip()), patch=[], is_new=header[1] == "Add") if header else None
        elif change is not None and line.startswith(_NEW_NAME):
            change = change._replace(new_path=_as_path(line[len(_NEW_NAME) :].strip()))
        elif change is not None and change.patch is not None and not line.startswith("*** "):
            change.patch.append(line)
    if change is not None:
        yield change


def _unified(change: Change, path: str) -> str:
    """Return the hunks of a patch as a unified diff: their lines unchanged, below headers that count them."""
    hunks = [hunk for hunk in _hunks(change.patch or []) if hunk]
    if not hunks:
        return ""
    known_as = change.path if path.endswith(change.path) else change.new_path or path
    folder = path.removesuffix(known_as)
    before = "/dev/null" if change.is_new else f"a/{(folder + change.path).lstrip('/')}"
    after = f"b/{(folder + (change.new_path or change.path)).lstrip('/')}"
    return f"--- {before}\n+++ {after}\n{''.join(hunks)}"


def _hunks(lines: list[str]) -> Iterator[str]:
    context = ""
    body: list[str] = []
    for line in [*lines, "@@"]:
        if not line.startswith("@@"):
            body.append(line)
            continue
        yield _hunk(body, context)
        context = line[2:].rstrip() if body else context + line[2:].rstrip()
        body = []


def _hunk(body: list[str], context: str) -> str:
    while body and not body[-1]:
        body.pop()
    if not body:
        return ""
    marked = [line if line[:1] in ("+", "-", " ") else f" {line}" for line in body]
    removed = sum(line[0] != "+" for line in marked)
    added = sum(line[0] != "-" for line in marked)
    spans = f"-{min(removed, 1)},{removed} +{min(added, 1)},{added}"
    return "".join([f"@@ {spans} @@{context}\n", *(f"{line}\n" for line in marked)])


# --- paths ------------------------------------------------------------------------------------------------------


def _as_path(path: str) -> str:
    """Return a path as the rest of the model writes it: forward slashes, a lower-case drive letter."""
    path = (uri_to_path(path) or path).replace("\\", "/")
    return path[:1].lower() + path[1:] if path[1:2] == ":" else path


def _is_same_file(path: str, change: Change) -> bool:
    """Return whether a change is to this file. Patches may name it relative to the workspace."""
    names = (change.path, change.new_path) if change.new_path else (change.path,)
    return path in names or any(path.endswith(f"/{name}") for name in names if name and name[0] != "/")
