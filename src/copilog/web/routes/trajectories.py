"""Files of trajectories, as `copilog extract` writes them: shown like any conversation, and compared."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from copilog.diagnostics import Ledger
from copilog.sources import BY_NAME, Found
from copilog.trajectory_compare import (
    Difference,
    compare_files,
    compare_trajectories,
    find_conversation,
    read_back,
    text_diff,
)
from copilog.view.blocks import Shown
from copilog.view.terminal_text import clean_line
from copilog.web.viewer import page, viewer_of
from copilog.writers.html import side_by_side_html, unified_html
from copilog.writers.html.conversation import Pages

if TYPE_CHECKING:
    from starlette.requests import Request

    from copilog.model import Conversation, Message
    from copilog.web.trajectory_files import OpenedFile

SOURCE = "trajectory-file"
ROWS = 200  # of a list
MESSAGES = 60  # on one page
MOST_DIFFERENCES = 200
LONGEST_VALUE = 2_000


def files_page(request: Request) -> Response:
    """Return the list of open files, with a form to open more."""
    return page(request, "trajectories.html", page_name="trajectories", files=viewer_of(request).opened.all())


async def drop(request: Request) -> Response:
    """Open a file that the user dropped on the page, or selected: its bytes are the body."""
    name = request.query_params.get("name", "")
    opened = await viewer_of(request).opened.drop(name, request.stream())
    return JSONResponse({"address": f"/trajectories/file?key={opened.key}"})


def close(request: Request) -> Response:
    viewer_of(request).opened.close(request.query_params.get("key", ""))
    return RedirectResponse("/trajectories", 303)


def file_page(request: Request) -> Response:
    """Return the conversations of one file."""
    opened = viewer_of(request).opened.get(request.query_params.get("key", ""))
    ledger = Ledger(path=opened.name, source=SOURCE)
    stubs = list(BY_NAME[SOURCE].index(_found_of(opened), ledger))
    first = _number(request, "from")
    rows = [
        (stub.native_id or stub.id, _in_short(_read(opened, stub.native_id or "")))
        for stub in stubs[first : first + ROWS]
    ]
    return page(
        request,
        "trajectory_file.html",
        page_name="trajectories",
        file=opened,
        rows=rows,
        first=first,
        step=ROWS,
        total=len(stubs),
        bad=ledger.bad,
        others=[other for other in viewer_of(request).opened.all() if other.key != opened.key],
    )


def _in_short(conversation: Conversation | None) -> dict[str, Any] | None:
    if conversation is None:
        return None
    messages = conversation.messages
    conflicts = sum(message.model_conflict is not None for message in messages)
    return {
        "messages": len(messages),
        "turns": len(conversation.turns),
        "modes": sorted({message.mode for message in messages if message.mode}),
        "models": sorted({message.model for message in messages if message.model}),
        "conflicts": conflicts,
    }


def show(request: Request) -> Response:
    """Return one conversation of a file, drawn like any conversation."""
    opened = viewer_of(request).opened.get(request.query_params.get("key", ""))
    wanted = request.query_params.get("conversation", "")
    conversation = _read(opened, wanted)
    if conversation is None:
        raise HTTPException(404, f"{opened.name} has no conversation {wanted!r}")
    window = Pages(conversation, is_whole=True).window(_number(request, "from"), MESSAGES)
    for item in window.items:
        if isinstance(item, Shown):
            item.facts = _facts_of(conversation.messages[item.number])
    return page(
        request,
        "trajectory.html",
        page_name="trajectories",
        file=opened,
        name=wanted,
        messages=window,
        total=len(conversation.messages),
        conversation=conversation,
    )


def _facts_of(message: Message) -> list[str]:
    """Return what extraction found out about a message, to show on that message."""
    source = f" ({clean_line(message.model_source, 60)})" if message.model_source else ""
    facts = (
        f"mode {clean_line(message.mode, 60)}" if message.mode else "",
        f"model {clean_line(message.model, 80)}{source}" if message.model else "",
    )
    return [fact for fact in facts if fact]


def compare(request: Request) -> Response:
    """Return two files compared, as `copilog compare` does; or one conversation of both, field by field."""
    opened = viewer_of(request).opened
    old, new = (opened.get(request.query_params.get(side, "")) for side in ("old", "new"))
    wanted = request.query_params.get("conversation")
    if wanted:
        return _compare_one(request, old, new, wanted)
    with compare_files(old.path, new.path) as comparison:
        return page(
            request,
            "trajectory_compare.html",
            page_name="trajectories",
            old=old,
            new=new,
            summary=comparison.summary(),
            different=list(islice(comparison.different(), ROWS)),
            only_in_old=list(islice(comparison.only_in(0), ROWS)),
            only_in_new=list(islice(comparison.only_in(1), ROWS)),
            most=ROWS,
        )


def _compare_one(request: Request, old: OpenedFile, new: OpenedFile, wanted: str) -> Response:
    sightings = find_conversation(old.path, new.path, wanted)
    both = [
        read_back(file.path, sighting) if sighting is not None else None
        for file, sighting in zip((old, new), sightings, strict=True)
    ]
    before, after = both
    found = compare_trajectories(before, after) if before is not None and after is not None else {}
    return page(
        request,
        "trajectory_differences.html",
        page_name="trajectories",
        old=old,
        new=new,
        conversation_id=wanted,
        missing=next((file.name for file, one in zip((old, new), both, strict=True) if one is None), None),
        sections={
            name: [_difference_entry(one) for one in several[:MOST_DIFFERENCES]]
            for name, several in found.items()
            if several
        },
        cut=MOST_DIFFERENCES,
    )


def _difference_entry(difference: Difference) -> dict[str, Any]:
    """Return a difference: texts as a diff, other values as JSON on both sides."""
    diff = text_diff(difference)
    return {
        "path": difference.path,
        "kind": difference.kind,
        "unified": unified_html(diff) if diff is not None else None,
        "split": side_by_side_html(diff) if diff is not None else None,
        "old": _value(difference.old),
        "new": _value(difference.new),
    }


def _value(value: Any) -> str | None:
    if value is msgspec.UNSET:
        return None
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]} … ({len(text):,} characters)"


def _found_of(opened: OpenedFile, native_id: str | None = None) -> Found:
    return Found(source=SOURCE, path=opened.path, native_id=native_id)


def _read(opened: OpenedFile, native_id: str) -> Conversation | None:
    ledger = Ledger(path=opened.name, source=SOURCE)
    return next(iter(BY_NAME[SOURCE].read(_found_of(opened, native_id), ledger)), None)


def _number(request: Request, name: str) -> int:
    value = request.query_params.get(name, "0")
    return int(value) if value.isdecimal() and len(value) < 10 else 0


routes = [
    Route("/trajectories", files_page),
    Route("/trajectories", drop, methods=["POST"]),
    Route("/trajectories/close", close, methods=["POST"]),
    Route("/trajectories/file", file_page),
    Route("/trajectories/show", show),
    Route("/trajectories/compare", compare),
]
