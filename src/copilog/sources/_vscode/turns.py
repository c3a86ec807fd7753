"""One request: the turn it makes, and its messages."""

from __future__ import annotations

from typing import Any

from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.model import (
    Agent,
    Citation,
    CodeBlock,
    Compaction,
    CustomAgent,
    EditedFileEvent,
    Followup,
    Message,
    Mode,
    Model,
    Status,
    Turn,
    TurnError,
    UsedReference,
    Vote,
)
from copilog.sources._vscode.message import prompts_from, user_parts
from copilog.sources._vscode.places import place_from
from copilog.sources._vscode.response import ResponseReader, Shown, messages_from, undone_from
from copilog.sources._vscode.rounds import calls_from
from copilog.sources._vscode.take import (
    Json,
    rest,
    take_bool,
    take_dict,
    take_int,
    take_list,
    take_markdown,
    take_number,
    take_str,
    take_time,
    time_from_ms,
)
from copilog.sources._vscode.uris import uri_to_string
from copilog.sources._vscode.usage import usages_from

STATES: dict[int, Status] = {0: "pending", 1: "complete", 2: "cancelled", 3: "failed", 4: "needs-input"}
ERROR_FLAGS = {
    "responseIsIncomplete": "incomplete",
    "responseIsFiltered": "filtered",
    "responseIsRedacted": "redacted",
    "isQuotaExceeded": "quota-exceeded",
    "isRateLimited": "rate-limited",
    "isExpectedError": "expected",
}
EDIT_ACTIONS = {1: "keep", 2: "undo", 3: "modify"}
REFERENCE_STATES = {1: "complete", 2: "partial", 3: "omitted"}
# Participants that run in one mode only, from before the mode itself was recorded.
MODE_OF_AGENT = {
    "github.copilot.editsAgent": "agent",
    "github.copilot.editingSession": "edit",
    "github.copilot.editingSession2": "edit",
    "github.copilot.editingSessionEditor": "edit",
    "github.copilot.default": "ask",
    "github.copilot.workspace": "ask",
    "github.copilot.vscode": "ask",
    "github.copilot.terminal": "ask",
}
LATEST_DURATION_MS = 100_000_000_000  # a larger "duration" is a time of day: logs write one there


def read_request(request: Json, turn: Turn, ledger: Ledger) -> list[Message]:
    """Fill in the turn and return its messages. Takes the request apart; raises BadRecord when it says nothing."""
    pointer = turn.pointer or ""
    result = take_dict(request, "result") or {}
    metadata = take_dict(result, "metadata") or {}
    asked = user_parts(request, ledger, pointer)
    asked += prompts_from(metadata)
    recorded = calls_from(metadata)
    items = _response_items(request)
    has_response = items is not None or bool(result) or bool(metadata) or "responseErrorDetails" in request
    _read_undo(request, turn, items or [])
    reader = ResponseReader(recorded, ledger, pointer)
    reader.read(items or [])
    turn.rounds = recorded.rounds
    _read_identity(request, turn)
    _read_times(request, result, turn)
    _read_result(request, result, metadata, turn)
    _read_status(request, turn, has_response)
    _read_feedback(request, turn)
    turn.usage = usages_from(request, result, metadata)
    _read_model(request, metadata, turn, reader.shown)
    reader.shown += [Shown(part, None) for part in _compactions(metadata)]
    turn.extra = _left_over(request, result, metadata)
    return _messages(asked, reader.shown, turn)


def _response_items(request: Json) -> list[Any] | None:
    value = request.get("response")
    if value is None:
        return None
    if isinstance(value, str):
        del request["response"]
        return [value]
    if isinstance(value, list):
        del request["response"]
        return value
    raise BadRecord(f"a response that is {type(value).__name__}, not a list", "bad-request")


def _messages(asked: list[Any], shown: list[Shown], turn: Turn) -> list[Message]:
    mode = turn.mode.name or turn.mode.kind if turn.mode else None
    user = Message(
        role="user",
        parts=asked,
        turn=turn.index,
        id=turn.request_id,
        created_at=turn.timing.started_at,
        mode=mode,
    )
    answers = messages_from(shown, turn.index)
    model = (turn.model.resolved or turn.model.name) if turn.model else None
    for message in answers:
        if message.role == "assistant":
            message.model = model
            message.model_source = "session" if model else None
    if answers and answers[0].role == "assistant":
        answers[0].id = turn.response_id
        if answers[0].created_at is None:
            answers[0].created_at = turn.timing.responded_at
    return [user, *answers]


