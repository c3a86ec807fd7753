"""Read one tool call of a response, together with the extension's record of it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Literal

import msgspec

from copilog import jsonio
from copilog.derive.notes import SHOWN_INPUT
from copilog.derive.own_texts import SHOWN, is_suspect
from copilog.derive.tool_names import INNER_TOOLS, tool_key
from copilog.errors import BadRecord
from copilog.fields import Json, is_same_json, json_text, markdown_text, rest, take_markdown, take_notes, take_str
from copilog.model import AnyPart, Approval, ResultItem, ToolCall, ToolResult, Verdict
from copilog.sources.tool_rounds import RecordedCall, RecordedCalls, clean_id
from copilog.sources.vscode.tool_data import Output, output_from, part_from, result_of
from copilog.uris import base_name, with_named_links

# Pair the tool parts of a response with the recorded calls. Ids agree in newer files only. Where they do not, both
# lists are in the order of time, so calls are paired in order by the name of the tool. Either list may lack some:
# hidden tools have a part and no call, calls that never ran have no part. Then the pairing is chosen that preserves the
# order for most calls, and whose arguments the parts mention.


COMPARISON_LIMIT = 10_000  # maximum number of pairs to compare
PAIR = 1000  # score of a pair; each argument that the part mentions adds one


class ToolPart:
    """A tool part of a response: its position, and what it reveals about its call."""

    __slots__ = ("_shown_text", "is_of_subagent", "item", "key", "native_id", "position")

    def __init__(self, item: Json, position: int) -> None:
        native_id, tool_id = item.get("toolCallId"), item.get("toolId")
        self.item = item
        self.position = position
        self.native_id = native_id if isinstance(native_id, str) else ""
        self.key = tool_key(tool_id) if isinstance(tool_id, str) else ""
        self.is_of_subagent = False  # set by Callers: the rounds of sub-agents are not recorded
        self._shown_text: tuple[str, frozenset[str]] | None = None

    def count_mentions(self, words: set[str]) -> int:
        """Return how many of these words the part shows to the user."""
        if not words:
            return 0
        if self._shown_text is None:
            shown = [self.item.get(key) for key in ("invocationMessage", "pastTenseMessage", "toolSpecificData")]
            text = json_text(shown) or ""
            self._shown_text = text, frozenset(re.findall(r"\w+", text))
        text, tokens = self._shown_text
        return sum(word in tokens if word.isdecimal() else word in text for word in words)


def outer_calls(parts: list[ToolPart]) -> dict[int, int]:
    """Return the position of the outer call of each inner call, by the position of the inner call, which follows it.

    An inner call without an outer call replaces it: then it is the call that the model made, by that tool's key.
    """
    found: dict[int, int] = {}
    waiting: list[ToolPart] = []  # consecutive calls of one tool
    for part in parts:
        outer_key = INNER_TOOLS.get(part.key)
        if waiting and waiting[0].key != (outer_key or part.key):
            waiting = []
        if outer_key is None:
            waiting.append(part)
        elif waiting:
            found[part.position] = waiting.pop(0).position
        else:
            part.key = outer_key
    return found


def pair_calls(parts: list[ToolPart], calls: list[RecordedCall]) -> dict[int, RecordedCall]:
    """Return the recorded call of each part, by the part's position."""
    if not calls:
        return {}
    pairs = _pair_by_id(parts, calls)
    free_parts = [part for part in parts if part.position not in pairs and not part.is_of_subagent]
    free_calls = [call for call in calls if not call.is_placed]
    if free_parts and free_calls:
        for part, call in _pair_by_name(free_parts, free_calls):
            _assign_call(part, call, pairs)
    return pairs


def _assign_call(part: ToolPart, call: RecordedCall, pairs: dict[int, RecordedCall]) -> None:
    pairs[part.position] = call
    call.is_placed = True


def _pair_by_id(parts: list[ToolPart], calls: list[RecordedCall]) -> dict[int, RecordedCall]:
    by_id: dict[str, RecordedCall] = {}
    for call in calls:
        by_id.setdefault(call.native_id, call)
        by_id.setdefault(call.id, call)
    pairs: dict[int, RecordedCall] = {}
    for part in parts:
        found = by_id.get(part.native_id) or by_id.get(clean_id(part.native_id))
        if found is not None and not found.is_placed:
            _assign_call(part, found, pairs)
    return pairs


