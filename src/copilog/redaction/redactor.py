"""Replace what a scan finds, by placeholders that are the same for the same secret within one export."""

from __future__ import annotations

import hmac
import re
import secrets
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from copilog.model import Conversation
from copilog.redaction.encodings import encoded_again
from copilog.redaction.findings import Finding, leaves_of
from copilog.redaction.personal import Private
from copilog.redaction.scanning import BORDER, NOBODY, find, find_in_each
from copilog.redaction.walking import Leaf, NotRedacted, is_continued, leaves_in, walk

Whole = TypeVar("Whole")

KEY_BYTES = 32
_TAG_LENGTH = 8  # hexadecimal digits of a placeholder
_CHUNK = 100  # characters; texts that are all shorter are pieces of an output
_REACH = 4_000  # characters of the neighbours of a border that are scanned together
_CLOSED_KEY = re.compile(r"-----END|Private-(?:MAC|Hash): ?[0-9a-f]{20}")
_LINE_ENDS = re.compile(r"\\+[rn]|\s")
_LONGEST_TITLE = 400  # characters of texts that may have been cut for a list
_SHORTEST_BEGINNING = 6  # characters of a secret at the end of a text that was cut
_CUT_MARKS = "…. \n"
_UNFINISHED = re.compile(r"(?:[=:]|earer|asic)\s*\Z")  # what follows is the value


class Place(NamedTuple):
    """A finding in a text of a value: the number of the text, as `leaves_in` counts them, and the place there.

    A finding that is cut by the border of two texts has the rest of it in `rest`: numbers of texts, starts and ends.
    """

    leaf: int
    finding: Finding
    rest: tuple[tuple[int, int, int], ...] = ()


