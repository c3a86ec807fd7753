"""Translate conditions of a query to SQL: the part that the full-text index answers, and the rest to check.

A query is tested on each message, including the row with the title. Words, text, `role:` and `in:` hold for the
message itself; `tool:`, `file:`, `command:`, `exit:`, `has:` and `is:superseded` for its turn; everything else for its
conversation. The title's row represents the conversation: what holds for any of its turns holds for it, except
superseded ones. If a query selects these, `model:`, `mode:`, `agent:` and `skill:` hold for their messages by their own
turn, too.
"""

# ruff: noqa: S608 - user input goes into parameters

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

from copilog.errors import UsageError
from copilog.patterns import has_match_within_limit
from copilog.store.query import And, Field, Node, Not, Or, Text
from copilog.store.query_fields import EMPTY, PERIOD, SUPERSEDED, Level, level_of
from copilog.store.schema import MESSAGE_BITS, TEXT_COLUMNS, is_counted
from copilog.store.selection import (
    FLAGS,
    NAME_FIELDS,
    Condition,
    as_json,
    in_period,
    named,
    names_meant,
    raise_unknown,
)
from copilog.store.substrings import NOTHING, Match, literals_of, match_for_substring, match_for_whole, match_for_words

_EXIT_CODE = re.compile(r"-?\d{1,10}")
REGEX_FLAGS = re.IGNORECASE | re.MULTILINE

# The key of a message's turn; messages without a turn share one, and so does the title.
_TURN = "m.conversation, CASE m.role WHEN 'title' THEN -2 ELSE ifnull(m.turn, -1) END"
# Names in superseded turns, which the row of the conversation leaves out.
_OF_TURN = {
    "model": "SELECT conversation, position AS turn, coalesce(resolved_model, model) AS name FROM turn",
    "mode": "SELECT conversation, position AS turn, mode AS name FROM turn"
    " UNION ALL SELECT conversation, position, custom_agent FROM turn",
    "agent": "SELECT conversation, position AS turn, agent AS name FROM turn"
    " UNION ALL SELECT conversation, position, custom_agent FROM turn"
    " UNION ALL SELECT conversation, turn, subagent FROM tool_call",
    "skill": "SELECT conversation, turn, name FROM skill WHERE is_loaded",
}
_HAS = {
    "error": "SELECT conversation, position AS turn FROM turn WHERE status = 'failed'"
    " UNION ALL SELECT conversation, turn FROM tool_call WHERE outcome = 'failed'",
    "command-error": "SELECT conversation, turn FROM tool_call WHERE exit_code <> 0",
    "edit": "SELECT conversation, turn FROM file_edit",
    "tool": "SELECT conversation, turn FROM tool_call",
    "thinking": "SELECT conversation, turn FROM message WHERE typeof(thinking) = 'text'",  # without reading the text
}


class Sql(NamedTuple):
    """An expression and its parameters."""

    text: str
    parameters: tuple[Any, ...] = ()


def levels_of(node: Node) -> set[Level]:
    """Return the levels that the query has conditions on."""
    return {"message" if isinstance(leaf, Text) else level_of(leaf.name, leaf.value) for leaf in leaves_of(node)}


def selects_superseded(node: Node) -> bool:
    """Return whether a query has a condition on superseded turns; otherwise they are left out."""
    return _selects(node, SUPERSEDED)


def selects_empty(node: Node) -> bool:
    """Return whether a query has a condition on empty conversations; otherwise they are left out."""
    return _selects(node, EMPTY)


def _selects(node: Node, fact: tuple[str, str]) -> bool:
    return any(isinstance(leaf, Field) and (leaf.name, leaf.value) == fact for leaf in leaves_of(node))


def is_counted_message(row: str) -> str:
    """Return SQL that holds if the message with number `row` is not of a superseded turn. Most turns are not."""
    return (
        f"(({row} >> {MESSAGE_BITS}) NOT IN"
        " (SELECT conversation FROM turn INDEXED BY turn_superseded WHERE superseded IS NOT NULL)"
        f" OR EXISTS (SELECT 1 FROM message AS counted WHERE counted.rowid = {row} AND {is_counted('counted')}))"
    )


def leaves_of(node: Node, *, only_wanted: bool = False) -> Iterator[Text | Field]:
    """Yield all conditions; `only_wanted` leaves out negated ones."""
    if isinstance(node, Not):
        if not only_wanted:
            yield from leaves_of(node.item)
    elif isinstance(node, And | Or):
        for item in node.items:
            yield from leaves_of(item, only_wanted=only_wanted)
    else:
        yield node