def _left_over(request: Json, result: Json, metadata: Json) -> Json | None:
    if metadata:
        result["metadata"] = metadata
    if result:
        request["result"] = result
    for key in ("responseMarkdownInfo", "followups", "contentReferences", "codeCitations", "editedFileEvents"):
        if request.get(key) == []:
            del request[key]
    return rest(request)


# --- who and how ------------------------------------------------------------------------------------------------


def _read_identity(request: Json, turn: Turn) -> None:
    turn.request_id = take_str(request, "requestId")
    turn.response_id = take_str(request, "responseId")
    turn.confirmation = take_str(request, "confirmation")
    turn.is_hidden = take_bool(request, "hiddenFromTranscript") or False
    turn.is_request_hidden = take_bool(request, "requestHiddenFromTranscript") or False
    turn.is_system_initiated = take_bool(request, "isSystemInitiated") or False
    turn.system_label = take_str(request, "systemInitiatedLabel")
    command = request.get("slashCommand")
    if isinstance(command, dict):
        turn.command = take_str(command, "name")
    turn.agent = _agent_from(request)
    _read_mode(request, turn)


def _agent_from(request: Json) -> Agent | None:
    raw = request.get("agent")
    if not isinstance(raw, dict):
        return None
    native_id = take_str(raw, "id")
    if native_id is None:
        return None
    del request["agent"]
    extension = raw.get("extensionId")
    extension_id = extension.get("value") if isinstance(extension, dict) else extension
    return Agent(
        id=native_id,
        name=take_str(raw, "name"),
        full_name=take_str(raw, "fullName"),
        extension=extension_id if isinstance(extension_id, str) else None,
        extension_version=take_str(raw, "extensionVersion"),
        extra=rest(raw),
    )


def _read_mode(request: Json, turn: Turn) -> None:
    info = take_dict(request, "modeInfo")
    if info is None:
        kind = MODE_OF_AGENT.get(turn.agent.id) if turn.agent else None
        turn.mode = Mode(kind=kind, evidence="agent id") if kind else None
        return
    instructions = take_dict(info, "modeInstructions")
    mode = Mode(
        kind=take_str(info, "kind"),
        id=take_str(info, "telemetryModeId") or take_str(info, "modeId"),
        name=take_str(info, "telemetryModeName"),
        is_builtin=take_bool(info, "isBuiltin"),
        permission_level=take_str(info, "permissionLevel"),
        evidence="modeInfo",
    )
    turn.mode = mode
    if instructions is not None:
        agent = _custom_agent_from(instructions)
        mode.name = mode.name or agent.name
        is_builtin = mode.is_builtin or instructions.get("isBuiltin") is True
        if is_builtin:
            info["modeInstructions"] = {**instructions, "name": agent.name, "content": agent.instructions}
        else:
            turn.custom_agent = agent
    elif mode.id == "custom" and mode.name:
        turn.custom_agent = CustomAgent(name=mode.name, evidence="modeInfo")
    mode.extra = rest(info)


def _custom_agent_from(instructions: Json) -> CustomAgent:
    tools = instructions.get("toolReferences")
    names = [_tool_name(tool) for tool in tools] if isinstance(tools, list) else []
    uri = uri_to_string(instructions.get("uri"))
    if uri is not None:
        del instructions["uri"]
    return CustomAgent(
        name=take_str(instructions, "name"),
        uri=uri,
        instructions=take_str(instructions, "content"),
        tools=[name for name in names if name],
        evidence="modeInfo",
        extra=rest(instructions),
    )


def _tool_name(tool: object) -> str:
    if isinstance(tool, dict):
        name = tool.get("name", tool.get("toolName", ""))
        return name if isinstance(name, str) else ""
    return tool if isinstance(tool, str) else ""


