"""Recognise the notice of Copilot CLI that a session is a fork of another one, and where the copied part ends."""

from __future__ import annotations

import re

FORK_NOTICE = "fork"  # the `infoType` of the notice
_FORKED_FROM = re.compile(r"Forked from .*\((\S+)\) as .*\((\S+)\)\.?", re.DOTALL)
_FORKED_INTO = re.compile(r"Forked this session into .*\((\S+)\)\.?", re.DOTALL)


def parent_in(text: str, session: str | None) -> str | None:
    """Return the session that this one was forked from; None if the notice is about other sessions.

    A fork also has the notices that it copied, such as that its parent was itself forked.
    """
    found = _FORKED_FROM.fullmatch(text)
    return found[1] if found is not None and found[2] == session else None


def child_in(text: str) -> str | None:
    """Return the session that was forked from this one; None if the notice is another one."""
    found = _FORKED_INTO.fullmatch(text)
    return found[1] if found is not None else None
