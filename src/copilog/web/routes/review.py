"""What redaction would replace in conversations, in its context: keep it, replace it, replace all of its kind."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from copilog.redaction.decisions import Decisions, decisions_path
from copilog.redaction.notice import NOTICE
from copilog.redaction.reviewing import Case, cases_in
from copilog.web.viewer import Viewer, page, viewer_of

MOST_AT_ONCE = 50  # conversations
MOST_BYTES = 4 << 20  # of a form
SEE_OTHER = 303
PREFIX = "d-"  # of the form's fields that decide, before a fingerprint


class Kind(NamedTuple):
    """All secrets of one kind."""

    name: str
    cases: list[Case]


def _review(request: Request) -> Response:
    """Show what would be replaced: /review?id=..&id=.."""
    viewer = viewer_of(request)
    ids = _ids(request)
    cases = _cases(viewer, ids, _decisions(viewer))
    by_kind = sorted(cases, key=lambda case: case.finding.kind)
    kinds = [Kind(name, list(group)) for name, group in groupby(by_kind, lambda case: case.finding.kind)]
    return page(
        request,
        "review.html",
        address=f"/review?{urlencode([('id', each) for each in ids])}",
        conversations=[(each, viewer.conversation(each).title or each) for each in ids],
        kinds=kinds,
        number=len(cases),
        open_number=sum(case.decision is None for case in cases),
        said=NOTICE,
        prefix=PREFIX,
    )


async def _decide(request: Request) -> Response:
    """Remember the decisions of the form, and show the page again."""
    fields = await _form(request)
    ids = _ids(request)
    await run_in_threadpool(_remember, viewer_of(request), ids, fields)
    return RedirectResponse(f"/review?{urlencode([('id', each) for each in ids])}", SEE_OTHER)


def _remember(viewer: Viewer, ids: list[str], fields: dict[str, str]) -> None:
    decisions = _decisions(viewer)
    for case in _cases(viewer, ids, decisions):
        chosen = "replace" if fields.get("all") == case.finding.kind else fields.get(PREFIX + case.mark)
        if chosen == "keep":
            decisions.decide(case.finding, "keep")
        elif chosen == "replace":
            decisions.decide(case.finding, "replace")
    decisions.save()


def _decisions(viewer: Viewer) -> Decisions:
    """Return the decisions. Their key is stored at once: the form names findings by fingerprints under it."""
    decisions = Decisions(decisions_path(viewer.settings.archive))
    if not decisions.is_stored:
        decisions.save()
    return decisions


def _cases(viewer: Viewer, ids: list[str], decisions: Decisions) -> list[Case]:
    return cases_in((viewer.conversation(each) for each in ids), decisions, viewer.settings.private)


def _ids(request: Request) -> list[str]:
    ids = list(dict.fromkeys(value for value in request.query_params.getlist("id") if value))
    if not ids:
        raise HTTPException(400, "No conversation was named.")
    if len(ids) > MOST_AT_ONCE:
        raise HTTPException(
            400,
            f"At most {MOST_AT_ONCE} conversations can be reviewed at once; `copilog export --review` has no limit.",
        )
    return ids


async def _form(request: Request) -> dict[str, str]:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise HTTPException(415, "Send a form.")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise HTTPException(413, "The form is too large.")
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True))
    except ValueError as error:
        raise HTTPException(400, f"The form is not valid: {error}") from None


routes = [Route("/review", _review, methods=["GET"]), Route("/review", _decide, methods=["POST"])]
