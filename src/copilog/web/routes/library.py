"""The library: all conversations, filtered, searched and sorted as the address says."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from copilog.exports.formats import formats
from copilog.store.library import PAGE_ROWS
from copilog.web.filters import filters_from
from copilog.web.library_view import library_view, part_view, tools_view
from copilog.web.viewer import is_partial, page, viewer_of

MOST_ROWS = 2_000  # at once: going back to the list restores all rows


def library(request: Request) -> Response:
    """Return the page; for htmx only the list with its facets, or the next rows."""
    filters = filters_from(request.query_params)
    offset = _integer(request, "from", 0)
    with viewer_of(request).archive() as archive:
        if is_partial(request) and offset:
            limit = min(max(1, _integer(request, "rows", PAGE_ROWS)), MOST_ROWS)
            part = part_view(archive, filters, offset, limit)
            return page(request, "library_rows.html", part=part)
        view = library_view(archive, filters, offset, with_tools="tools" in request.query_params)
    template = "library_list.html" if is_partial(request) else "library.html"
    asked = request.query_params.get("q", "")
    return page(request, template, page_name="library", view=view, asked=asked, formats=formats())


def tools(request: Request) -> Response:
    """Return the facet of tools, when the user opens it."""
    with viewer_of(request).archive() as archive:
        facet = tools_view(archive, filters_from(request.query_params))
    return page(request, "facets.html", facets=[facet], only_choices=True)


def _integer(request: Request, name: str, otherwise: int) -> int:
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else otherwise


routes = [
    Route("/", library),
    Route("/library/tools", tools),
]
