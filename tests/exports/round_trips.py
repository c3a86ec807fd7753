"""Compare a conversation with what is read from an export of it, in all that the format can carry."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from copilog.derive import ends_of, model_of
from copilog.derive.models import model_of_message
from copilog.exports.formats import Making
from copilog.exports.recorded_usage import RecordedUsage
from copilog.jsonio import replace_lone_surrogates
from copilog.model import (
    Attachment,
    Conversation,
    Message,
    Notice,
    Prompt,
    Thinking,
    ToolCall,
    ToolResult,
    prose_of,
)
from copilog.sources.tool_rounds import clean_id


def story_of(whole: Conversation, caller: str | None = None, *, notices: bool = True) -> list[dict[str, Any]]:
    """What a model and the user said to each other in the trunk, turn by turn; of a sub-agent that of its call.

    Notices that VS Code shows as prose are part of it, if not asked otherwise.
    """
    trunk = ends_of(whole)[0]
    if not notices:
        trunk = without_notices(trunk)
    turns = {turn.index: turn for turn in trunk.turns}
    told: dict[int | None, dict[str, Any]] = {
        turn.index: {"user": [], "system": [], "answers": [], "results": []} for turn in trunk.turns
    }
    for message in trunk.messages:
        if message.parent_call_id == caller and message.turn in told:
            add_message(told[message.turn], message, turns[message.turn] if message.turn is not None else None)
    return [turn for turn in told.values() if any(turn.values())]


def add_message(turn: dict[str, Any], message: Message, record: Any) -> None:
    """Add one message to what was said in its turn."""
    if message.role == "user":
        turn["user"] += filter(None, [clean(prose_of(message.parts)).strip()])
    elif message.role == "system":
        turn["system"] += [clean(part.text) for part in message.parts if isinstance(part, Prompt) and part.text]
    calls = [part for part in message.parts if isinstance(part, ToolCall) and part.status != "prepared"]
    if message.role == "assistant" or calls:
        answer = {
            "text": clean(prose_of(message.parts)),
            "thinking": clean(
                "\n\n".join(part.text for part in message.parts if isinstance(part, Thinking) and part.text)
            ),
            "calls": [(clean(clean_id(call.id)), clean(call.name), arguments_of(call)) for call in calls],
        }
        of_turn = (model_of(record) or "") if record is not None and message.parent_call_id is None else ""
        if any(answer.values()):
            turn["answers"].append(answer | {"model": clean(model_of_message(message, record) or of_turn)})
    for part in message.parts:
        if isinstance(part, ToolResult):
            turn["results"].append((clean(clean_id(part.call_id)), clean(part.text), part.is_error))
    turn["results"].sort()


def without_notices(whole: Conversation) -> Conversation:
    messages = [
        msgspec.structs.replace(message, parts=[part for part in message.parts if not isinstance(part, Notice)])
        for message in whole.messages
    ]
    return msgspec.structs.replace(whole, messages=messages)


def arguments_of(call: ToolCall) -> Any:
    """The value of the arguments: exports may change their spacing."""
    text = clean(call.arguments or "{}")
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"input": text}


def clean(text: str) -> str:
    return replace_lone_surrogates(text)


def callers_in(whole: Conversation) -> list[str]:
    """The calls that started sub-agents with messages."""
    trunk = ends_of(whole)[0]
    found = dict.fromkeys(message.parent_call_id for message in trunk.messages if message.parent_call_id is not None)
    calls = {
        (part.id, message.parent_call_id)
        for message in trunk.messages
        for part in message.parts
        if isinstance(part, ToolCall)
    }
    return [caller for caller in found if any(call == caller != above for call, above in calls)]


def recorded_in(whole: Conversation, caller: str | None = None) -> dict[str, Any]:
    """Recorded tokens and cost of a run, as copilog counts them."""
    trunk = ends_of(whole)[0]
    amounts = RecordedUsage(trunk, Making(by="")).of_run(caller)
    return {name: getattr(amounts, name) for name in amounts.__struct_fields__ if getattr(amounts, name)}


def pictures_in(whole: Conversation) -> list[bytes]:
    """The content of pictures in prompts, where it is recorded."""
    return [
        part.data
        for message in ends_of(whole)[0].messages
        for part in message.parts
        if isinstance(part, Attachment)
        and part.is_sent
        and part.data is not None
        and (part.mime_type or "").startswith("image/")
    ]
