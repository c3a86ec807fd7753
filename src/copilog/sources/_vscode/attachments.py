"""Variables: the files, selections, images and instructions that went with a prompt."""

from __future__ import annotations

from typing import Any

from copilog.diagnostics import Ledger
from copilog.model import AnyPart, Attachment, Unknown
from copilog.sources._vscode.places import place_from
from copilog.sources._vscode.promptx import bytes_from
from copilog.sources._vscode.take import Json, rest, take_bool, take_str

# VS Code's kinds and ours.
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
OMITTED = {1: "partial", 2: "full", 3: "image-limit"}


def attachments_from(variables: object, ledger: Ledger, pointer: str) -> list[AnyPart]:
    """The attachments of a list of variables; each is counted as a part."""
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
            ledger.reject_part("a variable that is no object", f"{pointer}/{position}")
    return found


def attachment_from(variable: Json, position: int, ledger: Ledger) -> AnyPart:
    kind = variable.get("kind")
    if kind is not None and (not isinstance(kind, str) or kind not in TYPES):
        ledger.parts.meet_unknown(f"variable:{kind}")
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
    )
    omitted = variable.get("omittedState")
    if isinstance(omitted, int) and omitted in (0, *OMITTED):
        del variable["omittedState"]
        part.omitted = OMITTED.get(omitted)
    _take_value(variable, part)
    part.extra = rest(variable)
    return part


def _unfold_old_values(variable: Json) -> None:
    """Old entries held a list of values, of which the first counted."""
    values = variable.get("values")
    if "value" not in variable and isinstance(values, list) and values and isinstance(values[0], dict):
        variable["value"] = values[0].get("value")
        del variable["values"]


def _type_by_fields(variable: Json) -> str:
    """The type of an entry from before `kind` was written."""
    if variable.get("isImage") or "image" in str(variable.get("mimeType", "")):
        return "image"
    if variable.get("isDirectory"):
        return "directory"
    if variable.get("isFile") or place_from(_dict_or_none(variable.get("value"))) is not None:
        return "file"
    return "generic"


def _dict_or_none(value: object) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def _is_automatic(variable: Json, kind: str | None) -> bool:
    return bool(variable.get("automaticallyAdded")) or kind in ("implicit", "promptText", "workspace")


def _take_value(variable: Json, part: Attachment) -> None:
    """Find out what the value is: a place, a text, or bytes. Anything else stays in `extra`."""
    value = variable.get("value")
    if isinstance(value, str):
        del variable["value"]
        if part.type in ("image", "notebook-output"):
            data = bytes_from(value)
            if data is not None:
                part.data = data
            else:
                part.place = place_from(value)
        else:
            part.text = value
        if part.type == "paste" and variable.get("code") == value:
            del variable["code"]
    elif isinstance(value, dict | list):
        if part.type in ("image", "notebook-output", "generic", "element") or "$base64" in value:
            part.data = bytes_from(value)
        if part.data is None and isinstance(value, dict):
            part.place = place_from(value)
        if part.data is not None or (part.place is not None and not _says_more(value)):
            del variable["value"]
    if part.place is None and "uri" in variable:
        part.place = place_from(variable["uri"])
        if part.place is not None:
            del variable["uri"]
    if part.type == "terminal-command" and part.text is None:
        part.text = take_str(variable, "command")


def _says_more(value: Any) -> bool:
    """Whether a location carries more than its URI and range."""
    return isinstance(value, dict) and "uri" in value and not value.keys() <= {"uri", "range"}
