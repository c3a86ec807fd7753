"""Write one request: its fields, its message, the parts of its response, and what is recorded beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from copilog.chat_json.calls import KIND, Called, call_json, own_call_json, shown_id, unwritten_of
from copilog.chat_json.fences import Placed, with_fences
from copilog.chat_json.parts import own_part_json, part_json
from copilog.chat_json.prompts import message_json, variables_json
from copilog.chat_json.records import (
    NO_ROUND,
    code_block_json,
    early_json,
    made_rounds,
    prompts_json,
    put_usage,
    results_json,
    rounds_json,
    summaries_json,
)
from copilog.chat_json.values import ms_of, number_json, place_json, uri_json, with_texts
from copilog.fields import Json
from copilog.model import (
    Agent,
    AnyPart,
    Compaction,
    CustomAgent,
    EditedFileEvent,
    FileEdit,
    Followup,
    Message,
    Mode,
    Model,
    Notice,
    Prompt,
    Terminal,
    Text,
    Thinking,
    TodoList,
    ToolCall,
    ToolResult,
    Turn,
    TurnError,
    UsedReference,
)

STATES = {"pending": 0, "complete": 1, "cancelled": 2, "failed": 3, "needs-input": 4}
ENDED = ("complete", "cancelled", "failed")
ERROR_FLAGS = {
    "incomplete": "responseIsIncomplete",
    "filtered": "responseIsFiltered",
    "redacted": "responseIsRedacted",
    "quota-exceeded": "isQuotaExceeded",
    "rate-limited": "isRateLimited",
    "expected": "isExpectedError",
}
EVENT_KINDS = {"keep": 1, "undo": 2, "modify": 3}
REFERENCE_STATES = {"complete": 1, "partial": 2, "omitted": 3}
OF_OTHER_TRACES = {"groups", "request_ids", "server_request_ids", "tools", "copied_usage", "written"}
VENDOR = "copilot"
BESIDE_A_CALL = (Terminal, TodoList)
LIKELY_MODES = ("ask", "edit", "agent")


class Written:
    """One request as VS Code's object, and the parts of its response by their positions, if it was read from one."""

    def __init__(self, request: Json, positions: Sequence[int | None]) -> None:
        self.request = request
        self.positions = positions


def request_json(turn: Turn, messages: Sequence[Message], left_out: Counter[str], *, is_own: bool) -> Written:
    """Return the request of a turn. `is_own`: it was read from VS Code's JSON."""
    asked = [part for message in messages if _is_prompt(message) for part in message.parts]
    sides = _Response(messages, left_out, is_own=is_own)
    sides.add_all()
    own_fields = {key: value for key, value in (turn.extra or {}).items() if key not in OF_OTHER_TRACES}
    request: Json = own_fields if is_own else {}
    typed = message_json(asked, is_own=is_own)
    request["message"] = typed if typed is not None or is_own else {"text": "", "parts": []}
    if request["message"] is None:
        del request["message"]
    held = request.get("variableData")
    variables = variables_json(asked, left_out, is_own=is_own)
    request["variableData"] = {**(held if isinstance(held, dict) else {}), "variables": variables}
    if turn.status != "unanswered" or sides.items:
        request["response"] = [item for _, item in sides.items]
    _put_identity(turn, request, is_own)
    _put_times(turn, request, is_own)
    _put_result(turn, messages, asked, sides, request, left_out, is_own)
    _put_feedback(turn, request)
    return Written(request, [position for position, _ in sides.items])


def _is_prompt(message: Message) -> bool:
    return message.role == "user" and message.parent_call_id is None


# --- the response ---------------------------------------------------------------------------------------------------


