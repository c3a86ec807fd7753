"""`copilog agents` and `copilog skills`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

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
    from collections.abc import Iterable

    from copilog.analysis import Chosen, Selection
    from copilog.analysis.figures import AgentsSection, SkillsSection
    from copilog.definitions import Definition

MOST = 50
# What fits on a line; --json and --csv have the rest.
AGENT_COLUMNS = ("name", "kind", "turns", "conversations", "tool_calls", "failed", "last_at", "is_defined", "evidence")
SKILL_COLUMNS = ("name", "offered", "loaded", "conversations", "last_at", "is_defined", "evidence")


def definitions_for(settings: Settings, chosen: Chosen) -> list[Definition] | None:
    """What is defined on this machine, for the user and in the chosen conversations' workspaces.

    Where only named folders are to be read, what these define; None for the sample.
    """
    if settings.sample:
        return None
    from copilog.analysis.defined_usage import DefinedInPart
    from copilog.ingest.defined_here import definitions_on_this_machine

    if settings.roots:
        return DefinedInPart(definitions_on_this_machine([], settings.places()))
    folders = chosen.connection.execute(
        "SELECT DISTINCT workspace FROM temp.chosen WHERE workspace IS NOT NULL ORDER BY workspace"
    )
    return definitions_on_this_machine([folder for (folder,) in folders], settings.places())


def _table_options(function: Function) -> Function:
    function = csv_option("Print the table as CSV.")(function)
    function = click.option("-a", "--all", "show_all", is_flag=True, help="All rows.")(function)
    return click.option("-n", "--limit", type=COUNT, default=MOST, show_default=True, help="How many rows at most.")(
        function
    )


@click.command(
    "agents",
    cls=CsvCommand,
    epilog="""\b
Examples:
  copilog agents --since 30d
  copilog agents -w tide-tables --json
  copilog agents --all --csv > agents.csv""",
)
@_table_options
@json_option
@pass_settings
@selects
@reads_archive
def agents(
    settings: Settings, /, limit: int, show_all: bool, as_csv: str | None, selection: Selection, as_json: bool
) -> int:
    """List the agents that ran, and which one continued after which.

    Custom agents, chat participants and sub-agents: turns (of sub-agents: runs), calls of tools, and how copilog knows
    of them. Then who followed whom from one turn to the next, and who started which sub-agent.

    What is defined on this machine is held against that: agents that are defined and did not run, and agents that
    ran and are defined no more. With --root, only what is defined below it
    counts; with --sample, nothing. --json has the instructions of every agent that is defined.
    """
    from copilog.analysis import choose
    from copilog.analysis.agents import agents as measure_agents

    with searched_archive(settings, Report()) as archive:
        chosen = choose(archive, selection)
        defined = definitions_for(settings, chosen)
        section = measure_agents(chosen, defined, limit=None if show_all else limit)
    if as_json:
        _print_json(section, defined or ())
    else:
        _show(settings, section, section.agents, as_json, as_csv, AGENT_COLUMNS, "agent")
    click.echo(_told(chosen, len(section.agents), "agent"), err=True)
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
@_table_options
@json_option
@pass_settings
@selects
@reads_archive
def skills(
    settings: Settings, /, limit: int, show_all: bool, as_csv: str | None, selection: Selection, as_json: bool
) -> int:
    """List the skills that were offered to the model, and those that it loaded, with the evidence.

    What is defined on this machine is held against that: skills that are defined and were not loaded, and skills that
    were loaded and are defined no more. With --root, only what is defined below it
    counts; with --sample, nothing.
    """
    from copilog.analysis import choose
    from copilog.analysis.skills import skills as measure_skills

    with searched_archive(settings, Report()) as archive:
        chosen = choose(archive, selection)
        section = measure_skills(chosen, definitions_for(settings, chosen), limit=None if show_all else limit)
    _show(settings, section, section.skills, as_json, as_csv, SKILL_COLUMNS, "skill")
    click.echo(_told(chosen, len(section.skills), "skill"), err=True)
    return 0


def _print_json(section: AgentsSection, defined: Iterable[Definition]) -> None:
    """Print the figures, with the agents that are defined: those that VS Code remembers have no file to read."""
    import msgspec

    from copilog.analysis.defined_usage import AGENTS
    from copilog.cli.json_output import print_json

    definitions = [made for made in defined if made.kind in AGENTS]
    print_json({**msgspec.to_builtins(section), "definitions": definitions})


def _show(
    settings: Settings,
    section: AgentsSection | SkillsSection,
    rows: list[Any],
    as_json: bool,
    as_csv: str | None,
    columns: tuple[str, ...],
    word: str,
) -> None:
    from copilog.cli.json_output import print_json
    from copilog.cli.tables import print_csv, print_table

    if as_json:
        print_json(section)
        return
    if as_csv:
        print_csv(rows, for_excel=as_csv == "excel")
        return
    print_table(settings, rows, columns=columns)
    print_table(settings, getattr(section, "handovers", ()), title="handed over")
    print_table(settings, section.never_used, title=f"{word}s that are defined, and were not used")
    if section.no_longer_defined:
        names = ", ".join(one_line(name, 80) for name in section.no_longer_defined)
        settings.out.print(f"used, and defined nowhere that copilog looks: {names}")


def _told(chosen: Chosen, number: int, word: str) -> str:
    turns, conversations = chosen.turns, chosen.conversations
    shown = f"{number:,} {plural(number, word)}" if number else f"no {word}"
    place = f"{turns:,} {plural(turns, 'turn')} of {conversations:,} {plural(conversations, 'conversation')}"
    return f"{shown} in {place}"
