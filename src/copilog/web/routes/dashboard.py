"""The dashboard: figures as charts and tables, the data of the charts, and the conversations that a number counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from copilog.analysis.drill_down import drill_down
from copilog.analysis.selection import choose
from copilog.errors import UsageError
from copilog.render.report.amounts import shown
from copilog.render.report.columns import HEADS, WORDS
from copilog.web.dashboard.cache import Board, Boards
from copilog.web.dashboard.links import BEHIND, Links
from copilog.web.dashboard.page import drawing_of
from copilog.web.dashboard.parameters import choices_of, ranges_of, this_minute
from copilog.web.filters import Filters, filters_from, measured_by, query_of
from copilog.web.viewer import is_partial, page, viewer_of

if TYPE_CHECKING:
    from datetime import datetime

    from starlette.requests import Request

    from copilog.store.archive import Archive

MOST_BEHIND = 500  # conversations in a list


def dashboard_page(request: Request) -> Response:
    """Return the page. Parameters that are not valid are reported on it, so that the user can correct them."""
    filters = filters_from(request.query_params)
    try:
        return _page(request, filters)
    except UsageError as error:
        if is_partial(request):
            raise
        return _page(request, Filters(), asked=filters, problem=str(error))


def _page(request: Request, filters: Filters, *, asked: Filters | None = None, problem: str | None = None) -> Response:
    now = this_minute()
    links = Links(filters, now)
    with viewer_of(request).archive() as archive:
        board = _board(request, archive, filters, now)
        choices = choices_of(archive, filters, now)
    totals = board.measured.stats.totals
    return page(
        request,
        "dashboard.html",
        400 if problem else 200,
        page_name="dashboard",
        asked=asked or filters,
        problem=problem,
        ranges=ranges_of(filters, links, now),
        choices=choices,
        sections=board.sections if problem is None and totals.conversations else [],
        totals=totals,
        library=links.library(),
        here=links.dashboard(),
        data=f"/dashboard/data{query_of(filters)}",
    )


def dashboard_data(request: Request) -> Response:
    """Return the data of the charts as JSON."""
    filters = filters_from(request.query_params)
    now = this_minute()
    with viewer_of(request).archive() as archive:
        board = _board(request, archive, filters, now)
    return Response(msgspec.json.encode(drawing_of(*board)), media_type="application/json")


def drill_down_page(request: Request) -> Response:
    """Return the list of conversations that one number counts."""
    filters = filters_from(request.query_params)
    figure = request.query_params.get("figure", "")
    values = [value for value in request.query_params.getlist("value") if value]
    now = this_minute()
    with viewer_of(request).archive() as archive:
        chosen = choose(archive, measured_by(filters, now), now=now, plan=viewer_of(request).settings.plan)
        found = drill_down(chosen, figure, *values)
    return page(
        request,
        "dashboard_behind.html",
        page_name="dashboard",
        heading=shown(found.heading),
        amounts=HEADS[found.unit],
        words=WORDS[found.unit],
        rows=found.rows[:MOST_BEHIND],
        found=len(found.rows),
        back=Links(filters, now).dashboard(),
    )


def _board(request: Request, archive: Archive, filters: Filters, now: datetime) -> Board:
    state = request.app.state
    if not hasattr(state, "boards"):
        state.boards = Boards()
    boards: Boards = state.boards
    return boards.of(archive, filters, now, viewer_of(request).defined, viewer_of(request).settings.plan)


routes = [
    Route("/dashboard", dashboard_page),
    Route("/dashboard/data", dashboard_data),
    Route(BEHIND, drill_down_page),
]
