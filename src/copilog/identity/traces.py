"""Describe the traces that a conversation was read from, also after several were merged.

A merged conversation can be merged again with further traces. So whatever merging needs from a single trace is
stored in its provenance: its source, its path, and its own marks.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from copilog.model import Conversation, Provenance, is_recorded

PARTIAL = frozenset({"stub", "orphan-edits", "resource", "memory", "todos", "rewind", "prompts-only", "helpers-only"})
# Marks of traces that repeat a conversation with less detail than its own file: they fill gaps and never lead.
SECONDARY = frozenset({"transcript", "debug-log", "trace", "store-row", "trajectory"})
BROKEN = frozenset({"damaged", "headless"})
CUT = "cut"  # of a damaged file: everything before the damage could be read
TORN = "torn"  # of a log whose last line breaks off
EARLIER = "earlier"  # what an earlier scan read; as a role, a file in the state that it had then
# Marks that may not hold for the merged conversation.
OF_ONE_TRACE = PARTIAL | SECONDARY | BROKEN | {"inside", "empty", CUT, EARLIER}
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
LOG, FILE, STATE = "vscode-session-log", "vscode-session", "vscode-state"
CLI_LOGS = frozenset({"cli-events", "cli-history"})
SESSION_FILES = frozenset({LOG, FILE, STATE}) | CLI_LOGS  # files that a program continues to write a session to
VSCODE = frozenset({LOG, FILE, STATE, "chat-export"})  # they use the same ids of requests and calls
SESSION_FOLDERS = frozenset({"chatSessions", "emptyWindowChatSessions", "transferredChatSessions"})
EXTENSION_FOLDERS = frozenset({"github.copilot-chat", "github.copilot"})
CLI_SESSIONS = frozenset({"session-state", "history-session-state"})


def has_turns(conversation: Conversation) -> bool:
    """Return whether a trace has turns to unite. Snapshots for a rewind have the prompts at which they were taken."""
    return bool(conversation.turns) and (is_full_trace(conversation) or "rewind" in conversation.marks)


class Trace:
    """One file, or row, that has turns of the conversation."""

    __slots__ = ("home", "last_at", "marks", "name", "place", "turns")

    def __init__(self, place: Provenance, marks: frozenset[str]) -> None:
        self.place = place
        self.name = name_of(place)
        self.marks = marks
        self.home = _home_of(place)
        self.turns = 0
        self.last_at: datetime | None = None  # start of its last turn

    @property
    def is_broken(self) -> bool:
        return not BROKEN.isdisjoint(self.marks)

    @property
    def has_holes(self) -> bool:
        """Return whether turns may be lost between those that could be read, and not only before or after them.

        A log of events without its beginning continues without a gap; a log of changes may refer to the lost state.
        """
        if "damaged" in self.marks:
            return CUT not in self.marks
        return "headless" in self.marks and self.place.source not in CLI_LOGS

    @property
    def is_session_file(self) -> bool:
        return self.place.source in SESSION_FILES and PARTIAL.isdisjoint(self.marks)

    def rank(self) -> tuple[Any, ...]:
        """Return the sort key of traces that disagree on the order of turns."""
        return (
            SECONDARY.isdisjoint(self.marks),
            self.is_session_file,
            self.turns,
            not self.is_broken,
            self.place.source == LOG,
            self.name,
        )


def name_of(place: Provenance) -> str:
    """Return the name of a trace: its path, with the row or the pointer where one file holds several traces."""
    within = place.row or place.pointer
    name = f"{place.path}#{within}" if within else place.path
    return f"{name} ({EARLIER})" if place.role == EARLIER else name


def names_of(conversation: Conversation, turn_names: list[str]) -> list[str]:
    """Return the names of the traces that have a turn: those it lists, else the only one of the conversation."""
    if is_recorded(conversation):
        return [own_name(conversation)]  # what the file lists was not read
    return turn_names or [own_name(conversation)]


def own_name(conversation: Conversation) -> str:
    return name_of(conversation.provenance[0]) if conversation.provenance else ""


def traces_in(conversations: list[Conversation]) -> dict[str, Trace]:
    """Return all traces of the conversations that have turns, by name."""
    found: dict[str, Trace] = {}
    for conversation in conversations:
        own = own_name(conversation)
        for place in conversation.provenance:
            marks = set(place.marks)
            if name_of(place) == own:
                marks |= OF_ONE_TRACE.intersection(conversation.marks)
            found.setdefault(name_of(place), Trace(place, frozenset(marks)))
        for turn in conversation.turns:
            for name in names_of(conversation, turn.traces):
                if name not in found:
                    found[name] = Trace(Provenance(source=conversation.source, path=name), frozenset())
                trace = found[name]
                trace.turns += 1
                trace.last_at = max(filter(None, (trace.last_at, turn.timing.started_at)), default=None)
    return {name: trace for name, trace in found.items() if trace.turns}


def _home_of(place: Provenance) -> PurePath:
    """Return the folder where a program stores its sessions: files in one such folder are one copy."""
    path = PurePath(place.path)
    for folder in path.parents:
        if folder.name in CLI_SESSIONS or folder.name in SESSION_FOLDERS or folder.name.lower() in EXTENSION_FOLDERS:
            return folder.parent
    return path.parent


def id_space(source: str) -> str:
    """Return the name of the id space that a source uses: ids of one space can be compared."""
    return "vscode" if source in VSCODE else source


# --- which conversation leads -----------------------------------------------------------------------------------


def is_full_trace(conversation: Conversation) -> bool:
    return PARTIAL.isdisjoint(conversation.marks)


def is_broken(conversation: Conversation) -> bool:
    return not BROKEN.isdisjoint(conversation.marks)


def outdated_traces(conversations: list[Conversation]) -> set[int]:
    """Return the `id()` of each trace that VS Code stopped writing when it continued in another file."""
    older = [one for one in conversations if one.source in (LOG, FILE, STATE) and is_full_trace(one)]
    if len(older) < 2:
        return set()
    return {id(one) for one in older if any(outdates(other, one) for other in older if other is not one)}


def lead_of(conversations: list[Conversation], stale: set[int]) -> Conversation:
    """Return the fullest trace that is not outdated."""
    current = [one for one in conversations if id(one) not in stale]
    fullest = max(current, key=fullness)
    if fullest.source == FILE:
        # A broken log that continues this file leads, although it may be the shorter one.
        broken_logs = [one for one in current if one.source == LOG and one.turns and is_broken(one)]
        broken_logs = [one for one in broken_logs if _continues(one, fullest)]
        return max(broken_logs, key=fullness, default=fullest)
    return fullest


def outdates(newer: Conversation, older: Conversation) -> bool:
    """Return whether VS Code converted the older trace to the newer one, and left the older one unchanged.

    A file without any turn does not count: a failed write leaves such a file.
    """
    return bool(newer.turns) and not is_broken(newer) and _continues(newer, older)


def _continues(newer: Conversation, older: Conversation) -> bool:
    if not newer.provenance or not older.provenance:
        return False
    return is_newer(newer.provenance[0], _last_at(newer), older.provenance[0], _last_at(older))


def _last_at(conversation: Conversation) -> datetime | None:
    return max((turn.timing.started_at for turn in conversation.turns if turn.timing.started_at), default=None)


def is_newer(newer: Provenance, newer_last: datetime | None, older: Provenance, older_last: datetime | None) -> bool:
    """Return whether one file continues the other one, which is of the same home.

    The present state of a file continues its earlier one. A log continues a flat file, unless logs were switched off
    again: then the flat file was written later, and has a later turn.
    """
    if newer.role == EARLIER:
        return False
    if older.role == EARLIER and (newer.path, newer.row, newer.pointer) == (older.path, older.row, older.pointer):
        return TORN not in newer.marks  # what the file lacks may have been in the torn line
    if newer.source not in (LOG, FILE) or _home_of(newer) != _home_of(older) or newer is older:
        return False
    if older.source == STATE:
        return True
    if {newer.source, older.source} != {LOG, FILE} or PurePath(newer.path).stem != PurePath(older.path).stem:
        return False
    file, file_last, log, log_last = (
        (newer, newer_last, older, older_last) if newer.source == FILE else (older, older_last, newer, newer_last)
    )
    is_written_later = bool(file.modified_at and log.modified_at and file.modified_at > log.modified_at)
    is_file_newer = is_written_later and bool(file_last and log_last and file_last > log_last)
    return is_file_newer == (newer is file)


def fullness(conversation: Conversation) -> tuple[Any, ...]:
    """Return the sort key of conversations; the paths at its end make it unique."""
    return (
        EARLIER not in conversation.marks,
        is_full_trace(conversation),
        SECONDARY.isdisjoint(conversation.marks),
        "store-row" not in conversation.marks,  # a store truncates texts
        sum(turn.superseded in (None, "absent") for turn in conversation.turns),
        len(conversation.turns),
        not is_broken(conversation),
        len(conversation.file_changes),
        _content_beside_turns(conversation),
        conversation.updated_at or LONG_AGO,
        conversation.source == LOG,
        [(place.path, place.row or "", place.pointer or "") for place in conversation.provenance],
    )


def _content_beside_turns(conversation: Conversation) -> int:
    """Return 0 for an entry of an index, 1 for a memory, 2 for everything that tells more of a session."""
    if "memory" in conversation.marks:
        return 1
    return 0 if "stub" in conversation.marks and not conversation.documents else 2


def is_equally_full(one: Conversation, other: Conversation) -> bool:
    """Return whether only their paths decide which of two conversations comes first."""
    return fullness(one)[:-1] == fullness(other)[:-1]
