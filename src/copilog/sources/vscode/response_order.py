"""Put the parts of a response in the order shown, and insert what only the extension recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

import msgspec

from copilog.model import AnyPart, Hook, Reference, Text, Thinking, ToolCall, ToolResult
from copilog.sources.tool_rounds import RecordedCall, RecordedCalls, clean_id
from copilog.sources.vscode.tool_calls import call_from_record
from copilog.sources.vscode.tool_data import Output, result_of

# The parts of a response in the order shown, with the parts that only the extension recorded inserted.


class Shown(msgspec.Struct, gc=False, eq=False):
    """One part of the response, the call whose sub-agent wrote it, and, for a call, its result."""

    part: AnyPart
    parent: str | None = None
    result: ToolResult | None = None
    created_at: datetime | None = None


def add_missing_parts(shown: list[Shown], recorded: RecordedCalls) -> None:
    """Add what the extension recorded and the response does not show: calls, their results, thinking."""
    order = _Order(shown, recorded)
    for call in recorded.calls:
        if not call.is_placed:
            order.insert_call(call)
    if any(one.thinking for one in recorded.rounds):
        _add_thinking(order)
    for number, one in enumerate(recorded.rounds):
        if one.hook_context:
            part = Hook(type="context", message=one.hook_context, native="toolCallRounds")
            shown.insert(order.end_of_round(number), Shown(part))
    for native_id in list(recorded.results):  # of calls that are recorded nowhere
        orphan = result_of(recorded.take_result(native_id), Output(), clean_id(native_id))
        if orphan is not None:
            shown.append(Shown(orphan, None))


def _add_thinking(order: _Order) -> None:
    """Add the thinking that the extension recorded and that older responses do not show."""
    if any(isinstance(item.part, Thinking) and item.part.text for item in order.shown):
        return
    for number, one in enumerate(order.recorded.rounds):
        if one.thinking:
            part = Thinking(text=one.thinking, native="toolCallRounds")
            order.shown.insert(order.start_of_round(number), Shown(part, None))


def is_fence(text: str) -> bool:
    """Return whether a text is only space and the marks around a code block, which edits leave there."""
    return not text.strip().strip("`")


class _Order:
    """Finds the position of a round or call among the parts, from the calls that are shown."""

    def __init__(self, shown: list[Shown], recorded: RecordedCalls) -> None:
        self.shown = shown
        self.recorded = recorded
        self.round_numbers = {id(one): number for number, one in enumerate(recorded.rounds)}

    def insert_call(self, call: RecordedCall) -> None:
        """Insert a call after the call before it, and after the text that its round began with."""
        calls = self.recorded.calls
        mine = next(index for index, other in enumerate(calls) if other is call)
        before = calls[mine - 1] if mine else None
        if before is not None and before.round is call.round:
            at = self._end_of_call(before)
        else:
            number = self.round_numbers[id(call.round)]
            at = self._after_round_text(number, self.start_of_round(number))
        made = call_from_record(call, self.recorded)
        self.shown.insert(at, Shown(made.call, None, made.result, made.call.started_at))

    def start_of_round(self, number: int) -> int:
        """Return the position after the last call of the rounds before, and after the text since."""
        at = first = 0
        for call in reversed(self.recorded.calls):
            its_round = self.round_numbers[id(call.round)]
            if its_round < number and call.is_placed:
                at = self._end_of_call(call)
                first = its_round + 1
                break
        for between in range(first, number):
            at = self._after_round_text(between, at)
        return at

    def end_of_round(self, number: int) -> int:
        """Return the position after the last call of a round, or before the next round."""
        mine = [call for call in self.recorded.calls if self.round_numbers[id(call.round)] == number]
        return self._end_of_call(mine[-1]) if mine else self.start_of_round(number + 1)

    def _end_of_call(self, call: RecordedCall) -> int:
        """Return the position after a call and all that belongs to it: edits, terminals, its sub-agent's parts."""
        shown = enumerate(self.shown)
        index = next((at for at, item in shown if isinstance(item.part, ToolCall) and item.part.id == call.id), -1)
        end = index + 1
        for at in range(end, len(self.shown)):
            item = self.shown[at]
            if item.parent == call.id or getattr(item.part, "call_id", None) == call.id:
                end = at + 1
            elif isinstance(item.part, ToolCall):
                break
        while end < len(self.shown) and isinstance(part := self.shown[end].part, Text) and is_fence(part.text):
            end += 1
        return end

    def _divided(self, at: int, part: Text, text: str) -> Text:
        """Return a part, cut after the text of a round if the text of the next round continues it.

        VS Code joins the two if it shows nothing between them, as for a call of a tool that does not exist.
        """
        end = len(part.text) - len(part.text.lstrip()) + len(text)
        behind = part.text[end:].lstrip()
        if not behind or not part.text.lstrip().startswith(text):
            return part
        item = self.shown[at]
        item.part = cut = msgspec.structs.replace(part, text=part.text[:end])
        self.shown.insert(at + 1, Shown(msgspec.structs.replace(part, text=behind), item.parent))
        return cut

    def _after_round_text(self, number: int, start: int) -> int:
        """Return the position after the text of a round, by its length; never after the next call."""
        one = self.recorded.rounds[number]
        length = len(one.text.strip())
        at = start
        while at < len(self.shown):
            part = self.shown[at].part
            if isinstance(part, Thinking) and one.thinking:
                at += 1
                continue
            if length <= 0 or isinstance(part, ToolCall):
                break
            if isinstance(part, Text | Reference):
                if isinstance(part, Text) and length == len(one.text.strip()):
                    part = self._divided(at, part, one.text.strip())
                length -= len(part.text.strip())
            at += 1
        return at


# Fences around edits: VS Code writes them into the response itself, and hides them. A file that a tool edits is an
# empty code block there: the opening fence, `undoStop`, `codeblockUri`, the edits, the closing fence. The fences are
# parts of their own, or the end and the beginning of the model's text. Format notes: docs/formats/vscode-chat.md


EDITS = ("textEditGroup", "notebookEditGroup", "codeblockUri")
BESIDE = (*EDITS, "undoStop")
_OPENING = re.compile(r"(?:^|\n)```\n?$")
_CLOSING = re.compile(r"^\n?```(?:\n|$)")


def texts_without_fences(items: list[object]) -> dict[int, str]:
    """Return the texts of the parts that have such a fence, without it, by the part's position."""
    found: dict[int, str] = {}
    for before, after in _around_edits(items):
        opening, closing = _text(items, before, found), _text(items, after, found)
        if _OPENING.search(opening) and _CLOSING.search(closing):
            found[before] = _OPENING.sub("", opening)
            found[after] = _CLOSING.sub("", closing)
    return found


def _around_edits(items: list[object]) -> Iterator[tuple[int, int]]:
    """Yield the positions of the parts before and after each run of edits."""
    before, has_edits = -1, False
    for position, item in enumerate(items):
        kind = item.get("kind") if type(item) is dict else None
        if kind in BESIDE:
            has_edits = has_edits or kind in EDITS
            continue
        if has_edits and before >= 0:
            yield before, position
        before, has_edits = position, False


def _text(items: list[object], position: int, found: dict[int, str]) -> str:
    item = items[position]
    value = item.get("value") if isinstance(item, dict) and item.get("kind") is None else None
    return found.get(position, value if isinstance(value, str) else "")
