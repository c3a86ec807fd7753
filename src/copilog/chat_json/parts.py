"""Write the parts of a response, except tool calls."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any
from urllib.parse import quote

from copilog.chat_json.values import (
    markdown_json,
    number_json,
    path_json,
    place_json,
    range_json,
    uri_json,
    value_of_text,
    with_texts,
)
from copilog.fields import Json
from copilog.model import (
    AnyPart,
    Attachment,
    Checkpoint,
    Confirmation,
    FileEdit,
    FileTree,
    Hook,
    Notice,
    Question,
    Range,
    Reference,
    Text,
    TextEdit,
    Thinking,
    TreeNode,
    Unknown,
)
from copilog.uris import label_of

FENCE = "\n```\n"
WARNINGS = ("warning", "error", "abort")
EDIT_GROUPS = ("textEditGroup", "notebookEditGroup", "textEdit", "notebookEdit")
NOTICE_TEXTS = {  # the key of a notice's text, by the kind of part
    **dict.fromkeys(
        ("progressMessage", "progressTaskSerialized", "progressTask", "progressTaskResult", "systemNotification"),
        "content",
    ),
    "warning": "content",
    "info": "content",
    "voiceProgress": "value",
    "codeCitation": "snippet",
}
DRAWN = {"progressTask": "progressTaskSerialized"}  # kinds of early releases that VS Code fails to draw
SYSTEM_NOTES = {"label": "accessibilityLabel", "workspace": "workspaceName"}
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


def own_part_json(part: AnyPart) -> Json | None:
    """Return a part that was read from VS Code's JSON, as it was there; None if it is not a part of a response."""
    left = part.extra or {}
    if isinstance(part, Text):
        return _own_text(part, left)
    if isinstance(part, Thinking):
        texts = {"id": part.id, "generatedTitle": part.title, "reasoningDurationMs": _number(part.elapsed_ms)}
        return with_texts({"kind": "thinking", **left, "value": part.text}, **texts)
    if isinstance(part, Reference):
        return _own_reference(part, left)
    if isinstance(part, FileEdit):
        return _own_edit(part, left)
    if isinstance(part, FileTree):
        return tree_json(part.root) if part.extra is None else left
    if isinstance(part, Checkpoint):
        return {"kind": "undoStop", **left, "id": part.id}
    if isinstance(part, Hook):
        return _hook(part, left)
    if isinstance(part, Confirmation):
        return _own_question(part, left)
    if isinstance(part, Notice):
        return _own_notice(part, left)
    if isinstance(part, Unknown) and part.type.startswith("response:"):
        raw = part.raw
        return raw if isinstance(raw, dict) else None
    return None


def _own_text(part: Text, left: Json) -> Json:
    if part.native in ("markdownContent", "markdownVuln"):
        return {"kind": part.native, **left, "content": markdown_json(part.text, left.get("content", {}))}
    return {**left, "value": part.text}


def _own_reference(part: Reference, left: Json) -> Json:
    place = place_json(part.place) if part.place is not None else None
    if part.type == "inline":
        made = {"kind": part.native or "inlineReference", **left}
        made.setdefault("inlineReference", place)
        shown = part.text.removeprefix("`").removesuffix("`")
        return made if part.place is not None and label_of(part.place) == shown else {**made, "name": shown}
    if part.type == "code-block":
        made = with_texts({"kind": "codeblockUri", **left}, isEdit=part.is_edit or None)
        return {"uri": place, **made}
    made = {"kind": part.native or "pullRequest", **left}
    notes = {"description": "description", "author": "author", "number": "linkTag"}
    made |= {key: part.notes[name] for name, key in notes.items() if name in part.notes and key not in made}
    if part.place is not None and part.place.name is not None:
        made.setdefault("title", part.place.name)
    if part.place is not None and part.place.uri is not None:
        made.setdefault("uri", uri_json(part.place.uri))
    return made


def _own_notice(part: Notice, left: Json) -> Json | None:
    if part.topic == "cleared" and part.native in (None, "string", "markdownContent", "markdownVuln"):
        return {**left, "value": part.text}  # text that was withdrawn after it had been shown
    if part.topic == "cleared" and part.native == "inlineReference":
        return {"kind": "inlineReference", **left, "name": part.text.strip("`")}
    if part.native is None or part.native == "overwritten":
        return None
    made: Json = {"kind": DRAWN.get(part.native, part.native), **left}
    key = NOTICE_TEXTS.get(part.native)
    if key is not None and (part.text or key in made):
        made[key] = markdown_json(part.text, made.get(key))
    if part.native == "systemNotification":
        made |= {key: part.notes[name] for name, key in SYSTEM_NOTES.items() if name in part.notes}
    if part.native == "codeCitation" and "license" in part.notes:
        made["license"] = part.notes["license"]
    return made


