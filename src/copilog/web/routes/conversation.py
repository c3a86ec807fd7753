"""The page of one conversation, and the parts that it loads later."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from copilog.derive import without_superseded
from copilog.derive.charges import Charge
from copilog.derive.notes import notes_of
from copilog.exports.formats import formats
from copilog.exports.numbered import with_numbers
from copilog.model import (
    Attachment,
    Conversation,
    Message,
    Terminal,
    ToolCall,
    ToolResult,
    title_of,
    turn_number,
)
from copilog.store.charges import charges_of
from copilog.store.summary import Summary
from copilog.view.conversation_info import distinct, model_names, panel_of
from copilog.view.terminal_text import clean_line
from copilog.view.turns import framed_outline, outline_of
from copilog.view.wording import counted, span_text
from copilog.web.find_in_conversation import find_in
from copilog.web.routes.similar import similar_beside
from copilog.web.viewer import page, viewer_of
from copilog.writers.html.addresses import ServedAddresses, picture_type
from copilog.writers.html.code import json_html
from copilog.writers.html.conversation import Pages, Window
from copilog.writers.html.outline_page import outline_page
from copilog.writers.html.page import NOTE_FIELD

MANY_TURNS = 300  # with more turns, scripts load the outline after the page; without scripts, links lead through it
KEPT_VIEWS = 8
LONGEST_RAW = 1_000_000  # characters of JSON
# What a browser may do with content of a conversation: show it, and nothing else.
SANDBOX = {"Content-Security-Policy": "default-src 'none'; sandbox", "Cross-Origin-Resource-Policy": "same-origin"}


# --- the page ---------------------------------------------------------------------------------------------------


def _page(request: Request) -> Response:
    pages = _pages(request)
    conversation = pages.conversation
    message = _number(request, "message")
    turn = _number(request, "turn")
    if message is None and turn is not None:
        message = pages.view.first_message_of(turn)
    window = pages.window_around(message) if message is not None else pages.window(_number(request, "from") or 0)
    addresses = ServedAddresses(conversation.id)
    first_row = _number(request, "panel")

    def part_url(part: str) -> str:
        return f"/conversation/{part}?{urlencode({'id': conversation.id})}"

    return page(
        request,
        "conversation.html",
        page_name="library",
        title=clean_line(title_of(conversation), 200),
        summary=_summary(request, conversation),
        facts=_facts(conversation),
        messages=window,
        wanted=_number(request, "message"),
        turns=outline_page(conversation, turn, MANY_TURNS),
        about=None
        if first_row is None
        else panel_of(conversation, first_turn=first_row, charges=_charges(request, conversation)),
        similar=[] if first_row is None else similar_beside(request, conversation.id),
        similar_url=part_url("similar"),
        addresses=_addresses(request, conversation),
        panel_url=addresses.panel(0),
        number_of_turns=len(without_superseded(conversation).turns),
        number_of_messages=len(conversation.messages),
        part_url=part_url,
        formats=formats(),
        timeline_url=part_url("timeline"),
        review_url=f"/review?{urlencode({'id': conversation.id})}",
        other_messages=_other_messages(pages, window),
        find=request.query_params.get("find", "")[:200],
    )


def _other_messages(pages: Pages, window: Window) -> list[tuple[str, str]]:
    """Return the addresses of the messages before and after those on the page, for browsers without scripts."""
    before = pages.start_before(window.first)
    places = ((before, "The messages before these"), (window.next, "The next messages"))
    name = pages.conversation.id
    return [
        (f"/conversation?{urlencode({'id': name, 'from': place})}", words)
        for place, words in places
        if place is not None
    ]


def _facts(conversation: Conversation) -> list[str]:
    """Return the line below the title."""
    conversation = without_superseded(conversation)
    start = conversation.started_at or conversation.updated_at
    models = distinct(model_names(conversation))
    workspace = conversation.workspace
    facts = [
        span_text(start, conversation.updated_at) if start is not None else "",
        clean_line(conversation.assistant or "", 80),
        clean_line(", ".join(models), 200),
        clean_line(workspace.folder or "", 200) if workspace is not None else "",
        counted(len(conversation.turns), "turn"),
        counted(len(conversation.messages), "message"),
        *conversation.marks,
    ]
    return [fact for fact in facts if fact]


# --- parts of the page ------------------------------------------------------------------------------------------


def _messages(request: Request) -> Response:
    """Return a window: from a message on, before one, around one, or from the beginning of a turn."""
    pages = _pages(request)
    around, before, turn = (_number(request, name) for name in ("around", "before", "turn"))
    if around is not None:
        window = pages.window_around(around)
    elif before is not None:
        window = pages.window_before(before)
    elif turn is not None:
        window = pages.window(pages.view.first_message_of(turn))
    else:
        window = pages.window(_number(request, "from") or 0)
    return page(request, "conversation_part.html", what="window", messages=window)


def _below(request: Request) -> Response:
    """Return messages of a sub-agent that were not part of the page."""
    pages = _pages(request)
    call = request.query_params.get("call", "")
    below = pages.messages_below(call, _number(request, "skip") or 0)
    return page(
        request,
        "conversation_part.html",
        what="below",
        messages=below.messages,
        more_address=below.more,
        page=pages.page,
    )


def _outline(request: Request) -> Response:
    """Return the turns, and the line below the title: both change while a conversation grows."""
    conversation = _conversation(request)
    return page(
        request,
        "conversation_part.html",
        what="outline",
        entries=framed_outline(conversation, outline_of(conversation)),
        addresses=ServedAddresses(conversation.id),
        facts=_facts(conversation),
    )


def _panel(request: Request) -> Response:
    conversation = _conversation(request)
    return page(
        request,
        "conversation_part.html",
        what="panel",
        panel_values=panel_of(conversation, charges=_charges(request, conversation)),
        similar=similar_beside(request, conversation.id),
        similar_url=f"/conversation/similar?{urlencode({'id': conversation.id})}",
        addresses=_addresses(request, conversation),
        summary=_summary(request, conversation),
    )


def _addresses(request: Request, conversation: Conversation) -> ServedAddresses:
    """Return the addresses of a conversation, and of the ones that it is related to."""
    with viewer_of(request).archive() as archive:
        others = archive.summaries([relation.other_id for relation in conversation.relations])
    return ServedAddresses(conversation.id, others)


def _find(request: Request) -> Response:
    conversation = _conversation(request)
    with viewer_of(request).archive() as archive:
        found = find_in(archive, conversation.id, request.query_params.get("q", ""))
    return Response(msgspec.json.encode(found), media_type="application/json")


# --- raw data ---------------------------------------------------------------------------------------------------


def _raw(request: Request) -> Response:
    """Return the JSON of a part, a message or a turn, with its file and its position in it."""
    conversation = _conversation(request)
    number = _number(request, "turn")
    if number is not None:
        value: Any = next((turn for turn in conversation.turns if turn.index == number), None)
        if value is None:
            raise HTTPException(404, f"there is no turn {turn_number(number)} in this conversation")
        heading, places = f"Turn {turn_number(number)}", _positions(conversation, number, None)
    else:
        at, message = _message(request, conversation)
        position = _number(request, "part")
        value = message if position is None else _part(message, position)
        heading = f"Message {at + 1}" if position is None else f"Message {at + 1}, part {position + 1}"
        places = _positions(conversation, message.turn, getattr(value, "position", None))
    text = msgspec.json.encode(with_numbers(value)).decode()
    json = json_html(text) if len(text) <= LONGEST_RAW else json_html(text[:LONGEST_RAW])
    return page(request, "conversation_part.html", what="raw", heading=heading, places=places, json=json)


def _positions(conversation: Conversation, turn_index: int | None, position: int | None) -> list[tuple[str, str]]:
    """Return the main file, and the position of the turn in it, and of the part in the turn."""
    lead = next((trace for trace in conversation.provenance if trace.role == "lead"), None)
    turn = next((turn for turn in conversation.turns if turn.index == turn_index), None)
    places: list[tuple[str, str]] = []
    if lead is not None:
        places.append(("File", clean_line(lead.path)))
        if lead.pointer or lead.table or lead.row:
            where = lead.pointer or " ".join(word for word in (lead.table, lead.row) if word)
            places.append(("In it", clean_line(where, 300)))
    if turn is not None and turn.pointer:
        places.append(("Request", clean_line(turn.pointer, 300)))
    if position is not None:
        places.append(("Part of the response", str(position)))
    return places


def _text(request: Request) -> Response:
    """Return a text that is too long for the page."""
    _, message = _message(request, _conversation(request))
    part = _part(message, _number(request, "part") or 0)
    text = _text_of(part, request.query_params.get("field", "text"))
    if text is None:
        raise HTTPException(404, "this conversation has no such text")
    return PlainTextResponse(text.encode("utf-8", "replace"), headers=SANDBOX)


def _text_of(part: Any, field: str) -> str | None:
    """Return a text of a part, by its name in the page's links."""
    if isinstance(part, ToolResult) and field.startswith("item-"):
        index = field.removeprefix("item-")
        return part.items[int(index)].text if index.isdecimal() and int(index) < len(part.items) else None
    if field.startswith(NOTE_FIELD) and (index := field.removeprefix(NOTE_FIELD)).isdecimal():
        return next((note.text for note in notes_of(part)[int(index) : int(index) + 1]), None)
    if isinstance(part, ToolCall):
        agent = part.subagent
        texts = {
            "arguments": part.arguments,
            "task": agent.prompt if agent is not None else None,
            "answer": agent.result if agent is not None else None,
        }
        return texts.get(field)
    allowed = ("output",) if isinstance(part, Terminal) else ("text", "display", "full_text", "message")
    value = getattr(part, field, None) if field in allowed else None
    return value if isinstance(value, str) else None


