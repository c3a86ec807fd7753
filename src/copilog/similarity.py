"""Whether two conversations without a common id are the same one, judged by their content.

Exports and replays have no id of their conversation. Ids of requests and answers are the best evidence; without them
the texts count, together with the answers or the times. Nothing is merged on a guess: a similar pair without enough
evidence is `doubtful`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import Literal, NamedTuple

from copilog.model import Conversation, Turn, prose_of

SAME_MOMENT_SECONDS = 120
DISTINCTIVE_LENGTH = 24  # shorter prompts ("continue", "fix it") are common

Verdict = Literal["same", "doubtful", "different"]


class TurnPrint(NamedTuple):
    """The fields by which a turn is compared."""

    ids: frozenset[str]
    words: str
    length: int
    answer: str
    at: datetime | None


class Fingerprint(NamedTuple):
    """The fields by which a conversation is compared: its turns, in order."""

    turns: tuple[TurnPrint, ...]

    def lookup_keys(self) -> Iterator[str]:
        """Yield the keys that find the same conversation: all its ids, and the text of its first prompt."""
        for turn in self.turns:
            yield from turn.ids
        if self.turns:
            yield self.turns[0].words


class Likeness(NamedTuple):
    """A verdict and its reason."""

    verdict: Verdict
    reason: str


def fingerprint_of(conversation: Conversation) -> Fingerprint:
    """Return the fingerprint of a conversation, which is small, whatever the conversation's size."""
    asked: dict[int, list[str]] = {}
    answered: dict[int, list[str]] = {}
    for message in conversation.messages:
        if message.turn is None or message.parent_call_id is not None:
            continue
        if message.role == "user":
            asked.setdefault(message.turn, []).append(prose_of(message.parts))
        elif message.role == "assistant":
            answered.setdefault(message.turn, []).append(prose_of(message.parts))
    return Fingerprint(
        tuple(
            _turn_print(turn, "".join(asked.get(turn.index, [])), "".join(answered.get(turn.index, [])))
            for turn in conversation.turns
        )
    )


def _turn_print(turn: Turn, asked: str, answered: str) -> TurnPrint:
    words = plain(asked)
    return TurnPrint(ids_of(turn), _digest(words), len(words), _digest(plain(answered)), turn.timing.started_at)


def ids_of(turn: Turn) -> frozenset[str]:
    """Return the ids of a turn: of its request and of its answer."""
    return frozenset(name for name in (turn.request_id, turn.response_id, _telemetry_id(turn)) if name)


def _telemetry_id(turn: Turn) -> str | None:
    """Return the extension's own id of an answer, which debug exports have too."""
    result = turn.extra.get("result") if turn.extra else None
    metadata = result.get("metadata") if isinstance(result, dict) else None
    name = metadata.get("responseId") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else None


def plain(text: str) -> str:
    """Return a text with each run of white space as one blank."""
    return " ".join(text.split())


def without_blanks(text: str) -> str:
    """Return a text without any white space, as two writers may divide it differently."""
    return "".join(text.split())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24] if text else ""


def compare(one: Fingerprint, other: Fingerprint) -> Likeness:
    """Return whether two fingerprints are of the same conversation."""
    short, long = sorted((one, other), key=lambda fingerprint: len(fingerprint.turns))
    if not short.turns:
        return Likeness("different", "one of them has no turns")
    by_ids = _by_ids(short, long)
    return by_ids if by_ids is not None else _by_texts(short, long)


def _by_ids(short: Fingerprint, long: Fingerprint) -> Likeness | None:
    """Return a verdict from the ids of requests and answers, or None without enough ids."""
    known = frozenset(name for turn in long.turns for name in turn.ids)
    shared = sum(not turn.ids.isdisjoint(known) for turn in short.turns)
    without_ids = sum(not turn.ids for turn in short.turns)
    if not shared:
        return None
    if shared + without_ids == len(short.turns):
        return Likeness("same", f"{shared} of {len(short.turns)} turns carry the same ids")
    return Likeness("doubtful", f"only {shared} of {len(short.turns)} turns carry the same ids")


def _by_texts(short: Fingerprint, long: Fingerprint) -> Likeness:
    """Return a verdict from the texts: the longer must begin with the shorter."""
    pairs = list(zip(short.turns, long.turns, strict=False))
    if any(mine.words != theirs.words for mine, theirs in pairs):
        return Likeness("different", "other words")
    length = sum(mine.length for mine, _ in pairs)
    number = len(pairs)
    if length < DISTINCTIVE_LENGTH:
        return Likeness("different", "too few words to tell")
    if all(mine.answer == theirs.answer for mine, theirs in pairs):
        return Likeness("same", f"the same words and answers in {number} turns")
    timed = [(mine.at, theirs.at) for mine, theirs in pairs if mine.at is not None and theirs.at is not None]
    if timed and all(abs((mine - theirs).total_seconds()) <= SAME_MOMENT_SECONDS for mine, theirs in timed):
        return Likeness("same", f"the same words at the same times in {number} turns")
    return Likeness("doubtful", f"the same words in {number} turns, but other answers or times")