class _Response:
    """The items of a response, with the positions at which they were read."""

    def __init__(self, messages: Sequence[Message], left_out: Counter[str], *, is_own: bool) -> None:
        self.items: list[Placed] = []
        self.called: list[Called] = []
        self.is_own = is_own
        self._left_out = left_out
        self._shown = [
            (message, part)
            for message in messages
            if message.role in ("assistant", "system") and not (is_own and message.role == "system")
            for part in message.parts
        ]
        results = [part for message in messages for part in message.parts if isinstance(part, ToolResult)]
        self.calls = {part.id: part for _, part in self._shown if isinstance(part, ToolCall)}
        self._results = {result.call_id: result for result in results}
        self.orphans = [result for result in results if result.call_id not in self.calls]
        self._beside = self._find_beside()

    def _find_beside(self) -> dict[str, AnyPart]:
        """Return the part that VS Code stores inside a call, by the call's id."""
        found: dict[str, AnyPart] = {}
        at = {part.position: part.id for part in self.calls.values() if part.native == KIND}
        for _, part in self._shown:
            if isinstance(part, ToolCall):
                continue
            if self.is_own and part.position is not None and part.position in at:
                found.setdefault(at[part.position], part)
            elif isinstance(part, BESIDE_A_CALL) and part.call_id in self.calls:
                found.setdefault(part.call_id, part)
        return found

    def add_all(self) -> None:
        """Add all parts, in order."""
        hidden = {id(part) for part in self._beside.values()}
        for message, part in self._shown:
            if id(part) in hidden:
                continue
            for item in self._items_of(part, message.parent_call_id):
                self._add(part, item)
        if self.is_own:
            self.items = with_fences(self.items)

    def _items_of(self, part: AnyPart, parent: str | None) -> Iterator[Json]:
        run_id = self._run_of(parent)
        if isinstance(part, ToolCall):
            is_recorded = part.round_id is not None or part.native == "toolCallRounds"
            called = Called(part, self._beside.get(part.id), self._results.get(part.id), run_id, is_recorded)
            self.called.append(called)
            if not self.is_own:
                if unwritten := unwritten_of(called):
                    self._left_out[unwritten] += 1
                yield call_json(called)
            elif part.position is not None or part.native is None:
                yield own_call_json(called) if part.native is not None else call_json(called)
            return
        if part.native in NO_ROUND or isinstance(part, Compaction | Prompt):
            return  # part of a record beside the response
        if isinstance(part, Notice) and part.native == "overwritten":
            self._left_out["texts that later ones replaced"] += 1
            return
        if parent is not None and isinstance(part, Text | Thinking) and part.position is None:
            self._left_out["texts of sub-agents"] += bool(part.text)
            return
        if self.is_own and (part.position is not None or part.native is not None):
            own = own_part_json(part)
            found = [own] if own is not None else []
        else:
            found = part_json(part, self._left_out)
        for item in found:
            is_marked = run_id is not None and "kind" in item and "subAgentInvocationId" not in item
            needs_mark = is_marked and not isinstance(part, FileEdit)
            yield {**item, "subAgentInvocationId": run_id} if needs_mark else item

    def _run_of(self, parent: str | None) -> str | None:
        caller = self.calls.get(parent) if parent is not None else None
        if caller is None:
            return parent
        return (caller.subagent.run_id if caller.subagent is not None else None) or shown_id(caller)

    def _add(self, part: AnyPart, item: Json) -> None:
        """Add an item; several parts that were read from one item become one again."""
        position = part.position if self.is_own else None
        before = self.items[-1][1] if self.items and position is not None and self.items[-1][0] == position else None
        if before is None:
            self.items.append((position, item))
        elif isinstance(part, FileEdit) and "edits" in before and "edits" in item:
            before["edits"] = [*before["edits"], *item["edits"]]
        elif isinstance(part, Text) and "value" in before and "value" in item:
            before["value"] = f"{before['value']}\n\n{item['value']}"


# --- fields of the request ------------------------------------------------------------------------------------------


def _put_identity(turn: Turn, request: Json, is_own: bool) -> None:
    texts = {"requestId": turn.request_id, "responseId": turn.response_id, "confirmation": turn.confirmation}
    request |= {key: text for key, text in texts.items() if text is not None}
    flags = {
        "hiddenFromTranscript": turn.is_hidden,
        "requestHiddenFromTranscript": turn.is_request_hidden,
        "isSystemInitiated": turn.is_system_initiated,
    }
    request |= {key: True for key, is_set in flags.items() if is_set}
    request |= with_texts({}, systemInitiatedLabel=turn.system_label)
    if turn.is_undone and "shouldBeRemovedOnSend" not in request and turn.request_id is not None:
        request["shouldBeRemovedOnSend"] = {"requestId": turn.request_id}
    if turn.command is not None and is_own:
        held = request.get("slashCommand")
        request["slashCommand"] = {**(held if isinstance(held, dict) else {}), "name": turn.command}
    if turn.agent is not None and is_own:
        request["agent"] = _agent(turn.agent)
    if turn.mode is not None and (mode := _mode(turn.mode, turn.custom_agent, is_own)) is not None:
        request["modeInfo"] = mode
    if turn.model is not None:
        name = turn.model.id
        request["modelId"] = name if is_own or "/" in name else f"{VENDOR}/{name}"
        request |= {key: value for key, value in (turn.model.extra or {}).items() if key == "modelConfiguration"}


