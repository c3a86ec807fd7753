"""Whether two conversations without a common id are the same one, judged by their content.

Exports and replays have no id of their conversation. Ids of requests and answers are the best evidence; without them
the texts count, together with the answers or the times. Nothing is merged on a guess: a similar pair without enough
evidence is `doubtful`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Literal, NamedTuple

from copilog.derive.prompts import PROMPTS_ONLY
from copilog.model import Conversation, Turn, prose_of

SAME_MOMENT_SECONDS = 120
DISTINCTIVE_LENGTH = 24  # shorter prompts ("continue", "fix it") are common

LOG_OF_CLI, ID_OF_CLI = "cli-events", "cli:"  # an export of a log may be of another program
IMPORTED = "imported"  # the mark of a session that a program made from a file
# The id of a request that had none, as copilog names it in an export: of version 5, where VS Code's own have 4.
GIVEN_GLOB = "request_????????-????-5*"
_GIVEN = re.compile(r"request_[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")

Verdict = Literal["same", "doubtful", "different"]


class TurnPrint(NamedTuple):
    """The fields by which a turn is compared."""

    ids: frozenset[str]
    words: str
    length: int
    answer: str
    at: datetime | None
    is_superseded: bool = False


class Fingerprint(NamedTuple):
    """The fields by which a conversation is compared: its turns, in order."""

    turns: tuple[TurnPrint, ...]
    is_named: bool = False  # whether it has an id of its own
    is_imported: bool = False  # whether its program records that it was imported
    is_history: bool = False  # whether it is a list of typed prompts, which belong to any conversation
    is_log: bool = False  # whether it is a log of Copilot CLI, whose forks keep the ids of the events that they copied

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
        ),
        is_named=conversation.native_id is not None,
        is_imported=is_imported(conversation),
        is_history=PROMPTS_ONLY in conversation.marks,
        is_log=conversation.source == LOG_OF_CLI and conversation.id.startswith(ID_OF_CLI),
    )


def _turn_print(turn: Turn, asked: str, answered: str) -> TurnPrint:
    words = plain(asked)
    answer, at = _digest(plain(answered)), turn.timing.started_at
    return TurnPrint(ids_of(turn), _digest(words), len(words), answer, at, turn.superseded is not None)


def ids_of(turn: Turn) -> frozenset[str]:
    """Return the ids of a turn: of its request and of its answer."""
    return frozenset(name for name in (turn.request_id, turn.response_id, _telemetry_id(turn)) if name)


def is_imported(conversation: Conversation) -> bool:
    """Return whether a session was made from a file: its program records that, or it has ids that copilog gave."""
    return IMPORTED in conversation.marks or any(map(has_given_id, conversation.turns))


def has_given_id(turn: Turn) -> bool:
    """Return whether the id of a request is one that copilog gave it in an export."""
    return turn.request_id is not None and _GIVEN.fullmatch(turn.request_id) is not None


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
    if one.is_named and other.is_named:
        return _by_beginning(one, other)
    by_ids = _by_ids(short, long)
    return by_ids if by_ids is not None else _by_texts(short, long)


def _by_beginning(one: Fingerprint, other: Fingerprint) -> Likeness:
    """Return whether one of two sessions was imported from the other: their first turns are the same.

    Programs give an imported session another id. VS Code keeps the ids of its requests; where they are new, the program
    has to record that it was an import, and the texts are compared. Two logs of Copilot CLI with the same ids are a
    fork and its parent, as its imports have new ids; older releases tell in no other way that a session was forked.
    """
    if one.is_history or other.is_history:
        return Likeness("different", "one of them is a history of prompts")
    pairs = list(zip(_that_count(one), _that_count(other), strict=False))
    shared = next((at for at, (mine, theirs) in enumerate(pairs) if mine.ids.isdisjoint(theirs.ids)), len(pairs))
    if shared and not (one.is_log and other.is_log):
        return Likeness("same", f"both begin with the same {shared} turns, by their ids")
    if shared and not (one.is_imported or other.is_imported):
        return Likeness("different", "logs of a session and its fork, which keeps the ids of events")
    if not (one.is_imported or other.is_imported):
        return Likeness("different", "sessions of other ids, with requests of other ids")
    shared = next((at for at, (mine, theirs) in enumerate(pairs) if mine.words != theirs.words), len(pairs))
    length = sum(mine.length for mine, _ in pairs[:shared])
    if length < DISTINCTIVE_LENGTH or not any(mine.answer == theirs.answer for mine, theirs in pairs[:shared]):
        return Likeness("different", "an import with other words")
    return Likeness("same", f"one was imported, and both begin with the same words in {shared} turns")


def _that_count(fingerprint: Fingerprint) -> list[TurnPrint]:
    return [turn for turn in fingerprint.turns if not turn.is_superseded]


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
