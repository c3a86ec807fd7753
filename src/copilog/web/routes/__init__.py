"""The routes of all pages, one module per page."""

from __future__ import annotations

from starlette.routing import BaseRoute

from copilog.web.routes import (
    agents,
    annotate,
    commands,
    conversation,
    dashboard,
    digest,
    export,
    files,
    graph,
    library,
    problems,
    review,
    similar,
    timeline,
    trajectories,
)

ROUTES: list[BaseRoute] = [
    *library.routes,
    *conversation.routes,
    *similar.routes,
    *timeline.routes,
    *dashboard.routes,
    *agents.routes,
    *files.routes,
    *commands.routes,
    *digest.routes,
    *graph.routes,
    *trajectories.routes,
    *problems.routes,
    *review.routes,
    *export.routes,
    *annotate.routes,
]
