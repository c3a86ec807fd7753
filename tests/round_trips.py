"""Write a conversation as VS Code's JSON, read it again, and name the fields that are not the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from copilog.chat_json.sessions import session_id_of
from copilog.exports.chat import chat_pieces
from copilog.exports.vscode_session import session_text
from copilog.ingest import read
from copilog.model import Conversation

# Where a part or request was in its file, and which files there were.
NOT_COMPARED = frozenset({"position", "pointer", "traces"})


def chat_of(conversation: Conversation) -> str:
    return "".join(chat_pieces(conversation, Counter()))


def read_chat(text: str, folder: Path) -> Conversation:
    path = folder / "chat.json"
    path.write_bytes(text.encode("utf-8", "replace"))
    (made,) = read(path)
    return made


def session_and_back(conversation: Conversation, folder: Path, *, is_log: bool = True) -> Conversation:
    name = session_id_of(conversation, is_new=False)
    text, _ = session_text(conversation, name, Counter(), is_log=is_log)
    path = folder / "chatSessions" / f"{name}.{'jsonl' if is_log else 'json'}"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode("utf-8", "replace"))
    (made,) = read(path)
    path.unlink()
    return made


def stored(conversation: Conversation) -> Conversation:
    """The conversation as an archive gives it back."""
    return msgspec.json.decode(msgspec.json.encode(conversation), type=Conversation)


def differing_fields(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """The fields that are not the same; a part is named by its kind."""
    if isinstance(before, dict) and isinstance(after, dict):
        kind = before.get("kind") if path.endswith(("parts", "attachments")) else None
        here = str(kind) if kind else path
        for key in (before.keys() | after.keys()) - NOT_COMPARED:
            yield from differing_fields(before.get(key), after.get(key), f"{here}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            yield from differing_fields(one, other, path)
    elif before != after and (before or after):
        yield path
