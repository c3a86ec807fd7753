"""Match files without a conversation id by their content.

Only fingerprints are stored, not the conversations: a matching file is read again when it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from copilog.model import Conversation
from copilog.similarity import Fingerprint, compare, fingerprint_of
from copilog.sources import Found


@dataclass(slots=True)
class Entry:
    """One conversation of a file without a conversation id."""

    found: Found
    id: str
    fingerprint: Fingerprint
    is_taken: bool = False
    doubts: list[tuple[str, str]] = field(default_factory=list)  # ids it may be the same as, and why


@dataclass(slots=True)
class Matches:
    """The matches of a conversation: entries that are the same, and ids of doubtful ones, each with a reason."""

    same: list[Entry] = field(default_factory=list)
    doubtful: list[tuple[str, str]] = field(default_factory=list)


class Register:
    """All conversations of files without a conversation id."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._by_key: dict[str, list[Entry]] = {}

    def add(self, found: Found, conversation: Conversation) -> None:
        entry = Entry(found, conversation.id, fingerprint_of(conversation))
        self.entries.append(entry)
        for key in set(entry.fingerprint.lookup_keys()):
            self._by_key.setdefault(key, []).append(entry)

    def matches(self, conversation: Conversation) -> Matches:
        """Return the matches of a conversation that has an id."""
        return self._matches_of(conversation.id, fingerprint_of(conversation))

    def leftovers(self) -> Iterator[tuple[Entry, Matches]]:
        """Yield entries that match no conversation with an id, the longest first, with their own matches."""
        for entry in sorted(self.entries, key=lambda entry: (-len(entry.fingerprint.turns), entry.id)):
            if entry.is_taken:
                continue
            entry.is_taken = True
            found = self._matches_of(entry.id, entry.fingerprint)
            found.doubtful += [doubt for doubt in entry.doubts if doubt not in found.doubtful]
            yield entry, found

    def _matches_of(self, name: str, fingerprint: Fingerprint) -> Matches:
        found = Matches()
        candidates: dict[int, Entry] = {}
        for key in fingerprint.lookup_keys():
            candidates.update({id(entry): entry for entry in self._by_key.get(key, [])})
        for entry in candidates.values():
            if entry.fingerprint is fingerprint:
                continue
            likeness = compare(fingerprint, entry.fingerprint)
            if likeness.verdict == "same" and not entry.is_taken:
                entry.is_taken = True
                found.same.append(entry)
            elif likeness.verdict == "doubtful":
                found.doubtful.append((entry.id, likeness.reason))
                entry.doubts.append((name, likeness.reason))
        return found
