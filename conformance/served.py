"""What the model server did: one `Served` for each request, in the order in which they came."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from conformance.scenario import Step, Tokens

Kind = Literal["chat", "compaction", "title", "progress", "unscripted"]


class Served(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One request to the model, and how it was answered."""

    number: int  # from 1
    id: str  # of the completion
    kind: Kind
    script: str | None = None
    step: int = 0
    model: str = ""
    path: str = ""
    status: int = 200
    tokens: Tokens | None = None  # None for errors
    call_ids: list[str] = []
    answer: Step  # as it was served, placeholders replaced
    tools: list[str] = []  # those that the program offers
    began_at: datetime
    ended_at: datetime | None = None  # None while it runs
    is_closed_early: bool = False  # the program closed the connection before the end


def call_id(script: str, step: int, position: int) -> str:
    """Return the id that the server gives to a tool call: the same in every run."""
    return f"call_{script.replace('-', '_')}_{step}_{position}"
