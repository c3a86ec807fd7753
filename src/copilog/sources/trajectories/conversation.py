"""Convert the lines of a trajectory to a conversation and its messages."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, get_args

from copilog import tags
from copilog.diagnostics import Ledger
from copilog.fields import Json, json_text, take_int, take_list, take_str, timestamp_from
from copilog.model import (
    AnyPart,
    Attachment,
    Compaction,
    Conversation,
    Message,
    Mode,
    Model,
    Prompt,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Unknown,
)
from copilog.sources.tool_rounds import clean_id
from copilog.sources.trajectories.trajectory_file import SUBAGENT, Place, is_subagent

# Messages of a trajectory as messages of the model. Fields without an equivalent stay in `extra`, under `trajectory`.


KEPT = "trajectory"
UNREAD_CALL = "tool_calls"
ROLES: dict[str, Role] = {role: role for role in get_args(Role)}
PLACEHOLDER = "unknown"  # the role of a message that telemetry names without its content
MOST_IMAGES = 1000
SUMMARY, SUMMARY_END = "<conversation-summary>", "</conversation-summary>"
FIELDS = ("content", "mode", "model", "model_source", "model_conflict", "tool_calls", "tool_call_id", "reasoning")


def messages_from(items: list[Any], ledger: Ledger, pointer: str) -> list[Message]:
    """Return the messages of a line. Each item is counted, and an item that is not a message is reported."""
    ids = _ids_of_calls(items)
    made: list[Message] = []
    for position, item in enumerate(items):
        ledger.parts.seen += 1
        if not isinstance(item, dict) or not isinstance(item.get("role"), str):
            reason = (
                "a message without a role" if isinstance(item, dict) else f"a message that is {type(item).__name__}"
            )
            ledger.reject_part(reason, f"{pointer}/messages/{position}")
            continue
        if item["role"] not in ROLES and item["role"] != PLACEHOLDER:
            ledger.parts.count_unknown(f"role:{item['role']}")
        ledger.parts.used += 1
        made.append(_message(item, ids))
    _complete_calls(made)
    return made


def _complete_calls(messages: list[Message]) -> None:
    parts = [part for message in messages for part in message.parts]
    answered = {part.call_id for part in parts if isinstance(part, ToolResult)}
    for part in parts:
        if isinstance(part, ToolCall) and part.id in answered:
            part.status = "complete"


def is_injected(message: Message) -> bool:
    """Return whether a message with the user's role holds nothing but context."""
    return any(isinstance(part, Prompt) and part.scope == "conversation" for part in message.parts)


def _message(raw: Json, ids: dict[str, str]) -> Message:
    """Return one message. Takes fields out of it."""
    message = Message(role=ROLES.get(raw["role"], "system"), parts=[])
    if raw["role"] in ROLES:
        del raw["role"]
    for key in FIELDS:
        if raw.get(key, "") is None:
            del raw[key]
    thinking = take_str(raw, "reasoning")
    if thinking:
        message.parts.append(Thinking(text=thinking))
    message.parts += _content(raw, message.role, ids)
    message.parts += [_call(item, ids) for item in take_list(raw, "tool_calls") or []]
    message.parts += _images(raw)
    message.mode = take_str(raw, "mode")
    message.model, message.model_source = take_str(raw, "model"), take_str(raw, "model_source")
    if raw.get("model_conflict") is True:
        del raw["model_conflict"]
        message.model_conflict = "interactiveSession"  # only the engine's source can disagree
    message.extra = {KEPT: raw} if raw else None
    return message


# --- content ----------------------------------------------------------------------------------------------------


def _content(raw: Json, role: Role, ids: dict[str, str]) -> list[AnyPart]:
    text = take_str(raw, "content")
    others: list[AnyPart] = []
    if text is None and "content" in raw:
        others = [Unknown(type="content", raw=raw.pop("content"))]
    if role == "tool":
        return [_result(raw, text or "", ids), *others]
    if not text:
        return others
    if role == "user":
        return [*_prompt_parts(text), *others]
    return [Prompt(text=text, scope="system") if role == "system" else Text(text=text), *others]


def _prompt_parts(text: str) -> list[AnyPart]:
    """Return the user's text and the prompt around it, or context that Copilot sent by itself."""
    if tags.is_injected(text):
        prompt: AnyPart = Prompt(text=text, scope="conversation")
        summary = text.lstrip()
        if not summary.startswith(SUMMARY):
            return [prompt]
        return [Compaction(text=summary.removeprefix(SUMMARY).partition(SUMMARY_END)[0].strip()), prompt]
    words = tags.user_text(text)
    if words is None or words == text.strip():
        return [Text(text=text) if words is not None else Prompt(text=text)]
    return [Text(text=words), Prompt(text=text)]


def _result(raw: Json, text: str, ids: dict[str, str]) -> ToolResult:
    native_id = take_str(raw, "tool_call_id") or ""
    result = ToolResult(call_id=ids.get(native_id) or clean_id(native_id), text=text, origin="model")
    if result.call_id != native_id or (native_id not in ids and native_id in ids.values()):
        result.extra = {KEPT: {"tool_call_id": native_id}}
    return result


def _images(raw: Json) -> list[AnyPart]:
    """Return the images of a message, of which a trajectory has only the number."""
    number = raw.get("attachments")
    if not isinstance(number, int) or not 0 < number <= MOST_IMAGES or number is True:
        return []
    take_int(raw, "attachments")
    return [Attachment(type="image") for _ in range(number)]


