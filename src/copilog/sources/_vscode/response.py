"""A response as messages: parts in the order shown, results after their calls, sub-agents marked by caller."""

from __future__ import annotations

from datetime import datetime

from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.model import AnyPart, FileEdit, Message, Reference, Text, Thinking, ToolCall, ToolResult, Unknown
from copilog.sources._vscode.parts import READERS, markdown
from copilog.sources._vscode.rounds import RecordedCall, RecordedCalls, tool_key
from copilog.sources._vscode.take import Json, take_str
from copilog.sources._vscode.tools import Invocation, call_from_record, invocation_from

EDITING_TOOLS = frozenset(
    {"replacestring", "multireplacestring", "createfile", "applypatch", "insertedit", "editnotebook"}
)


class Shown:
    """One part of the response, the call whose sub-agent wrote it, and, for a call, what came back."""

    __slots__ = ("created_at", "parent", "part", "result")

    def __init__(
        self, part: AnyPart, parent: str | None, result: ToolResult | None = None, created_at: datetime | None = None
    ) -> None:
        self.part = part
        self.parent = parent
        self.result = result
        self.created_at = created_at


class ResponseReader:
    """Reads the parts of one response in order."""

    def __init__(self, recorded: RecordedCalls, ledger: Ledger, pointer: str) -> None:
        self.recorded = recorded
        self.ledger = ledger
        self.pointer = pointer
        self.shown: list[Shown] = []
        self.call_of_run: dict[str, str] = {}  # a sub-agent run, and the call that started it
        self.final_ids: dict[str, str] = {}  # VS Code's id of a call, and ours
        self.last_subagent_call: str | None = None
        self.last_editing_call: str | None = None

    def read(self, items: list[object]) -> None:
        self._prepare(items)
        tally = self.ledger.parts
        tally.seen += len(items)
        for position, item in enumerate(items):
            if isinstance(item, dict):
                try:
                    self._read_part(item, position, items)
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
        for shown in self.shown:
            if shown.parent is not None:
                shown.parent = self.final_ids.get(shown.parent, shown.parent)
        self._place_the_rest()

    def _prepare(self, items: list[object]) -> None:
        """Learn the ids of all calls first: a call may be recorded after the calls of its sub-agent."""
        native_ids: list[str] = []
        for item in items:
            if not isinstance(item, dict) or item.get("kind") != "toolInvocationSerialized":
                continue
            native_id = item.get("toolCallId")
            if not isinstance(native_id, str):
                continue
            native_ids.append(native_id)
            data = item.get("toolSpecificData")
            run_id = item.get("subAgentInvocationId")
            is_subagent = isinstance(data, dict) and data.get("kind") == "subagent"
            if isinstance(run_id, str) and is_subagent:
                self.call_of_run[run_id] = native_id
            self.call_of_run.setdefault(native_id, native_id)
        self.recorded.reserve(native_ids)

    def _read_part(self, item: Json, position: int, items: list[object]) -> None:
        kind = item.pop("kind", None)
        if kind is None:
            part = markdown(item)
            part.position = position
            self.shown.append(Shown(part, None))
        elif kind == "toolInvocationSerialized":
            self._read_call(item, position)
        elif kind == "prepareToolInvocation":
            self._read_preparation(item, position, items)
            return
        else:
            self._read_other(kind, item, position)
        self.ledger.parts.used += 1

    def _read_other(self, kind: object, item: Json, position: int) -> None:
        reader = READERS.get(kind) if isinstance(kind, str) else None
        if reader is None:
            item["kind"] = kind
            self.ledger.parts.meet_unknown(f"response:{kind}")
            self.shown.append(Shown(Unknown(type=f"response:{kind}", raw=item, position=position), None))
            return
        assert isinstance(kind, str)
        made = reader(item)
        run_id = take_str(item, "subAgentInvocationId")
        parent = self._caller(run_id)
        for part in made if isinstance(made, list) else [made]:
            part.native = kind
            part.position = position
            if isinstance(part, FileEdit):
                part.call_id = self.last_editing_call
            if item and part.extra is None:
                part.extra = item
            self.shown.append(Shown(part, parent))

    def _read_call(self, item: Json, position: int) -> None:
        from_subagent = item.get("fromSubAgent") is True
        native_id = item.get("toolCallId")
        made = invocation_from(item, position, self.recorded)
        parent = self._caller(made.run_id)
        if parent is None and from_subagent:
            parent = self.last_subagent_call
        if parent in (made.call.id, native_id):
            parent = None
        if made.call.subagent is not None:
            self.last_subagent_call = made.call.id
        if tool_key(made.call.tool_id or made.call.name) in EDITING_TOOLS:
            self.last_editing_call = made.call.id
        if isinstance(native_id, str):
            self.final_ids[native_id] = made.call.id
        if made.unknown_data is not None:
            self.ledger.parts.meet_unknown(made.unknown_data)
        self._show(made, parent)

    def _show(self, made: Invocation, parent: str | None, at: int | None = None) -> None:
        shown = [Shown(part, parent) for part in made.parts]
        shown[0].result = made.result
        shown[0].created_at = made.call.started_at
        if at is None:
            self.shown += shown
        else:
            self.shown[at:at] = shown

    def _caller(self, run_id: str | None) -> str | None:
        """The call that started a sub-agent run; the run's own id when that call is not here."""
        return None if run_id is None else self.call_of_run.get(run_id, run_id)

    def _read_preparation(self, item: Json, position: int, items: list[object]) -> None:
        """A tool was being prepared. The call itself follows, unless it never came to that."""
        name = take_str(item, "toolName") or ""
        key = tool_key(name)
        for later in items[position + 1 :]:
            if not isinstance(later, dict):
                continue
            kind = later.get("kind")
            if kind == "toolInvocationSerialized" and tool_key(str(later.get("toolId", ""))) == key:
                self.ledger.parts.ignore("tool-preparation")
                return
            if kind == "prepareToolInvocation" and later.get("toolName") == name:
                break
        self.ledger.parts.used += 1
        call = ToolCall(
            id=f"prepared-{position}",
            name=name,
            status="prepared",
            native="prepareToolInvocation",
            position=position,
            extra=item or None,
        )
        self.shown.append(Shown(call, None))

    def _place_the_rest(self) -> None:
        """Put calls that only the extension recorded where their round ran."""
        left = [call for call in self.recorded.calls if not call.is_placed]
        if left:
            for call in left:
                made = call_from_record(call, self.recorded)
                self._show(made, None, self._place_of(call))
        if not any(isinstance(shown.part, Thinking) and shown.part.text for shown in self.shown):
            self._place_thinking()

    def _place_of(self, call: RecordedCall) -> int:
        """After the call before it, else before the call after it, else after the text of its round."""
        order = {recorded.id: index for index, recorded in enumerate(self.recorded.calls)}
        mine = order[call.id]
        before = after = None
        for index, shown in enumerate(self.shown):
            if not isinstance(shown.part, ToolCall) or shown.part.id not in order:
                continue
            if order[shown.part.id] < mine:
                before = index
            elif order[shown.part.id] > mine and after is None:
                after = index
        if before is not None:
            at = before + 1
            while at < len(self.shown) and getattr(self.shown[at].part, "call_id", None) == self.shown[before].part.id:  # type: ignore[union-attr]
                at += 1
            return at
        return after if after is not None else self._end_of_round(call)

    def _end_of_round(self, call: RecordedCall) -> int:
        length = 0
        for recorded_round in self.recorded.rounds:
            length += len(recorded_round.text.strip())
            if recorded_round is call.round:
                break
        for index, shown in enumerate(self.shown):
            if length <= 0:
                return index
            if isinstance(shown.part, Text | Reference):
                length -= len(shown.part.text.strip())
        return len(self.shown)

    def _place_thinking(self) -> None:
        """Older responses show no thinking, though the extension recorded it: put it before its round."""
        for recorded_round in self.recorded.rounds:
            if not recorded_round.thinking:
                continue
            first_call = next(
                (
                    index
                    for index, shown in enumerate(self.shown)
                    if isinstance(shown.part, ToolCall) and shown.part.round_id == recorded_round.id
                ),
                None,
            )
            part = Thinking(text=recorded_round.thinking, native="toolCallRounds")
            self.shown.insert(len(self.shown) if first_call is None else first_call, Shown(part, None))


