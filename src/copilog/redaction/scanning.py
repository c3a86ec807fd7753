"""Find what is secret or personal in texts."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from copilog.redaction.context import by_context
from copilog.redaction.encodings import Piece, pieces_of, places_in
from copilog.redaction.findings import Finding, without_overlaps
from copilog.redaction.keys import private_keys
from copilog.redaction.personal import Private, personal
from copilog.redaction.provider_tokens import long_words, tokens

BORDER = "\x00\x00\n"  # between texts that are scanned together: nothing is found across it
DEEPEST = 4  # encodings within each other
MOST_TOGETHER = 4_000_000  # characters of texts that are scanned together
NOBODY = Private()
PLACEHOLDER = re.compile(r"redacted-(?:[a-z0-9-]+-)?[0-9a-f]{8}(?:@example\.invalid)?")  # what `Redactor` puts


def find(text: str, private: Private = NOBODY) -> list[Finding]:
    """Return what is secret or personal in a text, in its order and without overlaps."""
    return without_overlaps(_all(text, private, DEEPEST)) if text else []


def find_in_each(texts: Sequence[str], private: Private = NOBODY) -> list[list[Finding]]:
    """Return what is in each of several texts. Together they are scanned much faster than one by one."""
    results: list[list[Finding]] = [[] for _ in texts]
    for first, last in _batches(texts):
        batch = texts[first:last]
        starts = _starts(batch)
        for finding in find(BORDER.join(batch), private):
            index = bisect_right(starts, finding.start) - 1
            results[first + index].append(finding.moved(-starts[index]))
    return results


def _all(text: str, private: Private, depth: int) -> list[Finding]:
    words = long_words(text)
    findings = [*tokens(text, words), *private_keys(text), *by_context(text), *personal(text, private)]
    if depth:
        findings += _encoded(text, words, private, depth)
    return [finding for finding in findings if not PLACEHOLDER.fullmatch(finding.secret)]


def _encoded(text: str, words: Sequence[tuple[int, int]], private: Private, depth: int) -> Iterator[Finding]:
    """Yield what is in the encoded pieces of a text; pieces with the same text are scanned once."""
    by_text: dict[str, list[Piece]] = {}
    for piece in pieces_of(text, words):
        by_text.setdefault(piece.decoded, []).append(piece)
    decoded = list(by_text)
    for first, last in _batches(decoded):
        batch = decoded[first:last]
        starts = _starts(batch)
        found: dict[int, list[Finding]] = {}
        for finding in without_overlaps(_all(BORDER.join(batch), private, depth - 1)):
            index = bisect_right(starts, finding.start) - 1
            found.setdefault(index, []).append(finding.moved(-starts[index]))
        for index, inner in found.items():
            for piece in by_text[batch[index]]:
                yield from _placed(piece, inner, text)


def _placed(piece: Piece, inner: list[Finding], text: str) -> Iterator[Finding]:
    """Yield findings of a decoded piece as findings of the text."""
    if piece.encoding.startswith("base64"):
        best = min(inner, key=lambda each: (each.is_personal, each.confidence != "certain"))
        yield Finding(
            piece.start,
            piece.end,
            best.kind,
            piece.decoded,
            best.evidence,
            best.confidence,
            piece.encoding,
            tuple(inner),
        )
        return
    places = places_in(piece, text)
    is_cut = piece.end < len(text) and (text[piece.end].isalnum() or text[piece.end] in "-_")
    for finding in inner:
        if is_cut and finding.is_personal and finding.end == len(piece.decoded):
            continue  # a part of a name; the next piece has all of it
        start, end = places[finding.start], places[finding.end]
        if finding.inner and finding.encoding.startswith("base64"):
            yield finding._replace(start=start, end=end)
        else:
            yield finding._replace(start=start, end=end, encoding=piece.encoding)


def _batches(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield ranges of texts that are scanned together."""
    first = size = 0
    for index, text in enumerate(texts):
        if size and size + len(text) > MOST_TOGETHER:
            yield first, index
            first, size = index, 0
        size += len(text)
    if first < len(texts):
        yield first, len(texts)


def _starts(texts: Sequence[str]) -> list[int]:
    starts, at = [], 0
    for text in texts:
        starts.append(at)
        at += len(text) + len(BORDER)
    return starts
