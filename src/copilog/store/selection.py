"""Select conversations: one struct, and one `where`, which every surface uses.

The value of a field that names something is a part of the name, or the full name where the field says so; case does
not matter. A `*` in it matches any characters, and then it is the full name; so it is after a `=`. A name that no
conversation has is an error that lists the nearest names. A period selects the conversations that were last active
in it, or have a turn that began in it. Empty conversations are left out unless they are selected.
"""

# ruff: noqa: S608 - only internal names; user input goes into parameters

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from copilog.derive import agent_key, one_agent
from copilog.derive.model_names import key_of
from copilog.errors import UsageError
from copilog.jsonio import replace_lone_surrogates
from copilog.store.dates import period_of
from copilog.store.schema import is_counted
from copilog.store.times import text_of
from copilog.text_cache import cached_by_text

if TYPE_CHECKING:
    from copilog.store.reading import Meant

TOUCHED = "coalesce(c.updated_at, c.started_at)"
LISTED = "NOT c.is_empty"  # what lists show without filters
MOST_NEAREST, MOST_LISTED = 3, 5  # names in a message
NEAR_ENOUGH = 0.5

Key = Callable[[str], str]  # key that all spellings of a name share


class NameField(NamedTuple):
    """A field whose value names something."""

    about: str  # completes "only those ..."
    names: str  # SQL: all existing names
    holds: str  # SQL: `conversation AS c` has one of the names that {} selects
    is_whole: bool = False  # whether the value is a full name
    key: Key = str.casefold
    nameless: str | None = None  # value that selects conversations without a name
    letter: str | None = None  # letter of the short option


def _in_list(column: str) -> tuple[str, str]:
    """Return the SQL of a column with JSON lists of names."""
    lists = f"(SELECT DISTINCT {column} AS names FROM conversation) AS listed"
    has_one = "EXISTS (SELECT 1 FROM json_each(listed.names) AS named WHERE named.value IN {})"
    return (
        f"SELECT DISTINCT named.value FROM {lists}, json_each(listed.names) AS named",
        f"c.{column} IN (SELECT listed.names FROM {lists} WHERE {has_one})",
    )


NAME_FIELDS: dict[str, NameField] = {
    "workspace": NameField(
        "whose folder or repository has this in its name",
        "SELECT workspace FROM conversation WHERE workspace <> ''"
        " UNION SELECT repository FROM conversation WHERE repository <> ''",
        "(ifnull(c.workspace IN {0}, 0) OR ifnull(c.repository IN {0}, 0))",
        nameless="(no workspace)",
        letter="w",
    ),
    "branch": NameField(
        "on a branch that has this in its name",
        "SELECT DISTINCT branch FROM conversation WHERE branch <> ''",
        "ifnull(c.branch IN {}, 0)",
    ),
    "source": NameField(
        "with a trace of this format (the whole name)",
        "SELECT DISTINCT source FROM trace UNION SELECT DISTINCT source FROM conversation",
        "(c.source IN {0} OR c.rowid IN (SELECT conversation FROM trace WHERE source IN {0}))",
        is_whole=True,
        letter="s",
    ),
    "model": NameField(
        "in which a model was used that has this in its name",
        *_in_list("models"),
        key=key_of,
        nameless="(unknown model)",
        letter="m",
    ),
    "mode": NameField(
        "in this mode: ask, edit, agent, or a custom agent (the whole name)", *_in_list("modes"), is_whole=True
    ),
    "agent": NameField(
        "in which an agent was at work that has this in its name",
        *_in_list("agents"),
        key=agent_key,
        nameless="(no agent)",
    ),
    "skill": NameField("in which a skill was loaded that has this in its name", *_in_list("skills")),
    "tool": NameField(
        "in which a tool was called that has this in its name",
        "SELECT DISTINCT name FROM tool_call",
        f"c.rowid IN (SELECT conversation FROM tool_call AS t WHERE name IN {{}} AND {is_counted('t')})",
    ),
    "label": NameField(
        "with this label (the whole name)",
        "SELECT DISTINCT label FROM label WHERE id IN (SELECT id FROM conversation)",
        "c.id IN (SELECT id FROM label WHERE label IN {})",
        is_whole=True,
    ),
}


