"""Which conversations and which period: the same options for every command that measures."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from copilog.cli.dates import as_moment

if TYPE_CHECKING:
    from copilog.cli.common import Function, Settings

_NAMES = ("since", "until", "workspace", "source", "model", "mode", "label", "starred", "query")


def selects(function: Function) -> Function:
    """The options; the function is given the `selection` that they make."""

    @wraps(function)
    def with_selection(settings: Settings, /, **chosen: Any) -> Any:
        from copilog.analysis.selection import Selection

        wanted = {name: chosen.pop(name) for name in _NAMES}
        wanted["starred"] = wanted["starred"] or None
        return function(settings, selection=Selection(**wanted), **chosen)

    for option in reversed(_OPTIONS):
        with_selection = option(with_selection)
    return with_selection  # type: ignore[return-value]


_OPTIONS = (
    click.option(
        "--since", metavar="WHEN", callback=as_moment, help="Only turns since then: 2026-03-01, 7d, yesterday."
    ),
    click.option("--until", metavar="WHEN", callback=as_moment, help="Only turns before then."),
    click.option("-w", "--workspace", metavar="TEXT", help="Only conversations whose folder has this in its name."),
    click.option("-s", "--source", metavar="NAME", help="Only those with a trace of this format."),
    click.option("-m", "--model", metavar="TEXT", help="Only those in which a model of this name was used."),
    click.option("--mode", metavar="TEXT", help="Only those in this mode: ask, edit, agent, or a custom agent's name."),
    click.option("--label", metavar="NAME", help="Only those with this label."),
    click.option("--starred", is_flag=True, help="Only those with a star."),
    click.option("-q", "--query", metavar="QUERY", help="Only those in which `copilog search QUERY` finds something."),
)
