"""Whether a question finds its conversation: titles as questions for real conversations, and questions on the sample.

    python -m benchmarks.bench_questions [--corpus DIR] [--misses] [--json]

The corpus is a folder of other people's files (COPILOG_CORPUS). Its sessions and exports with a title that a person or
a model gave are stored without it: no recorded title is kept, and wherever any text of theirs has the title literally,
it is taken out there too (title requests, logs, metadata that the program shows). The title is then the question. A
title that only repeats the beginning of a prompt, or has fewer than two words, is no question and not counted.

A rank counts conversations, and those with an equal score count as better. The sample has the same test, apart, and 30
questions in other words than its conversations' (`benchmarks/questions.py`), with the rank of each.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.questions import QUESTIONS
from copilog import ingest
from copilog.derive import conclude
from copilog.errors import UsageError
from copilog.model import Conversation
from copilog.sample import home as sample_home
from copilog.store.archive import Archive
from copilog.store.entries import entry_of
from copilog.store.schema import TEXT_COLUMNS

Json = dict[str, Any]

GIVEN = ("custom", "computed", "named", "index", "session list", "generated", "summary", "store")
MOST_HITS = 500
FEWEST_WORDS = 2
NOT_FOUND = 0


class Question(NamedTuple):
    """A question, the conversation that it is about, and at which place the search has it; 0: not found."""

    text: str
    conversation: str
    rank: int


def main() -> None:
    options = _parser().parse_args()
    results: Json = {"sample titles": of_titles(sample_home()), "sample questions": of_questions()}
    if options.corpus is not None:
        results = {"corpus titles": of_titles(options.corpus), **results}
    if options.json:
        print(json.dumps(results))
        return
    for name, questions in results.items():
        _print(name, questions, shows_all=options.misses or name == "sample questions")
    if options.corpus is None:
        print("no corpus: name one with --corpus or COPILOG_CORPUS")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given = os.environ.get("COPILOG_CORPUS")
    parser.add_argument("--corpus", type=Path, default=Path(given) if given else None)
    parser.add_argument("--misses", action="store_true", help="print every title that is not found first")
    parser.add_argument("--json", action="store_true")
    return parser


def _print(name: str, questions: list[Question], *, shows_all: bool) -> None:
    count = len(questions)
    first = sum(question.rank == 1 for question in questions)
    five = sum(1 <= question.rank <= 5 for question in questions)
    shares = f"first {first} ({_percent(first, count)}), among five {five} ({_percent(five, count)})"
    print(f"{name}: {count} questions; {shares}")
    for question in questions:
        if shows_all and (question.rank != 1 or name == "sample questions"):
            place = str(question.rank) if question.rank else "-"
            print(f"  {place:>4}  {question.conversation.partition(':')[2][:8]}  {question.text}")


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


# --- titles ---------------------------------------------------------------------------------------------------------


def of_titles(folder: Path) -> list[Question]:
    """Return the rank of each titled conversation of a folder for its title."""
    with tempfile.TemporaryDirectory() as name, Archive(Path(name) / "archive.db", write=True) as archive:
        wanted = dict(_store_without_titles(archive, ingest.read(folder)))
        archive.index_pending()
        return [Question(title, which, rank_of(archive, title, which)) for which, title in wanted.items()]


def _store_without_titles(archive: Archive, conversations: Iterable[Conversation]) -> Iterator[tuple[str, str]]:
    for conversation in conversations:
        titles = [title.text for title in conversation.titles if title.origin in GIVEN and title.text.strip()]
        shown = conversation.title if conversation.title_origin in GIVEN else None
        conversation.title, conversation.title_origin, conversation.titles = None, None, []
        conclude(conversation)
        archive.put(entry_of(conversation), "")
        _blank(archive.connection, conversation.id, [*titles, *([shown] if shown else [])])
        if shown and _is_question(archive.connection, conversation.id, shown):
            yield conversation.id, shown


def _blank(connection: sqlite3.Connection, conversation_id: str, titles: list[str]) -> None:
    """Take every copy of the titles out of the texts that are searched."""
    (number,) = connection.execute("SELECT rowid FROM conversation WHERE id = ?", (conversation_id,)).fetchone()
    rows = connection.execute(
        f"SELECT rowid, {', '.join(TEXT_COLUMNS)} FROM message WHERE conversation = ? AND role <> 'user'", (number,)
    ).fetchall()
    copies = [re.compile(re.escape(title.strip()), re.IGNORECASE) for title in dict.fromkeys(titles)]
    for row, *texts in rows:
        for column, text in zip(TEXT_COLUMNS, texts, strict=True):
            left = text
            for copy in copies:
                left = copy.sub(" ", left) if left else left
            if left != text:
                connection.execute(f"UPDATE message SET {column} = ? WHERE rowid = ?", (left, row))


def _is_question(connection: sqlite3.Connection, conversation_id: str, title: str) -> bool:
    """Return whether a title says something in words that are not simply the beginning of a prompt."""
    words = re.findall(r"\w+", title.casefold())
    prompts = connection.execute(
        "SELECT m.user FROM message AS m JOIN conversation AS c ON c.rowid = m.conversation"
        " WHERE c.id = ? AND m.user IS NOT NULL",
        (conversation_id,),
    ).fetchall()
    begun = " ".join(words)
    repeats = any(" ".join(re.findall(r"\w+", prompt.casefold())).startswith(begun) for (prompt,) in prompts)
    return len(words) >= FEWEST_WORDS and bool(prompts) and not repeats


# --- questions ------------------------------------------------------------------------------------------------------


def of_questions() -> list[Question]:
    with tempfile.TemporaryDirectory() as name, Archive(Path(name) / "archive.db", write=True) as archive:
        for conversation in ingest.read(sample_home()):
            archive.put(entry_of(conversation), "")
        archive.index_pending()
        asked = [(text, archive.find_id(beginning)) for text, beginning in QUESTIONS]
        return [Question(text, which, rank_of(archive, text, which)) for text, which in asked]


def rank_of(archive: Archive, question: str, conversation_id: str) -> int:
    """Return the place of a conversation among those that a search finds, the last of equals; 0 if it is not found."""
    try:
        hits = archive.search(question, limit=MOST_HITS, per_conversation=1).hits
    except UsageError:
        return NOT_FOUND
    own = next((hit.score for hit in hits if hit.conversation == conversation_id), None)
    return NOT_FOUND if own is None else sum(hit.score >= own for hit in hits)


if __name__ == "__main__":
    main()
