"""Agents and skills: which were used, and which never were."""

from __future__ import annotations

from copilog.analysis.figures import AgentRow, DefinedRow, SkillRow, Stats
from copilog.render.report import amounts
from copilog.render.report.blocks import (
    Block,
    Names,
    Paragraph,
    Row,
    Section,
    Table,
    number,
    table_of,
    text,
    worded,
)
from copilog.render.report.columns import columns_of

KINDS = {"custom": "custom agent", "participant": "chat participant", "subagent": "sub-agent"}
HANDOVERS = {"switch": "from turn to turn", "subagent": "started as a sub-agent"}


def agents_and_skills(stats: Stats) -> Section:
    """Return the section of agents and skills."""
    agents, skills = stats.agents, stats.skills
    blocks: list[Block] = []
    if agents.agents:
        blocks.append(_agents_table(agents.agents))
    if agents.handovers:
        handovers = table_of(
            "How agents handed over",
            agents.handovers,
            [
                text("From", "before"),
                text("To", "after"),
                worded("How", lambda row: HANDOVERS.get(row.kind, row.kind)),
                *columns_of("agents.handovers", agents.handovers),
            ],
        )
        blocks.append(handovers)
    if skills.skills:
        blocks.append(_skills_table(skills.skills))
    never_used = (
        ("Agents that are defined and were never used", agents.never_used),
        ("Skills that are defined and were never loaded", skills.never_used),
    )
    blocks += [_defined(caption, rows) for caption, rows in never_used if rows]
    gone = (
        ("Agents that were used and are no longer defined", agents.no_longer_defined),
        ("Skills that were loaded and are no longer defined", skills.no_longer_defined),
    )
    named: list[Block] = [_names(caption, names) for caption, names in gone if names]
    if named:
        blocks.append(Row(named))
    if not blocks:
        blocks.append(Paragraph("Neither custom agents nor skills left a trace in this period."))
    lead = "Custom agents, chat participants, sub-agents and skills, with the evidence. A turn may count for several."
    return Section("agents", "Agents and skills", lead, blocks)


def _agents_table(rows: list[AgentRow]) -> Table:
    return table_of(
        "Agents",
        rows,
        [
            text("Agent", "name"),
            worded("Also named", lambda row: ", ".join(row.also_named), optional=True),
            worded("Kind", lambda row: KINDS.get(row.kind, row.kind)),
            *columns_of("agents.agents", rows),
            number("Last", "last_at", amounts.moment),
            worded("Evidence", lambda row: ", ".join(row.evidence), optional=True),
            worded("Defined", lambda row: _yes_or_no(row.is_defined), optional=True),
        ],
    )


def _skills_table(rows: list[SkillRow]) -> Table:
    return table_of(
        "Skills",
        rows,
        [
            text("Skill", "name"),
            *columns_of("skills.skills", rows),
            number("Last", "last_at", amounts.moment, optional=True),
            worded("Evidence", _evidence, optional=True),
            worded("Defined", lambda row: _yes_or_no(row.is_defined), optional=True),
        ],
        "Offered: the model was offered it. Loaded: its text was read.",
    )


def _evidence(row: SkillRow) -> str:
    return ", ".join(f"{amounts.shown(how, 60)} ({times:,})" for how, times in row.evidence.items())


def _defined(caption: str, rows: list[DefinedRow]) -> Table:
    columns = [
        text("Name", "name"),
        text("Where", "scope"),
        worded("What it is for", lambda row: row.description, optional=True),
        worded("File", lambda row: row.path, optional=True),
    ]
    return table_of(caption, rows, columns)


def _names(caption: str, names: list[str]) -> Names:
    return Names(caption, [amounts.shown(name, 80) for name in names])


def _yes_or_no(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"
