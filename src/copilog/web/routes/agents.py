"""Agents and skills: all of them, and everything about one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from copilog.analysis.about_agents import about_agent, about_skill, conversations_with
from copilog.analysis.agent_costs import SKILL, uses_of
from copilog.analysis.agent_figures import TextVersion
from copilog.analysis.agents import WORK_OF, agents
from copilog.analysis.selection import Chosen, choose
from copilog.analysis.skills import skills
from copilog.errors import UsageError
from copilog.web.agent_views import AGENTS, SKILLS, about_view, agent_sections, skill_sections
from copilog.web.dashboard.cache import state_of
from copilog.web.dashboard.links import Links
from copilog.web.dashboard.panels import Section
from copilog.web.dashboard.parameters import this_minute
from copilog.web.filters import Filters, filters_from, measured_by
from copilog.web.page_cache import Kept, PageCache
from copilog.web.sections_page import sections_page
from copilog.web.viewer import viewer_of
from copilog.writers.html.characters import visible
from copilog.writers.html.diffs import unified_html

if TYPE_CHECKING:
    from starlette.requests import Request

    from copilog.definitions import Definition
    from copilog.store.archive import Archive

MOST_ROWS = 500
LEADS = {
    AGENTS: "Custom agents, chat participants and sub-agents: what each is told, what it cost, and what became of it.",
    SKILLS: "Skills that the model was offered, those that it loaded, and what the turns that loaded them cost.",
}
CRUMBS = {AGENTS: "Agents", SKILLS: "Skills"}
_cache = PageCache()


class VersionView(NamedTuple):
    """A text with its difference from the one before, as HTML."""

    row: TextVersion
    text: str
    diff: Any


def agents_page(request: Request) -> Response:
    return _list_page(request, AGENTS)


def skills_page(request: Request) -> Response:
    return _list_page(request, SKILLS)


def agent_page(request: Request) -> Response:
    return _about_page(request, AGENTS)


def skill_page(request: Request) -> Response:
    return _about_page(request, SKILLS)


# --- lists ----------------------------------------------------------------------------------------------------------


def _list_page(request: Request, address: str) -> Response:
    filters = filters_from(request.query_params)
    try:
        return _shown(request, address, filters, shown=_list(request, address, filters))
    except UsageError as error:
        return _shown(request, address, filters, 400, shown=[], problem=str(error))


def _list(request: Request, address: str, filters: Filters) -> list[Section]:
    now = this_minute()
    viewer = viewer_of(request)
    with viewer.archive() as archive:
        selection = measured_by(filters, now)
        key = (address, archive.path, state_of(archive), filters, selection, now.astimezone().date())
        known = _cache.get(key)
        if known is None or viewer.defined(known.workspaces) != known.defined:
            chosen = choose(archive, selection, now=now, plan=viewer.settings.plan)
            workspaces = _workspaces(chosen)
            defined = viewer.defined(workspaces)
            known = Kept(workspaces, defined, _sections(chosen, address, defined, Links(filters, now)))
            _cache.keep(key, known)
    sections: list[Section] = known.value
    return sections


def _sections(chosen: Chosen, address: str, defined: Sequence[Definition] | None, links: Links) -> list[Section]:
    uses, is_checked = uses_of(chosen), defined is not None
    if address == AGENTS:
        return agent_sections(agents(chosen, defined, limit=MOST_ROWS), uses, links, is_checked=is_checked)
    return skill_sections(skills(chosen, defined, limit=MOST_ROWS), uses, links, is_checked=is_checked)


def _workspaces(chosen: Chosen) -> list[str]:
    rows = chosen.connection.execute("SELECT DISTINCT workspace FROM temp.chosen WHERE workspace IS NOT NULL")
    return sorted(folder for (folder,) in rows)


def _shown(
    request: Request,
    address: str,
    filters: Filters,
    status: int = 200,
    *,
    shown: list[Section],
    problem: str | None = None,
) -> Response:
    return sections_page(
        request,
        "sections.html",
        filters,
        status,
        address=address,
        heading=CRUMBS[address],
        lead=LEADS[address],
        shown=shown,
        problem=problem,
    )


# --- one ------------------------------------------------------------------------------------------------------------


def _about_page(request: Request, address: str) -> Response:
    filters = filters_from(request.query_params)
    name = request.query_params.get("name", "")
    kind = request.query_params.get("kind", "") if address == AGENTS else SKILL
    if not name or kind not in (*WORK_OF, SKILL):
        raise HTTPException(404, "no agent or skill is named in the address")
    now = this_minute()
    viewer = viewer_of(request)
    with viewer.archive() as archive:
        chosen = choose(archive, measured_by(filters, now), now=now, plan=viewer.settings.plan)
        defined = viewer.defined(_workspaces(chosen))
        try:
            about = _about(chosen, archive, kind, name, defined)
        except UsageError as error:
            raise HTTPException(404, str(error)) from None
        links = Links(filters, now)
        view = about_view(about, conversations_with(chosen, about), links)
    figure = "agents.agents.turns" if kind != SKILL else "skills.skills.loaded"
    return sections_page(
        request,
        "about.html",
        filters,
        address=address,
        heading=about.name,
        crumb=CRUMBS[address],
        shown=view.sections,
        view=view,
        versions=[_version(row) for row in about.versions],
        amount_head="Runs" if kind == "subagent" else "Turns",
        all_link=links.behind(figure, about.agent or about.skill) if about.agent or about.skill else None,
        lead="",
        kept=[("kind", kind), ("name", about.name)] if kind != SKILL else [("name", about.name)],
    )


def _about(chosen: Chosen, archive: Archive, kind: str, name: str, defined: Sequence[Definition] | None) -> Any:
    if kind == SKILL:
        return about_skill(chosen, archive, name, defined)
    return about_agent(chosen, archive, kind, name, defined)


def _version(row: TextVersion) -> VersionView:
    return VersionView(row, visible(row.text or ""), unified_html(row.diff) if row.diff else None)


routes = [
    Route(AGENTS, agents_page),
    Route(f"{AGENTS}/one", agent_page),
    Route(SKILLS, skills_page),
    Route(f"{SKILLS}/one", skill_page),
]
