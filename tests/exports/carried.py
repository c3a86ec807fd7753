"""Find, for each format, which fields of the model it carries or counts, by leaving out one after the other.

`python -m tests.exports.carried` writes `details.json` anew.
"""

from __future__ import annotations

import copy
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from copilog.chat_json.sessions import is_own
from copilog.exports import vscode_session
from copilog.exports.dataset_rows import rows_of
from copilog.exports.details import (
    COMPLETE,
    NAME,
    OF_VSCODE,
    OWN,
    QUESTIONS,
    QUIET,
    QUIET_FIELDS,
    SUPERSEDED,
    count_details,
    kind_of,
)
from copilog.exports.folder_index import NAME as INDEX_NAME
from copilog.exports.formats import NAMES, Making
from copilog.exports.index import entry_of
from copilog.exports.left_out import LeftOut
from copilog.exports.parquet import CARRIED as CARRIED_BY_PARQUET
from copilog.exports.uncarried import count_uncarried
from copilog.model import (
    Attachment,
    Confirmation,
    Conversation,
    EditedFileEvent,
    FileEdit,
    Message,
    Notice,
    Part,
    Prompt,
    Text,
    ToolCall,
    Turn,
)
from tests.exports.conversations import NOON, a_conversation, exported, format_of, read_back, sample_conversations
from tests.view.test_writers_conformance import (
    KINDS,
    alone_in,
    bare,
    blank,
    conversation_with,
    fields_of,
    fill,
    filled,
    word_of,
)

FILE = Path("src/copilog/exports", NAME)
FORMATS = tuple(name for name in NAMES if name not in COMPLETE)
UNDONE = "And the last one?"
SESSION_ID = "11111111-1111-1111-1111-111111111111"
# Values that decide what else of a part is written.
VARIANTS: dict[type[Part], list[dict[str, Any]]] = {
    Attachment: [
        *({"omitted": "partial", "type": kind} for kind in ("file", "paste", "symbol", "directory", "string")),
        {"omitted": "partial", "type": "image", "mime_type": "image/png"},
        {"omitted": "partial", "type": "file", "is_sent": False},
    ],
    Confirmation: [{"type": kind} for kind in QUESTIONS],
    FileEdit: [
        {"action": "edit", "outcome": "succeeded", "is_done": True, "call_id": None},
        {"action": "edit"},
        {"action": "edit", "batches": []},
        {"action": "edit", "diff": None},
        {"action": "rename"},
    ],
    Notice: [
        {"topic": "info"},
        *({"topic": kind, "is_prose": False} for kind in ("warning", "info", "progress", "task", "system", "command")),
    ],
    Prompt: [{"scope": "turn"}, {"scope": "conversation"}, {"scope": "system"}],
    ToolCall: [{}, {"subagent": None}, {"status": "prepared", "subagent": None}],
}
VALUES: dict[str, Any] = {
    "Turn.status": "cancelled",
    "Turn.edited_files": [EditedFileEvent(uri="file:///TurnEditedFilesUriQ", action="keep")],
}
# Usage that formats write: recorded, and of the record that it belongs to.
RECORDED: dict[type[msgspec.Struct], dict[str, Any]] = {
    Turn: {"is_estimated": False, "scope": "turn", "parent_call_id": None},
    Conversation: {"is_estimated": False, "scope": "session", "parent_call_id": None},
}
# What has no meaning alone, or decides whether anything is written.
NOT_TRIED = frozenset(
    {"Message.role", "Message.parts", "Message.turn", "Message.parent_call_id", "Turn.index", "Turn.branch"}
    | {"Turn.superseded", "Turn.is_undone", "Turn.undone_from", "Conversation.turns", "Conversation.messages"}
    | {"Conversation.id", "Conversation.provenance", "Turn.is_hidden", "Turn.vote.is_up"}
    | {"Turn.edited_files.action"}
)


class Case(NamedTuple):
    """A field, and conversations with and without it."""

    path: str
    pairs: list[tuple[Conversation, Conversation]]


class Written(NamedTuple):
    """The content of a file, and what is left out of it."""

    content: Any
    left_out: frozenset[LeftOut]


def written(name: str, whole: Conversation, *, with_details: bool) -> Written:
    """Return what a format makes of a conversation, without writing files."""
    return _written(name, msgspec.msgpack.encode(whole), with_details)


