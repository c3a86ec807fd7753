"""Find what failed first and succeeded later: two attempts of the same sort, by what is recorded of how they ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from copilog.derive.call_paths import paths_in_arguments
from copilog.derive.commands import Command
from copilog.derive.outcomes import outcome_of
from copilog.derive.tool_names import SHELLS, key_of
from copilog.digest.command_kinds import Sort, ends_as_program, sort_of
from copilog.digest.content import Attempt, Pitfall
from copilog.digest.recorded_texts import number_of
from copilog.model import Conversation, ToolCall


class _Ended(NamedTuple):
    """An attempt whose end is known."""

    sort: Sort
    attempt: Attempt
    has_failed: bool


def pitfalls_of(conversation: Conversation, commands: list[Command]) -> list[Pitfall]:
    """Return each failure with the next success of its sort, in the order of the successes."""
    failed: dict[Sort, list[Attempt]] = {}
    found: list[Pitfall] = []
    for ended in _attempts(conversation, commands):
        if ended.has_failed:
            failed.setdefault(ended.sort, []).append(ended.attempt)
        elif ended.sort in failed:
            failures = failed.pop(ended.sort)
            found.append(Pitfall(failures[-1], ended.attempt, len(failures)))
    return found


def _attempts(conversation: Conversation, commands: list[Command]) -> Iterator[_Ended]:
    """Yield commands and calls in their order; those of a shell are its commands."""
    by_place = {(command.message, command.part): command for command in commands}
    for position, message in enumerate(conversation.messages):
        for number, part in enumerate(message.parts):
            command = by_place.get((position, number))
            ended: _Ended | None = None
            if command is not None:
                ended = _of_command(command)
            elif type(part) is ToolCall and key_of(part) not in SHELLS:
                ended = _of_call(part, message.turn)
            if ended is not None:
                yield ended


def _of_command(command: Command) -> _Ended | None:
    sort = sort_of(command.command)
    if sort is None or command.exit_code is None or not ends_as_program(command.command):
        return None
    attempt = Attempt(command.command, True, number_of(command.turn), command.exit_code, command.directory)
    return _Ended(sort, attempt, command.exit_code != 0)


def _of_call(call: ToolCall, turn: int | None) -> _Ended | None:
    """Return a call that names a file. Without one, two calls of a tool need not attempt the same."""
    outcome = outcome_of(call).kind
    paths = paths_in_arguments(call.arguments)
    if outcome not in ("failed", "succeeded") or not paths:
        return None
    name = PurePosixPath(paths[0].replace("\\", "/")).name or paths[0]
    attempt = Attempt(f"{call.name} {name}", False, number_of(turn))
    return _Ended(Sort(key_of(call), paths[0]), attempt, outcome == "failed")
