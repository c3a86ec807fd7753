"""Which recorded call stands behind which tool part of a response.

Ids agree in newer files only. Where they do not, both lists are in the order of time, so calls are paired in order
by the name of the tool. Either list may lack some: hidden tools have a part and no call, calls that never ran have
no part. Then the pairing is chosen that keeps the order for most calls, and whose arguments the parts speak of.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from copilog import jsonio
from copilog.derive.tool_names import INNER_TOOLS, tool_key
from copilog.errors import BadRecord
from copilog.sources._vscode.places import base_name
from copilog.sources._vscode.rounds import RecordedCall, clean_id
from copilog.sources._vscode.take import Json, json_text

COMPARISON_LIMIT = 10_000  # pairs that are compared at most
PAIR = 1000  # what a pair counts for; each argument that the part speaks of counts for one more


class ToolPart:
    """A tool part of a response: where it stands, and what it tells about the call behind it."""

    __slots__ = ("_spoken", "is_of_subagent", "item", "key", "native_id", "position")

    def __init__(self, item: Json, position: int) -> None:
        native_id, tool_id = item.get("toolCallId"), item.get("toolId")
        self.item = item
        self.position = position
        self.native_id = native_id if isinstance(native_id, str) else ""
        self.key = tool_key(tool_id) if isinstance(tool_id, str) else ""
        self.is_of_subagent = False  # set by callers.py: the rounds of sub-agents are not recorded
        self._spoken: tuple[str, frozenset[str]] | None = None

    def speaks_of(self, words: set[str]) -> int:
        """How many of these words the part shows to the user."""
        if not words:
            return 0
        if self._spoken is None:
            shown = [self.item.get(key) for key in ("invocationMessage", "pastTenseMessage", "toolSpecificData")]
            text = json_text(shown) or ""
            self._spoken = text, frozenset(re.findall(r"\w+", text))
        text, tokens = self._spoken
        return sum(word in tokens if word.isdecimal() else word in text for word in words)


def outer_calls(parts: list[ToolPart]) -> dict[int, int]:
    """Return the position of the outer call of each inner call, by the position of the latter; they follow each other.

    An inner call without one stands for it: then it is the call that the model made, by that tool's key.
    """
    found: dict[int, int] = {}
    waiting: list[ToolPart] = []  # calls of one tool in a row
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
    """The recorded call behind each part, by the part's position."""
    if not calls:
        return {}
    pairs = _pair_by_id(parts, calls)
    free_parts = [part for part in parts if part.position not in pairs and not part.is_of_subagent]
    free_calls = [call for call in calls if not call.is_placed]
    if free_parts and free_calls:
        for part, call in _pair_by_name(free_parts, free_calls):
            _place(part, call, pairs)
    return pairs


def _place(part: ToolPart, call: RecordedCall, pairs: dict[int, RecordedCall]) -> None:
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
            _place(part, found, pairs)
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
    """The first part of a tool with its first call, the second with the second."""
    waiting: defaultdict[str, list[RecordedCall]] = defaultdict(list)
    for call in reversed(calls):
        waiting[tool_key(call.name)].append(call)
    return [(part, waiting[part.key].pop()) for part in parts if waiting[part.key]]


def _best_in_order(
    parts: list[ToolPart], calls: list[RecordedCall], unequal: set[str]
) -> list[tuple[ToolPart, RecordedCall]]:
    """The best of all pairings that keep the order of both lists; what parts speak of counts for `unequal` tools."""
    keyed = [(key := tool_key(call.name), _words_of(call) if key in unequal else set()) for call in calls]
    worth = [[PAIR + part.speaks_of(words) if part.key == key else 0 for key, words in keyed] for part in parts]
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


def _words_of(call: RecordedCall) -> set[str]:
    """What a part that shows this call would speak of: the names of files, the command, line numbers."""
    try:
        arguments = jsonio.decode((call.arguments or "").encode("utf-8", "replace"))[0]
    except BadRecord:
        return set()
    values = arguments.values() if isinstance(arguments, dict) else []
    texts = {base_name(value) for value in values if isinstance(value, str) and 1 < len(value) < 500}
    return {(json_text(text) or "")[1:-1] for text in texts} | {str(value) for value in values if type(value) is int}
