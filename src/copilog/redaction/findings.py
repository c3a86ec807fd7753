"""What a scan finds: places in a text, each with its kind and the evidence."""

from __future__ import annotations

from typing import Literal, NamedTuple

# How sure a finding is. `certain`: a checksum or a structure fits; `likely`: the shape of a provider's token, or a
# random value under a telling name; `possible`: a shape whose checksum does not fit, or a weak value.
Confidence = Literal["certain", "likely", "possible"]

# Kinds that are private, but are no secrets that one could rotate.
PERSONAL = frozenset({"email", "user", "host", "word"})


class Finding(NamedTuple):
    """A place in a text, from `start` to `end`. `secret` is what is there, decoded if the place is encoded.

    `inner` has what is in a piece of Base64, whose decoded text is then `secret`.
    """

    start: int
    end: int
    kind: str  # "github-token", "password", "email", ...
    secret: str
    evidence: str
    confidence: Confidence = "likely"
    encoding: str = ""  # how the place is encoded: "percent", "json", "base64", "base64url"
    inner: tuple[Finding, ...] = ()

    @property
    def is_personal(self) -> bool:
        return self.kind in PERSONAL

    def moved(self, by: int) -> Finding:
        """Return the finding for a text that has so many characters before it."""
        return self._replace(start=self.start + by, end=self.end + by)


def leaves_of(finding: Finding) -> list[Finding]:
    """Return the finding itself, or those inside it if it is an encoded text."""
    if not finding.inner:
        return [finding]
    return [leaf._replace(start=finding.start, end=finding.end) for each in finding.inner for leaf in leaves_of(each)]


_RANKS = {"certain": 0, "likely": 1, "possible": 2}


def without_overlaps(findings: list[Finding]) -> list[Finding]:
    """Return findings in order, of which no two overlap.

    Of several at one place the best remains: secrets before names of people and hosts, certain ones before likely
    ones, the longer one. It takes in what the others have beyond it, if they are secrets, so that no rest remains.
    """
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda each: (each.start, -each.end)):
        if not kept or finding.start >= kept[-1].end:
            kept.append(finding)
            continue
        kept[-1] = _merged(kept[-1], finding)
    return kept


def _merged(first: Finding, second: Finding) -> Finding:
    best, other = sorted((first, second), key=_order)
    if other.is_personal or best.inner or (other.start >= best.start and other.end <= best.end):
        return best
    if other.inner:
        return best._replace(start=min(best.start, other.start), end=max(best.end, other.end))
    start, end = min(best.start, other.start), max(best.end, other.end)
    return best._replace(start=start, end=end, secret=_joined(best, other))


def _joined(best: Finding, other: Finding) -> str:
    """Return the text of both; of encoded places only that of the better one."""
    if best.encoding or other.encoding or len(best.secret) != best.end - best.start:
        return best.secret
    if len(other.secret) != other.end - other.start:
        return best.secret
    before = other.secret[: max(0, best.start - other.start)]
    after = other.secret[len(other.secret) - max(0, other.end - best.end) :] if other.end > best.end else ""
    return before + best.secret + after


def _order(finding: Finding) -> tuple[bool, int, int]:
    return finding.is_personal, _RANKS[finding.confidence], finding.start - finding.end
