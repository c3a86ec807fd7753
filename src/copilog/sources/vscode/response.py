"""Read the parts of a response in order, and cut them into messages.

Format notes: docs/formats/vscode-chat.md
"""

from __future__ import annotations

from collections import Counter

import msgspec

from copilog.derive.outcomes import NOT_DONE, add_verdict, facts_of
from copilog.derive.tool_names import INNER_TOOLS, tool_key
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.fields import Json, take_str
from copilog.model import AnyPart, FileEdit, Message, Notice, Reference, Text, Thinking, ToolCall, ToolResult, Unknown
from copilog.sources.tool_rounds import RecordedCalls, clean_id
from copilog.sources.vscode.edit_diffs import EditingCalls, may_edit
from copilog.sources.vscode.parts import READERS, markdown
from copilog.sources.vscode.response_order import Shown, add_missing_parts, is_fence, texts_without_fences
from copilog.sources.vscode.tool_calls import (
    Invocation,
    ToolPart,
    invocation_from,
    outer_calls,
    pair_calls,
    united_result,
)

# The call whose sub-agent wrote a part of the response. Newer files give each part of a sub-agent's run the run's id,
# which is the id of the call that started it, or else one that this call carries too. Older files only record that some
# sub-agent wrote a part.


class Callers:
    """The callers of one response, by the ids that VS Code gave them."""

    def __init__(self, parts: list[ToolPart]) -> None:
        self._call_of_run: dict[str, str] = {}
        self._parents: dict[int, str] = {}
        self._caller_of: dict[str, str] = {}
        runs = [part for part in parts if type(part.item.get("subAgentInvocationId")) is str]
        if runs:
            self._learn_runs(parts, runs)
        if any(part.item.get("fromSubAgent") is True for part in parts):
            self._assign_old_runs(parts)
        if self._parents:
            for part in parts:
                part.is_of_subagent = part.position in self._parents

    def of_part(self, part: ToolPart) -> str | None:
        """Return the call whose sub-agent made this call."""
        return self._parents.get(part.position)

    def of_run(self, run_id: str | None) -> str | None:
        """Return the call that started a run, or the run's own id if that call is not in the response."""
        return None if run_id is None else self._call_of_run.get(run_id, run_id)

    def _learn_runs(self, parts: list[ToolPart], runs: list[ToolPart]) -> None:
        for part in parts:
            if part.native_id:
                self._call_of_run[part.native_id] = part.native_id
                self._call_of_run.setdefault(clean_id(part.native_id), part.native_id)
        for part in runs:
            if part.native_id and starts_subagent(part):
                self._call_of_run.setdefault(part.item["subAgentInvocationId"], part.native_id)
        for part in runs:
            self._put_below(part, self.of_run(part.item["subAgentInvocationId"]))

    def _put_below(self, part: ToolPart, caller: str | None) -> None:
        if caller and not self._is_own_caller(caller, part.native_id):
            self._parents[part.position] = self._caller_of[part.native_id] = caller

    def _is_own_caller(self, caller: str, native_id: str) -> bool:
        """Return whether a call would become its own caller, as a call that carries its own run's id seems to be."""
        at: str | None = caller
        while at is not None and at != native_id:
            at = self._caller_of.get(at)
        return at is not None

    def _assign_old_runs(self, parts: list[ToolPart]) -> None:
        """Assign parts of sub-agents to the call before them, or to the next if the first caller follows its parts."""
        starts = [index for index, part in enumerate(parts) if starts_subagent(part) and part.native_id]
        if not starts:
            return
        first = next(index for index, part in enumerate(parts) if part.item.get("fromSubAgent") is True)
        callers_follow = first < starts[0]
        for index, part in enumerate(parts):
            if part.item.get("fromSubAgent") is not True or part.position in self._parents:
                continue
            before = [start for start in starts if start < index]
            after = [start for start in starts if start > index]
            nearest = after[:1] if after and (callers_follow or not before) else before[-1:]
            for start in nearest:
                self._put_below(part, parts[start].native_id)