def _attachment(request: Request) -> Response:
    """Return a picture that the conversation contains, never a file that a path names."""
    _, message = _message(request, _conversation(request))
    part = _part(message, _number(request, "part") or 0)
    item = _number(request, "item")
    data: bytes | None = None
    if isinstance(part, Attachment):
        data = part.data
    elif isinstance(part, ToolResult) and item is not None and item < len(part.items):
        data = part.items[item].data
    kind = picture_type(data) if data is not None else None
    if data is None or kind is None:
        raise HTTPException(404, "there is no picture that a browser can show")
    name = f"picture.{kind.rpartition('/')[2]}"
    headers = {**SANDBOX, "Content-Disposition": f'inline; filename="{name}"'}
    return Response(data, media_type=kind, headers=headers)


# --- parameters -------------------------------------------------------------------------------------------------


def _charges(request: Request, conversation: Conversation) -> list[Charge]:
    with viewer_of(request).archive() as archive:
        return charges_of(archive.connection, conversation.id)


def _conversation(request: Request) -> Conversation:
    return viewer_of(request).conversation(request.query_params.get("id", ""))


def _pages(request: Request) -> Pages:
    """Return the pages of a conversation, cached until the conversation changes."""
    conversation = _conversation(request)
    state = request.app.state
    if not hasattr(state, "pages"):
        state.pages = {}
    kept: dict[str, Pages] = state.pages
    pages = kept.get(conversation.id)
    if pages is None or pages.conversation is not conversation:
        pages = Pages(conversation, ServedAddresses(conversation.id))
        if len(kept) >= KEPT_VIEWS:
            kept.clear()
        kept[conversation.id] = pages
    return pages