class Flag(NamedTuple):
    """A yes-or-no property of a conversation."""

    about: str  # completes "only those ..."
    sql: str


FLAGS: dict[str, Flag] = {
    "starred": Flag("with a star", "c.id IN (SELECT id FROM annotation WHERE is_starred)"),
    "error": Flag("in which a turn or a call failed", "c.errors > 0"),
    "edit": Flag("in which a file was edited", "c.edits > 0"),
    "gone": Flag("none of whose files is there any more", "c.gone_at IS NOT NULL"),
}


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """A selection of conversations. None means no filter."""

    conversation: str | None = None  # only this one, by its id or a prefix of it
    workspace: str | None = None
    branch: str | None = None
    source: str | None = None
    model: str | None = None
    mode: str | None = None
    agent: str | None = None
    skill: str | None = None
    tool: str | None = None
    label: str | None = None
    starred: bool | None = None
    error: bool | None = None
    edit: bool | None = None
    gone: bool | None = None
    since: datetime | None = None
    until: datetime | None = None  # before this time: the end of the period that a date names
    month: str | None = None  # last active in the period that this names
    text: str | None = None  # a part of the title or the note
    query: str | None = None  # in the search language: some message must match
    include_empty: bool = False
    include_gone: bool = True
    utc: bool = False  # dates are in UTC instead of the user's time zone

    @property
    def zone(self) -> tzinfo | None:
        return UTC if self.utc else None


def selection_of(*, now: datetime | None = None, **fields: Any) -> Selection:
    """Return the selection for fields by name; `since` and `until` may be dates as users type them.

    An empty text is no filter, as if it had not been given.
    """
    fields = {name: value for name, value in fields.items() if not isinstance(value, str) or value.strip()}
    zone = UTC if fields.get("utc") else None
    if isinstance(fields.get("since"), str):
        fields["since"] = period_of(fields["since"], now, zone).start
    if isinstance(fields.get("until"), str):
        fields["until"] = period_of(fields["until"], now, zone).end
    try:
        return Selection(**fields)
    except TypeError as error:
        raise UsageError(f"this is not a valid selection: {error}") from None


class UnknownName(UsageError):  # noqa: N818 - it says what it is about
    """A name that no conversation has. `nearest` are similar existing names."""

    def __init__(self, field: str, value: str, nearest: list[str], *, is_near: bool) -> None:
        rule = NAME_FIELDS[field]
        what = f"no conversation has the {field} {value!r}"
        if not (rule.is_whole or "*" in value or value.startswith("=")):
            what = f"no conversation has {value!r} in the name of its {field}"
        names = ", ".join(nearest)
        there = f"; {'the nearest' if is_near else 'there'} {'is' if len(nearest) == 1 else 'are'} {names}"
        super().__init__(what + (there if nearest else "; there is none at all"))
        self.field, self.value, self.nearest = field, value, nearest


class Condition(NamedTuple):
    """SQL on `conversation AS c`, and its parameters."""

    name: str  # name of the field
    sql: str
    parameters: tuple[Any, ...] = ()


