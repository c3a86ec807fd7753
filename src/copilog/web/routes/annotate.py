"""What the user adds to a conversation: a star, labels, a note. Nothing else can be changed from a page."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from copilog.errors import CopilogError, UsageError
from copilog.store.archive import Archive
from copilog.web.live import Change, latest_mark
from copilog.web.viewer import Viewer, viewer_of

MOST_BYTES = 256 * 1024  # of a request; a note is a text, not a file
LONGEST_LABEL = 100


class RequestedChange(msgspec.Struct, forbid_unknown_fields=True):
    """A change of one conversation; fields that are not set stay as they are."""

    id: str
    star: bool | None = None
    add_label: str | None = None
    remove_label: str | None = None
    note: str | msgspec.UnsetType | None = msgspec.UNSET  # an empty text removes it


class Annotated(msgspec.Struct):
    """The annotations after a change."""

    id: str
    is_starred: bool
    labels: list[str]
    note: str | None


async def _annotate(request: Request) -> Response:
    """Apply the change, and return the annotations."""
    try:
        wanted = _requested_change(request.headers.get("content-type", ""), await _body(request))
        now = await run_in_threadpool(_changed, viewer_of(request), wanted)
    except HTTPException as error:
        return JSONResponse({"error": error.detail}, error.status_code)
    except UsageError as error:
        return JSONResponse({"error": str(error)}, 400)
    except CopilogError as error:
        return JSONResponse({"error": str(error)}, 503)
    return JSONResponse(msgspec.to_builtins(now))


async def _body(request: Request) -> bytes:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise HTTPException(413, "the note is too long")
    return body


def _requested_change(kind: str, body: bytes) -> RequestedChange:
    """Return the body, which is JSON or a form with the same names."""
    kind = kind.partition(";")[0].strip().lower()
    try:
        if kind == "application/json":
            return msgspec.json.decode(body, type=RequestedChange)
        if kind == "application/x-www-form-urlencoded":
            fields: dict[str, Any] = dict(parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=True))
            if "star" in fields:
                fields["star"] = fields["star"] in ("1", "true", "on")
            return msgspec.convert(fields, RequestedChange)
    except (msgspec.ValidationError, msgspec.DecodeError, ValueError) as error:
        raise HTTPException(400, f"the request is not valid: {error}") from None
    raise HTTPException(415, "send JSON, or a form")


def _changed(viewer: Viewer, wanted: RequestedChange) -> Annotated:
    if wanted.add_label is not None and len(wanted.add_label) > LONGEST_LABEL:
        raise UsageError(f"a label has at most {LONGEST_LABEL} characters")
    with viewer.archive() as archive:  # opening it for writing would create a missing archive
        try:
            conversation_id = archive.find_id(wanted.id)
        except UsageError as error:
            raise HTTPException(404, str(error)) from None
    with Archive(viewer.settings.archive, write=True) as archive:
        if wanted.star is not None:
            archive.star(conversation_id, wanted.star)
        if wanted.add_label is not None:
            archive.label(conversation_id, wanted.add_label)
        if wanted.remove_label:
            archive.unlabel(conversation_id, wanted.remove_label)
        if wanted.note is not msgspec.UNSET:
            archive.note(conversation_id, wanted.note)
        summary = archive.summaries([conversation_id])[conversation_id]
        viewer.changes.publish(Change([conversation_id], count=1, mark=latest_mark(archive)))
    return Annotated(summary.id, summary.is_starred, summary.labels, summary.note)


routes = [Route("/annotate", _annotate, methods=["POST"])]
