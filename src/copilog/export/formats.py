"""List the formats for exporting conversations. A new one is a module with a `FORMAT`, and a line here."""

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
NAMES = tuple(MODULES)  # names on the command line


class Making(NamedTuple):
    """Facts about the export that a file records."""

    by: str
    at: datetime | None = None


class Format(NamedTuple):
    """A kind of file, and the function that writes conversations to it, piece by piece; several get an index."""

    name: str
    title: str
    ending: str
    media_type: str
    pieces: Callable[[Iterable[Conversation], Sequence[Entry], Making], Iterator[str]]


def format_named(name: str) -> Format | None:
    """Import and return a format; None if no format has this name."""
    if name not in MODULES:
        return None
    found: Format = import_module(MODULES[name]).FORMAT
    return found


def formats() -> list[Format]:
    """Return all formats."""
    return [made for name in MODULES if (made := format_named(name)) is not None]
