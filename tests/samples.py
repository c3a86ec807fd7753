"""The made-up files under tests/data: which there are, and how to lay them out and read them."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from copilog.diagnostics import Diagnostic, Ledger
from copilog.errors import BadFile
from copilog.model import Conversation
from copilog.sources import BY_NAME, SOURCES, Found, Probe, Source

DATA = Path(__file__).parent / "data"
DAMAGED = "damaged"
GOLDEN = ".expected.json"
# What a database is called that is kept as text here.
DATABASES = {
    "session_store": "session-store.db",
    "agent_traces": "agent-traces.db",
    "session_todos": "session.db",
}
SHARED = {"vscode-prompts": "vscode-state"}  # a source whose records are in files of another, which claims them
NAMED_BY_FOLDER = ("state.json", "state.vscdb", "workspace.json", "content.txt")


@dataclass(frozen=True, slots=True)
class Sample:
    """One file of tests/data/<shelf>: the folder of a source, or the shelf of damaged files."""

    shelf: str
    path: Path

    def __str__(self) -> str:
        return f"{self.shelf}/{self.case}"

    @property
    def case(self) -> str:
        """What is special about it."""
        if "session-state" in self.path.parts:
            inside = self.path.parts[self.path.parts.index("session-state") + 1 :]
            return "-".join(inside).replace(".", "-")
        if self.path.name in NAMED_BY_FOLDER:
            return self.path.parent.name
        if self.path.parent.name == "contents":
            return f"{self.path.parent.parent.name}-{self.path.name}"
        return self.path.name.replace(".", "-") if self.shelf == DAMAGED else self.path.stem

    @property
    def golden(self) -> Path:
        return DATA / self.shelf / f"{self.case}{GOLDEN}"

    def laid_out(self, folder: Path) -> Path:
        """The file in a folder of its own, with its neighbours; a database is made from its text."""
        if self.path.suffix == ".sql":
            name = DATABASES.get(self.shelf, "state.vscdb")
            return database_from(self.path, folder / self.case / name)
        shelf = folder / self.shelf
        if not shelf.exists():
            shutil.copytree(DATA / self.shelf, shelf, ignore=shutil.ignore_patterns(f"*{GOLDEN}"))
        return shelf / self.path.relative_to(DATA / self.shelf)


def database_from(script: Path, path: Path) -> Path:
    if not path.exists():
        path.parent.mkdir(parents=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script.read_text(encoding="utf-8"))
    return path


def shelf_of(source: Source) -> str:
    return source.name.replace("-", "_")


def samples_on(shelf: str) -> list[Sample]:
    files = sorted(path for path in (DATA / shelf).rglob("*") if path.is_file())
    return [Sample(shelf, path) for path in files if not path.name.endswith(GOLDEN)]


SOUND = [sample for source in SOURCES for sample in samples_on(shelf_of(source))]
BROKEN = samples_on(DAMAGED)
EVERY = [*SOUND, *BROKEN]


@dataclass(slots=True)
class Reading:
    """What a file says, read twice over: by itself, and as an index of others."""

    source: Source
    conversations: list[Conversation]
    stubs: list[Conversation]
    ledger: Ledger
    index_ledger: Ledger
    refusal: BadFile | None

    def diagnostics(self) -> list[Diagnostic]:
        refused = []
        if self.refusal is not None:
            refused = [Diagnostic(self.refusal.code, self.ledger.path, str(self.refusal), "error")]
        return [*self.ledger.diagnostics(), *refused]


def read(path: Path, source: Source) -> Reading:
    """All that a source makes of a file. Anything but BadFile is a bug and comes out."""
    probe = Probe(path)
    found = Found(path, source.name, source.native_id(probe))
    ledger = Ledger(path=str(path), source=source.name)
    index_ledger = Ledger(path=str(path), source=source.name)
    reading = Reading(source, [], [], ledger, index_ledger, None)
    try:
        reading.conversations += source.read(found, ledger)
    except BadFile as error:
        reading.refusal = error
    if reading.refusal is None:
        reading.stubs += source.index(found, index_ledger)
    return reading


def claiming(path: Path) -> list[str]:
    probe = Probe(path)
    return [source.name for source in SOURCES if source.claims(probe)]


def source_of(path: Path) -> Source:
    [name] = claiming(path)
    return BY_NAME[name]


def as_golden(reading: Reading, root: Path) -> bytes:
    """What is expected of a file, as text that people can review: no places on this machine, no sizes, no times."""
    conversations: list[Any] = msgspec.to_builtins(reading.conversations)
    for conversation in conversations:
        for place in conversation.get("provenance", []):
            place.pop("size", None)
            place.pop("modified_at", None)
    told = [msgspec.to_builtins(diagnostic) for diagnostic in reading.diagnostics()]
    for diagnostic in told:
        del diagnostic["path"]
    text = msgspec.json.encode({"conversations": conversations, "diagnostics": told})
    for conversation in conversations:
        if "prompts-only" in conversation.get("marks", []):  # its id is made of its path
            text = text.replace(conversation["native_id"].encode(), b"<of its path>")
    text = text.replace(f"{root}/".encode(), b"")
    return msgspec.json.format(text, indent=1) + b"\n"
