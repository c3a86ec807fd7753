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
# The columns that fit on a line; --json and --csv have all of them.
AGENT_COLUMNS = ("name", "kind", "turns", "conversations", "tool_calls", "failed", "last_at", "is_defined", "evidence")
SKILL_COLUMNS = ("name", "offered", "loaded", "conversations", "last_at", "is_defined", "evidence")


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
    """List the agents that ran, and which agent followed which.

    For each custom agent, chat participant and sub-agent: its turns (runs, for sub-agents), its tool calls, and the
    evidence that it ran. Then which agent followed which from one turn to the next, and which agent started which
    sub-agent.

    This is compared with the agents that are defined on this machine: some are defined and never ran, some ran and
    are no longer defined. With --root, only definitions below that folder are compared; with --sample, none. --json
    includes the instructions of every defined agent.
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
@_table_options
@json_option
@pass_settings
@selects
@reads_archive
def skills(
    settings: Settings, /, limit: int, show_all: bool, as_csv: str | None, selection: Selection, as_json: bool
) -> int:
    """List the skills that the model was offered, and those that it loaded, with the evidence.

    This is compared with the skills that are defined on this machine: some are defined and were never loaded, some
    were loaded and are no longer defined. With --root, only definitions below that folder are compared; with
    --sample, none.
    """
    from copilog.analysis import choose
    from copilog.analysis.skills import skills as measure_skills

    with searched_archive(settings, Report()) as archive:
        chosen = choose(archive, selection)
        section = measure_skills(chosen, definitions_for(settings, chosen), limit=None if show_all else limit)
    _show(settings, section, section.skills, as_json, as_csv, SKILL_COLUMNS, "skill")
    click.echo(_summary_line(chosen, len(section.skills), "skill"), err=True)
    return 0


def _print_json(section: AgentsSection, defined: Iterable[Definition]) -> None:
    """Print the figures and the defined agents. Those that VS Code remembers are included, as they have no file."""
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
    print_table(settings, section.never_used, title=f"{word}s that are defined, but were never used")
    if section.no_longer_defined:
        names = ", ".join(one_line(name, 80) for name in section.no_longer_defined)
        settings.out.print(f"used, but not defined in any folder that copilog searches: {names}")


def _summary_line(chosen: Chosen, number: int, word: str) -> str:
    turns, conversations = chosen.turns, chosen.conversations
    shown = f"{number:,} {plural(number, word)}" if number else f"no {word}"
    place = f"{turns:,} {plural(turns, 'turn')} of {conversations:,} {plural(conversations, 'conversation')}"
    return f"{shown} in {place}"
