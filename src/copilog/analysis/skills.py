"""Which skills were offered and which were loaded, with the evidence. A turn has each skill once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from copilog.analysis.defined import SKILLS, Defined
from copilog.analysis.figures import SkillRow, SkillsSection
from copilog.analysis.names import Spellings, most_common
from copilog.analysis.selection import Chosen
from copilog.definitions import Definition

# Evidence that a skill was there to be had, which says nothing of its being loaded.
OFFERS = frozenset({"prompt index", "attached index", "skill resource", "session.skills_loaded", "debug log"})
UNKNOWN = "unknown"

_OF_CHOSEN = "FROM temp.chosen_turn AS c JOIN skill AS s ON s.conversation = c.conversation AND s.turn = c.turn"
OFFERED = f"SELECT s.name, s.file, count(*) {_OF_CHOSEN} WHERE NOT s.is_loaded GROUP BY 1, 2"
LOADED = f"""
    SELECT s.name, s.file, s.conversation, s.evidence, count(*), max(c.at)
    {_OF_CHOSEN} WHERE s.is_loaded GROUP BY 1, 2, 3, 4
"""


def skills(chosen: Chosen, defined: Sequence[Definition] | None = None, *, limit: int | None = 50) -> SkillsSection:
    """Which skills were offered and loaded; with definitions, which never were and which are defined no more."""
    shelf = Defined(defined, SKILLS)
    rows = [tally.row(name, shelf) for name, tally in _tallies(chosen).items()]
    rows.sort(key=lambda row: (-row.loaded, -row.offered, row.name))
    loaded = [row.name for row in rows if row.loaded]
    return SkillsSection(
        skills=rows[:limit],
        never_used=shelf.never_used(loaded)[:limit],
        no_longer_defined=shelf.missing(loaded)[:limit],
    )


class _Tally:
    """What is counted of one skill."""

    def __init__(self) -> None:
        self.offered = 0
        self.loaded = 0
        self.conversations: set[int] = set()
        self.evidence: Counter[str] = Counter()
        self.files: Counter[str] = Counter()
        self.last_at: str | None = None

    def offer(self, file: str | None, turns: int) -> None:
        self.offered += turns
        self._note(file, turns)

    def load(self, file: str | None, conversation: int, evidence: str | None, turns: int, last_at: str | None) -> None:
        self.loaded += turns
        self.conversations.add(conversation)
        self.last_at = max(filter(None, (self.last_at, last_at)), default=None)
        self._note(file, turns)
        signs = set(filter(None, (evidence or "").split("; ")))
        if signs & OFFERS:
            self.offered += turns
        for sign in signs - OFFERS or {UNKNOWN}:
            self.evidence[sign] += turns

    def _note(self, file: str | None, turns: int) -> None:
        if file:
            self.files[file] += turns

    def row(self, name: str, shelf: Defined) -> SkillRow:
        files = most_common(self.files)
        return SkillRow(
            name=name,
            offered=self.offered,
            loaded=self.loaded,
            conversations=len(self.conversations),
            last_at=self.last_at,
            evidence={sign: self.evidence[sign] for sign in most_common(self.evidence)},
            is_defined=shelf.is_defined(name),
            path=shelf.path_of(name) or (files[0] if files else None),
        )


def _tallies(chosen: Chosen) -> dict[str, _Tally]:
    spellings = Spellings()
    tallies: defaultdict[str, _Tally] = defaultdict(_Tally)
    for name, file, turns in chosen.connection.execute(OFFERED):
        tallies[spellings.key(name, turns)].offer(file, turns)
    for name, file, conversation, evidence, turns, last_at in chosen.connection.execute(LOADED):
        tallies[spellings.key(name, turns)].load(file, conversation, evidence, turns, last_at)
    return {spellings.shown(key): tally for key, tally in tallies.items()}
