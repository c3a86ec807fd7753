"""Variables: the files, selections, images and instructions that went with a prompt."""

from __future__ import annotations

from typing import Any

from copilog.derive.notes import IN_PAGE
from copilog.diagnostics import Ledger
from copilog.fields import Json, json_text, rest, take_bool, take_notes, take_str, texts_at
from copilog.model import AnyPart, Attachment, Unknown
from copilog.sources.tool_results import bytes_from, data_url
from copilog.uris import location_from, paths_at, take_location, uri_to_string

# VS Code's kinds, and the types of the model.
TYPES = {
    "file": "file",
    "directory": "directory",
    "symbol": "symbol",
    "image": "image",
    "notebookOutput": "notebook-output",
    "paste": "paste",
    "implicit": "implicit",
    "string": "string",
    "workspace": "workspace",
    "promptFile": "prompt-file",
    "promptText": "prompt-text",
    "tool": "tool",
    "toolset": "toolset",
    "diagnostic": "diagnostic",
    "terminalCommand": "terminal-command",
    "debugVariable": "debug-variable",
    "element": "element",
    "scmHistoryItem": "commit",
    "scmHistoryItemChange": "commit-change",
    "scmHistoryItemChangeRange": "commit-range",
    "command": "command",
    "generic": "generic",
    "transcriptContext": "transcript-context",
    "agentFeedback": "agent-feedback",
    "debugEvents": "debug-events",
    "sessionReference": "session-reference",
    "chatReference": "chat-reference",
    "browserView": "browser-view",
}
BINARY = ("image", "notebook-output")
HOLDING_BYTES = (*BINARY, "generic", "element")
PLACED = ("file", "directory", "symbol", "implicit", "prompt-file", "session-reference", "chat-reference")
FREE = ("command", "generic", "agent-feedback", "debug-events")  # types whose value may be any JSON
ELEMENT = ("ancestors", "attributes", "computedStyles")
COMMITS = ("commit", "commit-change", "commit-range")
NOTES = {
    "tooltip": "tooltip",
    "innerText": "text of the element",
    "problemMessage": "problem",
    "expression": "expression",
    "type": "type",
}
OMITTED = {1: "partial", 2: "full", 3: "image-limit"}


def attachments_from(variables: object, ledger: Ledger, pointer: str) -> list[AnyPart]:
    """Return the attachments of a list of variables; each is counted as a part."""
    if not isinstance(variables, list):
        return []
    tally = ledger.parts
    found: list[AnyPart] = []
    for position, variable in enumerate(variables):
        tally.seen += 1
        if isinstance(variable, dict):
            tally.used += 1
            found.append(attachment_from(variable, position, ledger))
        elif variable is None:
            tally.ignore("null-part")
        else:
            ledger.reject_part("a variable that is not an object", f"{pointer}/{position}")
    return found


def attachment_from(variable: Json, position: int, ledger: Ledger) -> AnyPart:
    kind = variable.get("kind")
    if kind is not None and (not isinstance(kind, str) or kind not in TYPES):
        ledger.parts.count_unknown(f"variable:{kind}")
        return Unknown(type=f"variable:{kind}", raw=variable, position=position)
    variable.pop("kind", None)
    _unfold_old_values(variable)
    part = Attachment(
        type=TYPES[kind] if kind else _type_by_fields(variable),
        native=kind,
        position=position,
        id=take_str(variable, "id"),
        name=take_str(variable, "name"),
        mime_type=take_str(variable, "mimeType"),
        description=take_str(variable, "modelDescription"),
        is_sent=take_bool(variable, "enabled") is not False,
        is_automatic=_is_automatic(variable, kind),
        notes=take_notes(variable, NOTES),
    )
    omitted = variable.get("omittedState")
    if isinstance(omitted, int) and omitted in (0, *OMITTED):
        del variable["omittedState"]
        part.omitted = OMITTED.get(omitted)
    _take_value(variable, part)
    _take_by_type(variable, part)
    part.extra = rest(variable)
    return part


def _unfold_old_values(variable: Json) -> None:
    """Unfold the list of values that old entries contain; only its first value counts."""
    values = variable.get("values")
    if "value" in variable or not isinstance(values, list) or not values or not isinstance(values[0], dict):
        return
    if "value" in values[0]:
        variable["value"] = values[0].pop("value")
    if values == [{}]:
        del variable["values"]


def _type_by_fields(variable: Json) -> str:
    """Return the type of an entry that was written before there was a `kind`."""
    if variable.get("isImage") or "image" in str(variable.get("mimeType", "")):
        return "image"
    if variable.get("isDirectory"):
        return "directory"
    value = variable.get("value")
    if variable.get("isFile") or (isinstance(value, dict) and location_from(value) is not None):
        return "file"
    return "generic"


def _is_automatic(variable: Json, kind: str | None) -> bool:
    return bool(variable.get("automaticallyAdded")) or kind in ("implicit", "promptText", "workspace")


