"""The content of the library page: rows, search hits, facets, and what to do if nothing matches."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from copilog.derive import agent_key, may_still_run
from copilog.derive.model_names import key_of, plain_name
from copilog.errors import UsageError
from copilog.patterns import SlowPatternError
from copilog.store.archive import Archive
from copilog.store.facets import Facets, facets_of, tools_of
from copilog.store.library import PAGE_ROWS, Row, rows_among, rows_of
from copilog.store.plans import Order
from copilog.store.query import QueryError
from copilog.store.search import Hit, search
from copilog.store.selection import Selected, UnknownName
from copilog.store.times import timestamp_from
from copilog.web.filters import BEST, NEWEST, Filters, library_link, listed_by
from copilog.web.library_facets import Chip, FacetView, chips_of, facet_view, facet_views, said

HITS_AT_ONCE = 120
HITS_OF_ONE = 3  # conversation
ENOUGH_CONVERSATIONS = 20  # hits to show before more are loaded
KEPT_COUNTS = 64
JUST_NOW_NS = 2_000_000_000
MOST_LOOKS = 5  # for hits that pass the filters, before the user must ask for more

SORT_WORDS = {
    "best": "best match",
    "newest": "newest",
    "oldest": "oldest",
    "longest": "longest",
    "tokens": "most tokens",
    "tools": "most tools",
    "title": "title",
}
STATE_WORDS = {
    "complete": "complete",
    "failed": "failed",
    "cancelled": "cancelled",
    "needs-input": "not finished",
    "pending": "not finished",
    "unanswered": "no answer",
}
GOING_WORDS = {"needs-input": "needs input", "pending": "running?"}  # while that may still be so
# Chat participants that every conversation has.
_USUAL_AGENTS = frozenset({"agent", "github copilot", "workspace", "editor"})
_MODES = frozenset({"agent", "ask", "edit"})
_LAST_WORD = re.compile(r"(?:^|[\s(])(?!(?:AND|OR|NOT)$)[^\W_]{2,}$")


class Piece(NamedTuple):
    """A part of a line, and whether it matches the search."""

    text: str
    is_match: bool


class Found(NamedTuple):
    """A message that matches the search."""

    hit: Hit
    pieces: list[Piece]


class Listed(msgspec.Struct, kw_only=True):
    """One conversation of the list."""

    row: Row
    models: list[str]
    agents: list[str]
    status: str | None
    state: str | None  # the status in words
    call_ends: str = ""  # calls that failed, and commands that ended with an error
    found: list[Found] = []


class InvalidFilters(msgspec.Struct, kw_only=True):
    """Why the filters are not valid, and which would be."""

    reason: str
    before: str = ""  # the query up to the error
    after: str = ""
    suggestion: str | None = None
    link: str = "/"


class LibraryView(msgspec.Struct, kw_only=True):
    """All content of the page."""

    filters: Filters
    listed: list[Listed]
    facets: list[FacetView]
    chips: list[Chip]
    sorts: list[tuple[str, str]]
    hidden: list[tuple[str, str]]  # hidden fields of the form
    total: int
    matching: int
    more: str | None = None  # address of the next rows
    end: str | None = None
    offset: int = 0
    notes: list[str] = []
    trouble: InvalidFilters | None = None
    first: str = "/"  # the beginning of the list


class PartView(NamedTuple):
    """More rows, and the address of the next ones."""

    listed: list[Listed]
    more: str | None
    notes: list[str]
    end: str | None = None  # a note at the end of the list


def library_view(archive: Archive, filters: Filters, offset: int = 0, *, with_tools: bool = False) -> LibraryView:
    """Return the page. Filters that are not valid are reported and removed."""
    trouble: InvalidFilters | None = None
    while True:  # each time with one filter less that is not valid
        try:
            selected, notes = _selected(archive, filters)
            break
        except UsageError as error:
            trouble = trouble or _trouble(filters, error)
            filters = _without_fault(filters, error)
    facets = _counted(archive, selected)
    part = _part(archive, selected, filters, offset, PAGE_ROWS) if trouble is None else PartView([], None, [])
    return LibraryView(
        filters=filters,
        listed=part.listed,
        more=part.more,
        end=part.end,
        facets=list(facet_views(filters, facets, tools_of(selected) if with_tools else None)),
        chips=chips_of(filters, facets.without),
        sorts=[(name, words) for name, words in SORT_WORDS.items() if name != BEST or filters.q],
        hidden=[(name, value) for name, value in said(filters) if name not in ("q", "since", "until")],
        total=facets.total,
        matching=facets.matching,
        offset=offset,
        first=library_link(filters),
        notes=[*notes, *part.notes],
        trouble=trouble,
    )


def _counted(archive: Archive, selected: Selected) -> Facets:
    """Return the counts. As counting is slow, they are cached until the files of the archive change."""
    states = [_state(archive.path), _state(archive.path.with_name(f"{archive.path.name}-wal"))]
    key = (archive.path, tuple(states), selected.selection)
    counted = _cached_counts.get(key)
    if counted is None:
        counted = facets_of(selected)
        # A file that was just written may be written again before the clock of the file system advances.
        if all(time.time_ns() - changed > JUST_NOW_NS for changed, _ in states):
            if len(_cached_counts) >= KEPT_COUNTS:
                _cached_counts.clear()
            _cached_counts[key] = counted
    return counted


_cached_counts: dict[Any, Facets] = {}


def _state(file: Path) -> tuple[int, int]:
    """Return when a file was written last, and its size; zeros if it does not exist."""
    try:
        state = file.stat()
    except FileNotFoundError:
        return 0, 0
    return state.st_mtime_ns, state.st_size


def part_view(archive: Archive, filters: Filters, offset: int, limit: int = PAGE_ROWS) -> PartView:
    """Return more rows of the same view. Raise UsageError if a filter is not valid."""
    selected, _ = _selected(archive, filters)
    return _part(archive, selected, filters, offset, limit)


def tools_view(archive: Archive, filters: Filters) -> FacetView:
    """Return the facet of tools."""
    selected, _ = _selected(archive, filters)
    return facet_view(filters, tools_of(selected))


# --- what is listed -------------------------------------------------------------------------------------------------


def _selected(archive: Archive, filters: Filters) -> tuple[Selected, list[str]]:
    """Return the selection. While the user types, the last word may be incomplete: match words that begin with it."""
    wanted = listed_by(filters)
    selected = Selected(archive.connection, wanted, widens=True)
    if wanted.query is None or not _LAST_WORD.search(wanted.query):
        return selected, []
    if Selected(archive.connection, wanted).found:
        return selected, []
    begun = Selected(archive.connection, msgspec.structs.replace(wanted, query=f"{wanted.query}*"))
    if not begun.found:
        return selected, []
    return begun, [f"No text has the word {wanted.query.split()[-1]}: these are words that begin with it."]


def _part(archive: Archive, selected: Selected, filters: Filters, offset: int, limit: int) -> PartView:
    if selected.selection.query is not None and filters.sort in (BEST, NEWEST):
        return _part_of_hits(archive, selected, filters, offset)
    sort = filters.sort if filters.sort != BEST else NEWEST
    rows = rows_of(selected, sort=sort, offset=offset, limit=limit + 1)
    more = _more(filters, offset + limit) if len(rows) > limit else None
    return PartView([_listed(row) for row in rows[:limit]], more, [])


def _part_of_hits(archive: Archive, selected: Selected, filters: Filters, offset: int) -> PartView:
    """Return the hits from `offset` on, by conversation. Those that other filters exclude are skipped."""
    query = selected.query_with_filters()
    allowed = Selected(archive.connection, msgspec.structs.replace(selected.selection, query=None))
    order: Order = "newest" if filters.sort == NEWEST else "rank"
    listed: dict[str, Listed] = {}
    first = offset
    for _ in range(MOST_LOOKS):
        result = search(
            archive.connection,
            query,
            limit=HITS_AT_ONCE,
            offset=offset,
            order=order,
            per_conversation=HITS_OF_ONE,
        )
        offset += len(result.hits)
        is_more = len(result.hits) == HITS_AT_ONCE
        rows = rows_among(allowed, [group.conversation for group in result.groups()])
        for hit in result.hits:
            if hit.conversation in rows:
                if hit.conversation not in listed:
                    listed[hit.conversation] = _listed(rows[hit.conversation])
                listed[hit.conversation].found.append(Found(hit, pieces_of(hit)))
        if not is_more or len(listed) >= ENOUGH_CONVERSATIONS:
            break
    if is_more:
        return PartView(list(listed.values()), _more(filters, offset), result.notes)
    if not first and not result.conversations_is_exact:  # very many hits are not all ranked: list the others
        others = rows_of(selected, limit=PAGE_ROWS)
        listed |= {row.id: _listed(row) for row in others if row.id not in listed}
    end = None if result.conversations_is_exact else "These are the best matches. Any other order lists all of them."
    return PartView(list(listed.values()), None, result.notes, end)


def pieces_of(hit: Hit) -> list[Piece]:
    """Return the snippet, split where matches begin and end."""
    pieces, end = [], 0
    for start, stop in hit.highlights:
        pieces += [Piece(hit.snippet[end:start], False), Piece(hit.snippet[start:stop], True)]
        end = stop
    return [piece for piece in (*pieces, Piece(hit.snippet[end:], False)) if piece.text]


def _listed(row: Row) -> Listed:
    models = {key_of(name): plain_name(name) for name in reversed(row.models)}
    return Listed(
        row=row,
        models=[models[key] for key in reversed(models) if key],
        agents=_agents(row),
        status=row.status,
        state=_state_label(row.status, row.touched_at),
        call_ends=", ".join(filter(None, (_failed_calls(row), _command_errors(row)))),
    )


def _failed_calls(row: Row) -> str:
    return f"{row.failed_calls:,} failed" if row.failed_calls else ""


def _command_errors(row: Row) -> str:
    count = row.command_errors
    return f"{count:,} {'command' if count == 1 else 'commands'} ended with an error" if count else ""


def _state_label(status: str | None, touched_at: str | None) -> str | None:
    if status in GOING_WORDS and may_still_run(status, timestamp_from(touched_at)):
        return GOING_WORDS[status]
    return STATE_WORDS.get(status or "", status)


def _agents(row: Row) -> list[str]:
    """Return custom agents and other agents, then modes, each once; without those that every conversation has."""
    modes = {name.casefold() for name in row.modes}
    names: dict[str, str] = {}
    for name in (*row.modes, *row.agents):
        key = agent_key(name)
        is_usual = key in _USUAL_AGENTS or key.startswith("github.copilot.")
        if key in modes or not is_usual:
            names.setdefault(key, name)
    return sorted(names.values(), key=lambda name: name.casefold() in _MODES)


def _more(filters: Filters, offset: int) -> str:
    link = library_link(filters)
    return f"{link}{'&' if '?' in link else '?'}from={offset}"


# --- what went wrong ------------------------------------------------------------------------------------------------


def _trouble(filters: Filters, error: UsageError) -> InvalidFilters:
    if not isinstance(error, QueryError) or filters.q is None:
        return InvalidFilters(reason=str(error), link=library_link(_without_fault(filters, error)))
    return InvalidFilters(
        reason=error.reason,
        before=filters.q[: error.position],
        after=filters.q[error.position :],
        suggestion=error.suggestion,
        link=library_link(filters, q=error.suggestion),
    )


def _without_fault(filters: Filters, error: UsageError) -> Filters:
    """Return the filters without the one that is not valid."""
    if isinstance(error, QueryError | SlowPatternError):
        return msgspec.structs.replace(filters, q=None, sort=NEWEST if filters.sort == BEST else filters.sort)
    if isinstance(error, UnknownName):
        own = getattr(filters, error.field) == error.value
        return msgspec.structs.replace(filters, **{error.field if own else "q": None})
    return msgspec.structs.replace(filters, month=None, since=None, until=None)
