"""Copilot CLI sessions that were rewound to before their first prompt are listed, and their turns do not count."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from copilog import ingest
from copilog.ingest import find_roots
from copilog.ingest.scanning import scan
from copilog.model import Conversation
from copilog.store.archive import Archive
from tests.cli.homes import run
from tests.sources.cli_builders import SESSION, Log, write_log

ID = f"cli:{SESSION}"
REWIND = {"message": "Rewound the conversation.", "infoType": "rewind"}


def begun() -> Log:
    return Log().start().ask("When is high tide in Norrvik?").say("At six").ask("And low tide there?").say("At noon")


def rewound(*later: str) -> Log:
    """Return the log as it is after a rewind to the beginning, and further prompts."""
    log = Log().start()
    for _ in range(6):
        log.add("session.info", {"message": "Ready", "infoType": "notification"})
    log.add("session.info", REWIND)
    for text in later:
        log.ask(text).say("The table has it")
    return log


def write_store(folder: Path) -> None:
    """Write a session store with the turns from before the rewind."""
    path = folder / ".copilot" / "session-store.db"
    path.parent.mkdir(exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE schema_version (version INTEGER NOT NULL); INSERT INTO schema_version VALUES (3);"
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, cwd TEXT, repository TEXT, host_type TEXT, branch TEXT,"
        " summary TEXT, agent_name TEXT, agent_description TEXT, created_at TEXT, updated_at TEXT);"
        "CREATE TABLE turns (id INTEGER PRIMARY KEY, session_id TEXT, turn_index INTEGER, user_message TEXT,"
        " assistant_response TEXT, timestamp TEXT);"
    )
    at = "2026-06-02T08:00:02.000Z"
    connection.execute(
        "INSERT INTO sessions VALUES (?, NULL, NULL, 'github', NULL, 'Tides', NULL, NULL, ?, ?)", (SESSION, at, at)
    )
    rows = [
        ("When is high tide in Norrvik?", "At six", at),
        ("And low tide there?", "At noon", at.replace("02.", "04.")),
    ]
    for number, row in enumerate(rows):
        connection.execute("INSERT INTO turns VALUES (NULL, ?, ?, ?, ?, ?)", (SESSION, number, *row))
    connection.commit()
    connection.close()


def turns_of(conversation: Conversation) -> list[str | None]:
    return [turn.superseded for turn in conversation.turns]


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.db", write=True) as opened:
        yield opened


def scan_home(archive: Archive, home: Path) -> None:
    scan(archive, roots=find_roots([home]))


def test_turns_that_only_the_store_has_after_a_rewind_to_the_beginning_are_rewound(tmp_path: Path) -> None:
    write_log(tmp_path, rewound())
    write_store(tmp_path)

    [conversation] = ingest.read(tmp_path)

    assert turns_of(conversation) == ["rewound", "rewound"]


def test_turns_after_such_a_rewind_count(tmp_path: Path) -> None:
    write_log(tmp_path, rewound("And in Tarn?"))
    write_store(tmp_path)

    [conversation] = ingest.read(tmp_path)

    assert turns_of(conversation) == ["rewound", "rewound", None]


def test_turns_of_a_store_without_a_rewind_count(tmp_path: Path) -> None:
    write_log(tmp_path, Log().start())
    write_store(tmp_path)

    [conversation] = ingest.read(tmp_path)

    assert turns_of(conversation) == [None, None]


@pytest.mark.parametrize("has_store", [True, False], ids=["store", "earlier scan"])
def test_a_session_that_was_rewound_to_its_beginning_is_listed(
    has_store: bool, archive: Archive, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    if has_store:
        write_log(home, rewound())
        write_store(home)
    else:
        write_log(home, begun())
        scan_home(archive, home)
        write_log(home, rewound())
    for _ in range(2):  # a second scan changes nothing
        scan_home(archive, home)
        assert turns_of(archive.get(ID)) == ["rewound", "rewound"]
    archive.close()

    path = tmp_path / "archive.db"
    assert [one["id"] for one in run("--archive", path, "list", "--no-scan", "--json").json] == [ID]
    assert "When is high tide in Norrvik?" in run("--archive", path, "show", ID, "--no-scan", "--superseded").out


def test_a_rewind_to_the_beginning_is_remembered_when_the_conversation_continues(
    archive: Archive, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    for log in (begun(), rewound(), rewound("And in Tarn?")):
        write_log(home, log)
        scan_home(archive, home)

    assert turns_of(archive.get(ID)) == ["rewound", "rewound", None]
