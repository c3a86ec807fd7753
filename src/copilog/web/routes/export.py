"""Conversations as files to download, in any export format."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from copilog import __version__
from copilog.exports.chosen import Chosen, chosen_in, redacted
from copilog.exports.file_names import content_disposition, file_name
from copilog.exports.formats import NAMES, Format, Making, format_named
from copilog.exports.writing import Reading, pieces_of
from copilog.exports.zipped import zipped
from copilog.redaction import NotRedacted
from copilog.web.viewer import Viewer, viewer_of

MOST_AT_ONCE = 500
CHUNK = 64 << 10  # bytes that are sent together: a page is drawn in thousands of parts
# If a browser shows it: nothing in it may run.
HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"}


def _export(request: Request) -> Response:
    """Return one conversation, or several: /export?id=..&id=..&format=markdown."""
    ids, kind = _wanted(request)
    viewer, held = viewer_of(request), ExitStack()
    making = _making(is_redacted=viewer.settings.is_redacted or request.query_params.get("redact") == "1")
    try:
        chosen = held.enter_context(redacted(_chosen(viewer, ids), viewer.redactor() if making.is_redacted else None))
    except NotRedacted as error:
        raise HTTPException(500, f"{error}.") from error
    name = f"{len(ids)}-conversations{kind.ending}"
    if len(ids) == 1:
        name = file_name(chosen.get(chosen.entries[0].id), kind)
    return _response(chosen, name, kind, making, held)


def _left_out(request: Request) -> Response:
    """Return what such files do not contain, line by line: the page shows it when it saves one."""
    ids, kind = _wanted(request)
    reading, making = Reading(_chosen(viewer_of(request), ids)), _making()
    with tempfile.TemporaryDirectory(prefix="copilog-") as place:
        if kind.write_folder is not None:
            kind.write_folder(reading.all(kind, making), Path(place), making)
        else:
            for _ in kind.pieces(reading.all(kind, making), reading.entries, making):
                pass
    return JSONResponse({"left_out": [left_out.words for left_out in making.left_out]})


def _wanted(request: Request) -> tuple[list[str], Format]:
    """Return the ids and the format that a request names."""
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
    return ids, kind


def _chosen(viewer: Viewer, ids: list[str]) -> Chosen:
    """Return the named conversations, each read when it is written."""
    with viewer.archive() as archive:
        chosen = chosen_in(archive, ids)._replace(get=viewer.conversation)
    missing = set(ids) - {each.id for each in chosen.entries}
    if missing:
        raise HTTPException(404, f"There is no conversation {min(missing)}.")
    return chosen


def _making(*, is_redacted: bool = False) -> Making:
    return Making(by=f"copilog {__version__}", at=datetime.now(UTC), is_redacted=is_redacted)


def _response(chosen: Chosen, name: str, kind: Format, making: Making, held: ExitStack) -> Response:
    if kind.shape == "dataset" or (kind.shape == "single" and len(chosen.entries) > 1):
        name = f"{name.removesuffix(kind.ending)}-{kind.name}.zip"
        return _download(_closing(zipped(chosen, kind, making), held), name, "application/zip")
    chunks = _chunks(pieces_of(Reading(chosen), kind, making))
    return _download(_closing(chunks, held), name, kind.media_type)


def _closing(chunks: Iterator[bytes], held: ExitStack) -> Iterator[bytes]:
    """Yield a file, and close at its end what it was made of."""
    with held:
        yield from chunks


def _download(chunks: Iterator[bytes], name: str, media_type: str) -> Response:
    headers = {**HEADERS, "Content-Disposition": content_disposition(name)}
    return StreamingResponse(chunks, media_type=media_type, headers=headers)


def _chunks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the file in large chunks; the first are sent while the rest is drawn."""
    waiting: list[bytes] = []
    length = 0
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        if length >= CHUNK:
            yield b"".join(waiting)
            waiting, length = [], 0
    yield b"".join(waiting)


routes = [
    Route("/export", _export, methods=["GET"]),
    Route("/export/left-out", _left_out, methods=["GET"]),
]