def _agent(agent: Agent) -> Json:
    made = with_texts(dict(agent.extra or {}), id=agent.id, name=agent.name, fullName=agent.full_name)
    made = with_texts(made, extensionVersion=agent.extension_version)
    if agent.extension is not None:
        made.setdefault("extensionId", {"value": agent.extension, "_lower": agent.extension.lower()})
    return made


def _mode(mode: Mode, custom: CustomAgent | None, is_own: bool) -> Json | None:
    if is_own and mode.evidence != "modeInfo":
        return None
    made: Json = dict(mode.extra or {}) if is_own else {}
    kind = mode.kind if is_own or mode.kind in LIKELY_MODES else "agent"
    is_custom = custom is not None and bool(custom.instructions or custom.uri)
    is_builtin = mode.is_builtin if is_own else not is_custom
    made = with_texts(made, kind=kind, isBuiltin=is_builtin, permissionLevel=mode.permission_level)
    key = "modeId" if made.get("modeId") is not None else "telemetryModeId"
    made = with_texts(made, **{key: mode.id if is_own else "custom" if is_custom else kind})
    if mode.name is not None and (is_own or is_custom):
        made.setdefault("telemetryModeName", mode.name)
    if (
        custom is not None
        and (custom.evidence == "modeInfo" or (is_custom and not is_own))
        and custom.instructions is not None
    ):
        instructions: Json = {"toolReferences": [{"kind": "tool", "name": name} for name in custom.tools]}
        instructions = with_texts(instructions, name=custom.name or "", content=custom.instructions)
        if custom.uri is not None:
            instructions["uri"] = uri_json(custom.uri)
        made["modeInstructions"] = {**instructions, **((custom.extra or {}) if is_own else {})}
    return made


def _put_times(turn: Turn, request: Json, is_own: bool) -> None:
    timing = turn.timing
    if timing.started_at is not None:
        request["timestamp"] = ms_of(timing.started_at)
    if timing.responded_at is not None:
        request["responseTimestamp"] = ms_of(timing.responded_at)
    for key, value in (("elapsedMs", timing.generated_ms), ("timeSpentWaiting", timing.waited_ms)):
        if value is not None:
            request[key] = number_json(value)
    held = request.get("modelState")
    state: Json = dict(held) if isinstance(held, dict) else {}
    if turn.status in STATES:
        state.setdefault("value", STATES[turn.status])
    if timing.completed_at is not None:
        state["completedAt"] = ms_of(timing.completed_at)
    elif not is_own and turn.status in ENDED and timing.started_at is not None:
        state["completedAt"] = number_json(ms_of(timing.started_at) + (timing.elapsed_ms or 0))
    if state:
        request["modelState"] = state


# --- the result -----------------------------------------------------------------------------------------------------


def _put_result(
    turn: Turn,
    messages: Sequence[Message],
    asked: Sequence[AnyPart],
    sides: _Response,
    request: Json,
    left_out: Counter[str],
    is_own: bool,
) -> None:
    held = request.get("result")
    result: Json = dict(held) if isinstance(held, dict) else {}
    held = result.get("metadata")
    metadata: Json = dict(held) if isinstance(held, dict) else {}
    _put_records(turn, messages, asked, sides, metadata, left_out, is_own)
    timings = dict(result.get("timings") or {})
    for key, value in (("firstProgress", turn.timing.first_progress_ms), ("totalElapsed", turn.timing.elapsed_ms)):
        if value is not None:
            timings[key] = number_json(value)
    if timings:
        result["timings"] = timings
    if turn.details is not None:
        result["details"] = turn.details
    if turn.error is not None:
        result["errorDetails"] = _error(turn.error, result.get("errorDetails"))
    put_usage(turn, request, result, metadata, left_out)
    if metadata:
        result["metadata"] = metadata
    if result or (turn.status != "unanswered" and not is_own):
        request["result"] = result


