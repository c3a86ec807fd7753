"""Every field of every kind of part is on every surface, or on a list of what is left out and why."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
import pytest

from copilog.model import (
    AnyPart,
    Attachment,
    Conversation,
    Mention,
    Message,
    Part,
    Place,
    Prompt,
    Reference,
    Text,
    ToolCall,
    Turn,
)
from tests.view.surfaces import WRITERS

KINDS: tuple[type[Part], ...] = get_args(AnyPart)
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
WHEN = datetime(2026, 5, 4, 8, 30, tzinfo=UTC)

# Values that must be of a form.
GIVEN: dict[str, Any] = {
    "ToolCall.arguments": '{"wish": "ToolCallArgumentsQ"}',
    "ToolCall.status": "failed",
    "ToolCall.origin": "mcp",
    "ToolCall.approval.kind": "granted",
    "ToolCall.outcome.kind": "failed",
    "FileEdit.action": "rename",
    "FileEdit.diff": "@@ -1 +1 @@\n-low\n+FileEditDiffQ\n",
    "FileEdit.is_done": False,
    "FileEdit.is_applied": False,
    "FileEdit.outcome": "failed",
    "TodoList.items.status": "completed",
    "Confirmation.type": "elicitation",
    "Mention.type": "agent",
    "Notice.topic": "NoticeTopicQ",
    "Attachment.is_sent": True,
    "Attachment.is_automatic": False,
    "Reference.type": "pull-request",
}
# Values for a part that has nothing else, where those above would hide the other fields.
ALONE: dict[str, Any] = {"Attachment.is_sent": False, "Attachment.is_automatic": True}


def fill(kind: Any, name: str) -> Any:
    """Make a value in which every field has a word, or a number, of its own."""
    if name in GIVEN:
        return GIVEN[name]
    origin, of = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return fill(next(each for each in of if each is not types.NoneType), name)
    if origin is Literal:
        return of[-1]
    if origin is list:
        return [] if name.endswith(".children" * 3) else [fill(of[0], name)]
    if origin is dict:
        return {f"{word_of(name)}Label": word_of(name)}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind(**{each.name: fill(each.type, f"{name}.{each.name}") for each in msgspec.structs.fields(kind)})
    number = 1 + sum(map(ord, name)) % 900
    simple = {str: word_of(name), int: number, float: number * 1000.0, bool: True, bytes: PNG, datetime: WHEN}
    return simple.get(kind, {"key": word_of(name)})


def word_of(name: str) -> str:
    return "".join(piece[:1].upper() + piece[1:] for piece in re.split(r"[._]", name)) + "Q"


def filled(kind: type[Part]) -> Any:
    return kind(**{each.name: fill(each.type, f"{kind.__name__}.{each.name}") for each in msgspec.structs.fields(kind)})


def fields_of(value: msgspec.Struct, name: str) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Yield the names of all fields, including those of nested values, each with a copy that lacks the field."""
    for each in msgspec.structs.fields(value):
        inner = getattr(value, each.name)
        path = f"{name}.{each.name}"

        def without(whole: Any, each: msgspec.structs.FieldInfo = each) -> Any:
            return msgspec.structs.replace(whole, **{each.name: blank(each)})

        yield path, without
        first = inner[0] if isinstance(inner, list) and inner else inner
        if isinstance(first, msgspec.Struct):
            for below, strip in fields_of(first, path):

                def stripped(whole: Any, name: str = each.name, strip: Callable[[Any], Any] = strip) -> Any:
                    inner = getattr(whole, name)
                    new = [strip(inner[0])] if isinstance(inner, list) else strip(inner)
                    return msgspec.structs.replace(whole, **{name: new})

                yield below, stripped


def blank(field: msgspec.structs.FieldInfo) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return field.default
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    if get_origin(field.type) is list:
        return []
    if get_origin(field.type) is Literal:
        return get_args(field.type)[0]
    if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
        return field.type(**{each.name: blank(each) for each in msgspec.structs.fields(field.type)})
    return {str: "", int: 0}.get(field.type)


# --- the surfaces -------------------------------------------------------------------------------------------------


def conversation_with(part: Any) -> Conversation:
    """Return a conversation with the part at a valid position, with the call that it belongs to."""
    is_users = isinstance(part, Attachment | Mention | Prompt)
    call_id = getattr(part, "call_id", None)
    before = [ToolCall(id=call_id, name="a_tool", status="complete")] if call_id is not None else []
    user = Message(role="user", turn=0, parts=[Text(text="Please."), *([part] if is_users else [])])
    answer = Message(role="assistant", turn=0, parts=[*before, *([] if is_users else [part])])
    return Conversation(id="vscode:1", source="vscode-session", turns=[Turn(index=0)], messages=[user, answer])


@cache
def missing(kind: type[Part], writer: str) -> frozenset[str]:
    """Return the fields that a surface does not show: neither in a complete part, nor in one with only this field."""
    draw = WRITERS[writer]
    whole = filled(kind)
    page = draw(conversation_with(whole))
    found: set[str] = set()
    for name, without in fields_of(whole, kind.__name__):
        if draw(conversation_with(without(whole))) != page:
            continue
        alone = alone_in(bare(whole), whole, name)
        if draw(conversation_with(alone)) == draw(conversation_with(without(alone))):
            found.add(name)
    return frozenset(found)


def bare(whole: Any) -> Any:
    """Return a copy with only the required fields."""
    fields = msgspec.structs.fields(type(whole))
    return type(whole)(**{each.name: getattr(whole, each.name) for each in fields if is_needed(whole, each)})


def is_needed(value: Any, field: msgspec.structs.FieldInfo) -> bool:
    """Return whether a value is empty without a field."""
    return field.required or (isinstance(value, Place) and field.name == "path")


