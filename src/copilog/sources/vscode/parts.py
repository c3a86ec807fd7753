"""Read response parts, kind by kind, except tool calls (tool_calls.py) and questions (question_parts.py).

Each reader takes the fields that it understands out of the part and returns a part of the model; the remaining fields
become `extra`. A reader raises BadRecord if the part lacks a field that its kind needs. Format notes:
docs/formats/vscode-chat.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from copilog.derive.notes import ARGUMENTS
from copilog.errors import BadRecord
from copilog.fields import (
    Json,
    json_text,
    put_back,
    strings_at,
    take_bool,
    take_dict,
    take_int,
    take_list,
    take_markdown,
    take_notes,
    take_number,
    take_str,
    texts_at,
)
from copilog.model import (
    AnyPart,
    Checkpoint,
    FileEdit,
    FileTree,
    Hook,
    Notice,
    Place,
    Reference,
    Text,
    TextEdit,
    Thinking,
    TreeNode,
)
from copilog.sources.vscode import question_parts
from copilog.uris import (
    is_lossless_as_location,
    label_of,
    paths_at,
    take_location,
    take_uri,
    uri_to_path,
    uri_to_string,
)

PartReader = Callable[[Json], "AnyPart | list[AnyPart]"]
TREE_LIMIT = 100
CLEARED = {  # VS Code's own messages, by the reason for which it withdrew text
    1: "Response cleared due to content safety filters, retrying with modified prompt.",
    2: "Response cleared due to possible match to public code, retrying with modified prompt.",
}
TREE_KEYS = frozenset({"label", "uri", "children"})
ACTIONS: dict[str, Literal["edit", "create", "delete", "rename"]] = {
    "edit": "edit",
    "create": "create",
    "delete": "delete",
    "rename": "rename",
}


def markdown(part: Json) -> AnyPart:
    """Read a part without `kind`: markdown if it has a text, else a file tree."""
    value = part.get("value")
    if isinstance(value, str):
        del part["value"]
        return Text(text=value, extra=part or None)
    if "label" in part or "uri" in part:
        return _file_tree(part)
    raise BadRecord("a part without kind that is neither markdown nor a file tree", "bad-part")


def _content_text(part: Json) -> AnyPart:
    text = take_markdown(part, "content")
    return Text(text=_needed(take_str(part, "value") if text is None else text, "content"))


def _vulnerable(part: Json) -> AnyPart:
    text = _needed(take_markdown(part, "content"), "content")
    found = part.get("vulnerabilities")
    named = [_vulnerability(item) for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    return Text(text=text, vulnerabilities=[name for name in named if name])


def _vulnerability(item: Json) -> str:
    """Return the title of a vulnerability in the code, and its description."""
    return ": ".join(text for key in ("title", "description") if isinstance(text := item.get(key), str) and text)


def _thinking(part: Json) -> AnyPart:
    value = part.pop("value", None)
    if isinstance(value, list):
        texts = [item for item in value if isinstance(item, str)]
        put_back(part, "value", [item for item in value if not isinstance(item, str)])
        value = "".join(texts)
    if value is not None and not isinstance(value, str):
        raise BadRecord("thinking that is not text", "bad-part")
    return Thinking(
        text=value or "",
        id=take_str(part, "id"),
        title=take_str(part, "generatedTitle"),
        elapsed_ms=take_number(part, "reasoningDurationMs"),
    )


def _inline_reference(part: Json) -> AnyPart:
    container = texts_at(part.get("inlineReference"), "containerName")
    place = take_location(part, "inlineReference")
    if place is None:
        raise BadRecord("an inline reference without a location", "bad-part")
    return Reference(
        text=f"`{take_str(part, 'name') or label_of(place)}`", place=place, notes=_non_empty({"in": container})
    )


def _code_block_file(part: Json) -> AnyPart:
    is_edit = take_bool(part, "isEdit") or False
    return Reference(text="", place=take_location(part, "uri"), type="code-block", is_edit=is_edit)


# --- edits ------------------------------------------------------------------------------------------------------


def _text_edit_group(part: Json) -> AnyPart:
    edits = take_list(part, "edits")
    if edits is None:
        raise BadRecord("a group of edits without edits", "bad-part")
    uri = take_uri(part, "uri")
    if edits and isinstance(edits[0], dict):  # a single batch, as the live form has it
        edits = [edits]
    batches: list[list[TextEdit]] = []
    cells: list[Any] = []
    odd: list[Any] = []
    for batch in edits:
        plain: list[TextEdit] = []
        for edit in batch if isinstance(batch, list) else [batch]:
            text_edit = text_edit_from(edit)
            if text_edit is None:
                cells.append(edit)
                continue
            plain.append(text_edit)
            if len(edit) > 2 and not (len(edit) == 3 and text_edit.eol is not None):
                odd.append(edit)
        if plain:
            batches.append(plain)
    put_back(part, "edits", odd)
    state = part.get("state")
    applied = state.get("applied") if isinstance(state, dict) else None
    return FileEdit(
        uri=uri,
        path=uri_to_path(uri),
        batches=batches,
        cells=cells,
        is_done=take_bool(part, "done"),
        is_applied=bool(applied) if isinstance(applied, int) else None,
    )


def text_edit_from(edit: Any) -> TextEdit | None:
    """Return a text edit, or None for anything else, such as a notebook operation."""
    try:
        span, text = edit["range"], edit["text"]
        first, column = span["startLineNumber"], span["startColumn"]
        last, end = span["endLineNumber"], span["endColumn"]
    except (KeyError, TypeError):
        return None
    if type(text) is not str or not (type(first) is type(column) is type(last) is type(end) is int):
        return None
    made = TextEdit(first, column, last, end, text)
    if len(edit) > 2 and type(eol := edit.get("eol")) is int:
        made.eol = eol
    return made


def _workspace_edit(part: Json) -> list[AnyPart]:
    """Read files created, deleted or renamed; entries with neither an old nor a new name remain in the part."""
    edits = take_list(part, "edits")
    if edits is None:
        raise BadRecord("a workspace edit without edits", "bad-part")
    made: list[AnyPart] = []
    left: list[Any] = []
    for edit in edits:
        change = _file_operation(edit) if isinstance(edit, dict) else None
        if change is None:
            left.append(edit)
        else:
            made.append(change)
    put_back(part, "edits", left)
    return made or [Notice(topic="changes")]


def _file_operation(edit: Json) -> FileEdit | None:
    old, new = uri_to_string(edit.get("oldResource")), uri_to_string(edit.get("newResource"))
    if old and new:
        change = FileEdit(action="rename", uri=old, path=uri_to_path(edit["oldResource"]), new_uri=new)
    elif new:
        change = FileEdit(action="create", uri=new, path=uri_to_path(edit["newResource"]))
    elif old:
        change = FileEdit(action="delete", uri=old, path=uri_to_path(edit["oldResource"]))
    else:
        return None
    change.extra = {key: value for key, value in edit.items() if not _is_file_name(key, value)} or None
    return change


def _is_file_name(key: str, value: object) -> bool:
    return key in ("oldResource", "newResource") and _is_plain_uri(value)


def _is_plain_uri(value: object) -> bool:
    """Return whether a value is a URI and nothing else."""
    return uri_to_string(value) is not None and is_lossless_as_location(value)


def _external_edit(part: Json) -> AnyPart:
    uri = take_uri(part, "uri")
    kind = part.get("editKind")
    action = ACTIONS.get(kind) if isinstance(kind, str) else None
    if action is not None:
        del part["editKind"]
    lines = take_dict(part, "diff") or {}
    made = FileEdit(
        action=action or "edit",
        uri=uri,
        path=uri_to_path(uri),
        added=take_int(lines, "added"),
        removed=take_int(lines, "removed"),
    )
    put_back(part, "diff", lines)
    if action == "rename" and (old := take_uri(part, "originalUri")) is not None:
        made.uri, made.path, made.new_uri = old, uri_to_path(old), uri
    elif original := paths_at(part, "originalUri"):
        made.notes = {"original": original}
    return made


# --- trees and notices ------------------------------------------------------------------------------------------


def _tree_data(part: Json) -> AnyPart:
    tree = take_dict(part, "treeData")
    if tree is None:
        raise BadRecord("a file tree without its tree", "bad-part")
    made = _file_tree(tree)
    if made.extra is not None:
        part["treeData"] = made.extra
        made.extra = None
    return made


def _file_tree(tree: Json) -> FileTree:
    """Read a tree of files; if it has more fields than its nodes can hold, it also stays in the part unchanged."""
    odd: list[Json] = []
    root = _tree_node(tree, 0, odd)
    return FileTree(root=root, extra=tree if odd else None)


def _tree_node(value: Json, depth: int, odd: list[Json]) -> TreeNode:
    label, uri = value.get("label"), uri_to_string(value.get("uri"))
    children = value.get("children", [])
    below = children if isinstance(children, list) and depth < TREE_LIMIT else []
    nodes = [_tree_node(child, depth + 1, odd) for child in below if isinstance(child, dict)]
    is_whole = isinstance(label, str) and isinstance(children, list) and len(nodes) == len(children)
    if not is_whole or not value.keys() <= TREE_KEYS or ("uri" in value and not _is_plain_uri(value["uri"])):
        odd.append(value)
    return TreeNode(label=label if isinstance(label, str) else "", uri=uri, children=nodes)


def _hook(part: Json) -> AnyPart:
    return Hook(
        type=take_str(part, "hookType") or "",
        is_blocking=part.get("stopReason") is not None,
        reason=take_str(part, "stopReason"),
        message=take_str(part, "systemMessage"),
        tool=take_str(part, "toolDisplayName"),
        notes=_non_empty({"metadata": strings_at(part, "metadata")}),
    )


def _undo_stop(part: Json) -> AnyPart:
    return Checkpoint(id=_needed(take_str(part, "id"), "id"))


def pull_request(part: Json) -> AnyPart:
    """Read a pull request that was opened, here or by a tool."""
    place = take_location(part, "uri") or Place()
    place.name = take_str(part, "title")
    notes = take_notes(part, {"description": "description", "author": "author", "linkTag": "number"})
    notes |= _button(part.get("command"))
    return Reference(text="", place=place, type="pull-request", notes=notes)


def _command(part: Json) -> AnyPart:
    text = texts_at(part.get("command"), "title")
    notes = {
        "tooltip": texts_at(part.get("command"), "tooltip"),
        "other buttons": texts_at(part.get("additionalCommands"), "title", "tooltip"),
        ARGUMENTS: _arguments_of([part.get("command"), *_items(part.get("additionalCommands"))]),
    }
    return Notice(topic="command", text=text, is_prose=bool(text), notes=_non_empty(notes))


def _button(command: object) -> dict[str, str]:
    return _non_empty({"button": texts_at(command, "title", "tooltip"), ARGUMENTS: _arguments_of([command])})


def _arguments_of(commands: list[Any]) -> str:
    """Return the arguments of buttons, such as a prompt to be sent."""
    given = [each["arguments"] for each in commands if isinstance(each, dict) and each.get("arguments")]
    return "\n".join(filter(None, map(json_text, given)))


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _servers(part: Json) -> AnyPart:
    """Read MCP servers that wait for the user, with the problem of each."""
    servers = part.get("servers")
    notes = _non_empty({"error": texts_at(servers, "errorMessage")}) | _button(part.get("startCommand"))
    return Notice(topic="mcp-servers", text=texts_at(servers, "serverLabel").replace("\n", ", "), notes=notes)


def _task(is_prose: bool) -> PartReader:
    """Return a reader for a task, with the messages that it showed while it ran."""

    def read(part: Json) -> AnyPart:
        text = take_markdown(part, "content") or ""
        progress = part.get("progress")
        notes = _non_empty({"progress": texts_at(progress, "content"), "files": paths_at(progress, "reference")})
        return Notice(topic="task", text=text, is_prose=is_prose and bool(text), notes=notes)

    return read


def _system_notification(part: Json) -> AnyPart:
    text = take_markdown(part, "content") or ""
    notes = take_notes(part, {"accessibilityLabel": "label", "workspaceName": "workspace"})
    return Notice(topic="system", text=text, is_prose=bool(text), notes=notes)


def _non_empty(notes: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in notes.items() if text}


def _auto_model(part: Json) -> AnyPart:
    resolved = part.get("resolved")
    name = resolved.get("name") or resolved.get("id") if isinstance(resolved, dict) else None
    return Notice(topic="model-resolution", text=name if isinstance(name, str) else "")


def _multi_diff(part: Json) -> AnyPart:
    data = part.get("multiDiffData")
    title = data.get("title") if isinstance(data, dict) else None
    resources = _items(data.get("resources")) if isinstance(data, dict) else []
    files = "\n".join(filter(None, map(_changed_file, resources)))
    return Notice(topic="changes", text=title if isinstance(title, str) else "", notes=_non_empty({"files": files}))


def _changed_file(resource: object) -> str | None:
    """Return the file of one of several changes; other entries name copies of the text that VS Code stores."""
    keys = ("goToFileUri", "modifiedUri", "originalUri")
    return next((path for key in keys if (path := paths_at(resource, key))), None)


def _citation(part: Json) -> AnyPart:
    notes = take_notes(part, {"license": "license"}) | _non_empty({"in": paths_at(part, "value")})
    return Notice(topic="code-citation", text=take_str(part, "snippet") or "", notes=notes)


def _notice(topic: str, key: str | None = None, is_prose: bool = False) -> PartReader:
    """Return a reader for a notice whose text is under `key`."""

    def read(part: Json) -> AnyPart:
        text = take_markdown(part, key) if key else None
        return Notice(topic=topic, text=text or "", is_prose=is_prose and bool(text))

    return read


def _cleared(part: Json) -> AnyPart:
    """Read what VS Code shows in place of withdrawn text: a warning, if there is a reason for it."""
    reason = part.get("reason")
    text = CLEARED.get(reason, "") if type(reason) is int else ""
    return Notice(topic="warning" if text else "cleared", text=text, is_prose=bool(text))


def _listing(topic: str, key: str) -> PartReader:
    """Return a reader for a notice that names several things."""

    def read(part: Json) -> AnyPart:
        names = part.get(key)
        text = ", ".join(name for name in names if isinstance(name, str)) if isinstance(names, list) else ""
        return Notice(topic=topic, text=text)

    return read


def _needed(value: str | None, key: str) -> str:
    if value is None:
        raise BadRecord(f"the part has no usable `{key}`", "bad-part")
    return value


READERS: dict[str, PartReader] = {
    "markdownContent": _content_text,
    "markdownVuln": _vulnerable,
    "thinking": _thinking,
    "inlineReference": _inline_reference,
    "codeblockUri": _code_block_file,
    "textEditGroup": _text_edit_group,
    "notebookEditGroup": _text_edit_group,
    "textEdit": _text_edit_group,
    "notebookEdit": _text_edit_group,
    "workspaceEdit": _workspace_edit,
    "externalEdit": _external_edit,
    "multiDiffData": _multi_diff,
    "treeData": _tree_data,
    "progressMessage": _notice("progress", "content"),
    "progressTaskSerialized": _task(is_prose=True),
    "progressTask": _task(is_prose=True),
    "progressTaskResult": _task(is_prose=False),
    "systemNotification": _system_notification,
    "warning": _notice("warning", "content", is_prose=True),
    "info": _notice("info", "content", is_prose=True),
    "command": _command,
    "confirmation": question_parts.confirmation,
    "elicitation": question_parts.elicitation,
    "elicitation2": question_parts.elicitation,
    "elicitationSerialized": question_parts.elicitation,
    "questionCarousel": question_parts.questions,
    "planReview": question_parts.plan,
    "hook": _hook,
    "extensions": _listing("extensions", "extensions"),
    "pullRequest": pull_request,
    "undoStop": _undo_stop,
    "mcpServersStarting": _listing("mcp-servers", "didStartServerIds"),
    "mcpServersStartingSlow": _notice("mcp-servers"),
    "mcpServersInteractionRequired": _servers,
    "mcpAuthenticationRequired": _notice("mcp-servers"),
    "autoModeResolution": _auto_model,
    "clearToPreviousToolInvocation": _cleared,
    "disabledClaudeHooks": _notice("hooks-disabled"),
    "voiceProgress": _notice("voice", "value"),
    # Kinds that VS Code stores elsewhere or only in memory; accepted here because some files contain them by mistake.
    "usage": _notice("usage"),
    "usedContext": _notice("used-context"),
    "reference": _notice("reference"),
    "codeCitation": _citation,
    "move": _notice("move"),
    "externalToolInvocationUpdate": _notice("tool-update"),
    "externalEdits": _notice("external-edits"),
}
