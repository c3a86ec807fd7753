"""Write complete conversations: the root of an export, the root of a session file, and the entry of VS Code's index."""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from copilog.chat_json.differences import applied, difference, of_items
from copilog.chat_json.prompts import message_json, variables_json
from copilog.chat_json.requests import STATES, Written, request_json
from copilog.chat_json.values import ms_of, with_texts
from copilog.derive.documents import kinds_of_documents
from copilog.fields import Json
from copilog.model import Conversation, Message, Queued, ToolResult, Turn, parts_of, title_of

VSCODE_SOURCES = ("vscode-session", "vscode-session-log", "vscode-state", "chat-export")
EXPORT = "chat-export"
WRITTEN = "written"  # in `extra`: what the JSON that was read has more than the one that is made of the model
VERSION = 3
PANEL = "panel"
ASSISTANT = "GitHub Copilot"
IN_FILE = (None, "hidden", "undone", "replaced")  # why turns do not count that VS Code keeps in its file
OF_INDEX = ("index", "transfer", "transcript", "edits", "export", "vscode", "agent_session")
QUEUED_NOTES = {"button pressed": "confirmation", "label": "systemInitiatedLabel"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAME = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OURS = uuid.UUID("5f0c8a52-3f0e-4f5a-9d5b-1d3a0c6f7e11")


# --- one request after the other ------------------------------------------------------------------------------------


def is_own(conversation: Conversation) -> bool:
    """Return whether a conversation was read from VS Code's own JSON."""
    return conversation.source in VSCODE_SOURCES


def requests_json(conversation: Conversation, left_out: Counter[str], *, as_written: bool = False) -> Iterator[Json]:
    """Yield the requests of a conversation, in order. `as_written`: those of an export stay without ids."""
    by_turn: defaultdict[int | None, list[Message]] = defaultdict(list)
    for message in conversation.messages:
        by_turn[message.turn].append(message)
    own = is_own(conversation)
    named: set[str] = set()
    for turn in conversation.turns:
        if not _is_in_file(turn, own):
            left_out["turns that no longer count"] += 1
            continue
        made = request_json(turn, by_turn[turn.index], left_out, is_own=own)
        request = with_what_was_written(turn, made) if conversation.source == EXPORT else made.request
        if conversation.source != EXPORT or not as_written:
            _name_request(request, conversation, turn, named)
        yield request


def _is_in_file(turn: Turn, own: bool) -> bool:
    """Return whether VS Code's file has a turn: those that were taken back, or are of another copy, are not in it."""
    if turn.branch is not None:
        return False
    return (
        turn.superseded in IN_FILE and (turn.pointer is not None or turn.superseded is None)
        if own
        else not turn.superseded
    )


def _name_request(request: Json, conversation: Conversation, turn: Turn, named: set[str]) -> None:
    """Give a request without an id of its own one; the same at every export."""
    name = turn.request_id
    if name is None or name in named:
        name = made_request_id(conversation.id, turn.index)
    named.add(name)
    request["requestId"] = name
    if turn.response_id is None and "response" in request:
        request["responseId"] = f"response_{uuid.uuid5(_OURS, name)}"


def made_request_id(conversation_id: str, turn: int) -> str:
    """Return the id of a request that is made of a turn without one: by it what we wrote is recognised."""
    return f"request_{uuid.uuid5(_OURS, f'{conversation_id}/{turn}')}"


def with_what_was_written(turn: Turn, made: Written) -> Json:
    """Return a request with the fields of its JSON that the model does not hold, if the reader stored them."""
    found = (turn.extra or {}).get(WRITTEN)
    if not isinstance(found, dict):
        return made.request
    inner = found.get("in", {})
    response = inner.get("response") if isinstance(inner, dict) else None
    if isinstance(response, dict) and "of" in response:
        request: Json = applied({**made.request, "response": None}, {**found, "in": {**inner, "response": None}})
        request["response"] = applied(items_by_position(made), response)
        return request
    restored: Json = applied(made.request, found)
    return restored


def what_was_written(turn: Turn, messages: list[Message], request: Json) -> Json | None:
    """Return what a request as it was read has more than the one that is made of its turn; None if nothing."""
    made = request_json(turn, messages, Counter(), is_own=True)
    wanted, held = request.get("response"), made.request.get("response")
    if not isinstance(wanted, list) or held is None:
        return difference(made.request, request)
    found = difference({**made.request, "response": None}, {**request, "response": None}) or {}
    response = of_items(items_by_position(made), wanted)
    if response is not None:
        found["in"] = {**found.get("in", {}), "response": response}
    return found or None


def items_by_position(made: Written) -> dict[int, Any]:
    """Return the items of a response by the positions at which they were read."""
    items = made.request.get("response") or []
    return {position: item for position, item in zip(made.positions, items, strict=True) if position is not None}


# --- the root -------------------------------------------------------------------------------------------------------


def export_root(conversation: Conversation) -> Json:
    """Return the root of an export, without its requests."""
    root: Json = {"responderUsername": conversation.assistant or ASSISTANT}
    root["initialLocation"] = conversation.location or PANEL
    if conversation.source != EXPORT:
        return {**root, "initialLocation": PANEL}
    extra = conversation.extra or {}
    root |= {key: value for key, value in extra.items() if key != WRITTEN}
    found: Json = applied(root, extra.get(WRITTEN))
    return found


def session_root(conversation: Conversation, session_id: str, left_out: Counter[str]) -> Json:
    """Return the root of a session, without its requests."""
    extra = conversation.extra or {} if is_own(conversation) else {}
    root: Json = {"version": VERSION, "sessionId": session_id, "creationDate": _created(conversation)}
    known = (*OF_INDEX, WRITTEN, "requests", "version", "sessionId", "initialLocation")
    root |= {key: value for key, value in extra.items() if key not in known}
    root |= {"responderUsername": conversation.assistant or ASSISTANT, "initialLocation": PANEL}
    custom = next((title.text for title in conversation.titles if title.origin == "custom"), None)
    if custom is not None or not is_own(conversation):
        root["customTitle"] = custom if custom is not None else title_of(conversation)
    if conversation.has_pending_edits is not None:
        root["hasPendingEdits"] = conversation.has_pending_edits
    root |= _input_state(conversation, left_out)
    queued = [made for each in conversation.queued if (made := _queued(each, left_out)) is not None]
    return {**root, "pendingRequests": queued} if queued else root


def _created(conversation: Conversation) -> int | float:
    moments = (turn.timing.started_at for turn in conversation.turns)
    first = conversation.started_at or next(filter(None, moments), None) or conversation.updated_at
    return ms_of(first) if first is not None else 0


def _input_state(conversation: Conversation, left_out: Counter[str]) -> Json:
    draft = conversation.draft
    if draft is None:
        return {}
    own = is_own(conversation)
    made: Json = {**((draft.extra or {}) if own else {}), "inputText": draft.text}
    made["attachments"] = variables_json(draft.attachments, left_out, is_own=own)
    if not own:
        made |= {"selections": [], "contrib": {}}
    if draft.mode is not None and own:
        made["mode"] = with_texts(dict(draft.mode.extra or {}), id=draft.mode.id, kind=draft.mode.kind)
        made = with_texts(made, permissionLevel=draft.mode.permission_level)
    if draft.model is not None and own:
        made["selectedModel"] = {**(draft.model.extra or {}), "identifier": draft.model.id}
    return {"inputState": made}


def _queued(each: Queued, left_out: Counter[str]) -> Json | None:
    extra = each.extra or {}
    request = dict(extra.get("request") or {})
    message = message_json(each.message.parts, is_own=True)
    if message is None:
        left_out["queued prompts without a text"] += 1
        return None
    request["message"] = message
    request["variableData"] = {"variables": variables_json(each.message.parts, left_out, is_own=True)}
    started = ms_of(each.message.created_at) if each.message.created_at is not None else None
    request = with_texts(request, requestId=each.message.id, timestamp=started)
    notes = each.message.parts[0].notes if each.message.parts else {}
    request = with_texts(request, **{key: notes.get(name) for name, key in QUEUED_NOTES.items()})
    made = {"kind": each.type or "queued", "sendOptions": {}, **extra, "request": request}
    return with_texts(made, id=each.id)


def session_id_of(conversation: Conversation, *, is_new: bool) -> str:
    """Return the id of a session: its own if VS Code can have given it, else a new one; always the same."""
    native = (conversation.native_id or "").lower()
    if not is_new and _NAME.fullmatch(native):
        return native
    return str(uuid.uuid5(_OURS, f"{conversation.id}{'/copy' if is_new else ''}"))


def index_entry(conversation: Conversation, session_id: str, last: Json | None) -> Json:
    """Return the entry of a session in VS Code's index; `last` is its last request."""
    ended = (last or {}).get("modelState", {}).get("completedAt")
    asked = (last or {}).get("timestamp") or _created(conversation)
    timing = with_texts({"created": _created(conversation)}, lastRequestStarted=asked, lastRequestEnded=ended)
    state = (last or {}).get("modelState", {}).get("value", STATES["complete"])
    return {
        "sessionId": session_id,
        "title": title_of(conversation),
        "lastMessageDate": asked,
        "timing": timing,
        "initialLocation": PANEL,
        "hasPendingEdits": False,
        "isEmpty": last is None,
        "isExternal": False,
        "lastResponseState": 2 if state in (0, 4) else state,
    }


def count_what_is_left_out(conversation: Conversation, left_out: Counter[str], *, is_session: bool) -> None:
    """Count what neither a request nor the root has a place for."""
    left_out["messages outside of turns"] += sum(message.turn is None for message in conversation.messages)
    left_out.update(kinds_of_documents(conversation))
    left_out["files before and after their edits"] += len(conversation.file_changes) + len(conversation.files)
    left_out["usage of the whole session"] += len(conversation.usage)
    left_out["relations to other conversations"] += len(conversation.relations)
    left_out["complete outputs in files of their own"] += sum(
        isinstance(part, ToolResult) and part.full_text is not None for part in parts_of(conversation)
    )
    left_out["the working folder"] += conversation.workspace is not None
    if not is_own(conversation):
        holders = [*conversation.turns, *parts_of(conversation)]
        left_out["turns and parts with fields that only the program knows"] += sum(bool(each.extra) for each in holders)
    if not is_session:
        left_out["queued prompts"] += len(conversation.queued)
        left_out["the text of the input box"] += conversation.draft is not None


# --- bytes ----------------------------------------------------------------------------------------------------------


def in_order(value: Any, first: tuple[str, ...] = ()) -> Any:
    """Return a value with its keys in an order that depends on nothing but the keys."""
    if isinstance(value, dict):
        keys = [*(key for key in first if key in value), *sorted(key for key in value if key not in first)]
        return {key: in_order(value[key]) for key in keys}
    if isinstance(value, list):
        return [in_order(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def json_text_of(value: Any, *, indent: int | None = None) -> str:
    """Return a value as JSON; half surrogate pairs stay escaped."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, indent=indent, ensure_ascii=False, separators=separators)
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
