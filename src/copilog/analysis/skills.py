"""Measure which skills were offered and which were loaded, with the evidence. A turn has each skill once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain

from copilog.analysis.defined_usage import SKILLS, Defined
from copilog.analysis.facts import DISTINCT, Amount, SqlTable
from copilog.analysis.figures import SkillRow, SkillsSection
from copilog.analysis.name_keys import Spellings, most_common
from copilog.analysis.selection import Chosen
from copilog.definitions import Definition

# Evidence that a skill was available, but not that it was loaded.
OFFERS = frozenset({"prompt index", "attached index", "skill resource", "session.skills_loaded", "debug log"})
UNKNOWN = "unknown"

_SIGNS = "'; ' || coalesce(s.evidence, '') || '; '"
_IS_OFFERED = " OR ".join(["NOT s.is_loaded", *(f"instr({_SIGNS}, '; {sign}; ')" for sign in sorted(OFFERS))])
SKILL_TURNS = SqlTable(
    name="skills.skills",
    amounts={
        "offered": Amount(f"({_IS_OFFERED})", "Turns that were offered", head="Turns offered"),
        "loaded": Amount("s.is_loaded", "Turns that loaded", head="Turns loaded"),
        "conversations": Amount("CASE WHEN s.is_loaded THEN c.conversation END", "Conversations that loaded", DISTINCT),
    },
    keys=("name",),
    by=("s.name",),
    of=" the skill {}",
    fold=str.casefold,
    source="temp.chosen_turn AS c JOIN skill AS s ON s.conversation = c.conversation AND s.turn = c.turn",
)
LOADED = ("s.file", "s.conversation", "s.evidence", "c.at")
# Very many skills were only offered, and a query that groups them by less is several times faster.
ONLY_OFFERED = f"""
    SELECT s.name, s.file, NULL, NULL, NULL, count(*), 0
    FROM {SKILL_TURNS.source} AND NOT s.is_loaded GROUP BY 1, 2
"""  # noqa: S608 - names of our own


def skills(chosen: Chosen, defined: Sequence[Definition] | None = None, *, limit: int | None = 50) -> SkillsSection:
    """Return the skills that were offered and loaded; with definitions, also unused and missing ones."""
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
    """The counts of one skill."""

    def __init__(self) -> None:
        self.offered = 0
        self.loaded = 0
        self.conversations: set[int] = set()
        self.evidence: Counter[str] = Counter()
        self.files: Counter[str] = Counter()
        self.last_at: str | None = None

    def add(
        self,
        file: str | None,
        conversation: int | None,
        evidence: str | None,
        at: str | None,
        offered: int,
        loaded: int,
    ) -> None:
        self.offered += offered
        self.loaded += loaded
        if file:
            self.files[file] += max(offered, loaded)
        if conversation is None:
            return
        self.conversations.add(conversation)
        self.last_at = max(filter(None, (self.last_at, at)), default=None)
        signs = set(filter(None, (evidence or "").split("; ")))
        for sign in signs - OFFERS or {UNKNOWN}:
            self.evidence[sign] += loaded

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
    used = SKILL_TURNS.grouped(chosen, "s.name", *LOADED, source=f"{SKILL_TURNS.source} AND s.is_loaded")
    rows = chain(chosen.connection.execute(ONLY_OFFERED), (row[:-1] for row in used))
    for name, file, conversation, evidence, at, offered, loaded in rows:
        key = spellings.key(name, max(offered, loaded))
        tallies[key].add(file, conversation, evidence, at, offered, loaded)
    return {spellings.shown(key): tally for key, tally in tallies.items()}
