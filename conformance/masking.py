"""Traces without what is not ours: long texts of the vendors become x at their length, scratch paths are renamed."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from conformance.facts import Truth
from conformance.scenario import Scenario

LONG = 150  # characters; shorter texts of the programs are names and notices
WORDS = 12  # beside a text of ours, a piece with more is prose of the vendor
SHORTEST_OWN = 10
DIFF = "diff --git "  # of our files, as the scenario has the program change them
OWN_KINDS = (
    "prompt", "answer", "thinking", "error", "call.arguments", "call.result", "call.reason", "subagent.*", "compaction",
)  # fmt: skip
NOT_OWN = ("agent_type",)  # arguments whose values are the program's
TAG = re.compile(r"(</?[A-Za-z_]+>)")
LETTER = re.compile(r"[\w@]")
READABLE = re.compile(r"(?<!\S)(?!x+(?!\w))[^\W\d_]{2,}")  # a word that is not masked
LINE_END = re.compile(r"\n|\{\w+\}")  # or a placeholder
LEFT_OUT = ("logs", ".session-operation-locks", "ide", "sidebar-sessions-state")
LEFT_OUT_ENDS = (".lock", ".hold", "-wal", "-shm", "-journal", ".log", "config.json", "settings.json")


class Mask:
    """Mask values: `renamed` maps scratch paths to others, `own` are the texts of the scenario."""

    def __init__(self, renamed: dict[str, str], own: Iterable[str]) -> None:
        self.renamed = renamed
        texts = sorted({text for text in own if len(text) >= SHORTEST_OWN}, key=lambda text: (-len(text), text))
        self._own = re.compile(f"({'|'.join(map(re.escape, texts))})") if texts else None

    def value(self, value: Any) -> Any:
        """Return a JSON value with all its texts masked."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(one) for one in value]
        if isinstance(value, dict):
            if value.get("type") == "system.message":
                return {
                    key: _without_own(self).value(one) if key == "data" else self.value(one)
                    for key, one in value.items()
                }
            return {self.rename(key): self.value(one) for key, one in value.items()}
        return value

    def text(self, text: str) -> str:
        """Return a text with renamed paths; of a long one only tags and what is ours are kept, the rest becomes x."""
        if len(text) > LONG and not text.lstrip().startswith(DIFF):
            inner = within(text)
            text = _compact(self.value(inner)) if inner is not None else self._prose(text)
        return self.rename(text)

    def _prose(self, text: str) -> str:
        """Return a long text with the vendor's prose as x; short pieces are kept beside a text of ours."""
        shortest = WORDS if self._own is not None and self._own.search(text) else 0
        return "".join(
            piece if is_kept or len(READABLE.findall(piece)) <= shortest else LETTER.sub("x", piece)
            for piece, is_kept in self.pieces(text)
        )

    def pieces(self, text: str) -> Iterator[tuple[str, bool]]:
        """Yield the pieces of a text, and whether each is a tag or a text of ours."""
        for number, piece in enumerate(TAG.split(text)):
            if number % 2 or self._own is None:
                yield piece, bool(number % 2)
                continue
            for position, part in enumerate(self._own.split(piece)):
                yield part, bool(position % 2)

    def rename(self, text: str) -> str:
        """Return a text with renamed paths."""
        for old, new in self.renamed.items():
            # Snapshots for a rewind have the bytes of a path as hexadecimal digits, too.
            text = text.replace(old, new).replace(old.encode().hex(), new.encode().hex())
        return text

    def copy(self, source: Path, target: Path) -> None:
        """Copy a folder, masked, without logs and locks."""
        for path in sorted(source.rglob("*")):
            name = path.relative_to(source)
            if not path.is_file() or name.parts[0] == "work" or name.name.endswith(LEFT_OUT_ENDS):
                continue
            if any(part in LEFT_OUT for part in name.parts):
                continue
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".jsonl":
                place.write_bytes(b"".join(self._line(line) for line in path.read_bytes().split(b"\n") if line))
            elif path.suffix == ".db":
                self._database(path, place)
            elif path.suffix == ".json":
                place.write_text(_compact(self.value(json.loads(path.read_bytes()))), encoding="utf-8")
            else:
                place.write_bytes(
                    self.rename(path.read_bytes().decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
                )

    def _line(self, line: bytes) -> bytes:
        return _compact(self.value(json.loads(line))).encode() + b"\n"

    def _database(self, source: Path, target: Path) -> None:
        """Copy a database with what its journal holds."""
        with sqlite3.connect(source) as old, sqlite3.connect(target) as new:
            old.backup(new)
        old.close()
        new.close()
        connection = sqlite3.connect(target)
        connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        virtual = {name for name in tables if f"{name}_data" in tables}
        for table in tables:
            if any(table.startswith(f"{name}_") for name in virtual) or table.startswith("sqlite_"):
                continue
            self._table(connection, table)
        connection.commit()
        connection.execute("PRAGMA page_size = 512")  # most tables are empty, and each takes a page
        connection.execute("VACUUM")
        connection.close()

    def _table(self, connection: sqlite3.Connection, table: str) -> None:
        columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
        for column in columns:
            rows = connection.execute(f'SELECT DISTINCT "{column}" FROM "{table}" WHERE typeof("{column}") = \'text\'')
            for (value,) in rows.fetchall():
                masked = self.text(value)
                if masked != value:
                    connection.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE "{column}" = ?', (masked, value))


def _without_own(mask: Mask) -> Mask:
    """Return the mask for the program's own instructions, which are not ours whatever they quote."""
    return Mask(mask.renamed, [])


def own_texts(truth: Truth, scenario: Scenario) -> list[str]:
    """Return the texts of a scenario: what its facts expect, and the lines of its data."""
    facts = [fact for fact in truth.facts if any(fnmatchcase(fact.kind, kind) for kind in OWN_KINDS)]
    expected = [text for fact in facts for text in _texts(fact.expected)]
    written = [line.strip() for text in _texts(msgspec.to_builtins(scenario)) for line in LINE_END.split(text)]
    return [text for text in (*expected, *written) if not text.startswith("/")]


def within(text: str) -> Any:
    """Return the list or object that a text is as JSON; None if it is none."""
    if text[:1] not in ("[", "{"):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def prose_left(mask: Mask, value: Any, words: int) -> Iterator[str]:
    """Yield each piece of the texts of a masked value that is not ours and has more words than a notice."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from prose_left(mask, [key, one], words)
    elif isinstance(value, list):
        for one in value:
            yield from prose_left(mask, one, words)
    elif isinstance(value, str) and (inner := within(value)) is not None:
        yield from prose_left(mask, inner, words)
    elif isinstance(value, str):
        for piece, is_kept in mask.pieces(value):
            if not is_kept and len(READABLE.findall(piece)) > words:
                yield piece


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _texts(one) if key not in NOT_OWN else ()


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def clear(folder: Path) -> None:
    """Remove a folder if it is there."""
    shutil.rmtree(folder, ignore_errors=True)