@lru_cache(maxsize=64)
def _written(name: str, packed: bytes, with_details: bool) -> Written:
    whole = msgspec.msgpack.decode(packed, type=Conversation)
    if name in OF_VSCODE:
        whole.source = "cli-events"  # of its own conversations, VS Code's fields are written again
    making = Making(by="copilog 1.2.3", at=NOON)
    if with_details:
        count_details(whole, name, making.left_out)
    content: Any
    if name == "vscode":
        counted: Counter[str] = Counter()
        content = repr(vscode_session.session_text(whole, SESSION_ID, counted, is_log=True))
        for what, number in counted.items():
            making.left_out.add(whole.id, what, number)
    elif name == "parquet":
        count_uncarried(whole, making, CARRIED_BY_PARQUET)
        content = repr(list(rows_of(whole)))
    else:
        pieces = format_of(name).pieces([whole], [entry_of(whole)], making)
        content = "".join(piece if isinstance(piece, str) else piece.decode() for piece in pieces)
    return Written(content, frozenset(making.left_out))


def cases() -> Iterator[Case]:
    """Yield every field of the model, those of nested values too."""
    for kind in KINDS:
        found: dict[str, list[tuple[Conversation, Conversation]]] = {}
        for variant in VARIANTS.get(kind, [{}]):
            whole = msgspec.structs.replace(filled(kind), **variant)
            key = kind_of(whole)
            bare_one = msgspec.structs.replace(bare(whole), **variant)
            found.setdefault(key, []).extend(map(_with_and_without, (whole, bare_one)))
            for name, without in fields_of(whole, kind.__name__):
                if name.split(".")[1] in variant or not _has(whole, name):
                    continue
                alone = msgspec.structs.replace(alone_in(bare(whole), whole, name), **variant)
                found.setdefault(name.replace(kind.__name__, key, 1), []).extend(
                    (_with_part(one), _with_part(without(one))) for one in (whole, alone)
                )
        yield from (Case(path, pairs) for path, pairs in found.items())
    yield from _of_records(Message, lambda whole, change: [_with_message(whole, at, change) for at in (1, 2)])
    yield from _of_records(Turn, lambda whole, change: [_with_turn(whole, change)])
    yield from _of_records(Conversation, lambda whole, change: [msgspec.structs.replace(whole, **change)])
    yield Case(SUPERSEDED, [(with_undone_turn(), a_conversation())])


def with_undone_turn() -> Conversation:
    undone = a_conversation()
    undone.turns.append(Turn(index=1, superseded="undone", request_id="second"))
    undone.messages.append(Message(role="user", turn=1, parts=[Text(text=UNDONE)]))
    return undone


def _has(whole: Any, name: str) -> bool:
    for each in name.split(".")[1:]:
        whole = whole[0] if isinstance(whole, list) and whole else whole
        whole = getattr(whole, each, None)
        if whole is None or whole == []:
            return False
    return True


def _with_part(part: Any) -> Conversation:
    whole = conversation_with(part)
    whole.messages += copy.deepcopy(a_conversation().messages[1:])
    return whole


def _with_and_without(part: Any) -> tuple[Conversation, Conversation]:
    """Return a conversation with a part that has no other of its kind, and the same without it."""
    found = []
    for parts in ([part], []):
        whole = conversation_with(part)
        for message in whole.messages:
            message.parts = [each for each in message.parts if each is not part or parts]
        whole.messages[-1].parts.append(Text(text="Done."))
        found.append(whole)
    return found[0], found[1]


def _of_records(
    kind: type[msgspec.Struct], changed: Callable[[Conversation, dict[str, Any]], list[Conversation]]
) -> Iterator[Case]:
    def pairs(name: str, value: Any, other: Any) -> list[tuple[Conversation, Conversation]]:
        return list(
            zip(changed(a_conversation(), {name: value}), changed(a_conversation(), {name: other}), strict=True)
        )

    for field in msgspec.structs.fields(kind):
        title = f"{kind.__name__}.{field.name}"
        if title in NOT_TRIED:
            continue
        value = VALUES.get(title) or fill(field.type, title)
        if field.name == "usage":
            value = [msgspec.structs.replace(each, **RECORDED[kind]) for each in value]
        yield Case(title, pairs(field.name, value, blank(field)))
        first = value[0] if isinstance(value, list) and value else value
        if not isinstance(first, msgspec.Struct):
            continue
        for name, without in fields_of(first, title):
            if name in NOT_TRIED:
                continue
            alone = alone_in(bare(first), first, name, len(title.split(".")))
            found = []
            for one in (first, alone):
                both = one, without(one)
                found += pairs(field.name, *(([each] for each in both) if isinstance(value, list) else both))
            yield Case(name, found)