def starts_subagent(part: ToolPart) -> bool:
    """Return whether this call started a sub-agent, by its data or by the tool's name."""
    data = part.item.get("toolSpecificData")
    return (isinstance(data, dict) and data.get("kind") == "subagent") or part.key.endswith("subagent")


# A response as messages: parts in the order shown, results after their calls, sub-agents marked by caller.


__all__ = ["ResponseReader", "Shown", "messages_from", "undone_from"]

TOOL_CALL, PREPARATION = "toolInvocationSerialized", "prepareToolInvocation"


class ResponseReader:
    """Reads the parts of one response in order."""

    def __init__(self, recorded: RecordedCalls, ledger: Ledger, pointer: str) -> None:
        self.recorded = recorded
        self.ledger = ledger
        self.pointer = pointer
        self.shown: list[Shown] = []
        self._final_ids: dict[str, str] = {}  # our id of a call, by VS Code's
        self._editing_calls = EditingCalls()

    def read(self, items: list[object]) -> None:
        self._register_calls(items)
        self._without_fences = texts_without_fences(items)
        tally = self.ledger.parts
        tally.seen += len(items)
        for position, item in enumerate(items):
            if type(item) is dict:
                try:
                    tally.used += self._read_part(item, position)  # which must not count parts itself
                except BadRecord as error:
                    self.ledger.reject_part(str(error), f"{self.pointer}/response/{position}", error.code)
            elif isinstance(item, str):
                tally.used += 1
                self.shown.append(Shown(Text(text=item, native="string", position=position), None))
            elif item is None:
                tally.ignore("null-part")
            else:
                self.ledger.reject_part(
                    f"a response part that is {type(item).__name__}", f"{self.pointer}/response/{position}"
                )
        if any(shown.parent is not None for shown in self.shown):
            self._use_final_ids()
        if self.recorded.rounds or self.recorded.results:
            add_missing_parts(self.shown, self.recorded)

    def _register_calls(self, items: list[object]) -> None:
        """Read all calls first: one may come after those of its sub-agent, or after its own preparation."""
        parts: list[ToolPart] = []
        preparations: list[tuple[int, Json]] = []
        for position, item in enumerate(items):
            if type(item) is not dict or (kind := item.get("kind")) is None:
                continue
            if kind == TOOL_CALL:
                parts.append(ToolPart(item, position))
            elif kind == PREPARATION:
                preparations.append((position, item))
        self._tool_parts = {part.position: part for part in parts}
        self._outer_of = outer_calls(parts)
        self._callers = Callers(parts)
        self._recorded_of = pair_calls(parts, self.recorded.calls)
        self._unused_preparations: set[int] = set()
        if preparations:
            unplaced = [tool_key(call.name) for call in self.recorded.calls if not call.is_placed]
            self._unused_preparations = _unused_preparations(preparations, parts, unplaced)

    def _read_part(self, item: Json, position: int) -> bool:
        """Add a part to the response; return False if it is left out on purpose."""
        kind = item.pop("kind", None)
        if kind is None:
            if position in self._without_fences:
                item["value"] = self._without_fences[position]
                if not item["value"]:
                    self.ledger.parts.ignore("fence-of-edit")
                    return False
            part = markdown(item)
            part.position = position
            self.shown.append(Shown(part))
        elif kind == TOOL_CALL:
            self._read_call(self._tool_parts[position])
        elif kind == PREPARATION:
            if position not in self._unused_preparations:
                self.ledger.parts.ignore("tool-preparation")
                return False
            self._read_preparation(item, position)
        elif type(kind) is str and kind in READERS:
            self._read_other(kind, item, position)
        else:
            item["kind"] = kind
            name = f"response:{kind if isinstance(kind, str) else type(kind).__name__}"
            self.ledger.parts.count_unknown(name)
            self.shown.append(Shown(Unknown(type=name, raw=item, position=position)))
        return True

    def _read_other(self, kind: str, item: Json, position: int) -> None:
        made = READERS[kind](item)
        parent = self._callers.of_run(take_str(item, "subAgentInvocationId")) if item else None
        for part in made if isinstance(made, list) else (made,):
            part.native = kind
            part.position = position
            if item:
                part.extra = {**item, **part.extra} if part.extra else item
            if type(part) is FileEdit:
                made_by = self._editing_calls.explain(part)
                parent = parent or (made_by.parent if made_by else None)
            self.shown.append(Shown(part, parent))
        if kind == "clearToPreviousToolInvocation":
            self._withdraw_text()

    def _read_call(self, part: ToolPart) -> None:
        parent = self._callers.of_part(part)
        made = invocation_from(part, self._recorded_of.get(part.position), self.recorded)
        if part.native_id:
            self._final_ids[part.native_id] = made.call.id
        if made.unknown_data is not None:
            self.ledger.parts.count_unknown(made.unknown_data)
        if part.position in self._outer_of and self._merge_inner_call(made, self._outer_of[part.position]):
            return
        if may_edit(made.call):
            self._editing_calls.add(made.call, parent, has_failed=_has_failed(made))
        self.shown.append(Shown(made.call, parent, made.result, made.call.started_at))
        if made.beside is not None:
            self.shown.append(Shown(made.beside, parent))

    def _merge_inner_call(self, inner: Invocation, position: int) -> bool:
        """Merge a call that a tool made of one of VS Code's own tools into the call of that tool."""
        shown = next((shown for shown in reversed(self.shown) if shown.part.position == position), None)
        outer = shown.part if shown is not None else None
        if shown is None or not isinstance(outer, ToolCall) or inner.beside is not None:
            return False
        call = inner.call
        results = [inner.result] if inner.result is not None else []
        add_verdict(outer, call, results, None, call.name)
        self._final_ids.update(dict.fromkeys((call.id, *call.native_ids), outer.id))
        outer.native_ids = [*outer.native_ids, call.id]
        if call.message != outer.message and (outer.message is None or "pastTenseMessage" in (call.extra or {})):
            outer.message = " · ".join(filter(None, (outer.message, call.message)))
        if call.extra:
            outer.extra = {**(outer.extra or {}), call.name: call.extra}
        shown.result = united_result(outer, shown.result, inner)
        return True

    def _read_preparation(self, item: Json, position: int) -> None:
        """Note a tool that was being prepared but was never called."""
        call = ToolCall(
            id=f"prepared-{position}",
            name=take_str(item, "toolName") or "",
            status="prepared",
            native=PREPARATION,
            position=position,
            extra=item or None,
        )
        self.shown.append(Shown(call, None))

    def _withdraw_text(self) -> None:
        """Withdraw the texts since the last call, as VS Code does: they become notices that are not prose."""
        for shown in reversed(self.shown[:-1]):
            part = shown.part
            if isinstance(part, ToolCall):
                break
            if isinstance(part, Text):
                shown.part = _withdrawn(part)
            elif isinstance(part, Reference):
                shown.part = _withdrawn(part)
                shown.part.data = {"place": msgspec.to_builtins(part.place)} if part.place is not None else None
            elif isinstance(part, Notice):
                part.topic, part.is_prose = "cleared", False

    def _use_final_ids(self) -> None:
        """Replace VS Code's ids of callers by the final ones."""
        for call in self.recorded.calls:
            self._final_ids.setdefault(call.native_id, call.id)
            self._final_ids.setdefault(clean_id(call.native_id), call.id)
        for shown in self.shown:
            if shown.parent is not None:
                shown.parent = self._final_ids.get(shown.parent, shown.parent)


