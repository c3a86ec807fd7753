"""Response parts, kind by kind, except tool calls (tools.py).

Each reader takes what it understands out of the part and returns ours; what is left over becomes `extra`.
A reader raises BadRecord when the part lacks what makes it that kind. Format notes: docs/formats/vscode-chat.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from copilog import jsonio
from copilog.errors import BadRecord
from copilog.model import (
    AnyPart,
    Checkpoint,
    Confirmation,
    FileEdit,
    FileTree,
    Hook,
    Notice,
    Place,
    Question,
    Reference,
    Text,
    TextEdit,
    Thinking,
    TreeNode,
)
from copilog.sources._vscode.places import label_of, place_from
from copilog.sources._vscode.take import (
    Json,
    markdown_text,
    rest,
    take_bool,
    take_dict,
    take_int,
    take_list,
    take_markdown,
    take_number,
    take_str,
    take_strings,
)
from copilog.sources._vscode.uris import uri_to_path, uri_to_string

PartReader = Callable[[Json], "AnyPart | list[AnyPart]"]
TREE_LIMIT = 100
ACTIONS: dict[str, Literal["edit", "create", "delete", "rename"]] = {
    "edit": "edit",
    "create": "create",
    "delete": "delete",
    "rename": "rename",
}


def markdown(part: Json) -> AnyPart:
    """A part without `kind`: markdown when it has a text, else a file tree."""
    value = part.get("value")
    if isinstance(value, str):
        del part["value"]
        return Text(text=value, extra=part or None)
    if "label" in part or "uri" in part:
        return FileTree(root=_tree_node(part, 0))
    raise BadRecord("a part without kind that is neither markdown nor a file tree", "bad-part")


def _content_text(part: Json) -> AnyPart:
    text = take_markdown(part, "content")
    return Text(text=_needed(take_str(part, "value") if text is None else text, "content"))


def _vulnerable(part: Json) -> AnyPart:
    text = _needed(take_markdown(part, "content"), "content")
    found = part.get("vulnerabilities")
    titles = [str(item.get("title", "")) for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    return Text(text=text, vulnerabilities=titles)


def _thinking(part: Json) -> AnyPart:
    value = part.pop("value", None)
    if isinstance(value, list):
        value = "".join(item for item in value if isinstance(item, str))
    if value is not None and not isinstance(value, str):
        raise BadRecord("thinking that is no text", "bad-part")
    return Thinking(
        text=value or "",
        id=take_str(part, "id"),
        title=take_str(part, "generatedTitle"),
        elapsed_ms=take_number(part, "reasoningDurationMs"),
    )


def _inline_reference(part: Json) -> AnyPart:
    place = place_from(part.get("inlineReference"))
    if place is None:
        raise BadRecord("an inline reference to no place", "bad-part")
    target = part.pop("inlineReference")
    name = take_str(part, "name")
    if isinstance(target, dict) and isinstance(target.get("uri"), dict) and not target.keys() <= {"uri", "range"}:
        part["inlineReference"] = target
    return Reference(text=f"`{name or label_of(place)}`", place=place)


def _code_block_file(part: Json) -> AnyPart:
    return Reference(
        text="", place=_uri_place(part, "uri"), type="code-block", is_edit=take_bool(part, "isEdit") or False
    )


def _uri_place(part: Json, key: str) -> Place | None:
    value = part.get(key)
    text = uri_to_string(value)
    if text is None:
        return None
    del part[key]
    return Place(uri=text, path=uri_to_path(value))


# --- edits ------------------------------------------------------------------------------------------------------


def _text_edit_group(part: Json) -> AnyPart:
    edits = take_list(part, "edits")
    if edits is None:
        raise BadRecord("a group of edits without edits", "bad-part")
    place = _uri_place(part, "uri")
    if edits and isinstance(edits[0], dict):  # a single batch, as the live form has it
        edits = [edits]
    batches: list[list[TextEdit]] = []
    cells: list[Any] = []
    for batch in edits:
        plain: list[TextEdit] = []
        for edit in batch if isinstance(batch, list) else [batch]:
            text_edit = text_edit_from(edit)
            if text_edit is not None:
                plain.append(text_edit)
            else:
                cells.append(edit)
        if plain:
            batches.append(plain)
    state = part.get("state")
    applied = state.get("applied") if isinstance(state, dict) else None
    return FileEdit(
        uri=place.uri if place else None,
        path=place.path if place else None,
        batches=batches,
        cells=cells,
        is_done=take_bool(part, "done"),
        is_applied=bool(applied) if isinstance(applied, int) else None,
    )


def text_edit_from(edit: object) -> TextEdit | None:
    """A text edit, None for anything that is none (a notebook operation, say)."""
    if not isinstance(edit, dict):
        return None
    span, text = edit.get("range"), edit.get("text")
    if not isinstance(span, dict) or not isinstance(text, str):
        return None
    try:
        first, column = span["startLineNumber"], span["startColumn"]
        last, end = span["endLineNumber"], span["endColumn"]
    except KeyError:
        return None
    if not (isinstance(first, int) and isinstance(column, int) and isinstance(last, int) and isinstance(end, int)):
        return None
    eol = edit.get("eol")
    return TextEdit(
        start_line=first,
        start_column=column,
        end_line=last,
        end_column=end,
        text=text,
        eol=eol if isinstance(eol, int) else None,
    )


def _workspace_edit(part: Json) -> list[AnyPart]:
    edits = take_list(part, "edits")
    if edits is None:
        raise BadRecord("a workspace edit without edits", "bad-part")
    made: list[AnyPart] = []
    for edit in edits:
        if not isinstance(edit, dict):
            continue
        old, new = uri_to_string(edit.get("oldResource")), uri_to_string(edit.get("newResource"))
        if old and new:
            path = uri_to_path(edit["oldResource"])
            made.append(FileEdit(action="rename", uri=old, path=path, new_uri=new))
        elif new:
            made.append(FileEdit(action="create", uri=new, path=uri_to_path(edit["newResource"])))
        elif old:
            made.append(FileEdit(action="delete", uri=old, path=uri_to_path(edit["oldResource"])))
    return made


def _external_edit(part: Json) -> AnyPart:
    place = _uri_place(part, "uri")
    action = ACTIONS.get(str(part.get("editKind")))
    if action is not None:
        del part["editKind"]
    diff = take_dict(part, "diff") or {}
    uri, path = (place.uri, place.path) if place else (None, None)
    new_uri = None
    old = uri_to_string(part.get("originalUri"))
    if action == "rename" and old:
        uri, new_uri, path = old, uri, uri_to_path(part.pop("originalUri"))
    return FileEdit(
        action=action or "edit",
        uri=uri,
        path=path,
        new_uri=new_uri,
        added=take_int(diff, "added"),
        removed=take_int(diff, "removed"),
    )


# --- trees, questions, notices ----------------------------------------------------------------------------------


def _tree_node(value: Json, depth: int) -> TreeNode:
    children = value.get("children")
    return TreeNode(
        label=str(value.get("label", "")),
        uri=uri_to_string(value.get("uri")),
        children=[_tree_node(child, depth + 1) for child in children if isinstance(child, dict) and depth < TREE_LIMIT]
        if isinstance(children, list)
        else [],
    )


def _tree_data(part: Json) -> AnyPart:
    tree = part.get("treeData")
    if not isinstance(tree, dict):
        raise BadRecord("a file tree without its tree", "bad-part")
    return FileTree(root=_tree_node(tree, 0))


def _confirmation(part: Json) -> AnyPart:
    used = part.get("isUsed")
    return Confirmation(
        type="confirmation",
        title=take_str(part, "title"),
        message=take_markdown(part, "message"),
        options=take_strings(part, "buttons"),
        state=None if used is None else ("answered" if used else "unanswered"),
    )


def _elicitation(part: Json) -> AnyPart:
    return Confirmation(
        type="elicitation",
        title=take_markdown(part, "title"),
        message=take_markdown(part, "message"),
        state=take_str(part, "state"),
        answer=_as_text(part.get("acceptedResult")),
    )


def _questions(part: Json) -> AnyPart:
    answers = part.get("data")
    given = answers if isinstance(answers, dict) else {}
    questions = [_question(item, given) for item in take_list(part, "questions") or [] if isinstance(item, dict)]
    answered = any(question.answer is not None for question in questions)
    return Confirmation(
        type="questions",
        message=take_markdown(part, "message"),
        questions=questions,
        state="answered" if answered else "unanswered",
    )


def _question(item: Json, answers: Json) -> Question:
    native_id = take_str(item, "id")
    options = [
        str(option.get("label", option.get("value", ""))) if isinstance(option, dict) else str(option)
        for option in take_list(item, "options") or []
    ]
    return Question(
        id=native_id,
        title=take_markdown(item, "title"),
        text=take_markdown(item, "message"),
        type=take_str(item, "type"),
        options=options,
        answer=_answer_text(answers.get(native_id)) if native_id is not None else None,
        extra=rest(item),
    )


def _answer_text(answer: object) -> str | None:
    """An answer is a text, or what was selected together with what was typed."""
    if not isinstance(answer, dict):
        return _as_text(answer)
    chosen = answer.get("selectedValues", answer.get("selectedValue"))
    values = chosen if isinstance(chosen, list) else [chosen]
    values = [*values, answer.get("freeformValue")]
    texts = [text for text in map(_as_text, values) if text]
    return ", ".join(texts) or None


def _plan(part: Json) -> AnyPart:
    data = part.get("data")
    decision = data if isinstance(data, dict) else {}
    actions = part.get("actions")
    labels = [item.get("label") for item in actions if isinstance(item, dict)] if isinstance(actions, list) else []
    rejected = decision.get("rejected")
    answer = decision.get("action") or decision.get("feedback") or decision.get("feedbackOverall")
    return Confirmation(
        type="plan",
        title=take_str(part, "title"),
        message=take_markdown(part, "content"),
        options=[label for label in labels if isinstance(label, str)],
        answer=_as_text(answer),
        state="rejected" if rejected else ("accepted" if decision else "unanswered"),
    )


def _hook(part: Json) -> AnyPart:
    reason = take_str(part, "stopReason")
    return Hook(
        type=take_str(part, "hookType") or "",
        is_blocking=reason is not None,
        reason=reason,
        message=take_str(part, "systemMessage"),
        tool=take_str(part, "toolDisplayName"),
    )


def _undo_stop(part: Json) -> AnyPart:
    return Checkpoint(id=_needed(take_str(part, "id"), "id"))


def _pull_request(part: Json) -> AnyPart:
    place = _uri_place(part, "uri") or Place()
    place.name = take_str(part, "title")
    return Reference(text="", place=place, type="pull-request")


def _command(part: Json) -> AnyPart:
    command = part.get("command")
    title = command.get("title") if isinstance(command, dict) else None
    return Notice(topic="command", text=title if isinstance(title, str) else "")


def _auto_model(part: Json) -> AnyPart:
    resolved = part.get("resolved")
    name = resolved.get("name") or resolved.get("id") if isinstance(resolved, dict) else None
    return Notice(topic="model-resolution", text=name if isinstance(name, str) else "")


def _multi_diff(part: Json) -> AnyPart:
    data = part.get("multiDiffData")
    title = data.get("title") if isinstance(data, dict) else None
    return Notice(topic="changes", text=title if isinstance(title, str) else "")


def _notice(topic: str, key: str | None = None, is_prose: bool = False) -> PartReader:
    """A reader for a notice whose text stands under `key`."""

    def read(part: Json) -> AnyPart:
        text = take_markdown(part, key) if key else None
        return Notice(topic=topic, text=text or "", is_prose=is_prose and bool(text))

    return read


def _listing(topic: str, key: str) -> PartReader:
    """A reader for a notice that names several things."""

    def read(part: Json) -> AnyPart:
        names = part.get(key)
        text = ", ".join(name for name in names if isinstance(name, str)) if isinstance(names, list) else ""
        return Notice(topic=topic, text=text)

    return read


def _needed(value: str | None, key: str) -> str:
    if value is None:
        raise BadRecord(f"the part has no usable `{key}`", "bad-part")
    return value


def _as_text(value: object) -> str | None:
    """A value as people would write it: text as it is, anything else as JSON."""
    if value is None:
        return None
    return markdown_text(value) or (value if isinstance(value, str) else jsonio.encode(value))


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
    "progressTaskSerialized": _notice("task", "content", is_prose=True),
    "progressTask": _notice("task", "content", is_prose=True),
    "progressTaskResult": _notice("task", "content"),
    "systemNotification": _notice("system", "content", is_prose=True),
    "warning": _notice("warning", "content", is_prose=True),
    "info": _notice("info", "content", is_prose=True),
    "command": _command,
    "confirmation": _confirmation,
    "elicitation": _elicitation,
    "elicitation2": _elicitation,
    "elicitationSerialized": _elicitation,
    "questionCarousel": _questions,
    "planReview": _plan,
    "hook": _hook,
    "extensions": _listing("extensions", "extensions"),
    "pullRequest": _pull_request,
    "undoStop": _undo_stop,
    "mcpServersStarting": _listing("mcp-servers", "didStartServerIds"),
    "mcpServersStartingSlow": _notice("mcp-servers"),
    "mcpServersInteractionRequired": _notice("mcp-servers"),
    "mcpAuthenticationRequired": _notice("mcp-servers"),
    "autoModeResolution": _auto_model,
    "clearToPreviousToolInvocation": _notice("cleared"),
    "disabledClaudeHooks": _notice("hooks-disabled"),
    "voiceProgress": _notice("voice", "value"),
    # Kinds that VS Code keeps elsewhere or only in memory; tolerated where they leaked into a file.
    "usage": _notice("usage"),
    "usedContext": _notice("used-context"),
    "reference": _notice("reference"),
    "codeCitation": _notice("code-citation"),
    "move": _notice("move"),
    "externalToolInvocationUpdate": _notice("tool-update"),
    "externalEdits": _notice("external-edits"),
}