@contextmanager
def functions_in(connection: sqlite3.Connection) -> Iterator[None]:
    """Register Python functions for SQL. An exception in a function, such as Ctrl-C, is raised unchanged."""
    broken: list[BaseException] = []

    def guarded(function: Callable[[str | None, str], bool]) -> Callable[[str | None, str], bool]:
        def call(text: str | None, wanted: str) -> bool:
            try:
                return function(text, wanted)
            except BaseException as error:
                broken.append(error)
                raise

        return call

    connection.create_function("copilog_holds", 2, guarded(_holds), deterministic=True)
    connection.create_function("copilog_matches", 2, guarded(_matches), deterministic=True)
    try:
        yield
    except sqlite3.OperationalError:
        if broken:
            raise broken[0] from None
        raise


def _holds(text: str | None, lower_piece: str) -> bool:
    return text is not None and lower_piece in text.lower()


def _matches(text: str | None, pattern: str) -> bool:
    return text is not None and has_match_within_limit(compiled(pattern), text)


@lru_cache(maxsize=64)
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, REGEX_FLAGS)


class Conditions:
    """Translates conditions to SQL for one connection. `can_look_up`: the list of indexed words is up to date."""

    def __init__(self, connection: sqlite3.Connection, *, can_look_up: bool = True) -> None:
        self.connection = connection
        self.can_look_up = can_look_up
        self.known: dict[Text, Match | None] = {}
        self.is_for_superseded = False  # whether the query has a condition on superseded turns
        self._conditions: dict[Field, Condition] = {}
        self._tools: dict[str, list[str]] = {}

    # --- the full-text index ------------------------------------------------------------------------------------

    def match(self, node: Node) -> Match | None:
        """Return a full-text query that finds all rows for which the condition holds; None if the index cannot help."""
        if isinstance(node, Text):
            if node not in self.known:
                self.known[node] = self.match_of_text(node)
            return self.known[node]
        if isinstance(node, And):
            return self.match_of_all(node)
        if isinstance(node, Or):
            return self.match_of_any(node)
        return None

    def match_of_text(self, node: Text) -> Match | None:
        if node.kind == "words":
            words = match_for_words(node.value, node.column, is_prefix=node.is_prefix)
            if words is not None:
                return words
        if node.is_whole:
            return match_for_whole(node.value, node.column)
        if not self.can_look_up:
            return None
        if node.kind != "regex":
            return match_for_substring(self.connection, node.value, node.column)
        pieces = [match_for_substring(self.connection, piece, node.column) for piece in literals_of(node.value)]
        return _all_of([piece for piece in pieces if piece is not None], is_exact=False)

    def match_of_all(self, node: And) -> Match | None:
        wanted = [self.match(item) for item in node.items if not isinstance(item, Not)]
        found = [match for match in wanted if match is not None]
        refused = [self.match(item.item) for item in node.items if isinstance(item, Not)]
        sure = [match for match in refused if match is not None and match.is_exact]
        is_exact = len(found) == len(wanted) and len(sure) == len(refused)
        match = _all_of(found, is_exact=is_exact)
        for unwanted in sure:
            if match is not None and match is not NOTHING and unwanted is not NOTHING:
                match = Match(f"(({match.text}) NOT ({unwanted.text}))", match.is_exact)
        return match

    def match_of_any(self, node: Or) -> Match | None:
        matches = [self.match(item) for item in node.items]
        found = [match for match in matches if match is not None and match is not NOTHING]
        if None in matches:
            return None
        if not found:
            return NOTHING
        text = " OR ".join(f"({match.text})" for match in found)
        return Match(f"({text})", all(match.is_exact for match in found))

    # --- conditions on a row ------------------------------------------------------------------------------------

    def rest(self, node: Node, row: str) -> Sql | None:
        """Return what is left to check on a row that the condition's own match has found."""
        match = self.match(node)
        if match is None:
            return self.where(node, row)
        if match.is_exact:
            return None
        if isinstance(node, Text):
            return _in_text(node)
        if not isinstance(node, And):
            return self.where(node, row)
        parts = [self.rest(item, row) for item in node.items if not self.is_refused_by_match(item)]
        left = [part for part in parts if part is not None]
        return Sql(" AND ".join(part.text for part in left), _parameters(left)) if left else None

    def is_refused_by_match(self, item: Node) -> bool:
        match = self.match(item.item) if isinstance(item, Not) else None
        return match is not None and match.is_exact

    def where(self, node: Node, row: str) -> Sql:
        """Return the condition on a row of `message AS m`, whose number is in `row`. It is never NULL."""
        if isinstance(node, Not):
            inner = self.where(node.item, row)
            return Sql(f"NOT ({inner.text})", inner.parameters)
        if isinstance(node, And | Or):
            parts = [self.where(item, row) for item in node.items]
            word = " AND " if isinstance(node, And) else " OR "
            return Sql("(" + word.join(part.text for part in parts) + ")", _parameters(parts))
        if isinstance(node, Text):
            return self.where_text(node, row)
        level = level_of(node.name, node.value)
        if level == "message":
            return is_in_document(node.value, row) if node.name == "in" else Sql("m.role = ?", (node.value,))
        if level == "turn":
            return self.where_turn(node)
        where = self.where_conversation(node, row)
        if not self.is_for_superseded or node.name not in _OF_TURN:
            return where
        own = self.where_superseded(node)
        return Sql(f"({where.text} OR {own.text})", (*where.parameters, *own.parameters))

    def look_up_names(self, node: Node) -> None:
        """Raise UnknownName if no conversation has a name in the query."""
        for leaf in leaves_of(node):
            if isinstance(leaf, Field) and leaf.name in NAME_FIELDS:
                self.where(leaf, "m.rowid")

    def where_conversation(self, node: Field, row: str) -> Sql:
        """Return the condition that the message is of a conversation for which a fact holds."""
        if node not in self._conditions:
            self._conditions[node] = self.condition_of(node)
        condition = self._conditions[node]
        sql = f"({row} >> {MESSAGE_BITS}) IN (SELECT c.rowid FROM conversation AS c WHERE {condition.sql})"
        return Sql(sql, condition.parameters)

    def condition_of(self, node: Field) -> Condition:
        if node.name == PERIOD:
            since, until = node.value.split("/")
            return in_period(since or None, until or None)
        if node.name == "is":
            return Condition("is", "c.is_empty = 1" if node.value == "empty" else FLAGS[node.value].sql)
        return named(self.connection, node.name, node.value, may_be_unknown=self.is_for_superseded)

    def where_superseded(self, node: Field) -> Sql:
        """Return the condition that the message is of a superseded turn for which the fact holds."""
        facts = _OF_TURN[node.name]
        there = (name for (name,) in self.connection.execute(f"SELECT DISTINCT name FROM ({facts})") if name)
        meant = as_json(names_meant(node.name, node.value, there))
        keys = (
            f"SELECT f.conversation, f.turn FROM ({facts}) AS f"
            f" WHERE f.name IN (SELECT value FROM json_each(?)) AND NOT {is_counted('f')}"
        )
        return Sql(f"({_TURN}) IN ({keys})", (meant,))

    def tools_meant(self, node: Field) -> list[str]:
        if node.value not in self._tools:
            there = [name for (name,) in self.connection.execute(NAME_FIELDS["tool"].names)]
            meant = names_meant("tool", node.value, there)
            if not meant:
                raise_unknown(self.connection, "tool", node.value, there)
            self._tools[node.value] = meant
        return self._tools[node.value]

    def where_text(self, node: Text, row: str) -> Sql:
        match = self.match(node)
        if match is NOTHING:
            return Sql("0")
        parts = []
        if match is not None:
            parts.append(Sql(f"{row} IN (SELECT rowid FROM words WHERE words MATCH ?)", (match.text,)))
        if match is None or not match.is_exact:
            parts.append(_in_text(node))
        return Sql("(" + " AND ".join(part.text for part in parts) + ")", _parameters(parts))

    def where_turn(self, node: Field) -> Sql:
        if node.name == "is":
            return Sql(f"({_TURN}) IN (SELECT conversation, position FROM turn WHERE superseded IS NOT NULL)")
        if node.name == "has":
            facts = Sql(_HAS[node.value])
        elif node.name == "tool":
            names = as_json(self.tools_meant(node))
            facts = Sql(
                "SELECT conversation, turn FROM tool_call WHERE name IN (SELECT value FROM json_each(?))", (names,)
            )
        elif node.name in ("command", "exit"):
            which = is_command(node.value) if node.name == "command" else has_exit_code(node.value)
            facts = Sql(f"SELECT conversation, turn FROM command WHERE {which.text}", which.parameters)
        else:
            facts = self.files(node.value)
        # Each fact counts for its turn and for the title; the facts are looked up once.
        keys = (
            "SELECT f.conversation, CASE t.is_title WHEN 1 THEN -2 ELSE ifnull(f.turn, -1) END"
            f" FROM ({facts.text}) AS f CROSS JOIN (SELECT 0 AS is_title UNION ALL SELECT 1) AS t"
            f" WHERE t.is_title = 0 OR {is_counted('f')}"
        )
        return Sql(f"({_TURN}) IN ({keys})", facts.parameters)

    def files(self, value: str) -> Sql:
        """Return the turns that touched a file, or that name it; both slashes separate folders."""
        value = value.replace("\\", "/")
        if "*" in value:
            text = Text("regex", _pattern_of_path(value), column="paths")
        else:
            text = Text("substring", value, column="paths")
        touched = _test(text, _slashed("path"))
        match = self.match(text)
        named = _test(text, _slashed("m.paths")) if match is None or not match.is_exact else Sql("1")
        if match is not None and match is not NOTHING:
            found = Sql("m.rowid IN (SELECT rowid FROM words WHERE words MATCH ?) AND ", (match.text,))
            named = Sql(found.text + named.text, found.parameters + named.parameters)
        if match is NOTHING:
            named = Sql("0")
        # LIKE excludes most paths sooner than a regular expression.
        like = _like(value).replace("*", "%").replace("/", "_")
        return Sql(
            f"SELECT conversation, turn FROM file_touch WHERE {touched.text}"
            " UNION ALL SELECT m.conversation, m.turn FROM message AS m"
            f" WHERE m.paths LIKE ? ESCAPE '\\' AND {named.text}",
            (*touched.parameters, like, *named.parameters),
        )