def _withdrawn(part: Text | Reference) -> Notice:
    return Notice(topic="cleared", text=part.text, native=part.native, position=part.position, extra=part.extra)


def _has_failed(made: Invocation) -> bool:
    """Return whether a call's own record shows that it did nothing."""
    results = [made.result] if made.result is not None else []
    return any(fact.kind in NOT_DONE for fact in facts_of(made.call, results, None, source="", has_own_texts=True))


def _unused_preparations(preparations: list[tuple[int, Json]], parts: list[ToolPart], unplaced: list[str]) -> set[int]:
    """Return the positions of preparations that no call followed; each call uses the last preparation before it.

    `unplaced` are the tools of calls that only the extension recorded: they are shown, and were prepared as well.
    """
    found: set[int] = set()
    waiting = Counter(unplaced)  # by tool, calls that still need a preparation
    later = list(parts)
    for position, item in reversed(preparations):
        while later and later[-1].position > position:
            waiting[later.pop().key] += 1
        name = item.get("toolName")
        key = tool_key(name) if isinstance(name, str) else ""
        prepared = next((each for each in (key, INNER_TOOLS.get(key)) if each is not None and waiting[each]), None)
        if prepared is not None:
            waiting[prepared] -= 1
        else:
            found.add(position)
    return found


def messages_from(shown: list[Shown], turn: int) -> list[Message]:
    """Cut the parts into messages: one for each time that the model answered, and one for each result."""
    cutter = _MessageCutter(turn)
    cutter.cut(shown)
    cutter.add_waiting_results(frozenset())
    return cutter.messages