class Selected:
    """The conditions of a selection. Raises QueryError if its query does not parse.

    `widens`: as in a search, conversations with some words of the query are selected if few have all.
    """

    def __init__(self, connection: sqlite3.Connection, selection: Selection, *, widens: bool = False) -> None:
        self.connection = connection
        self.selection = selection
        self.widens = widens
        self.found: list[int] = []  # the numbers of the conversations that match the query
        self.conditions = list(self._conditions())

    def _conditions(self) -> Iterator[Condition]:
        wanted = self.selection
        for name in NAME_FIELDS:
            if (value := getattr(wanted, name)) is not None and value.strip():
                yield named(self.connection, name, value)
        for name, flag in FLAGS.items():
            if (is_so := getattr(wanted, name)) is not None:
                yield Condition(name, f"({flag.sql}) IS {'TRUE' if is_so else 'FALSE'}")
        if not wanted.include_gone:
            yield Condition("gone", "c.gone_at IS NULL")
        if wanted.month is not None:
            month = period_of(wanted.month, zone=wanted.zone)
            touched = f"{TOUCHED} >= ? AND {TOUCHED} < ?"
            yield Condition("month", touched, (text_of(month.start), text_of(month.end)))
        if wanted.since is not None or wanted.until is not None:
            yield in_period(
                text_of(wanted.since) if wanted.since is not None else None,
                text_of(wanted.until) if wanted.until is not None else None,
            )
        if wanted.conversation is not None:
            yield Condition("conversation", "c.id = ?", (wanted.conversation,))
        if wanted.text is not None:
            yield self._with_text(wanted.text)
        if wanted.query is not None and wanted.query.strip():
            from copilog.store.search import conversations_with

            self.found = conversations_with(self.connection, self.meant())
            yield Condition("query", "c.rowid IN (SELECT value FROM json_each(?))", (as_json(self.found),))

    def _with_text(self, text: str) -> Condition:
        is_meant = matcher("workspace", text)
        rows = self.connection.execute(
            "SELECT c.rowid, c.title, ifnull(a.note, '') FROM conversation AS c"
            " LEFT JOIN annotation AS a ON a.id = c.id"
        )
        numbers = [number for number, title, note in rows if is_meant(title) or is_meant(note)]
        return Condition("text", "c.rowid IN (SELECT value FROM json_each(?))", (as_json(numbers),))

    def where(self) -> tuple[str, list[Any]]:
        """Return all conditions as one, and their parameters."""
        text = " AND ".join([self.base, *(f"({condition.sql})" for condition in self.conditions)])
        return text, [value for condition in self.conditions for value in condition.parameters]

    def meant(self) -> Meant:
        """Return what the query means."""
        from copilog.store.reading import meaning_of

        assert self.selection.query is not None
        meant = meaning_of(self.connection, self.selection.query, zone=self.selection.zone)
        return meant if self.widens else msgspec.structs.replace(meant, may_widen=False)

    def query_with_filters(self) -> Meant:
        """Return the query with the conditions that search supports too, so that it ranks few unselected messages."""
        from copilog.store.query import And, Field

        wanted = self.selection
        meant = self.meant()
        # In a search, the tool must be called in the same turn.
        names = {name: getattr(wanted, name) for name in NAME_FIELDS if name != "tool"}
        also = [Field(name, value) for name, value in names.items() if value is not None and value.strip()]
        also += [Field("is", name) for name in ("starred", "gone") if getattr(wanted, name)]
        return meant.with_root(And((meant.query.root, *also))) if also else meant

    @property
    def base(self) -> str:
        """Return the condition for all conversations without filters."""
        return "TRUE" if self.selection.include_empty else LISTED


def where(connection: sqlite3.Connection, selection: Selection) -> tuple[str, list[Any]]:
    """Return the SQL on `conversation AS c` that selects, and its parameters."""
    return Selected(connection, selection).where()


# --- names --------------------------------------------------------------------------------------------------------


def named(connection: sqlite3.Connection, field: str, value: str, *, may_be_unknown: bool = False) -> Condition:
    """Return the condition that a conversation has a name; raise UnknownName if none has it."""
    rule = NAME_FIELDS[field]
    there = [name for (name,) in connection.execute(rule.names)]
    if rule.nameless is not None and value.removeprefix("=") == rule.nameless:
        if field == "workspace":
            return Condition(field, "ifnull(c.workspace, '') = ''")
        return Condition(field, f"NOT ({_holds(rule)})", _names_twice(rule, filter(rule.key, there)))
    meant = names_meant(field, value, there)
    if not meant and not may_be_unknown:
        raise_unknown(connection, field, value, there)
    return Condition(field, _holds(rule), _names_twice(rule, meant))


