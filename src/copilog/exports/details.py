"""Count the fields of a conversation that a format neither carries nor counts by itself.

`details.json` has, for each format, which fields make a difference to what it writes (`carried`), and which to its own
list of what is left out (`listed`). It is measured: `tests/exports/carried.py` leaves out one field after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from copilog import jsonio
from copilog.chat_json.sessions import is_own
from copilog.derive import superseded_indexes
from copilog.derive.documents import kinds_of_documents
from copilog.exports.left_out import UNCOUNTED_TURNS, Omissions
from copilog.exports.uncarried import CONVERSATION, PARTS, TURNS, is_picture, kinds_of
from copilog.model import Attachment, Confirmation, Conversation, Message, Notice, Part, Prompt, Text, ToolCall, Turn

NAME = "details.json"
DOCUMENTS = "Conversation.documents"
SUPERSEDED = "superseded"  # a key of the file: turns that no longer count
COMPLETE = frozenset({"json", "bundle"})  # formats that contain the model itself
OF_VSCODE = frozenset({"chat", "vscode"})
OWN = ", own"  # the key of conversations of VS Code itself, of which these formats write the recorded fields again
# Formats of what a model saw: the prompt as it was sent is written in place of attachments, and of what was typed.
AS_SENT = frozenset({"trajectory", "openai", "sharegpt", "atif", "otlp"})
WITHOUT_TYPED = frozenset({"trajectory", "openai", "sharegpt"})
# Fields that are not counted, wherever they are.
QUIET = {
    "id": "an id",
    "call_id": "an id",
    "call_ids": "ids",
    "native_id": "an id",
    "native_ids": "ids",
    "parent_call_id": "an id",
    "request_id": "an id",
    "response_id": "an id",
    "round_id": "an id",
    "run_id": "an id",
    "storage_id": "an id",
    "session_id": "an id",
    "tool_id": "another name of the tool",
    "native": "the writer's own name of the kind",
    "position": "where the part is in its file",
    "pointer": "where the record is in its file",
    "provenance": "the files that it was read from",
    "traces": "the files that it was read from",
    "part_orders": "how its files differ",
    "index": "the order of turns",
    "turn": "the order of turns",
    "parts": "counted one by one",
    "role": "who wrote the message",
    "turns": "counted one by one",
    "messages": "counted one by one",
    "branch": "a conversation is written for each of its ends",
    "superseded": "turns that no longer count have a line of their own",
    "start_column": "a location has its lines",
    "end_column": "a location has its lines",
    "symbol_kind": "a number",
    "end": "says nothing without the start",
    "evidence": "by what a value was concluded",
    "verdicts": "weighed in the outcome",
    "against": "weighed in the outcome",
    "concluded_exit_code": "concluded",
    "duration": "concluded from the times",
    "ran_model": "concluded from the records",
    "title_origin": "by what the title was concluded",
    "model_source": "by what the model was concluded",
    "model_conflict": "by what the model was concluded",
    "is_prose": "how the product counts a text",
}
# Single fields.
QUIET_FIELDS = {
    "Conversation.source": "the kind of file that it was read from",
    "Conversation.titles": "the title of each file that it was read from",
    "Turn.usage.source": "where it was recorded",
    "Conversation.usage.source": "where it was recorded",
    "ToolResult.origin": "where it was recorded",
    "ToolCall.status": "its outcome was concluded from it",
    "ToolCall.edits": "concluded from the arguments",
    "Prompt.scope": "decides the kind",
    "Confirmation.type": "decides the kind",
    "Attachment.is_sent": "decides the kind",
    "Attachment.is_automatic": "who added it",
}
NEVER_RUN = "tool calls that were not made"
RECORDS: dict[type[msgspec.Struct], str] = {
    Message: "details of messages",
    Turn: "details of turns",
    Conversation: "details of conversations",
}
QUESTIONS = ("confirmation", "elicitation", "questions", "plan")
WORDS = {"extra": "other recorded values", "agent": "participant", "subagent": "sub-agent"}


class Accounted(NamedTuple):
    """What a format accounts for by itself."""

    carried: frozenset[str]
    listed: frozenset[str]


class Step(NamedTuple):
    """What to do about a field that is filled."""

    field: str
    default: Any
    path: str
    words: str  # counted as; empty if the values inside of it are looked at


@cache
def _all_accounted() -> dict[str, Any]:
    found: dict[str, Any] = jsonio.decode(files("copilog.exports").joinpath(NAME).read_bytes())[0]
    return found


@cache
def accounted_by(format_name: str) -> Accounted:
    """Return the fields that a format carries, and those that it counts."""
    found = _all_accounted()[format_name]
    return Accounted(frozenset(found["carried"]), frozenset(found["listed"]))


def count_details(conversation: Conversation, format_name: str, left_out: Omissions) -> None:
    """Count what is filled in the conversation, and what the format neither carries nor counts."""
    if format_name in COMPLETE or format_name not in _all_accounted():
        return
    if format_name in OF_VSCODE and is_own(conversation):
        format_name += OWN
    accounted, found = accounted_by(format_name), Counter[tuple[str, str]]()
    skipped = frozenset[int]() if SUPERSEDED in accounted.carried else superseded_indexes(conversation)
    if SUPERSEDED not in accounted.carried | accounted.listed:
        found[UNCOUNTED_TURNS, ""] += len(skipped)
    _count_in(conversation, "Conversation", RECORDS[Conversation], format_name, found)
    for turn in conversation.turns:
        if turn.index not in skipped:
            _count_in(turn, "Turn", RECORDS[Turn], format_name, found)
    for message in conversation.messages:
        if message.turn not in skipped:
            _count_in(message, "Message", RECORDS[Message], format_name, found)
            if format_name in AS_SENT and message.role == "user":
                _count_replaced(message, format_name, found)
            for part in message.parts:
                _count_part(part, format_name, found)
    for (what, words), number in found.items():
        left_out.add(conversation.id, what, number, words)


def kind_of(part: Part) -> str:
    """Return the kind of a part as `details.json` has it: some types are several kinds for formats."""
    variant = ""
    if isinstance(part, Notice):
        variant = "prose" if part.is_prose else "warning" if part.topic == "warning" else "other"
    elif isinstance(part, Attachment):
        variant = "picture" if is_picture(part.type, part.mime_type) else "other"
        variant = variant if part.is_sent else "switched off"
    elif isinstance(part, ToolCall):
        variant = "prepared" if part.status == "prepared" else "made"
    elif isinstance(part, Prompt):
        variant = part.scope
    elif isinstance(part, Confirmation):
        variant = part.type if part.type in QUESTIONS else QUESTIONS[0]
    return f"{type(part).__name__}[{variant}]" if variant else type(part).__name__


def _count_part(part: Part, format_name: str, found: Counter[tuple[str, str]]) -> None:
    kind, accounted = kind_of(part), accounted_by(format_name)
    if kind in accounted.carried:
        _count_in(part, kind, f"details of {PARTS[str(part.__struct_config__.tag)]}", format_name, found)
    elif kind not in accounted.listed:
        if isinstance(part, ToolCall) and part.status == "prepared":
            found[NEVER_RUN, ""] += 1
            return
        for each in kinds_of(part):
            found[PARTS[each], ""] += 1


def _count_replaced(message: Message, format_name: str, found: Counter[tuple[str, str]]) -> None:
    """Count texts of a user's message that are not in the prompt as it was sent, which is written in their place."""
    sent = "\n".join(part.text for part in message.parts if isinstance(part, Prompt) and part.scope == "turn")
    if not sent:
        return
    for part in message.parts:
        if isinstance(part, Attachment) and part.is_sent and not is_picture(part.type, part.mime_type):
            name = (part.place.path or part.place.uri if part.place is not None else None) or part.name
            texts = [text for text in (part.text, part.description, name) if text]
            found["details of attachments", "what was not sent of them"] += any(text not in sent for text in texts)
        elif isinstance(part, Text) and format_name in WITHOUT_TYPED:
            found["details of texts", "as typed, where another text was sent"] += part.text.strip() not in sent


