"""Count the conversations for each value of each filter.

The numbers of a facet respect all other filters: a user who has chosen a model still sees how many conversations the
other models would select. So the filters that each conversation fails are recorded: those that fail none count
everywhere, those that fail one filter count for its facet. One pass groups them by the values of their rows, and the
resulting few hundred kinds are counted here. Counting tools reads every call, so that is a function of its own.
"""

# ruff: noqa: S608 - only internal names; user input goes into parameters

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import msgspec

from copilog.store.schema import is_counted
from copilog.store.selection import FLAGS, NAME_FIELDS, TOUCHED, Selected, decode_names, exactly, matcher

# Columns of the conversation's row with names: one name, or a JSON list.
IN_ROWS = {"workspace": "workspace", "model": "models", "mode": "modes", "agent": "agents", "skill": "skills"}
COUNTED_FLAGS = ("starred", "error", "edit")


class Value(NamedTuple):
    """One value of a facet."""

    name: str
    conversations: int  # conversations that would be selected with it
    is_chosen: bool


class Facet(msgspec.Struct, kw_only=True):
    """The values of one filter: the chosen ones first, then the most frequent."""

    name: str  # name of the filter; each value of "is" is a filter of its own
    values: list[Value]


class Facets(msgspec.Struct, kw_only=True):
    """Everything that one pass can count."""

    total: int  # all conversations
    matching: int  # conversations that pass all filters
    facets: list[Facet]
    without: dict[str, int]  # for each set filter: how many more conversations would pass without it


class _Kind(NamedTuple):
    """Conversations whose rows have equal values."""

    workspace: str | None
    model: str  # JSON lists
    mode: str
    agent: str
    skill: str
    starred: int
    error: int
    edit: int
    failed: int  # a bit for each filter
    conversations: int


def facets_of(selected: Selected) -> Facets:
    """Count the conversations for each name and each other choice."""
    source = _source_of(selected)
    kinds = _kinds(selected, source)
    bits = _bits(selected)
    matching = sum(kind.conversations for kind in kinds if not kind.failed)
    facets = [_facet(selected, name, _names_in_rows(kinds, name, bits.get(name, 0)), matching) for name in IN_ROWS]
    facets.append(_facet(selected, "source", _sources(selected, source), matching))
    facets.append(_facet(selected, "label", _labels(selected, source), matching))
    facets.append(_flags(selected, kinds))
    facets.append(_months(selected, source))
    (total,) = selected.connection.execute(f"SELECT count(*) FROM conversation AS c WHERE {selected.base}").fetchone()
    return Facets(
        total=total,
        matching=matching,
        facets=facets,
        without={name: sum(kind.conversations for kind in kinds if kind.failed == bit) for name, bit in bits.items()},
    )


def tools_of(selected: Selected) -> Facet:
    """Count the conversations that called each tool."""
    if not selected.conditions:  # an empty conversation calls no tool
        rows = selected.connection.execute(
            f"SELECT name, count(DISTINCT conversation) FROM tool_call AS t WHERE {is_counted('t')} GROUP BY 1"
        )
    else:
        _source_of(selected)
        rows = selected.connection.execute(
            "SELECT t.name, count(DISTINCT t.conversation) FROM temp.narrowed AS n"
            " CROSS JOIN tool_call AS t ON t.conversation = n.number"
            f" WHERE n.failed IN (0, ?) AND {is_counted('t')} GROUP BY 1",
            (_bits(selected).get("tool", 0),),
        )
    counts = dict(rows.fetchall())
    matching = 0
    if selected.selection.tool is not None:
        (matching,) = selected.connection.execute("SELECT count(*) FROM temp.narrowed WHERE failed = 0").fetchone()
    return _facet(selected, "tool", counts, matching)


# --- one pass -------------------------------------------------------------------------------------------------------


def _bits(selected: Selected) -> dict[str, int]:
    return {condition.name: 1 << place for place, condition in enumerate(selected.conditions)}


def _source_of(selected: Selected) -> str:
    """Return the FROM clause: conversations `c` with the filters they fail, `n.failed`, if that is one at most.

    With filters it is a temporary table, so that each filter is evaluated once for a conversation.
    """
    if not selected.conditions:
        return f"(SELECT 0 AS failed) AS n CROSS JOIN conversation AS c ON {selected.base}"
    failed = " | ".join(
        f"((({condition.sql}) IS NOT TRUE) << {place})" for place, condition in enumerate(selected.conditions)
    )
    selected.connection.execute("DROP TABLE IF EXISTS temp.narrowed")
    selected.connection.execute(
        "CREATE TEMP TABLE narrowed AS SELECT number, failed FROM"
        f" (SELECT c.rowid AS number, {failed} AS failed FROM conversation AS c WHERE {selected.base})"
        " WHERE failed & (failed - 1) = 0",
        [value for condition in selected.conditions for value in condition.parameters],
    )
    return "temp.narrowed AS n CROSS JOIN conversation AS c ON c.rowid = n.number"


