"""Find related conversations: those that share the rarest words, files and commands of one, or the words of a text."""

# ruff: noqa: S608 - only internal names; user input goes into parameters

from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from copilog.store.conversation_ranks import Wanted, rank_conversations
from copilog.store.schema import MESSAGE_BITS
from copilog.store.selection import TOUCHED, decode_names
from copilog.store.snippets import fold
from copilog.store.stop_words import stop_words_in
from copilog.store.substrings import match_for_words

MOST_WORDS, MOST_FILES, MOST_PROGRAMS = 25, 15, 10
MOST_READ = 200_000  # characters of a conversation
MOST_LOOKED_UP = 600  # different words, the most frequent first
MOST_NAMED = 5  # words, files and programs that are named as a reason
FILE_WEIGHT, PROGRAM_WEIGHT = 1.5, 0.5  # beside a word
LARGEST_SHARE = 0.3  # of all conversations: what more of them have relates none
LEAST_SHARE = 0.2  # of the best score
MOST_MESSAGES = 5_000  # with a word: what more of them have relates none in any archive
SHORTEST_WORD, LONGEST_WORD = 3, 40

# Counting ends at the limit: the index would have to read all messages of a common word.
_MESSAGES_WITH = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
_WORD = re.compile(r"[^\W\d_][^\W_]*")


class Similar(msgspec.Struct, kw_only=True):
    """A related conversation, and what it shares."""

    id: str
    title: str
    workspace: str | None
    updated_at: str | None
    score: float
    words: list[str] = []
    files: list[str] = []
    programs: list[str] = []


class Traits(msgspec.Struct):
    """What conversations are compared by, each with the conversations that have it."""

    words: list[Wanted]
    files: dict[str, set[int]] = {}
    programs: dict[str, set[int]] = {}


def similar_to(connection: sqlite3.Connection, conversation_id: str, limit: int = 10) -> list[Similar]:
    """Return the conversations that share most with one, best first."""
    (number,) = connection.execute("SELECT rowid FROM conversation WHERE id = ?", (conversation_id,)).fetchone()
    rows = connection.execute(
        "SELECT title, user, answer, paths FROM message WHERE rowid >= ?1 << ?2 AND rowid < (?1 + 1) << ?2",
        (number, MESSAGE_BITS),
    ).fetchall()
    prompts = [text for title, user, *_ in rows for text in (title, user) if text]
    texts = [*prompts, *prompts, *(answer for _, _, answer, _ in rows if answer)]  # what a person wrote counts twice
    paths = dict.fromkeys(path for *_, lines in rows if lines for path in lines.splitlines() if path)
    traits = Traits(
        _rarest(connection, texts), _with_files(connection, paths, number), _with_programs(connection, number)
    )
    return _ranked(connection, traits, limit, without=number)


def similar_to_text(connection: sqlite3.Connection, text: str, limit: int = 10) -> list[Similar]:
    """Return the conversations that share most with a text, best first."""
    return _ranked(connection, Traits(_rarest(connection, [text])), limit)


def _ranked(connection: sqlite3.Connection, traits: Traits, limit: int, without: int | None = None) -> list[Similar]:
    (count,) = connection.execute("SELECT count(*) FROM conversation").fetchone()
    scores = {each.conversation: each.score for each in rank_conversations(connection, traits.words, with_forms=False)}
    for shared, weight in ((traits.files, FILE_WEIGHT), (traits.programs, PROGRAM_WEIGHT)):
        for numbers in shared.values():
            rarity = math.log(1 + count / max(1, len(numbers)))
            for number in numbers:
                scores[number] = scores.get(number, 0.0) + weight * rarity
    scores.pop(without or 0, None)
    least = LEAST_SHARE * max(scores.values(), default=0.0)
    best = sorted((number for number in scores if scores[number] >= least), key=lambda each: (-scores[each], -each))
    found = (_similar(connection, traits, number, scores[number]) for number in best[:limit])
    return [each for each in found if each is not None]


def _similar(connection: sqlite3.Connection, traits: Traits, number: int, score: float) -> Similar | None:
    row = connection.execute(
        f"SELECT c.id, c.title, c.workspace, {TOUCHED} FROM conversation AS c WHERE c.rowid = ? AND c.is_empty = 0",
        (number,),
    ).fetchone()
    if row is None:
        return None
    return Similar(
        id=row[0],
        title=row[1],
        workspace=row[2],
        updated_at=row[3],
        score=round(score, 6),
        words=list(_shared_words(connection, traits.words, number)),
        files=[path for path, numbers in traits.files.items() if number in numbers][:MOST_NAMED],
        programs=[name for name, numbers in traits.programs.items() if number in numbers][:MOST_NAMED],
    )