def model_from(native_id: str, resolved: str | None = None) -> Model:
    """A model from an id such as `copilot/gpt-5`."""
    vendor, slash, name = native_id.partition("/")
    if not slash:
        return Model(id=native_id, name=native_id, resolved=resolved)
    return Model(id=native_id, name=name, vendor=vendor, resolved=resolved)


def _read_model(request: Json, metadata: Json, turn: Turn, shown: list[Shown]) -> None:
    native_id = take_str(request, "modelId") or take_str(metadata, "modelId")
    resolved = take_str(metadata, "resolvedModel")
    for item in shown:
        if item.part.native == "autoModeResolution" and item.part.extra:
            picked = item.part.extra.get("resolved")
            if isinstance(picked, dict) and isinstance(picked.get("id"), str):
                resolved = resolved or picked["id"]
    if native_id is None and resolved is None:
        return
    turn.model = model_from(native_id or resolved or "", resolved if native_id else None)
    configuration = take_dict(request, "modelConfiguration")
    if configuration:
        turn.model.extra = {"modelConfiguration": configuration}


# --- when and how it ended --------------------------------------------------------------------------------------


def _read_times(request: Json, result: Json, turn: Turn) -> None:
    timing = turn.timing
    timing.started_at = take_time(request, "timestamp")
    timing.responded_at = take_time(request, "responseTimestamp")
    timing.generated_ms = take_number(request, "elapsedMs")
    waited = take_number(request, "timeSpentWaiting")
    if waited is not None and waited > LATEST_DURATION_MS:
        timing.responded_at = timing.responded_at or time_from_ms(waited)
    else:
        timing.waited_ms = waited
    timings = take_dict(result, "timings")
    if timings is not None:
        timing.first_progress_ms = take_number(timings, "firstProgress")
        timing.elapsed_ms = take_number(timings, "totalElapsed")
        if timings:
            result["timings"] = timings


def _read_result(request: Json, result: Json, metadata: Json, turn: Turn) -> None:
    turn.details = take_str(result, "details")
    details = take_dict(result, "errorDetails") or take_dict(request, "responseErrorDetails")
    if details is not None:
        message = take_markdown(details, "message")
        flags = [name for key, name in ERROR_FLAGS.items() if take_bool(details, key)]
        turn.error = TurnError(message=message or "", code=take_str(details, "code"), flags=flags, extra=rest(details))
    blocks = metadata.get("codeBlocks")
    if isinstance(blocks, list) and all(isinstance(block, dict) for block in blocks):
        del metadata["codeBlocks"]
        turn.code_blocks = [_code_block(block) for block in blocks]


def _code_block(block: Json) -> CodeBlock:
    uri = uri_to_string(block.get("resource"))
    if uri is not None:
        del block["resource"]
    return CodeBlock(
        code=take_str(block, "code") or "", language=take_str(block, "language"), uri=uri, extra=rest(block)
    )


def _read_status(request: Json, turn: Turn, has_response: bool) -> None:
    """New files say how a turn ended; older ones leave it to a flag and to the error."""
    state = take_dict(request, "modelState")
    cancelled_flag = take_bool(request, "isCanceled")
    is_cancelled = turn.error is not None and turn.error.code == "canceled"
    number = take_int(state, "value") if state is not None else None
    if state is not None and number in STATES:
        turn.timing.completed_at = take_time(state, "completedAt")
        turn.status = STATES[number]
    elif cancelled_flag or is_cancelled:
        turn.status = "cancelled"
    else:
        turn.status = "complete" if has_response else "unanswered"
    if state:
        request["modelState"] = state
    if turn.status == "complete" and turn.error is not None:
        turn.status = "cancelled" if is_cancelled else "failed"


def _read_undo(request: Json, turn: Turn, items: list[Any]) -> None:
    mark = take_dict(request, "shouldBeRemovedOnSend")
    hidden = take_bool(request, "isHidden")
    if mark is None:
        turn.is_undone = hidden or False
        return
    stop = mark.get("afterUndoStop")
    if isinstance(stop, str):
        turn.undone_from = undone_from(items, stop)
        turn.is_undone = turn.undone_from == 0
    else:
        turn.is_undone = True
    request["shouldBeRemovedOnSend"] = mark


