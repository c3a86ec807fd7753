"""The arguments of a tool call: a headline, the change that they describe, and the rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from copilog import jsonio
from copilog.derive.outcomes import is_done
from copilog.errors import BadRecord
from copilog.model import ToolCall
from copilog.textdiff import unified_diff
from copilog.view.terminal_text import clean, clean_line, json_text
from copilog.view.wording import markdown_as_plain, path_text

PATHS = ("filePath", "path", "dirPath", "file_path", "filePaths", "uri", "resourcePath", "projectPath", "notebookPath")
LINES = (("startLine", "endLine"), ("startLineNumberBaseZero", "endLineNumberBaseZero"))
WORDS = ("query", "pattern", "url", "urls", "symbol", "symbolName", "description", "title", "libraryName", "name")
MOST_PATHS = 5
HEADLINE_LIMIT = 160
VALUE_LIMIT = 160

_RAN = re.compile(r"(?:Ran|Running) `[^`]*`")


Change = Callable[[], str]  # a diff, made only when it is drawn


@dataclass(slots=True)
class Arguments:
    """The arguments of a call, as they are shown."""

    headline: str = ""
    change: Change | None = None  # the change that the arguments describe
    rest: list[tuple[str, str]] = field(default_factory=list)  # name and value
    text: str = ""  # arguments that are not a JSON object

    @property
    def patch(self) -> str:
        """Return the change as a diff; empty if there is none."""
        return self.change() if self.change is not None else ""


def arguments_of(call: ToolCall, folder: str | None, hidden: set[str]) -> Arguments:
    """Split the arguments into headline, change and rest. `hidden` names those that another block shows.

    An argument that is too long for the headline is shown in full below it.
    """
    made = Arguments()
    values = _decoded(call.arguments)
    if values is None:
        made.text = clean(call.arguments or "").strip()
        values = {}
    for name in hidden:
        values.pop(name, None)
    if is_done(call):  # the arguments of a failed call describe no change
        made.change = _change_from(values, folder)
    made.headline = _headline_from(values, folder) or clean_line(displayed_text_of(call), HEADLINE_LIMIT)
    made.rest = [(clean_line(name, 60), _as_text(value)) for name, value in values.items()]
    return made


def _decoded(arguments: str | None) -> dict[str, Any] | None:
    if not arguments:
        return {}
    try:
        value, _ = jsonio.decode(arguments.encode("utf-8", "replace"))
    except BadRecord:
        return None
    return value if isinstance(value, dict) else None


def _as_text(value: object) -> str:
    return clean(value) if isinstance(value, str) else json_text(value)


def _headline_from(values: dict[str, Any], folder: str | None) -> str:
    """Return the file with its lines, and the search text. Removes both from the arguments."""
    words: list[str] = []
    given = dict(values)
    paths = _take_texts(values, PATHS)
    if paths:
        more = f" and {len(paths) - MOST_PATHS} more" if len(paths) > MOST_PATHS else ""
        words.append(", ".join(path_text(path, folder) for path in paths[:MOST_PATHS]) + _lines_from(values) + more)
    words += _take_texts(values, WORDS)
    line = "  ".join(words)
    if len(line) > HEADLINE_LIMIT or len(paths) > MOST_PATHS:
        values.update(given)
    return clean_line(line, HEADLINE_LIMIT)


def _take_texts(values: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    """Return the first of these arguments that is a text, or a list of texts, and remove it from the arguments."""
    for name in names:
        given = values.get(name)
        items: list[Any] = given if isinstance(given, list) else [given]
        if items and all(isinstance(item, str) and item for item in items):
            del values[name]
            return items
    return []


def _lines_from(values: dict[str, Any]) -> str:
    for first, last in LINES:
        if isinstance(values.get(first), int) and isinstance(values.get(last), int):
            offset = 1 if first.endswith("BaseZero") else 0
            return f":{values.pop(first) + offset}-{values.pop(last) + offset}"
    return ""


def displayed_text_of(call: ToolCall) -> str:
    """Return the text that VS Code showed, unless it only repeats the tool's name."""
    message = (call.message or "").strip()
    is_generic = message.startswith('Using "') or _RAN.fullmatch(message)
    return "" if is_generic else clean_line(markdown_as_plain(message))


# --- changes ----------------------------------------------------------------------------------------------------


def _change_from(values: dict[str, Any], folder: str | None) -> Change | None:
    """Return the change, made into a diff only when it is drawn. Removes its arguments."""
    patch = values.get("input", values.get("patch"))
    if isinstance(patch, str) and patch.lstrip().startswith("*** Begin Patch"):
        values.pop("input", values.pop("patch", None))
        return patch.strip
    replacements = values.get("replacements")
    if isinstance(replacements, list) and replacements and all(map(_is_replacement, replacements)):
        del values["replacements"]
        return lambda: "\n".join(_diff_of(item, folder, named=True).rstrip("\n") for item in replacements)
    if _is_replacement(values):
        given = {name: values.pop(name) for name in ("oldString", "newString")}
        return lambda: _diff_of(given, folder, named=False)
    content = values.get("content", values.get("code"))
    if isinstance(content, str) and isinstance(values.get("filePath"), str):
        values.pop("content" if "content" in values else "code")
        return lambda: "\n".join("+" + line for line in content.removesuffix("\n").split("\n"))
    return None


def _is_replacement(values: object) -> bool:
    if not isinstance(values, dict):
        return False
    old, new = values.get("oldString"), values.get("newString")
    return isinstance(old, str) and isinstance(new, str) and old != new


def _diff_of(values: dict[str, Any], folder: str | None, *, named: bool) -> str:
    path = values.get("filePath")
    lines = unified_diff(values["oldString"], values["newString"], "a").split("\n")[2:]
    # The line numbers count within the replaced text only, so they are of no use to the reader.
    lines = ["@@" if line.startswith("@@") else line for line in lines if not line.startswith("\\ No newline")]
    if named and isinstance(path, str):
        lines.insert(0, f"@ {path_text(path, folder)}")
    elif len([line for line in lines if line == "@@"]) == 1:
        lines.remove("@@")
    return "\n".join(lines)
