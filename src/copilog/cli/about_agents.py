"""Print everything about one agent or skill: `copilog agents NAME`, `copilog skills NAME`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from copilog.cli.common import Settings, one_line, plural, printable

if TYPE_CHECKING:
    from copilog.analysis import Chosen
    from copilog.analysis.agent_figures import AboutRow, TextVersion, UseRow
    from copilog.definitions import Definition
    from copilog.store.archive import Archive

MOST_CONVERSATIONS = 20


def print_about_agent(
    settings: Settings,
    chosen: Chosen,
    archive: Archive,
    name: str,
    defined: Sequence[Definition] | None,
    *,
    as_json: bool,
) -> None:
    """Print what is known of an agent of any kind; of several of that name, the custom agent comes first."""
    from copilog.analysis.about_agents import about_agents

    for about in about_agents(chosen, archive, name, defined):
        _print(settings, chosen, about, as_json=as_json)
        if as_json:
            return


def print_about_skill(
    settings: Settings,
    chosen: Chosen,
    archive: Archive,
    name: str,
    defined: Sequence[Definition] | None,
    *,
    as_json: bool,
) -> None:
    from copilog.analysis.about_agents import about_skill

    _print(settings, chosen, about_skill(chosen, archive, name, defined), as_json=as_json)


def _print(settings: Settings, chosen: Chosen, about: AboutRow, *, as_json: bool) -> None:
    from copilog.analysis.about_agents import conversations_with
    from copilog.cli.json_output import print_json
    from copilog.cli.tables import print_table

    found = conversations_with(chosen, about)
    if as_json:
        print_json({**msgspec.to_builtins(about), "conversations": msgspec.to_builtins(found.rows)})
        return
    for line in _facts(about):
        click.echo(line, color=settings.in_color())
    for version in about.versions:
        for line in _text(version):
            click.echo(line, color=settings.in_color())
    print_table(settings, about.tools, title="tools that it called")
    print_table(settings, about.handovers, title="handed over")
    title = f"what prompts are made of, in {about.composition_turns:,} {plural(about.composition_turns, 'turn')}"
    print_table(settings, about.composition, title=title)
    shown = found.rows[:MOST_CONVERSATIONS]
    print_table(settings, shown, columns=("id", "title", "workspace", "at", "amount"), title="conversations")


def _facts(about: AboutRow) -> Iterator[str]:
    yield click.style(one_line(about.name), bold=True) + f"  {about.kind}"
    if about.also_named:
        yield f"also named: {one_line(', '.join(about.also_named))} (the text is the same)"
    for made in about.definitions:
        yield f"defined in: {one_line(made.path)}"
        for head, names in (("tools", made.tools), ("hands over to", made.handoffs)):
            if names:
                yield f"{head}: {one_line(', '.join(names))}"
    if not about.definitions and about.is_checked and about.kind != "participant":
        yield "defined in: no folder that copilog searches"
    if about.skill is not None:
        read = f"; other files of its folder read in {about.resource_turns:,}" if about.resource_turns else ""
        offered = f"{about.skill.offered:,} {plural(about.skill.offered, 'turn')}"
        yield f"offered in {offered}, loaded in {about.skill.loaded:,}{read}"
    if about.use is not None:
        yield from _cost(about.use)


def _cost(use: UseRow) -> Iterator[str]:
    from copilog.analysis.agent_costs import outcomes_in_order
    from copilog.analysis.numbers import added

    spend = use.spend
    tokens = added(spend.input, spend.output) if spend is not None else None
    amounts = [
        ("tokens", f"{tokens:,}" if tokens is not None else "-"),
        ("credits", f"{spend.credits:,.2f}" if spend is not None and spend.credits is not None else "-"),
        ("cost", f"${spend.dollars:,.2f}" if spend is not None and spend.dollars is not None else "-"),
    ]
    coverage = f"tokens recorded in {use.token_turns:,}, credits in {use.credit_turns:,} of {use.turns:,}"
    yield f"{'; '.join(f'{name} {value}' for name, value in amounts)} ({coverage} {plural(use.turns, 'turn')})"
    yield f"outcomes: {', '.join(f'{times:,} {name}' for name, times in outcomes_in_order(use.outcomes))}"


def _text(version: TextVersion) -> Iterator[str]:
    when = (
        f"{version.first_at[:16]} to {version.last_at[:16]}" if version.first_at and version.last_at else "not used yet"
    )
    yield ""
    yield click.style(f"text of {when}, {version.turns:,} {plural(version.turns, 'turn')}", dim=True)
    if version.diff is not None:
        yield from (f"  {line}" for line in printable(version.diff).rstrip("\n").split("\n")[2:])
    elif version.text is not None:
        yield from (f"  {line}" for line in printable(version.text).split("\n"))