def messages_from(shown: list[Shown], turn: int) -> list[Message]:
    """Cut the parts into messages: a new one when the caller changes, or when prose follows tool results."""
    messages: list[Message] = []
    current: Message | None = None
    results: list[ToolResult] = []

    def close() -> None:
        for result in results:
            parent = current.parent_call_id if current else None
            messages.append(Message(role="tool", parts=[result], turn=turn, parent_call_id=parent))
        results.clear()

    for item in shown:
        part = item.part
        speaks = isinstance(part, Thinking) or (isinstance(part, Text) and not part.text.isspace() and part.text != "")
        if current is None or item.parent != current.parent_call_id or (results and speaks):
            close()
            current = Message(role="assistant", parts=[], turn=turn, parent_call_id=item.parent)
            messages.append(current)
        current.parts.append(part)
        if item.result is not None:
            results.append(item.result)
        if current.created_at is None:
            current.created_at = item.created_at
    close()
    return messages


def undone_from(parts: list[object], stop_id: str) -> int | None:
    """The first response part that was undone with a checkpoint.

    The cut is at the checkpoint, one part earlier when a file's edits follow it and the prose before it opened
    their code block.
    """
    for index, item in enumerate(parts):
        if isinstance(item, dict) and item.get("kind") == "undoStop" and item.get("id") == stop_id:
            after = parts[index + 1] if index + 1 < len(parts) else None
            before = parts[index - 1] if index else None
            follows = isinstance(after, dict) and after.get("kind") == "codeblockUri"
            opens = isinstance(before, dict) and "kind" not in before and isinstance(before.get("value"), str)
            return index - 1 if follows and opens else index
    return None