def _slashed(column: str) -> str:
    return f"replace({column}, '\\', '/')"


def is_in_document(kind: str, row: str) -> Sql:
    """Return the condition that a row has the text of a document of a kind."""
    return Sql(
        "EXISTS (SELECT 1 FROM conversation_document AS d"
        f" WHERE d.conversation = {row} >> {MESSAGE_BITS} AND d.message = {row} & {(1 << MESSAGE_BITS) - 1}"
        " AND d.kind = ?)",
        (kind,),
    )


def is_command(value: str) -> Sql:
    """Return the condition on a row of `command` that it contains a text, as executed or as requested."""
    pattern = r"[^\n]*".join(map(re.escape, value.split("*")))
    text = Text("regex", pattern) if "*" in value else Text("substring", value)
    tests = [_test(text, column) for column in ("command", "requested")]
    return Sql("(" + " OR ".join(test.text for test in tests) + ")", _parameters(tests))


def has_exit_code(value: str) -> Sql:
    """Return the condition on a row of `command` that it ended with a code, or with an `error`: any code but 0."""
    if value.casefold() == "error":
        return Sql("ifnull(exit_code <> 0, 0)")
    if not _EXIT_CODE.fullmatch(value):
        raise UsageError(f"exit: must be a number, or error for any code other than 0, not {value!r}")
    return Sql("exit_code IS ?", (int(value),))


