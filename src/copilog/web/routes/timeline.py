"""The waterfall of one conversation."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from copilog.analysis.timeline import Span, Timeline, timeline_of
from copilog.model import title_of
from copilog.web.viewer import page, viewer_of

if TYPE_CHECKING:
    from starlette.requests import Request

KINDS = {
    "turn": "a turn",
    "first-token": "up to the first token",
    "tool": "a tool call",
    "subagent": "a sub-agent",
    "wait": "waiting for the user",
}


def timeline_page(request: Request) -> Response:
    """Return the page: a chart, and a table of the same."""
    conversation = viewer_of(request).conversation(request.query_params.get("id", ""))
    timeline = timeline_of(conversation)
    return page(
        request,
        "timeline.html",
        page_name="library",
        id=conversation.id,
        conversation_title=title_of(conversation),
        timeline=timeline,
        turns=[(number, list(spans)) for number, spans in groupby(_in_order(timeline), attrgetter("turn"))],
        kinds=KINDS,
    )


def timeline_data(request: Request) -> Response:
    """Return the data of the chart as JSON."""
    conversation = viewer_of(request).conversation(request.query_params.get("id", ""))
    return Response(msgspec.json.encode(timeline_of(conversation)), media_type="application/json")


def _in_order(timeline: Timeline) -> list[Span]:
    return sorted(timeline.spans, key=lambda span: (span.turn, span.kind != "turn", span.start_ms, span.end_ms))


routes = [Route("/conversation/timeline", timeline_page), Route("/conversation/timeline.json", timeline_data)]