def _hook(part: Hook, left: Json) -> Json:
    texts = {"stopReason": part.reason, "systemMessage": part.message, "toolDisplayName": part.tool}
    return with_texts({"kind": "hook", "hookType": part.type, **left}, **texts)


# --- questions ------------------------------------------------------------------------------------------------------


def _own_question(part: Confirmation, left: Json) -> Json:
    made: Json = {"kind": part.native, **left}
    if part.native == "planReview":
        texts = {"title": part.title, "content": part.message}
    elif part.native == "questionCarousel":
        texts = {"message": part.message}
        asked = [_own_question_item(question) for question in part.questions]
        made["questions"] = [*asked, *made.get("questions", [])]
    else:
        texts = {"title": part.title, "message": part.message}
        if part.native == "confirmation" and part.options:
            made.setdefault("buttons", part.options)
        elif part.native != "confirmation":
            texts |= {"state": part.state, "subtitle": part.notes.get("subtitle")}
    for key, text in texts.items():
        if text is not None:
            made[key] = markdown_json(text, made.get(key))
    return made


def _own_question_item(question: Question) -> Json:
    made = with_texts(dict(question.extra or {}), id=question.id, title=question.title, type=question.type)
    left = [key for key in ("message", "description", "detailedMessage") if isinstance(made.get(key), dict)]
    if question.text is not None:
        made[left[0] if left else "message"] = markdown_json(question.text, made.get(left[0]) if left else None)
    if question.options:
        made.setdefault("options", question.options)
    return made


# --- edits and trees ------------------------------------------------------------------------------------------------


def _own_edit(part: FileEdit, left: Json) -> Json:
    if part.native in EDIT_GROUPS:
        made = {"kind": part.native, "uri": uri_json(part.uri or ""), **left}
        if "edits" not in left:
            batches = [[edit_json(edit) for edit in batch] for batch in part.batches]
            made["edits"] = batches + ([part.cells] if part.cells else [])
        return with_texts(made, done=part.is_done)
    if part.native == "workspaceEdit":
        named = {"oldResource": part.uri, "newResource": part.new_uri}
        if part.action == "create":
            named = {"newResource": part.uri}
        edit = {key: uri_json(uri) for key, uri in named.items() if uri is not None}
        inner = {key: value for key, value in left.items() if key not in ("edits", "subAgentInvocationId")}
        return {"kind": "workspaceEdit", "edits": [{**inner, **edit}, *left.get("edits", [])]}
    made = {"kind": part.native or "externalEdit", **left}
    is_renamed = part.action == "rename" and part.new_uri is not None
    made.setdefault("uri", uri_json((part.new_uri if is_renamed else part.uri) or ""))
    made.setdefault("editKind", part.action)
    if is_renamed and part.uri is not None:
        made.setdefault("originalUri", uri_json(part.uri))
    lines = with_texts(dict(made.get("diff", {})), added=part.added, removed=part.removed)
    return {**made, "diff": lines} if lines else made


def edit_json(edit: TextEdit) -> Json:
    lines = Range(
        start_line=edit.start_line, start_column=edit.start_column, end_line=edit.end_line, end_column=edit.end_column
    )
    return with_texts({"range": range_json(lines), "text": edit.text}, eol=edit.eol)


def tree_json(node: TreeNode) -> Json:
    """Return a tree of files."""
    made: Json = {"label": node.label}
    if node.uri is not None:
        made["uri"] = uri_json(node.uri)
    return {**made, "children": [tree_json(child) for child in node.children]} if node.children else made


def with_addresses(node: TreeNode, above: str = "") -> TreeNode:
    """Return a tree in which each file has an address: VS Code shows no tree without."""
    path = f"{above}/{node.label}"
    children = [with_addresses(child, path) for child in node.children]
    return TreeNode(label=node.label, uri=node.uri or f"file://{quote(path)}", children=children)


# --- parts of other programs ----------------------------------------------------------------------------------------


def part_json(part: AnyPart, left_out: Counter[str]) -> list[Json]:
    """Return a part of another program, as the nearest that VS Code has; empty if there is nothing near."""
    if isinstance(part, Text):
        return [{"value": part.text}] if part.text else []
    if isinstance(part, Thinking):
        return [with_texts({"kind": "thinking", "value": part.text}, id=part.id, generatedTitle=part.title)]
    if isinstance(part, Reference):
        return _reference(part)
    if isinstance(part, FileEdit):
        return _edit(part, left_out)
    if isinstance(part, FileTree):
        return [tree_json(with_addresses(part.root))]
    if isinstance(part, Checkpoint):
        return [{"kind": "undoStop", "id": part.id}]
    if isinstance(part, Hook):
        return [_hook(Hook(type=part.type[:1].upper() + part.type[1:], **_texts_of(part)), {})]
    if isinstance(part, Confirmation):
        return _question(part, left_out)
    if isinstance(part, Notice) and part.text and (part.is_prose or part.topic in WARNINGS):
        return [{"kind": "warning", "content": {"value": part.text}}]
    left_out[_name_of(part)] += 1
    return []


