"""Agents, skills and workspaces. Unused ones are listed only if definitions were read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from copilog.analysis.figures import AgentRow, DefinedRow, SkillRow, Stats
from copilog.render.report import amounts
from copilog.render.report.blocks import number, table_of, text, worded
from copilog.web.dashboard.figures import Measured
from copilog.web.dashboard.links import Links
from copilog.web.dashboard.panels import Panel, Section, Series, bars, figure_table, linked_table, make_point
from copilog.web.dashboard.spending import spend_bars

KINDS = {"custom": "custom agent", "participant": "chat participant", "subagent": "sub-agent"}
HANDOVERS = {"switch": "from turn to turn", "subagent": "started as a sub-agent"}
AGENT_ENDS = [Series("turns or runs", "tone-1"), Series("failed", "bad")]
SKILL_USE = [Series("loaded", "tone-1"), Series("only offered", "tone-4")]
NOBODY_LOOKED = "Definitions on this machine were not read, so agents and skills that were never used are unknown."


def agents_and_skills(measured: Measured, links: Links) -> Section:
    agents, skills = measured.stats.agents, measured.stats.skills
    panels: list[Panel] = []
    if agents.agents:
        panels.append(_agents(agents.agents, links))
    if skills.skills:
        panels.append(_skills(skills.skills, links))
    if agents.handovers:
        title = "How agents handed over"
        first = [
            text("From", "before"),
            text("To", "after"),
            worded("How", lambda row: HANDOVERS.get(row.kind, row.kind)),
        ]
        table = figure_table(title, "agents.handovers", agents.handovers, first, links)
        panels.append(Panel(key="handovers", title=title, table=table))
    if measured.defined is not None:
        panels += _unused("unused-agents", "Agents that are defined and were never used", agents.never_used)
        panels += _unused("unused-skills", "Skills that are defined and were never loaded", skills.never_used)
    return Section(
        key="agents",
        title="Agents and skills",
        lead="Which agents and skills were used, and which were available. A turn may count for several.",
        panels=panels,
        remarks=_remarks(measured, bool(panels)),
    )


def _remarks(measured: Measured, is_any: bool) -> list[str]:
    remarks = [] if is_any else ["Neither agents nor skills left a trace in this period."]
    if measured.defined is None:
        return [*remarks, NOBODY_LOOKED]
    period = " in this period" if measured.selection.since or measured.selection.until else ""
    for what, rows in (("Agents", measured.stats.agents), ("Skills", measured.stats.skills)):
        if rows.no_longer_defined:
            names = ", ".join(amounts.shown(name, 80) for name in rows.no_longer_defined)
            remarks.append(f"{what} that were used{period}, but are not defined where copilog searches: {names}.")
    return remarks


def _agents(rows: Sequence[AgentRow], links: Links) -> Panel:
    def link(row: AgentRow) -> str | None:
        named = links.named("agent", row.name) if not row.also_named else None  # the library knows no earlier names
        return named or links.behind("agents.agents.turns", row)

    title = "Agents"
    points = [
        make_point(
            f"{row.name} ({KINDS.get(row.kind, row.kind)})",
            AGENT_ENDS,
            [max(0, row.turns - row.failed), row.failed],
            "count",
            link(row),
            label=row.name,
            aside=_bar_note(row),
        )
        for row in rows
    ]
    table = figure_table(
        title,
        "agents.agents",
        rows,
        [
            text("Agent", "name"),
            worded("Also named", lambda row: ", ".join(row.also_named), optional=True),
            worded("Kind", lambda row: KINDS.get(row.kind, row.kind)),
        ],
        links,
        {"Agent": link},
        last=[
            number("Last", "last_at", amounts.moment),
            worded("Evidence", lambda row: ", ".join(row.evidence), optional=True),
            worded("Defined", lambda row: _yes_or_no(row.is_defined), optional=True),
        ],
    )
    chart = bars("agents", title, "count", "turns or runs", AGENT_ENDS, points)
    return Panel(key="agents", title=title, chart=chart, table=table)


def _bar_note(row: AgentRow) -> str:
    """Return the text beside a bar: the number and kind of runs. An agent has a bar for each kind."""
    if row.kind == "subagent":
        return f"{amounts.counted(row.turns, 'run')}, sub-agent"
    return amounts.counted(row.turns, "turn") + (", custom" if row.kind == "custom" else "")


def _skills(rows: Sequence[SkillRow], links: Links) -> Panel:
    def link(row: SkillRow) -> str | None:
        return links.named("skill", row.name) if row.loaded else links.behind("skills.skills.offered", row)

    title = "Skills"
    points = [
        make_point(
            row.name,
            SKILL_USE,
            [row.loaded, max(0, row.offered - row.loaded)],
            "count",
            link(row),
            aside=f"{row.loaded:,} of {max(row.offered, row.loaded):,}",
            words=f"{amounts.shown(row.name)}: offered in {amounts.counted(row.offered, 'turn')},"
            f" loaded in {row.loaded:,}",
        )
        for row in rows
    ]
    table = figure_table(
        title,
        "skills.skills",
        rows,
        [text("Skill", "name")],
        links,
        {"Skill": link, "Conversations": partial(links.behind, "skills.skills.loaded")},
        last=[
            number("Last", "last_at", amounts.moment, optional=True),
            worded("Evidence", evidence_words, optional=True),
            worded("Defined", lambda row: _yes_or_no(row.is_defined), optional=True),
        ],
    )
    note = "Offered: the model was offered it. Loaded: its text was read."
    chart = bars("skills", title, "count", "turns", SKILL_USE, points)
    return Panel(key="skills", title=title, chart=chart, table=table, note=note)


def evidence_words(row: SkillRow) -> str:
    return ", ".join(f"{amounts.shown(how, 60)} ({times:,})" for how, times in row.evidence.items())


def _unused(key: str, title: str, rows: Sequence[DefinedRow]) -> list[Panel]:
    columns = [
        text("Name", "name"),
        text("Where", "scope"),
        worded("What it is for", lambda row: row.description, optional=True),
        worded("File", lambda row: row.path, optional=True),
    ]
    return [Panel(key=key, title=title, table=table_of(title, rows, columns))] if rows else []


def _yes_or_no(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"


# --- workspaces -----------------------------------------------------------------------------------------------------


def workspaces(stats: Stats, links: Links) -> Section:
    panels = spend_bars(
        "workspaces",
        "Tokens by workspace",
        stats.tokens.by_workspace,
        lambda row: links.named("workspace", row.name),
        are_folders=True,
    )
    if stats.totals.sources:
        panels.append(_sources(stats, links))
    lead = "In which folders the work was done, and which program recorded it."
    return Section(key="workspaces", title="Workspaces", lead=lead, panels=panels)


def _sources(stats: Stats, links: Links) -> Panel:
    title = "Conversations by source"
    series = [Series("conversations", "tone-1")]
    rows = stats.totals.sources
    points = [make_point(row.name, series, [row.times], "count", links.named("source", row.name)) for row in rows]
    table = linked_table(
        title,
        rows,
        [text("Source", "name"), number("Conversations", "times")],
        {"Source": lambda row: links.named("source", row.name)},
    )
    chart = bars("sources", title, "count", "conversations", series, points)
    return Panel(key="sources", title=title, chart=chart, table=table)
