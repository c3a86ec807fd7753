"""Pages of sections with charts and tables besides the dashboard. Each brings the data of its charts along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from copilog.web.dashboard.panels import Section
from copilog.web.filters import Filters
from copilog.web.viewer import page

if TYPE_CHECKING:
    from starlette.requests import Request


def sections_page(
    request: Request,
    template: str,
    filters: Filters,
    status: int = 200,
    *,
    address: str,
    shown: list[Section],
    **values: Any,
) -> Response:
    """Return the page; `address` is its place in the navigation, and where its filters lead without them."""
    charts = [panel.chart for section in shown for panel in section.panels if panel.chart is not None]
    defaults: dict[str, Any] = {"lead": "", "problem": None, "kept": [], "here": request.url.path}
    return page(
        request,
        template,
        status,
        page_name=address.strip("/"),
        address=address,
        filters=filters,
        shown=shown,
        charts=msgspec.json.encode(charts).decode() if charts else "",
        has_charts=bool(charts),
        **{**defaults, **values},
    )
