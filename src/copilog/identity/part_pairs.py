"""Find the parts of a turn that two traces both have, and unite them.

Calls and their results are paired in `calls` and `messages`. Every other kind of part has fields that identify it, such
as the title of a question or the file of an edit; equal parts are paired first, the others in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from copilog.identity.calls import same_calls_of_turn
from copilog.identity.part_union import continues, united_part
from copilog.model import (
    AnyPart,
    Attachment,
    Checkpoint,
    Compaction,
    Confirmation,
    FileEdit,
    FileTree,
    Hook,
    Mention,
    Message,
    Notice,
    Prompt,
    Question,
    Reference,
    Terminal,
    Text,
    Thinking,
    TodoList,
    ToolResult,
)
from copilog.similarity import without_blanks

Key = tuple[Any, ...]

# What identifies a part among those of its kind. Kinds that are not listed are paired elsewhere, or never.
KEYS: dict[type[Any], Callable[[Any], Key]] = {
    Text: lambda part: (without_blanks(part.text),),
    Prompt: lambda part: (part.scope, without_blanks(part.text)),
    Thinking: lambda part: (without_blanks(part.text),),
    TodoList: lambda _: (),
    Attachment: lambda part: (part.type, part.name, part.place.uri if part.place is not None else None),
    Mention: lambda part: (part.type, part.name, part.start),
    Reference: lambda part: (part.text, part.place.uri if part.place is not None else None),
    FileEdit: lambda part: (part.action, part.uri or part.path),
    FileTree: lambda part: (part.root.label, part.root.uri),
    Confirmation: lambda part: (part.type, part.title, part.message, *(_named(item) for item in part.questions)),
    Checkpoint: lambda part: (part.id,),
    Compaction: lambda part: (without_blanks(part.text),),
    Hook: lambda part: (part.type, part.tool),
    Notice: lambda part: (part.topic, part.text),
}


def _named(question: Question) -> str | None:
    return question.id or question.title


class Place(NamedTuple):
    """A part, its message, and its index there."""

    part: AnyPart
    message: Message
    position: int
    key: Key  # what identifies it, with the agent that wrote it and the call that it belongs to


def unite_parts(mine: list[Message], theirs: list[Message], calls: dict[str, str], *, is_tied: bool) -> None:
    """Unite the parts of the first messages with the same parts of the others; `calls` maps the others' call ids."""
    own, others = _places(mine, {}), _places(theirs, calls)
    for one, other in _pairs(own, others):
        part = other.part
        if isinstance(one.part, TodoList | FileEdit) and isinstance(part, TodoList | FileEdit):
            part = msgspec.structs.replace(part, call_id=one.part.call_id)
        one.message.parts[one.position] = united_part(one.part, part, is_tied=is_tied)


def partners(messages: list[Message], united: list[Message]) -> Iterator[tuple[AnyPart, AnyPart]]:
    """Yield the parts of a trace of a turn that differ from the same part of the united turn, and that part."""
    same = same_calls_of_turn(united, messages)
    yield from ((theirs, own) for own, theirs in same.values() if own != theirs)
    calls = {name: own.id for name, (own, _) in same.items()}
    outputs: dict[tuple[type[AnyPart], str], list[AnyPart]] = {}
    for part in _outputs_in(united):
        outputs.setdefault((type(part), part.call_id or ""), []).append(part)
    for part in _outputs_in(messages):
        name = part.call_id or ""
        if found := outputs.get((type(part), calls.get(name, name))):
            yield part, found.pop(0)
    for one, other in _pairs(_places(united, {}), _places(messages, calls)):
        yield other.part, one.part


def _outputs_in(messages: list[Message]) -> Iterator[ToolResult | Terminal]:
    return (part for message in messages for part in message.parts if isinstance(part, ToolResult | Terminal))


def identity_of(part: AnyPart) -> Key | None:
    """Return what identifies a part among all parts of a turn; None if its kind has nothing of the sort."""
    key = KEYS.get(type(part))
    return (type(part), *key(part)) if key is not None else None


def _places(messages: list[Message], calls: dict[str, str]) -> list[Place]:
    found: list[Place] = []
    for message in messages:
        caller = calls.get(message.parent_call_id or "", message.parent_call_id)
        for position, part in enumerate(message.parts):
            key = identity_of(part)
            if key is not None:
                name = getattr(part, "call_id", None)
                call = calls.get(name, name) if name is not None else None
                found.append(Place(part, message, position, (*key, message.role == "user", caller, call)))
    return found


def _pairs(own: list[Place], others: list[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield the pairs of parts that differ: first by their identity, then thinking of which one has the beginning."""
    left = _without_equal(own, others)
    waiting: dict[Key, list[Place]] = {}
    for place in left[0]:
        waiting.setdefault(place.key, []).append(place)
    unpaired: list[Place] = []
    for place in left[1]:
        if found := waiting.get(place.key):
            yield found.pop(0), place
        elif isinstance(place.part, Thinking):
            unpaired.append(place)
    cut = [place for places in waiting.values() for place in places if isinstance(place.part, Thinking)]
    for place in unpaired:
        twin = next((one for one in cut if _is_same_thinking(one, place)), None)
        if twin is not None:
            cut.remove(twin)
            yield twin, place


def _without_equal(own: list[Place], others: list[Place]) -> tuple[list[Place], list[Place]]:
    """Return the parts of both that have no equal part in the other."""
    if not own or not others:
        return [], []
    waiting: dict[Key, list[Place]] = {}
    for place in own:
        waiting.setdefault(place.key, []).append(place)
    left: list[Place] = []
    for place in others:
        candidates = waiting.get(place.key, [])
        equal = next((one for one in candidates if _plain(one.part) == _plain(place.part)), None)
        if equal is not None:
            candidates.remove(equal)
        else:
            left.append(place)
    return [place for places in waiting.values() for place in places], left


def _plain(part: AnyPart) -> AnyPart:
    return msgspec.structs.replace(part, position=None)


def _is_same_thinking(one: Place, other: Place) -> bool:
    """Return whether one part is the beginning of the other, by the same agent."""
    if one.key[2:] != other.key[2:] or not isinstance(one.part, Thinking) or not isinstance(other.part, Thinking):
        return False
    return continues(one.part.text, other.part.text) or continues(other.part.text, one.part.text)