class Redactor:
    """Replaces secrets in texts and conversations, and counts what it replaced by kind.

    One redactor is for one export: its key is random, so that a placeholder cannot be looked up in another one, nor
    computed from a guess. Redactors with the same key make the same placeholders. `keeps` says which findings stay as
    they are.
    """

    def __init__(
        self,
        private: Private = NOBODY,
        keeps: Callable[[Finding], bool] | None = None,
        key: bytes | None = None,
    ) -> None:
        self.private = private
        self.counts: Counter[str] = Counter()
        self._keeps = keeps or (lambda _finding: False)
        self._key = key or secrets.token_bytes(KEY_BYTES)
        self._names: dict[str, str] = {}  # placeholders, by tag

    @property
    def key(self) -> bytes:
        """Return the key of the placeholders, for processes that make the same ones."""
        return self._key

    def text(self, text: str) -> str:
        """Return a text with placeholders instead of secrets."""
        return self._replaced(text, self._to_replace(find(text, self.private)))

    def value(self, value: Whole) -> Whole:
        """Return a conversation, or any other value, with placeholders in each of its texts.

        Raise NotRedacted if any of it could not be scanned; then nothing of it may be written.
        """
        try:
            return self._value(value)
        except NotRedacted as error:
            raise NotRedacted(f"{_named(value)}{error}; nothing was written") from error
        except Exception as error:
            what = f"a text could not be scanned ({type(error).__name__})"
            raise NotRedacted(f"{_named(value)}{what}; nothing was written") from error

    def placeholder(self, finding: Finding) -> str:
        """Return what replaces a finding: letters, digits, hyphens, so that paths, addresses and JSON stay such."""
        tag = hmac.digest(
            self._key, f"{group(finding.kind)}\0{canonical(finding)}".encode("utf-8", "surrogatepass"), "sha256"
        )
        short = tag.hex()[:_TAG_LENGTH]
        if finding.kind == "email":
            return f"redacted-{short}@example.invalid"
        if short not in self._names:
            self._names[short] = f"redacted-{_label(finding)}-{short}"
        return self._names[short]

    def to_replace(self, places: Sequence[Place]) -> list[Place]:
        """Return the places of findings without those that are kept."""
        return [place._replace(finding=left) for place in places for left in self._to_replace([place.finding])]

    def _value(self, value: Whole) -> Whole:
        leaves = leaves_in(value)
        edits = self._edits(leaves)
        if not edits:
            return value
        number = -1

        def visit(leaf: Leaf) -> str:
            nonlocal number
            number += 1
            return self._edited(leaf, edits[number]) if number in edits else leaf.text

        made = walk(value, visit)
        assert number == len(leaves) - 1
        return made

    def _edits(self, leaves: Sequence[Leaf]) -> dict[int, list[tuple[int, int, Finding | None]]]:
        """Return what to replace in which text; None where the rest of a finding is removed."""
        edits: dict[int, list[tuple[int, int, Finding | None]]] = {}
        for place in places_in_leaves(leaves, self.private):
            for kept in self._to_replace([place.finding]):
                edits.setdefault(place.leaf, []).append((kept.start, kept.end, kept))
                for leaf, start, end in place.rest:
                    edits.setdefault(leaf, []).append((start, end, None))
        return edits

    def _edited(self, leaf: Leaf, edits: list[tuple[int, int, Finding | None]]) -> str:
        if leaf.is_binary:
            self.counts.update(found.kind for _, _, found in edits if found is not None)
            return "".join(self.placeholder(found) for _, _, found in edits if found is not None)
        pieces, at = [], 0
        for start, end, finding in sorted(edits, key=lambda each: each[:2]):
            if end <= at:
                continue
            pieces.append(leaf.text[at : max(at, start)])
            pieces.append(self._put_for(finding) if finding is not None else "")
            at = end
        return "".join([*pieces, leaf.text[at:]])

    def _replaced(self, text: str, findings: Sequence[Finding]) -> str:
        pieces, at = [], 0
        for finding in findings:
            pieces += [text[at : finding.start], self._put_for(finding)]
            at = finding.end
        return "".join([*pieces, text[at:]])

    def _put_for(self, finding: Finding) -> str:
        if finding.inner:
            return encoded_again(self._replaced(finding.secret, finding.inner), finding.encoding)
        self.counts[finding.kind] += 1
        made = self.placeholder(finding)
        return made.replace("@", "%40") if finding.encoding == "percent" else made

    def _to_replace(self, findings: Sequence[Finding]) -> list[Finding]:
        """Return the findings without those that are kept; of encoded texts, those of which something is not kept."""
        kept = []
        for finding in findings:
            if finding.inner:
                inner = tuple(self._to_replace(finding.inner))
                if inner:
                    kept.append(finding._replace(inner=inner))
            elif not self._keeps(finding):
                kept.append(finding)
        return kept


def places_in_value(value: Any, private: Private = NOBODY) -> list[Place]:
    """Return all findings in a conversation or another value, in the order of its texts."""
    try:
        return places_in_leaves(leaves_in(value), private)
    except NotRedacted:
        raise
    except Exception as error:
        raise NotRedacted(f"a text could not be scanned ({type(error).__name__})") from error


def places_in_leaves(leaves: Sequence[Leaf], private: Private) -> list[Place]:
    """Return all findings in texts, those over the borders of two texts included. Equal texts are scanned once."""
    numbers: dict[str, int] = {}
    for leaf in leaves:
        numbers.setdefault(leaf.text, len(numbers))
    found = find_in_each(list(numbers), private)
    places: list[Place] = []
    for number, leaf in enumerate(leaves):
        places += [
            Place(number, finding)
            for finding in found[numbers[leaf.text]]
            if not leaf.is_binary or _counts_in_binary(finding)
        ]
    places = _with_cut_ones(leaves, places, private)
    places += _beginnings(leaves, places)
    return sorted(places, key=lambda place: (place.leaf, place.finding.start))


def _counts_in_binary(finding: Finding) -> bool:
    """Return whether a finding among bytes is no accident."""
    return finding.confidence == "certain" or (finding.evidence.startswith("shape") and len(finding.secret) >= 32)


