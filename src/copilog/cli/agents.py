"""`copilog agents` and `copilog skills`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from copilog.cli.archives import reads_archive, searched_archive
from copilog.cli.common import (
    COUNT,
    CsvCommand,
    Function,
    Settings,
    csv_option,
    json_option,
    one_line,
    pass_settings,
    plural,
)
from copilog.cli.selection_options import selects
from copilog.diagnostics import Report

if TYPE_CHECKING:
    from copilog.analysis import Chosen, Selection
    from copilog.analysis.agent_figures import UseRow
    from copilog.analysis.figures import AgentsSection, SkillsSection
    from copilog.definitions import Definition

MOST = 50
# The columns that fit on a line; --json and --csv have all of them.
AGENT_COLUMNS = (
    "name", "also_named", "kind", "turns", "conversations", "tool_calls", "failed", "last_at", "is_defined", "evidence",
)  # fmt: skip
SKILL_COLUMNS = ("name", "offered", "loaded", "conversations", "last_at", "is_defined", "evidence")


class CostLine(msgspec.Struct):
    """Cost and outcomes of an agent or a skill, as the table has them."""

    name: str
    kind: str
    tokens: int | None
    credits: float | None
    dollars: float | None
    token_turns: int
    credit_turns: int
    turns: int
    outcomes: list[str]


def definitions_for(settings: Settings, chosen: Chosen) -> list[Definition] | None:
    """Return the agents and skills that are defined for the user and in the workspaces of the selected conversations.

    With --root, return what is defined below these folders; for the sample, return None.
    """
    if settings.sample:
        return None
    from copilog.analysis.defined_usage import DefinedInPart
    from copilog.ingest.defined_here import definitions_on_this_machine

    if settings.roots:
        return DefinedInPart(definitions_on_this_machine([], settings.places_found()))
    folders = chosen.connection.execute(
        "SELECT DISTINCT workspace FROM temp.chosen WHERE workspace IS NOT NULL ORDER BY workspace"
    )
    return definitions_on_this_machine([folder for (folder,) in folders], settings.places_found())


def _table_options(function: Function) -> Function:
    function = csv_option("Print the table as CSV.")(function)
    function = click.option("-a", "--all", "show_all", is_flag=True, help="Print all rows.")(function)
    return click.option(
        "-n", "--limit", metavar="N", type=COUNT, default=MOST, show_default=True, help="The most rows to print."
    )(function)


@click.command(
    "agents",
    cls=CsvCommand,
    epilog="""\b
Examples:
  copilog agents --since 30d
  copilog agents Reviewer
  copilog agents -w tide-tables --json
  copilog agents --all --csv > agents.csv""",
)
@click.argument("name", required=False)
@_table_options
@json_option
@pass_settings
@selects
@reads_archive
def agents(
    settings: Settings,
    /,
    name: str | None,
    limit: int,
    show_all: bool,
    as_csv: str | None,
    selection: Selection,
    as_json: bool,
) -> int:
    """List the agents that ran, and which agent followed which.

    For each custom agent, chat participant and sub-agent: its turns (runs, for sub-agents), its tool calls, and the
    evidence that it ran. Then which agent followed which from one turn to the next, and which agent started which
    sub-agent.

    This is compared with the agents that are defined on this machine: some are defined and never ran, some ran and
    are no longer defined. With --root, only definitions below that folder are compared; with --sample, none. --json
    includes the instructions of every defined agent. A custom agent whose file was renamed is one agent: its text is
    the same.

    With NAME, print everything about one agent: what it is told and was told before, where it is defined, its tools,
    cost, outcomes and conversations.
    """
    from copilog.analysis import choose
    from copilog.analysis.agent_costs import SKILL, uses_of
    from copilog.analysis.agents import agents as measure_agents
    from copilog.analysis.defined_usage import AGENTS
    from copilog.cli.about_agents import print_about_agent
    from copilog.cli.json_output import print_json

    with searched_archive(settings, Report()) as archive:
        chosen = choose(archive, selection)
        defined = definitions_for(settings, chosen)
        if name is not None:
            print_about_agent(settings, chosen, archive, name, defined, as_json=_no_csv(as_csv, as_json))
            return 0
        section = measure_agents(chosen, defined, limit=None if show_all else limit)
        uses = [row for row in uses_of(chosen).rows() if row.kind != SKILL] if not as_csv else []
    if as_json:
        definitions = [made for made in defined or () if made.kind in AGENTS]
        print_json({**msgspec.to_builtins(section), "uses": uses, "definitions": definitions})
    else:
        _show(settings, section, section.agents, as_csv, AGENT_COLUMNS, "agent")
        _show_uses(settings, uses, as_csv)
    click.echo(_summary_line(chosen, len(section.agents), "agent"), err=True)
    return 0


@click.command(
    "skills",
    cls=CsvCommand,
    epilog="""\b