# --- what came with it ------------------------------------------------------------------------------------------


def _read_feedback(request: Json, turn: Turn) -> None:
    vote = request.get("vote")
    if isinstance(vote, int) and vote in (0, 1):
        del request["vote"]
        turn.vote = Vote(is_up=vote == 1, reason=take_str(request, "voteDownReason"))
    turn.followups = _each(request, "followups", _followup)
    turn.references = _each(request, "contentReferences", _reference)
    turn.references += _used_context(request)
    turn.citations = _each(request, "codeCitations", _citation)
    turn.edited_files = _each(request, "editedFileEvents", _edited_file)


def _each(request: Json, key: str, reader: Any) -> list[Any]:
    """Read a list item by item; items that cannot be read stay in `extra`."""
    items = request.get(key)
    if not isinstance(items, list):
        return []
    made: list[Any] = []
    left: list[Any] = []
    for item in items:
        value = reader(item) if isinstance(item, dict) else None
        if value is None:
            left.append(item)
        else:
            made.append(value)
    if left:
        request[key] = left
    else:
        del request[key]
    return made


def _followup(item: Json) -> Followup | None:
    text = take_str(item, "message")
    if text is None:
        return None
    item.pop("kind", None)
    return Followup(
        text=text,
        title=take_str(item, "title"),
        agent=take_str(item, "agentId"),
        command=take_str(item, "subCommand"),
        extra=rest(item),
    )


def _reference(item: Json) -> UsedReference | None:
    target = item.get("reference")
    made = UsedReference()
    if isinstance(target, str):
        made.text = target
    elif isinstance(target, dict) and "variableName" in target:
        made.variable = str(target["variableName"])
        made.place = place_from(target.get("value"))
    else:
        made.place = place_from(target)
        if made.place is None:
            return None
    del item["reference"]
    item.pop("kind", None)
    options = item.get("options")
    status = options.get("status") if isinstance(options, dict) else None
    kind = status.get("kind") if isinstance(status, dict) else None
    made.status = REFERENCE_STATES.get(kind) if isinstance(kind, int) else None
    made.extra = rest(item)
    return made


def _used_context(request: Json) -> list[UsedReference]:
    """Documents that old releases recorded as the context they used."""
    context = request.get("usedContext")
    documents = take_list(context, "documents") if isinstance(context, dict) else None
    if documents is None:
        return []
    made: list[UsedReference] = []
    for document in documents:
        place = place_from(document.get("uri")) if isinstance(document, dict) else None
        if place is not None:
            document.pop("uri")
            made.append(UsedReference(place=place, status="complete", extra={"usedContext": document}))
    if request["usedContext"].keys() <= {"kind"}:
        del request["usedContext"]
    return made


def _citation(item: Json) -> Citation:
    uri = uri_to_string(item.get("value"))
    if uri is not None:
        del item["value"]
    item.pop("kind", None)
    return Citation(uri=uri, license=take_str(item, "license"), snippet=take_str(item, "snippet"), extra=rest(item))


def _edited_file(item: Json) -> EditedFileEvent | None:
    action = EDIT_ACTIONS.get(item.get("eventKind", 0)) if isinstance(item.get("eventKind"), int) else None
    return None if action is None else EditedFileEvent(uri=uri_to_string(item.get("uri")), action=action)


def _compactions(metadata: Json) -> list[Compaction]:
    """Summaries that replaced the history in later prompts."""
    found = metadata.get("summaries")
    entries = found if isinstance(found, list) else [metadata.get("summary")]
    made: list[Compaction] = []
    for entry in entries:
        if not isinstance(entry, dict) or (text := take_str(entry, "text")) is None:
            continue
        made.append(
            Compaction(
                text=text,
                round_id=take_str(entry, "toolCallRoundId"),
                model=take_str(entry, "model"),
                trigger=take_str(entry, "source"),
                elapsed_ms=take_number(entry, "durationMs"),
                extra=rest(entry),
            )
        )
    if made and len(made) == len(entries):
        metadata.pop("summaries", None)
        if not isinstance(found, list):
            metadata.pop("summary", None)
    return made
