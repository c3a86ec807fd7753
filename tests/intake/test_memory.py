"""Bombs and long files: memory follows the largest record, what is too large is reported, and the rest is read."""

from __future__ import annotations

import gzip
import json
import os
import random
import sqlite3
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from copilog.diagnostics import Ledger
from copilog.intake import limits
from copilog.sources.base import Found, Probe
from copilog.sources.vscode.state_database import VSCodeState
from copilog.sqliteio import UnreadableDatabase, open_copy, query, rows_of
from tests.memory import measured
from tests.telemetry.streams import assistant, line_of, snapshot, system, user

MOST_OF_BOMBS_MB = 900
MOST_OF_FILES_MB = 300
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is counted otherwise here")


def telemetry_bomb(path: Path, megabytes: int) -> Path:
    """Write a packed file of a few hundred kB with one record of so many MB between two small ones."""
    pack = zlib.compressobj(1, wbits=31)
    first, last = (line_of(snapshot([system(), user(), assistant()], name)) + b"\n" for name in ("before", "behind"))
    with path.open("wb") as file:
        file.write(pack.compress(first + b'{"name": "copilot-chat/engine.messages", "data": "'))
        for _ in range(megabytes):
            file.write(pack.compress(b"a" * (1 << 20)))
        file.write(pack.compress(b'"}\n' + last))
        file.write(pack.flush())
    return path


def test_a_packed_bomb_loses_only_its_record(tmp_path: Path) -> None:
    bomb = telemetry_bomb(tmp_path / "bomb.jsonl.gz", 200)

    variables = {limits.RECORD_VARIABLE: "32"}
    done = measured(tmp_path, "extract", bomb, "-o", "out.jsonl", "--jobs", "1", **variables)

    assert done.peak < MOST_OF_FILES_MB
    assert "a record of 200 MB; longer than the 32 MB that are read [too-large]" in done.err
    lines = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["conversation_id"] for line in lines] == ["before", "behind"]


@pytest.mark.parametrize(("opening", "separator", "end"), [("", "\n", "\n"), ("", "\n", ""), ("[", ",\n", "]")])
def test_a_bomb_that_begins_a_file_costs_as_little(tmp_path: Path, opening: str, separator: str, end: str) -> None:
    bomb = tmp_path / "bomb.jsonl.gz"
    is_alone = not end
    after = "" if is_alone else separator + line_of(snapshot([system(), user(), assistant()], "behind")).decode()
    with gzip.open(bomb, "wb", 1) as file:
        file.write(f'{opening}{{"name": "copilot-chat/engine.messages", "data": "'.encode())
        for _ in range(200):
            file.write(b"a" * (1 << 20))
        file.write(f'"}}{after}{end}'.encode())

    done = measured(tmp_path, "extract", bomb, "-o", "out.jsonl", "--jobs", "1", **{limits.RECORD_VARIABLE: "32"})

    assert done.peak < MOST_OF_FILES_MB
    assert "a record of 200 MB; longer than the 32 MB that are read [too-large]" in done.err
    assert (done.code, (tmp_path / "out.jsonl").exists()) == (1 if is_alone else 0, not is_alone)


def test_a_high_compression_ratio_is_not_refused(tmp_path: Path) -> None:
    lines = (line_of(snapshot([system(), user(), assistant()], "one")) + b"\n") * 50_000
    packed = tmp_path / "many.jsonl.gz"
    packed.write_bytes(gzip.compress(lines))
    assert len(lines) > 60 * packed.stat().st_size

    done = measured(tmp_path, "extract", packed, "-o", "out.jsonl", "--jobs", "1")

    assert (done.code, done.peak < MOST_OF_FILES_MB) == (0, True)
    assert "50,000 records seen" in done.err


SESSIONS = json.dumps({"version": 1, "entries": {"s1": {"sessionId": "s1", "title": "Beans", "lastMessageDate": 1}}})


def store(path: Path, size: int) -> Path:
    """Create a store of a few kB whose first row has a generated value of so many bytes."""
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE ItemTable (key TEXT PRIMARY KEY, kept TEXT, size INT,"
            " value GENERATED ALWAYS AS (CASE WHEN size THEN zeroblob(size) ELSE kept END) VIRTUAL)"
        )
        connection.execute("INSERT INTO ItemTable (key, size) VALUES ('memento/interactive-session', ?)", (size,))
        connection.execute("INSERT INTO ItemTable (key, kept) VALUES ('chat.ChatSessionStore.index', ?)", (SESSIONS,))
        connection.commit()
    return path


