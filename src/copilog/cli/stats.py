"""`copilog stats`"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from copilog.cli.archives import reads_archive, searched_archive
from copilog.cli.common import COUNT, CsvCommand, Settings, csv_option, json_option, one_line, pass_settings, plural
from copilog.cli.selection_options import selects
from copilog.diagnostics import Report
from copilog.errors import UsageError

if TYPE_CHECKING:
    from copilog.analysis import Chosen, Selection
    from copilog.analysis.figures import Figures, SpendRow

FEW, MOST = 5, 20
# The columns by which bars of `SpendRow` are drawn: dollars, or tokens if there are none.
COST_DRAWN = "dollars+estimated_dollars|input+output+estimated_input+estimated_output"
SPEND_TABLES = (
    "by_day", "by_model", "by_workspace", "by_agent", "by_subagent", "by_skill", "by_tool", "by_conversation",
    "by_turn", "by_system", "by_payer", "by_outcome", "by_repository", "by_branch",
)  # fmt: skip
# The order of the columns of a row. Columns that are neither here nor in LEFT_OUT come last.
COLUMNS = {
    "SpendRow": (
        "id", "name", "turns", "calls", "input", "cache_share", "output", "spread", "estimated_input",
        "estimated_output", "premium_requests", "spread_requests", "unanswered_requests", "credits", "spread_credits",
        "computed_credits", "dollars", "averaged_dollars", "estimated_dollars",
    ),
    "ToolRow": (
        "name", "calls", "failed", "failure_rate", "command_errors", "retries", "automatic", "by_user", "denied",
        "median_ms", "p95_ms", "total_ms",
    ),
    "AgentRow": ("name", "kind", "turns", "conversations", "tool_calls", "failed", "last_at", "is_defined", "evidence"),
    "SkillRow": ("name", "offered", "loaded", "conversations", "last_at", "is_defined", "evidence"),
}  # fmt: skip
LEFT_OUT = {  # --json and --csv have them
    "SpendRow": ("conversations", "cache_read", "cache_write", "reasoning", "unpriced"),
    "ToolRow": ("conversations", "timed", "result_bytes"),
    "AgentRow": ("path",),
    "SkillRow": ("path",),
}
WAYS = (
    "day",
    "week",
    "month",
    "workspace",
    "model",
    "agent",
    "subagent",
    "skill",
    "tool",
    "conversation",
    "turn",
    "source",
    "repository",
    "branch",
    "payer",
    "system",
    "outcome",
)


class Section(NamedTuple):
    """The tables of `copilog stats NAME`; --csv prints the first one."""

    tables: tuple[str, ...]
    bars: dict[str, str]  # table -> the column that is drawn


SECTIONS = {
    "totals": Section(("sources", "documents"), {"sources": "times", "documents": "times"}),
    "tokens": Section(
        (*SPEND_TABLES, "composition", "origins", "calibration"),
        {"composition": "percent", **dict.fromkeys(SPEND_TABLES, COST_DRAWN)},
    ),
    "models": Section(("models", "switches", "conflicts"), {"models": "turns"}),
    "tools": Section(("tools", "servers", "programs", "sequences"), {"tools": "calls", "programs": "calls"}),
    "agents": Section(("agents", "handovers", "never_used"), {"agents": "turns"}),
    "skills": Section(("skills", "never_used"), {"skills": "loaded"}),
    "work": Section(
        ("top_files", "important_files", "languages", "errors", "vote_reasons", "references"),
        {"top_files": "edits", "important_files": "conversations", "languages": "edits"},
    ),
    "time": Section(("by_day", "by_weekday", "by_hour"), dict.fromkeys(("by_day", "by_weekday", "by_hour"), "turns")),
}  # fmt: skip
TABLES = sorted({table for section in SECTIONS.values() for table in section.tables})


@click.command(
    "stats",
    cls=CsvCommand,
    epilog="""\b
