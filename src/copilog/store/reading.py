"""Decide what a query means: text as it was typed, or the search language.

What was pasted finds itself: if a query could be both, and some message has it literally, the text is meant. Whoever
states a reading gets that one, whatever the archive has.
"""

from __future__ import annotations

import sqlite3
from datetime import tzinfo
from typing import Literal

import msgspec

from copilog.errors import UsageError
from copilog.jsonio import replace_lone_surrogates
from copilog.store.conditions import Conditions, functions_in, leaves_of
from copilog.store.indexing import has_pending
from copilog.store.plans import Plan
from copilog.store.query import And, Field, Node, Not, Or, Query, QueryError, Text, parse

Reading = Literal["text", "query"]

READINGS: tuple[Reading, ...] = ("text", "query")
LONGEST_SPELLED = 300  # characters of the other reading in a note
LONGEST_TEXT = 10_000  # characters that are compared with messages


class Meant(msgspec.Struct, frozen=True, kw_only=True):
    """A query with its reading. `ahead`: hits that have this come first."""

    query: Query
    reading: Reading = "query"
    ahead: Text | None = None
    may_widen: bool = False
    note: str | None = None

    def with_root(self, root: Node) -> Meant:
        return msgspec.structs.replace(self, query=msgspec.structs.replace(self.query, root=root))


def meaning_of(
    connection: sqlite3.Connection, text: str, reading: Reading | None = None, zone: tzinfo | None = None
) -> Meant:
    """Return what a query means. Raise QueryError if it does not parse, and is not found as text either."""
    if reading not in (None, *READINGS):
        raise UsageError(f"a reading is one of {', '.join(READINGS)}, not {reading}")
    typed = replace_lone_surrogates(text).replace("\0", " ").strip()
    as_text = Text("substring", typed)
    whole = Text("substring", typed, is_whole=True)
    if reading == "text" and typed:
        return Meant(query=Query(text, as_text), reading="text", ahead=whole)
    try:
        query = parse(text, zone=zone)
    except QueryError:
        if reading is None and typed and _occurs(connection, whole, None):
            return Meant(query=Query(text, as_text), reading="text", ahead=whole, note=_note(None))
        raise
    note = None
    if reading is None and _may_be_text(query, typed):
        if _occurs(connection, whole, query.root):
            return Meant(query=Query(text, as_text), reading="text", ahead=whole, note=_note(query.root))
        if _refuses(query.root):
            note = f"no message has the text as it was typed; as a query it is: {spelled(query.root)[:LONGEST_SPELLED]}"
    return Meant(query=query, ahead=_ahead(query, typed), may_widen=reading is None, note=note)


def _may_be_text(query: Query, typed: str) -> bool:
    """Return whether a query could also be text that means something else."""
    if query.is_explicit:
        return False
    if isinstance(query.root, Text):
        return query.root.kind == "regex" or typed.startswith("+")
    return not _is_plain(query)


def _is_plain(query: Query) -> bool:
    """Return whether a query only lists words and pieces of text: as text it means the same, but in this order."""
    return [leaf.value for leaf in query.loose] == list(dict.fromkeys(query.text.split()))


def _ahead(query: Query, typed: str) -> Text | None:
    """Return the words of a query in their order, or the text as it was typed if some are more than words."""
    if len(query.loose) > 1 and all(leaf.kind == "words" and not leaf.is_prefix for leaf in query.loose):
        return Text("words", " ".join(leaf.value for leaf in query.loose))
    leaves = list(leaves_of(query.root))
    if any(isinstance(leaf, Field) or leaf.column for leaf in leaves):
        return None
    if isinstance(query.root, Text) and query.root.kind != "substring":
        return None
    return None if len(typed) > LONGEST_TEXT else Text("substring", typed, is_whole=True)


def _occurs(connection: sqlite3.Connection, whole: Text, root: Node | None) -> bool:
    """Return whether some message has a text. Texts are read one by one only if the query's other reading does so."""
    if len(whole.value) > LONGEST_TEXT:
        return False
    conditions = Conditions(connection, can_look_up=not has_pending(connection))
    with functions_in(connection):
        if conditions.match(whole) is None:
            if root is not None and conditions.match(root) is not None:
                return False
            whole = Text("substring", whole.value)
        return Plan(whole, conditions).has_any(connection)


# --- the other reading, in words ------------------------------------------------------------------------------------


def _note(root: Node | None) -> str:
    said = "these have the text as it was typed"
    if root is None:
        return f"{said}; it is not a valid query"
    other = spelled(root)
    if len(other) > LONGEST_SPELLED:
        return f"{said}; as a query it would mean something else (reading: query)"
    return f"{said}; as a query it would be: {other}" + ("" if _refuses(root) else " (reading: query)")


def _refuses(root: Node) -> bool:
    """Return whether a query has a NOT, which in capitals cannot be taken for text."""
    return any(isinstance(item, Not) for item in (root.items if isinstance(root, And) else (root,)))


def spelled(node: Node) -> str:
    """Return a condition in the search language, with NOT for what is refused."""
    if isinstance(node, Not):
        return f"NOT {_grouped(node.item)}"
    if isinstance(node, And):
        return " ".join(map(_grouped, node.items))
    if isinstance(node, Or):
        return " OR ".join(map(_grouped, node.items))
    if isinstance(node, Field):
        return f'{node.name}:"{node.value}"'
    return _spelled_text(node)


def _grouped(node: Node) -> str:
    return f"({spelled(node)})" if isinstance(node, And | Or) else spelled(node)


def _spelled_text(node: Text) -> str:
    column = f"{node.column}:" if node.column else ""
    if node.kind == "regex":
        return f"{column}/{node.value.replace('/', chr(92) + '/')}/"
    if node.kind == "substring":
        return column + "'" + node.value.replace("'", "''") + "'"
    value = node.value if node.value.isalnum() else '"' + node.value.replace('"', '""') + '"'
    return column + value + ("*" if node.is_prefix else "")


def required_of(query: Query) -> list[Node]:
    """Return the conditions that hold however far a search is widened."""
    return [node for node in _items(query.root) if node not in query.loose]


def _items(node: Node) -> list[Node]:
    return [each for item in node.items for each in _items(item)] if isinstance(node, And) else [node]


def texts_in(root: Node) -> list[Text]:
    """Return the texts that a query searches for."""
    return [leaf for leaf in leaves_of(root, only_wanted=True) if isinstance(leaf, Text)]
