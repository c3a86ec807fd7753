"""One tool call of a response, with what VS Code and the extension keep about it."""

from __future__ import annotations

from typing import Literal

import msgspec

from copilog.derive.notes import SHOWN_INPUT
from copilog.derive.own_texts import SHOWN, is_suspect
from copilog.model import AnyPart, Approval, ResultItem, ToolCall, ToolResult, Verdict
from copilog.sources._vscode.pairing import ToolPart
from copilog.sources._vscode.places import with_named_links
from copilog.sources._vscode.rounds import RecordedCall, RecordedCalls, clean_id
from copilog.sources._vscode.take import Json, is_same_json, markdown_text, rest, take_markdown, take_notes, take_str
from copilog.sources._vscode.tool_data import part_from
from copilog.sources._vscode.tool_output import Output, output_from, result_of

ApprovalKind = Literal["denied", "not-needed", "setting", "granted", "user", "skipped", "unknown"]
CallStatus = Literal["complete", "failed", "denied", "skipped", "unknown"]
APPROVALS: dict[int, ApprovalKind] = {
    0: "denied",
    1: "not-needed",
    2: "setting",
    3: "granted",
    4: "user",
    5: "skipped",
}
FIXED_LABELS = {"internal": "Built-In", "external": "External"}
BUILT_IN = {"type": "internal", "label": FIXED_LABELS["internal"]}


class Invocation(msgspec.Struct, gc=False):
    """What came of one tool part: the call, the part that goes with it, and its result."""

    call: ToolCall
    beside: AnyPart | None = None
    result: ToolResult | None = None
    unknown_data: str | None = None  # a kind of tool data that nobody has described yet


def invocation_from(part: ToolPart, recorded: RecordedCall | None, recorded_calls: RecordedCalls) -> Invocation:
    """Read one `toolInvocationSerialized`, together with what the extension recorded about the same call."""
    item = part.item
    native_id = take_str(item, "toolCallId") or ""
    tool_id = take_str(item, "toolId") or ""
    call = ToolCall(
        id=clean_id(native_id) or f"part-{part.position}",
        name=tool_id,
        tool_id=tool_id or None,
        native="toolInvocationSerialized",
        position=part.position,
    )
    ids: tuple[str, ...] = (native_id,)
    if recorded is not None:
        _add_record(call, recorded)
        if native_id != recorded.native_id:
            ids = (recorded.native_id, native_id)
    call.native_ids = [name for name in reversed(ids) if name and name != call.id]
    made = Invocation(call)
    run_id = take_str(item, "subAgentInvocationId")
    _read_display(item, call)
    _read_approval(item, call)
    _read_origin(item, call)
    output = output_from(item)
    if "toolSpecificData" in item:
        made.beside, made.unknown_data = part_from(item, call, output)
    if output.given is not None:
        _use_shown_input(call, output.given)
    if call.subagent is not None:
        call.subagent.run_id = run_id
    elif run_id is not None and not part.is_of_subagent:
        item["subAgentInvocationId"] = run_id
    made.result = result_of(recorded_calls.take_result(*ids), output, call.id)
    if made.result is not None and is_suspect(made.result.text) and _is_output(made.result, output):
        call.verdicts = [Verdict(source=SHOWN, kind="succeeded")]
    call.status = _status_of(item, call, made.result, output)
    call.extra = {**call.extra, **item} if call.extra else rest(item)
    return made


def call_from_record(recorded: RecordedCall, recorded_calls: RecordedCalls) -> Invocation:
    """A call that only the extension recorded, such as one that never came to run."""
    recorded.is_placed = True
    call = ToolCall(id=recorded.id, name=recorded.name, native="toolCallRounds")
    _add_record(call, recorded)
    call.native_ids = [recorded.native_id] if recorded.native_id != recorded.id else []
    made = Invocation(call)
    made.result = result_of(recorded_calls.take_result(recorded.native_id), Output(), call.id)
    if made.result is not None:
        call.status = "failed" if made.result.is_error else "complete"
    return made


