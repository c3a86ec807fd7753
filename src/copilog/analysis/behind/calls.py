"""Tool calls and edits behind a number."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from copilog.analysis.behind.found import Found, one_of
from copilog.analysis.edits import COUNTED_EDITS
from copilog.analysis.selection import Chosen
from copilog.analysis.sequences import CHOSEN_CALLS, COMMAND_ERROR, FAILED, HAS_FAILED, Level
from copilog.analysis.tools import AUTOMATIC
from copilog.store.texts import UNNAMED

FATES = ("kept", "undone", "changed", "pending", "undecided")

_DENIED = "'denied' IN (coalesce(f.approval, ''), coalesce(f.outcome, ''))"
_AUTOMATIC = ", ".join(f"'{approval}'" for approval in AUTOMATIC)
CONFIRMATIONS = {
    "denied": _DENIED,
    "automatic": f"NOT {_DENIED} AND f.approval IN ({_AUTOMATIC})",
    "user": f"NOT {_DENIED} AND f.approval = 'user'",
    "unknown": f"NOT {_DENIED} AND coalesce(f.approval, '') NOT IN ('user', {_AUTOMATIC})",
}
_OF_SERVER = f"f.origin = 'mcp' AND coalesce(nullif(f.server, ''), '{UNNAMED}') = ?"


def _where(chosen: Chosen, condition: str, *parameters: Any) -> Found:
    return chosen.connection.execute(
        f"SELECT f.conversation, f.turn, 1 FROM {CHOSEN_CALLS} WHERE {condition}",  # noqa: S608 - of our own
        parameters,
    )


def _of_tool(chosen: Chosen, condition: str, *tool: str) -> Found:
    """Calls of a tool, or of any."""
    return _where(chosen, f"{condition} AND f.name = ?" if tool else condition, *tool)


def all_calls(chosen: Chosen, *tool: str) -> Found:
    return _of_tool(chosen, "1", *tool)


def failed(chosen: Chosen, *tool: str) -> Found:
    return _of_tool(chosen, FAILED, *tool)


def command_errors(chosen: Chosen, *tool: str) -> Found:
    """Calls whose command ended with an error."""
    return _of_tool(chosen, COMMAND_ERROR, *tool)


def timed(chosen: Chosen, tool: str) -> Found:
    return _of_tool(chosen, "f.elapsed_ms IS NOT NULL", tool)


def confirmed(chosen: Chosen, by: str, *tool: str) -> Found:
    """Calls by who let them run. A refusal outweighs whatever else was recorded."""
    return _of_tool(chosen, CONFIRMATIONS[one_of(by, CONFIRMATIONS)], *tool)


def of_server(chosen: Chosen, name: str) -> Found:
    return _where(chosen, _OF_SERVER, name)


def failed_of_server(chosen: Chosen, name: str) -> Found:
    return _where(chosen, f"{_OF_SERVER} AND {FAILED}", name)


def of_program(chosen: Chosen, name: str) -> Found:
    return _programs(chosen, "1", name)


def failed_of_program(chosen: Chosen, name: str) -> Found:
    return _programs(chosen, FAILED, name)


def command_errors_of_program(chosen: Chosen, name: str) -> Found:
    return _programs(chosen, COMMAND_ERROR, name)


def _programs(chosen: Chosen, condition: str, name: str) -> Found:
    """A command that runs a program twice counts twice."""
    return chosen.connection.execute(
        f"SELECT f.conversation, f.turn, 1 FROM {CHOSEN_CALLS} CROSS JOIN json_each(f.programs) AS p"  # noqa: S608
        f" WHERE f.programs IS NOT NULL AND p.value = ? AND {condition}",
        (name,),
    )


# --- in which order -------------------------------------------------------------------------------------------------


def _in_order(chosen: Chosen) -> Iterator[tuple[Level, str, int | None]]:
    """Calls that belong to a turn, as they were made: where, of which tool, and whether that failed."""
    rows = chosen.connection.execute(
        f"SELECT f.conversation, f.turn, f.parent_call_id, f.name, {HAS_FAILED} FROM {CHOSEN_CALLS}"  # noqa: S608
        " WHERE f.turn IS NOT NULL ORDER BY k.conversation, f.message, f.position"
    )
    for conversation, turn, parent, name, has_failed in rows:
        yield (conversation, turn, parent), name, has_failed


def in_sequence(chosen: Chosen, *tools: str) -> Found:
    """Where these tools were called one after the other."""
    wanted = list(tools)
    last: dict[Level, deque[str]] = {}
    for level, name, _ in _in_order(chosen):
        run = last.setdefault(level, deque(maxlen=len(wanted)))
        run.append(name)
        if list(run) == wanted:
            yield level[0], level[1], 1


def retried(chosen: Chosen, *tool: str) -> Found:
    """Calls of a tool, or of any, whose last call on the same level failed."""
    failing: set[tuple[Level, str]] = set()
    for level, name, has_failed in _in_order(chosen):
        place = level, name
        if place in failing and tool in ((), (name,)):
            yield level[0], level[1], 1
        if has_failed:
            failing.add(place)
        elif has_failed == 0:
            failing.discard(place)


# --- edits ----------------------------------------------------------------------------------------------------------


def _edits_where(chosen: Chosen, condition: str, *parameters: Any) -> Found:
    return chosen.connection.execute(
        f"SELECT conversation, NULL, count(*) FROM ({COUNTED_EDITS}) WHERE {condition} GROUP BY conversation",  # noqa: S608
        parameters,
    )


def edits(chosen: Chosen) -> Found:
    return _edits_where(chosen, "1")


def with_fate(chosen: Chosen, value: str) -> Found:
    return _edits_where(chosen, "fate IS ?", None if one_of(value, FATES) == "undecided" else value)


def of_file(chosen: Chosen, path: str) -> Found:
    return _edits_where(chosen, "path = ?", path)


def undone_of_file(chosen: Chosen, path: str) -> Found:
    return _edits_where(chosen, "path = ? AND fate = 'undone'", path)


def in_language(chosen: Chosen, name: str) -> Found:
    return _edits_where(chosen, "language = ?", name)
