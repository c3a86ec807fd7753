"""The files that the most conversations worked with, and the conversations behind each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from copilog.analysis.figures import TouchedFileRow
from copilog.analysis.selection import choose
from copilog.analysis.work_outcomes import important_files
from copilog.errors import UsageError
from copilog.web.dashboard.cache import state_of
from copilog.web.dashboard.links import Links
from copilog.web.dashboard.panels import Panel, Section
from copilog.web.dashboard.parameters import this_minute
from copilog.web.dashboard.work import important_files_panel
from copilog.web.filters import Filters, filters_from, measured_by
from copilog.web.page_cache import Kept, PageCache
from copilog.web.sections_page import sections_page
from copilog.web.viewer import viewer_of

if TYPE_CHECKING:
    from starlette.requests import Request

ADDRESS = "/files"
MOST_FILES = 300
LEAD = (
    "The files that the most conversations worked with: read, edited, created or attached; each number links to them."
)
_cache = PageCache()


def files_page(request: Request) -> Response:
    filters = filters_from(request.query_params)
    shown: list[Section] = []
    problem = None
    try:
        shown = _sections(request, filters)
    except UsageError as error:
        problem = str(error)
    return sections_page(
        request,
        "sections.html",
        filters,
        400 if problem else 200,
        address=ADDRESS,
        heading="Files",
        lead=LEAD,
        shown=shown,
        problem=problem,
    )


def _sections(request: Request, filters: Filters) -> list[Section]:
    now = this_minute()
    with viewer_of(request).archive() as archive:
        selection = measured_by(filters, now)
        key = (archive.path, state_of(archive), filters, selection, now.astimezone().date())
        known = _cache.get(key)
        if known is None:
            rows = important_files(choose(archive, selection, now=now), limit=MOST_FILES)
            panels = _panels(rows, Links(filters, now)) if rows else []
            remarks = [] if rows else ["No file was touched in the selected conversations."]
            known = Kept([], None, [Section(key="list", title="Files", panels=panels, remarks=remarks)])
            _cache.keep(key, known)
    sections: list[Section] = known.value
    return sections


def _panels(rows: Sequence[TouchedFileRow], links: Links) -> list[Panel]:
    """Return the chart of the first files, and the table of all."""
    panel = important_files_panel(rows, links, is_wide=True)
    table = Panel(key="all_files", title="All files", table=panel.table, is_wide=True)
    if len(rows) == MOST_FILES:
        table.title, table.note = f"The first {MOST_FILES} files", "Filters narrow the list."
    return [msgspec.structs.replace(panel, table=None), table]


routes = [Route(ADDRESS, files_page)]
