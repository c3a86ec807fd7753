"""Which conversations are behind a number: those with such a vote, an error, an end, an hour of the day.

The search knows many things that conversations have. This answers for what it does not know, from the same tables and
by the same rules as the figures themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from copilog.analysis.activity import WEEKDAYS
from copilog.analysis.edits import COUNTED_EDITS
from copilog.analysis.figures import Figures
from copilog.analysis.selection import NO_TURN, Chosen
from copilog.analysis.sequences import CHOSEN_CALLS
from copilog.errors import UsageError
from copilog.store.texts import UNNAMED

FATES = ("kept", "undone", "changed", "pending", "undecided")
STATUSES = {"completed": "complete", "cancelled": "cancelled", "failed": "failed"}


class BehindRow(Figures, kw_only=True):
    """A conversation, and what of it counts."""

    id: str
    title: str
    workspace: str | None
    at: str | None  # when it was last touched
    times: int  # turns, calls or edits, whatever was counted
    turn: int | None  # the first of them, where that is known


def conversations_behind(chosen: Chosen, what: str, value: str) -> list[BehindRow]:
    """The conversations that a number counts, those with most of it first. UsageError for what nobody counts."""
    find = KINDS.get(what)
    if find is None:
        raise UsageError(f"no number counts {what!r}; there are {', '.join(KINDS)}")
    times: dict[int, int] = {}
    first: dict[int, int | None] = {}
    for conversation, turn, count in find(chosen, value):
        times[conversation] = times.get(conversation, 0) + count
        known = [number for number in (first.get(conversation), turn) if number is not None and number != NO_TURN]
        first[conversation] = min(known, default=None)
    rows = [
        BehindRow(id=id_, title=title, workspace=workspace, at=at, times=times[number], turn=first[number])
        for number, id_, title, workspace, at in chosen.connection.execute(
            "SELECT conversation, id, title, workspace, at FROM temp.chosen"
        )
        if number in times
    ]
    # By what came last, then by number: sorting keeps the order of equals.
    rows.sort(key=lambda row: row.at or "", reverse=True)
    return sorted(rows, key=lambda row: -row.times)


Found = Iterable[tuple[int, int | None, int]]  # conversation, turn, how many


def _turns(chosen: Chosen, condition: str, *parameters: Any) -> Found:
    return chosen.connection.execute(
        f"""
        SELECT c.conversation, c.turn, 1
        FROM temp.chosen_turn AS c JOIN turn AS t ON t.conversation = c.conversation AND t.position = c.turn
        WHERE {condition}
        """,  # noqa: S608 - of our own; values are parameters
        parameters,
    )


def _calls(chosen: Chosen, condition: str, *parameters: Any) -> Found:
    return chosen.connection.execute(
        f"SELECT f.conversation, f.turn, 1 FROM {CHOSEN_CALLS} WHERE {condition}",  # noqa: S608
        parameters,
    )


def _one_of(value: str, known: Iterable[str]) -> str:
    names = list(known)
    if value not in names:
        raise UsageError(f"{value!r} is none of {', '.join(names)}")
    return value


# --- turns ----------------------------------------------------------------------------------------------------------


def _votes(chosen: Chosen, value: str) -> Found:
    sign = "> 0" if _one_of(value, ("up", "down")) == "up" else "< 0"
    return _turns(chosen, f"t.vote {sign}")


def _vote_reasons(chosen: Chosen, value: str) -> Found:
    return _with_text(chosen, "t.vote_reason", "t.vote IS NOT NULL", value)


def _statuses(chosen: Chosen, value: str) -> Found:
    return _turns(chosen, "t.status = ?", STATUSES[_one_of(value, STATUSES)])


def _retries(chosen: Chosen, _: str) -> Found:
    return _turns(chosen, "t.is_retry")


def _weekdays(chosen: Chosen, value: str) -> Found:
    return _turns(chosen, "c.weekday = ?", WEEKDAYS.index(_one_of(value, WEEKDAYS)))


def _hours(chosen: Chosen, value: str) -> Found:
    return _turns(chosen, "c.hour = ?", int(_one_of(value, [f"{hour:02}" for hour in range(24)])))


def _errors(chosen: Chosen, value: str) -> Found:
    return _with_text(chosen, "coalesce(nullif(t.error_code, ''), t.error)", "t.status IS NOT 'cancelled'", value)


def _with_text(chosen: Chosen, what: str, where: str, value: str) -> Found:
    """Turns whose text has this as its first line; a long one was cut, and ends with dots."""
    rows = chosen.connection.execute(
        f"""
        SELECT c.conversation, c.turn, {what}
        FROM temp.chosen_turn AS c JOIN turn AS t ON t.conversation = c.conversation AND t.position = c.turn
        WHERE {where} AND {what} <> ''
        """  # noqa: S608
    )
    for conversation, turn, text in rows:
        line = " ".join(text.strip().partition("\n")[0].split())
        if line == value or (value.endswith("…") and line.startswith(value[:-1])):
            yield conversation, turn, 1


# --- calls and edits ------------------------------------------------------------------------------------------------


def _servers(chosen: Chosen, value: str) -> Found:
    return _calls(chosen, f"f.origin = 'mcp' AND coalesce(nullif(f.server, ''), '{UNNAMED}') = ?", value)


def _failed_calls(chosen: Chosen, value: str) -> Found:
    return _calls(chosen, "f.is_error AND f.name = ?", value)


def _programs(chosen: Chosen, value: str) -> Found:
    return _calls(chosen, "EXISTS (SELECT 1 FROM json_each(f.programs) AS p WHERE p.value = ?)", value)


def _denied(chosen: Chosen, _: str) -> Found:
    return _calls(chosen, "(f.approval = 'denied' OR f.status = 'denied')")


def _fates(chosen: Chosen, value: str) -> Found:
    fate = None if _one_of(value, FATES) == "undecided" else value
    return chosen.connection.execute(
        f"SELECT conversation, NULL, count(*) FROM ({COUNTED_EDITS}) WHERE fate IS ? GROUP BY conversation",  # noqa: S608
        (fate,),
    )


KINDS: dict[str, Callable[[Chosen, str], Found]] = {
    "vote": _votes,
    "vote-reason": _vote_reasons,
    "status": _statuses,
    "retry": _retries,
    "weekday": _weekdays,
    "hour": _hours,
    "error": _errors,
    "server": _servers,
    "failed-tool": _failed_calls,
    "program": _programs,
    "denied": _denied,
    "fate": _fates,
}
