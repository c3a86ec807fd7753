"""Convert one request to a turn and its messages.

Format notes: docs/formats/vscode-chat.md
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
    take_number,
    take_str,
    take_time,
    texts_at,
    time_from_ms,
)
from copilog.model import (
    AnyPart,
    Attachment,
    CodeBlock,
    Compaction,
    Message,
    Model,
    Place,
    Prompt,
    Round,
    Status,
    Thinking,
    Turn,
    TurnError,
)
from copilog.sources.tool_rounds import calls_from
from copilog.sources.vscode.feedback import next_question, read_feedback
from copilog.sources.vscode.prompt import agent_from, attached_parts, prompts_from, read_mode, user_parts
from copilog.sources.vscode.question_parts import data_of_buttons
from copilog.sources.vscode.response import ResponseReader, messages_from, undone_from
from copilog.sources.vscode.response_order import Shown
from copilog.sources.vscode.usage import usages_from
from copilog.uris import take_uri, uri_to_path

# What early releases of the extension recorded about a request, in the metadata of its result: messages, or edits.


class EarlyRecords(NamedTuple):
    """The messages that were sent, and the answers of the model, in each round."""

    asked: list[AnyPart]
    rounds: list[Round]


def early_records_from(metadata: Json) -> EarlyRecords:
    """Take `messages` and `edits` out of a result's metadata."""
    made = EarlyRecords([], [])
    if "messages" in metadata:
        put_back(metadata, "messages", [item for item in take_list(metadata, "messages") or [] if not _add(item, made)])
    if isinstance(metadata.get("edits"), dict):
        edits = take_dict(metadata, "edits") or {}
        _read_edits(edits, made)
        put_back(metadata, "edits", edits)
    return made


def _add(message: Any, made: EarlyRecords) -> bool:
    """Add one message that was sent to the model or came from it; return False if the value is not a message."""
    if not isinstance(message, dict) or not message.keys() <= {"role", "content", "name"}:
        return False
    role, text = message.get("role"), message.get("content")
    if not isinstance(text, str) or role not in ("user", "assistant", "system"):
        return False
    if role == "assistant":
        made.rounds.append(Round(text=text))
    else:
        made.asked.append(Prompt(text=text, scope="system" if role == "system" else "turn", native="messages"))
    return True


def _read_edits(edits: Json, made: EarlyRecords) -> None:
    """Read the edits of a request: the instructions with the files, and the answer that contains the edits."""
    request, response = take_str(edits, "request"), take_str(edits, "response")
    if request is not None:
        made.asked.append(Prompt(text=request, native="edits"))
    left: list[Any] = []
    for item in take_list(edits, "workingSet") or []:
        text = take_str(item, "text") if isinstance(item, dict) else None
        if text is not None:
            uri = take_uri(item, "uri")
            place = Place(uri=uri, path=uri_to_path(uri))
            made.asked.append(Attachment(type="file", place=place, text=text, is_automatic=True, native="workingSet"))
        if item:
            left.append(item)
    put_back(edits, "workingSet", left)
    if response is not None:
        made.rounds.append(Round(text=response))


# One request: its turn, and its messages.


STATES: dict[int, Status] = {0: "pending", 1: "complete", 2: "cancelled", 3: "failed", 4: "needs-input"}
ERROR_FLAGS = {
    "responseIsIncomplete": "incomplete",
    "responseIsFiltered": "filtered",
    "responseIsRedacted": "redacted",
    "isQuotaExceeded": "quota-exceeded",
    "isRateLimited": "rate-limited",
    "isExpectedError": "expected",
}
ANSWERS = ("response", "result", "responseErrorDetails")
LATEST_DURATION_MS = 100_000_000_000  # a larger "duration" is a time of day: logs write one there
OWN_ENDPOINT = "customendpoint"


def read_request(request: Json, turn: Turn, ledger: Ledger) -> list[Message]:
    """Fill in the turn and return its messages. Takes the request apart; raises BadRecord if it has no content."""
    pointer = turn.pointer or ""
    for plain, key in (("prompt", "message"), ("completion", "response")):  # the names that another tool wrote
        if key not in request and isinstance(request.get(plain), str):
            request[key] = request.pop(plain)
    asked = _user_message_parts(request, ledger, pointer)
    has_response = any(request.get(key) is not None for key in ANSWERS)
    result = take_dict(request, "result") or {}
    metadata = take_dict(result, "metadata") or {}
    attached = {part.data for part in asked if isinstance(part, Attachment) and part.data}
    asked += [part for part in prompts_from(metadata) if not (isinstance(part, Attachment) and part.data in attached)]
    recorded = calls_from(metadata)
    early = early_records_from(metadata)
    asked += early.asked
    recorded.rounds += early.rounds
    items = _response_items(request, ledger, pointer)
    _read_undo(request, turn, items)
    reader = ResponseReader(recorded, ledger, pointer)
    reader.read(items)
    turn.rounds = recorded.rounds
    _read_identity(request, turn)
    _read_times(request, result, turn)
    _read_result(request, result, metadata, turn)
    _read_status(request, turn, has_response)
    read_feedback(request, turn)
    turn.followups += next_question(result)
    turn.usage = usages_from(request, result, metadata)
    _read_model(request, metadata, turn, reader.shown)
    reader.shown += [Shown(part, None) for part in _compactions(metadata)]
    turn.extra = _left_over(request, result, metadata)
    return _messages(asked, reader.shown, turn)


