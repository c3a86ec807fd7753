"""Select the turns that count, and divide a branched conversation into linear ones.

A superseded turn stays in the conversation, but figures, exports and agents leave it out unless the user selects it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from copilog.model import Branch, Conversation, FileEdit, Turn, is_counted, is_empty

# Texts for the reasons why a turn no longer counts.
REASONS = {
    "removed": "removed",
    "hidden": "hidden in VS Code",
    "undone": "undone",
    "replaced": "replaced by a retry",
    "rewound": "rewound",
    "absent": "no longer in its file",
}
BRANCH_MARK = "~"  # between the id of a conversation and the name of one of its branches

UNDONE = frozenset({"undone", "rewound"})  # reasons why turns no longer count that a list does not leave out
STREAMED = frozenset({"cli-events", "cli-history"})  # sources in which only a rewind removes turns


class Placed(NamedTuple):
    """A turn in reading order, with the branches that lead to it, the outermost first; the trunk has none."""

    turn: Turn
    branches: tuple[Branch, ...]


class _Line:
    """The trunk or a branch: its turns in order."""

    def __init__(self, branch: Branch | None) -> None:
        self.branch = branch
        self.turns: list[Turn] = []


def superseded_indexes(conversation: Conversation) -> set[int]:
    """Return the indexes of the turns that do not count."""
    return {turn.index for turn in conversation.turns if not is_counted(turn)}


def last_number(conversation: Conversation) -> int | None:
    """Return the number of the last turn if it equals the number of turns that count; None if some are superseded."""
    return None if superseded_indexes(conversation) else len(conversation.turns)


def reason_of(turn: Turn) -> str:
    """Return a text for the reason why a turn does not count; empty if it counts."""
    return REASONS.get(turn.superseded, turn.superseded) if turn.superseded else ""


def reasons_of(turns: Iterable[Turn]) -> list[str]:
    """Return a text for the reasons why turns do not count, each reason once."""
    return list(dict.fromkeys(reason_of(turn) for turn in turns))


def branch_name(branch: Branch) -> str:
    """Return the name of a branch within a sentence."""
    return "branch" if branch.leaves_from is None else f"branch from turn {branch.leaves_from + 1}"


def only_trace_of(turn: Turn, only_traces: Mapping[int, str]) -> str | None:
    """Return the only trace that has a turn; None if several have it, or if the turn's branch names the trace."""
    path = only_traces.get(turn.index)
    return None if turn.branch is not None and turn.branch.trace == path else path


def only_traces(conversation: Conversation) -> dict[int, str]:
    """Return, by turn index, the path of the only trace that has the turn, where several have turns that count."""
    alone = {turn.index: turn.traces[0] for turn in conversation.turns if len(turn.traces) == 1}
    if not alone:
        return {}
    if len({path for turn in conversation.turns if is_counted(turn) for path in turn.traces}) < 2:
        return {index: path for index, path in alone.items() if index in superseded_indexes(conversation)}
    return alone


def without_superseded(conversation: Conversation) -> Conversation:
    """Return the conversation without its superseded turns, or itself if it has none. Turns keep their indexes."""
    superseded = superseded_indexes(conversation)
    if not superseded:
        return conversation
    return _with_turns(conversation, {turn.index for turn in conversation.turns} - superseded)


def has_nothing(conversation: Conversation) -> bool:
    """Return whether a list leaves a conversation out: no turn counts, none was undone, nothing else is to read.

    An undone turn stays where it was until the next prompt is sent, and so does a rewound one of Copilot CLI in other
    traces: the program's own stream calls it removed. A removed turn of VS Code is gone.
    """
    reasons = UNDONE | {"removed"} if conversation.source in STREAMED else UNDONE
    return not any(turn.superseded in reasons for turn in conversation.turns) and is_empty(
        without_superseded(conversation)
    )


def is_branched(conversation: Conversation) -> bool:
    """Return whether the conversation has branches."""
    return any(turn.branch is not None for turn in conversation.turns)


def in_reading_order(conversation: Conversation) -> list[Placed]:
    """Return all turns, the turns of a branch right after the turn that it leaves from.

    A branch that shares no turn with the trunk comes first, and one that leaves from a missing turn last.
    """
    if not is_branched(conversation):
        return [Placed(turn, ()) for turn in conversation.turns]
    trunk, *branches = lines_of(conversation)
    leaving: dict[int | None, list[_Line]] = {}
    for line in branches:
        assert line.branch is not None
        leaving.setdefault(line.branch.leaves_from, []).append(line)
    placed = list(_read(trunk, leaving, ()))
    while leaving:  # they leave from a missing turn, or from each other
        for line in leaving.pop(next(iter(leaving))):
            placed += _read(line, leaving, ())
    return placed


