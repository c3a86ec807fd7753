"""Keep what the model does not hold of an export's requests, so that they can be written again as they were."""

from __future__ import annotations

from typing import Any

from copilog.chat_json.differences import difference
from copilog.chat_json.sessions import WRITTEN, export_root, what_was_written
from copilog.fields import Json
from copilog.model import Conversation, Message, Turn


def copied(value: Any) -> Any:
    """Return a copy of a JSON value; None if it is nested too deeply."""
    try:
        return _copied(value)
    except RecursionError:
        return None


def _copied(value: Any) -> Any:
    if type(value) is dict:
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if type(value) is list else value


def keep_written(turn: Turn, messages: list[Message], request: Json) -> None:
    """Keep what a request has more than the one that is made of its turn."""
    found = what_was_written(turn, messages, request)
    if found is not None:
        turn.extra = {**(turn.extra or {}), WRITTEN: found}


def keep_root(conversation: Conversation, root: Json) -> None:
    """Keep what the root of an export has more than the one that is made of its conversation."""
    found = difference(export_root(conversation), root)
    if found is not None:
        conversation.extra = {**(conversation.extra or {}), WRITTEN: found}
