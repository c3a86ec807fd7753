"""Bring digests together: which page each has, which workspace it belongs to, and the topics of its title."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

import msgspec

from copilog.digest.content import Digest, Section
from copilog.store.archive import Archive
from copilog.store.rows import NO_CONVERSATION
from copilog.store.snippets import fold
from copilog.store.stop_words import STOP_WORDS
from copilog.uris import base_name

NO_WORKSPACE = "Without a workspace"
FEWEST = 2  # conversations of a topic
MOST_TOPICS = 300
LONGEST_STEP = 20_000  # characters of next steps and memories that are kept for the page of a workspace
_WORD = re.compile(r"[^\W\d_][\w-]{2,40}")
_STOP_WORDS = frozenset().union(*STOP_WORDS.values())
_TOGETHER = ("next steps", "memory")  # sections that the page of a workspace repeats


class Entry(msgspec.Struct):
    """One conversation as the pages of a workspace and the indexes need it; `page` is empty if it has none."""

    digest: Digest
    page: str
    sections: list[Section]  # that its page has


def entry_of(digest: Digest, page: str) -> Entry:
    """Return the entry of a digest, without the texts that only its own page has."""
    kept = [
        passage._replace(text=passage.text[:LONGEST_STEP])
        for passage in digest.passages
        if passage.section in _TOGETHER
    ]
    sections = list(dict.fromkeys(passage.section for passage in digest.passages))
    return Entry(msgspec.structs.replace(digest, prompts=[], passages=kept), page, sections)


def with_memories(archive: Archive, ids: list[str]) -> list[str]:
    """Return the ids with those of the memories that belong to their workspaces, or to the user."""
    found = archive.summaries(ids)
    folders = {summary.workspace for summary in found.values()} | {None}
    rows = archive.connection.execute("SELECT id, workspace FROM conversation WHERE is_empty = ?", (NO_CONVERSATION,))
    return list(dict.fromkeys([*ids, *(name for name, folder in rows.fetchall() if folder in folders)]))


def newest_first(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries by their last activity; those without a time come last."""

    def key(entry: Entry) -> tuple[str, str]:
        moment = entry.digest.updated_at or entry.digest.started_at
        return moment.isoformat() if moment is not None else "", entry.digest.id

    return sorted(entries, key=key, reverse=True)


def by_workspace(entries: Iterable[Entry]) -> dict[str | None, list[Entry]]:
    """Return the entries of each workspace folder, those of most conversations first."""
    found: dict[str | None, list[Entry]] = defaultdict(list)
    for entry in newest_first(entries):
        found[entry.digest.workspace].append(entry)
    return dict(sorted(found.items(), key=lambda item: (item[0] is None, -len(item[1]), item[0] or "")))


def workspace_name(folder: str | None) -> str:
    """Return the short name of a workspace folder."""
    return base_name(folder) or folder if folder else NO_WORKSPACE


def topics_of(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Return the user's labels, and the words that several titles have, with their conversations."""
    labels: dict[str, list[Entry]] = defaultdict(list)
    words: dict[str, list[Entry]] = defaultdict(list)
    spelled: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in newest_first(entries):
        for label in entry.digest.labels:
            labels[label].append(entry)
        for word in dict.fromkeys(_WORD.findall(entry.digest.title)):
            form = fold(word)
            if form not in _STOP_WORDS:
                spelled[form][word] += 1
                if entry not in words[form][-1:]:
                    words[form].append(entry)
    common = {form: found for form, found in words.items() if len(found) >= FEWEST}
    ranked = sorted(common.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_TOPICS]
    named = {min(spelled[form], key=lambda word: (-spelled[form][word], word)): found for form, found in ranked}
    return dict(sorted(labels.items())) | dict(sorted(named.items(), key=lambda item: fold(item[0])))