def _pair_by_name(parts: list[ToolPart], calls: list[RecordedCall]) -> list[tuple[ToolPart, RecordedCall]]:
    call_keys = [tool_key(call.name) for call in calls]
    if [part.key for part in parts] == call_keys:
        return list(zip(parts, calls, strict=True))
    part_counts, call_counts = Counter(part.key for part in parts), Counter(call_keys)
    common = part_counts.keys() & call_counts.keys()
    unequal = {key for key in common if part_counts[key] != call_counts[key]}
    parts = [part for part in parts if part.key in common]
    calls = [call for call in calls if tool_key(call.name) in common]
    if not unequal or len(parts) * len(calls) > COMPARISON_LIMIT:
        return _pair_each_in_turn(parts, calls)
    pairs = _best_in_order(parts, calls, unequal)
    paired = {id(one) for pair in pairs for one in pair}
    return pairs + _pair_each_in_turn(
        [part for part in parts if id(part) not in paired], [call for call in calls if id(call) not in paired]
    )


def _pair_each_in_turn(parts: list[ToolPart], calls: list[RecordedCall]) -> list[tuple[ToolPart, RecordedCall]]:
    """Pair the first part of a tool with its first call, the second with the second."""
    waiting: defaultdict[str, list[RecordedCall]] = defaultdict(list)
    for call in reversed(calls):
        waiting[tool_key(call.name)].append(call)
    return [(part, waiting[part.key].pop()) for part in parts if waiting[part.key]]


def _best_in_order(
    parts: list[ToolPart], calls: list[RecordedCall], unequal: set[str]
) -> list[tuple[ToolPart, RecordedCall]]:
    """Return the best pairing that preserves the order of both lists; mentions count for tools in `unequal`."""
    keyed = [(key := tool_key(call.name), _mentionable_words(call) if key in unequal else set()) for call in calls]
    worth = [[PAIR + part.count_mentions(words) if part.key == key else 0 for key, words in keyed] for part in parts]
    best = [[0] * (len(calls) + 1) for _ in range(len(parts) + 1)]  # of the parts and calls from here on
    for row in range(len(parts) - 1, -1, -1):
        here, below, gains = best[row], best[row + 1], worth[row]
        for column in range(len(calls) - 1, -1, -1):
            paired = gains[column] and below[column + 1] + gains[column]
            here[column] = max(below[column], here[column + 1], paired)
    pairs: list[tuple[ToolPart, RecordedCall]] = []
    row = column = 0
    while row < len(parts) and column < len(calls):
        gain = worth[row][column]
        if gain and best[row][column] == best[row + 1][column + 1] + gain:
            pairs.append((parts[row], calls[column]))
            row += 1
            column += 1
        elif best[row][column] == best[row + 1][column]:
            row += 1
        else:
            column += 1
    return pairs


def _mentionable_words(call: RecordedCall) -> set[str]:
    """Return the words that a part showing this call would mention: the names of files, the command, line numbers."""
    try:
        arguments = jsonio.decode((call.arguments or "").encode("utf-8", "replace"))[0]
    except BadRecord:
        return set()
    values = arguments.values() if isinstance(arguments, dict) else []
    texts = {base_name(value) for value in values if isinstance(value, str) and 1 < len(value) < 500}
    return {(json_text(text) or "")[1:-1] for text in texts} | {str(value) for value in values if type(value) is int}


# One tool call of a response, with the records of VS Code and the extension about it.


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
    """The result of reading one tool part: the call, the part that belongs to it, and its result."""

    call: ToolCall
    beside: AnyPart | None = None
    result: ToolResult | None = None
    unknown_data: str | None = None  # a kind of tool data without a reader


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
    """Return a call that only the extension recorded, such as one that never ran."""
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
    """Return a call's result merged with that of the inner call; take arguments that only the inner call has."""
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
    """Read the user's approval from old releases, or the reason why the tool was allowed to run from newer ones."""
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
    """Use the input that VS Code showed, if the arguments were not recorded."""
    if call.arguments is None:
        call.arguments = given
    elif not is_same_json(given, call.arguments):
        call.notes[SHOWN_INPUT] = given


def _is_output(result: ToolResult, output: Output) -> bool:
    """Return whether VS Code stored exactly the text of a result as the output of the tool."""
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
