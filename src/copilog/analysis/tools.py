"""Tools: how often they were called, how that went, who allowed it, how long it took, and in which order."""

from __future__ import annotations

from copilog.analysis.figures import ProgramRow, ServerRow, ToolRow, ToolsSection
from copilog.analysis.numbers import percentile
from copilog.analysis.selection import Chosen
from copilog.analysis.sequences import CHOSEN_CALLS, call_order
from copilog.store.texts import UNNAMED

# Who decided about a call. A refusal outweighs whatever else was recorded. Nobody knows of a call that was passed over
# whether a person did so or the record ends before the answer.
CONFIRMATION = """
    CASE WHEN f.approval = 'denied' OR f.status = 'denied' THEN 'denied'
         WHEN f.approval IN ('setting', 'granted', 'not-needed') THEN 'automatic'
         WHEN f.approval = 'user' THEN 'user' END
"""


def tools(chosen: Chosen, *, limit: int | None = 20) -> ToolsSection:
    """Tools, the MCP servers they come from, programs run in terminals, and sequences that recur."""
    order = call_order(chosen, limit=limit)
    rows = _tool_rows(chosen)
    for row in rows:
        row.retries = order.retries[row.name]
    automatic, by_user, denied = (
        sum(getattr(row, name) for row in rows) for name in ("automatic", "by_user", "denied")
    )
    calls = sum(row.calls for row in rows)
    return ToolsSection(
        calls=calls,
        failed=sum(row.failed for row in rows),
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


def _tool_rows(chosen: Chosen) -> list[ToolRow]:
    """A row for each tool, most called first, without its retries."""
    times = _times(chosen)
    found = chosen.connection.execute(
        f"""
        SELECT name, count(*), count(DISTINCT conversation), count(CASE WHEN is_error THEN 1 END), count(is_error),
               count(CASE WHEN decided = 'automatic' THEN 1 END), count(CASE WHEN decided = 'user' THEN 1 END),
               count(CASE WHEN decided = 'denied' THEN 1 END), coalesce(sum(result_bytes), 0)
        FROM (
            SELECT f.name, f.conversation, f.is_error, {CONFIRMATION} AS decided, f.result_bytes FROM {CHOSEN_CALLS}
        )
        GROUP BY name ORDER BY count(*) DESC, name
        """  # noqa: S608 - of our own
    )
    rows: list[ToolRow] = []
    for name, calls, conversations, failed, ended, automatic, by_user, denied, result_bytes in found:
        elapsed = times.get(name, [])
        row = ToolRow(
            name=name,
            calls=calls,
            conversations=conversations,
            failed=failed,
            failure_rate=failed / ended if ended else None,
            retries=0,
            automatic=automatic,
            by_user=by_user,
            denied=denied,
            timed=len(elapsed),
            median_ms=percentile(elapsed, 0.5),
            p95_ms=percentile(elapsed, 0.95),
            total_ms=sum(elapsed) if elapsed else None,
            result_bytes=result_bytes,
        )
        rows.append(row)
    return rows


def _times(chosen: Chosen) -> dict[str, list[float]]:
    """How long the calls of each tool took, the shortest first."""
    times: dict[str, list[float]] = {}
    rows = chosen.connection.execute(
        f"SELECT f.name, f.elapsed_ms FROM {CHOSEN_CALLS} WHERE f.elapsed_ms IS NOT NULL"  # noqa: S608
    )
    for name, elapsed_ms in rows:
        times.setdefault(name, []).append(elapsed_ms)
    for elapsed in times.values():
        elapsed.sort()
    return times


def _servers(chosen: Chosen) -> list[ServerRow]:
    rows = chosen.connection.execute(
        f"""
        SELECT coalesce(nullif(f.server, ''), '{UNNAMED}') AS server, count(DISTINCT f.name), count(*),
               count(CASE WHEN f.is_error THEN 1 END), count(DISTINCT f.conversation)
        FROM {CHOSEN_CALLS} WHERE f.origin = 'mcp'
        GROUP BY 1 ORDER BY count(*) DESC, 1
        """  # noqa: S608
    )
    return [
        ServerRow(name=name, tools=names, calls=calls, failed=failed, conversations=conversations)
        for name, names, calls, failed, conversations in rows
    ]


def _programs(chosen: Chosen) -> list[ProgramRow]:
    """What terminals ran; a command of several programs counts for each of them, and so does its failing."""
    rows = chosen.connection.execute(
        f"""
        SELECT p.value, count(*), count(CASE WHEN f.is_error OR f.exit_code <> 0 THEN 1 END),
               count(DISTINCT f.conversation)
        FROM {CHOSEN_CALLS} CROSS JOIN json_each(f.programs) AS p WHERE f.programs IS NOT NULL
        GROUP BY p.value ORDER BY count(*) DESC, p.value
        """  # noqa: S608
    )
    return [
        ProgramRow(name=name, calls=calls, failed=failed, conversations=conversations)
        for name, calls, failed, conversations in rows
    ]
