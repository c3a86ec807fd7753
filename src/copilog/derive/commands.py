"""List the commands that a conversation ran in a shell: as requested, as executed, and how they ended.

A command that still runs when its call returns ends in a later call, which reads its shell; its exit code is then that
of the later call.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec

from copilog.derive.exit_codes import exit_code_of, shell_of
from copilog.derive.tool_names import SHELL_READERS, SHELL_WRITERS, SHELLS, key_of
from copilog.model import Conversation, Terminal, ToolCall

_STARTERS = SHELLS - SHELL_READERS - SHELL_WRITERS
_FOLDERS = ("cwd", "workdir", "workingDirectory", "working_directory")


class Command(msgspec.Struct):
    """A command, with the positions of its message and of the part there."""

    message: int
    part: int
    turn: int | None
    command: str  # as executed, or as it would have been
    requested: str | None = None  # by the model, if it was edited before it was executed
    edited_by: Literal["user", "tool"] | None = None
    directory: str | None = None  # as recorded; the shell's own folder is not
    language: str | None = None
    exit_code: int | None = None
    call: ToolCall | None = None
    terminal: Terminal | None = None


class _Requested(NamedTuple):
    command: str | None
    directory: str | None


def commands_of(conversation: Conversation) -> list[Command]:
    """Return the commands in their order. Their calls' outcomes have been concluded."""
    terminals = {
        part.call_id: part
        for message in conversation.messages
        for part in message.parts
        if type(part) is Terminal and part.call_id is not None
    }
    commands: list[Command] = []
    open_in: dict[str, Command] = {}  # by shell: its last command, if no exit code is known yet
    for position, message in enumerate(conversation.messages):
        for number, part in enumerate(message.parts):
            made: Command | None = None
            if type(part) is ToolCall:
                made = _of_call(part, terminals.get(part.id), position, number, message.turn)
                _note_exit(part, made, open_in)
            elif type(part) is Terminal and part.call_id is None:
                made = _of_terminal(part, position, number, message.turn)
            if made is not None:
                commands.append(made)
    return commands


def _note_exit(call: ToolCall, made: Command | None, open_in: dict[str, Command]) -> None:
    """Give the exit code of a call that reads a shell to the command that the shell ran."""
    key = key_of(call)
    shell = shell_of(call) if key in SHELLS else None
    if shell is None:
        return
    if made is not None:
        if made.exit_code is None:
            open_in[shell] = made
        else:
            open_in.pop(shell, None)
    elif key in SHELL_READERS and (code := exit_code_of(call)) is not None and shell in open_in:
        open_in.pop(shell).exit_code = code


def _of_call(call: ToolCall, terminal: Terminal | None, position: int, number: int, turn: int | None) -> Command | None:
    if terminal is None and key_of(call) not in _STARTERS:
        return None
    requested = _in_arguments(call.arguments)
    if terminal is None:
        if not requested.command:
            return None
        made = Command(position, number, turn, requested.command)
    else:
        made = _of_terminal(terminal, position, number, turn)
        if made.requested is None and requested.command and requested.command != made.command:
            made.requested = requested.command
    made.directory = made.directory or requested.directory
    made.call = call
    made.exit_code = exit_code_of(call)
    return made


def _of_terminal(terminal: Terminal, position: int, number: int, turn: int | None) -> Command:
    edited_by: Literal["user", "tool"] | None = None
    if terminal.original is not None and terminal.original != terminal.command:
        edited_by = "user" if terminal.edited_by_user is not None else "tool"
    return Command(
        position,
        number,
        turn,
        terminal.command,
        requested=terminal.original if edited_by is not None else None,
        edited_by=edited_by,
        directory=terminal.cwd,
        language=terminal.language,
        exit_code=exit_code_of(terminal),
        terminal=terminal,
    )


def _in_arguments(arguments: str | None) -> _Requested:
    try:
        given: Any = msgspec.json.decode(arguments or "{}")
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _Requested(None, None)
    if not isinstance(given, dict):
        return _Requested(None, None)
    command = given.get("command")
    folder = next((given[name] for name in _FOLDERS if isinstance(given.get(name), str)), None)
    return _Requested(command if isinstance(command, str) else None, folder)
