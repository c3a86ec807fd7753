"""Export conversations as sessions of VS Code, with their entries of its index; where they go is in docs/vscode.md.

chatSessions/<session id>.jsonl          one line with the whole session; .json for releases before 1.109
chat.ChatSessionStore.index.json         the value of that key of state.vscdb, for these sessions
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from copilog.chat_json.sessions import (
    count_what_is_left_out,
    index_entry,
    json_text_of,
    requests_json,
    session_id_of,
    session_root,
)
from copilog.exports.formats import Format, Making, no_single_file
from copilog.exports.vscode_releases import FIRST_WITH_LOGS, is_before
from copilog.fields import Json
from copilog.model import Conversation

SESSIONS = "chatSessions"
INDEX_KEY = "chat.ChatSessionStore.index"
INDEX_FILE = f"{INDEX_KEY}.json"
INDEX_VERSION = 1


def session_text(
    conversation: Conversation, session_id: str, left_out: Counter[str], *, is_log: bool
) -> tuple[str, Json]:
    """Return the content of a session's file, and its entry of the index."""
    root = session_root(conversation, session_id, left_out)
    requests = list(requests_json(conversation, left_out))
    root["requests"] = requests
    count_what_is_left_out(conversation, left_out, is_session=True)
    text = json_text_of({"kind": 0, "v": root} if is_log else root)
    return f"{text}\n", index_entry(conversation, session_id, requests[-1] if requests else None)


def _write_folder(conversations: Iterable[Conversation], folder: Path, making: Making) -> list[Path]:
    is_log = not is_before(making.options.release, FIRST_WITH_LOGS)
    sessions = folder / SESSIONS
    sessions.mkdir(mode=0o700)
    entries: dict[str, Json] = {}
    paths: list[Path] = []
    for conversation in conversations:
        left_out: Counter[str] = Counter()
        session_id = session_id_of(conversation, is_new=bool(making.options.new_id))
        text, entry = session_text(conversation, session_id, left_out, is_log=is_log)
        if entry["isEmpty"]:
            making.left_out.add(conversation.id, "conversations without a prompt")
            continue
        paths.append(_write(sessions / f"{session_id}{'.jsonl' if is_log else '.json'}", text))
        entries[session_id] = entry
        for what, count in left_out.items():
            making.left_out.add(conversation.id, what, count)
    if not entries:
        return []
    index = {"version": INDEX_VERSION, "entries": entries}
    return [*paths, _write(folder / INDEX_FILE, json.dumps(index, indent=2, ensure_ascii=False) + "\n")]


def _write(path: Path, text: str) -> Path:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text.encode("utf-8", "replace"))
    return path


FORMAT = Format(
    "vscode",
    "VS Code sessions",
    "",
    "application/json",
    no_single_file,
    shape="dataset",
    is_linear=True,
    options=frozenset({"release", "new_id"}),
    write_folder=_write_folder,
)