def united_result(outer: ToolCall, mine: ToolResult | None, inner: Invocation) -> ToolResult | None:
    """Return the result of a call with that of the call folded into it, and the arguments that only that one has."""
    items: list[ResultItem] = []
    if outer.arguments is None:
        outer.arguments = inner.call.arguments
    elif inner.call.arguments not in (None, outer.arguments):
        items.append(ResultItem(text=inner.call.arguments, extra={"arguments_of": inner.call.name}))
    theirs = inner.result
    if theirs is not None and mine is None:
        theirs.call_id = outer.id
        mine = theirs
    elif theirs is not None and mine is not None:
        texts = dict.fromkeys([theirs.text, theirs.display])
        items += [ResultItem(text=text) for text in texts if text and text not in (mine.text, mine.display)]
        items += theirs.items
        mine.places = [*mine.places, *(place for place in theirs.places if place not in mine.places)]
        mine.extra = {**(theirs.extra or {}), **(mine.extra or {})} or None
    if items:
        mine = mine or ToolResult(call_id=outer.id, origin="display")
        mine.items = [*mine.items, *items]
    return mine


def _add_record(call: ToolCall, recorded: RecordedCall) -> None:
    call.id = recorded.id
    call.name = recorded.name
    call.arguments = recorded.arguments
    call.round_id = recorded.round.id
    call.started_at = recorded.round.started_at
    if recorded.extra:
        call.extra = {"toolCallRounds": recorded.extra}


def _read_display(item: Json, call: ToolCall) -> None:
    message = markdown_text(item.get("pastTenseMessage")) or markdown_text(item.get("invocationMessage"))
    call.message = with_named_links(message) if message else None
    call.title = take_str(item, "generatedTitle")
    call.notes = take_notes(item, {"originMessage": "origin"})
    call.is_hidden = item.get("presentation") in ("hidden", "hiddenAfterComplete")


def _read_approval(item: Json, call: ToolCall) -> None:
    """Old releases wrote whether the user agreed, newer ones why the tool was allowed to run."""
    value = item.get("isConfirmed")
    if value is True or value is False:
        del item["isConfirmed"]
        call.approval = Approval(kind="user" if value else "denied")
        return
    number = value.get("type") if type(value) is dict else None
    if type(value) is not dict or type(number) is not int or number not in APPROVALS:
        call.approval = Approval(kind="unknown")
        return
    del item["isConfirmed"], value["type"]
    if not value:
        call.approval = Approval(kind=APPROVALS[number])
        return
    details = [take_markdown(value, key) for key in ("id", "scope", "selectedButton", "reason")]
    call.approval = Approval(
        kind=APPROVALS[number],
        detail=": ".join(detail for detail in details if detail) or None,
        extra=rest(value),
    )


def _read_origin(item: Json, call: ToolCall) -> None:
    source = item.get("source")
    if source == BUILT_IN:  # nearly all calls
        call.origin = "internal"
        del item["source"]
        return
    if not isinstance(source, dict):
        return
    call.origin = take_str(source, "type")
    if call.origin == "mcp":
        call.server = take_str(source, "serverLabel")
    if call.server is None and call.origin in ("mcp", "extension"):
        call.server = take_str(source, "label")
    elif call.origin is not None and source.get("label") == FIXED_LABELS.get(call.origin, ""):
        del source["label"]
    if not source:
        del item["source"]


def _use_shown_input(call: ToolCall, given: str) -> None:
    """What the tool was called with, as VS Code showed it, stands in for arguments that were not recorded."""
    if call.arguments is None:
        call.arguments = given
    elif not is_same_json(given, call.arguments):
        call.notes[SHOWN_INPUT] = given


def _is_output(result: ToolResult, output: Output) -> bool:
    """Whether VS Code kept the very text of a result as what the tool gave back."""
    return output.text == result.text and not output.is_borrowed and not result.is_error


def _status_of(item: Json, call: ToolCall, result: ToolResult | None, output: Output) -> CallStatus:
    approval = call.approval.kind if call.approval else "unknown"
    is_complete = item.get("isComplete") is True
    if is_complete:
        del item["isComplete"]
    if approval == "denied":
        return "denied"
    if approval == "skipped":
        return "skipped"
    if output.is_error or (result is not None and result.is_error):
        return "failed"
    return "complete" if is_complete else "unknown"
