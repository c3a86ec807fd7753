"""Answers without secrets: conversations are redacted before a window is cut out of them, and snippets afterwards."""

from __future__ import annotations

from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path
from typing import TypeVar

from copilog.mcp.answers import Answer, SearchAnswer
from copilog.model import Conversation
from copilog.redaction import Redactor, leaves_in, places_in_value
from copilog.redaction.scanning import PLACEHOLDER
from copilog.store.archive import Archive

Given = TypeVar("Given", bound=Answer)

REMARK = "Secrets and private names of known shapes are replaced by placeholders (redacted-...)."
_MARK = "**"  # around what matches in a snippet
_SHORTEST_FRAGMENT = 6  # characters of a secret that a snippet may not show


class RedactedArchive(Archive):
    """An archive that gives out redacted conversations only."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        super().__init__(path)
        self.redactor = redactor

    def get(self, wanted: str) -> Conversation:
        return self.redactor.value(super().get(wanted))

    def find_id(self, wanted: str) -> str:
        """Resolve an id; also one that answers have with placeholders in it."""
        if PLACEHOLDER.search(wanted) is None:
            return super().find_id(wanted)
        for summary in self.list():
            if self.redactor.text(summary.id) == wanted:
                return summary.id
        return super().find_id(wanted)

    def recorded(self, wanted: str) -> Conversation:
        """Return a conversation as it was recorded."""
        return super().get(wanted)


def cleaner_of(archive: Archive, conversation_id: str | None = None) -> Callable[[str], str]:
    """Return what redacts a text before it is cut; with an id, also pieces of the conversation's secrets in it."""
    if not isinstance(archive, RedactedArchive):
        return lambda text: text
    secrets = [] if conversation_id is None else _secrets_of(archive.recorded(conversation_id), archive.redactor)
    return lambda text: _without_fragments(archive.redactor.text(text), secrets)


def redacted(answer: Given, archive: RedactedArchive) -> Given:
    """Return an answer without secrets."""
    if isinstance(answer, SearchAnswer):
        _redact_snippets(answer, archive)
    answer.remarks.append(REMARK)
    data = archive.redactor.value(answer.model_dump(mode="python"))
    return type(answer).model_validate(data)


def _redact_snippets(answer: SearchAnswer, archive: RedactedArchive) -> None:
    """Redact snippets, in which marks and cuts may have made secrets unrecognisable."""
    secrets: dict[str, list[str]] = {}
    for hit in answer.hits:
        if hit.id not in secrets:
            secrets[hit.id] = _secrets_of(archive.recorded(hit.id), archive.redactor)
        plain = hit.snippet.replace(_MARK, "")
        made = archive.redactor.text(_without_fragments(plain, secrets[hit.id]))
        if made != plain:
            hit.snippet = made


def _secrets_of(conversation: Conversation, redactor: Redactor) -> list[str]:
    """Return the texts of a conversation that are not to be shown."""
    leaves = leaves_in(conversation)
    found = set()
    for place in redactor.to_replace(places_in_value(conversation, redactor.private)):
        pieces = [(place.leaf, place.finding.start, place.finding.end), *place.rest]
        found.add("".join(leaves[leaf].text[start:end] for leaf, start, end in pieces))
    return sorted(found, key=len, reverse=True)


def _without_fragments(snippet: str, secrets: list[str]) -> str:
    """Return a snippet without pieces of secrets."""
    for secret in secrets:
        if len(secret) < _SHORTEST_FRAGMENT:
            continue
        while True:
            flat = " ".join(secret.split())
            match = SequenceMatcher(None, snippet, flat, autojunk=False).find_longest_match()
            if match.size < min(len(flat), _SHORTEST_FRAGMENT):
                break
            snippet = snippet[: match.a] + "…" + snippet[match.a + match.size :]
    return snippet
