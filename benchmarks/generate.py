"""A made-up home folder with VS Code's chat data, the same bytes for the same seed.

Shapes, proportions and sizes follow what was measured on real files; results.md says how near they come. Most sessions
are small or empty, a few are of megabytes; flat sessions and exports are pretty-printed, logs are not; half of a
session is what tools gave back and what was edited. See docs/formats/vscode-chat.md for what the fields mean.
"""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.editing import LONG, SHAPES, editing_session
from benchmarks.logs import log_lines
from benchmarks.sessions import Session, SessionMaker, Size
from benchmarks.words import Json, Words

SESSIONS_PER_WORKSPACE = 12
INDEXED_SESSIONS = 50  # an index forgets the oldest
TWIN_EVERY = 12  # so many logs, and one of them has its older flat file still beside it
STORE_PADDING_ROWS = 150  # of other things that VS Code remembers
EXPORT_FOLDER = "Documents"
USER_FOLDER = ".config/Code/User"

BLOCK = 40  # sessions, one half of them flat and the other logs; which half changes from block to block
FLAT_SIZES: tuple[Size, ...] = (
    *("small", "medium", "small", "small", "small", "small", "small", "small", "small", "small"),
    *("small", "large", "small", "small", "small", "medium", "small", "empty", "small", "small"),
)
# Eight in twenty are windows in which nothing was typed.
LOG_SIZES: tuple[Size, ...] = (
    *("medium", "empty", "small", "empty", "small", "small", "empty", "small", "empty", "small"),
    *("small", "empty", "small", "empty", "medium", "empty", "small", "small", "empty", "small"),
)
EXPORTED = 9  # the position in its block of the session that was saved by hand and is nowhere else
EDITED = 0.35  # part of the sessions with one or two requests that have changed files
LONG_EDITED = 0.95  # part of those with more


class Written(NamedTuple):
    """What a home came to. Exports count as sessions, copies of sessions do not."""

    bytes: int
    sessions: int
    files: int


@dataclass(slots=True)
class Storage:
    """One workspace's storage folder, or that of windows without a folder."""

    path: Path
    sessions: str  # the name of the folder for sessions
    folder: str | None
    entries: dict[str, Json] = field(default_factory=dict)


def write_home(folder: Path, sessions: int, seed: int) -> Written:
    """Write a home folder with so many sessions."""
    home = _Home(folder, random.Random(seed))
    for index in range(sessions):
        home.add_session(index)
    home.write_storages(sessions)
    return Written(home.bytes, sessions, home.files)


class _Home:
    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder = folder
        self.words = Words(rng)
        self.maker = SessionMaker(self.words)
        self.storages: list[Storage] = [self._empty_windows()]
        self.bytes = self.files = 0
        self.logs = self.edited = 0

    def add_session(self, index: int) -> None:
        if index % SESSIONS_PER_WORKSPACE == 0:
            self.storages.append(self._workspace())
        storage = self.words.rng.choice(self.storages)
        is_new = (index + index // BLOCK) % 2 == 1
        sizes = LOG_SIZES if is_new else FLAT_SIZES
        session = self.maker.session(storage.folder or "/home/ana", sizes[index % BLOCK // 2], is_new)
        if index % BLOCK == EXPORTED:
            self._write_export(session, index)
            return
        self._write_session(session, storage)
        if session.requests and self.words.chance(EDITED if len(session.requests) < LONG else LONG_EDITED):
            self._write_editing(session, storage)
        storage.entries[session.native_id] = _index_entry(session, self.words)

    def write_storages(self, sessions: int) -> None:
        """Write what belongs to a storage folder as a whole."""
        for storage in self.storages:
            if storage.folder is not None:
                self._write(storage.path / "workspace.json", _pretty({"folder": f"file://{storage.folder}"}))
            if sessions:
                self._write_store(storage)

    def _workspace(self) -> Storage:
        path = self.folder / USER_FOLDER / "workspaceStorage" / f"{self.words.rng.getrandbits(128):032x}"
        return Storage(path, "chatSessions", f"/home/ana/projects/{self.words.word()}-{self.words.word()}")

    def _empty_windows(self) -> Storage:
        return Storage(self.folder / USER_FOLDER / "globalStorage", "emptyWindowChatSessions", None)

    def _write_session(self, session: Session, storage: Storage) -> None:
        path = storage.path / storage.sessions / session.native_id
        if not session.is_new:
            self._write(path.with_suffix(".json"), _pretty(session.state))
            return
        lines = log_lines(session, self.words)
        self._write(path.with_suffix(".jsonl"), b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        if session.requests:
            self.logs += 1
            if self.logs % TWIN_EVERY == 1:
                older = {**session.state, "requests": session.requests[:-1]}
                self._write(path.with_suffix(".json"), _pretty(older))

    def _write_editing(self, session: Session, storage: Storage) -> None:
        made = editing_session(session, self.words, SHAPES[self.edited % len(SHAPES)])
        self.edited += 1
        folder = storage.path / "chatEditingSessions" / session.native_id
        self._write(folder / "state.json", msgspec.json.encode(made.state))
        for name, text in made.contents.items():
            self._write(folder / "contents" / name, text.encode())

    def _write_export(self, session: Session, index: int) -> None:
        kept = ("responderUsername", "initialLocation", "requests")
        export = {key: session.state[key] for key in kept}
        self._write(self.folder / EXPORT_FOLDER / f"chat-{index}.json", _pretty(export))

    def _write_store(self, storage: Storage) -> None:
        """The state.vscdb of a storage folder: the index among much else."""
        entries = dict(list(storage.entries.items())[-INDEXED_SESSIONS:])
        rows = [(f"memento/{self.words.word()}.{number}", self.words.code(10)) for number in range(STORE_PADDING_ROWS)]
        rows.append(("chat.ChatSessionStore.index", msgspec.json.encode({"version": 1, "entries": entries}).decode()))
        path = storage.path / "state.vscdb"
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, isolation_level=None)) as store:
            store.execute("PRAGMA synchronous = OFF")
            store.execute("PRAGMA user_version = 1")
            store.execute("BEGIN")
            store.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
            store.executemany("INSERT INTO ItemTable VALUES (?, ?)", rows)
            store.execute("COMMIT")
        self._count(path.stat().st_size)

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self._count(len(data))

    def _count(self, size: int) -> None:
        self.bytes += size
        self.files += 1


def _index_entry(session: Session, words: Words) -> Json:
    created = session.state["creationDate"]
    entry: Json = {
        "sessionId": session.native_id,
        "title": session.state.get("customTitle") or words.sentence(),
        "lastMessageDate": created + 300_000 * len(session.requests),
        "initialLocation": "panel",
        "isEmpty": not session.requests,
    }
    if session.is_new:
        entry["timing"] = {"created": created, "lastRequestStarted": created, "lastRequestEnded": created + 60_000}
        entry |= {"hasPendingEdits": False, "isExternal": False, "lastResponseState": 1}
    else:
        entry["isImported"] = False
    return entry


def _pretty(value: Json) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2)
