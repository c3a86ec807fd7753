"""What the tests of Copilot's own storage share: made-up databases, how to read, and how to spoil what is read."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st

from copilog.diagnostics import Ledger
from copilog.errors import BadFile
from copilog.model import Conversation, Message, ToolCall, ToolResult, parts_of, prose_of
from copilog.sources.base import Found, Probe, Source

DATA = Path(__file__).parent.parent / "data"

Json = dict[str, Any]


# --- files ------------------------------------------------------------------------------------------------------


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    """Write a file of JSON lines, in folders that are made as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
    return path


def database_from(script: Path | str, path: Path, journal_mode: str = "delete") -> Path:
    """Make a database by a script of SQL."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = script.read_text(encoding="utf-8") if isinstance(script, Path) else script
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal_mode}")
        connection.executescript(text)
    return path


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


# --- reading ----------------------------------------------------------------------------------------------------


def found_at(source: Source, path: Path) -> Found:
    return Found(path, source.name, source.native_id(Probe(path)))


def read(source: Source, found: Path | Found) -> tuple[list[Conversation], Ledger]:
    """Read a file with a source; check that everything is counted and can be encoded."""
    found = found if isinstance(found, Found) else found_at(source, found)
    ledger = Ledger(path=str(found.path), source=source.name)
    conversations = list(source.read(found, ledger))
    assert_in_order(conversations, ledger)
    return conversations, ledger


def read_one(source: Source, found: Path | Found) -> tuple[Conversation, Ledger]:
    [conversation], ledger = read(source, found)
    return conversation, ledger


def index(source: Source, found: Path | Found) -> tuple[list[Conversation], Ledger]:
    found = found if isinstance(found, Found) else Found(found, source.name)
    ledger = Ledger(path=str(found.path), source=source.name)
    stubs = list(source.index(found, ledger))
    assert_in_order(stubs, ledger)
    return stubs, ledger


def read_or_refuse(source: Source, path: Path) -> None:
    """Read, index and claim a file that may be broken in any way: only BadFile may be raised."""
    probe = Probe(path)
    source.claims(probe)
    found = Found(path, source.name, source.native_id(probe))
    for reader in (source.read, source.index):
        ledger = Ledger(path=str(path), source=source.name)
        conversations: list[Conversation] = []
        with suppress(BadFile):
            conversations += reader(found, ledger)
        assert_in_order(conversations, ledger)


def assert_in_order(conversations: list[Conversation], ledger: Ledger) -> None:
    assert ledger.balances()
    for conversation in conversations:
        assert msgspec.json.decode(msgspec.json.encode(conversation), type=Conversation) == conversation
        assert re.fullmatch(r"[a-z]+:.+", conversation.id, re.DOTALL)
        assert [turn.index for turn in conversation.turns] == list(range(len(conversation.turns)))
        assert all(message.turn is None or message.turn < len(conversation.turns) for message in conversation.messages)


def codes(ledger: Ledger) -> list[str]:
    return [diagnostic.code for diagnostic in ledger.diagnostics()]


def prose_by_role(conversation: Conversation) -> list[tuple[str, str]]:
    """Return role and prose of each message."""
    return [(message.role, prose_of(message.parts)) for message in conversation.messages]


def calls_in(conversation: Conversation) -> list[ToolCall]:
    return [part for part in parts_of(conversation) if isinstance(part, ToolCall)]


def results_in(conversation: Conversation) -> list[ToolResult]:
    return [part for part in parts_of(conversation) if isinstance(part, ToolResult)]


def below(conversation: Conversation, call_id: str) -> list[Message]:
    return [message for message in conversation.messages if message.parent_call_id == call_id]


# --- losses and damage ------------------------------------------------------------------------------------------


def texts_in(value: Any) -> Iterator[str]:
    """Yield all strings of a JSON value that are not keys, also of JSON within strings."""
    if isinstance(value, str):
        try:
            inner = json.loads(value) if value[:1] in ("[", "{") else None
        except ValueError:
            inner = None
        if inner is None:
            yield value
        else:
            yield from texts_in(inner)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_in(item)


def lost_texts(value: Any, conversations: list[Conversation], *known: str) -> list[str]:
    """Return the strings of a source's JSON that are missing in the conversations, except `known` ones."""
    kept = msgspec.json.encode(conversations).decode()
    wanted = {text for text in texts_in(value) if text not in known}
    return sorted(text for text in wanted if _escaped(text) not in kept and _escaped(_escaped(text)) not in kept)


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


@st.composite
def spoiled(draw: st.DrawFn, original: bytes) -> bytes:
    """Draw the bytes of a file with some of them replaced, and its end possibly cut off or filled with NUL bytes."""
    made = bytearray(original)
    places = st.integers(0, max(0, len(made) - 1))
    for place, byte in draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=20)):
        made[place : place + 1] = bytes([byte])
    cut = draw(st.one_of(st.none(), st.integers(0, len(made))))
    return bytes(made[:cut]) + b"\0" * draw(st.sampled_from([0, 0, 7]))


VALUE = re.compile(rb'(?<=[:\[,])\s*("(?:[^"\\]|\\.)*"(?!\s*:)|-?[0-9]+(?:\.[0-9]+)?|true|false|null|\{\}|\[\])')
OTHERS = [b"null", b"true", b"0", b"-1", b"1e300", b"123456789012345678901234567890", b'""', b'"text"', b"[]"]
OTHERS += [b"[null]", b"[[]]", b"{}", b'{"a":{}}', b'"[{\\"role\\": 1, \\"parts\\": [{}, 2]}]"', b'"2026-01-01"']


@st.composite
def with_other_values(draw: st.DrawFn, original: bytes) -> bytes:
    """Draw the bytes of a JSON file with some values replaced by ones of another type."""
    places = [match.span(1) for match in VALUE.finditer(original)]
    made = original
    for start, end in sorted(draw(st.lists(st.sampled_from(places), unique=True, max_size=6)), reverse=True):
        made = made[:start] + draw(st.sampled_from(OTHERS)) + made[end:]
    return made


# A value of any type that SQLite stores.
any_cell = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(max_size=20),
    st.binary(max_size=20),
    st.sampled_from(["s1", "2026-07-01 10:00:00", "[{}]", "commit", "user", 1, 0]),
)