def _shared_words(connection: sqlite3.Connection, words: Iterable[Wanted], number: int) -> Iterator[str]:
    sql = (
        f"SELECT EXISTS (SELECT 1 FROM words AS w WHERE words MATCH ?1 AND w.rowid >= ?2 << {MESSAGE_BITS}"
        f" AND w.rowid < (?2 + 1) << {MESSAGE_BITS})"
    )
    named = 0
    for word in words:
        if named == MOST_NAMED:
            return
        if connection.execute(sql, (f'"{word.text}"', number)).fetchone()[0]:
            named += 1
            yield word.text


# --- what one is compared by ----------------------------------------------------------------------------------------


def _rarest(connection: sqlite3.Connection, texts: list[str]) -> list[Wanted]:
    """Return the words that say most about texts: often in them, rarely elsewhere; rarest first."""
    counts: Counter[str] = Counter()
    read = 0
    for text in texts:
        counts.update(word for word in _WORD.findall(fold(text[: MOST_READ - read])) if _is_telling(word))
        read += len(text)
        if read >= MOST_READ:
            break
    silent = stop_words_in(list(counts)) if len(counts) > 1 else frozenset()
    (total,) = connection.execute("SELECT coalesce(sum(messages), 0) + count(*) FROM conversation").fetchone()
    most = min(MOST_MESSAGES, int(LARGEST_SHARE * total) + 1)
    weights: dict[str, float] = {}
    for word, count in counts.most_common(MOST_LOOKED_UP):
        if word in silent:
            continue
        (messages,) = connection.execute(_MESSAGES_WITH, (f'"{word}"', most + 1)).fetchone()
        if 0 < messages <= most:
            weights[word] = math.log(1 + total / messages) * count / (count + 1)
    best = sorted(weights, key=lambda word: (-weights[word], word))[:MOST_WORDS]
    return [Wanted(word, counts[word] / (counts[word] + 1)) for word in best]


def _is_telling(word: str) -> bool:
    return SHORTEST_WORD <= len(word) <= LONGEST_WORD


def _with_files(connection: sqlite3.Connection, paths: Iterable[str], number: int) -> dict[str, set[int]]:
    """Return the files of a conversation that few others have, rarest first, with all conversations that have them."""
    (count,) = connection.execute("SELECT count(*) FROM conversation").fetchone()
    found: dict[str, set[int]] = {}
    for path in list(paths)[: 4 * MOST_FILES]:
        match = match_for_words(path, "paths", is_prefix=False)
        if match is None:
            continue
        sql = f"SELECT DISTINCT w.rowid >> {MESSAGE_BITS} FROM words AS w WHERE words MATCH ?"
        numbers = {row[0] for row in connection.execute(sql, (match.text,))}
        if numbers - {number} and len(numbers) <= LARGEST_SHARE * count + 1:
            found[path] = numbers
    return dict(sorted(found.items(), key=lambda item: (len(item[1]), item[0]))[:MOST_FILES])


def _with_programs(connection: sqlite3.Connection, number: int) -> dict[str, set[int]]:
    """Return the programs that ran in a conversation and in few others, rarest first."""
    has = connection.execute(
        "SELECT 1 FROM tool_call WHERE conversation = ? AND programs IS NOT NULL LIMIT 1", (number,)
    ).fetchone()
    if has is None:
        return {}
    (count,) = connection.execute("SELECT count(*) FROM conversation").fetchone()
    ran: dict[str, set[int]] = {}
    rows = connection.execute("SELECT DISTINCT conversation, programs FROM tool_call WHERE programs IS NOT NULL")
    for conversation, programs in rows:
        for name in decode_names(programs):
            ran.setdefault(name, set()).add(conversation)
    rare = [
        (name, numbers)
        for name, numbers in ran.items()
        if number in numbers and 1 < len(numbers) <= LARGEST_SHARE * count + 1
    ]
    return dict(sorted(rare, key=lambda item: (len(item[1]), item[0]))[:MOST_PROGRAMS])
