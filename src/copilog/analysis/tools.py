"""Measure tools: how often they were called, how calls ended, who allowed them, how long they took, and their order."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from copilog.analysis.facts import CHOSEN_CALLS, DISTINCT, KNOWN_SUM, MEAN, MEDIAN, P95, Amount, SqlTable, WalkedTable
from copilog.analysis.figures import ProgramRow, ServerRow, ToolRow, ToolsSection
from copilog.analysis.numbers import percentile
from copilog.analysis.selection import Chosen
from copilog.analysis.sequences import (
    COMMAND_ERROR,
    FAILED,
    HAS_FAILED,
    CallOrder,
    call_order,
    calls_in_order,
)
from copilog.store.schema import UNNAMED

_DENIED = "(f.approval IS 'denied' OR f.outcome IS 'denied')"
_AUTOMATIC = "ifnull(f.approval IN ('setting', 'granted', 'not-needed'), 0)"
_BY_USER = "f.approval IS 'user'"
CALLS = {"calls": Amount("1", "Calls")}
ENDS = {
    "failed": Amount(FAILED, "Failed calls"),
    "command_errors": Amount(
        COMMAND_ERROR, "Calls whose command ended with an error", head="Commands with an error", is_optional=True
    ),
}
# Who decided about a call. A denial outweighs other records. A skipped call may have been skipped by the user, or the
# record ends before the answer.
DECISIONS = {
    "automatic": Amount(f"NOT {_DENIED} AND {_AUTOMATIC}", "Calls that needed no confirmation", is_optional=True),
    "by_user": Amount(
        f"NOT {_DENIED} AND {_BY_USER}", "Calls that the user confirmed", head="By the user", is_optional=True
    ),
    "denied": Amount(_DENIED, "Calls that were denied", is_optional=True),
}
UNKNOWN = Amount(f"NOT ({_DENIED} OR {_AUTOMATIC} OR {_BY_USER})", "Calls without a recorded confirmation")
CONVERSATIONS = {"conversations": Amount("f.conversation", "Conversations with calls", DISTINCT)}

ALL_CALLS = SqlTable(
    name="tools", amounts=CALLS | ENDS | DECISIONS | {"unknown_confirmations": UNKNOWN}, source=CHOSEN_CALLS
)
TOOLS = SqlTable(
    name="tools.tools",
    amounts=CALLS
    | ENDS
    | DECISIONS
    | {
        "failure_rate": Amount(HAS_FAILED, "Calls that are known to have succeeded or failed", MEAN, "share"),
        "result_bytes": Amount("f.result_bytes", "Results of calls", unit="bytes", head="Results", is_optional=True),
    },
    keys=("name",),
    by=("f.name",),
    of=" of {}",
    source=CHOSEN_CALLS,
)
SERVERS = SqlTable(
    name="tools.servers",
    amounts=CALLS
    | {"failed": ENDS["failed"], "tools": Amount("f.name", "Tools that were called", DISTINCT)}
    | CONVERSATIONS,
    keys=("name",),
    by=(f"coalesce(nullif(f.server, ''), '{UNNAMED}')",),
    of=" of the MCP server {}",
    source=CHOSEN_CALLS,
    where="f.origin = 'mcp'",
)
# Programs in terminals; a command of several programs counts for each of them, and so does its outcome.
PROGRAMS = SqlTable(
    name="tools.programs",
    amounts=CALLS
    | {"failed": ENDS["failed"]}
    | {"command_errors": ENDS["command_errors"]._replace(head="With an error", is_optional=False)}
    | CONVERSATIONS,
    keys=("name",),
    by=("p.value",),
    of=" of {} in a terminal",
    source=f"{CHOSEN_CALLS} CROSS JOIN json_each(f.programs) AS p",
    where="f.programs IS NOT NULL",
)

# --- order of calls ------------------------------------------------------------------------------------------------

RETRIES = {"retries": Amount(lambda call: call.is_retry, "Calls that tried again after a failure", is_optional=True)}
ALL_IN_ORDER = WalkedTable(name="tools", amounts=RETRIES, walk=calls_in_order)
IN_ORDER = WalkedTable(
    name="tools.tools",
    amounts=RETRIES
    | {
        "conversations": Amount(attrgetter("conversation"), "Conversations with calls", DISTINCT),
        "timed": Amount(lambda call: call.elapsed_ms is not None, "Calls whose time is known", is_optional=True),
        "median_ms": Amount(attrgetter("elapsed_ms"), "Median time of calls", MEDIAN, "ms", "Median", True),
        "p95_ms": Amount(attrgetter("elapsed_ms"), "95th percentile of the time of calls", P95, "ms", "95 %", True),
        "total_ms": Amount(attrgetter("elapsed_ms"), "Time of calls", KNOWN_SUM, "ms", "In total", True),
    },
    keys=("name",),
    of=" of {}",
    walk=calls_in_order,
    key=lambda call: (call.name,),
)


def tools(chosen: Chosen, *, limit: int | None = 20) -> ToolsSection:
    """Return tools, the MCP servers they come from, programs run in terminals, and sequences that recur."""
    order = call_order(chosen, limit=limit)
    rows = [ToolRow(**row, **_order_figures(row["name"], order)) for row in TOOLS.sums(chosen)]
    rows.sort(key=lambda row: (-row.calls, row.name))
    sums = {name: sum(getattr(row, name) for row in rows) for name in (*CALLS, *ENDS, *DECISIONS)}
    return ToolsSection(
        **sums,
        retries=order.retries.total(),
        unknown_confirmations=sums["calls"] - sum(sums[name] for name in DECISIONS),
        tools=rows[:limit],
        servers=[ServerRow(**row) for row in SERVERS.sums(chosen, order="calls DESC, 1", limit=limit)],
        programs=[ProgramRow(**row) for row in PROGRAMS.sums(chosen, order="calls DESC, 1", limit=limit)],
        sequences=order.sequences,
    )


def _order_figures(name: str, order: CallOrder) -> dict[str, Any]:
    elapsed = sorted(order.times.get(name, ()))
    return {
        "conversations": order.conversations[name],
        "retries": order.retries[name],
        "timed": len(elapsed),
        "median_ms": percentile(elapsed, 0.5),
        "p95_ms": percentile(elapsed, 0.95),
        "total_ms": sum(elapsed) if elapsed else None,
    }
