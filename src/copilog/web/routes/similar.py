"""The conversations that are related to one: a page, and the short list beside the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import Route

from copilog.model import title_of
from copilog.web.viewer import page, viewer_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from copilog.store.similar import Similar

MOST_BESIDE, MOST_LISTED = 5, 30


def similar_beside(request: Request, conversation_id: str) -> list[Similar]:
    """Return the few conversations that the panel lists."""
    return _similar(request, conversation_id, MOST_BESIDE)


def _similar(request: Request, conversation_id: str, most: int) -> list[Similar]:
    from copilog.store.similar import similar_to

    with viewer_of(request).archive() as archive:
        return similar_to(archive.connection, conversation_id, most)


def similar_page(request: Request) -> Response:
    conversation = viewer_of(request).conversation(request.query_params.get("id", ""))
    return page(
        request,
        "similar.html",
        page_name="library",
        id=conversation.id,
        conversation_title=title_of(conversation),
        similar=_similar(request, conversation.id, MOST_LISTED),
    )


routes = [Route("/conversation/similar", similar_page)]
