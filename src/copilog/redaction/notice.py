"""What is said about a redaction: what was replaced, and what no program can know."""

from __future__ import annotations

from collections import Counter

NOTICE = (
    "Known shapes of secrets, e-mail addresses, user names in home paths and names of hosts are replaced. That "
    "nothing private is left is not known: no program recognises what prose tells of people, facts of a business, or "
    "what pictures show. Read it before you share it."
)


def replaced_line(counts: Counter[str]) -> str:
    """Return in one line how much was replaced, by kind."""
    if not counts:
        return "redaction: no known shape was found, and nothing was replaced"
    number = counts.total()
    kinds = ", ".join(
        f"{count:,} {kind}" for kind, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )
    return f"redaction: {number:,} {'place' if number == 1 else 'places'} replaced: {kinds}"
