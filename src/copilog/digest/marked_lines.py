"""Keep what a person wrote on a page, between two marked lines at its end.

The first of them has a fingerprint of everything above it. So a page tells whether it is as copilog left it, whatever
happened to the folder, and a line in a transcript that looks the same is not mistaken for it.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import NamedTuple

_KEPT = "what you write between this line and the last one is kept -->\n"
_BEGIN = re.compile(rf"^<!-- copilog ([0-9a-f]{{16}}): {_KEPT}", re.MULTILINE)
_END = "<!-- copilog: the last line -->\n"
NOTHING = "\n"


class Page(NamedTuple):
    """A page in two parts: what copilog wrote, and what a person wrote."""

    body: str
    own: str


def page_text(body: str, own: str = NOTHING) -> str:
    """Return the complete text of a page."""
    return f"{body}<!-- copilog {_fingerprint(body)}: {_KEPT}{own}{_END}"


def page_in(text: str) -> Page | None:
    """Return the parts of a page; None if it was changed outside of the marked lines, or is not one of ours."""
    text = text.replace("\r\n", "\n")
    if not text.endswith("\n"):
        text += "\n"
    for match in _BEGIN.finditer(text):
        body = text[: match.start()]
        if match[1] == _fingerprint(body) and text.endswith(_END) and match.end() <= len(text) - len(_END):
            return Page(body, text[match.end() : len(text) - len(_END)])
    return None


def _fingerprint(body: str) -> str:
    return blake2b(body.encode("utf-8", "replace"), digest_size=8).hexdigest()