def _kinds(selected: Selected, source: str) -> list[_Kind]:
    columns = [f"c.{column}" for column in IN_ROWS.values()]
    columns += [*(f"({FLAGS[name].sql})" for name in COUNTED_FLAGS), "n.failed"]
    places = ", ".join(str(number) for number in range(1, len(columns) + 1))
    rows = selected.connection.execute(f"SELECT {', '.join(columns)}, count(*) FROM {source} GROUP BY {places}")
    return [_Kind(*row) for row in rows]


def _names_in_rows(kinds: list[_Kind], name: str, own: int) -> dict[str, int]:
    """Count names in the rows of conversations that pass all filters except this one."""
    spelled: dict[str, Counter[str]] = {}
    counts: Counter[str] = Counter()
    key, nameless = NAME_FIELDS[name].key, NAME_FIELDS[name].nameless
    for kind in kinds:
        if kind.failed & ~own:
            continue
        value = getattr(kind, name)
        names = ([value] if value else []) if name == "workspace" else decode_names(value)
        keys = {key(one): one for one in reversed(names) if key(one)}
        for one, spelling in keys.items():
            spelled.setdefault(one, Counter())[spelling] += kind.conversations
            counts[one] += kind.conversations
        if not keys and nameless is not None:
            counts[nameless] += kind.conversations
    return {_spelling(spelled.get(one), one): count for one, count in counts.items()}


def _spelling(spellings: Counter[str] | None, key: str) -> str:
    """Return the shortest spelling, and of several the most frequent."""
    return min(spellings, key=lambda name: (len(name), -spellings[name], name)) if spellings else key


def _sources(selected: Selected, source: str) -> dict[str, int]:
    """Count the conversations with a trace of each format."""
    traces = "SELECT conversation, source FROM trace UNION SELECT rowid, source FROM conversation"
    rows = selected.connection.execute(
        f"SELECT t.source, count(*) FROM {source} JOIN ({traces}) AS t ON t.conversation = c.rowid"
        " WHERE n.failed IN (0, ?) GROUP BY 1",
        (_bits(selected).get("source", 0),),
    )
    return dict(rows.fetchall())


def _labels(selected: Selected, source: str) -> dict[str, int]:
    own = _bits(selected).get("label", 0)
    rows = selected.connection.execute(
        f"SELECT l.label, count(*) FROM {source} JOIN label AS l ON l.id = c.id WHERE n.failed IN (0, ?) GROUP BY 1",
        (own,),
    )
    return dict(rows.fetchall())


def _flags(selected: Selected, kinds: list[_Kind]) -> Facet:
    values = []
    for name in COUNTED_FLAGS:
        own = _bits(selected).get(name, 0)
        count = sum(kind.conversations for kind in kinds if getattr(kind, name) and not kind.failed & ~own)
        values.append(Value(name, count, bool(getattr(selected.selection, name))))
    return Facet(name="is", values=values)


def _months(selected: Selected, source: str) -> Facet:
    """Count conversations by the month of their last activity, in local time; the last month first."""
    rows = selected.connection.execute(
        f"SELECT strftime('%Y-%m', {TOUCHED}, 'localtime') AS month, count(*) FROM {source} WHERE n.failed IN (0, ?)"
        " GROUP BY 1 HAVING month IS NOT NULL ORDER BY 1 DESC",
        (_bits(selected).get("month", 0),),
    )
    chosen = selected.selection.month
    return Facet(name="month", values=[Value(month, count, month == chosen) for month, count in rows])


def _facet(selected: Selected, name: str, counts: dict[str, int], matching: int) -> Facet:
    """Return the names in order, including the chosen value, which may be only a part of some names."""
    chosen: str | None = getattr(selected.selection, name)
    is_name = chosen is not None and exactly(name, chosen.removeprefix("=")) == chosen
    is_chosen = matcher(name, chosen) if chosen is not None and is_name else None
    values = [Value(one, count, is_chosen is not None and is_chosen(one)) for one, count in counts.items()]
    if chosen is not None and not any(value.is_chosen for value in values):
        values.append(Value(chosen, matching, True))
    values.sort(key=lambda value: (not value.is_chosen, -value.conversations, value.name.casefold(), value.name))
    return Facet(name=name, values=values)