def _beginnings(leaves: Sequence[Leaf], places: Sequence[Place]) -> Iterator[Place]:
    """Yield beginnings of what was found elsewhere, at the ends of short texts such as titles, which are cut."""
    known: dict[str, Finding] = {}
    for place in places:
        if not place.rest and not place.finding.inner and len(place.finding.secret) > _SHORTEST_BEGINNING:
            known.setdefault(place.finding.secret, place.finding)
    starts: dict[str, list[str]] = {}
    for secret in known:
        starts.setdefault(secret[:_SHORTEST_BEGINNING], []).append(secret)
    found = {(place.leaf, place.finding.end) for place in places}
    for number, leaf in enumerate(leaves if starts else ()):
        text = leaf.text.rstrip(_CUT_MARKS)
        if len(leaf.text) > _LONGEST_TITLE or leaf.is_binary or (number, len(text)) in found:
            continue
        for at in range(max(0, len(text) - _LONGEST_TITLE), len(text) - _SHORTEST_BEGINNING + 1):
            cut = next(
                (each for each in starts.get(text[at : at + _SHORTEST_BEGINNING], ()) if each.startswith(text[at:])), ""
            )
            if cut and cut != text[at:]:
                evidence = "beginning of what is complete elsewhere"
                yield Place(
                    number, known[cut]._replace(start=at, end=len(text), evidence=evidence, confidence="possible")
                )
                break


# --- findings that are cut by a border ------------------------------------------------------------------------------


def _with_cut_ones(leaves: Sequence[Leaf], places: list[Place], private: Private) -> list[Place]:
    """Add findings that begin in one text and end in a following one of the same stream."""
    streams: dict[str, list[int]] = {}
    for number, leaf in enumerate(leaves):
        if is_continued(leaf.stream) and not leaf.is_binary:
            streams.setdefault(leaf.stream, []).append(number)
    cut: list[Place] = []
    for run in (run for numbers in streams.values() for run in _runs(leaves, numbers)):
        cut += _cut_in_run(leaves, run, private)
    if not cut:
        return places
    by_leaf: dict[int, list[Place]] = {}
    for place in places:
        by_leaf.setdefault(place.leaf, []).append(place)
    cut = [place for place in cut if not _is_known(place, by_leaf) and not _is_accident(place, by_leaf, leaves)]
    covered: dict[int, list[tuple[int, int]]] = {}
    for number, start, end in (piece for place in cut for piece in _pieces(place)):
        covered.setdefault(number, []).append((start, end))
    return [place for place in places if not _is_covered(place.finding, covered.get(place.leaf, ()))] + cut


def _runs(leaves: Sequence[Leaf], numbers: Sequence[int]) -> list[list[int]]:
    """Return the texts of a stream in groups that may each be one text that was cut."""
    runs: list[list[int]] = []
    tail = ""
    for before, after in pairwise(numbers):
        left, right = leaves[before].text, leaves[after].text
        is_one = bool(runs) and runs[-1][-1] == before
        tail = ((tail if is_one else "") + left)[-_REACH:]
        is_joined = (not left[-1].isspace() and not right[0].isspace()) or max(len(left), len(right)) < _CHUNK
        if is_joined or right.lstrip()[:1] in ("=", ":") or _UNFINISHED.search(tail) or _is_in_key(tail):
            if is_one:
                runs[-1].append(after)
            else:
                runs.append([before, after])
    return runs


def _is_in_key(text: str) -> bool:
    """Return whether a text ends within a private key."""
    begin = max(text.rfind("-----BEGIN"), text.rfind("PuTTY-User-Key-File"))
    return begin >= 0 and not _CLOSED_KEY.search(text, begin)


def _cut_in_run(leaves: Sequence[Leaf], run: Sequence[int], private: Private) -> list[Place]:
    """Return the findings in the joined texts of a run, near their borders."""
    windows = [window for index, number in enumerate(run) for window in _windows(leaves, run, index, number)]
    starts, at = [], 0
    for window in windows:
        starts.append(at)
        at += len(window.part)
    places = []
    for finding in find("".join(window.part for window in windows), private):
        first = bisect_right(starts, finding.start) - 1
        last = bisect_right(starts, finding.end - 1) - 1
        pieces = []
        for window, start in zip(windows[first : last + 1], starts[first : last + 1], strict=True):
            begin, end = max(0, finding.start - start), min(len(window.part), finding.end - start)
            pieces.append((window.leaf, window.offset + begin, window.offset + end))
            if window.cuts(begin, end):
                break
        else:
            number, begin, end = pieces[0]
            places.append(Place(number, finding._replace(start=begin, end=end), tuple(pieces[1:])))
    return places


