"""Tokens of providers, found by the long words of a text: almost all of a text is passed over at the speed of one
regular expression, and only words of at least 16 characters are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from copilog.redaction.checksums import entropy
from copilog.redaction.findings import Finding
from copilog.redaction.providers import AROUND, BEHIND, RULES, WEBHOOKS, Rule

_WORD = re.compile(r"\b[A-Za-z0-9_-]{16,}", re.ASCII)

_LEFT, _RIGHT = 100, 400  # how far around a word a format that is no single word is searched
_LONGEST_PREFIX = 30
_JOINTS = frozenset("./$:~-")  # what stands between the parts of such a format
_ESCAPED = re.compile(r"[nrtbf]|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}")  # after a backslash
_COLOR = re.compile(r"[0-9;]{0,12}m")  # after ESC [

_AROUND = {kind: [rule for rule in AROUND if rule.kind == kind] for kind in {rule.kind for rule in AROUND}}
_AZURE = re.compile("AzSe|AzFu|APIM|ACDb|ASt|ABa|AMC|AIo|AEh|ACR|JQQJ99")
_SHORTEST_AZURE = 20  # characters of such a word, which may be cut by + or /


_ONE_WORD = r"(?:[A-Za-z]?[a-z]*(?:[A-Z][a-z]+)*|[A-Z]*)[0-9]*"
_DISCORD_BEHIND_NAME = re.compile(r"-[MNO][0-9A-Za-z]{23,27}\Z")  # the first part of a token, in a file name
_WORDS = re.compile(rf"{_ONE_WORD}(?:[-_]+{_ONE_WORD})*")
_MIXED = re.compile("[0-9][A-Za-z]")


def _trie(words: list[str]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for word in words:
        node = root
        for char in word:
            node = node.setdefault(char, {})
        node[""] = {}
    return root


def _pattern_of(node: dict[str, Any]) -> str:
    """Return a regular expression for the shortest words of a trie."""
    if "" in node:
        return ""
    branches = [re.escape(char) + _pattern_of(after) for char, after in node.items()]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


_BY_PREFIX = [(prefix, rule) for rule in RULES for prefix in rule.prefixes]
_STARTS = re.compile(rf"(?:\A|(?<=[-_]))(?={_pattern_of(_trie([prefix for prefix, _ in _BY_PREFIX]))})")
_BEHIND = [(prefix, rule) for rule in BEHIND for prefix in rule.prefixes]
_BEHIND_ENDS = tuple(prefix for prefix, _ in _BEHIND)
# Tokens whose bodies have characters that no word has.
_OPEN_STARTS = re.compile(
    "|".join(re.escape(prefix) for prefix, rule in _BY_PREFIX if set("+/=.") & set(rule.pattern.pattern.split("]")[0]))
)
# Behind a text, or where it was cut: nothing, dots, or what the scan puts between two texts; titles may have a number.
_CUT = re.compile(r"[ \t]?(?:…|\.\.\.)|(?:[ \t]#[0-9]{1,4})?\s*(?:\Z|\x00\x00\n)")
# Prefixes that nothing else has; their first characters make the beginning of a token one.
_CLEAR = frozenset(
    prefix for prefix, _ in _BY_PREFIX if prefix in ("eyJ", "AIza") or (len(prefix) >= 4 and prefix[-1] in "_-")
) - {"live_", "test_", "key-", "sdk-", "mob-", "api-", "API-", "pul-", "ico-", "csk-", "fio-", "secret_", "api_org_"}
_SHORTEST_BEGINNING = 8  # characters of a token behind its prefix
_IN_BASE64 = frozenset("+/=.")
_BY_TWO: dict[str, list[tuple[str, Rule]]] = {}
for _prefix, _rule_ in _BY_PREFIX:
    _BY_TWO.setdefault(_prefix[:2], []).append((_prefix, _rule_))


def long_words(text: str) -> list[tuple[int, int]]:
    """Return where the long words of a text are."""
    return [match.span() for match in _WORD.finditer(text)]


def tokens(text: str, words: Sequence[tuple[int, int]]) -> Iterator[Finding]:
    """Yield the tokens of providers; `words` are the long words of the text."""
    for start, end in words:
        word = text[start:end]
        for found in _STARTS.finditer(word):
            yield from _by_prefix(text, start + found.start())
        before = text[start - 1] if start else ""
        lead = _lead(text, start, before)
        if lead:
            if _STARTS.match(word[lead:]):
                yield from _by_prefix(text, start + lead)
        elif before in _JOINTS and start:
            yield from _behind(text, start)
        if before in _IN_BASE64 and start:
            yield from _by_open_prefix(text, start)
        yield from _around(text, start + lead, end, word[lead:], before)
        if _CUT.match(text, end):
            yield from _beginning(text, start + lead, end)
    yield from _with_mark(text, "azure-client-secret", "Q~", 4)
    yield from _with_mark(text, "terraform-token", ".atlasv1.", 14)
    yield from _with_mark(text, "doppler-token", "dp.st.", 0)
    yield from _with_mark(text, "webhook-secret", "whsec_", 0)
    yield from _webhooks(text)


def lead_of_escape(text: str, start: int) -> int:
    """Return how many characters at the start of a word belong to an escape before it, as in `\\nword` or `%3Dword`."""
    return _lead(text, start, text[start - 1]) if start else 0


def _lead(text: str, start: int, before: str) -> int:
    if before == "\\":
        found = _ESCAPED.match(text, start)
        return len(found[0]) if found else 0
    if before == "%":
        return 2
    if before in ("[", ";"):
        found = _COLOR.match(text, start)
        return len(found[0]) if found else 0
    return 0


def _by_prefix(text: str, start: int) -> Iterator[Finding]:
    for prefix, rule in _BY_TWO.get(text[start : start + 2], ()):
        if text.startswith(prefix, start):
            yield from _matched(rule, rule.pattern.match(text, start))


def _beginning(text: str, start: int, end: int) -> Iterator[Finding]:
    """Yield the beginning of a token at the end of a text that may have been cut there, such as a title."""
    for found in _STARTS.finditer(text[start:end]):
        begin = start + found.start()
        for prefix, rule in _BY_TWO.get(text[begin : begin + 2], ()):
            body = text[begin + len(prefix) : end]
            if not (prefix in _CLEAR and text.startswith(prefix, begin) and _is_random(body)):
                continue
            if rule.pattern.match(text, begin) is None:
                yield Finding(begin, end, rule.kind, text[begin:end], "beginning of a token that is cut", "possible")
                return


def _is_random(body: str) -> bool:
    """Return whether characters behind a prefix are those of a token, and no words."""
    if len(body) < _SHORTEST_BEGINNING or _WORDS.fullmatch(body) or entropy(body) < 2.5:
        return False
    parts = re.split("[-_]", body)
    return max(map(len, parts)) >= _SHORTEST_BEGINNING or any(map(_MIXED.search, parts))


def _by_open_prefix(text: str, start: int) -> Iterator[Finding]:
    """Yield tokens that a word continues: their first part may be too short to be noticed."""
    begin = max(0, start - _LEFT)
    for found in _OPEN_STARTS.finditer(text, begin, start):
        if not found.start() or not _continues(text, found.start()):
            yield from _by_prefix(text, found.start())


def _behind(text: str, start: int) -> Iterator[Finding]:
    left = text[max(0, start - _LONGEST_PREFIX) : start].rstrip("-")
    if not left.endswith(_BEHIND_ENDS):
        return
    end = max(0, start - _LONGEST_PREFIX) + len(left)
    for prefix, rule in _BEHIND:
        begin = end - len(prefix)
        if left.endswith(prefix) and (not begin or not _continues(text, begin)):
            yield from _matched(rule, rule.pattern.match(text, begin))


def _continues(text: str, begin: int) -> bool:
    """Return whether the character before a place belongs to the same word."""
    before = text[begin - 1]
    if not (before.isascii() and (before.isalnum() or before in "._")):
        return False
    return not _is_escape_before(text, begin)


def _is_escape_before(text: str, begin: int) -> bool:
    return re.search(r"(?:\\[nrtbf]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})\Z", text[max(0, begin - 6) : begin]) is not None


def _around(text: str, start: int, end: int, word: str, before: str) -> Iterator[Finding]:
    """Yield tokens that are several words, or that are known by their middle or end."""
    kinds: list[str] = []
    after = text[end] if end < len(text) else ""
    if before == ":" and word[0] == "A":
        kinds.append("telegram-token")
    elif before == "|":
        kinds.append("facebook-token")
    elif after == "." and (word[0] in "MNO" or _DISCORD_BEHIND_NAME.search(word)):
        kinds.append("discord-token")
    if "-us" in word[-5:]:
        kinds.append("mailchimp-key")
    if word.endswith("_mmk"):
        kinds.append("maxmind-key")
    if "AZDO" in word:
        kinds.append("azure-devops-token")
    if len(word) >= _SHORTEST_AZURE and _AZURE.search(word):
        kinds.append("azure-key")
    for kind in kinds:
        for rule in _AROUND[kind]:
            for found in rule.pattern.finditer(text, max(0, start - _LEFT), min(len(text), end + _RIGHT)):
                if found.start() < end and found.end() > start:
                    yield from _matched(rule, found)


def _with_mark(text: str, kind: str, mark: str, before: int) -> Iterator[Finding]:
    """Yield tokens that have a mark within them, behind so many characters."""
    (rule,) = _AROUND[kind]
    at = text.find(mark)
    while at >= 0:
        yield from _matched(rule, rule.pattern.match(text, at - before) if at >= before else None)
        at = text.find(mark, at + len(mark))


def _webhooks(text: str) -> Iterator[Finding]:
    at = text.find("hook")
    while at >= 0:
        found = WEBHOOKS.search(text, max(0, at - 40), at + 400)
        whole = found and WEBHOOKS.match(text, found.start())  # the window may end within it
        if whole and whole.lastgroup is not None:
            start, end = whole.span(whole.lastgroup)
            yield Finding(start, end, f"{whole.lastgroup}-webhook", text[start:end], "address of a webhook")
            at = end
        at = text.find("hook", at + 4)


def _matched(rule: Rule, match: re.Match[str] | None) -> Iterator[Finding]:
    if match is None:
        return
    token = match[0]
    if entropy(token[_shared(rule, token) :]) < min(rule.entropy, _most_entropy(len(token))):
        return
    if rule.check is None:
        yield Finding(*match.span(), rule.kind, token, "shape")
    elif rule.check(token):
        yield Finding(*match.span(), rule.kind, token, "shape and checksum", "certain")
    elif not rule.is_checked:
        yield Finding(*match.span(), rule.kind, token, "shape, but not its checksum", "possible")


def _shared(rule: Rule, token: str) -> int:
    return next((len(prefix) for prefix in rule.prefixes if token.startswith(prefix)), 0)


def _most_entropy(length: int) -> float:
    """Return an entropy that random texts of so many characters nearly always have."""
    return 2.6 if length < 45 else 5.0
