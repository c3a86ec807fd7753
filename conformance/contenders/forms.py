"""One form for what is expected and for what a program answers: both sides pass through `in_form`."""

from __future__ import annotations

import json
import re
from pathlib import PurePath
from typing import Any

# What the model calls a tool of VS Code, and the id under which VS Code records it, where they differ in more than
# spelling.
TOOL_IDS = {
    "grep_search": "copilot_findTextInFiles",
    "file_search": "copilot_findFiles",
    "semantic_search": "copilot_searchCodebase",
    "list_dir": "copilot_listDirectory",
    "replace_string_in_file": "copilot_replaceString",
    "multi_replace_string_in_file": "copilot_multiReplaceString",
    "insert_edit_into_file": "copilot_insertEdit",
    "edit_notebook_file": "copilot_editNotebook",
    "copilot_getNotebookSummary": "copilot_getNotebookSummary",
    "fetch_webpage": "vscode_fetchWebPage_internal",
}
TEXTS = ("prompt", "answer", "thinking", "title", "call.result")


def in_form(kind: str, value: Any) -> Any:
    """Return a value as it is compared: texts without differences in white space, names in one spelling."""
    if not isinstance(value, str):
        return value
    if kind in TEXTS:
        return " ".join(value.split())
    if kind == "model":
        return model_name(value)
    if kind == "folder":
        return project_name(value)
    if kind == "call.name":
        return tool_name(value)
    return value


def place_in_form(where: str) -> str:
    """Return a place with the name of the model in one spelling."""
    head, mark, model = where.partition("/model ")
    return f"{head}{mark}{model_name(model)}" if mark else where


def model_name(name: str) -> str:
    """Return a model's name without the provider, and with hyphens in its version: claude-sonnet-4-5."""
    return name.rpartition("/")[2].lower().replace(".", "-")


def project_name(folder: str) -> str:
    """Return the last part of a folder's path in the letters that every program keeps."""
    return re.sub(r"[^a-z0-9]+", "_", PurePath(folder).name.lower())


def tool_name(name: str) -> str:
    """Return a tool's name as the model and VS Code both could have written it."""
    known = TOOL_IDS.get(name, name)
    return known.removeprefix("copilot_").replace("_", "").lower()


def texts_of(text: str | None) -> str | None:
    """Return all texts of a result that is recorded as JSON, in order; the text itself if it is not JSON."""
    if not text:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return "\n".join(_strings(value))


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for one in value for text in _strings(one)]
    return [str(value)] if value is not None else []
