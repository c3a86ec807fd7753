"""Rank conversations by what they have of some words, over all their messages: BM25F on the full-text index.

Rare words count more; a word counts more in a title or a prompt than in an answer, and more there than in what tools
return. Inflected forms of a word count almost as the word.
"""

# ruff: noqa: S608 - only internal names; user input goes into parameters

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from copilog.store.plans import has_superseded
from copilog.store.schema import MESSAGE_BITS, is_counted
from copilog.store.substrings import words_of

# Columns that weigh the same, and how much a message with the word counts.
COLUMNS: tuple[tuple[tuple[str, ...], float], ...] = (
    (("title",), 6.0),
    (("user",), 3.0),
    (("answer", "paths"), 1.0),
    (("thinking", "arguments", "result"), 0.4),
)
SATURATION = 2.0  # so much of a word is half of what it can count
LENGTH_SHARE = 0.75  # how much the words of a long conversation count less
FORM_SHARE = 0.7  # what another form of a word counts
VERY_COMMON = 50_000  # messages: a word of so many is looked up in titles and prompts only
MOST_FORMS = 12
SHORTEST_STEM = 3
# Endings of the same word, in English and languages like it.
_ENDINGS = frozenset(
    (
        *("", *"sdnryteao", "es", "ed", "ing", "er", "ers", "en", "em", "os", "as", "te", "ly", "ies", "ied"),
        *("ion", "ions", "ation", "ations", "ment", "ments"),
    )
)


class Ranked(NamedTuple):
    """A conversation's number and its score."""

    conversation: int
    score: float


class Wanted(NamedTuple):
    """A word, or consecutive words, and how much it counts beside its rarity."""

    text: str
    weight: float = 1.0
    is_prefix: bool = False


def rank_conversations(
    connection: sqlite3.Connection, wanted: Sequence[Wanted], *, with_forms: bool = True
) -> list[Ranked]:
    """Return the conversations that have any of some words, or other forms of them, best first."""
    lengths = dict(connection.execute("SELECT rowid, text_bytes FROM conversation WHERE is_empty = 0"))
    mean = max(1.0, sum(lengths.values()) / max(1, len(lengths)))
    scores: dict[int, float] = {}
    ignored = _superseded_rows(connection)
    for word in dict.fromkeys(wanted):
        counted = _amounts(connection, word, with_forms, ignored)
        counted = {number: amount for number, amount in counted.items() if number in lengths}
        rarity = math.log(1 + (len(lengths) - len(counted) + 0.5) / (len(counted) + 0.5))
        for number, amount in counted.items():
            length = 1 - LENGTH_SHARE + LENGTH_SHARE * lengths[number] / mean
            scores[number] = scores.get(number, 0.0) + word.weight * rarity * amount / (amount + SATURATION * length)
    return [Ranked(number, score) for number, score in sorted(scores.items(), key=lambda item: (-item[1], -item[0]))]


def _amounts(connection: sqlite3.Connection, word: Wanted, with_forms: bool, ignored: str) -> dict[int, float]:
    """Return how much each conversation has of a word: its messages, by the weights of their columns."""
    words = words_of(word.text).words
    if not words:
        return {}
    own = '"' + " ".join(words).replace('"', '""') + '"' + (" *" if word.is_prefix else "")
    forms = forms_of(connection, words[0]) if with_forms and len(words) == 1 and not word.is_prefix else []
    searched = [(own, 1.0), *([(" OR ".join(f'"{form}"' for form in forms), FORM_SHARE)] if forms else [])]
    is_common = len(words) == 1 and _messages_with(connection, words[0]) > VERY_COMMON
    amounts: dict[int, float] = {}
    for match, share in searched:
        for columns, weight in COLUMNS[:2] if is_common else COLUMNS:
            rows = connection.execute(
                f"SELECT w.rowid >> {MESSAGE_BITS}, count(*) FROM words AS w WHERE words MATCH ?{ignored} GROUP BY 1",
                (f"{{{' '.join(columns)}}} : ({match})",),
            )
            for number, count in rows:
                amounts[number] = amounts.get(number, 0.0) + share * weight * count
    return amounts


def forms_of(connection: sqlite3.Connection, word: str) -> list[str]:
    """Return the indexed words that are likely other forms of a word: `stations` and `station`."""
    if len(word) <= SHORTEST_STEM or not word.isalpha():
        return []
    stems = [word[: len(word) - cut] for cut in range(len(word) - SHORTEST_STEM) if word[len(word) - cut :] in _ENDINGS]
    endings = {stem: word[len(stem) :] for stem in stems}
    shortest = min(stems, key=len)
    rows = connection.execute(
        "SELECT word FROM word WHERE word >= ?1 AND word < ?1 || char(1114111) AND length(word) <= ?2 LIMIT 5000",
        (shortest, len(word) + 4),
    )
    found = [
        other
        for (other,) in rows
        if other != word
        and any(other.startswith(stem) and _is_pair(stem, endings[stem], other[len(stem) :]) for stem in stems)
    ]
    return sorted(found, key=lambda other: (abs(len(other) - len(word)), other))[:MOST_FORMS]


def _is_pair(stem: str, ending: str, other: str) -> bool:
    """Return whether two endings of a stem make forms of one word; a short stem only takes a plural."""
    return other in _ENDINGS and (len(stem) > SHORTEST_STEM or {ending, other} <= {"", "s", "es"})


def _messages_with(connection: sqlite3.Connection, word: str) -> int:
    row = connection.execute("SELECT doc FROM term WHERE term = ?", (word,)).fetchone()
    return row[0] if row else 0


def _superseded_rows(connection: sqlite3.Connection) -> str:
    """Return SQL that leaves out messages of superseded turns; empty if there are none."""
    if not has_superseded(connection):
        return ""
    return (
        f" AND ((w.rowid >> {MESSAGE_BITS}) NOT IN"
        " (SELECT conversation FROM turn INDEXED BY turn_superseded WHERE superseded IS NOT NULL)"
        f" OR EXISTS (SELECT 1 FROM message AS counted WHERE counted.rowid = w.rowid AND {is_counted('counted')}))"
    )


def best_rows(
    connection: sqlite3.Connection, conversations: Iterable[int], wanted: Sequence[Wanted]
) -> list[int | None]:
    """Return for each conversation its message that has most of the words; None if it has no such message."""
    pieces = [form for word in wanted for form in _pieces(connection, word)]
    if not pieces:
        return [None for _ in conversations]
    match, ignored = " OR ".join(pieces), _superseded_rows(connection)
    sql = (
        f"SELECT w.rowid FROM words AS w WHERE words MATCH ?1 AND w.rowid >= ?2 << {MESSAGE_BITS}"
        f" AND w.rowid < (?2 + 1) << {MESSAGE_BITS}{ignored} ORDER BY bm25(words, 10.0, 5.0, 3.0, 1.0, 1.0, 0.5, 2.0)"
        ", w.rowid LIMIT 1"
    )
    found = (connection.execute(sql, (match, number)).fetchone() for number in conversations)
    return [row[0] if row else None for row in found]


def _pieces(connection: sqlite3.Connection, word: Wanted) -> list[str]:
    words = words_of(word.text).words
    if not words:
        return []
    forms = forms_of(connection, words[0]) if len(words) == 1 and not word.is_prefix else []
    own = '"' + " ".join(words).replace('"', '""') + '"' + (" *" if word.is_prefix else "")
    return [own, *(f'"{form}"' for form in forms)]