def _summary(request: Request, conversation: Conversation) -> Summary:
    with viewer_of(request).archive() as archive:
        found = archive.summaries([conversation.id])
    if conversation.id not in found:  # just removed
        raise HTTPException(404, "this conversation is no longer in the archive")
    return found[conversation.id]


def _number(request: Request, name: str) -> int | None:
    given = request.query_params.get(name)
    if given is None or given == "":
        return None
    if not given.isascii() or not given.isdecimal() or len(given) > 9:
        raise HTTPException(400, f"{name} must be a number")
    return int(given)


def _message(request: Request, conversation: Conversation) -> tuple[int, Message]:
    number = _number(request, "message")
    if number is None or number >= len(conversation.messages):
        raise HTTPException(404, "there is no such message in this conversation")
    return number, conversation.messages[number]


def _part(message: Message, position: int) -> Any:
    if position >= len(message.parts):
        raise HTTPException(404, "there is no such part in this message")
    return message.parts[position]


routes = [
    Route("/conversation", _page),
    Route("/conversation/messages", _messages),
    Route("/conversation/below", _below),
    Route("/conversation/outline", _outline),
    Route("/conversation/panel", _panel),
    Route("/conversation/find", _find),
    Route("/conversation/raw", _raw),
    Route("/conversation/text", _text),
    Route("/conversation/attachment", _attachment),
]
