"""A conversation out of its lines: its own, and those of its sub-agents."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import groupby

from copilog.diagnostics import Ledger
from copilog.model import Conversation, Message, Mode, Model, ToolCall, Turn
from copilog.sources._extension.moments import moment_from
from copilog.sources._trajectory.lines import SUBAGENT, Place, is_subagent
from copilog.sources._trajectory.messages import KEPT, is_injected, messages_from
from copilog.sources._vscode.take import Json, take_list

MARK = "trajectory"
KINDS = ("ask", "edit", "agent")


@dataclass(slots=True)
class Line:
    """One trajectory, taken apart."""

    place: Place
    fields: Json  # all but its messages
    messages: list[Message] = field(default_factory=list)

    @property
    def metadata(self) -> Json:
        value = self.fields.get("metadata")
        return value if isinstance(value, dict) else {}


def line_from(trajectory: Json, place: Place, ledger: Ledger) -> Line:
    """The messages of a trajectory, and all else it says. Takes it apart."""
    items = take_list(trajectory, "messages") or []
    return Line(place, trajectory, messages_from(items, ledger, pointer_of(place)))


def pointer_of(place: Place) -> str:
    return f"/{place.line}"


def conversation_from(native_id: str, lines: list[Line], source: str) -> Conversation:
    """One conversation. A sub-agent whose parent is not there is told by itself."""
    parent = next((line for line in lines if not is_subagent(line.fields)), None)
    subagents = [line for line in lines if line is not parent]
    made = Conversation(id=(parent or lines[0]).place.id, native_id=native_id, source=source, marks=[MARK])
    kept: Json = {}
    if parent is not None:
        made.messages = parent.messages
        made.turns = _turns_from(parent)
        kept = parent.fields
        if kept["conversation_id"] == native_id:
            del kept["conversation_id"]
    else:
        made.marks.append("headless")
        made.turns = [Turn(index=0, pointer=pointer_of(lines[0].place))]
    if any(line.metadata.get(flag) is True for line in lines for flag in ("truncated", "incomplete")):
        made.marks.append("damaged")
    told = _place_subagents(made, subagents)
    if told:
        kept["subagents"] = told
    times = [moment for line in lines if (moment := moment_from(line.metadata.get("timestamp"))) is not None]
    made.updated_at = max(times, default=None)
    made.extra = {KEPT: kept} if kept else None
    return made


# --- turns ------------------------------------------------------------------------------------------------------


def _turns_from(line: Line) -> list[Turn]:
    """The turns of a conversation: each message of the user's begins one, and context goes with what it precedes."""
    turns: list[Turn] = []
    waiting: list[Message] = []
    for position, message in enumerate(line.messages):
        if message.role == "system" or (message.role == "user" and is_injected(message)):
            waiting.append(message)
            continue
        if message.role == "user" or not turns:
            turns.append(Turn(index=len(turns), pointer=f"{pointer_of(line.place)}/messages/{position}"))
        for member in (*waiting, message):
            member.turn = turns[-1].index
        waiting = []
    if waiting and not turns:
        turns.append(Turn(index=0, pointer=pointer_of(line.place)))
    for member in waiting:
        member.turn = turns[-1].index
    for index, members in groupby(line.messages, key=lambda message: message.turn):
        if index is not None:
            _tell(turns[index], list(members))
    message_id = line.metadata.get("messageId")
    if turns and isinstance(message_id, str) and message_id:
        turns[-1].response_id = message_id  # the extension's own id, which sessions and debug exports carry too
    return turns


def _tell(turn: Turn, messages: list[Message]) -> None:
    """Say of a turn what its messages say: the mode, and the model that first answered, else the one asked for."""
    asked = [message for message in messages if message.role == "user"]
    asked = [message for message in asked if not is_injected(message)] or asked
    mode = next((message.mode for message in asked if message.mode), None)
    if mode is not None:
        turn.mode = Mode(kind=mode if mode in KINDS else None, id=mode, name=mode, evidence="trajectory")
    models = sorted((message for message in messages if message.model), key=lambda message: message.role != "assistant")
    if models and models[0].model is not None:
        turn.model = Model(id=models[0].model, name=models[0].model.rpartition("/")[2])


# --- sub-agents -------------------------------------------------------------------------------------------------


def _place_subagents(made: Conversation, lines: list[Line]) -> Json:
    """Put what sub-agents said behind the calls that started them, else at the end; return what else they tell."""
    waiting = {line.place.conversation_id.rpartition(SUBAGENT)[2]: line for line in lines}
    told: Json = {}
    spoken = deque(made.messages)
    made.messages = []
    while spoken or waiting:
        if not spoken:
            caller = next(iter(waiting))
            spoken.extend(_said_by(waiting.pop(caller), caller, _turn_of(made, caller), told))
            continue
        message = spoken.popleft()
        made.messages.append(message)
        for call in reversed([part for part in message.parts if isinstance(part, ToolCall)]):
            name = next((name for name in (*call.native_ids, call.id) if name in waiting), None)
            if name is not None:
                caller = call.id if call.id not in told else name
                spoken.extendleft(reversed(_said_by(waiting.pop(name), caller, message.turn, told)))
    return told


def _said_by(line: Line, caller: str, turn: int | None, told: Json) -> list[Message]:
    told[caller] = line.fields
    for message in line.messages:
        message.parent_call_id, message.turn = caller, turn
    return line.messages


def _turn_of(made: Conversation, caller: str) -> int | None:
    """The turn of a sub-agent whose call is not there: telemetry may name the turn in its place."""
    if "headless" in made.marks:
        return 0
    return next((turn.index for turn in made.turns if turn.response_id == caller), None)
