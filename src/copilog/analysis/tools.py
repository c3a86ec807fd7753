"""Tools: how often they were called, how that went, who allowed it, how long it took, and in which order."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from operator import itemgetter
from typing import Any

from copilog.analysis.figures import ProgramRow, ServerRow, ToolRow, ToolsSection
from copilog.analysis.numbers import percentile
from copilog.analysis.selection import Chosen
from copilog.analysis.sequences import CHOSEN_CALLS, COMMAND_ERROR, ENDED, FAILED, CallOrder, call_order
from copilog.store.texts import UNNAMED

AUTOMATIC = ("setting", "granted", "not-needed")


def tools(chosen: Chosen, *, limit: int | None = 20) -> ToolsSection:
    """Tools, the MCP servers they come from, programs run in terminals, and sequences that recur."""
    order = call_order(chosen, limit=limit)
    rows = _tool_rows(chosen, order)
    automatic, by_user, denied = (
        sum(getattr(row, name) for row in rows) for name in ("automatic", "by_user", "denied")
    )
    calls = sum(row.calls for row in rows)
    return ToolsSection(
        calls=calls,
        failed=sum(row.failed for row in rows),
        command_errors=sum(row.command_errors for row in rows),
        retries=order.retries.total(),
        automatic=automatic,
        by_user=by_user,
        denied=denied,
        unknown_confirmations=calls - automatic - by_user - denied,
        tools=rows[:limit],
        servers=_servers(chosen)[:limit],
        programs=_programs(chosen)[:limit],
        sequences=order.sequences,
    )


def _tool_rows(chosen: Chosen, order: CallOrder) -> list[ToolRow]:
    """A row for each tool, most called first."""
    found = chosen.connection.execute(
        f"""
        SELECT f.name, f.approval, f.outcome, count(*), count(*) FILTER (WHERE {FAILED}),
               count(*) FILTER (WHERE {ENDED}), count(*) FILTER (WHERE {COMMAND_ERROR}),
               coalesce(sum(f.result_bytes), 0)
        FROM {CHOSEN_CALLS} GROUP BY f.name, f.approval, f.outcome ORDER BY f.name
        """  # noqa: S608 - of our own
    )
    rows = [_tool_row(name, list(some), order) for name, some in groupby(found, itemgetter(0))]
    return sorted(rows, key=lambda row: (-row.calls, row.name))


def _tool_row(name: str, counted: list[tuple[Any, ...]], order: CallOrder) -> ToolRow:
    decided: Counter[str | None] = Counter()
    for _, approval, outcome, calls, *_ in counted:
        decided[_decided(approval, outcome)] += calls
    calls, failed, ended, command_errors, result_bytes = (sum(row[column] for row in counted) for column in range(3, 8))
    elapsed = sorted(order.times.get(name, ()))
    return ToolRow(
        name=name,
        calls=calls,
        conversations=order.conversations[name],
        failed=failed,
        failure_rate=failed / ended if ended else None,
        command_errors=command_errors,
        retries=order.retries[name],
        automatic=decided["automatic"],
        by_user=decided["user"],
        denied=decided["denied"],
        timed=len(elapsed),
        median_ms=percentile(elapsed, 0.5),
        p95_ms=percentile(elapsed, 0.95),
        total_ms=sum(elapsed) if elapsed else None,
        result_bytes=result_bytes,
    )


def _decided(approval: str | None, outcome: str | None) -> str | None:
    """Who decided about a call. A refusal outweighs whatever else was recorded.

    Nobody knows of a call that was passed over whether a person did so or the record ends before the answer.
    """
    if "denied" in (approval, outcome):
        return "denied"
    return "automatic" if approval in AUTOMATIC else "user" if approval == "user" else None


def _servers(chosen: Chosen) -> list[ServerRow]:
    rows = chosen.connection.execute(
        f"""
        SELECT coalesce(nullif(f.server, ''), '{UNNAMED}') AS server, count(DISTINCT f.name), count(*),
               count(*) FILTER (WHERE {FAILED}), count(DISTINCT f.conversation)
        FROM {CHOSEN_CALLS} WHERE f.origin = 'mcp'
        GROUP BY 1 ORDER BY count(*) DESC, 1
        """  # noqa: S608
    )
    return [
        ServerRow(name=name, tools=names, calls=calls, failed=failed, conversations=conversations)
        for name, names, calls, failed, conversations in rows
    ]


def _programs(chosen: Chosen) -> list[ProgramRow]:
    """What terminals ran; a command of several programs counts for each of them, and so does how it ended."""
    rows = chosen.connection.execute(
        f"""
        SELECT p.value, count(*), count(*) FILTER (WHERE {FAILED}), count(*) FILTER (WHERE {COMMAND_ERROR}),
               count(DISTINCT f.conversation)
        FROM {CHOSEN_CALLS} CROSS JOIN json_each(f.programs) AS p WHERE f.programs IS NOT NULL
        GROUP BY p.value ORDER BY count(*) DESC, p.value
        """  # noqa: S608
    )
    return [
        ProgramRow(name=name, calls=calls, failed=failed, command_errors=errors, conversations=conversations)
        for name, calls, failed, errors, conversations in rows
    ]
