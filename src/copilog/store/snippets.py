"""Make the snippet of a hit: a piece of text around the best match, with the ranges to highlight."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from copilog.patterns import spans_within_limit
from copilog.patterns.worker import Span, spans_of
from copilog.store.conditions import compiled
from copilog.store.query import Text
from copilog.store.substrings import words_of

WIDTH = 160
LEAD = 40  # characters before the first match
LONGEST_WORD = 24  # a longer word may be cut
MOST_SPANS = 100  # matches of one matcher in one column


class Matcher(NamedTuple):
    """Finds the matches of a condition in a text; `is_folded`: in a text without case and accents."""

    pattern: re.Pattern[str]
    is_folded: bool
    column: str | None
    is_of_user: bool = False  # the user wrote the pattern, and it may take long


class Snippet(NamedTuple):
    """One line of text. Highlights are offsets into it, in order, and do not overlap."""

    field: str
    text: str
    highlights: list[Span]


def matchers_for(conditions: Iterable[Text]) -> list[Matcher]:
    """Return the matchers for highlights, each once."""
    return [_matcher(condition) for condition in dict.fromkeys(conditions)]


def snippet_of(texts: Mapping[str, str | None], matchers: list[Matcher]) -> Snippet:
    """Return the best piece of a message. Columns come in the order of their weight; the first of equals wins."""
    best: tuple[int, str, str, list[tuple[Span, int]]] | None = None
    for column, text in texts.items():
        if not text:
            continue
        spans = _spans_in(text, column, matchers)
        matched = len({number for _, number in spans})
        if best is None or matched > best[0]:
            best = matched, column, text, spans
    if best is None:
        return Snippet(next(iter(texts), ""), "", [])
    _, column, text, spans = best
    start, end = _window(text, spans)
    return Snippet(column, *_one_line(text, start, end, [span for span, _ in spans]))


def _matcher(condition: Text) -> Matcher:
    if condition.kind == "regex":
        return Matcher(compiled(condition.value), False, condition.column, is_of_user=True)
    words = words_of(condition.value).words
    if condition.kind == "substring" or not words:
        return Matcher(re.compile(re.escape(condition.value), re.IGNORECASE), False, condition.column)
    marks = "[\u0300-\u036f]*"
    spelled = r"[\W_]+".join(marks.join(map(re.escape, fold(word))) for word in words)
    end = r"[^\W_]*" if condition.is_prefix else r"(?![^\W_])"
    return Matcher(re.compile(rf"(?<![^\W_]){spelled}{end}"), True, condition.column)


def _spans_in(text: str, column: str, matchers: list[Matcher]) -> list[tuple[Span, int]]:
    """Return the ranges of all matches with the number of their matcher, in order."""
    folded: str | None = None
    spans: list[tuple[Span, int]] = []
    for number, matcher in enumerate(matchers):
        if matcher.column not in (None, column):
            continue
        if matcher.is_folded and folded is None:
            folded = fold(text)
        searched = folded if matcher.is_folded and folded is not None else text
        find = spans_within_limit if matcher.is_of_user else spans_of
        spans += [(span, number) for span in find(matcher.pattern, searched, MOST_SPANS)]
    return sorted(spans)


def _window(text: str, spans: list[tuple[Span, int]]) -> Span:
    """Return the start and end of the snippet: around the position with most different matches."""
    if not spans:
        return 0, _next_gap(text, WIDTH)
    best, most = 0, 0
    for index, ((start, _), _) in enumerate(spans):
        within = {number for (first, _), number in spans[index : index + MOST_SPANS] if first < start + WIDTH - LEAD}
        if len(within) > most:
            best, most = index, len(within)
    match_start = spans[best][0][0]
    start = _gap_before(text, max(0, match_start - LEAD), match_start)
    return start, _next_gap(text, start + WIDTH)


def _gap_before(text: str, place: int, limit: int) -> int:
    """Return the start of the word after a position, so that no word is cut."""
    if place == 0:
        return 0
    for at in range(place, min(limit, place + LONGEST_WORD)):
        if text[at - 1].isspace():
            return at
    return place


def _next_gap(text: str, place: int) -> int:
    """Return the end of the word before a position."""
    if place >= len(text):
        return len(text)
    for at in range(place, max(0, place - LONGEST_WORD), -1):
        if text[at].isspace():
            return at
    return place


def _one_line(text: str, start: int, end: int, spans: list[Span]) -> tuple[str, list[Span]]:
    """Return the piece with single spaces and without control characters, and the shifted ranges."""
    pieces = ["…"] if text[:start].strip() else []
    places: list[int] = []  # new offset of each character of the piece
    length = len(pieces)
    is_gap = True
    for character in text[start:end]:
        places.append(length)
        if character.isspace():
            character = "" if is_gap else " "
            is_gap = True
        elif not character.isprintable() and unicodedata.category(character) in ("Cc", "Cf", "Cs"):
            character = ""
        else:
            is_gap = False
        pieces.append(character)
        length += len(character)
    places.append(length)
    if text[end:].strip():
        pieces.append("…")
    line = "".join(pieces)
    return line, _merged([(places[first - start], places[last - start]) for first, last in _within(spans, start, end)])


def _within(spans: list[Span], start: int, end: int) -> list[Span]:
    return [(max(first, start), min(last, end)) for first, last in spans if first < end and last > start]


def _merged(spans: list[Span]) -> list[Span]:
    """Merge overlapping ranges; leave out empty ones."""
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first < merged[-1][1]:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        elif first < last:
            merged.append((first, last))
    return merged


# --- case and accents -----------------------------------------------------------------------------------------------


class _Folded(dict[int, str]):
    """Maps each character to one without case and accent, so that offsets do not change."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        parts = unicodedata.normalize("NFD", character)
        is_accented = len(parts) > 1 and all(unicodedata.combining(part) for part in parts[1:])
        base = parts[0] if is_accented else character
        # The index folds single characters, such as the micro sign to a mu, which `lower` does not.
        self[code] = folded = next((form for form in (base.casefold(), base.lower()) if len(form) == 1), base)
        return folded


_FOLDED = _Folded()


def fold(text: str) -> str:
    """Return a text of the same length without case and accents."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)