def _take_value(variable: Json, part: Attachment) -> None:
    """Set the location, the text or the bytes of the attachment from its value. Anything else stays in `extra`."""
    value = variable.get("value")
    if isinstance(value, str) and part.type not in BINARY:
        if part.type in PLACED and uri_to_string(value) is not None:
            part.place = take_location(variable, "value")
        else:
            part.text = take_str(variable, "value")
    elif isinstance(value, str | dict | list):
        part.data = _bytes_of(value, part)
        if part.data is None:
            part.place = None if isinstance(value, list) else take_location(variable, "value")
        elif _is_lossless_as_bytes(value):
            del variable["value"]
        if isinstance(value, dict) and part.type == "implicit" and "uri" in value:
            part.text = take_str(value, "value")  # text that is not in a file, from another extension
            part.notes |= take_notes(value, {"name": "name"})
        if part.type in FREE and part.data is None and part.place is None:
            part.text = json_text(variable.pop("value"))
    if part.place is None and "uri" in variable:
        part.place = take_location(variable, "uri")


def _bytes_of(value: Any, part: Attachment) -> bytes | None:
    if isinstance(value, str):
        mime_type, data = data_url(value)
        part.mime_type = part.mime_type or mime_type
        return data
    if part.type in HOLDING_BYTES or "$base64" in value:
        return bytes_from(value)
    return None


def _is_lossless_as_bytes(value: Any) -> bool:
    """Return whether bytes made of this value lose nothing of it."""
    if not isinstance(value, dict):
        return True
    if "$base64" in value:
        return len(value) == 1
    if "data" in value:
        return value.keys() == {"data"} or (value.keys() == {"type", "data"} and value["type"] == "Buffer")
    return True  # a map from index to byte


def _take_by_type(variable: Json, part: Attachment) -> None:
    """Take the fields that some types have beside the value, or instead of it."""
    if part.type == "paste":
        if variable.get("code") == part.text:
            variable.pop("code", None)
        part.place = part.place or take_location(variable, "copiedFrom")
        part.notes |= take_notes(variable, {"code": "code", "pastedLines": "pasted", "fileName": "file"})
    elif part.type == "terminal-command":
        if part.text is None:
            part.text = take_str(variable, "command")
        elif isinstance(command := variable.get("command"), str) and command not in part.text:
            part.notes["command"] = command
        if isinstance(printed := variable.get("output"), str) and printed not in (part.text or ""):
            part.notes["output"] = printed
    elif part.type == "string" and (path := paths_at(variable, "resourceUri")):
        part.notes["resource"] = path
    elif part.type == "diagnostic":
        part.place = part.place or location_from(variable.get("filterUri"))
        problem = texts_at(variable.get("value"), "problemMessage")
        if problem and problem != part.notes.get("problem"):
            part.notes["problems"] = problem
    elif part.type in COMMITS and part.text is None:
        items = [variable.get(key) for key in ("historyItem", "historyItemChangeStart", "historyItemChangeEnd")]
        commits = [item.get("historyItem", item) for item in items if isinstance(item, dict)]
        part.text = "\n\n".join(filter(None, dict.fromkeys(map(_commit_text, commits)))) or None
    elif part.type == "agent-feedback":
        part.notes |= _feedback_notes(variable.get("feedbackItems"), part.text or "")
    elif part.type == "element":
        _take_element(variable, part)


def _take_element(variable: Json, part: Attachment) -> None:
    """Take the picture of an element of a web page, and the texts that describe the element."""
    picture = variable.get("imageData")
    if part.data is None and (data := bytes_from(picture)) is not None:
        part.data = data
        if _is_lossless_as_bytes(picture):
            del variable["imageData"]
        part.mime_type = part.mime_type or take_str(variable, "imageMimeType")
    known = {key: variable.pop(key) for key in ELEMENT if variable.get(key)}
    if known and (text := json_text(known)):
        part.notes[IN_PAGE] = text


def _commit_text(commit: object) -> str:
    """Return the message of a commit; the subject is its first line, unless the message was truncated."""
    subject, message = texts_at(commit, "subject"), texts_at(commit, "message")
    return message if message.startswith(subject) else f"{subject}\n\n{message}".strip()


def _replies(value: object) -> str:
    replies = value if isinstance(value, list) else [value]
    texts = [reply if isinstance(reply, str) else texts_at(reply, "text", "body") for reply in replies]
    return "\n".join(filter(None, texts))


def _feedback_notes(items: object, text: str) -> dict[str, str]:
    """Return the comments that the user wrote about lines of code, with these lines."""
    names = {"text": "comment", "codeSelection": "code", "diffHunks": "diff"}
    notes = {name: texts_at(items, key) for key, name in names.items()}
    notes["files"] = paths_at(items, "resourceUri")
    each_reply = (
        [_replies(item.get("replies")) for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    )
    notes["replies"] = "\n".join(filter(None, each_reply))
    return {name: said for name, said in notes.items() if said and said not in text}