def test_a_too_large_generated_column_loses_only_its_row(tmp_path: Path) -> None:
    path = store(tmp_path / "Code" / "User" / "globalStorage" / "state.vscdb", 900_000_000)
    source, ledger = VSCodeState(), Ledger(path=str(path))

    stubs = list(source.index(Found(path, source.name), ledger))

    assert source.claims(Probe(path))
    assert [stub.native_id for stub in stubs] == ["s1"]
    assert [(note.code, note.level, note.table) for note in ledger.notes if note.code == "too-large"] == [
        ("too-large", "error", "ItemTable")
    ]
    assert measured(tmp_path, "list", "--root", tmp_path / "Code").peak < MOST_OF_FILES_MB


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    path = tmp_path / "some.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE t (a, size, b GENERATED ALWAYS AS (zeroblob(size)) VIRTUAL);"
            "INSERT INTO t VALUES (1, 3), (2, 50000000), (3, 2)"
        )
    with open_copy(path) as snapshot:
        yield snapshot.connection


def test_the_other_values_of_a_row_with_a_too_long_value_are_read(database: sqlite3.Connection) -> None:
    told: list[tuple[str, str]] = []

    rows = list(rows_of(database, "t", ["a", "b"], left_out=lambda row, reason: told.append((row, reason))))

    assert rows == [(1, b"\0" * 3), (2, None), (3, b"\0" * 2)]
    assert told == [("2", "b holds a value of more than 4.0 MB")]


def test_a_slow_query_is_cancelled(database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "QUERY_SECONDS", 0.1)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

    with pytest.raises(UnreadableDatabase, match="takes longer than") as caught:
        list(query(database, endless))

    assert caught.value.code == "too-large"
    assert list(query(database, "SELECT 1")) == [(1,)]


def long_session(folder: Path, megabytes: int, requests: int) -> Path:
    """Write a session of so many MB to a home folder."""
    path = folder / ".config" / "Code" / "User" / "workspaceStorage" / ("a" * 32) / "chatSessions" / "s1.json"
    path.parent.mkdir(parents=True)
    text = "word " * (megabytes * 1_000_000 // requests // 5)
    with path.open("w") as file:
        file.write('{"version": 3, "sessionId": "s1", "creationDate": 1760000000000, "requests": [')
        for number in range(requests):
            message = {"text": f"question {number}"}
            request = {"requestId": f"r{number}", "message": message, "response": [{"value": text}]}
            file.write(", " * bool(number) + json.dumps(request))
        file.write("]}")
    return path


def test_a_long_session_is_listed_stored_and_printed_within_the_bound(tmp_path: Path) -> None:
    path = long_session(tmp_path / "home", 95, 3_000)

    for command in (["list", "--root", tmp_path / "home"], ["scan", tmp_path / "home"], ["show", path, "--json"]):
        done = measured(tmp_path, *command)

        assert (done.code, done.peak < MOST_OF_FILES_MB) == (0, True), (command, done)


def varied_session(path: Path, megabytes: int) -> None:
    """Write a session of so many MB whose requests of 30 kB all differ, with the texts that VS Code writes twice."""
    chance = random.Random(16)
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(2, 10))) for _ in range(1_000)]
    paragraphs = [" ".join(chance.choices(words, k=40)) for _ in range(500)]
    path.parent.mkdir(parents=True)
    with path.open("w") as file:
        file.write('{"version": 3, "sessionId": "s2", "creationDate": 1760000000000, "requests": [')
        for number in range(megabytes * 1_000_000 // 30_000):
            text, output = ("\n".join(chance.sample(paragraphs, 30)) for _ in range(2))
            call = {"id": f"c{number}", "name": "read_file", "arguments": "{}"}
            result = {f"c{number}": {"content": [{"kind": "text", "value": output}]}}
            rounds = [{"id": "r", "response": text, "toolCalls": [call]}]
            made = {
                "requestId": f"r{number}",
                "message": {"text": f"question {number}"},
                "response": [{"value": text}],
                "result": {"metadata": {"toolCallRounds": rounds, "toolCallResults": result}},
            }
            file.write(", " * bool(number) + json.dumps(made))
        file.write("]}")


def test_memory_does_not_follow_a_session_of_many_requests(tmp_path: Path) -> None:
    home = tmp_path / "home"
    path = home / ".config" / "Code" / "User" / "workspaceStorage" / ("a" * 32) / "chatSessions" / "s2.json"
    varied_session(path, 150)

    for command in (
        ["list", "--live", "--root", home],
        ["extract", home, "-o", "out.jsonl", "--no-context-tag-summary"],
        ["scan", "--root", home],
    ):
        done = measured(tmp_path, *command)

        assert (done.code, done.peak < MOST_OF_FILES_MB) == (0, True), (command, done)


@pytest.mark.skipif("COPILOG_HEAVY" not in os.environ, reason="takes a minute; COPILOG_HEAVY is not set")
def test_bombs_of_full_size_stay_under_the_bound(tmp_path: Path) -> None:
    bomb = telemetry_bomb(tmp_path / "bomb.jsonl.gz", 1_500)

    done = measured(tmp_path, "extract", bomb, "-o", "out.jsonl", "--jobs", "1")

    assert (done.code, done.peak < MOST_OF_BOMBS_MB) == (0, True), done
