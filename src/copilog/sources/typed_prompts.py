"""Make a conversation of prompts alone from a list of typed prompts, which names no session."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from copilog.derive.prompts import PROMPTS_ONLY
from copilog.fields import Json
from copilog.model import AnyPart, Conversation, Message, Mode, Text, Timing, Turn
from copilog.sources.base import Found, provenance_of


class Typed(NamedTuple):
    """One prompt as it was typed, with what was recorded beside it."""

    text: str
    at: datetime | None = None
    attachments: list[AnyPart] = []
    mode: Mode | None = None
    extra: Json | None = None


def history_id(path: Path) -> str:
    """Return the id of a history, made from the id of its file, so that it is stable."""
    from hashlib import sha256

    return sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def history_from(prompts: Sequence[Typed], found: Found, *, source: str, family: str, **where: str) -> Conversation:
    """Return a conversation with one turn for each prompt, the oldest first, and no answers."""
    native_id = found.native_id or history_id(found.path)
    times = [prompt.at for prompt in prompts if prompt.at is not None]
    made = Conversation(
        id=f"{family}:{native_id}",
        native_id=native_id,
        source=source,
        application=found.application,
        workspace=found.workspace,
        started_at=min(times, default=None),
        updated_at=max(times, default=None),
        marks=[PROMPTS_ONLY],
        provenance=[provenance_of(found, **where)],
    )
    for index, prompt in enumerate(prompts):
        turn = Turn(index=index, mode=prompt.mode, timing=Timing(started_at=prompt.at), extra=prompt.extra)
        made.turns.append(turn)
        typed: list[AnyPart] = [Text(text=prompt.text)] if prompt.text.strip() else []
        parts = [*typed, *prompt.attachments]
        made.messages.append(Message(role="user", parts=parts, turn=index, created_at=prompt.at))
    return made
