"""Findings as a person decides about them: each secret once, with its places, and what was decided before."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from copilog.model import Conversation
from copilog.redaction.conversations import Sighting, sightings_in
from copilog.redaction.decisions import Decision, Decisions
from copilog.redaction.findings import Finding
from copilog.redaction.personal import Private

CONTEXT = 60  # characters before and after a finding
LONGEST = 200  # characters of a finding that are shown
SHOWN_PLACES = 3  # of one secret


class Case(msgspec.Struct, kw_only=True):
    """One secret, and where it is."""

    mark: str  # its fingerprint
    finding: Finding
    decision: Decision | None
    places: list[Sighting]

    @property
    def shown(self) -> list[tuple[int | None, str, str, str]]:
        """Return the first places: the turn, and the text before, at and after the finding."""
        return [(place.number, *_around(place)) for place in self.places[:SHOWN_PLACES]]


def cases_in(conversations: Iterable[Conversation], decisions: Decisions, private: Private) -> list[Case]:
    """Return all secrets and private names of conversations, in the order in which they occur."""
    cases: dict[str, Case] = {}
    for conversation in conversations:
        for sighting in sightings_in(conversation, private):
            mark = decisions.fingerprint(sighting.finding)
            if mark not in cases:
                decided = decisions.decided(sighting.finding)
                cases[mark] = Case(mark=mark, finding=sighting.finding, decision=decided, places=[])
            cases[mark].places.append(sighting)
    return list(cases.values())


def _around(place: Sighting) -> tuple[str, str, str]:
    texts = (
        place.text[max(0, place.start - CONTEXT) : place.start],
        place.text[place.start : min(place.end, place.start + LONGEST)],
        place.text[place.end : place.end + CONTEXT],
    )
    before, found, after = (text.replace("\n", " ⏎ ") for text in texts)
    return before, found, after
