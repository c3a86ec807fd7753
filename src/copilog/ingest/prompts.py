"""Link histories of typed prompts that are read from disk: leave out the prompts that conversations contain.

In the archive, `joining` does the same with all stored conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from copilog.derive.prompts import (
    HISTORIES,
    Owner,
    copied_prompts,
    is_history,
    is_owner_of_copies,
    keys_by_turn,
    owners_of,
    queued_keys,
    without_linked,
)
from copilog.diagnostics import Report
from copilog.ingest.discovery import discover_in
from copilog.model import Conversation, is_recorded
from copilog.sources import Found
from copilog.sources.roots import StorageFolder, folder_around

Reader = Callable[[Found, Report], Iterator[Conversation]]


def link_within(conversations: Iterator[Conversation]) -> Iterator[Conversation]:
    """Yield conversations, and at the end the histories with the prompts that no other conversation contains."""
    owners: list[Owner] = []
    held: list[Conversation] = []
    for conversation in conversations:
        if _can_be_linked(conversation):
            held.append(conversation)
            continue
        owners += _owners_in(conversation)
        yield conversation
    for history in held:
        yield from _left_of(history, owners, held)


def link_to_neighbours(conversations: Iterator[Conversation], read: Reader) -> Iterator[Conversation]:
    """Yield conversations; histories without the prompts of conversations of their storage folder, which it reads."""
    for conversation in conversations:
        if not _can_be_linked(conversation):
            yield conversation
            continue
        owners: list[Owner] = []
        for found in discover_in([_folder_of(conversation)], Report()):
            if found.source not in HISTORIES:
                for neighbour in read(found, Report()):
                    owners += _owners_in(neighbour)
        yield from _left_of(conversation, owners)


def _can_be_linked(conversation: Conversation) -> bool:
    """Return whether it is a history beside the conversations of its program; a file of copilog's own is linked."""
    return is_history(conversation) and not is_recorded(conversation)


def _left_of(
    history: Conversation, owners: list[Owner], histories: Sequence[Conversation] = ()
) -> Iterator[Conversation]:
    """Yield what is left of a history without the prompts of conversations, and of the histories that it copies."""
    found: dict[int, str] = {}
    for original in histories:
        if is_owner_of_copies(original, history):
            found = copied_prompts(history, original) | found
    left = without_linked(history, found | owners_of(history, owners))
    if left.turns:
        yield left


def _owners_in(conversation: Conversation) -> Iterator[Owner]:
    folder = conversation.workspace.folder if conversation.workspace is not None else None
    path = conversation.provenance[0].path if conversation.provenance else None
    keys = (*keys_by_turn(conversation).values(), *queued_keys(conversation))
    return (Owner(key, conversation.id, folder, path) for key in keys)


def _folder_of(history: Conversation) -> StorageFolder:
    path = Path(history.provenance[0].path)
    return folder_around(path) or StorageFolder(path.parent, "copilot-home", None, None)