def _put_records(
    turn: Turn,
    messages: Sequence[Message],
    asked: Sequence[AnyPart],
    sides: _Response,
    metadata: Json,
    left_out: Counter[str],
    is_own: bool,
) -> None:
    metadata |= {
        key: value for key, value in prompts_json(asked, left_out, is_own=is_own).items() if key not in metadata
    }
    early = early_json(asked, turn.rounds) if is_own else {}
    for key, value in early.items():
        held = metadata.get(key)
        metadata[key] = {**held, **value} if isinstance(held, dict) and isinstance(value, dict) else held or value
    rounds = rounds_json(turn, sides.calls) if is_own or turn.rounds else made_rounds(messages)
    if early:
        rounds = [one for one, of_turn in zip(rounds, turn.rounds, strict=True) if of_turn.id or of_turn.call_ids]
    if rounds:
        metadata["toolCallRounds"] = [*rounds, *_list(metadata.get("toolCallRounds"))]
    results = results_json(sides.called, sides.orphans, is_own=is_own)
    if results:
        metadata["toolCallResults"] = results
    summaries = summaries_json([part for message in messages for part in message.parts])
    if summaries:
        metadata["summaries"] = [*summaries, *_list(metadata.get("summaries"))]
    if turn.code_blocks:
        metadata["codeBlocks"] = [code_block_json(block) for block in turn.code_blocks]
    if (
        is_own
        and turn.model is not None
        and turn.model.resolved is not None
        and not _is_picked(turn.model, sides.items)
    ):
        metadata["resolvedModel"] = turn.model.resolved


def _is_picked(model: Model, items: Sequence[Placed]) -> bool:
    """Return whether a part of the response names the model that a router chose."""
    parts = [item.get("resolved") for _, item in items if item.get("kind") == "autoModeResolution"]
    return any(isinstance(part, dict) and part.get("id") == model.resolved for part in parts)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _error(error: TurnError, held: Any) -> Json:
    made: Json = {**(held if isinstance(held, dict) else {}), **(error.extra or {}), "message": error.message}
    made |= {ERROR_FLAGS[flag]: True for flag in error.flags if flag in ERROR_FLAGS}
    return with_texts(made, code=error.code)


# --- feedback -------------------------------------------------------------------------------------------------------


def _put_feedback(turn: Turn, request: Json) -> None:
    if turn.vote is not None:
        request["vote"] = int(turn.vote.is_up)
    reason = turn.vote.reason if turn.vote is not None else turn.reason_without_vote
    request |= with_texts({}, voteDownReason=reason)
    followups = [_followup(each) for each in turn.followups]
    documents = [each for each in turn.references if "usedContext" in (each.extra or {})]
    references = [_reference(each) for each in turn.references if each not in documents]
    if documents:
        held = request.get("usedContext")
        used = [{**(each.extra or {})["usedContext"], "uri": _place_of(each)} for each in documents]
        request["usedContext"] = {"kind": "usedContext", **(held if isinstance(held, dict) else {}), "documents": used}
    citations = [
        with_texts({"kind": "codeCitation", **(each.extra or {})}, license=each.license, snippet=each.snippet)
        | ({"value": uri_json(each.uri)} if each.uri is not None else {})
        for each in turn.citations
    ]
    for key, made in (("followups", followups), ("contentReferences", references), ("codeCitations", citations)):
        request[key] = [*made, *_list(request.get(key))]
    if turn.edited_files and "editedFileEvents" not in request:
        request["editedFileEvents"] = [_event(each) for each in turn.edited_files]


def _place_of(reference: UsedReference) -> Any:
    return place_json(reference.place) if reference.place is not None else None


def _followup(each: Followup) -> Json:
    made: Json = {"kind": "reply", **(each.extra or {}), "message": each.text}
    return with_texts(made, agentId=each.agent or "", title=each.title, tooltip=each.tooltip, subCommand=each.command)


def _reference(each: UsedReference) -> Json:
    left = each.extra or {}
    made: Json = {"kind": "reference", **left}
    target = _place_of(each)
    if each.variable is not None:
        made["reference"] = with_texts({"variableName": each.variable}, value=target)
    elif each.text is not None or target is not None:
        made.setdefault("reference", each.text if each.text is not None else target)
    options = left.get("options")
    status = options.get("status") if isinstance(options, dict) else None
    if each.status is not None or each.status_text is not None:
        status = {**(status if isinstance(status, dict) else {})}
        status = with_texts(status, description=each.status_text, kind=REFERENCE_STATES.get(each.status or ""))
        made["options"] = {**(options if isinstance(options, dict) else {}), "status": status}
    return made


def _event(each: EditedFileEvent) -> Json:
    uri = uri_json(each.uri) if each.uri is not None else None
    return with_texts({"eventKind": EVENT_KINDS[each.action]}, uri=uri)