# --- calls ------------------------------------------------------------------------------------------------------


def _call(item: Any, ids: dict[str, str]) -> AnyPart:
    function = item.get("function") if isinstance(item, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or _id_of(item) is None:
        return Unknown(type=UNREAD_CALL, raw=item)
    native_id, name = item.pop("id"), function.pop("name")
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        del function["arguments"]
    elif arguments is not None:
        arguments = json_text(arguments)
    if not function:
        del item["function"]
    if item.get("type") == "function":
        del item["type"]
    call_id = ids[native_id]
    native_ids = [native_id] if call_id != native_id else []
    return ToolCall(
        id=call_id, name=name, arguments=arguments, native_ids=native_ids, extra={KEPT: item} if item else None
    )


def _ids_of_calls(items: list[Any]) -> dict[str, str]:
    """Return our ids of all calls: without the extension's suffix, unless two would then be equal."""
    ids: dict[str, str] = {}
    owners: dict[str, str] = {}
    for item in items:
        calls = item.get("tool_calls") if isinstance(item, dict) else None
        for call in calls if isinstance(calls, list) else []:
            native_id = _id_of(call)
            if native_id is None or native_id in ids:
                continue
            short = clean_id(native_id)
            owner = owners.setdefault(short, native_id)
            ids[native_id] = short if owner == native_id else native_id
            if owner != native_id:
                ids[owner] = owner
    return ids


def _id_of(call: Any) -> str | None:
    name = call.get("id") if isinstance(call, dict) else None
    return name if isinstance(name, str) and name else None


# A conversation from its lines: its own, and those of its sub-agents.


MARK = "trajectory"
KINDS = ("ask", "edit", "agent")


@dataclass(slots=True)
class Line:
    """One decoded trajectory."""

    place: Place
    fields: Json  # all fields but its messages
    messages: list[Message] = field(default_factory=list)

    @property
    def metadata(self) -> Json:
        value = self.fields.get("metadata")
        return value if isinstance(value, dict) else {}


def line_from(trajectory: Json, place: Place, ledger: Ledger) -> Line:
    """Return the messages and all other fields of a trajectory. Takes fields out of it."""
    items = take_list(trajectory, "messages") or []
    return Line(place, trajectory, messages_from(items, ledger, pointer_of(place)))


def pointer_of(place: Place) -> str:
    return f"/{place.line}"


def conversation_from(native_id: str, lines: list[Line], source: str) -> Conversation:
    """Return one conversation. A sub-agent without its parent becomes a conversation of its own."""
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
    inserted = _insert_subagents(made, subagents)
    if inserted:
        kept["subagents"] = inserted
    times = [moment for line in lines if (moment := timestamp_from(line.metadata.get("timestamp"))) is not None]
    made.updated_at = max(times, default=None)
    made.extra = {KEPT: kept} if kept else None
    return made


# --- turns ------------------------------------------------------------------------------------------------------


def _turns_from(line: Line) -> list[Turn]:
    """Return the turns: each message of the user begins one. Context belongs to the message after it."""
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
            _set_mode_and_model(turns[index], list(members))
    message_id = line.metadata.get("messageId")
    if turns and isinstance(message_id, str) and message_id:
        turns[-1].response_id = message_id  # the extension's own id, which is also in sessions and debug exports
    return turns


def _set_mode_and_model(turn: Turn, messages: list[Message]) -> None:
    """Set the mode and the model of a turn from its messages: the model that first answered, else the requested one."""
    asked = [message for message in messages if message.role == "user"]
    asked = [message for message in asked if not is_injected(message)] or asked
    mode = next((message.mode for message in asked if message.mode), None)
    if mode is not None:
        turn.mode = Mode(kind=mode if mode in KINDS else None, id=mode, name=mode, evidence="trajectory")
    models = sorted((message for message in messages if message.model), key=lambda message: message.role != "assistant")
    if models and models[0].model is not None:
        turn.model = Model(id=models[0].model, name=models[0].model.rpartition("/")[2])


# --- sub-agents -------------------------------------------------------------------------------------------------


def _insert_subagents(made: Conversation, lines: list[Line]) -> Json:
    """Put the messages of sub-agents after the calls that started them, else at the end. Return their other fields."""
    waiting = {line.place.conversation_id.rpartition(SUBAGENT)[2]: line for line in lines}
    inserted: Json = {}
    spoken = deque(made.messages)
    made.messages = []
    while spoken or waiting:
        if not spoken:
            caller = next(iter(waiting))
            spoken.extend(_subagent_messages(waiting.pop(caller), caller, _turn_of(made, caller), inserted))
            continue
        message = spoken.popleft()
        made.messages.append(message)
        for call in reversed([part for part in message.parts if isinstance(part, ToolCall)]):
            name = next((name for name in (*call.native_ids, call.id) if name in waiting), None)
            if name is not None:
                caller = call.id if call.id not in inserted else name
                spoken.extendleft(reversed(_subagent_messages(waiting.pop(name), caller, message.turn, inserted)))
    return inserted


def _subagent_messages(line: Line, caller: str, turn: int | None, inserted: Json) -> list[Message]:
    inserted[caller] = line.fields
    for message in line.messages:
        message.parent_call_id, message.turn = caller, turn
    return line.messages


def _turn_of(made: Conversation, caller: str) -> int | None:
    """Return the turn of a sub-agent whose call is missing: telemetry may name the turn instead."""
    if "headless" in made.marks:
        return 0
    return next((turn.index for turn in made.turns if turn.response_id == caller), None)
