"""The application: all routes behind the guard, and errors as pages that say what happened and what to do next."""

from __future__ import annotations

import logging
import threading
from asyncio import to_thread
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from copilog.errors import CopilogError, UsageError
from copilog.render.pages import render_page
from copilog.web import assets, live
from copilog.web.assets import Assets
from copilog.web.live import DetectorThread
from copilog.web.routes import ROUTES
from copilog.web.scans import Places, Scanning
from copilog.web.security import HEADERS, Guard, SafeHeaders
from copilog.web.viewer import Viewer, ViewerSettings, is_partial, page
from copilog.writers.html.conversation import warm_up

logger = logging.getLogger(__name__)

WORDS = {
    400: "This request is not valid",
    403: "Not allowed",
    404: "Not found",
    405: "Not possible here",
    413: "Too large",
    503: "The archive cannot be read right now",
}
NEXT = {
    404: "The address may be mistyped, or its conversation was removed. The library lists all conversations.",
    503: "`copilog scan` updates the archive; `copilog doctor` shows what prevents that.",
}


def create_app(settings: ViewerSettings, places: Places | None = None) -> Starlette:
    """Return the viewer of one archive, which is updated from these folders."""
    viewer = Viewer(settings)
    files = Assets()

    def refusal(status: int, happened: str, what_next: str) -> Response:
        return HTMLResponse(
            render_page("refused.html", title=WORDS.get(status, "Refused"), happened=happened, what_next=what_next),
            status,
        )

    app = Starlette(
        routes=[*assets.routes, *live.routes, *ROUTES],
        middleware=[
            Middleware(SafeHeaders),
            Middleware(Guard, token=settings.token, entry=settings.entry, hosts=settings.hosts, refusal=refusal),
        ],
        exception_handlers={
            HTTPException: _on_refusal,
            CopilogError: _on_our_error,
            Exception: _on_any_error,
        },
        lifespan=_lifespan,
    )
    app.state.viewer = viewer
    app.state.places = places
    app.state.assets = files
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    """Watch for changes and scan from the first request to the last."""
    viewer: Viewer = app.state.viewer
    places: Places | None = app.state.places
    # Prepares what all pages need, so that the first page does not take longer.
    threading.Thread(target=warm_up, name="warm-up", daemon=True).start()
    with ExitStack() as running:
        if viewer.settings.is_live:
            looking = DetectorThread(viewer.settings.archive, viewer.changes)
            running.callback(looking.stop)
            await to_thread(looking.start)
        if places is not None:
            scanning = Scanning(places)
            running.callback(scanning.stop)
            scanning.start()
        running.callback(viewer.changes.close)
        running.callback(viewer.opened.close_all)
        yield


# --- errors ---------------------------------------------------------------------------------------------------------


def _on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    answer = error_page(request, error.status_code, error.detail)
    answer.headers.update(error.headers or {})
    return answer


def _on_our_error(request: Request, error: Exception) -> Response:
    """Report an invalid request, or an archive that cannot be read, with what to do next."""
    return error_page(request, 400 if isinstance(error, UsageError) else 503, str(error))


def _on_any_error(request: Request, error: Exception) -> Response:
    """Report a bug: the details on standard error, the page has only the type of the exception."""
    logger.error("%s failed with %s", request.url.path, type(error).__name__)
    answer = error_page(
        request,
        500,
        f"copilog failed with {type(error).__name__} while it made this page.",
        "This is a bug. `copilog --debug serve` prints a traceback; please report the bug with it.",
    )
    answer.headers.update(HEADERS)  # this response bypasses the middleware
    return answer


def error_page(request: Request, status: int, happened: str, what_next: str | None = None) -> Response:
    """Return a page that says what happened and what to do next; one line for a part of a page."""
    title = WORDS.get(status, "Something broke" if status >= 500 else "This did not work")
    if happened.lower() == title.lower():
        happened = ""
    if is_partial(request):
        return page(request, "error_part.html", status, title=title, happened=happened)
    return page(request, "error.html", status, title=title, happened=happened, what_next=what_next or NEXT.get(status))
