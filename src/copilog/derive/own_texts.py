"""Decide whether Copilot's extension wrote the text of a result itself, instead of the tool.

The extension has no other way to record a failure: `isComplete` is true of every call that ended, and only some results
carry an error flag. So the text itself is the evidence, but only if no tool read it: a file, a terminal's output or a
search hit may begin with the same text.

- A text that begins with `ERROR while calling tool: `, `ERROR: Your input to the tool was invalid` or
  `ERROR: The tool "` is the extension's if it also ends as the extension ends all of them, with "Please check your
  input and try again.": no output follows.
- A tool that changes something returns no content, and a few others write a text of their own before the content. A
  failure begins with the extension's wording, so the beginning is enough (`TOOL_FAILURES`).
- The message about a tool that the user has disabled is recognised as one complete text.
- Text that hooks added for the model before or after a text is not part of it.
- Output that VS Code recorded as the tool's is output, whatever it looks like: that of a command that is known to have
  run, the result that VS Code showed, and a list of search hits. An exit code above 0 alone proves
  nothing: the command may have been cancelled, or the tool may have failed after it.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from copilog.derive.tool_names import EDITING_TOOLS, OF_SEVERAL_FILES, key_of, tool_key
from copilog.model import Terminal, ToolCall, ToolResult

OwnKind = Literal["failed", "skipped", "cancelled"]

CALL_ERROR = "ERROR while calling tool: "
BEGINNINGS = (CALL_ERROR, "ERROR: Your input to the tool was invalid", 'ERROR: The tool "')
ENDING = "Please check your input and try again."
SKIPPED = "The user chose to skip the tool call"
CANCELLED = "The user cancelled the tool call."
CANCELLED_FLAGGED = frozenset({"Canceled: Canceled", "ERROR: Canceled", "Canceled"})  # only with an error flag
_LONGEST_SKIPPED = 200

# Tools that change something and return no content.
WRITING_TOOLS = EDITING_TOOLS | {"createdirectory", "managetodolist"}
EDIT_FAILURES = (
    "String replacement failed",
    "Applying patch failed with error",
    "File does not exist: ",
    "File already exists.",
    "Edit at index ",
    "Could not find matching text",
    "Multiple matches found for the text to replace",
    "Original and edited file match exactly",
    "Input and output are identical",
    "None of the edits were applied",
)
TOOL_FAILURES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(EDITING_TOOLS, EDIT_FAILURES),
    "memory": ("Error: ", "No replacement was performed", "The path /memories"),
    "installextension": ("Failed to install ",),
    "runvscodecommand": ("Failed to find command `", "Failed to run command `"),
    "createnewjupyternotebook": ("Planning stage did not return", "Outline was not found in planning stage"),
    "createnewworkspace": ("The user has not opened a valid workspace folder",),
    "viewimage": ("Cannot view image file ",),
    "getchangedfiles": ("The workspace does not contain a git repository",),
}
# The same, with a name in the middle.
_NOT_ALLOWED = re.compile(r"File .+ is not in the set of allowed files for this edit request\.")
_PATTERNS = {
    **dict.fromkeys(EDITING_TOOLS, _NOT_ALLOWED),
    "runnotebookcell": re.compile(r"Cell \S+ is (?:not a code cell so it can't|empty, so it won't) be executed\."),
    "runvscodecommand": re.compile(r"Command `[^`\n]+` exists, but its preconditions are not currently met\."),
}
_SWITCHED_OFF = re.compile(r"Tool (\S+) is currently disabled by the user, and cannot be called\.\s*")
SHOWN = "output that VS Code showed"  # evidence that outweighs a text that looks like a failure
HOOK_BEFORE = "<PreToolUse-context>", "</PreToolUse-context>"
HOOK_AFTER = "<PostToolUse-context>", "</PostToolUse-context>"
_SUSPECTS = ("ERROR", "The user c", "Canceled", "Tool ")  # the beginnings of the other texts
_BEGINNINGS = tuple({beginning for beginnings in TOOL_FAILURES.values() for beginning in beginnings})
_ALL_SUSPECTS = (*_SUSPECTS, *_BEGINNINGS, "File ", "Cell ", "Command `", HOOK_BEFORE[0])
EDIT_SUCCESS = ("was applied successfully", "successfully edited")  # of another file by the same call
EDITED_FILES = "successfully edited:"  # the names of the files follow


class OwnText(NamedTuple):
    """The outcome that a text of the extension reports."""

    kind: OwnKind
    reason: str


def own_text(result: ToolResult, call: ToolCall, terminal: Terminal | None) -> OwnText | None:
    """Return what the extension reports in the result of a call; None if the text is the tool's."""
    text = result.text
    if not text.startswith(_ALL_SUSPECTS):
        return None
    text = _without_hooks(text)
    key = key_of(call)
    if _begins_as_failure(text, key):
        return None if failed_edits(result, call) else OwnText("failed", first_line(text))
    if not text.startswith(_SUSPECTS) or _has_run(terminal, text) or _is_shown(result, call, key):
        return None
    whole = text.strip() if len(text) <= _LONGEST_SKIPPED else ""
    if whole.startswith(SKIPPED) and "\n" not in whole:
        return OwnText("skipped", whole)
    if whole == CANCELLED or (result.is_error and whole in CANCELLED_FLAGGED):
        return OwnText("cancelled", whole)
    if (named := _SWITCHED_OFF.fullmatch(text)) is not None and tool_key(named[1]) in (key, tool_key(call.name)):
        return OwnText("failed", whole)
    if key in WRITING_TOOLS and text.startswith("ERROR: "):
        return OwnText("failed", first_line(text.removeprefix("ERROR: ")))
    if text.startswith(BEGINNINGS) and (key in WRITING_TOOLS or text[-2 * len(ENDING) :].rstrip().endswith(ENDING)):
        return OwnText("failed", first_line(text.removeprefix(CALL_ERROR).removeprefix("ERROR: ")))
    return None


