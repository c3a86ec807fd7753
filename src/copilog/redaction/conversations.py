"""Findings of one conversation, each secret once, with the turns that it is in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from copilog.model import Conversation, turn_number
from copilog.redaction.findings import Finding
from copilog.redaction.personal import Private
from copilog.redaction.redactor import Place, leaves_in_places, places_in_leaves
from copilog.redaction.scanning import NOBODY
from copilog.redaction.walking import Leaf, NotRedacted, leaves_in

SHOWN = 4  # characters of a masked secret
SHOWN_SHARE = 8  # of so many characters one is shown at most


class Leak(msgspec.Struct, kw_only=True):
    """A secret of a conversation, without the secret: `masked` has its first characters and its length."""

    kind: str
    masked: str
    fingerprint: str
    evidence: str
    confidence: str
    field: str  # where it was found first: "ToolResult.text"
    number: int | None  # of the first turn, from 1; None if it is only outside of turns, such as in the title
    at: datetime | None  # the time of that turn, else that of the conversation
    places: int = 1


class Sighting(msgspec.Struct, kw_only=True):
    """A finding in its text, for a reader who decides about it."""

    finding: Finding
    text: str
    start: int
    end: int
    number: int | None  # of the turn, from 1


def leaks_in(
    conversation: Conversation, fingerprint: Callable[[Finding], str], private: Private = NOBODY
) -> list[Leak]:
    """Return the secrets of a conversation, each once, in the order in which they first occur."""
    times = {turn.index: turn.timing.started_at for turn in conversation.turns}
    leaks: dict[str, Leak] = {}
    leaves, turns = leaves_with_turns(conversation)
    for place, finding in leaves_in_places(places_in_leaves(leaves, private)):
        mark = fingerprint(finding)
        turn = turns[place.leaf]
        known = leaks.get(mark)
        if known is not None and (known.number is not None or turn is None):
            known.places += 1
            continue
        at = (times.get(turn) if turn is not None else None) or conversation.updated_at or conversation.started_at
        leaks[mark] = Leak(
            kind=finding.kind,
            masked=masked(finding.secret),
            fingerprint=mark,
            evidence=finding.evidence,
            confidence=finding.confidence,
            field=leaves[place.leaf].stream.rpartition("/")[2],
            number=turn_number(turn),
            at=at,
            places=1 if known is None else known.places + 1,
        )
    return list(leaks.values())


def sightings_in(conversation: Conversation, private: Private = NOBODY) -> list[Sighting]:
    """Return all findings of a conversation with the texts that they are in."""
    leaves, turns = leaves_with_turns(conversation)
    sightings = []
    for place, finding in leaves_in_places(places_in_leaves(leaves, private)):
        text, start, end = _shown_in(leaves, place, finding)
        turn = turns[place.leaf]
        sightings.append(Sighting(finding=finding, text=text, start=start, end=end, number=turn_number(turn)))
    return sightings


def leaves_with_turns(conversation: Conversation) -> tuple[list[Leaf], list[int | None]]:
    """Return the texts of a conversation, and the index of the turn of each; None outside of turns."""
    leaves = leaves_in(conversation)
    turns: list[int | None] = []
    for name in Conversation.__struct_fields__:
        value = getattr(conversation, name)
        if name == "turns":
            for turn in value:
                turns += [turn.index] * len(leaves_in(turn))
        elif name in ("messages", "file_changes", "documents"):
            for item in value:
                turns += [item.turn] * len(leaves_in(item))
        else:
            turns += [None] * _count(name, value)
    if len(turns) != len(leaves):
        raise NotRedacted("the texts of a conversation could not be told apart")
    return leaves, turns


def masked(secret: str) -> str:
    """Return the first characters of a secret, few enough to tell nothing, and its length."""
    shown = secret[: min(SHOWN, len(secret) // SHOWN_SHARE)]
    return f"{''.join(char if char.isprintable() else ' ' for char in shown)}… ({len(secret):,})"


def _count(name: str, value: Any) -> int:
    """Return how many texts a field has, as `walk` visits them in a conversation."""
    empty = Conversation(id="", source="")
    return len(leaves_in(msgspec.structs.replace(empty, **{name: value})))


def _shown_in(leaves: list[Leaf], place: Place, finding: Finding) -> tuple[str, int, int]:
    """Return the text of a finding, decoded if it is in Base64, and where it is there."""
    outer = place.finding
    if outer.inner:
        for inner in outer.inner:
            if inner.secret == finding.secret:
                return outer.secret, inner.start, inner.end
        return outer.secret, 0, len(outer.secret)
    text = leaves[place.leaf].text
    if not place.rest:
        return text, outer.start, outer.end
    joined = text + "".join(leaves[leaf].text for leaf, _, _ in place.rest)
    return joined, outer.start, outer.start + len(outer.secret)
