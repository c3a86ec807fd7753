"""Parse the search language: text to a tree of conditions. docs/search.md documents it.

    alternatives = conjunction ("OR" conjunction)*
    conjunction  = negation ("AND"? negation)*
    negation     = ("NOT" | "-" | "+")? (group | text | field)

A `+` changes no meaning here: it and quotes keep a word when a search is widened.
A query that does not parse raises QueryError, with the reason, the position, and the nearest query that does parse.
Each fault has a correction of the text; corrections are applied until the query parses.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Literal, NoReturn

import msgspec

from copilog.errors import UsageError
from copilog.jsonio import replace_lone_surrogates
from copilog.store.dates import Period, period_of
from copilog.store.query_fields import DATES, NAMES, PERIOD, TEXT_FIELDS, VALUES
from copilog.store.selection import NAME_FIELDS
from copilog.store.times import text_of

DEEPEST = 30
MOST_CONDITIONS = 150
MOST_WORDS_SUGGESTED = 20
NEAR_ENOUGH = 0.8


class Text(msgspec.Struct, frozen=True, tag="text"):
    """A text condition on a message: consecutive words, exact text, or a regular expression."""

    kind: Literal["words", "substring", "regex"]
    value: str
    is_prefix: bool = False  # the last word is a prefix
    column: str | None = None  # column of the full-text index; None for any
    is_whole: bool = False  # exact text that neither begins nor ends within a word


class Field(msgspec.Struct, frozen=True, tag="field"):
    """A fact about the message, its turn, or its conversation."""

    name: str
    value: str


class Not(msgspec.Struct, frozen=True, tag="not"):
    item: Node


class And(msgspec.Struct, frozen=True, tag="and"):
    items: tuple[Node, ...]


class Or(msgspec.Struct, frozen=True, tag="or"):
    items: tuple[Node, ...]


Node = Text | Field | Not | And | Or
NO_CONDITION = And(())  # a name or a date that is empty, as if it had not been written
Clock = Callable[[str], Period]  # meaning of dates


class Query(msgspec.Struct, frozen=True):
    """A query that parsed."""

    text: str
    root: Node
    loose: tuple[Text, ...] = ()  # words without quotes, + or operators: a widened search finds some of them
    is_explicit: bool = False  # whether it has an operator in capitals or a field: no other text looks like that


class QueryError(UsageError):
    """A query that does not parse. `position` counts characters from 0; `suggestion` is a query that does parse."""

    def __init__(self, reason: str, position: int = 0, suggestion: str | None = None) -> None:
        near = f"; the nearest query that works: {suggestion}" if suggestion else ""
        super().__init__(f"{reason} (at character {position + 1}){near}")
        self.reason = reason
        self.position = position
        self.suggestion = suggestion


def parse(text: str, now: datetime | None = None, zone: tzinfo | None = None) -> Query:
    """Parse a text as a query. Dates such as `7d` count from `now`, in a time zone."""
    text = replace_lone_surrogates(text)  # a terminal may pass any bytes
    clock = partial(period_of, now=now or datetime.now(UTC), zone=zone)
    parser = _Parser(text, clock)
    try:
        root = parser.parse()
        loose = tuple(dict.fromkeys(parser.loose)) if isinstance(root, And) else ()
        return Query(text, root, () if parser.has_operator else loose, parser.has_operator or parser.has_field)
    except _Fault as fault:
        raise QueryError(fault.reason, fault.position, _mended(fault, text, clock)) from None


class _Fault(Exception):  # noqa: N818 - it never leaves this module
    """The reason and position of a fault, and the text with this fault corrected."""

    def __init__(self, reason: str, position: int, mended: str | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position
        self.mended = mended


def _mended(fault: _Fault, text: str, clock: Clock) -> str | None:
    """Return the text with one fault after the other corrected; if that does not end, only its words."""
    candidate = fault.mended
    for _ in range(MOST_CONDITIONS):
        if candidate is None:
            break
        try:
            _Parser(candidate, clock).parse()
        except _Fault as next_fault:
            candidate = next_fault.mended
        else:
            return candidate.strip()
    return _only_words(text)


def _only_words(text: str) -> str | None:
    words = [word for word in re.findall(r"[^\W_]+", text) if word not in ("AND", "OR", "NOT")]
    if words:
        return " ".join(words[:MOST_WORDS_SUGGESTED])
    text = " ".join(text.replace("\0", " ").split())
    return "'" + text.replace("'", "''") + "'" if text else None


_OPERATOR = re.compile(r"(AND|OR|NOT)(?=[\s()]|$)")
_FIELD = re.compile(r"([A-Za-z]+):")
_NEGATED = re.compile(r"""-(?=[^\W_]|["'(~/_])""")
_INSISTED = re.compile(r"""\+(?=[^\W_]|["'(~/_])""")
# A slash inside must be escaped, so that a path such as /home/ana is not a regular expression.
_REGEX = re.compile(r"/((?:[^/\\\n]|\\.)+)/(?=[\s)]|$)")
_QUOTED = {'"': re.compile(r'"((?:[^"]|"")*)"(\*?)'), "'": re.compile(r"'((?:[^']|'')*)'(\*?)")}
# Scripts without spaces between words: their words are searched as substrings.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


class _Parser:
    """A recursive descent parser. `at` is its position in the text."""

    def __init__(self, text: str, clock: Clock) -> None:
        self.text = text
        self.clock = clock
        self.at = 0
        self.depth = 0
        self.conditions = 0
        self.empty_value = "", 0, 0  # the field, and where its last empty value begins and ends
        self.loose: list[Text] = []
        self.has_operator = False
        self.has_field = False

    def parse(self) -> Node:
        if not self.text.replace("\0", " ").strip():
            self.fail("the query is empty; write a word, or a field such as workspace:shop", 0, None)
        node = self.alternatives(None)
        if self.at < len(self.text):
            self.fail("this ) has no ( before it", self.at, self.without(self.at, self.at + 1))
        if node == NO_CONDITION:
            field, start, end = self.empty_value
            example = "today" if field in DATES else f'"{NAME_FIELDS[field].nameless or "*"}"'
            self.fail(f'{field}:"" selects all conversations', start, self.replaced(start, end, example))
        return node

    # --- structure ----------------------------------------------------------------------------------------------

    def alternatives(self, field: str | None) -> Node:
        items = [self.conjunction(field)]
        while self.operator() == "OR":
            self.at += 2
            self.has_operator = True
            items.append(self.conjunction(field))
        items = [item for item in items if item != NO_CONDITION]
        return items[0] if len(items) == 1 else Or(tuple(items)) if items else NO_CONDITION

    def conjunction(self, field: str | None) -> Node:
        items: list[Node] = []
        while True:
            operator = self.operator()
            if operator == "AND" and items:
                self.at += 3
                self.has_operator = True
                items.append(self.negation(field))
            elif items and (operator == "OR" or self.is_at_end()):
                break
            else:
                items.append(self.negation(field))
        items = _with_one_period([item for item in items if item != NO_CONDITION])
        return items[0] if len(items) == 1 else And(tuple(items))

    def negation(self, field: str | None) -> Node:
        operator = self.operator()
        start = self.at
        if operator == "NOT":
            self.at += 3
            self.has_operator = True
            self.skip_spaces()
            if self.is_at_end() or self.operator() in ("AND", "OR"):
                self.fail("NOT has nothing after it", start, self.without(start, self.at))
            return _negated(self.nested(start, lambda: self.negation(field)))
        if operator is not None:
            self.fail(f"{operator} has nothing before it", start, self.without(start, start + len(operator)))
        if self.is_at_end():
            self.fail_without_right_side()
        if _NEGATED.match(self.text, self.at):
            self.at += 1
            return _negated(self.item(field))
        if _INSISTED.match(self.text, self.at):
            self.at += 1
            return self.item(field)
        is_bare = self.depth == 0 and not self.text.startswith(('"', "'"), self.at)
        node = self.item(field)
        if is_bare and isinstance(node, Text) and node.kind != "regex" and not node.column and _has_words(node.value):
            self.loose.append(node)
        return node

    def fail_without_right_side(self) -> NoReturn:
        """Fail at the end, or at a closing parenthesis, where a condition is needed."""
        before = self.text[: self.at].rstrip()
        for operator in ("AND", "OR"):
            if before.endswith(operator):
                start = len(before) - len(operator)
                self.fail(f"{operator} has nothing after it", start, self.without(start, len(before)))
        if before.endswith("("):
            start = len(before) - (2 if before.endswith("-(") else 1)
            self.fail("there is nothing between ( and )", start, self.without(start, self.at + 1))
        self.fail("this ) has no ( before it", self.at, self.without(self.at, self.at + 1))

    def nested(self, start: int, read: Callable[[], Node]) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail("the query is nested too deeply", start, _only_words(self.text))
        node = read()
        self.depth -= 1
        return node

    def group(self, field: str | None) -> Node:
        start = self.at
        self.at += 1
        node = self.nested(start, lambda: self.alternatives(field))
        if self.at >= len(self.text):
            self.fail("this ( is not closed", start, self.text.rstrip() + ")")
        self.at += 1
        return node

    # --- conditions ---------------------------------------------------------------------------------------------

    def item(self, field: str | None) -> Node:
        """Parse a group, a field, or text; `field` is that of the enclosing group."""
        if self.text.startswith("(", self.at):
            return self.group(field)
        self.conditions += 1
        if self.conditions > MOST_CONDITIONS:
            self.fail(f"the query has more than {MOST_CONDITIONS} conditions", self.at, _only_words(self.text))
        named = _FIELD.match(self.text, self.at)
        is_address = named is not None and self.text.startswith("//", named.end())
        if named and not is_address and named[1].lower() in NAMES:
            return self.field(named)
        if named and not self.text.startswith((":", "/", "\\"), named.end()):
            near = _nearest_field(named[1].lower())
            if near is not None:
                self.fail(
                    f"there is no field {named[1]}; did you mean {near}? Put it in single quotes to search for it",
                    named.start(),
                    self.replaced(*named.span(1), near),
                )
        return self.condition(field)

    def field(self, named: re.Match[str]) -> Node:
        name = named[1].lower()
        self.at = named.end()
        self.has_field = True
        if self.text.startswith("(", self.at):
            return self.group(name)
        self.skip_spaces()
        if self.at > named.end() or self.is_at_end():
            self.fail_without_value(named)
        return self.condition(name)

    def fail_without_value(self, named: re.Match[str]) -> NoReturn:
        if not self.is_at_end() and self.operator() is None:
            mended = self.replaced(named.end(), self.at, "")
        else:
            mended = self.replaced(*named.span(), f"'{named[0]}'")
        self.fail(f"{named[0]} needs a value right after it", named.start(), mended)

    def condition(self, field: str | None) -> Node:
        """Parse text, or the value of a field."""
        start = self.at
        is_text = field is None or field in TEXT_FIELDS
        column = TEXT_FIELDS.get(field or "")
        regex = _REGEX.match(self.text, start) if is_text else None
        if regex:
            self.at = regex.end()
            return self.regex(regex[1], start, column)
        quote = self.text[start]
        value, has_star = self.quoted(quote) if quote in _QUOTED else (self.bare(), False)
        if not value.strip():
            if field not in NAME_FIELDS and field not in DATES:
                self.fail("there is nothing in the quotes", start, self.without(start, self.at))
            self.empty_value = field or "", start, self.at
            return NO_CONDITION
        if not is_text:
            assert field is not None
            return self.fact(field, value, start)
        if quote == "'" or (quote == '"' and not _has_words(value)):
            return Text("substring", value, column=column)
        if quote == '"':
            return Text("words", value, has_star, column)
        return self.bare_text(value, start, column)

    def bare_text(self, value: str, start: int, column: str | None) -> Text:
        stem = value.rstrip("*")
        if not stem:
            self.fail("* needs the beginning of a word before it", start, self.without(start, self.at))
        if stem.startswith("~") and len(stem) > 1 and stem[1].isalnum():
            return Text("substring", stem[1:], column=column)
        if _is_word(stem):
            return Text("words", stem, len(stem) < len(value), column)
        return Text("substring", stem, column=column)

    def regex(self, pattern: str, start: int, column: str | None) -> Text:
        pattern = pattern.replace("\\/", "/")
        wrong = regex_fault(pattern)
        if wrong is not None:
            quoted = "'" + pattern.replace("'", "''") + "'"
            self.fail(f"this is not a valid regular expression: {wrong}", start, self.replaced(start, self.at, quoted))
        return Text("regex", pattern, column=column)

    def fact(self, name: str, value: str, start: int) -> Field:
        if name in DATES:
            try:
                return _date_field(name, self.clock(value))
            except UsageError as error:
                self.fail(str(error), start, self.replaced(start, self.at, "today"))
        known = VALUES.get(name)
        if known is None:
            return Field(name, value)
        lower = value.lower()
        if lower in known:
            return Field(name, lower)
        from difflib import get_close_matches

        near = (get_close_matches(lower, known, 1, 0) or known)[0]
        choice = ", ".join(known)
        return self.fail(f"{name}: must be one of {choice}, not {value}", start, self.replaced(start, self.at, near))

    # --- characters ---------------------------------------------------------------------------------------------

    def quoted(self, quote: str) -> tuple[str, bool]:
        """Return the quoted text, with doubled quotes as one, and whether a star follows."""
        start = self.at
        match = _QUOTED[quote].match(self.text, start)
        if match is None:
            self.fail(f"this {quote} is not closed", start, self.text.rstrip() + quote)
        self.at = match.end()
        value = match[1].replace(quote * 2, quote).replace("\0", " ")
        return value, bool(match[2])

    def bare(self) -> str:
        """Return the text up to the next space, or to a ) without its own (."""
        start = self.at
        is_open = 0
        while self.at < len(self.text):
            character = self.text[self.at]
            if character.isspace() or character == "\0" or (character == ")" and not is_open):
                break
            is_open += (character == "(") - (character == ")")
            self.at += 1
        return self.text[start : self.at]

    def skip_spaces(self) -> None:
        while self.at < len(self.text) and (self.text[self.at].isspace() or self.text[self.at] == "\0"):
            self.at += 1

    def operator(self) -> str | None:
        self.skip_spaces()
        match = _OPERATOR.match(self.text, self.at)
        return match[1] if match else None

    def is_at_end(self) -> bool:
        """Return whether the query or the group ends here."""
        return self.at >= len(self.text) or self.text[self.at] == ")"

    def without(self, start: int, end: int) -> str:
        return f"{self.text[:start].rstrip()} {self.text[end:].lstrip()}".strip()

    def replaced(self, start: int, end: int, piece: str) -> str:
        return self.text[:start] + piece + self.text[end:]

    def fail(self, reason: str, position: int, mended: str | None) -> NoReturn:
        raise _Fault(reason, position, mended)


def _negated(node: Node) -> Node:
    return node if node == NO_CONDITION else Not(node)


def _date_field(name: str, period: Period) -> Field:
    if name in ("since", "after"):
        return Field(PERIOD, f"{text_of(period.start)}/")
    return Field(PERIOD, f"/{text_of(period.end if name == 'until' else period.start)}")


def _with_one_period(items: list[Node]) -> list[Node]:
    """Combine dates that are joined with AND to one period, so that one activity must be within it."""
    dates = [item for item in items if isinstance(item, Field) and item.name == PERIOD]
    if len(dates) <= 1:
        return items
    bounds = [date.value.split("/") for date in dates]
    since, until = max(since for since, _ in bounds), min((until for _, until in bounds if until), default="")
    return [*(item for item in items if item not in dates), Field(PERIOD, f"{since}/{until}")]


def regex_fault(pattern: str) -> str | None:
    """Return the fault of a regular expression; None if it is valid."""
    try:
        re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        return str(error)
    return None


def _nearest_field(name: str) -> str | None:
    """Return the most similar field: swapped letters before missing ones."""
    from difflib import get_close_matches

    near = get_close_matches(name, NAMES, 3, NEAR_ENOUGH)
    swapped = (field for field in near if sorted(field) == sorted(name))
    return next(swapped, near[0] if near else None)


def _is_word(text: str) -> bool:
    return not _UNSPACED.search(text) and all(_is_of_word(character) for character in text)


def _has_words(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _is_of_word(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character) == "Mn"