def _user_message_parts(request: Json, ledger: Ledger, pointer: str) -> list[AnyPart]:
    """Return the parts of the user's message. A request without one still counts if it has an answer."""
    try:
        return user_parts(request, ledger, pointer)
    except BadRecord as error:
        if not any(request.get(key) for key in ANSWERS):
            raise
        ledger.note(error.code, f"{error}; its answer was read", pointer=pointer)
        return attached_parts(request, ledger, pointer)


def _response_items(request: Json, ledger: Ledger, pointer: str) -> list[Any]:
    """Return the parts of the response; a single text in very old files. Report other values; they stay in `extra`."""
    value = request.get("response")
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list):
        del request["response"]
        return value
    if value is not None:
        ledger.parts.seen += 1
        ledger.reject_part(f"a response that is {type(value).__name__}, not a list", f"{pointer}/response")
    return []


def _messages(asked: list[AnyPart], shown: list[Shown], turn: Turn) -> list[Message]:
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
    model = _model_that_answered(turn.model) if turn.model else None
    for message in answers:
        if message.role == "assistant":
            message.model = model
            message.model_source = "session" if model else None
    if answers and answers[0].role == "assistant":
        answers[0].id = turn.response_id
        if answers[0].created_at is None:
            answers[0].created_at = turn.timing.responded_at
    return [user, *answers] if asked else answers


def _left_over(request: Json, result: Json, metadata: Json) -> Json | None:
    if metadata:
        result["metadata"] = metadata
    if result:
        request["result"] = result
    for key in ("responseMarkdownInfo", "followups", "contentReferences", "codeCitations", "editedFileEvents"):
        if request.get(key) == []:
            del request[key]
    return rest(request)


# --- agent, mode and model ----------------------------------------------------------------------------------------


def _read_identity(request: Json, turn: Turn) -> None:
    turn.request_id = take_str(request, "requestId")
    turn.response_id = take_str(request, "responseId")
    turn.confirmation = take_str(request, "confirmation")
    turn.is_hidden = take_bool(request, "hiddenFromTranscript") or False
    if turn.is_hidden and turn.superseded is None:
        turn.superseded = "hidden"
    turn.is_request_hidden = take_bool(request, "requestHiddenFromTranscript") or False
    turn.is_system_initiated = take_bool(request, "isSystemInitiated") or False
    turn.system_label = take_str(request, "systemInitiatedLabel")
    command = request.get("slashCommand")
    if isinstance(command, dict):
        turn.command = take_str(command, "name")
        if not command:
            del request["slashCommand"]
    turn.agent = agent_from(request)
    read_mode(request, turn)


def model_from(native_id: str, resolved: str | None = None) -> Model:
    """Return a model from an id such as `copilot/gpt-5`; those of custom endpoints have a group name in between."""
    vendor, slash, name = native_id.partition("/")
    if not slash:
        return Model(id=native_id, name=native_id, resolved=resolved)
    if vendor == OWN_ENDPOINT:
        name = name.partition("/")[2] or name
    return Model(id=native_id, name=name, vendor=vendor, resolved=resolved)


def _model_that_answered(model: Model) -> str:
    """Return the name of the model behind a router such as `auto`, else that of the requested model."""
    if model.resolved is None:
        return model.name
    return model.resolved.removeprefix(f"{model.vendor}/") if model.vendor else model.resolved


def _read_model(request: Json, metadata: Json, turn: Turn, shown: list[Shown]) -> None:
    native_id = take_str(request, "modelId") or take_str(metadata, "modelId") or take_str(metadata, "model")
    resolved = take_str(metadata, "resolvedModel") or _picked_by_router(shown)
    if not native_id and not resolved:
        return
    turn.model = model_from(native_id or resolved or "", resolved if native_id else None)
    if turn.model.name == "auto" and not resolved:
        models = {usage.model for usage in turn.usage if usage.model is not None}
        turn.model.resolved = models.pop() if len(models) == 1 else None
    configuration = take_dict(request, "modelConfiguration")
    if configuration:
        turn.model.extra = {"modelConfiguration": configuration}


