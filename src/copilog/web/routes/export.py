"""Conversations as files to download, in any export format."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from copilog import __version__
from copilog.export.file_names import content_disposition, file_name
from copilog.export.formats import NAMES, Format, Making, format_named
from copilog.export.index import entry, entry_of
from copilog.model import Conversation
from copilog.web.viewer import Viewer, viewer_of

MOST_AT_ONCE = 500
CHUNK = 64 << 10  # characters that are sent together: a page is drawn in thousands of parts
# If a browser shows it: nothing in it may run.
HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"}


def _export(request: Request) -> Response:
    """Return one conversation, or several: /export?id=..&id=..&format=markdown."""
    viewer = viewer_of(request)
    ids = list(dict.fromkeys(value for value in request.query_params.getlist("id") if value))
    kind = format_named(request.query_params.get("format", "html"))
    if not ids:
        raise HTTPException(400, "No conversation was named.")
    if kind is None:
        raise HTTPException(400, f"There is no such format; choose {' or '.join(NAMES)}.")
    if len(ids) > MOST_AT_ONCE:
        raise HTTPException(
            400, f"At most {MOST_AT_ONCE} conversations can be exported at once; `copilog export` has no limit."
        )
    if len(ids) == 1:
        return _one(viewer.conversation(ids[0]), kind)
    return _many(viewer, ids, kind)


def _one(conversation: Conversation, kind: Format) -> Response:
    pieces = kind.pieces([conversation], [entry_of(conversation)], _making())
    return _streamed(pieces, file_name(conversation, kind), kind)


def _many(viewer: Viewer, ids: list[str], kind: Format) -> Response:
    """Return several conversations as one file, each read when it is written."""
    with viewer.archive() as archive:
        found = archive.summaries(ids)
    missing = [each for each in ids if each not in found]
    if missing:
        raise HTTPException(404, f"There is no conversation {missing[0]}.")
    index = [
        entry(found[each].title, found[each].updated_at or found[each].started_at, found[each].turns) for each in ids
    ]
    conversations = (viewer.conversation(each) for each in ids)
    pieces = kind.pieces(conversations, index, _making())
    return _streamed(pieces, f"{len(ids)}-conversations{kind.ending}", kind)


def _making() -> Making:
    return Making(f"copilog {__version__}", datetime.now(UTC))


def _streamed(pieces: Iterator[str], name: str, kind: Format) -> Response:
    headers = {**HEADERS, "Content-Disposition": content_disposition(name)}
    return StreamingResponse(_chunks(pieces), media_type=kind.media_type, headers=headers)


def _chunks(pieces: Iterator[str]) -> Iterator[bytes]:
    """Yield the file as bytes in large chunks; the first are sent while the rest is drawn."""
    waiting: list[str] = []
    length = 0
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        if length >= CHUNK:
            yield "".join(waiting).encode("utf-8", "replace")
            waiting, length = [], 0
    yield "".join(waiting).encode("utf-8", "replace")


routes = [Route("/export", _export, methods=["GET"])]
