"""List the commands that conversations ran in a shell."""

from __future__ import annotations

import msgspec

from copilog.analysis.selection import NO_TURN, Chosen
from copilog.store.conditions import Sql, functions_in, has_exit_code, is_command


class CommandRun(msgspec.Struct, kw_only=True):
    """A command, as requested and as executed. `number` is that of its turn, from 1."""

    id: str
    number: int | None
    at: str | None
    command: str
    requested: str | None  # by the model, if the command was edited before it was executed
    edited_by: str | None  # user, tool
    directory: str | None
    exit_code: int | None
    elapsed_ms: float | None
    outcome: str | None  # of the call: succeeded, failed, denied, skipped, cancelled, running, unknown
    approval: str | None  # denied, not-needed, setting, granted, user, skipped, unknown
    approval_detail: str | None
    origin: str | None  # user: typed by the user
    tool: str | None
    language: str | None
    workspace: str | None
    title: str | None


def command_runs(chosen: Chosen, *, text: str | None = None, exit_code: str | None = None) -> list[CommandRun]:
    """Return the commands of the chosen turns, newest conversation first, each conversation's in their order.

    `text` and `exit_code` are as in a query, after `command:` and `exit:`.
    """
    conditions = [
        *([is_command(text)] if text is not None and text.strip() else []),
        *([has_exit_code(exit_code)] if exit_code is not None and exit_code.strip() else []),
    ] or [Sql("TRUE")]
    sql = f"""
        SELECT k.id, r.turn + 1, coalesce(r.started_at, c.at), r.command, r.requested, r.edited_by, r.directory,
               r.exit_code, r.elapsed_ms, r.outcome, r.approval, r.approval_detail, r.origin, r.tool, r.language,
               k.workspace, k.title
        FROM temp.chosen AS k CROSS JOIN command AS r ON r.conversation = k.conversation
        CROSS JOIN temp.chosen_turn AS c ON c.conversation = r.conversation AND c.turn = coalesce(r.turn, {NO_TURN})
        WHERE {" AND ".join(condition.text for condition in conditions)}
        ORDER BY k.at DESC, k.conversation DESC, r.position
    """  # noqa: S608 - names of our own
    parameters = [value for condition in conditions for value in condition.parameters]
    with functions_in(chosen.connection):
        rows = chosen.connection.execute(sql, parameters).fetchall()
    return [CommandRun(**dict(zip(CommandRun.__struct_fields__, row, strict=True))) for row in rows]