def _name_of(part: AnyPart) -> str:
    if isinstance(part, Notice):
        return f"notices of the program about: {part.topic}"
    return "files and skills that the program loaded" if isinstance(part, Attachment) else "parts of an unknown kind"


def _texts_of(part: Hook) -> dict[str, Any]:
    return {"reason": part.reason, "message": part.message, "tool": part.tool}


def _reference(part: Reference) -> list[Json]:
    place = place_json(part.place) if part.place is not None else None
    if part.type == "inline" and place is not None:
        return [{"kind": "inlineReference", "inlineReference": place, "name": part.text.strip("`")}]
    if part.type == "pull-request" and part.place is not None:
        link = f"[{part.place.name or part.place.uri}]({part.place.uri})"
        return [{"value": f"\n\n{link}\n\n"}]
    return [{"value": part.text}] if part.text else []


def _edit(part: FileEdit, left_out: Counter[str]) -> list[Json]:
    """Return the edits of a file in the shape that VS Code shows as one line: an empty code block around them."""
    if part.uri is None and part.path is None:
        left_out["edits without a file"] += 1
        return []
    uri = uri_json(part.uri) if part.uri is not None else path_json(part.path or "")
    if part.action in ("delete", "rename"):
        renamed = {"newResource": uri_json(part.new_uri)} if part.new_uri is not None else {}
        return [{"kind": "workspaceEdit", "edits": [{"oldResource": uri, **renamed}]}]
    batches = [[edit_json(edit) for edit in batch] for batch in part.batches]
    if not batches and part.diff:
        batches = [edits_of_diff(part.diff)]
    if not any(batches):
        left_out["edits without their text"] += 1
        return []
    left_out["edits of notebook cells"] += len(part.cells)
    return [
        {"value": FENCE},
        {"kind": "codeblockUri", "uri": uri, "isEdit": True},
        {"kind": "textEditGroup", "uri": uri, "edits": batches, "done": True},
        {"value": FENCE},
    ]


def edits_of_diff(diff: str) -> list[Json]:
    """Return a unified diff of one file as edits of the text before it."""
    made: list[Json] = []
    at = 0  # the next line of the text before; 0 above the first hunk
    taken, put = 0, ""  # lines that are removed above it, and the text in their place
    for line in [*diff.split("\n"), "@@ -0,0 +0,0 @@"]:
        if line.startswith("\\"):  # the line above it has no line break
            put = put.removesuffix("\n")
            continue
        if at and line[:1] in ("-", "+"):
            taken += line[0] == "-"
            put += f"{line[1:]}\n" if line[0] == "+" else ""
            at += line[0] == "-"
            continue
        if taken or put:
            made.append({"range": range_json(Range(start_line=at - taken, end_line=at)), "text": put})
            taken, put = 0, ""
        if hunk := _HUNK.match(line):
            at = int(hunk[1]) + (hunk[2] == "0")
        elif at:
            at += 1
    return made


def _question(part: Confirmation, left_out: Counter[str]) -> list[Json]:
    if part.type == "questions":
        return [_carousel(part)]
    if part.type == "plan":
        actions = [{"label": option} for option in part.options]
        made: Json = {
            "kind": "planReview",
            "title": part.title or "Plan",
            "content": part.message or "",
            "actions": actions,
        }
        answered = {"action": part.answer, "rejected": part.state == "rejected"}
        known = {key: value for key, value in answered.items() if value is not None}
        return [{**made, "canProvideFeedback": False, "isUsed": True, "data": known}]
    if part.type == "permission":  # the call says who allowed it
        return []
    if not part.message and not part.title:
        left_out["questions without a text"] += 1
        return []
    state = "rejected" if part.state in ("rejected", "denied") else "accepted"
    return [
        {
            "kind": "elicitationSerialized",
            "title": part.title or "",
            "message": part.message or "",
            "state": state,
            "isHidden": False,
            **({"acceptedResult": {"answer": value_of_text(part.answer)}} if part.answer else {}),
        }
    ]


def _carousel(part: Confirmation) -> Json:
    asked: list[Json] = []
    answers: Json = {}
    for number, question in enumerate(part.questions):
        name = question.id or str(number)
        options = [{"id": option, "label": option, "value": option} for option in question.options]
        kind = "singleSelect" if options else "text"
        made = {"id": name, "type": kind, "title": question.title or question.text or ""}
        asked.append(with_texts({**made, **({"options": options} if options else {})}, message=question.text))
        if question.answer is not None:
            answers[name] = (
                {"selectedValue": question.answer} if question.answer in question.options else question.answer
            )
    carousel: Json = {"kind": "questionCarousel", "questions": asked, "allowSkip": True, "isUsed": True}
    return with_texts({**carousel, **({"data": answers} if answers else {})}, message=part.message)


def _number(value: float | None) -> int | float | None:
    return None if value is None else number_json(value)
