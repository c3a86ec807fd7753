"""Which words differ between a line and the line that replaced it."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from markupsafe import Markup, escape

MOST_COMPARED = 40_000  # product of the numbers of words: comparing all of them takes time that grows with it
LEAST_ALIKE = 0.3  # with less in common, marks would only confuse

_WORD = re.compile(r"\w+|\s+|[^\w\s]")


def changed_words(before: str, after: str) -> tuple[Markup, Markup]:
    """Return both lines, escaped, with the differing words marked."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    head = _equal_at_start(old, new)
    tail = _equal_at_start(old[head:][::-1], new[head:][::-1])
    old_middle, new_middle = old[head : len(old) - tail], new[head : len(new) - tail]
    if not _is_alike(before, after, old, new, head, tail):
        return escape(before), escape(after)
    old_marks, new_marks = _marked(old_middle, new_middle)
    start, end = escape("".join(old[:head])), escape("".join(old[len(old) - tail :]))
    return start + old_marks + end, start + new_marks + end


def _is_alike(before: str, after: str, old: list[str], new: list[str], head: int, tail: int) -> bool:
    shared = sum(len(word) for word in (*old[:head], *old[len(old) - tail :]) if not word.isspace())
    if shared >= LEAST_ALIKE * max(len(before.strip()), len(after.strip())):
        return True
    words_before, words_after = set(old), set(new)
    common = sum(len(word) for word in words_before & words_after if word.strip())
    every = sum(len(word) for word in words_before | words_after if word.strip())
    return bool(every) and common >= LEAST_ALIKE * every


def _marked(old: list[str], new: list[str]) -> tuple[Markup, Markup]:
    if len(old) * len(new) > MOST_COMPARED:
        return _mark(old), _mark(new)
    before, after = Markup(""), Markup("")
    for kind, old_start, old_end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            same = escape("".join(old[old_start:old_end]))
            before, after = before + same, after + same
        else:
            before, after = before + _mark(old[old_start:old_end]), after + _mark(new[new_start:new_end])
    return before, after


def _mark(words: list[str]) -> Markup:
    return Markup("<mark>{}</mark>").format("".join(words)) if words else Markup("")


def _equal_at_start(one: list[str], other: list[str]) -> int:
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count
