"""Several records on one line: a whole one after one that breaks off, or two whole ones."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from copilog.sources._cli.event import looks_like_event

MOST_BYTES_TRIED = 64 << 20
_EVENT_START = re.compile(r'\{"(?:type|data|id|timestamp|parentId|agentId|ephemeral)"\s*:')
_decoder = json.JSONDecoder(parse_constant=lambda _: None)


class Piece(NamedTuple):
    """A piece of a line: one event, or something that breaks off."""

    start: int
    data: bytes
    is_event: bool


def pieces_of(data: bytes) -> list[Piece]:
    """Cut a line into events and what is left of others. One piece, and no event, when there is none in it."""
    text = data.decode("utf-8", "replace")
    pieces: list[Piece] = []
    at = 0
    budget = MOST_BYTES_TRIED
    while at < len(text):
        end, is_event = _event_at(text, at)
        if not is_event:
            next_start, budget = _next_event(text, at, budget)
            end = len(text) if next_start is None else next_start
        pieces.append(Piece(_size(text[:at]), text[at:end].strip().encode("utf-8", "replace"), is_event))
        at = end
        while at < len(text) and text[at].isspace():
            at += 1
    return pieces


def _event_at(text: str, at: int) -> tuple[int, bool]:
    """Where the event that begins here ends, and whether one does begin here."""
    try:
        value, end = _decoder.raw_decode(text, at)
    except (ValueError, RecursionError):
        return at, False
    return (end, True) if looks_like_event(value) else (at, False)


def _next_event(text: str, at: int, budget: int) -> tuple[int | None, int]:
    """Where the next whole event begins. The budget keeps a long line of almost-events from taking for ever."""
    for start in _EVENT_START.finditer(text, at + 1):
        budget -= len(text) - start.start()
        if budget < 0:
            break
        if _event_at(text, start.start())[1]:
            return start.start(), budget
    return None, budget


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
