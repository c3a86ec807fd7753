"""What the handlers of all pages use: the archive, conversations, and pages from templates."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse

from copilog import __version__
from copilog.analysis.plans import Plan
from copilog.errors import UsageError
from copilog.redaction import NOBODY, Private
from copilog.render.pages import render_page
from copilog.store.archive import Archive
from copilog.web.definition_cache import DefinedHere
from copilog.web.live import Changes
from copilog.web.trajectory_files import OpenedFiles

if TYPE_CHECKING:
    from copilog.definitions import Definition
    from copilog.model import Conversation
    from copilog.redaction import Redactor

KEPT_CONVERSATIONS = 8


class ViewerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a viewer."""

    archive: Path
    token: str
    entry: str | None = None  # another token, good for one entrance: the arguments of a browser can be seen by others
    hosts: frozenset[str]  # that requests may name: "127.0.0.1:8765", or "127.0.0.1" for any port
    notice: str | None = None  # stands on every page
    is_live: bool = True  # whether pages are told of changes
    is_of_this_machine: bool = True  # whether what is defined on this machine has to do with it
    files: tuple[Path, ...] = ()  # of trajectories, open from the beginning
    plan: Plan = Plan()  # how the user pays for Copilot
    is_redacted: bool = False  # whether the config makes redaction the default for what leaves the archive
    private: Private = NOBODY  # what the config lists as private


class Destination(NamedTuple):
    """An entry of the navigation."""

    name: str
    words: str
    address: str


DESTINATIONS = (
    Destination("library", "Library", "/"),
    Destination("dashboard", "Dashboard", "/dashboard"),
    Destination("agents", "Agents", "/agents"),
    Destination("skills", "Skills", "/skills"),
    Destination("files", "Files", "/files"),
    Destination("commands", "Commands", "/commands"),
    Destination("graph", "Graph", "/graph"),
    Destination("digest", "Digest", "/digest"),
    Destination("trajectories", "Trajectories", "/trajectories"),
    Destination("problems", "Problems", "/problems"),
)


class Viewer:
    """One viewer, shared by all requests."""

    def __init__(self, settings: ViewerSettings) -> None:
        self.settings = settings
        self.changes = Changes()
        self.opened = OpenedFiles(settings.files)
        self._definitions = DefinedHere()
        self._cached: OrderedDict[tuple[str, bytes], Conversation] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def archive(self) -> Iterator[Archive]:
        """Return the archive, opened to read."""
        with Archive(self.settings.archive) as archive:
            yield archive

    def redactor(self) -> Redactor:
        """Return what redacts a file, except for the findings that the user decided to keep."""
        from copilog.redaction import Redactor
        from copilog.redaction.decisions import Decisions, decisions_path

        return Redactor(self.settings.private, keeps=Decisions(decisions_path(self.settings.archive)).keeps)

    def conversation(self, wanted: str) -> Conversation:
        """Return a conversation by its id or its beginning, or raise a 404. Recent ones are cached."""
        with self.archive() as archive:
            try:
                conversation_id = archive.find_id(wanted)
            except UsageError as error:
                raise HTTPException(404, str(error)) from None
            (digest,) = archive.connection.execute(
                "SELECT digest FROM conversation WHERE id = ?", (conversation_id,)
            ).fetchone()
            key = (conversation_id, bytes(digest))
            with self._lock:
                kept = self._cached.get(key)
                if kept is not None:
                    self._cached.move_to_end(key)
                    return kept
            conversation = archive.get(conversation_id)
        self._keep(key, conversation)
        return conversation

    def defined(self, workspaces: Sequence[str]) -> list[Definition] | None:
        """Return the definitions on this machine and in these folders; None if they do not apply to the archive."""
        return self._definitions.of(workspaces) if self.settings.is_of_this_machine else None

    def _keep(self, key: tuple[str, bytes], conversation: Conversation) -> None:
        with self._lock:
            for old in [other for other in self._cached if other[0] == key[0]]:
                del self._cached[old]
            self._cached[key] = conversation
            while len(self._cached) > KEPT_CONVERSATIONS:
                self._cached.popitem(last=False)


def viewer_of(request: Request) -> Viewer:
    viewer: Viewer = request.app.state.viewer
    return viewer


def page(request: Request, template: str, /, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page from a template. All templates know `asset`, `destinations`, `notice`, and a given `page_name`."""
    return HTMLResponse(render_page(template, **common_values(request), **values), status)


def common_values(request: Request) -> dict[str, Any]:
    """Return the values that every template of the viewer may use."""
    settings = viewer_of(request).settings
    return {
        "asset": request.app.state.assets.address,
        "conversation_url": conversation_url,
        "destinations": DESTINATIONS,
        "has_libraries": request.app.state.assets.has_libraries(),
        "is_live": settings.is_live,
        "is_scanning": request.app.state.places is not None,
        "notice": settings.notice,
        "version": __version__,
    }


def is_partial(request: Request) -> bool:
    """Return whether htmx requests a part of a page; going back in history needs the complete page."""
    headers = request.headers
    return "hx-request" in headers and "hx-history-restore-request" not in headers and "hx-boosted" not in headers


def conversation_url(
    conversation_id: str, *, turn: int | None = None, message: int | None = None, page: str = "/conversation"
) -> str:
    """Return the address of a conversation, or of one of its turns or messages; `page` is another page about it."""
    wanted: dict[str, str | int] = {"id": conversation_id}
    if message is not None:
        return f"{page}?{urlencode(wanted | {'message': message})}#m-{message}"
    if turn is not None:
        return f"{page}?{urlencode(wanted | {'turn': turn})}#t-{turn}"
    return f"{page}?{urlencode(wanted)}"