def _with_message(whole: Conversation, position: int, change: dict[str, Any]) -> Conversation:
    whole.messages[position] = msgspec.structs.replace(whole.messages[position], **change)
    return whole


def _with_turn(whole: Conversation, change: dict[str, Any]) -> Conversation:
    whole.turns[0] = msgspec.structs.replace(whole.turns[0], **change)
    return whole


def is_quiet(path: str) -> bool:
    """Return whether a field, or one that it is in, is not counted for a reason."""
    names = re.sub(r"\[[^]]*\]", "", path).split(".")
    above = {".".join(names[:number]) for number in range(2, len(names) + 1)}
    return bool(above & QUIET_FIELDS.keys()) or bool(set(names[1:]) & QUIET.keys() - {"parts"})


def measured() -> dict[str, dict[str, list[str]]]:
    """Return what each format carries, and what it counts by itself."""
    found: dict[str, dict[str, list[str]]] = {name: {"carried": [], "listed": []} for name in FORMATS}
    for case in cases():
        if is_quiet(case.path) and case.path != SUPERSEDED:
            continue
        for name in FORMATS:
            made: Any = [tuple(written(name, each, with_details=False) for each in pair) for pair in case.pairs]
            if case.path == SUPERSEDED:  # a note that there are such turns is not their text
                is_carried = UNDONE in made[0][0].content
            else:
                is_carried = any(
                    _is_in(word, one.content) if (word := _word(case.path, pair)) else one.content != other.content
                    for pair, (one, other) in zip(case.pairs, made, strict=True)
                )
            if is_carried:
                found[name]["carried"].append(case.path)
            elif any(one.left_out != other.left_out for one, other in made):
                found[name]["listed"].append(case.path)
    for name in sorted(OF_VSCODE):
        own = found[name]["carried"] + sorted(_filled_by_own(name) - set(found[name]["carried"]))
        found[name + OWN] = {"carried": own, "listed": [each for each in found[name]["listed"] if each not in own]}
    return {name: {key: sorted(paths) for key, paths in each.items()} for name, each in found.items()}


def _filled_by_own(name: str) -> set[str]:
    """Return the fields that are filled when exports of conversations of VS Code are read again."""
    found: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        exported([each for each in sample_conversations() if is_own(each)], name, Path(folder))
        for path in Path(folder).rglob("*.json*"):
            if path.name not in (INDEX_NAME, vscode_session.INDEX_FILE):
                for conversation in read_back(path):
                    found |= set(_filled_in(conversation, "Conversation"))
    return {path for path in found if not path.startswith("Conversation.") or name == "vscode"}


def _filled_in(value: Any, path: str) -> Iterator[str]:
    """Yield the paths of all fields that are filled, as `details.json` has them."""
    if isinstance(value, list):
        for each in value:
            yield from _filled_in(each, path)
    elif isinstance(value, msgspec.Struct):
        is_record = isinstance(value, Message | Turn) and path in ("Conversation.messages", "Conversation.turns")
        path = type(value).__name__ if is_record else path
        if isinstance(value, Part):
            path = kind_of(value)
            yield path
        for field in msgspec.structs.fields(type(value)):
            inner = getattr(value, field.name)
            if inner is not None and inner != [] and inner != blank(field):
                yield f"{path}.{field.name}"
                yield from _filled_in(inner, f"{path}.{field.name}")


def _word(path: str, pair: tuple[Conversation, Conversation]) -> str:
    """Return the word that a text has in the first conversation only; empty for other values."""
    word = word_of(re.sub(r"\[[^]]*\]", "", path))
    has, lacks = (word.encode() in msgspec.json.encode(each) for each in pair)
    return word if has and not lacks else ""


def _is_in(word: str, content: Any) -> bool:
    return word.lower() in re.sub(r"[\W_]+", "", content).lower()


def text_of(found: dict[str, dict[str, list[str]]]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"


if __name__ == "__main__":
    FILE.write_bytes(text_of(measured()))