def _picked_by_router(shown: list[Shown]) -> str | None:
    for item in shown:
        if item.part.native == "autoModeResolution" and item.part.extra:
            picked = item.part.extra.get("resolved")
            if isinstance(picked, dict) and isinstance(picked.get("id"), str):
                return str(picked["id"])
    return None


# --- times and outcome --------------------------------------------------------------------------------------------


def _read_times(request: Json, result: Json, turn: Turn) -> None:
    timing = turn.timing
    timing.started_at = take_time(request, "timestamp")
    timing.responded_at = take_time(request, "responseTimestamp")
    timing.generated_ms = take_number(request, "elapsedMs")
    waited = request.get("timeSpentWaiting")
    since = time_from_ms(waited) if isinstance(waited, int | float) and waited > LATEST_DURATION_MS else None
    if since is None:
        timing.waited_ms = take_number(request, "timeSpentWaiting")
    elif timing.responded_at in (None, since):
        timing.responded_at = since
        del request["timeSpentWaiting"]
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
        older = request.get("responseErrorDetails")
        if isinstance(older, dict) and (said := take_markdown(older, "message")) is not None:
            message = "\n".join(dict.fromkeys(text for text in (message, said) if text))
            if not older:
                del request["responseErrorDetails"]
        flags = [name for key, name in ERROR_FLAGS.items() if details.get(key) is True and details.pop(key)]
        buttons = details.get("confirmationButtons")
        turn.error = TurnError(
            message=message or "",
            code=take_str(details, "code"),
            flags=flags,
            buttons=texts_at(buttons, "label").splitlines(),
            passed_on=data_of_buttons(buttons),
            extra=rest(details),
        )
    blocks = metadata.get("codeBlocks")
    if isinstance(blocks, list) and all(isinstance(block, dict) for block in blocks):
        del metadata["codeBlocks"]
        turn.code_blocks = [_code_block(block) for block in blocks]


def _code_block(block: Json) -> CodeBlock:
    return CodeBlock(
        code=take_str(block, "code") or "",
        language=take_str(block, "language"),
        uri=take_uri(block, "resource"),
        before=take_str(block, "markdownBeforeBlock"),
        extra=rest(block),
    )


def _read_status(request: Json, turn: Turn, has_response: bool) -> None:
    """Read how a turn ended: from its own field in new files, from a flag and the error in older ones."""
    is_cancelled = turn.error is not None and turn.error.code == "canceled"
    cancelled_flag = take_bool(request, "isCanceled")
    turn.status = _recorded_state(request, turn)
    if turn.status is None:
        if cancelled_flag or is_cancelled:
            turn.status = "cancelled"
        else:
            turn.status = "complete" if has_response else "unanswered"
    if turn.status == "complete" and turn.error is not None:  # releases that recorded no state for failures
        turn.status = "cancelled" if is_cancelled else "failed"


def _recorded_state(request: Json, turn: Turn) -> Status | None:
    state = request.get("modelState")
    if not isinstance(state, dict):
        return None
    turn.timing.completed_at = take_time(state, "completedAt")
    number = state.get("value")
    status = STATES.get(number) if isinstance(number, int) and not isinstance(number, bool) else None
    if status is not None:
        del state["value"]
    if not state:
        del request["modelState"]
    return status


def _read_undo(request: Json, turn: Turn, items: list[Any]) -> None:
    mark = request.get("shouldBeRemovedOnSend")
    if not isinstance(mark, dict):
        turn.is_undone = take_bool(request, "isHidden") or False
    elif isinstance(stop := mark.get("afterUndoStop"), str):
        turn.undone_from = undone_from(items, stop)
        turn.is_undone = turn.undone_from == 0
    else:
        turn.is_undone = True
    if turn.is_undone:
        turn.superseded = "undone"


# --- summaries ----------------------------------------------------------------------------------------------------


def _compactions(metadata: Json) -> list[AnyPart]:
    """Return summaries that replaced the history in later prompts, with the model's thinking about them."""
    made: list[AnyPart] = []
    for key in ("summaries", "summary"):
        found = metadata.get(key)
        if found is None:
            continue
        entries = found if isinstance(found, list) else [found]
        left = [entry for entry in entries if entry is not None and not _take_summary(entry, made)]
        del metadata[key]
        put_back(metadata, key, left if isinstance(found, list) else left[0] if left else {})
    return made


def _take_summary(entry: Any, made: list[AnyPart]) -> bool:
    """Add one summary; return False if the value is not one, or has other fields."""
    text = take_str(entry, "text") if isinstance(entry, dict) else None
    if text is None:
        return False
    if any(part.text == text for part in made if isinstance(part, Compaction)):  # the same summary again
        return not entry
    thinking = entry.get("thinking")
    thought = take_str(thinking, "text") if isinstance(thinking, dict) else take_str(entry, "thinking")
    if thought:
        made.append(Thinking(text=thought, native="summaries"))
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
    return True
