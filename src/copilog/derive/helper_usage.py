"""Sum the usage of helpers: requests that write titles or summaries, or that other extensions made."""

from __future__ import annotations

from typing import Any

from copilog.model import Conversation, Usage
from copilog.model.questions import COUNTS

HELPERS_ONLY = "helpers-only"  # mark: only helpers' usage, of an unrecorded conversation


def helper_of(usage: Usage) -> str | None:
    """Return the name of the helper that a usage record is of; None for the usage of answers."""
    helper = usage.extra.get("helper") if usage.extra is not None else None
    return helper if isinstance(helper, str) else None


def used_by_helpers(conversation: Conversation) -> Usage | None:
    """Return the total usage of all helpers, with their names as its source; None if there were none.

    Several sources may have recorded the same requests: the one with most output counts.
    """
    by_source: dict[str, list[Usage]] = {}
    for usage in conversation.usage:
        if helper_of(usage) is not None:
            by_source.setdefault(usage.source, []).append(usage)
    if not by_source:
        return None
    usages = max(by_source.values(), key=lambda group: sum(usage.output or 0 for usage in group))
    names = dict.fromkeys(helper_of(usage) or "" for usage in usages)
    sums: dict[str, Any] = {}
    for name in COUNTS:
        counts = [count for usage in usages if (count := getattr(usage, name)) is not None]
        sums[name] = sum(counts) if counts else None
    return Usage(**sums, scope="call", source=", ".join(names))