class _Window(NamedTuple):
    """A part of a text near a border of it."""

    leaf: int
    offset: int
    part: str
    is_head: bool = False  # the text goes on behind it
    is_tail: bool = False  # the text begins before it

    def cuts(self, begin: int, end: int) -> bool:
        """Return whether a place in the window may go on where it ends within its text."""
        return self.leaf < 0 or (self.is_head and end == len(self.part)) or (self.is_tail and begin == 0)


def _windows(leaves: Sequence[Leaf], run: Sequence[int], index: int, number: int) -> Iterator[_Window]:
    """Yield a text of a run, or of a long one what is near the borders to its neighbours, and a gap between."""
    text = leaves[number].text
    if len(text) <= 2 * _REACH:
        yield _Window(number, 0, text)
        return
    if index:
        yield _Window(number, 0, text[:_REACH], is_head=True)
    yield _Window(-1, 0, BORDER)
    if index < len(run) - 1:
        yield _Window(number, len(text) - _REACH, text[-_REACH:], is_tail=True)


def _pieces(place: Place) -> list[tuple[int, int, int]]:
    return [(place.leaf, place.finding.start, place.finding.end), *place.rest]


def _is_covered(finding: Finding, covered: Sequence[tuple[int, int]]) -> bool:
    return any(start <= finding.start and finding.end <= end for start, end in covered)


def _touched(place: Place, by_leaf: Mapping[int, Sequence[Place]]) -> list[Place]:
    """Return the findings that are complete in one text and have a place with one over its border."""
    return [
        other
        for leaf, start, end in _pieces(place)
        for other in by_leaf.get(leaf, ())
        if other.finding.start < end and other.finding.end > start
    ]


def _is_known(place: Place, others: Mapping[int, Sequence[Place]]) -> bool:
    """Return whether a finding is in one text, where it was found without its neighbours."""
    return not place.rest and bool(_touched(place, others))


def _is_accident(place: Place, others: Mapping[int, Sequence[Place]], leaves: Sequence[Leaf]) -> bool:
    """Return whether two texts only seem to be one: what is there is complete in the first of them."""
    touched = _touched(place, others)
    if place.finding.is_personal:
        leaf, _, end = _pieces(place)[-1]
        is_path = place.finding.kind == "user" and leaves[leaf].text[end : end + 1] in ("/", "\\")
        return not is_path and any(other.leaf == place.leaf for other in touched)
    return not _is_shape(place.finding) and any(_is_shape(other.finding) for other in touched)


def _is_shape(finding: Finding) -> bool:
    """Return whether a finding is known by its own form, and not by what is beside it."""
    return finding.confidence == "certain" or finding.evidence.startswith("shape")


# --- what is the same -----------------------------------------------------------------------------------------------


def _label(finding: Finding) -> str:
    """Return the kind of a secret that it shows by itself, whatever is beside it; else that it is one."""
    if finding.is_personal:
        return finding.kind
    shown = [each.kind for each in find(finding.secret) if _is_shape(each) and not each.is_personal]
    return shown[0] if shown else "secret"


def canonical(finding: Finding) -> str:
    """Return the secret as it is the same in all its places: names in any case, keys with any line ends."""
    if finding.kind == "private-key":
        return _LINE_ENDS.sub("", finding.secret)
    return finding.secret.lower() if finding.is_personal else finding.secret


def group(kind: str) -> str:
    """Return what is keyed with the secret: the same value is the same secret under any name."""
    return kind if kind in ("email", "user", "host", "word") else "secret"


def leaves_in_places(places: Sequence[Place]) -> list[tuple[Place, Finding]]:
    """Return each place with the findings that are there, those in encoded texts one by one."""
    return [(place, leaf) for place in places for leaf in leaves_of(place.finding)]


def _named(value: object) -> str:
    """Return which conversation a message is about, if it is about one."""
    return f"{value.id}: " if isinstance(value, Conversation) else ""