def failed_edits(result: ToolResult, call: ToolCall) -> str | None:
    """Return the text about failed edits in the result of a call whose other edits were applied; else None."""
    key = key_of(call)
    if key not in EDITING_TOOLS or not any(word in result.text for word in EDIT_SUCCESS):
        return None
    text = _without_hooks(result.text)
    lines = text.split("\n") if key in OF_SEVERAL_FILES else [text]
    return next((first_line(line) for line in lines if _begins_as_failure(line, key)), None)


def reports_edit_of(path: str, text: str) -> bool:
    """Return whether a result reports that this file was edited, where other edits of the call failed."""
    lines = [line for line in text.split("\n") if not line.startswith(EDIT_FAILURES) and not _NOT_ALLOWED.match(line)]
    first = next((number for number, line in enumerate(lines) if line.rstrip().endswith(EDITED_FILES)), len(lines))
    relevant = [*(line for line in lines[:first] if any(word in line for word in EDIT_SUCCESS)), *lines[first:]]
    whole_name = re.compile(rf"(?<![\w.-]){re.escape(path)}(?![\w/\\-]|\.\w)")  # not a part of a longer one
    return any(whole_name.search(line) for line in relevant)


def is_suspect(text: str) -> bool:
    """Return whether a text begins like one of the extension's."""
    return text.startswith(_ALL_SUSPECTS)


def _begins_as_failure(text: str, key: str) -> bool:
    """Return whether the text begins as a tool begins its own report of a failure."""
    if text.startswith(TOOL_FAILURES.get(key, ())):
        return True
    pattern = _PATTERNS.get(key)
    return pattern is not None and pattern.match(text) is not None


def _without_hooks(text: str) -> str:
    if text.startswith(HOOK_BEFORE[0]):
        text = text.partition(HOOK_BEFORE[1])[2].lstrip()
    if text[-100:].rstrip().endswith(HOOK_AFTER[1]):
        text = text.partition(HOOK_AFTER[0])[0].rstrip()
    return text


def _has_run(terminal: Terminal | None, text: str) -> bool:
    """Return whether a terminal's command is known to have run: it ended with 0, or printed this or more and ended.

    Old releases recorded no output.
    """
    if terminal is None:
        return False
    if terminal.output:
        return terminal.exit_code is not None or text.startswith(terminal.output[:40])
    return terminal.exit_code == 0


def _is_shown(result: ToolResult, call: ToolCall, key: str) -> bool:
    """Return whether VS Code recorded the text as output of the tool itself, or as search hits."""
    if key in WRITING_TOOLS or result.is_error:
        return False
    return bool(result.places) or any(
        verdict.source == SHOWN and verdict.kind == "succeeded" for verdict in call.verdicts
    )


def first_line(text: str) -> str:
    """Return the first line of a text that is not blank, cut to what a table can show."""
    beginning = text[:1000].strip()
    return beginning.partition("\n")[0].strip()[:300]
