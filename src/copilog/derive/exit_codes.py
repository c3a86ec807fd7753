"""Find the exit code of the command that a call ran: it is recorded separately from the outcome of the call.

A command that still runs when its call returns ends in a later call, which reads its shell's output. The exit code is
then that of the first call whose result names it, so that each command counts once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from copilog.derive.tool_names import SHELL_READERS, SHELLS, key_of
from copilog.model import Terminal, ToolCall, ToolResult

LONGEST_LAST_LINE = 300
# Copilot CLI before and since 1.0.60, where a shell is read later, and VS Code's terminal tool.
_LAST_LINE = re.compile(
    r"(?:<(?:command with id: .{1,100} )?exited with exit code (-?\d+)>"
    r"|<shellId: .{1,100} completed with exit code (-?\d+)>"
    r"|Command exited with code (-?\d+))\s*\Z"
)


def exit_code_of(part: ToolCall | Terminal) -> int | None:
    """Return the exit code of the command that a call ran; before conclusions are drawn, the recorded one."""
    if type(part) is ToolCall and part.outcome is not None:
        return part.concluded_exit_code  # None if an earlier call has it
    return part.exit_code if part.concluded_exit_code is None else part.concluded_exit_code


def exit_code_to_show(call: ToolCall | None, part: Terminal) -> int | None:
    """Return the exit code to show with a terminal; None if its call shows it, as it does for an error."""
    code = exit_code_of(part)
    return None if code and call is not None and exit_code_of(call) == code else code


def find_exit_code(call: ToolCall, results: Iterable[ToolResult], terminal: Terminal | None) -> int | None:
    """Return the recorded exit code, else the one in the last line of the result; None if it is unknown."""
    if terminal is not None and terminal.exit_code is not None:
        return terminal.exit_code
    if call.exit_code is not None:
        return call.exit_code
    if terminal is None and key_of(call) not in SHELLS:
        return None  # a file may end with the same text
    for result in results:
        for text in (result.text, result.display):
            if text and (code := exit_code_in(text)) is not None:
                return code
    return None


def exit_code_in(text: str) -> int | None:
    """Return the exit code in the last line of a shell's result."""
    end = text[-LONGEST_LAST_LINE:]
    if "exit" not in end:
        return None
    last_line = end.rstrip().rpartition("\n")[2]
    match = _LAST_LINE.search(last_line)
    return int(next(filter(None, match.groups()))) if match else None


def forget_repeated(calls: Iterable[ToolCall]) -> None:
    """Keep the exit code of a command only at the first call that names it, if its shell is read again."""
    ended: set[str] = set()  # shells whose last command has ended in an earlier call
    for call in calls:
        key = key_of(call)
        if key not in SHELLS or (shell := shell_of(call)) is None:
            continue
        if key not in SHELL_READERS:
            ended.discard(shell)
        elif shell in ended:
            call.concluded_exit_code = None
        if call.concluded_exit_code is not None:
            ended.add(shell)


def shell_of(call: ToolCall) -> str | None:
    """Return the shell that a call names; None if it names none."""
    try:
        given = msgspec.json.decode(call.arguments or "{}")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    found = (given.get("shellId") or given.get("sessionId")) if isinstance(given, dict) else None
    return str(found) if found is not None else None