def alone_in(value: Any, whole: Any, name: str, depth: int = 1) -> Any:
    """Return a copy of a value that has one field of the original, and only what leads to it."""
    first, *rest = name.split(".")[depth:]
    given = ALONE.get(name, getattr(whole, first))
    if rest:
        one = given[0] if isinstance(given, list) else given
        made = alone_in(bare(one), one, name, depth + 1)
        given = [made] if isinstance(given, list) else made
    return msgspec.structs.replace(value, **{first: given})


# --- what is left out ---------------------------------------------------------------------------------------------

# Of any value: what only programs need. `copilog show ID --json` has all of it.
NEVER_SHOWN = {
    "extra": "recorded, and given no meaning; what people read of it becomes a note",
    "native": "the writer's own name of the kind",
    "position": "where the part stands in its file",
    "symbol_kind": "a number",
    "start_column": "a place is told by its lines",
    "end_column": "a place is told by its lines",
    "round_id": "an id",
    "run_id": "an id",
    "native_ids": "ids",
}
SAME_PLACE = "the path of the same place is shown"
LEFT_OUT = {
    "Attachment.place.uri": SAME_PLACE,
    "Mention.place.uri": SAME_PLACE,
    "Reference.place.uri": SAME_PLACE,
    "ToolResult.items.place.uri": SAME_PLACE,
    "ToolResult.places.uri": SAME_PLACE,
    "Compaction.round_id": "an id",
    "Confirmation.questions.id": "an id",
    "Confirmation.questions.type": "its options say so",
    "FileTree.root.uri": "a tree shows names",
    "FileTree.root.children.uri": "a tree shows names",
    "FileTree.root.children.children.uri": "a tree shows names",
    "FileTree.root.children.children.children": "no more than two levels are tried here",
    "Mention.end": "says nothing without `start`",
    "Mention.id": "an id",
    "Notice.data": "what the product passes to itself",
    "Notice.is_prose": "how the product counts it",
    "Reference.is_edit": "the edit itself follows",
    "Terminal.edited_by_tool": "a changed command is told with both of its texts",
    "Terminal.language": "the shell's",
    "Terminal.shown": "what was executed is shown",
    "Terminal.started_at": "its turn has a time, and it has a duration",
    "Thinking.id": "an id",
    "TodoList.items.id": "an id",
    "ToolCall.elapsed_ms": "figures of tools have it, and its terminal or sub-agent tells one",
    "ToolCall.started_at": "its turn has a time",
    "ToolCall.subagent.started_at": "its turn has a time, and it has a duration",
    "ToolCall.tool_id": "the name that the model used is shown",
    "ToolCall.verdicts": "weighed in the outcome, which tells those that speak against it",
    "ToolCall.verdicts.exit_code": "weighed in the outcome",
    "ToolCall.verdicts.kind": "weighed in the outcome",
    "ToolCall.verdicts.reason": "weighed in the outcome",
    "ToolCall.verdicts.source": "weighed in the outcome",
    "ToolResult.origin": "where it was recorded",
}
DETAIL = "`copilog show --full` tells it"
BUDGET = "a reader with a budget does not miss it"
COUNTED = dict.fromkeys(
    ("ToolCall.edits.action", "ToolCall.edits.path"),
    "it counts lines, and the change is shown; the page lists the files",
)
LEFT_OUT_BY = {
    "HTML": {"ToolCall.outcome.evidence": DETAIL},
    "terminal": COUNTED,
    "Markdown": {
        **COUNTED,
        "Checkpoint.id": "an id",
        "ToolCall.id": "an id",
        "ToolCall.outcome.evidence": DETAIL,
        "ToolResult.call_id": "the result stands with its call",
    },
    "agents": {
        **COUNTED,
        "Checkpoint.id": "an id",
        "Hook.given": BUDGET,
        "Prompt.scope": BUDGET,
        "Prompt.text": BUDGET,
        "Thinking.elapsed_ms": BUDGET,
        "ToolCall.approval.rule": BUDGET,
        "ToolCall.id": "an id",
        "ToolCall.outcome.evidence": DETAIL,
        "ToolResult.call_id": "the result stands with its call",
    },
}


def is_listed(name: str, writer: str) -> bool:
    last = name.rpartition(".")[2]
    return last in NEVER_SHOWN or name in LEFT_OUT or name in LEFT_OUT_BY.get(writer, {})


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_field_is_shown_or_listed(kind: type[Part], writer: str) -> None:
    assert [name for name in sorted(missing(kind, writer)) if not is_listed(name, writer)] == []


@pytest.mark.parametrize("writer", WRITERS)
def test_fields_listed_as_missing_are_not_shown(writer: str) -> None:
    listed = {*LEFT_OUT, *LEFT_OUT_BY.get(writer, {})}

    assert sorted(listed - {name for kind in KINDS for name in missing(kind, writer)}) == []


def test_a_note_of_an_inline_reference_is_right_after_it() -> None:
    reference = Reference(text="`tide`", place=Place(path="/work/src/tides.py"), notes={"in": "class Table"})
    parts: list[AnyPart] = [
        Text(text="First see "),
        reference,
        Text(text=" and then the rest.\n\n" + "Much more. " * 40),
    ]
    conversation = Conversation(
        id="vscode:1",
        source="vscode-session",
        turns=[Turn(index=0)],
        messages=[Message(role="assistant", turn=0, parts=parts)],
    )

    for name, shown in WRITERS.items():
        text = " ".join(shown(conversation).split())
        assert re.search(r"tide`?( \(| \(`?[^()]*tides\.py`?, )in: class Table\) and then the rest", text), (name, text)
        assert text.count("class Table") == (2 if name == "HTML" else 1), name  # its outline has the beginning
