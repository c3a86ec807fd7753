"""The facets of the library as links: each value keeps the other filters, and a selected value removes itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from copilog.derive.model_names import plain_name
from copilog.errors import UsageError
from copilog.store.dates import period_of
from copilog.store.facets import Facet, Facets, Value
from copilog.store.selection import FLAGS, NAME_FIELDS, exactly
from copilog.web.filters import TEXTS, Filters, library_link, query_of

SHOWN_NAMES = 8  # values of a facet; the others are folded
MOST_NAMES = 1_000

FACET_WORDS = {
    "workspace": "Workspace",
    "source": "Source",
    "model": "Model",
    "mode": "Mode",
    "agent": "Agent",
    "skill": "Skill",
    "tool": "Tool",
    "label": "Label",
    "is": "Only with",
    "month": "Last active",
}
OPEN_FACETS = ("workspace", "model", "is", "month")
CHIP_WORDS = {"q": "search", "month": "last active"}
FLAG_WORDS = {"starred": "a star", "error": "an error", "edit": "an edit", "gone": "no file any more"}


class Choice(NamedTuple):
    """A value of a facet."""

    words: str
    title: str  # in full
    conversations: int
    is_chosen: bool
    link: str  # removes it if it is selected


class FacetView(msgspec.Struct, kw_only=True):
    """A facet with its values."""

    name: str
    words: str
    choices: list[Choice]
    more: list[Choice] = []  # folded
    is_open: bool = False
    later: str | None = None  # address that loads its values when it is opened
    later_page: str = "/"  # the same for browsers without scripts


class Chip(NamedTuple):
    """A filter that is set."""

    words: str
    link: str  # without it
    gain: int = 0  # how many more conversations there would be


def facet_views(filters: Filters, facets: Facets, tools: Facet | None) -> Iterable[FacetView]:
    """Yield all facets in order; those without values are left out."""
    known = {facet.name: facet for facet in facets.facets}
    for name in FACET_WORDS:
        if name == "tool":
            yield facet_view(filters, tools) if tools is not None else _tools_to_come(filters, facets)
        elif known[name].values:
            yield facet_view(filters, known[name])


def _tools_to_come(filters: Filters, facets: Facets) -> FacetView:
    """Return an empty facet of tools. Counting takes a while, so the browser loads it when the user opens it."""
    values = [Value(filters.tool, facets.matching, True)] if filters.tool else []
    view = facet_view(filters, Facet(name="tool", values=values))
    query = query_of(filters)
    view.later = f"/library/tools{query}"
    view.later_page = f"/{query}{'&' if query else '?'}tools=1"
    return view


def facet_view(filters: Filters, facet: Facet) -> FacetView:
    values = facet.values[:MOST_NAMES]
    words = _label_for(facet.name, [value.name for value in values])
    choices = [_choice(filters, facet.name, value, text) for value, text in zip(values, words, strict=True)]
    return FacetView(
        name=facet.name,
        words=FACET_WORDS[facet.name],
        choices=choices[:SHOWN_NAMES],
        more=choices[SHOWN_NAMES:],
        is_open=facet.name in OPEN_FACETS or any(value.is_chosen for value in values),
    )


def _choice(filters: Filters, facet: str, value: Value, words: str) -> Choice:
    name, wanted = (value.name, True) if facet == "is" else (facet, value.name)
    if facet in NAME_FIELDS:
        wanted = exactly(facet, value.name)
    nothing = False if facet == "is" else None
    link = library_link(filters, **{name: nothing if value.is_chosen else wanted})
    return Choice(words, value.name if facet != "is" else words, value.conversations, value.is_chosen, link)


def _label_for(facet: str, names: list[str]) -> list[str]:
    if facet == "workspace":
        return folder_labels(names)
    if facet == "model":
        return [name if name == NAME_FIELDS["model"].nameless else plain_name(name) for name in names]
    if facet == "is":
        return [FLAG_WORDS[name] for name in names]
    if facet == "month":
        return [month_label(name) for name in names]
    return names


def folder_labels(paths: list[str]) -> list[str]:
    """Return folders by their last name; those that share it by two, and those that share both in full."""
    ends = [[part for part in path.replace("\\", "/").split("/") if part][-2:] for path in paths]
    times = Counter("/".join(end[-count:]) for end in ends for count in {1, len(end)} if end)
    words = []
    for path, end in zip(paths, ends, strict=True):
        tries = ("/".join(end[-1:]), "/".join(end))
        words.append(next((text for text in tries if text and times[text] == 1), path))
    return words


def month_label(month: str) -> str:
    """Return `May 2026` for `2026-05`; other text as it is."""
    try:
        return period_of(month).start.astimezone().strftime("%B %Y")
    except UsageError:
        return month


def chips_of(filters: Filters, without: dict[str, int]) -> list[Chip]:
    """Return the filters that are set, each with the link that removes it; the period is one filter."""
    chips = []
    for name, value in said(filters):
        if name in ("since", "until"):
            continue
        nothing = False if name in FLAGS else None
        gain = without.get("query" if name == "q" else name, 0)
        chips.append(Chip(_chip_label(name, value), library_link(filters, **{name: nothing}), gain))
    period = [f"{word} {text}" for word, text in (("since", filters.since), ("until", filters.until)) if text]
    if period:
        link = library_link(filters, since=None, until=None)
        chips.append(Chip(" and ".join(period), link, without.get("period", 0)))
    return chips


def _chip_label(name: str, value: str) -> str:
    if name in FLAGS:
        return f"with {FLAG_WORDS[name]}"
    if name in NAME_FIELDS and value.startswith("="):
        value = value[1:]
    if name == "workspace":
        value = folder_labels([value])[0]
    elif name == "month":
        value = month_label(value)
    return f"{CHIP_WORDS.get(name, name)}: {value}"


def said(filters: Filters) -> list[tuple[str, str]]:
    """Return the filters as the fields of a form."""
    pairs: list[tuple[str, Any]] = [(name, getattr(filters, name)) for name in (*TEXTS, *FLAGS)]
    return [(name, "1" if value is True else value) for name, value in pairs if value]
