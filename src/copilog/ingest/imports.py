"""Add to a conversation what was added to an import of it.

A program that imports a conversation makes a session of its own, which repeats the turns of the file. These turns are
the conversation's already, with less detail; only the later ones are new. If the conversation has continued, too, they
are a branch of it. The same holds for exports that copilog reads again.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from copilog.derive.document_union import add_document
from copilog.identity.traces import own_name
from copilog.model import Branch, Conversation, Message, Turn, prose_of
from copilog.similarity import IMPORTED, has_given_id, ids_of, plain
from copilog.sources import BY_NAME


def is_lossy_export(conversation: Conversation) -> bool:
    """Return whether a file is an export of copilog's that has less than the conversation that it is of."""
    extra = conversation.extra or {}
    inner, trajectory = extra.get("extra"), extra.get("trajectory")
    if isinstance(trajectory, dict) and conversation.source == "trajectory-file":
        return trajectory.get("telemetry_type") in BY_NAME  # else it is of telemetry, which may have more
    return "copilog" in extra or (isinstance(inner, dict) and "copilog" in inner)


def add_import(whole: Conversation, imported: Conversation) -> None:
    """Add the turns of an import, or of an export, that the conversation lacks, with all that belongs to them."""
    copies = _copies_in(whole, imported)
    leaves_from = max(copies.values(), default=None)
    last = max((turn.index for turn in whole.turns if turn.superseded is None), default=None)
    has_continued = last is not None and leaves_from is not None and last > leaves_from
    trace = own_name(imported)
    branch = Branch(leaves_from=leaves_from, trace=trace) if has_continued else None
    for turn in whole.turns:
        turn.traces = turn.traces or [own_name(whole)]
        if is_lossy_export(imported) and turn.index in copies.values():
            turn.traces = sorted({*turn.traces, trace})
    numbers: dict[int, int] = {}
    for turn in imported.turns:
        if turn.index not in copies:
            numbers[turn.index] = len(whole.turns)
            names = turn.traces or [trace]
            whole.turns.append(replace(turn, index=len(whole.turns), traces=names, branch=turn.branch or branch))
    whole.messages = _with_messages(whole.messages, imported.messages, numbers)
    _add_files(whole, imported, numbers)
    whole.queued += imported.queued
    whole.draft = whole.draft or imported.draft
    for document in imported.documents:
        add_document(whole.documents, replace(document, turn=None))  # its turns have other numbers
    whole.usage = whole.usage or (imported.usage if numbers else [])
    whole.relations += [relation for relation in imported.relations if relation not in whole.relations]
    if numbers:
        whole.updated_at = max(filter(None, (whole.updated_at, imported.updated_at)), default=None)
    if imported.extra:
        whole.extra = {**(whole.extra or {}), "imports": {**_imports_in(whole), imported.id: imported.extra}}
    known = {(place.path, place.row, place.pointer) for place in whole.provenance}
    whole.provenance += [
        replace(place, role="copy" if place.role == "lead" else place.role)
        for place in imported.provenance
        if (place.path, place.row, place.pointer) not in known
    ]


def _copies_in(whole: Conversation, imported: Conversation) -> dict[int, int]:
    """Return the turns of an import that repeat a turn of the conversation, each with the index of the latter.

    Requests with the same ids are the same. A turn that was imported with a new id has no time: its prompt counts, and
    a turn without a prompt belongs to the one before.
    """
    by_id = {name: turn.index for turn in whole.turns for name in ids_of(turn)}
    prompts = _prompts_of(whole)
    by_prompt: dict[str, list[int]] = {}
    for turn in whole.turns:
        by_prompt.setdefault(prompts.get(turn.index, ""), []).append(turn.index)
    copies: dict[int, int] = {}
    own = _prompts_of(imported)
    last = 0
    for turn in imported.turns:
        same = next((by_id[name] for name in sorted(ids_of(turn)) if name in by_id), None)
        if same is None and _may_be_copy(turn, imported):
            prompt = own.get(turn.index, "")
            later = [index for index in by_prompt.get(prompt, ()) if index not in copies.values()]
            same = next(iter(later), None) if prompt else last
        if same is not None:
            copies[turn.index] = last = same
    # Nothing is added between the turns of a file: what is not recognised there was written in another way.
    last_copy = max(copies, default=-1)
    last = 0
    for turn in imported.turns:
        if turn.index < last_copy and turn.index not in copies and _may_be_copy(turn, imported):
            copies[turn.index] = last
        last = copies.get(turn.index, last)
    return copies


def _may_be_copy(turn: Turn, imported: Conversation) -> bool:
    """Return whether a turn may be of the file although its id is new: copilog gave it, or it has no time."""
    if is_lossy_export(imported):
        return True
    has_no_time = turn.timing.started_at is None and turn.timing.completed_at is None
    return has_given_id(turn) or (IMPORTED in imported.marks and has_no_time)


def _prompts_of(conversation: Conversation) -> dict[int, str]:
    found: dict[int, str] = {}
    for message in conversation.messages:
        if message.role == "user" and message.turn is not None and message.parent_call_id is None:
            found[message.turn] = f"{found.get(message.turn, '')} {plain(prose_of(message.parts))}".strip()
    return found


def _with_messages(mine: list[Message], theirs: Iterable[Message], numbers: dict[int, int]) -> list[Message]:
    """Return the messages with those of added turns; those that belong to no turn stay at the end."""
    added = [replace(message, turn=numbers[message.turn]) for message in theirs if message.turn in numbers]
    if not added:
        return mine
    loose = [message for message in mine if message.turn is None]
    return [*(message for message in mine if message.turn is not None), *added, *loose]


def _add_files(whole: Conversation, imported: Conversation, numbers: dict[int, int]) -> None:
    requests = {turn.request_id for turn in whole.turns if turn.index in numbers.values()} - {None}
    whole.file_changes += [
        replace(change, turn=numbers.get(change.turn) if change.turn is not None else None)
        for change in imported.file_changes
        if change.turn in numbers or change.request_id in requests
    ]
    known = {file.uri for file in whole.files}
    whole.files += [file for file in imported.files if file.uri not in known]


def _imports_in(whole: Conversation) -> dict[str, object]:
    found = (whole.extra or {}).get("imports")
    return found if isinstance(found, dict) else {}
