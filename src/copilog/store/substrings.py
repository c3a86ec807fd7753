"""Search within words: turn a piece of text into a full-text query that finds every message that may contain it.

The full-text index has complete words. `foo->bar(` contains a word that ends with `foo`, directly before the word
`bar`: words with that ending are looked up among all indexed words, by their trigrams, and the rest is a phrase.
These matches must be compared with the text itself, as the index ignores punctuation, case and accents.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from typing import NamedTuple

from copilog.store.schema import TOKENIZER

MOST_WORDS = 50  # more words in one query cost more than reading the texts
SHORTEST_PIECE = 3  # characters that a trigram needs


class Match(NamedTuple):
    """A query in the language of FTS5. `is_exact`: its matches need no further check."""

    text: str
    is_exact: bool


NOTHING = Match("", True)


class Words(NamedTuple):
    """A text as the index splits it: its words, and whether the first and the last may continue beyond the text."""

    words: tuple[str, ...]
    is_open_left: bool
    is_open_right: bool


@lru_cache(maxsize=256)
def words_of(text: str) -> Words:
    """Split a text by SQLite itself, so that case, accents and scripts are treated as the index treats them."""
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.execute(f'CREATE VIRTUAL TABLE piece USING fts5 (text, tokenize="{TOKENIZER}")')
        memory.execute("CREATE VIRTUAL TABLE word USING fts5vocab (piece, instance)")
        for row in enumerate((text, f"x{text}", f"{text}x")):
            memory.execute("INSERT INTO piece (rowid, text) VALUES (?, ?)", row)
        split: list[list[str]] = [[], [], []]
        for doc, word in memory.execute("SELECT doc, term FROM word ORDER BY doc, offset"):
            split[doc].append(word)
    words, before, after = split
    return Words(
        tuple(words),
        bool(words) and before[0] == "x" + words[0],
        bool(words) and after[-1] == words[-1] + "x",
    )


def match_for_words(text: str, column: str | None, *, is_prefix: bool) -> Match | None:
    """Return a match for consecutive words, the last of which may be a prefix; None if the text has no word."""
    words = words_of(text).words
    return Match(_in_column(_phrase(words, is_prefix=is_prefix), column), True) if words else None


def match_for_whole(text: str, column: str | None) -> Match | None:
    """Return a match for all messages that may contain a text as complete words; None if the text has no word."""
    words = words_of(text).words
    return Match(_in_column(_phrase(words, is_prefix=False), column), False) if words else None


def match_for_substring(connection: sqlite3.Connection, text: str, column: str | None) -> Match | None:
    """Return a match for all messages that may contain a text; None if nothing in it can be looked up."""
    words, is_open_left, is_open_right = words_of(text)
    if len(words) > 1 and is_open_right and len(words[-1]) < SHORTEST_PIECE:
        words, is_open_right = words[:-1], False
    if not words:
        return None
    first, rest = words[0], words[1:]
    if not is_open_left:
        if not rest and is_open_right and len(first) < SHORTEST_PIECE:
            return None
        return Match(_in_column(_phrase(words, is_prefix=is_open_right), column), False)
    found: list[str] | None = None
    if not rest or len(first) >= SHORTEST_PIECE:
        found = _words_with(connection, first, at_end=bool(rest) or not is_open_right)
    if found is None:
        return Match(_in_column(_phrase(rest, is_prefix=is_open_right), column), False) if rest else None
    if not found:
        return NOTHING
    is_prefix = bool(rest) and is_open_right
    phrases = [_phrase((word, *rest), is_prefix=is_prefix) for word in found]
    return Match(_in_column("(" + " OR ".join(phrases) + ")", column), False)


def _words_with(connection: sqlite3.Connection, piece: str, *, at_end: bool) -> list[str] | None:
    """Return all words that contain a piece, or end with it; None if they are too many."""
    test = "substr(word, -length(?1)) = ?1" if at_end else "instr(word, ?1)"
    limit = f"LIMIT {MOST_WORDS + 1}"
    if len(piece) < SHORTEST_PIECE:
        rows = connection.execute(f"SELECT word FROM word WHERE {test} {limit}", (piece,))  # noqa: S608
    else:
        trigrams = " AND ".join(
            _quoted(piece[start : start + SHORTEST_PIECE]) for start in range(len(piece) - SHORTEST_PIECE + 1)
        )
        among = "rowid IN (SELECT rowid FROM word_part WHERE word_part MATCH ?2)"
        rows = connection.execute(f"SELECT word FROM word WHERE {among} AND {test} {limit}", (piece, trigrams))  # noqa: S608
    found = dict.fromkeys(word for (word,) in rows)
    try:
        found |= dict.fromkeys(_cut_words(connection))
    except UnicodeDecodeError:  # cut inside a character: such a word cannot be queried
        return None
    return None if len(found) > MOST_WORDS else list(found)


def _cut_words(connection: sqlite3.Connection) -> Iterator[str]:
    """Return words that are longer than the index stores, so that they may contain anything."""
    cut = "length(CAST(word AS BLOB)) >= 32768"  # in the units of the index
    rows = connection.execute(f"SELECT CAST(word AS BLOB) FROM word WHERE {cut} LIMIT {MOST_WORDS + 1}")  # noqa: S608
    return (word.decode() for (word,) in rows)


def _phrase(words: tuple[str, ...], *, is_prefix: bool) -> str:
    return _quoted(" ".join(words)) + (" *" if is_prefix else "")


def _in_column(match: str, column: str | None) -> str:
    return f"{{{column}}} : {match}" if column else match


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


# --- regular expressions --------------------------------------------------------------------------------------------

# Verbose expressions, and escapes that are longer than two characters.
_UNCLEAR = re.compile(r"\(\?[a-zA-Z-]*x|\\[xuUN0-9]")
_LITERAL = re.compile(r"[A-Za-z0-9_ ]|\\[!-/:-@\[-`{-~]|[-/:;,<>=!@#%&'\"~`]")
_OPTIONAL = ("?", "*", "{")


def literals_of(pattern: str) -> list[str]:
    """Return texts that every match of the expression contains; empty if that is not obvious."""
    if _UNCLEAR.search(pattern):
        return []
    runs = [""]
    at = depth = 0
    while at < len(pattern):
        if pattern[at] == "[":
            at = _end_of_set(pattern, at)
            runs.append("")
        elif depth == 0 and (literal := _LITERAL.match(pattern, at)):
            at = literal.end()
            if pattern.startswith(_OPTIONAL, at):
                runs.append("")
            else:
                runs[-1] += literal[0][-1]
        else:
            if pattern[at] == "|" and depth == 0:
                return []
            depth += (pattern[at] == "(") - (pattern[at] == ")")
            at = _end_of_step(pattern, at)
            runs.append("")
    return [run for run in runs if re.search(r"[A-Za-z0-9]{3}", run)]


def _end_of_step(pattern: str, start: int) -> int:
    """Return the position after an escape, a count such as {2,5}, or a single character."""
    if pattern[start] == "{":
        return pattern.find("}", start) + 1 or start + 1
    return start + 2 if pattern[start] == "\\" else start + 1


def _end_of_set(pattern: str, start: int) -> int:
    """Return the position after a set such as [^]a-z]."""
    at = start + 1
    if pattern.startswith("^", at):
        at += 1
    if pattern.startswith("]", at):
        at += 1
    while at < len(pattern) and pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1
