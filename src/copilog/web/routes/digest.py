"""The pages of the digest, as `copilog digest` writes them: the home page, topics, workspaces and conversations.

The first two are made from the list of conversations alone, so that they are as fast as the library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from copilog.web.viewer import conversation_url, page, viewer_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from copilog.digest import Digest
    from copilog.digest.collection import Entry
    from copilog.store.archive import Archive
    from copilog.store.summary import Summary

HOME = "/digest"
MOST_CONVERSATIONS = 200  # of a workspace: each is read
MOST_LISTED = 5000
_PAGE = re.compile(r"(?:\.\./)?(conversations|workspaces)/([^#]+)(#.*)?")
_TURN = re.compile(r"#turn-(\d{1,9})")
_INDEXES = {"topics.md": f"{HOME}/topics", "files.md": "/files"}


def digest_home(request: Request) -> Response:
    from copilog.digest.index_pages import home_page

    entries = _listed(request)
    workspaces = {entry.digest.workspace: f"workspaces/{entry.digest.workspace or '-'}" for entry in entries}
    return _page(request, "What was learnt", home_page(entries, workspaces, is_in_folder=False))


def digest_topics(request: Request) -> Response:
    from copilog.digest.index_pages import topics_page

    return _page(request, "Topics", topics_page(_listed(request)))


def digest_of_workspace(request: Request) -> Response:
    from copilog.digest.collection import workspace_name
    from copilog.digest.workspace_page import workspace_page

    folder = request.query_params.get("folder") or None
    entries, left_out = _of_workspace(request, folder)
    if not entries:
        raise HTTPException(404, "no conversation is of this workspace")
    return _page(request, workspace_name(folder), workspace_page(folder, entries), left_out=left_out)


def digest_of_conversation(request: Request) -> Response:
    from copilog.digest import digest_of
    from copilog.digest.collection import workspace_name
    from copilog.digest.conversation_page import conversation_page

    conversation = viewer_of(request).conversation(request.query_params.get("id", ""))
    digest = digest_of(conversation, *_added(request, conversation.id))
    workspace = workspace_name(digest.workspace), f"../workspaces/{digest.workspace or '-'}"
    return _page(request, digest.title, conversation_page(digest, workspace), digest)


def address_of(link: str, conversation_id: str | None = None) -> str | None:
    """Return the address in the viewer of a link between pages; None for any other link."""
    turn = _TURN.fullmatch(link)
    if turn is not None and conversation_id is not None:
        return conversation_url(conversation_id, turn=int(turn[1]) - 1)
    if link in _INDEXES:
        return _INDEXES[link]
    match = _PAGE.fullmatch(link)
    if match is None:
        return None
    name, anchor = unquote(match[2]), match[3] or ""
    if match[1] == "workspaces":
        return f"{HOME}/workspace?folder={quote('' if name == '-' else name, safe='')}{anchor}"
    turn = _TURN.fullmatch(anchor)
    if turn is not None:
        return conversation_url(name, turn=int(turn[1]) - 1)
    return f"{HOME}/conversation?id={quote(name, safe='')}{anchor}"


# --- entries --------------------------------------------------------------------------------------------------------


def _listed(request: Request) -> list[Entry]:
    """Return all conversations with what a list knows of them."""
    from copilog.store.selection import Selection

    with viewer_of(request).archive() as archive:
        return [_light(summary) for summary in archive.list_selected(Selection(), MOST_LISTED)]


def _light(summary: Summary) -> Entry:
    from copilog.digest import Digest
    from copilog.digest.collection import Entry
    from copilog.view.wording import counted

    counts = [counted(summary.turns, "turn")]
    if summary.edits:
        counts.append(counted(summary.edits, "edit"))
    digest = Digest(
        id=summary.id,
        title=summary.title,
        source=summary.source,
        workspace=summary.workspace,
        started_at=summary.started_at,
        updated_at=summary.updated_at,
        labels=summary.labels,
        counts=counts,
    )
    return Entry(digest, f"conversations/{summary.id}", [])


def _of_workspace(request: Request, folder: str | None) -> tuple[list[Entry], int]:
    """Return the newest conversations of a workspace and its memories, and how many more there are."""
    from copilog.digest import digest_of, with_memories
    from copilog.digest.collection import entry_of
    from copilog.store.selection import Selection

    with viewer_of(request).archive() as archive:
        ids = [summary.id for summary in archive.list_selected(Selection()) if summary.workspace == folder]
        kept = ids[:MOST_CONVERSATIONS]
        found = []
        for name in with_memories(archive, kept) if kept else []:
            digest = digest_of(archive.get(name))
            is_here = digest.workspace == folder and digest.is_worth_a_page
            found.append(entry_of(digest, f"conversations/{name}" if is_here else ""))
    return found, len(ids) - len(kept)


def _added(request: Request, conversation_id: str) -> tuple[list[str], str | None]:
    with viewer_of(request).archive() as archive:
        return _added_in(archive, conversation_id)


def _added_in(archive: Archive, conversation_id: str) -> tuple[list[str], str | None]:
    summary = archive.summaries([conversation_id]).get(conversation_id)
    return (summary.labels, summary.note) if summary is not None else ([], None)


def _page(
    request: Request, title: str, blocks: Iterable[str], digest: Digest | None = None, left_out: int = 0
) -> Response:
    from copilog.writers.html.own_pages import own_page_html

    conversation_id = digest.id if digest is not None else None
    text = "\n\n".join(block for block in blocks if block)
    return page(
        request,
        "digest.html",
        page_name="digest",
        heading=title,
        id=conversation_id,
        content=own_page_html(text, lambda link: address_of(link, conversation_id)),
        left_out=left_out,
    )


routes = [
    Route(HOME, digest_home),
    Route(f"{HOME}/topics", digest_topics),
    Route(f"{HOME}/workspace", digest_of_workspace),
    Route(f"{HOME}/conversation", digest_of_conversation),
]
