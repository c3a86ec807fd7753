"""Find custom agents whose file was renamed: two names with the same instructions, one after the other.

The old name is the one that was last used before the new one was first used; copies that are used side by side are two
agents. All conversations of the archive count, whatever is selected, so that an agent has one name in every figure.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from itertools import pairwise

import msgspec

from copilog.store.told_tables import AGENT, SHORTEST_SHARED

Span = tuple[str, str]  # of uses: the first time, the last time


def current_name(name: str) -> str:
    """Return SQL for the present name of the agent that a column names."""
    return f"coalesce((SELECT r.new_name FROM temp.renamed AS r WHERE r.old_name = {name}), {name})"  # noqa: S608


def renames(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the present names by the earlier ones, in each spelling that occurs."""
    shared = _names_by_text(connection)
    if not shared:
        return {}
    spellings, spans = _uses(connection)
    found: dict[str, str] = {}
    for names in shared:
        known = sorted((name for name in names if name in spans), key=lambda name: (spans[name], name))
        found |= {before: after for before, after in pairwise(known) if spans[before][1] < spans[after][0]}
    return {spelling: spellings[_last(name, found)][0] for name in found for spelling in spellings[name]}


def earlier_names(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the earlier names of agents by the present one, without regard to its case."""
    earlier: dict[str, list[str]] = {}
    for old, new in connection.execute("SELECT old_name, new_name FROM temp.renamed ORDER BY old_name"):
        earlier.setdefault(new.casefold(), []).append(old)
    return earlier


def _names_by_text(connection: sqlite3.Connection) -> Iterable[set[str]]:
    """Return the names that share a text, for each such text. Names that differ in case are one."""
    rows = connection.execute(
        "SELECT json_group_array(name) FROM (SELECT DISTINCT digest, name FROM told_text WHERE kind = ?"
        " AND digest IN (SELECT digest FROM told_text WHERE kind = ? GROUP BY digest"
        " HAVING min(name) <> max(name) AND max(characters) >= ?)) GROUP BY digest",
        (AGENT, AGENT, SHORTEST_SHARED),
    ).fetchall()
    folded = [{name.casefold() for name in msgspec.json.decode(names)} for (names,) in rows]
    return [names for names in folded if len(names) > 1]


def _uses(connection: sqlite3.Connection) -> tuple[dict[str, list[str]], dict[str, Span]]:
    """Return the spellings of each custom agent, the most recent one first, and when it was used."""
    spellings: dict[str, list[str]] = {}
    spans: dict[str, Span] = {}
    rows = connection.execute(
        "SELECT t.custom_agent, min(coalesce(t.started_at, c.started_at, c.updated_at)) AS first,"
        " max(coalesce(t.started_at, c.updated_at, c.started_at)) AS last"
        " FROM turn AS t JOIN conversation AS c ON c.rowid = t.conversation"
        " WHERE t.custom_agent <> '' AND t.superseded IS NULL GROUP BY 1 ORDER BY last DESC, 1"
    )
    for name, first, last in rows:
        key = name.casefold()
        spellings.setdefault(key, []).append(name)
        if first is not None and last is not None:
            known = spans.get(key, (first, last))
            spans[key] = min(known[0], first), max(known[1], last)
    return spellings, spans


def _last(name: str, found: Mapping[str, str]) -> str:
    """Return the last of the names that follow from one another; each was used later than the one before."""
    while name in found:
        name = found[name]
    return name