class _MessageCutter:
    """Starts a new message where the caller changes, and where the model continues after it has received results."""

    def __init__(self, turn: int) -> None:
        self.messages: list[Message] = []
        self._turn = turn
        self._round_id: str | None = None
        self._waiting: list[tuple[ToolResult, str | None]] = []  # results, and the callers of their calls
        self._caller_of: dict[str, str | None] = {}

    def cut(self, shown: list[Shown]) -> None:
        current: Message | None = None
        has_results = False  # whether results of the current message's calls arrived
        for item in shown:
            part, parent = item.part, item.parent
            if type(part) is ToolResult:  # its call is recorded nowhere
                self._waiting.append((part, parent))
                continue
            if current is None or parent != current.parent_call_id or (has_results and self._continues(part)):
                self.add_waiting_results(self._callers_above(parent))
                current = Message(role="assistant", parts=[], turn=self._turn, parent_call_id=parent)
                self.messages.append(current)
                has_results = False
            current.parts.append(part)
            if type(part) is ToolCall:
                current.created_at = current.created_at or item.created_at
                self._caller_of[part.id] = parent
                self._round_id = part.round_id or self._round_id
                if item.result is not None:
                    self._waiting.append((item.result, parent))
                    has_results = True

    def _continues(self, part: AnyPart) -> bool:
        """Return whether a part is the model's next text or call, after it has received the results so far."""
        if type(part) is Text:
            return not is_fence(part.text)
        if type(part) is ToolCall:
            return None not in (part.round_id, self._round_id) and part.round_id != self._round_id
        if isinstance(part, Notice):
            return part.is_prose
        return isinstance(part, Thinking | Reference) and part.text != ""

    def _callers_above(self, caller: str | None) -> frozenset[str]:
        """Return a call and those above it; none of them can have returned while it runs."""
        if caller is None:
            return frozenset()
        above: list[str] = []
        while caller is not None and caller not in above:
            above.append(caller)
            caller = self._caller_of.get(caller)
        return frozenset(above)

    def add_waiting_results(self, still_running: frozenset[str]) -> None:
        """Add the results that arrived, those of a sub-agent before its own."""
        if not self._waiting:
            return
        ready = [waiting for waiting in self._waiting if waiting[0].call_id not in still_running]
        self._waiting = [waiting for waiting in self._waiting if waiting[0].call_id in still_running]
        if any(parent is not None for _, parent in ready):
            ready.sort(key=lambda waiting: len(self._callers_above(waiting[1])), reverse=True)
        self.messages += [
            Message(role="tool", parts=[result], turn=self._turn, parent_call_id=parent) for result, parent in ready
        ]


def undone_from(parts: list[object], stop_id: str) -> int | None:
    """Return the position of the first response part that was undone with a checkpoint.

    The cut is at the checkpoint, or one part earlier if a file's edits follow it and the prose before it opened their
    code block.
    """
    for index, item in enumerate(parts):
        if isinstance(item, dict) and item.get("kind") == "undoStop" and item.get("id") == stop_id:
            after = parts[index + 1] if index + 1 < len(parts) else None
            before = parts[index - 1] if index else None
            follows = isinstance(after, dict) and after.get("kind") == "codeblockUri"
            opens = isinstance(before, dict) and "kind" not in before and isinstance(before.get("value"), str)
            return index - 1 if follows and opens else index
    return None
