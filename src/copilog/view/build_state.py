"""What blocks need to know of their conversation while they are made."""

from __future__ import annotations

from dataclasses import dataclass, field

from copilog.derive import only_traces
from copilog.derive.edit_outcomes import EditOutcomes
from copilog.model import AnyPart, Conversation, ToolCall
from copilog.view.arguments import Arguments, arguments_of
from copilog.view.nesting import At, Nesting
from copilog.view.terminal_text import clean_line


@dataclass(slots=True)
class BuildState:
    """One conversation, with what all of its blocks need."""

    conversation: Conversation
    nesting: Nesting
    fates: EditOutcomes
    only_traces: dict[int, str]  # by turn: the only trace that has it
    undone: set[At]  # the first undone part of each turn that was undone in part
    _given: dict[int, Arguments] = field(default_factory=dict)

    @classmethod
    def of(cls, conversation: Conversation) -> BuildState:
        nesting = Nesting(conversation)
        return cls(
            conversation, nesting, EditOutcomes(conversation), only_traces(conversation), _undone_in(conversation)
        )

    @property
    def folder(self) -> str | None:
        workspace = self.conversation.workspace
        return workspace.folder if workspace is not None else None

    @property
    def assistant(self) -> str:
        return clean_line(self.conversation.assistant or "", 80) or "Assistant"

    def part_at(self, at: At) -> AnyPart:
        return self.conversation.messages[at[0]].parts[at[1]]

    def given(self, call: ToolCall) -> Arguments:
        """Return the arguments of a call that no other block shows."""
        made = self._given.get(id(call))
        if made is None:
            hidden = {"command", "isBackground"} if call.id in self.nesting.terminals else set()
            hidden |= {"todoList", "operation"} if call.id in self.nesting.todos else set()
            hidden |= {"prompt", "agentName"} if call.subagent is not None and call.subagent.prompt else set()
            made = self._given[id(call)] = arguments_of(call, self.folder, hidden)
        return made

    def shows_patch(self, call_id: str | None) -> bool:
        """Return whether a call has to show its change itself: no edit with a diff follows."""
        if call_id is None or call_id not in self.nesting.calls or call_id in self.nesting.diffs:
            return False
        call = self.part_at(self.nesting.calls[call_id])
        return isinstance(call, ToolCall) and self.given(call).change is not None


def _undone_in(conversation: Conversation) -> set[At]:
    """Find the first undone part of each turn that was undone in part."""
    starts = {turn.index: turn.undone_from for turn in conversation.turns if turn.undone_from is not None}
    found: set[At] = set()
    for number, message in enumerate(conversation.messages) if starts else ():
        first = starts.get(message.turn) if message.turn is not None else None
        if first is None or message.role in ("user", "system"):
            continue
        for position, part in enumerate(message.parts):
            if part.position is not None and part.position >= first:
                found.add((number, position))
                del starts[message.turn]  # type: ignore[arg-type]
                break
    return found