def _read(line: _Line, leaving: dict[int | None, list[_Line]], above: tuple[Branch, ...]) -> Iterator[Placed]:
    branches = above if line.branch is None else (*above, line.branch)
    if line.branch is None:
        for branch in leaving.pop(None, ()):
            yield from _read(branch, leaving, branches)
    for turn in line.turns:
        yield Placed(turn, branches)
        for branch in leaving.pop(turn.index, ()):
            yield from _read(branch, leaving, branches)


def turns_before(conversation: Conversation) -> dict[int, Turn | None]:
    """Return the counted turn before each turn; for the first of a branch, the turn that the branch leaves from."""
    before: dict[int, Turn | None] = {}
    up_to: dict[int | None, Turn | None] = {None: None}  # the last counted turn up to and including a turn
    for line in lines_of(conversation):  # a branch leaves from a turn of a line before it
        last = up_to.get(line.branch.leaves_from) if line.branch is not None else None
        for turn in line.turns:
            before[turn.index] = last
            up_to[turn.index] = last = turn if is_counted(turn) else last
    return before


def repeated_prompts(conversation: Conversation, prompts: Mapping[int, str]) -> set[int]:
    """Return the turns that repeat the prompt of the turn before them; `prompts` are by the index of a turn."""
    before = turns_before(conversation)
    return {
        index
        for index, prompt in prompts.items()
        if prompt and (last := before.get(index)) is not None and prompts.get(last.index) == prompt
    }


def ends_of(conversation: Conversation) -> list[Conversation]:
    """Return one linear conversation for each last turn of a line, without superseded turns.

    The trunk comes first and keeps the id. A branch has the turns that lead to it, and an id of its own: that of the
    conversation and the request that the branch begins with, which stays the same when other branches come and go.
    """
    if not is_branched(conversation):
        return [without_superseded(conversation)]
    superseded = superseded_indexes(conversation)
    trunk, *branches = lines_of(conversation)
    made = [_with_turns(conversation, _indexes(trunk) - superseded)]
    for line in branches:
        own = _indexes(line) - superseded
        if own:
            assert line.branch is not None
            before = _leading_to(conversation, line.branch.leaves_from) - superseded
            end = _with_turns(conversation, before | own)
            first = line.turns[0]
            name = f"{BRANCH_MARK}{first.request_id or f'turn-{first.index + 1}'}"
            end.id += name
            end.native_id = None if end.native_id is None else end.native_id + name
            made.append(end)
    return made


def lines_of(conversation: Conversation) -> list[_Line]:
    """Return the trunk, then each branch in the order of its first turn."""
    trunk = _Line(None)
    branches: dict[tuple[int | None, str], _Line] = {}
    for turn in conversation.turns:
        if turn.branch is None:
            trunk.turns.append(turn)
        else:
            key = turn.branch.leaves_from, turn.branch.trace
            branches.setdefault(key, _Line(turn.branch)).turns.append(turn)
    return [trunk, *branches.values()]


def _indexes(line: _Line) -> set[int]:
    return {turn.index for turn in line.turns}


def _leading_to(conversation: Conversation, index: int | None) -> set[int]:
    """Return the indexes of the turns up to and including one, along its branch and those it leaves from."""
    found: set[int] = set()
    turns = {turn.index: turn for turn in conversation.turns}
    while index is not None and index in turns and index not in found:
        branch = turns[index].branch
        found |= {turn.index for turn in conversation.turns if turn.branch == branch and turn.index <= index}
        index = branch.leaves_from if branch is not None else None
    return found


def _with_turns(conversation: Conversation, indexes: Collection[int]) -> Conversation:
    """Return a copy with these turns, and everything that belongs to no turn."""
    left_out = {turn.index for turn in conversation.turns}.difference(indexes)
    requests = {turn.request_id for turn in conversation.turns if turn.index in left_out and turn.request_id}
    changes = [change for change in conversation.file_changes if change.turn not in left_out]
    messages = [message for message in conversation.messages if message.turn not in left_out]
    files = conversation.files
    if files:
        edits = (part.uri for message in messages for part in message.parts if isinstance(part, FileEdit))
        changed = {*(change.uri for change in changes), *edits}
        files = [file for file in files if file.request_id not in requests or file.uri in changed]
    return msgspec.structs.replace(
        conversation,
        turns=[turn for turn in conversation.turns if turn.index not in left_out],
        messages=messages,
        file_changes=changes,
        files=files,
    )