def _count_in(value: msgspec.Struct, path: str, label: str, format_name: str, found: Counter[tuple[str, str]]) -> None:
    for step in _steps(type(value), path, format_name):
        inner = getattr(value, step.field)
        if inner is None or inner == step.default or (not inner and isinstance(inner, str | list | dict | bytes)):
            continue
        if isinstance(value, Conversation) and step.path == DOCUMENTS and step.words:
            found.update({(what, ""): number for what, number in kinds_of_documents(value).items()})
        elif step.path in _OWN_LABELS:
            what, count_of = _OWN_LABELS[step.path]
            if not step.words:
                for each in _structs(inner):
                    _count_value(each, step.path, label, format_name, found)
            else:
                found[what, ""] += count_of(value)
        elif step.words:
            found[label, step.words] += 1
        else:
            for each in _structs(inner):
                _count_value(each, step.path, label, format_name, found)


def _count_value(
    value: msgspec.Struct, path: str, label: str, format_name: str, found: Counter[tuple[str, str]]
) -> None:
    if isinstance(value, Part):
        _count_part(value, format_name, found)
    else:
        _count_in(value, path, label, format_name, found)


# Fields that are counted under a name of their own.
_OWN_LABELS: dict[str, tuple[str, Any]] = {
    **{f"Turn.{name}": each for name, each in TURNS.items()},
    **{f"Conversation.{name}": each for name, each in CONVERSATION.items()},
}


@cache
def _steps(kind: type[msgspec.Struct], path: str, format_name: str) -> tuple[Step, ...]:
    """Return the fields of a type that are to be counted, or looked into."""
    carried, listed = accounted_by(format_name)
    fields = {each.name: each for each in msgspec.structs.fields(kind)}
    is_located = {"uri", "path"} <= fields.keys() and (f"{path}.uri" in carried or f"{path}.path" in carried)
    steps = []
    for name, field in fields.items():
        at = f"{path}.{name}"
        is_quiet = (
            name in QUIET
            or f"{kind.__name__}.{name}" in QUIET_FIELDS
            or at in QUIET_FIELDS
            or (is_located and name in ("uri", "path"))
        )
        if at in listed - carried or (is_quiet and not (name == "parts" and path != "Message")):
            continue
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        if at in carried:
            if _holds_structs(field.type):
                steps.append(Step(name, default, at, ""))
        else:
            steps.append(Step(name, default, at, words_of(at)))
    return tuple(steps)


def words_of(path: str) -> str:
    """Return a field as people read it: `ToolCall.subagent.elapsed_ms` as "sub-agent elapsed"."""
    names = path.split(".")[1:]
    return " ".join(WORDS.get(name, name.removeprefix("is_").removesuffix("_ms").replace("_", " ")) for name in names)


def _holds_structs(kind: Any) -> bool:
    if isinstance(kind, type):
        return issubclass(kind, msgspec.Struct)
    return any(map(_holds_structs, getattr(kind, "__args__", ())))


def _structs(value: Any) -> Iterator[msgspec.Struct]:
    if isinstance(value, msgspec.Struct):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _structs(each)