Examples:
  copilog skills
  copilog skills --since 2026-03-01 --json
  copilog skills -w tide-tables --csv""",
)
@click.argument("name", required=False)
@_table_options
@json_option
@pass_settings
@selects
@reads_archive
def skills(
    settings: Settings,
    /,
    name: str | None,
    limit: int,
    show_all: bool,
    as_csv: str | None,
    selection: Selection,
    as_json: bool,
) -> int:
    """List the skills that the model was offered, and those that it loaded, with the evidence.

    This is compared with the skills that are defined on this machine: some are defined and were never loaded, some
    were loaded and are no longer defined. With --root, only definitions below that folder are compared; with
    --sample, none.

    With NAME, print everything about one skill: its text now and before, where it is defined, what the turns that
    loaded it cost, and the conversations.
    """
    from copilog.analysis import choose
    from copilog.analysis.agent_costs import SKILL, uses_of
    from copilog.analysis.skills import skills as measure_skills
    from copilog.cli.about_agents import print_about_skill
    from copilog.cli.json_output import print_json

    with searched_archive(settings, Report()) as archive:
        chosen = choose(archive, selection)
        defined = definitions_for(settings, chosen)
        if name is not None:
            print_about_skill(settings, chosen, archive, name, defined, as_json=_no_csv(as_csv, as_json))
            return 0
        section = measure_skills(chosen, defined, limit=None if show_all else limit)
        uses = [row for row in uses_of(chosen).rows() if row.kind == SKILL] if not as_csv else []
    if as_json:
        print_json({**msgspec.to_builtins(section), "uses": uses})
    else:
        _show(settings, section, section.skills, as_csv, SKILL_COLUMNS, "skill")
        _show_uses(settings, uses, as_csv)
    click.echo(_summary_line(chosen, len(section.skills), "skill"), err=True)
    return 0


def _no_csv(as_csv: str | None, as_json: bool) -> bool:
    if as_csv:
        raise click.UsageError("--csv prints the table of all; it cannot be combined with a name")
    return as_json


def _show_uses(settings: Settings, uses: list[UseRow], as_csv: str | None) -> None:
    """Print cost and outcomes. What was not recorded is empty."""
    from copilog.analysis.agent_costs import outcomes_in_order
    from copilog.analysis.numbers import added
    from copilog.cli.tables import print_table

    if as_csv:
        return
    rows = [
        CostLine(
            name=row.name,
            kind=row.kind,
            tokens=added(row.spend.input, row.spend.output) if row.spend is not None else None,
            credits=row.spend.credits if row.spend is not None else None,
            dollars=row.spend.dollars if row.spend is not None else None,
            token_turns=row.token_turns,
            credit_turns=row.credit_turns,
            turns=row.turns,
            outcomes=[f"{times:,} {name}" for name, times in outcomes_in_order(row.outcomes)],
        )
        for row in uses
    ]
    print_table(settings, rows, title="what they cost, and what became of it")


def _show(
    settings: Settings,
    section: AgentsSection | SkillsSection,
    rows: list[Any],
    as_csv: str | None,
    columns: tuple[str, ...],
    word: str,
) -> None:
    from copilog.cli.tables import print_csv, print_table

    if as_csv:
        print_csv(rows, for_excel=as_csv == "excel")
        return
    print_table(settings, rows, columns=columns)
    print_table(settings, getattr(section, "handovers", ()), title="handed over")
    print_table(settings, section.never_used, title=f"{word}s that are defined, but were never used")
    if section.no_longer_defined:
        names = ", ".join(one_line(name, 80) for name in section.no_longer_defined)
        settings.out.print(f"used, but not defined in any folder that copilog searches: {names}")


def _summary_line(chosen: Chosen, number: int, word: str) -> str:
    turns, conversations = chosen.turns, chosen.conversations
    shown = f"{number:,} {plural(number, word)}" if number else f"no {word}"
    place = f"{turns:,} {plural(turns, 'turn')} of {conversations:,} {plural(conversations, 'conversation')}"
    return f"{shown} in {place}"
