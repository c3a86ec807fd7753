"""Find prompts of a fork in its parent's transcript: VS Code writes a fork's prompts there, without their answers.

The fork's session is a file beside the parent's, or in another workspace folder. It names the parent, from which it
has its first turns, and it has the prompt, which the parent's session lacks (VS Code 1.139). A fork that is written
later is found by `ingest.forks`.
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from copilog.derive.fork_prompts import mark_asked_in_fork, may_be_same_prompt, unanswered_turns
from copilog.errors import BadFile
from copilog.fields import time_from_ms
from copilog.intake.files import opened
from copilog.model import Conversation, prose_of
from copilog.sources.folders import files_in, folders_in

SESSIONS, WORKSPACES, EMPTY_WINDOWS = "chatSessions", "workspaceStorage", "emptyWindowChatSessions"
SUFFIXES = frozenset({".json", ".jsonl"})
_TIME = re.compile(rb'"timestamp"\s*:\s*(\d{12,14})\b')


def mark_prompts_of_forks(transcript: Conversation, path: Path) -> None:
    """Mark the turns of a transcript that were asked in a fork as removed, and record where they were asked."""
    unanswered = dict(_unanswered(transcript))
    folder = path.parent.parent.parent / SESSIONS
    if not unanswered or transcript.native_id is None:
        return
    own = [folder / f"{transcript.native_id}{suffix}" for suffix in sorted(SUFFIXES)]
    in_own = {index: {_has(one, text) for one in own} for index, text in unanswered.items()}
    left = {index: text for index, text in unanswered.items() if False in in_own[index] and True not in in_own[index]}
    for other in _sessions_around(folder) if left else ():
        if other in own or other.suffix not in SUFFIXES or not _has(other, _quoted(transcript.native_id)):
            continue
        for turn in transcript.turns:
            if turn.index in left and _has(other, left[turn.index], turn.timing.started_at):
                mark_asked_in_fork(turn, other.stem)


def _sessions_around(folder: Path) -> Iterator[Path]:
    """Yield the session files of a folder, then those of the other workspaces of the same user data folder."""
    yield from files_in(folder)
    storage = folder.parent.parent
    if storage.name == WORKSPACES:
        for workspace in folders_in(storage):
            if workspace != folder.parent:
                yield from files_in(workspace / SESSIONS)
        yield from files_in(storage.parent / "globalStorage" / EMPTY_WINDOWS)


def _unanswered(transcript: Conversation) -> Iterator[tuple[int, bytes]]:
    unanswered = unanswered_turns(transcript)
    for message in transcript.messages:
        if message.turn in unanswered and (text := prose_of(message.parts)):
            yield message.turn, _quoted(text)


def _quoted(text: str) -> bytes:
    """Return a text as VS Code writes it in JSON."""
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _has(path: Path, text: bytes, at: datetime | None = None) -> bool | None:
    """Return whether a file has a text, and a request of that time, if it is known; None if it cannot be read."""
    try:
        with opened(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data.find(text) < 0:
                return False
            if at is None:
                return True
            times = [time_from_ms(int(found[1])) for found in _TIME.finditer(data)]
            return not times or any(may_be_same_prompt(time, at) for time in times)
    except (BadFile, ValueError):  # unreadable or empty
        return None
