"""Link typed prompts of histories to the conversations that contain them.

Histories of typed prompts do not record sessions. A prompt that some conversation has is linked to that one; the rest
becomes a conversation of prompts alone. Texts are compared by a key, so that no text is stored twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from pathlib import PurePath
from typing import NamedTuple

import msgspec

from copilog.model import Conversation, Message, Relation, Text

HISTORIES = ("vscode-prompts", "cli-prompts")  # the sources of histories
PROMPTS_ONLY = "prompts-only"  # the mark of such a conversation
RELATION = "prompts-of"  # from a history to a conversation that contains its prompts
RELATION_BACK = "prompts-in"  # from such a conversation to the history
KNOWN = "known_prompts"  # in `extra`: keys of the linked prompts, by conversation
DISTINCTIVE_LENGTH = 24  # shorter prompts ("continue", "fix it") are typed by everybody


class Owner(NamedTuple):
    """A conversation that has a prompt."""

    key: int
    id: str
    workspace: str | None
    path: str | None  # path of its first trace


def prompt_key(text: str) -> int | None:
    """Return a number that is equal for texts with the same words; None if there are none.

    It is odd for prompts that are long enough to be distinctive.
    """
    words = " ".join(text.split())
    if not words:
        return None
    from hashlib import blake2b  # it takes OpenSSL with it

    digest = blake2b(words.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True) & ~1 | (len(words) >= DISTINCTIVE_LENGTH)


def keys_by_turn(conversation: Conversation) -> dict[int, int]:
    """Return the key of the typed text of each turn that has one."""
    keys: dict[int, int] = {}
    for message in conversation.messages:
        if message.role == "user" and message.turn is not None and message.parent_call_id is None:
            key = prompt_key(_typed_text(message)) if message.turn not in keys else None
            if key is not None:
                keys[message.turn] = key
    return keys


def queued_keys(conversation: Conversation) -> list[int]:
    """Return the keys of the queued prompts."""
    keys = (prompt_key(_typed_text(queued.message)) for queued in conversation.queued)
    return [key for key in keys if key is not None]


def _typed_text(message: Message) -> str:
    return "".join([part.text for part in message.parts if type(part) is Text])


def is_history(conversation: Conversation) -> bool:
    """Return whether a conversation is a history of typed prompts."""
    return PROMPTS_ONLY in conversation.marks


def linked_keys(history: Conversation) -> dict[int, str]:
    """Return the keys of the prompts that are linked to conversations, each with the id of the conversation."""
    known = (history.extra or {}).get(KNOWN, {})
    return {key: owner for owner, keys in known.items() for key in keys}


def owners_of(history: Conversation, candidates: Iterable[Owner]) -> dict[int, str]:
    """Return the conversation that has each prompt of a history, by key.

    A prompt that everybody types counts only within the workspace of the history, or within Copilot CLI if the
    history is one of all its sessions. Of several conversations one of the same workspace comes first.
    """
    best: dict[int, tuple[bool, str]] = {}
    for owner in candidates:
        is_near = _is_of_workspace(history, owner)
        rank = (not is_near, owner.id)
        if (is_near or owner.key & 1) and (owner.key not in best or rank < best[owner.key]):
            best[owner.key] = rank
    return {key: owner for key, (_, owner) in best.items()}


def _is_of_workspace(history: Conversation, owner: Owner) -> bool:
    """Return whether a conversation is of the workspace of a history, or at least in the same storage folder."""
    if history.id.startswith("cli:"):
        return owner.id.startswith("cli:")
    folder = history.workspace.folder if history.workspace is not None else None
    if folder is not None and owner.workspace == folder:
        return True
    storage = PurePath(history.provenance[0].path).parent if history.provenance else None
    return storage is not None and owner.path is not None and storage in PurePath(owner.path).parents


def is_owner_of_copies(one: Conversation, other: Conversation) -> bool:
    """Return whether a history, and not the other one, has the prompts of both if one is a copy: an order of all."""
    return _rank_as_owner(one) < _rank_as_owner(other)


def _rank_as_owner(history: Conversation) -> tuple[bool, str]:
    return history.workspace is None, history.id


def copied_prompts(history: Conversation, original: Conversation) -> dict[int, str]:
    """Return the prompts of a history that the original has, if its content shows that it is a copy.

    Each key has the id of the original, or of the conversation to which the original has linked the prompt. A copy may
    be older, so that both have lost or gained prompts at the ends.
    """
    linked = linked_keys(original)
    owners = {key: linked.get(key, original.id) for key in (*keys_by_turn(original).values(), *linked)}
    if not _is_copy(history, original, owners.keys()):
        sticky = {key for key, owner in linked_keys(history).items() if owner == original.id}
        return {key: owner for key, owner in owners.items() if key in sticky}
    return {key: owners[key] for key in (*keys_by_turn(history).values(), *linked_keys(history)) if key in owners}


def _is_copy(history: Conversation, original: Conversation, has: Collection[int]) -> bool:
    """Return whether two histories have the same prompts in the same order, enough of them to be no coincidence.

    Two of these are enough: a distinctive prompt, each of them; all prompts of one of both; the same workspace.
    """
    folders = {one.workspace.folder if one.workspace is not None else None for one in (history, original)}
    if history.source != original.source or len(folders - {None}) > 1:
        return False
    mine, theirs = _typed(history), _typed(original)
    common = mine.keys() & theirs.keys()
    if [key for key in mine if key in common] != [key for key in theirs if key in common]:
        return False
    if any(mine[key] != theirs[key] for key in common if mine[key] and theirs[key]):
        return False  # typed at other times
    shared = mine.keys() & has
    if not shared:
        return False
    distinctive = sum(key & 1 for key in shared)
    is_whole = len(shared) == len(mine) or theirs.keys() <= common
    return distinctive + is_whole + (None not in folders) > 1


def _typed(history: Conversation) -> dict[int, datetime | None]:
    """Return the keys of the prompts in their order, each with its first time."""
    keys = keys_by_turn(history)
    found: dict[int, datetime | None] = {}
    for turn in history.turns:
        if turn.index in keys:
            found.setdefault(keys[turn.index], turn.timing.started_at)
    return found


def with_former(history: Conversation, before: Conversation) -> Conversation:
    """Return a history with the prompts of its earlier reading added: programs drop the oldest ones."""
    present = set(keys_by_turn(history).values())
    former = {index for index, key in keys_by_turn(before).items() if key not in present}
    if not former:
        return history
    turns = [turn for turn in before.turns if turn.index in former] + history.turns
    messages = [message for message in before.messages if message.turn in former]
    shift = len(former)
    numbers = {index: number for number, index in enumerate(sorted(former))}
    return msgspec.structs.replace(
        history,
        turns=[msgspec.structs.replace(turn, index=number) for number, turn in enumerate(turns)],
        messages=[
            *(
                msgspec.structs.replace(message, turn=numbers[message.turn])
                for message in messages
                if message.turn is not None
            ),
            *(
                msgspec.structs.replace(message, turn=message.turn + shift)
                for message in history.messages
                if message.turn is not None
            ),
        ],
    )


def without_linked(history: Conversation, owners: Mapping[int, str]) -> Conversation:
    """Return a history without the prompts that conversations contain, with a relation to each such conversation."""
    keys = keys_by_turn(history)
    kept = [turn for turn in history.turns if keys.get(turn.index) not in owners]
    numbers = {turn.index: number for number, turn in enumerate(kept)}
    known: dict[str, set[int]] = {}
    for key in (*keys.values(), *linked_keys(history)):
        if key in owners:
            known.setdefault(owners[key], set()).add(key)
    extra = {name: value for name, value in (history.extra or {}).items() if name != KNOWN}
    if known:
        extra[KNOWN] = {owner: sorted(known[owner]) for owner in sorted(known)}
    others = [relation for relation in history.relations if relation.kind != RELATION]
    return msgspec.structs.replace(
        history,
        turns=[msgspec.structs.replace(turn, index=numbers[turn.index]) for turn in kept],
        messages=[
            msgspec.structs.replace(message, turn=numbers[message.turn])
            for message in history.messages
            if message.turn in numbers
        ],
        relations=[*others, *(_relation(owner, len(known[owner])) for owner in sorted(known))],
        extra=extra or None,
    )


def _relation(owner: str, number: int) -> Relation:
    what = "a prompt of this history is in it" if number == 1 else f"{number} prompts of this history are in it"
    return Relation(kind=RELATION, other_id=owner, reason=what)
