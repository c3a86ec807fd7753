"""Messages of a trajectory as messages of the model. What has no place there stays in `extra`, under `trajectory`."""

from __future__ import annotations

from typing import Any, get_args

from copilog import tags
from copilog.diagnostics import Ledger
from copilog.model import (
    AnyPart,
    Attachment,
    Compaction,
    Message,
    Prompt,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from copilog.sources._vscode.rounds import clean_id
from copilog.sources._vscode.take import Json, json_text, take_int, take_list, take_str

KEPT = "trajectory"
UNREAD_CALL = "tool_calls"
ROLES: dict[str, Role] = {role: role for role in get_args(Role)}
PLACEHOLDER = "unknown"  # the role of a message that telemetry names and does not hold
MOST_IMAGES = 1000
SUMMARY, SUMMARY_END = "<conversation-summary>", "</conversation-summary>"
FIELDS = ("content", "mode", "model", "model_source", "model_conflict", "tool_calls", "tool_call_id", "reasoning")


def messages_from(items: list[Any], ledger: Ledger, pointer: str) -> list[Message]:
    """The messages of a line; each item is counted, and what is no message is told."""
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
            ledger.parts.meet_unknown(f"role:{item['role']}")
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
    """Whether a message of the user's place holds nothing but context."""
    return any(isinstance(part, Prompt) and part.scope == "conversation" for part in message.parts)


def _message(raw: Json, ids: dict[str, str]) -> Message:
    """One message. Takes it apart."""
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
        message.model_conflict = "interactiveSession"  # which alone can disagree with the engine
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
        return [*_asked(text), *others]
    return [Prompt(text=text, scope="system") if role == "system" else Text(text=text), *others]


def _asked(text: str) -> list[AnyPart]:
    """The user's words and the whole prompt around them, or context that Copilot sent by itself."""
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
    """The images of a message, of which a trajectory knows only how many there were."""
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
    """The ids of all calls, and ours: without what the extension adds, unless two would then be one."""
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
