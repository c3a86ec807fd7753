"""Private keys: PEM, OpenSSH, PGP, PuTTY; also with escaped line ends, and cut at their end."""

from __future__ import annotations

import re
from collections.abc import Iterator

from copilog.redaction.findings import Finding

_EOL = r"(?:(?:\\+r)?\\+n|\r?\n|%0[Aa]|\\+u000[aA]|<br/?>)"
_BEGIN = re.compile(
    r"-----BEGIN[ +](?:[A-Z0-9]{2,12}[ +]){0,3}PRIVATE[ +]KEY(?:[ +]BLOCK)?-----"
    r"|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----"
)
_END = re.compile(
    r"-----END[ +](?:[A-Z0-9]{2,12}[ +]){0,3}PRIVATE[ +]KEY(?:[ +]BLOCK)?-----|---- END SSH2[A-Z0-9 ]{1,40} ----"
)
_MOST = 20_000  # characters of a key
_SMALLEST = 40  # characters of a key; less is a mention of one
# What a key without its end consists of: headers, then lines of Base64, perhaps with signs of a diff before them.
_BODY = re.compile(
    rf"(?:{_EOL}|[ \t]|[-+>|](?=[ \t]?[A-Za-z0-9+/=])|[A-Za-z0-9+/=_%-]{{16,}}"
    rf"|[A-Za-z0-9+/=]{{1,76}}(?={_EOL}|[\s\"'`\\]|\Z)"
    rf"|(?:Proc-Type|DEK-Info|Version|Comment|Hash):[^\r\n\\]{{0,120}})+"
)
_PUTTY = re.compile(
    rf"PuTTY-User-Key-File-\d: ?(?:[^\x00]{{0,8000}}?)Private-Lines: ?\d+{_EOL}"
    rf"(?:[^\x00]{{0,8000}}?Private-(?:MAC|Hash): ?[0-9a-f]{{20,64}}"
    r"|[A-Za-z0-9+/=\s\\]{0,8000})"
)


def private_keys(text: str) -> Iterator[Finding]:
    """Yield private keys, from their first line to their last."""
    at = text.find("---- BEGIN") if "---- BEGIN" in text else text.find("-----BEGIN")
    for match in _BEGIN.finditer(text, max(0, at)) if "PRIVATE" in text and "BEGIN" in text else ():
        yield from _key(text, match)
    if "PuTTY-User-Key-File-" in text:
        for match in _PUTTY.finditer(text):
            yield Finding(*match.span(), "private-key", match[0], "PuTTY key file", "certain")


def _key(text: str, begin: re.Match[str]) -> Iterator[Finding]:
    end = _END.search(text, begin.end(), begin.end() + _MOST)
    following = _BEGIN.search(text, begin.end(), begin.end() + _MOST)
    if (
        end is not None
        and (following is None or following.start() > end.start())
        and "\x00" not in text[begin.end() : end.start()]
    ):
        if end.start() - begin.end() >= _SMALLEST:
            yield Finding(
                begin.start(), end.end(), "private-key", text[begin.start() : end.end()], "complete key", "certain"
            )
        return
    body = _BODY.match(text, begin.end())
    if body is not None and len(body[0]) >= _SMALLEST:
        yield Finding(begin.start(), body.end(), "private-key", text[begin.start() : body.end()], "key without its end")
