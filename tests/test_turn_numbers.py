"""Turns are numbered from 1 on every surface: wherever JSON has `turn`, from 0, it has `number` beside it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import copilog
from copilog.analysis import choose
from copilog.analysis.drill_down import drill_down
from copilog.analysis.timeline import timeline_of
from copilog.exports.dataset_schema import TABLES
from copilog.exports.numbered import with_numbers
from copilog.ingest import find_roots
from copilog.ingest.scanning import scan
from copilog.model import Conversation, FileChange, Message, Provenance, Text, Turn, turn_number
from copilog.model.values import Conflict
from copilog.sample import home
from copilog.store.archive import Archive
from copilog.store.frames import columns_of_view
from copilog.store.schema import VIEWS
from tests.cli.homes import run
from tests.redaction.seeds import generator
from tests.redaction.shapes import TOKENS
from tests.stored import concluded_entry

TOKEN = next(shape for shape in TOKENS if shape.name == "GitHub personal token").make(generator("numbers")).secret
LOOKUP = "vscode:115d7669-fedf-4b5f-8567-9e11ee66c6cb"
WITHOUT_TURN = {"conversations", "relations", "traces", "files", "problems"}  # views


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("numbers") / "archive.db"
    with Archive(path, write=True) as archive:
        scan(archive, roots=find_roots([home()]))
    return path


def places_of_turns(value: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all objects with an integer `turn`, except those inside of recorded data of others."""
    if isinstance(value, dict):
        if isinstance(value.get("turn"), int):
            yield place, value
        for key, inner in value.items():
            if key not in ("extra", "value", "raw", "metadata"):
                yield from places_of_turns(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from places_of_turns(inner, place)


def assert_numbered(document: Any) -> int:
    """Assert that all turns have their number, and return how many there are."""
    found = list(places_of_turns(document))
    for place, item in found:
        assert item.get("number") == item["turn"] + 1, (place, item)
    return len(found)


def commands(path: Path) -> list[list[str]]:
    """Return all commands with --json that print something of turns, or might."""
    with Archive(path) as archive:
        ids = [summary.id for summary in archive.list(include_empty=True)]
    lookup = "/home/ana/code/tide-tables/tide_tables/lookup.py"
    sections = ("totals", "tokens", "models", "tools", "agents", "skills", "work", "time")
    return [
        ["list"], ["search", "tide"], ["search", "why is the tide lookup slow"], ["commands"], ["problems"],
        ["secrets"], ["similar", LOOKUP], ["agents"], ["skills"], ["graph"], ["blame", lookup], ["report", "-o", "-"],
        *(["stats", section] for section in sections),
        *(["stats", "tokens", "--by", by] for by in ("turn", "conversation", "tool", "model")),
        *([command, name] for name in ids for command in ("show", "diff")),
    ]  # fmt: skip


def test_every_json_output_has_the_number_of_a_turn_beside_its_index(path: Path) -> None:
    found: dict[str, int] = {}
    for command, *arguments in commands(path):
        told = run(command, *arguments, "--json", "--archive", path, "--no-scan")
        if told.code == 2:  # no such option there
            assert command in ("report", "problems"), (command, arguments, told.err)
            continue
        found[command] = found.get(command, 0) + assert_numbered(json.loads(told.out))

    assert all(found[command] > 0 for command in ("search", "blame", "show"))


def test_turns_of_show_have_their_number_beside_the_index(path: Path) -> None:
    shown = run("show", LOOKUP, "--json", "--archive", path, "--no-scan").json
    with Archive(path) as archive:
        conversation = archive.get(LOOKUP)

    assert [turn["number"] for turn in shown["turns"]] == [turn.index + 1 for turn in conversation.turns] == [1, 2, 3]
    assert "Turn 3" in run("show", LOOKUP, "--turn", "3", "--archive", path, "--no-scan").out.replace("turn", "Turn")


def test_commands_secrets_and_drill_down_have_numbers(path: Path, tmp_path: Path) -> None:
    runs = run("commands", LOOKUP, "--json", "--archive", path, "--no-scan").json
    assert {made["number"] for made in runs} == {1, 2}

    leaking = Conversation(
        id="vscode:leaking",
        source="vscode-session",
        turns=[Turn(index=0), Turn(index=1)],
        messages=[
            Message(role="user", turn=0, parts=[Text(text="Who is it?")]),
            Message(role="user", turn=1, parts=[Text(text=f"It is {TOKEN}")]),
        ],
    )
    with Archive(tmp_path / "leaking.db", write=True) as archive:
        archive.put(concluded_entry(leaking), "made for a test")
    [secret] = run("secrets", "--json", "--archive", tmp_path / "leaking.db", "--no-scan").json
    assert (secret["number"], "turn" in secret) == (2, False)

    with Archive(path) as archive:
        rows = drill_down(choose(archive), "tools.failed").rows
    assert rows
    assert all(row.number == turn_number(row.turn) for row in rows)


def test_results_in_python_have_numbers(path: Path) -> None:
    with Archive(path) as archive:
        hits = archive.search("tide").hits
        conversation = archive.get(LOOKUP)

    assert all(hit.number == turn_number(hit.turn) for hit in hits)
    assert {hit.number for hit in hits} > {None, 1, 2}
    assert all(f"--turn {hit.number}" in hit.open for hit in hits if hit.number is not None)
    timeline = timeline_of(conversation)
    assert [span.number for span in timeline.spans if span.kind == "turn"] == [1, 2, 3]


def test_everything_of_a_conversation_that_names_a_turn_is_numbered_and_read_again_without_it(tmp_path: Path) -> None:
    conversation = Conversation(
        id="vscode:numbers",
        native_id="numbers",
        source="vscode-session",
        turns=[Turn(index=0), Turn(index=1)],
        messages=[
            Message(role="user", turn=1, parts=[Text(text="Hello")]),
            Message(role="system", parts=[Text(text="Before all turns")]),
        ],
        file_changes=[FileChange(uri="file:///a", turn=1), FileChange(uri="file:///b")],
        provenance=[
            Provenance(
                source="vscode-session",
                path="/a.json",
                conflicts=[Conflict(field="status", value={"turn": 7}, turn=0), Conflict(field="title", value="x")],
            )
        ],
    )
    with Archive(tmp_path / "archive.db", write=True) as archive:
        archive.put(concluded_entry(conversation), "made for a test")
        before = archive.digest_of(conversation.id)
        stored = archive.get(conversation.id)
        [made] = copilog.export(archive, "json", tmp_path / "one.json").paths
    document = json.loads(made.read_text())

    assert assert_numbered(document) == 3
    assert [turn["number"] for turn in document["turns"]] == [1, 2]
    assert "number" not in document["messages"][1]
    assert document["provenance"][0]["conflicts"][0]["value"] == {"turn": 7}
    [back] = copilog.read(made)
    assert back.turns == stored.turns
    assert back.messages == stored.messages
    assert type(with_numbers(stored.messages[0])) is not Message
    assert type(stored.messages[0]) is Message
    with Archive(tmp_path / "archive.db") as archive:
        assert archive.digest_of(conversation.id) == before


@pytest.mark.parametrize("view", [view for view in VIEWS if view not in WITHOUT_TURN])
def test_every_view_with_turns_has_their_number(path: Path, view: str) -> None:
    index = "position" if view == "turns" else "turn"
    with Archive(path) as archive:
        column = columns_of_view(archive.connection, view)["number"]
        (wrong, rows) = archive.connection.execute(
            f"SELECT count(*) FILTER (WHERE number IS NOT {index} + 1), count(*) FROM {view}"
        ).fetchone()

    assert column.kind == "integer"
    assert wrong == 0
    assert rows > 0 or view in ("prompt_shares", "skills", "memory_uses")


def test_an_archive_of_the_version_before_gets_the_numbers(path: Path, tmp_path: Path) -> None:
    from copilog.store.migrations import MIGRATIONS
    from copilog.store.numbered_views import NUMBERED_VIEWS

    copy = tmp_path / "copy.db"
    with sqlite3.connect(path) as source:
        source.execute("VACUUM INTO ?", (str(copy),))
    assert NUMBERED_VIEWS in MIGRATIONS
    with sqlite3.connect(copy) as older:
        older.execute(f"PRAGMA user_version = {MIGRATIONS.index(NUMBERED_VIEWS)}")
        for (name,) in older.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            older.execute(f"DROP TRIGGER {name}")
        older.execute("DROP TABLE checksum")  # which a later migration makes
        for view in VIEWS:
            if view not in WITHOUT_TURN:
                older.execute(f"DROP VIEW {view}")
                older.execute(f"CREATE VIEW {view} AS SELECT 0 AS turn")
    with Archive(copy, write=True) as archive:
        assert archive.connection.execute("SELECT max(number) FROM messages").fetchone()[0] > 1


def test_tables_of_a_dataset_with_turns_have_their_number(path: Path, tmp_path: Path) -> None:
    assert all(
        ("number" in names) == ("turn" in names)
        for names in ({column.name for column in table.columns} for table in TABLES)
    )
    if "CI" not in os.environ:
        pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    shutil.rmtree(tmp_path / "dataset", ignore_errors=True)
    with Archive(path) as archive:
        copilog.export(archive, "parquet", tmp_path / "dataset")
    rows = [
        row
        for table in ("turns", "messages", "tool_calls")
        for file in (tmp_path / "dataset" / table).rglob("*.parquet")
        for row in parquet.ParquetFile(file).read().to_pylist()
    ]
    assert assert_numbered(rows) > 50


def test_numbers_follow_from_indexes() -> None:
    assert (turn_number(0), turn_number(41), turn_number(None)) == (1, 42, None)
