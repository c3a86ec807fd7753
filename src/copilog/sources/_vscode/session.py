"""A whole session object, whatever file it came from, as a conversation."""

from __future__ import annotations

import hashlib
from datetime import datetime

from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.model import (
    Conversation,
    Draft,
    Message,
    Mode,
    Queued,
    Turn,
    Workspace,
    prose_of,
)
from copilog.sources._vscode.attachments import attachments_from
from copilog.sources._vscode.take import Json, rest, take_bool, take_dict, take_list, take_str, take_time
from copilog.sources._vscode.turns import model_from, read_request

# The session's format number says little: every era since 2025 wrote 3, with other fields.
COPILOT_AGENTS = ("github.copilot", "setup.")


def conversation_from(
    state: Json, ledger: Ledger, *, source: str, native_id: str | None, count_requests: bool
) -> Conversation:
    """Turn a session into a conversation. Takes the session apart.

    `count_requests`: each request is a record of the ledger (flat files); in a log, the lines are.
    """
    session_id = take_str(state, "sessionId")
    native_id = native_id or session_id
    conversation = Conversation(id=f"vscode:{native_id}" if native_id else "", native_id=native_id, source=source)
    if session_id is not None and session_id != native_id:
        state["sessionId"] = session_id
    conversation.title = take_str(state, "customTitle") or take_str(state, "computedTitle")
    conversation.location = take_str(state, "initialLocation")
    if conversation.location == "editing-session":
        conversation.location = "panel"
    conversation.started_at = take_time(state, "creationDate")
    conversation.has_pending_edits = take_bool(state, "hasPendingEdits")
    if take_bool(state, "isImported"):
        conversation.marks.append("imported")
    _read_requests(state, conversation, ledger, count_requests)
    conversation.updated_at = take_time(state, "lastMessageDate") or _last_moment(conversation)
    conversation.workspace = _workspace_from(state)
    conversation.draft = _draft_from(state, ledger)
    conversation.queued = _queued_from(state, ledger)
    conversation.assistant = _assistant_of(state, conversation)
    conversation.extra = rest(state)
    return conversation


def content_id(conversation: Conversation) -> str:
    """An id for a conversation that has none, from what was said in it."""
    digest = hashlib.sha256()
    for message in conversation.messages:
        if message.role in ("user", "assistant"):
            digest.update(f"{message.role}\0{message.id or ''}\0{prose_of(message.parts)}\0".encode("utf-8", "replace"))
    return digest.hexdigest()[:32]


def _read_requests(state: Json, conversation: Conversation, ledger: Ledger, count: bool) -> None:
    requests = state.get("requests")
    if requests is None:
        state.pop("requests", None)
        return
    if not isinstance(requests, list):
        raise BadRecord("`requests` is no list", "bad-record")
    del state["requests"]
    for position, request in enumerate(requests):
        pointer = f"/requests/{position}"
        if count:
            ledger.seen += 1
        if request is None:
            if count:
                ledger.ignore("null-request")
            ledger.note("null-request", "a hole where a request was", pointer=pointer)
            continue
        turn = Turn(index=len(conversation.turns), pointer=pointer)
        try:
            if not isinstance(request, dict):
                raise BadRecord(f"a request that is {type(request).__name__}", "bad-request")
            messages = read_request(request, turn, ledger)
        except BadRecord as error:
            if count:
                ledger.reject(error.code, str(error), pointer=pointer)
            else:
                ledger.note(error.code, str(error), "error", pointer=pointer)
            continue
        if count:
            ledger.used += 1
        conversation.turns.append(turn)
        conversation.messages += messages


def _last_moment(conversation: Conversation) -> datetime | None:
    moments = [
        moment
        for turn in conversation.turns
        for moment in (turn.timing.completed_at, turn.timing.responded_at, turn.timing.started_at)
        if moment is not None
    ]
    return max(moments, default=conversation.started_at)


def _workspace_from(state: Json) -> Workspace | None:
    repository = take_dict(state, "repoData")
    folder = take_str(state, "workingDirectory")
    if repository is None and folder is None:
        return None
    made = Workspace(uri=folder)
    if repository is not None:
        made.repository = take_str(repository, "remoteUrl")
        made.branch = take_str(repository, "localBranch")
        made.commit = take_str(repository, "localHeadCommit") or take_str(repository, "headCommitHash")
        made.extra = rest(repository)
    return made


def _draft_from(state: Json, ledger: Ledger) -> Draft | None:
    """What stood in the input box; some releases wrote its fields beside the requests."""
    raw = take_dict(state, "inputState")
    if raw is None:
        keys = ("inputText", "attachments", "mode", "selectedModel", "selections", "contrib")
        if not any(key in state for key in keys):
            return None
        raw = {key: state.pop(key) for key in keys if key in state}
    draft = Draft(text=take_str(raw, "inputText") or "")
    attachments = take_list(raw, "attachments")
    draft.attachments = attachments_from(attachments, ledger, "/inputState/attachments")
    mode = take_dict(raw, "mode")
    if mode is not None:
        draft.mode = Mode(id=take_str(mode, "id"), kind=take_str(mode, "kind"), evidence="input box", extra=rest(mode))
        if draft.mode.kind is None and draft.mode.id in ("ask", "edit", "agent"):
            draft.mode.kind = draft.mode.id
        draft.mode.permission_level = take_str(raw, "permissionLevel")
    model = take_dict(raw, "selectedModel")
    if model is not None:
        identifier = take_str(model, "identifier")
        if identifier is None:
            raw["selectedModel"] = model
        else:
            draft.model = model_from(identifier)
            draft.model.extra = rest(model)
    draft.extra = rest(raw)
    return draft


def _queued_from(state: Json, ledger: Ledger) -> list[Queued]:
    """Prompts that were waiting to be sent."""
    made: list[Queued] = []
    for position, item in enumerate(take_list(state, "pendingRequests") or []):
        pointer = f"/pendingRequests/{position}/request"
        request = item.get("request") if isinstance(item, dict) else None
        turn = Turn(index=position, pointer=pointer)
        try:
            if not isinstance(request, dict):
                raise BadRecord("a queued prompt without a request", "bad-request")
            message: Message = read_request(request, turn, ledger)[0]
        except BadRecord as error:
            ledger.note(error.code, str(error), "error", pointer=pointer)
            continue
        message.turn = None
        del item["request"]
        if turn.extra:
            item["request"] = turn.extra
        made.append(Queued(id=take_str(item, "id"), type=take_str(item, "kind"), message=message, extra=rest(item)))
    return made


def _assistant_of(state: Json, conversation: Conversation) -> str | None:
    """Who answered: the name that was recorded, else whom the participants belong to."""
    name = take_str(state, "responderUsername")
    if name:
        return name
    agents = [turn.agent for turn in conversation.turns if turn.agent is not None]
    if any(agent.id.startswith(COPILOT_AGENTS) for agent in agents):
        return "GitHub Copilot"
    return next((agent.full_name or agent.extension or agent.id for agent in agents if agent.id), None)
