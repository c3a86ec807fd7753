"""Convert a complete session object, from whichever file, to a conversation."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

import msgspec

from copilog import jsonio
from copilog.derive import add_title, is_counted
from copilog.derive.times import last_activity
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.fields import (
    Json,
    put_back,
    rest,
    take_bool,
    take_dict,
    take_list,
    take_markdown,
    take_notes,
    take_str,
    take_time,
)
from copilog.intake.long_documents import LongDocument
from copilog.model import (
    ChangesDocument,
    Conversation,
    Draft,
    Message,
    Notice,
    Prompt,
    Queued,
    Relation,
    Turn,
    Workspace,
    prose_of,
)
from copilog.sources.vscode.attachments import attachments_from
from copilog.sources.vscode.prompt import mode_of_input, name_of_mode, user_parts
from copilog.sources.vscode.replaced_texts import Lost, add_withdrawn
from copilog.sources.vscode.request import model_from, read_request
from copilog.sources.vscode.written import copied, keep_written
from copilog.text_cache import SharedTexts
from copilog.uris import uri_to_path

# Turns that VS Code copied into a fork: they were sent and billed in the session that was forked. A copy has new ids
# and the time of the fork. Two things remain of the original turn: the session's id in the metadata of its result, and
# the time at which its response began, which is before the request itself. Only a copy can have such a time.


FORK = "fork"


def mark_copies(conversation: Conversation) -> None:
    """Give copied turns the time of the original ones, and leave their usage to the session that they come from."""
    parents: dict[str, None] = {}
    for turn in conversation.turns:
        parent = _parent_of(turn)
        if parent is None or conversation.native_id in (None, parent):
            continue
        name = f"vscode:{parent}"
        parents[name] = None
        turn.copied_from = name
        if turn.usage:
            turn.extra = {**(turn.extra or {}), "copied_usage": msgspec.to_builtins(turn.usage)}
            turn.usage = []
        for message in conversation.messages:
            if message.turn == turn.index and message.created_at == turn.timing.started_at:
                message.created_at = turn.timing.responded_at
        turn.timing.started_at, turn.timing.completed_at = turn.timing.responded_at, None
    conversation.relations += [Relation(kind=FORK, other_id=name, reason="forked in VS Code") for name in parents]


def _parent_of(turn: Turn) -> str | None:
    """Return the id of the session in which a turn was sent, if that was another session."""
    began, asked = turn.timing.responded_at, turn.timing.started_at
    if began is None or asked is None or began >= asked:
        return None
    result = (turn.extra or {}).get("result")
    metadata = result.get("metadata") if isinstance(result, dict) else None
    name = metadata.get("sessionId") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) and name else None


# A complete session object, from whichever file, as a conversation.


# The session's format number does not identify the format: every version since 2025 wrote 3, with other fields.
QUEUED_NOTES = {"confirmation": "button pressed", "systemInitiatedLabel": "label"}
COPILOT_AGENTS = ("github.copilot", "setup.")
INPUT_KEYS = (
    "inputText",
    "attachments",
    "mode",
    "selectedModel",
    "modelConfiguration",
    "permissionLevel",
    "selections",
    "contrib",
)


def conversation_from(
    state: Json,
    ledger: Ledger,
    *,
    source: str,
    native_id: str | None,
    count_requests: bool,
    family: str = "vscode",
    keeps_written: bool = False,
    removed: Sequence[Any] = (),
    lost: Lost | None = None,
) -> Conversation:
    """Turn a session into a conversation. Takes the session apart.

    `count_requests`: each request is a record of the ledger (flat files); in a log, the lines are. `removed` are
    requests that a log removed from the session; they become superseded turns. `lost` has, by request, the texts that a
    log replaced by others; they become withdrawn text of the answer. `family` is the first half of the conversation's
    id. `keeps_written`: what the model does not hold of a request is kept in `extra`, so that it can be written again.
    """
    session_id = take_str(state, "sessionId")
    native_id = native_id or session_id or None
    conversation = Conversation(id="", native_id=native_id, source=source)
    if session_id is not None and session_id != native_id:
        state["sessionId"] = session_id
    add_title(conversation, take_str(state, "customTitle"), "custom")
    add_title(conversation, take_str(state, "computedTitle"), "computed")
    conversation.location = take_str(state, "initialLocation")
    if conversation.location == "editing-session":  # the name of the panel in old files
        state["initialLocation"], conversation.location = conversation.location, "panel"
    conversation.started_at = take_time(state, "creationDate")
    conversation.has_pending_edits = take_bool(state, "hasPendingEdits")
    if take_bool(state, "isImported"):
        conversation.marks.append("imported")
    conversation.messages = _welcome_from(state)
    _read_requests(state, conversation, ledger, count_requests, removed, keeps_written)
    mark_copies(conversation)
    if lost:
        _add_replaced_texts(conversation, lost)
    conversation.updated_at = take_time(state, "lastMessageDate") or _last_activity(conversation)
    conversation.documents += _uncommitted_changes(state)
    conversation.workspace = _workspace_from(state)
    conversation.draft = _draft_from(state, ledger)
    conversation.queued = _queued_from(state, ledger)
    conversation.assistant = _assistant_of(state, conversation)
    conversation.extra = rest(state)
    conversation.id = f"{family}:{native_id or content_id(conversation)}"
    return conversation


def content_id(conversation: Conversation) -> str:
    """Return an id for a conversation without one, computed from the assistant and the messages."""
    digest = hashlib.sha256()

    def add(*texts: str | None) -> None:
        digest.update("\0".join(text or "" for text in texts).encode("utf-8", "replace") + b"\0")

    add(conversation.assistant, conversation.location)
    for turn in conversation.turns:
        started_at = turn.timing.started_at
        add(turn.request_id, turn.response_id, started_at.isoformat() if started_at else None)
    for message in conversation.messages:
        if message.role in ("user", "assistant"):
            add(message.role, prose_of(message.parts))
    return digest.hexdigest()[:32]


def _read_requests(
    state: Json, conversation: Conversation, ledger: Ledger, count: bool, removed: Sequence[Any], keeps_written: bool
) -> None:
    requests = state.get("requests")
    if requests is None:
        state.pop("requests", None)
        requests = []
    elif not isinstance(requests, list | LongDocument):
        ledger.seen += count
        error = BadRecord(f"`requests` is {type(requests).__name__}, not a list")
        _report_bad_request(error, "/requests", ledger, count)
        return
    else:
        del state["requests"]
    shared = SharedTexts() if isinstance(requests, LongDocument) else None
    values = requests.values() if isinstance(requests, LongDocument) else requests
    for pointer, request in _in_time(values, removed):
        ledger.seen += count
        if request is None:
            if count:
                ledger.ignore("null-request")
            ledger.note("null-request", "an empty slot instead of a request", pointer=pointer)
            continue
        turn = Turn(index=len(conversation.turns), pointer=pointer)
        try:
            if not isinstance(request, dict):
                raise BadRecord(f"a request that is {type(request).__name__}", "bad-request")
            written = copied(request) if keeps_written else None
            messages = read_request(request, turn, ledger)
        except BadRecord as error:
            _report_bad_request(error, pointer or "/requests", ledger, count)
            continue
        ledger.used += count
        if pointer is None:
            turn.superseded = "removed"
        if written is not None:
            keep_written(turn, messages, written)
        conversation.turns.append(turn)
        conversation.messages += messages
        if shared is not None:
            for message in messages:
                for part in message.parts:
                    shared.share(part)
    _mark_replaced(conversation.turns)


def _add_replaced_texts(conversation: Conversation, lost: Lost) -> None:
    messages: list[Message] = []
    for turn, group in groupby(conversation.messages, key=lambda message: message.turn):
        of_turn = list(group)
        request_id = conversation.turns[turn].request_id if turn is not None else None
        if turn is not None and request_id is not None and request_id in lost:
            add_withdrawn(of_turn, lost[request_id], turn)
        messages += of_turn
    conversation.messages = messages


def _mark_replaced(turns: list[Turn]) -> None:
    """Mark turns that another request names as removed when it was sent."""
    named = {turn.request_id: turn for turn in turns if turn.request_id is not None}
    for turn in turns:
        mark = (turn.extra or {}).get("shouldBeRemovedOnSend")
        name = mark.get("requestId") if isinstance(mark, dict) else None
        other = named.get(name) if isinstance(name, str) else None
        if other is not None and other is not turn and other.superseded is None:
            other.superseded = "replaced"


def _in_time(requests: Iterable[Any], removed: Sequence[Any]) -> Iterator[tuple[str | None, Any]]:
    """Yield the requests with their pointers.

    Those that were removed have no pointer and come where their time puts them.
    """
    waiting = sorted(removed, key=_time_of)
    for position, request in enumerate(requests):
        while waiting and _time_of(waiting[0]) < _time_of(request):
            yield None, waiting.pop(0)
        yield f"/requests/{position}", request
    for request in waiting:
        yield None, request


def _time_of(request: Any) -> float:
    at = request.get("timestamp") if isinstance(request, dict) else None
    return at if isinstance(at, int | float) and not isinstance(at, bool) else 0


def _report_bad_request(error: BadRecord, pointer: str, ledger: Ledger, count: bool) -> None:
    if count:
        ledger.reject(error.code, str(error), pointer=pointer)
    else:
        ledger.note(error.code, str(error), "error", pointer=pointer)


def _welcome_from(state: Json) -> list[Message]:
    """Return the greeting that early releases showed before the first request; suggested questions are left out."""
    greeting = state.get("welcomeMessage")
    if greeting is None:
        return []
    holders = [{"item": item} for item in (greeting if isinstance(greeting, list) else [greeting])]
    texts = [text for holder in holders if (text := take_markdown(holder, "item")) is not None]
    if not texts:
        return []
    del state["welcomeMessage"]
    put_back(state, "welcomeMessage", [holder["item"] for holder in holders if holder])
    return [Message(role="system", parts=[Notice(topic="welcome", text=text) for text in texts])]


def _last_activity(conversation: Conversation) -> datetime | None:
    counted = [turn for turn in conversation.turns if is_counted(turn)]
    return last_activity(counted) or conversation.started_at


def _uncommitted_changes(state: Json) -> Iterator[ChangesDocument]:
    """Yield the changes that the folder had against its repository, a document for each file."""
    repository = state.get("repoData")
    diffs = repository.get("diffs") if isinstance(repository, dict) else None
    for item in diffs if isinstance(diffs, list) else []:
        text = take_str(item, "unifiedDiff") if isinstance(item, dict) else None
        if text:
            path = item.get("relativePath")
            yield ChangesDocument(text=text, path=path if isinstance(path, str) else None)


def _workspace_from(state: Json) -> Workspace | None:
    repository = take_dict(state, "repoData")
    folder = take_str(state, "workingDirectory")
    if repository is None and folder is None:
        return None
    made = Workspace(folder=uri_to_path(folder), uri=folder)
    if repository is not None:
        made.repository = take_str(repository, "remoteUrl")
        made.branch = take_str(repository, "localBranch")
        made.commit = take_str(repository, "localHeadCommit") or take_str(repository, "headCommitHash")
        made.extra = rest(repository)
    return made


def _draft_from(state: Json, ledger: Ledger) -> Draft | None:
    """Return the content of the input box; some releases wrote its fields beside the requests."""
    raw = take_dict(state, "inputState")
    pointer = "/inputState/attachments"
    if raw is None:
        if not any(key in state for key in INPUT_KEYS):
            return None
        raw = {key: state.pop(key) for key in INPUT_KEYS if key in state}
        pointer = "/attachments"
    return draft_from(raw, ledger, pointer)


def draft_from(raw: Json, ledger: Ledger, pointer: str) -> Draft:
    """Return the draft that an object of the input box holds. Takes it apart; `pointer` is that of its attachments."""
    draft = Draft(text=take_str(raw, "inputText") or "")
    draft.attachments = attachments_from(take_list(raw, "attachments"), ledger, pointer)
    mode = raw.get("mode")
    if isinstance(mode, str | dict):
        del raw["mode"]
        draft.mode = mode_of_input(mode)
        draft.mode.permission_level = take_str(raw, "permissionLevel")
    model = raw.get("selectedModel")
    if isinstance(model, dict) and isinstance(model.get("identifier"), str):
        del raw["selectedModel"]
        draft.model = model_from(model.pop("identifier"))
        draft.model.extra = rest(model)
    draft.extra = rest(raw)
    return draft


def _queued_from(state: Json, ledger: Ledger) -> list[Queued]:
    """Return the prompts that were waiting to be sent.

    Only the message of each request is taken, as it was never sent.
    """
    items = state.get("pendingRequests")
    if not isinstance(items, list):
        return []
    made: list[Queued] = []
    unread: list[Any] = []
    for position, item in enumerate(items):
        pointer = f"/pendingRequests/{position}/request"
        try:
            made.append(_queued(item, ledger, pointer))
        except BadRecord as error:
            ledger.note(error.code, str(error), "error", pointer=pointer)
            unread.append(item)
    if unread:
        state["pendingRequests"] = unread
    else:
        del state["pendingRequests"]
    return made


def _queued(item: Any, ledger: Ledger, pointer: str) -> Queued:
    request = item.get("request") if isinstance(item, dict) else None
    if not isinstance(request, dict):
        raise BadRecord("a queued prompt without a request", "bad-request")
    message = Message(role="user", parts=user_parts(request, ledger, pointer))
    message.id = take_str(request, "requestId")
    message.created_at = take_time(request, "timestamp")
    options = item.get("sendOptions")
    options = options if isinstance(options, dict) else {}
    for holder in (request, options):
        message.mode = message.mode or name_of_mode(holder.get("modeInfo"))
    message.parts += _sent_along(options)
    labels = {**take_notes(options, QUEUED_NOTES), **take_notes(request, QUEUED_NOTES)}
    if message.parts and labels:
        message.parts[0].notes = {**message.parts[0].notes, **labels}
    if not request:
        del item["request"]
    return Queued(id=take_str(item, "id"), type=take_str(item, "kind"), message=message, extra=rest(item))


def _sent_along(options: Json) -> Iterator[Prompt]:
    """Yield the instructions that would have gone to the model with a queued prompt."""
    context = options.get("instructionContext")
    if _has_text(context):
        text = context if isinstance(context, str) else jsonio.encode(context)
        yield Prompt(text=text, scope="turn", native="instructionContext")
    mode = options.get("modeInfo")
    instructions = mode.get("modeInstructions") if isinstance(mode, dict) else None
    content = instructions.get("content") if isinstance(instructions, dict) else None
    if isinstance(content, str) and content:
        yield Prompt(text=content, scope="turn", native="modeInstructions")


def _has_text(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_text, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and bool(value.strip())


def _assistant_of(state: Json, conversation: Conversation) -> str | None:
    """Return the assistant's name: the recorded one, else that of the product to which the participants belong."""
    name = take_str(state, "responderUsername")
    if name:
        return name
    agents = [turn.agent for turn in conversation.turns if turn.agent is not None]
    if any(agent.id.startswith(COPILOT_AGENTS) for agent in agents):
        return "GitHub Copilot"
    return next((agent.full_name or agent.extension or agent.id for agent in agents if agent.id), None)
