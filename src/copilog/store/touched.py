"""Make the rows of commands and of touched files."""

from __future__ import annotations

from collections.abc import Iterator

from copilog.derive.commands import commands_of
from copilog.derive.file_touches import file_touches
from copilog.model import Conversation
from copilog.store.rows import CommandRow, FileTouchRow, ToolCallRow
from copilog.store.times import time_text


def command_rows(conversation: Conversation, call_rows: list[ToolCallRow]) -> Iterator[CommandRow]:
    """Yield the rows of commands; their times, approval and outcome are those of the rows of their calls."""
    calls = {(row.message, row.position): row for row in call_rows}
    for position, made in enumerate(commands_of(conversation)):
        call, terminal = calls.get((made.message, made.part)), made.terminal
        started_at = call.started_at if call is not None else None
        if started_at is None and terminal is not None:
            started_at = time_text(terminal.started_at)
        yield CommandRow(
            position=position,
            message=made.message,
            turn=made.turn,
            call_id=call.call_id if call is not None else None,
            tool=call.name if call is not None else None,
            origin=call.origin if call is not None else None,
            command=made.command,
            requested=made.requested,
            edited_by=made.edited_by,
            directory=made.directory,
            language=made.language,
            started_at=started_at,
            elapsed_ms=call.elapsed_ms if call is not None else terminal.elapsed_ms if terminal is not None else None,
            exit_code=_small(made.exit_code),
            outcome=call.outcome if call is not None else None,
            approval=call.approval if call is not None else None,
            approval_detail=call.approval_detail if call is not None else None,
        )


def touch_rows(conversation: Conversation) -> Iterator[FileTouchRow]:
    for position, touch in enumerate(file_touches(conversation)):
        yield FileTouchRow(position, *touch)


def _small(code: int | None) -> int | None:
    return code if code is not None and abs(code) < 1 << 63 else None
