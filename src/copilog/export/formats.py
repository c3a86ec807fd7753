"""The formats that conversations are exported in. A new one is a module with a `FORMAT`, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from copilog.export.index import Entry
    from copilog.model import Conversation


MODULES = {
    "html": "copilog.export.html",
    "markdown": "copilog.export.markdown",
}
NAMES = tuple(MODULES)  # as command lines offer them


class Making(NamedTuple):
    """What a file says of its own making."""

    by: str
    at: datetime | None = None


class Format(NamedTuple):
    """A kind of file, and the function that writes conversations in it, piece by piece; an index is for several."""

    name: str
    title: str
    ending: str
    media_type: str
    pieces: Callable[[Iterable[Conversation], Sequence[Entry], Making], Iterator[str]]


def format_named(name: str) -> Format | None:
    """Return a format, its module loaded only now; None for a name that no format has."""
    if name not in MODULES:
        return None
    found: Format = import_module(MODULES[name]).FORMAT
    return found


def formats() -> list[Format]:
    """Return all formats."""
    return [made for name in MODULES if (made := format_named(name)) is not None]
