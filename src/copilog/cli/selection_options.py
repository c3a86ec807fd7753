"""The options that select conversations and a period, the same for every command that takes several."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from copilog.store.selection import FLAGS, NAME_FIELDS, selection_of

if TYPE_CHECKING:
    from copilog.cli.common import Function, Settings

_NAMES = (*NAME_FIELDS, *FLAGS, "since", "until", "query", "utc")


def selects(function: Function) -> Function:
    """Add the options; the function gets the `selection` that they make."""

    @wraps(function)
    def with_selection(settings: Settings, /, **chosen: Any) -> Any:
        fields = {name: chosen.pop(name) for name in _NAMES}
        flags = {name: fields[name] or None for name in FLAGS}
        return function(settings, selection=selection_of(**(fields | flags)), **chosen)

    for option in reversed(_options()):
        with_selection = option(with_selection)
    return with_selection  # type: ignore[return-value]


def utc_option(function: Function) -> Function:
    return click.option("--utc", is_flag=True, help="Use UTC for dates, instead of your time zone.")(function)


def _options() -> list[Callable[[Any], Any]]:
    options = [
        click.option(
            "--since", metavar="WHEN", help="Only activity since this date: 2026-03-01, 2026-03, 7d, last week, may."
        ),
        click.option(
            "--until", metavar="WHEN", help="Only activity until this date, including all of that day, week or month."
        ),
        utc_option,
    ]
    for name, field in NAME_FIELDS.items():
        letter = (f"-{field.letter}",) if field.letter else ()
        metavar = "NAME" if field.is_whole else "TEXT"
        options.append(click.option(*letter, f"--{name}", metavar=metavar, help=f"Only conversations {field.about}."))
    options += [
        click.option(f"--{name}", is_flag=True, help=f"Only conversations {flag.about}.")
        for name, flag in FLAGS.items()
    ]
    return [
        *options,
        click.option(
            "-q", "--query", metavar="QUERY", help="Only conversations in which `copilog search QUERY` has hits."
        ),
    ]
