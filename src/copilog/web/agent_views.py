"""What the pages of agents and skills show: lists of all, and everything about one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from copilog.analysis.agent_costs import SKILL, Uses, outcomes_in_order
from copilog.analysis.agent_figures import AboutRow, UseRow
from copilog.analysis.drill_down import DrillDown
from copilog.analysis.figures import AgentRow, AgentsSection, DefinedRow, HandoverRow, SkillRow, SkillsSection
from copilog.analysis.numbers import added
from copilog.render.report import amounts
from copilog.render.report.agents import HANDOVERS, KINDS
from copilog.render.report.blocks import Column, Figure, number, table_of, text, worded, worked_out
from copilog.web.dashboard.agents_and_skills import evidence_words
from copilog.web.dashboard.composition import composition_panel
from copilog.web.dashboard.links import Links
from copilog.web.dashboard.panels import (
    Link,
    Panel,
    Section,
    Series,
    bars,
    figure_table,
    linked_table,
    make_point,
    table_of_points,
)
from copilog.web.filters import Filters, query_of

AGENTS, SKILLS = "/agents", "/skills"
TONES = {"kept": "good", "succeeded": "good", "undone": "bad", "failed": "bad", "unknown": "tone-4"}
TURNS = [Series("turns", "tone-1")]
MOST_CONVERSATIONS = 50
COVERAGE = (
    "A dash is what was not recorded; the column Recorded has the turns whose tokens and credits are. A turn counts "
    "for its agent, its participant and each skill that it loaded, so rows overlap."
)


def agent_url(kind: str, name: str, filters: Filters | None = None) -> str:
    """Return the address of the page of an agent, or of a skill."""
    what = {"name": name} if kind == SKILL else {"kind": kind, "name": name}
    query = urlencode(what, errors="replace", quote_via=quote)
    more = query_of(filters, sort="newest").removeprefix("?") if filters is not None else ""
    return f"{SKILLS if kind == SKILL else AGENTS}/one?{query}{f'&{more}' if more else ''}"


# --- lists ----------------------------------------------------------------------------------------------------------


def agent_sections(section: AgentsSection, uses: Uses, links: Links, *, is_checked: bool) -> list[Section]:
    """Return all agents with their cost, the hand-overs, and what is only defined or only used."""

    def link(row: AgentRow) -> str:
        return agent_url(row.kind, row.name, links.filters)

    rows = section.agents
    first = [
        text("Agent", "name"),
        worded("Kind", lambda row: KINDS.get(row.kind, row.kind)),
        worded("Also named", lambda row: ", ".join(row.also_named), optional=True),
    ]
    last = [
        number("Last", "last_at", amounts.moment),
        worded("Evidence", lambda row: ", ".join(row.evidence), optional=True),
        worded("Defined", lambda row: _yes_or_no(row.is_defined), optional=True),
    ]
    panels: list[Panel] = []
    if rows:
        table = figure_table("Agents", "agents.agents", rows, first, links, {"Agent": link}, last=last)
        panels.append(Panel(key="agents", title="Agents that ran", table=table, is_wide=True))
        columns = [text("Agent", "name"), worded("Kind", lambda row: KINDS.get(row.kind, row.kind))]
        panels.append(_costs(rows, columns, lambda row: uses.of(row.kind, row.name), {"Agent": link}))
    if section.handovers:
        panels.append(_handovers(section.handovers, links))
    panels += _only_defined("Agents that are defined and were never used", "custom", section.never_used, links)
    panels += _only_used(
        "Agents that were used and are nowhere defined", "custom", section.no_longer_defined, rows, links
    )
    return [Section(key="list", title="Agents", panels=panels, remarks=_remarks(bool(panels), is_checked, "agents"))]


def skill_sections(section: SkillsSection, uses: Uses, links: Links, *, is_checked: bool) -> list[Section]:
    """Return all skills with their cost, and what is only defined or only used."""

    def link(row: SkillRow) -> str:
        return agent_url(SKILL, row.name, links.filters)

    rows = section.skills
    last = [
        number("Last", "last_at", amounts.moment, optional=True),
        worded("Evidence", evidence_words, optional=True),
        worded("Defined", lambda row: _yes_or_no(row.is_defined), optional=True),
    ]
    more: dict[str, Link] = {"Skill": link, "Conversations": partial(links.behind, "skills.skills.loaded")}
    panels: list[Panel] = []
    if rows:
        table = figure_table("Skills", "skills.skills", rows, [text("Skill", "name")], links, more, last=last)
        panels.append(Panel(key="skills", title="Skills that were offered or loaded", table=table, is_wide=True))
    loaded = [row for row in rows if row.loaded]
    if loaded:
        panels.append(_costs(loaded, [text("Skill", "name")], lambda row: uses.of(SKILL, row.name), {"Skill": link}))
    panels += _only_defined("Skills that are defined and were never loaded", SKILL, section.never_used, links)
    panels += _only_used("Skills that were loaded and are nowhere defined", SKILL, section.no_longer_defined, (), links)
    return [Section(key="list", title="Skills", panels=panels, remarks=_remarks(bool(panels), is_checked, "skills"))]


def _remarks(is_any: bool, is_checked: bool, what: str) -> list[str]:
    remarks = [] if is_any else [f"No {what} left a trace in the selected conversations."]
    if not is_checked:
        remarks.append("What is defined on this machine does not belong to this archive: only what was used is shown.")
    return remarks


def _costs(
    rows: Sequence[Any], first: Sequence[Column], of: Callable[[Any], UseRow | None], named: Mapping[str, Link]
) -> Panel:
    title = "What they cost, and what became of it"
    table = linked_table(title, rows, [*first, *_use_columns(of)], named)
    return Panel(key="costs", title=title, table=table, note=COVERAGE, is_wide=True)


def _use_columns(of: Callable[[Any], UseRow | None]) -> list[Column]:
    """Return the columns of cost and outcomes. What is not known is empty."""

    def spent(*names: str) -> Callable[[Any], float | None]:
        def value(row: Any) -> float | None:
            use = of(row)
            spend = use.spend if use is not None else None
            return added(*(getattr(spend, name) for name in names)) if spend is not None else None

        return value

    def coverage(row: Any) -> str | None:
        use = of(row)
        return coverage_words(use) if use is not None and use.turns else None

    def outcomes(row: Any) -> str | None:
        use = of(row)
        return ", ".join(f"{times:,} {name}" for name, times in outcomes_in_order(use.outcomes)) if use else None

    return [
        worked_out("Tokens", spent("input", "output"), amounts.short),
        worked_out("Estimated tokens", spent("estimated_input", "estimated_output"), amounts.short, optional=True),
        worked_out("Credits", spent("credits"), amounts.decimal),
        worked_out("Computed credits", spent("computed_credits"), amounts.decimal, optional=True),
        worked_out("Premium requests", spent("premium_requests"), amounts.decimal, optional=True),
        worked_out("Cost", spent("dollars"), amounts.dollars),
        worded("Recorded", coverage),
        worded("Outcome", outcomes),
    ]


def coverage_words(use: UseRow) -> str:
    """Return in how many turns tokens and credits are recorded."""
    what = "run" if use.kind == "subagent" else "turn"
    return f"tokens {use.token_turns:,}, credits {use.credit_turns:,} of {amounts.counted(use.turns, what)}"


def _handovers(rows: Sequence[HandoverRow], links: Links) -> Panel:
    title = "How agents handed over"
    first = [
        text("From", "before"),
        text("To", "after"),
        worded("How", lambda row: HANDOVERS.get(row.kind, row.kind)),
    ]
    return Panel(key="handovers", title=title, table=figure_table(title, "agents.handovers", rows, first, links))


def _only_defined(title: str, kind: str, rows: Sequence[DefinedRow], links: Links) -> list[Panel]:
    columns = [
        text("Name", "name"),
        text("Where", "scope"),
        worded("What it is for", lambda row: row.description, optional=True),
        worded("File", lambda row: row.path, optional=True),
    ]
    table = linked_table(title, rows, columns, {"Name": lambda row: agent_url(kind, row.name, links.filters)})
    return [Panel(key="unused", title=title, table=table)] if rows else []


def _only_used(title: str, kind: str, names: Sequence[str], rows: Sequence[AgentRow], links: Links) -> list[Panel]:
    kinds = {row.name: row.kind for row in rows if row.kind != "participant"}

    def link(name: str) -> str:
        return agent_url(kinds.get(name, kind), name, links.filters)

    table = linked_table(title, names, [worded("Name", str)], {"Name": link})
    return [Panel(key="undefined", title=title, table=table)] if names else []


def _yes_or_no(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"


# --- one agent, one skill -------------------------------------------------------------------------------------------


class AboutView(msgspec.Struct, kw_only=True):
    """The page of one agent or skill."""

    about: AboutRow
    kind: str  # in words
    tiles: list[Figure]
    sections: list[Section]
    conversations: DrillDown
    most: int = MOST_CONVERSATIONS


def about_view(about: AboutRow, conversations: DrillDown, links: Links) -> AboutView:
    definitions = Section(key="defined", title="Where it is defined", panels=_definitions(about))
    if not about.definitions:
        looked = "No file on this machine defines it." if about.is_checked else "Definitions were not read."
        definitions.remarks.append(looked)
    work = Section(key="work", title="What it did", panels=_work(about, links))
    return AboutView(
        about=about,
        kind="skill" if about.kind == SKILL else KINDS.get(about.kind, about.kind),
        tiles=_tiles(about),
        sections=[definitions, *([work] if work.panels else [])] if about.kind != "participant" else [work],
        conversations=conversations,
    )


def _tiles(about: AboutRow) -> list[Figure]:
    tiles: list[Figure] = []
    if about.skill is not None:
        tiles += [
            Figure("Offered", amounts.whole(about.skill.offered), "turns"),
            Figure("Loaded", amounts.whole(about.skill.loaded), "turns"),
            Figure("Other files read", amounts.whole(about.resource_turns), "turns that read files of its folder"),
        ]
    if about.agent is not None:
        runs = "Runs" if about.kind == "subagent" else "Turns"
        tiles += [
            Figure(runs, amounts.whole(about.agent.turns), f"{amounts.whole(about.agent.failed)} failed"),
            Figure("Tool calls", amounts.whole(about.agent.tool_calls)),
        ]
    use = about.use
    if use is None or use.spend is None:
        return tiles
    spend, turns = use.spend, amounts.counted(use.turns, "run" if about.kind == "subagent" else "turn")
    estimated = added(spend.estimated_input, spend.estimated_output)
    tiles += [
        Figure(
            "Tokens",
            amounts.short(added(spend.input, spend.output)),
            f"recorded in {use.token_turns:,} of {turns}"
            + (f"; besides, about {amounts.short(estimated)} estimated" if estimated else ""),
        ),
        Figure("Credits", amounts.decimal(spend.credits), f"recorded in {use.credit_turns:,} of {turns}"),
        Figure("Cost", amounts.dollars(spend.dollars), "of recorded tokens, at list prices"),
    ]
    return tiles


def _definitions(about: AboutRow) -> list[Panel]:
    title = "Files"
    columns = [
        text("File", "path"),
        text("Kind", "kind"),
        text("Where", "scope"),
        worded("Name", lambda row: row.name),
        worded("What it is for", lambda row: row.description, optional=True),
        worded("Tools", lambda row: ", ".join(row.tools), optional=True),
        worded("Hands over to", lambda row: ", ".join(row.handoffs), optional=True),
        worded("Model", lambda row: row.model, optional=True),
        worded("Remembered in", lambda row: row.recorded_in, optional=True),
    ]
    rows = about.definitions
    return [Panel(key="files", title=title, table=table_of(title, rows, columns), is_wide=True)] if rows else []


def _work(about: AboutRow, links: Links) -> list[Panel]:
    panels = [*_outcomes(about), *_tools(about)]
    if about.composition:
        total = about.use.turns if about.use is not None else about.composition_turns
        panels.append(composition_panel(about.composition, about.composition_turns, total))
    if about.handovers:
        panels.append(_handovers(about.handovers, links))
    return panels


def _outcomes(about: AboutRow) -> list[Panel]:
    if about.use is None or not about.use.outcomes:
        return []
    title = "What became of it"
    points = [
        make_point(name, TURNS, [times], "count", None, tone=TONES.get(name))
        for name, times in outcomes_in_order(about.use.outcomes)
    ]
    chart = bars("outcomes", title, "count", "runs" if about.kind == "subagent" else "turns", TURNS, points)
    note = "Kept and undone: of the edits. Unknown: nothing says whether the result was of use."
    return [Panel(key="outcomes", title=title, chart=chart, table=table_of_points(chart, "Outcome"), note=note)]


def _tools(about: AboutRow) -> list[Panel]:
    told = {name: None for version in about.versions[:1] for name in version.tools}
    told |= {name: None for made in about.definitions for name in made.tools}
    panels: list[Panel] = []
    if about.tools:
        title = "Tools that it called"
        columns = [text("Tool", "name"), number("Calls", "times")]
        panels.append(Panel(key="tools", title=title, table=table_of(title, about.tools, columns)))
    if told:
        title = "Tools that it is given"
        panels.append(Panel(key="given", title=title, table=table_of(title, list(told), [worded("Tool", str)])))
    return panels
