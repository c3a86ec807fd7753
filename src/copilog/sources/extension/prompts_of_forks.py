"""Find prompts of a fork in its parent's transcript: VS Code writes a fork's prompts there, without their answers.

The fork's session is a file beside the parent's. It names the parent, from which it has its first turns, and it has
the prompt, which the parent's session lacks (VS Code 1.139).
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator
from pathlib import Path

from copilog.errors import BadFile
from copilog.intake.files import opened
from copilog.model import Conversation, prose_of
from copilog.sources.folders import files_in

SESSIONS = "chatSessions"
OF_FORK = "asked_in_fork"  # key in the turn's `extra`


def mark_prompts_of_forks(transcript: Conversation, path: Path) -> None:
    """Mark the turns of a transcript that were asked in a fork as removed, and record where they were asked."""
    unanswered = dict(_unanswered(transcript))
    folder = path.parent.parent.parent / SESSIONS
    if not unanswered or transcript.native_id is None:
        return
    own = folder / f"{transcript.native_id}.jsonl"
    left = {index: text for index, text in unanswered.items() if _has(own, text) is False}
    for other in files_in(folder) if left else ():
        if other == own or other.suffix != own.suffix or not _has(other, _quoted(transcript.native_id)):
            continue
        for turn in transcript.turns:
            if turn.index in left and _has(other, left[turn.index]):
                turn.superseded = "removed"
                turn.extra = {**(turn.extra or {}), OF_FORK: other.stem}


def _unanswered(transcript: Conversation) -> Iterator[tuple[int, bytes]]:
    answered = {message.turn for message in transcript.messages if message.role != "user"}
    for message in transcript.messages:
        if message.turn is not None and message.turn not in answered and (text := prose_of(message.parts)):
            yield message.turn, _quoted(text)


def _quoted(text: str) -> bytes:
    """Return a text as VS Code writes it in JSON."""
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _has(path: Path, text: bytes) -> bool | None:
    """Return whether a file has a text; None if it cannot be read."""
    try:
        with opened(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(text) >= 0
    except (BadFile, ValueError):  # unreadable or empty
        return None