def _all_of(matches: list[Match], *, is_exact: bool) -> Match | None:
    if NOTHING in matches:
        return NOTHING
    if not matches:
        return None
    text = " AND ".join(f"({match.text})" for match in matches)
    return Match(f"({text})", is_exact and all(match.is_exact for match in matches))


def _in_text(node: Text) -> Sql:
    """Return the condition that one of the columns contains a text."""
    columns = (node.column,) if node.column else TEXT_COLUMNS
    tests = [_test(node, f"m.{column}") for column in columns]
    return Sql("(" + " OR ".join(test.text for test in tests) + ")", _parameters(tests))


def _test(node: Text, column: str) -> Sql:
    """Return the condition that a column contains a text. LIKE, which is several times faster, is tested first."""
    if node.kind == "regex":
        likes = [Sql(f"{column} LIKE ? ESCAPE '\\'", (_like(piece),)) for piece in literals_of(node.value)]
        tests = [*likes, Sql(f"copilog_matches({column}, ?)", (node.value,))]
        return Sql("ifnull(" + " AND ".join(test.text for test in tests) + ", 0)", _parameters(tests))
    value = node.value
    # LIKE ignores the case of ASCII letters only: it accepts any character for others, which are compared afterwards.
    loose = "".join("_" if _has_wide_case(character) else _escaped(character) for character in value)
    like = Sql(f"ifnull({column} LIKE ? ESCAPE '\\', 0)", (f"%{loose}%",))
    if not any(map(_has_wide_case, value)):
        return like
    return Sql(f"({like.text} AND copilog_holds({column}, ?))", (*like.parameters, value.lower()))


def _has_wide_case(character: str) -> bool:
    return not character.isascii() and character.lower() != character.upper()


def _like(piece: str) -> str:
    return f"%{_escaped(piece)}%"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _pattern_of_path(value: str) -> str:
    """Return the pattern of a path with wildcards; it ends with the path, and starts at the start of a name in it."""
    return r"(?:^|[/\\])" + r"[^\n]*".join(map(re.escape, value.split("*"))) + "$"


def _parameters(parts: list[Sql]) -> tuple[Any, ...]:
    return tuple(value for part in parts for value in part.parameters)