def _holds(rule: NameField) -> str:
    return rule.holds.replace("{0}", "{}").replace("{}", "(SELECT value FROM json_each(?))")


def _names_twice(rule: NameField, names: Iterable[str]) -> tuple[str, ...]:
    return (as_json(names),) * _holds(rule).count("?")


def names_meant(field: str, value: str, names: Iterable[str]) -> list[str]:
    """Return the names that match a value."""
    return list(filter(matcher(field, value), names))


def matcher(field: str, value: str) -> Callable[[str], bool]:
    """Return a function that checks whether a name matches a value."""
    rule = NAME_FIELDS[field]
    value = replace_lone_surrogates(value)
    if "*" in value and not value.startswith("="):
        pattern = re.compile(".*".join(re.escape(piece.casefold()) for piece in value.split("*")), re.DOTALL)
        return lambda name: pattern.fullmatch(name.casefold()) is not None
    if rule.is_whole or value.startswith("="):
        whole = value.removeprefix("=")
        key = rule.key(whole)
        return lambda name: name == whole or (key != "" and rule.key(name) == key)
    part = (one_agent(value) if field == "agent" else value).casefold()
    return lambda name: part in name.casefold()


def exactly(field: str, name: str) -> str:
    """Return the value of a field that matches only this name."""
    rule = NAME_FIELDS[field]
    is_plain = name == rule.nameless or (rule.is_whole and "*" not in name and not name.startswith("="))
    return name if is_plain else f"={name}"


def raise_unknown(connection: sqlite3.Connection, field: str, value: str, names: list[str]) -> None:
    """Raise UnknownName with the nearest names, unless the archive is empty: then there are no names."""
    if connection.execute("SELECT 1 FROM conversation LIMIT 1").fetchone() is None:
        return
    forms = {form: name for name in sorted(names, reverse=True) for form in (_last(name), name.casefold())}
    from difflib import get_close_matches

    near = get_close_matches(_last(value.strip("=*")), forms, MOST_NEAREST * 2, NEAR_ENOUGH)
    nearest = list(dict.fromkeys(forms[form] for form in near))[:MOST_NEAREST]
    raise UnknownName(field, value, nearest or sorted(names)[:MOST_LISTED], is_near=bool(nearest))


def _last(name: str) -> str:
    """Return the last part of a path or of an address, which users type."""
    return re.split(r"[/\\]", name.rstrip("/\\"))[-1].casefold()


# --- times --------------------------------------------------------------------------------------------------------


def in_period(since: str | None, until: str | None) -> Condition:
    """Return the condition that a conversation was last active in a period, or has a turn that began in it."""
    bounds = [(sign, text) for sign, text in ((">=", since), ("<", until)) if text is not None]
    touched = " AND ".join(f"{TOUCHED} {sign} ?" for sign, _ in bounds)
    began = " AND ".join(f"started_at {sign} ?" for sign, _ in bounds)
    sql = f"({touched}) OR c.rowid IN (SELECT conversation FROM turn WHERE superseded IS NULL AND {began})"
    return Condition("period", sql, tuple(text for _, text in bounds) * 2)


# --- lists of names -----------------------------------------------------------------------------------------------


@cached_by_text(4096)
def decode_names(text: str) -> list[str]:
    """Return the names in a stored JSON list. The returned list is shared: do not change it."""
    return _decode(text) if text and text != "[]" else []


_decode = msgspec.json.Decoder(list[str]).decode


def as_json(values: Iterable[Any]) -> str:
    """Return values for `json_each`."""
    return msgspec.json.encode(list(values)).decode()
