"""A larger home of the same kind: every session so many times, under other ids, and none larger than before."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec

INDEX = "chat.ChatSessionStore.index"
REWRITTEN = {".json", ".jsonl", ".yaml"}  # other files hold texts, which are the same in each copy
_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{10}([0-9a-f]{2})\b")
_WORKSPACE = re.compile(rb"(?<=workspaceStorage/)[0-9a-f]{30}([0-9a-f]{2})")

Renamed = Callable[[bytes], bytes]


def multiply(home: Path, larger: Path, times: int) -> dict[str, int]:
    """Write a home with so many times the sessions of another, 256 times at most; returns its files and bytes."""
    for number in range(times):
        renamed = _renaming(number)
        for folder, _, names in os.walk(home):
            within = Path(folder).relative_to(home)
            copies = larger / os.fsdecode(renamed(os.fsencode(within.as_posix())))
            copies.mkdir(parents=True, exist_ok=True)
            for name in names:
                _copy(Path(folder, name), copies / os.fsdecode(renamed(name.encode())), renamed)
    files = [path for path in larger.rglob("*") if path.is_file()]
    return {"files": len(files), "bytes": sum(path.stat().st_size for path in files)}


def _renaming(number: int) -> Renamed:
    def other(match: re.Match[bytes]) -> bytes:
        return match[0][:-2] + b"%02x" % (int(match[1], 16) ^ number)

    return lambda data: _WORKSPACE.sub(other, _UUID.sub(other, data))


def _copy(file: Path, copy: Path, renamed: Renamed) -> None:
    if file.suffix in REWRITTEN:
        copy.write_bytes(renamed(file.read_bytes()))
    elif file.suffix == ".vscdb":
        _copy_database(file, copy, renamed)
    else:
        shutil.copyfile(file, copy)


def _copy_database(file: Path, copy: Path, renamed: Renamed) -> None:
    """VS Code's index with other ids; where the copies share a database, it names the sessions of all."""
    before = _entries(copy)
    shutil.copyfile(file, copy)
    entries = _entries(copy)
    if entries is None:
        return
    entries["entries"] = msgspec.json.decode(renamed(msgspec.json.encode(entries["entries"])))
    if before is not None:
        entries["entries"] |= before["entries"]
    with closing(sqlite3.connect(copy)) as connection, connection:
        value = msgspec.json.encode(entries)
        connection.execute("UPDATE ItemTable SET value = ? WHERE key = ?", (value, INDEX))


def _entries(database: Path) -> dict[str, dict[str, object]] | None:
    if not database.exists():
        return None
    with closing(sqlite3.connect(database)) as connection:
        row = connection.execute("SELECT value FROM ItemTable WHERE key = ?", (INDEX,)).fetchone()
    return msgspec.json.decode(row[0]) if row is not None else None