Examples:
  copilog stats --since 30d
  copilog stats tokens --by model --since 2026-03-01
  copilog stats --as-model gpt-5-mini --since 'this month'
  copilog stats tools -w tide-tables
  copilog stats tokens --by day --csv > tokens.csv
  copilog stats --query 'flaky test' --json | jq .tokens.total""",
)
@click.argument("section", required=False, type=click.Choice(list(SECTIONS)))
@click.option("--by", "way", type=click.Choice(WAYS), help="Print tokens and cost, grouped by this.")
@click.option(
    "--as-model",
    metavar="MODEL",
    help="Say what the recorded tokens cost with this model, and how many turns have none.",
)
@click.option("--table", type=click.Choice(TABLES), metavar="NAME", help="Print only this table of the section.")
@click.option("-n", "--limit", type=COUNT, help=f"The most rows to print (default {MOST}).")
@click.option("-a", "--all", "show_all", is_flag=True, help="Print all rows.")
@csv_option("Print one table as CSV: the one that --table names, or the first of the section.")
@json_option
@pass_settings
@selects
@reads_archive
def command(
    settings: Settings,
    /,
    section: str | None,
    way: str | None,
    as_model: str | None,
    table: str | None,
    limit: int | None,
    show_all: bool,
    as_csv: str | None,
    selection: Selection,
    as_json: bool,
) -> int:
    """Measure usage: tokens, cost, models, tools, agents, skills, work and time.

    Without a section, the main figures of all of them are printed. --since and --until count the turns of a period;
    all other options select complete conversations, and the billing month does not depend on a period. Turns without a
    record of their bill count as AI credits from 1 June 2026 on: a day of yours, or with --utc of GitHub's.
    docs/metrics.md defines each figure; estimates are marked.
    """
    asked = _Request(section or _section_of(way, table, as_csv), way, table)
    asked.check()
    if as_csv and as_json:
        raise UsageError("--csv and --json cannot be used together")
    most = None if show_all else limit or (MOST if section or way or as_json or as_csv else FEW)
    with searched_archive(settings, Report()) as archive:
        from copilog.analysis import choose

        chosen = choose(archive, selection, plan=settings.config.plan)
        if as_model is not None:
            _show_as_model(settings, chosen, as_model, as_json)
        elif asked.section is None:
            _show_everything(settings, chosen, most, as_json)
        elif way is not None:
            from copilog.analysis.tokens import spend_by

            _show_rows(settings, f"by_{way}", spend_by(chosen, way, most), as_json, as_csv, COST_DRAWN)
        else:
            _show_section(settings, asked, chosen, most, as_json, as_csv)
        click.echo(_summary_line(chosen), err=True)
    return 0


def _show_as_model(settings: Settings, chosen: Chosen, model: str, as_json: bool) -> None:
    """Print the recorded usage, and the same usage at the prices of one model."""
    from copilog.analysis.tokens import as_if, spend_by
    from copilog.cli.json_output import print_json
    from copilog.cli.tables import print_table

    before = [row for row in spend_by(chosen, "total") if row.name == "total"]
    same = as_if(chosen, model)
    rows = [*before, *([] if not before else [_with_name(same, f"with {model}")])]
    if as_json:
        print_json(rows)
        return
    if same.turns_without_tokens:
        turns = f"{same.turns_without_tokens:,} of {same.selected_turns:,} {plural(same.selected_turns, 'turn')}"
        settings.out.print(f"left out, because no tokens are recorded: {turns}")
    columns = ("name", "turns", "input", "cache_share", "output", "credits", "computed_credits", "dollars")
    print_table(settings, rows, title="as it was, and with another model", columns=columns)


def _with_name(row: SpendRow, name: str) -> SpendRow:
    """Return the row of another model under a name, without the recorded credits and premium requests."""
    import msgspec

    return msgspec.structs.replace(
        row, name=name, credits=None, spread_credits=None, premium_requests=None, spread_requests=None
    )


def _section_of(way: str | None, table: str | None, as_csv: str | None) -> str | None:
    """Return the section to print if none is named: the first that has the table; None for all of them."""
    if table is not None and way is None:
        return next(name for name, section in SECTIONS.items() if table in section.tables)
    return "tokens" if way or as_csv else None


class _Request(NamedTuple):
    section: str | None
    way: str | None
    table: str | None

    def check(self) -> None:
        if self.way is not None and self.section != "tokens":
            raise UsageError(f"--by can be used with tokens only: `copilog stats tokens --by {self.way}`")
        if self.way is not None and self.table is not None:
            raise UsageError("--by and --table cannot be used together")
        if self.table is not None and self.section and self.table not in SECTIONS[self.section].tables:
            has = ", ".join(SECTIONS[self.section].tables)
            raise UsageError(f"{self.section} has no table {self.table}; it has {has}")


def _summary_line(chosen: Chosen) -> str:
    selection = chosen.selection
    period = "".join(
        f" {word} {moment.astimezone():%Y-%m-%d %H:%M}"
        for word, moment in (("since", selection.since), ("until", selection.until))
        if moment is not None
    )
    number = chosen.conversations
    turns = f"{chosen.turns:,} {plural(chosen.turns, 'turn')}"
    return f"{turns} of {number:,} {plural(number, 'conversation')}{period}"


# --- one section ------------------------------------------------------------------------------------------------


def _figures_of(name: str, settings: Settings, chosen: Chosen, limit: int | None) -> Figures:
    from copilog.analysis.activity import activity
    from copilog.analysis.agents import agents
    from copilog.analysis.models import models
    from copilog.analysis.skills import skills
    from copilog.analysis.tokens import tokens
    from copilog.analysis.tools import tools
    from copilog.analysis.totals import totals
    from copilog.analysis.work_outcomes import work
    from copilog.cli.agents import definitions_for

    functions: dict[str, Callable[[], Figures]] = {
        "totals": lambda: totals(chosen),
        "tokens": lambda: tokens(chosen, limit=limit),
        "models": lambda: models(chosen, limit=limit),
        "tools": lambda: tools(chosen, limit=limit),
        "agents": lambda: agents(chosen, definitions_for(settings, chosen), limit=limit),
        "skills": lambda: skills(chosen, definitions_for(settings, chosen), limit=limit),
        "work": lambda: work(chosen, limit=limit),
        "time": lambda: activity(chosen),
    }
    return functions[name]()


def _show_section(
    settings: Settings,
    asked: _Request,
    chosen: Chosen,
    limit: int | None,
    as_json: bool,
    as_csv: str | None,
) -> None:
    assert asked.section is not None
    section = SECTIONS[asked.section]
    figures = _figures_of(asked.section, settings, chosen, limit)
    if asked.table or as_csv:
        name = asked.table or section.tables[0]
        _show_rows(settings, name, getattr(figures, name), as_json, as_csv, section.bars.get(name))
        return
    if as_json:
        from copilog.cli.json_output import print_json

        print_json(figures)
        return
    from copilog.cli.tables import print_figures, print_table

    single = [(name, getattr(figures, name)) for name in figures.__struct_fields__ if name not in section.tables]
    plain = [(name, value) for name, value in single if isinstance(value, int | float | str)]
    if asked.section != "tokens":  # that section has lines of its own
        print_figures(settings, plain)
    if asked.section == "tokens":
        from copilog.cli.stats_headlines import spend_lines

        for line in spend_lines(figures):  # type: ignore[arg-type]
            settings.out.print(line)
    settings.out.print()
    for name in section.tables:
        rows, title = getattr(figures, name), name.replace("_", " ")
        if name == "by_day" and limit is not None and len(rows) > limit:  # the JSON output has all days
            title = f"by day, the last {limit} of {len(rows)}"
            rows = rows[-limit:]
        print_table(settings, rows, title=title, columns=_columns_of(rows), bars=section.bars.get(name))
    for name, value in single:
        if isinstance(value, list) and value:
            settings.out.print(f"{name.replace('_', ' ')}: {', '.join(one_line(str(item)) for item in value)}")


def _show_rows(
    settings: Settings, name: str, rows: list[Any], as_json: bool, as_csv: str | None, bars: str | None = None
) -> None:
    from copilog.cli.json_output import print_json
    from copilog.cli.tables import print_csv, print_table

    if as_csv:
        print_csv(rows, for_excel=as_csv == "excel")
    elif as_json:
        print_json(rows)
    else:
        print_table(settings, rows, title=name.replace("_", " "), columns=_columns_of(rows), bars=bars)


def _columns_of(rows: list[Any]) -> tuple[str, ...] | None:
    """Return the columns to print, without those in LEFT_OUT; None for the default columns."""
    kind = type(rows[0]).__name__ if rows else ""
    if kind not in COLUMNS:
        return None
    first, left_out = COLUMNS[kind], LEFT_OUT[kind]
    return (*first, *(name for name in rows[0].__struct_fields__ if name not in first and name not in left_out))


# --- everything -------------------------------------------------------------------------------------------------


def _show_everything(settings: Settings, chosen: Chosen, limit: int | None, as_json: bool) -> None:
    from copilog.analysis import measure_chosen
    from copilog.cli.agents import definitions_for

    stats = measure_chosen(chosen, defined=definitions_for(settings, chosen), limit=limit)
    if as_json:
        from copilog.cli.json_output import print_json

        print_json(stats)
        return
    from copilog.cli.stats_headlines import print_overview

    print_overview(settings, stats)
