"""Conversations that were read, stored and searched, as a user would."""

from __future__ import annotations

from pathlib import Path

import pytest

from copilog.model import Followup
from copilog.store.archive import Archive
from copilog.store.entries import entry_of
from copilog.store.search import search
from tests.sources.cli_builders import Log, read_log
from tests.store.archive_rows import put_all
from tests.stored import conversation

VIEWED = ("view", {"path": "/home/ana/harbour/lamp.py", "view_range": [1, 20]})
OTHER_READS = [
    ("grep", {"pattern": "lamp", "path": "/home/ana/harbour/lamp.py"}),
    ("rg", {"pattern": "lamp", "paths": ["/home/ana/quay.md", "/home/ana/harbour/lamp.py"]}),
    ("glob", {"pattern": "*.py", "path": "/home/ana/harbour/lamp.py"}),
    ("str_replace_editor", {"command": "view", "path": "/home/ana/harbour/lamp.py"}),
    ("read_file", {"filePath": "/home/ana/harbour/lamp.py", "startLine": 1}),
]


def found(archive: Archive, query: str) -> list[str]:
    return sorted({hit.conversation for hit in search(archive.connection, query).hits})


@pytest.mark.parametrize(("tool", "arguments"), [VIEWED, *OTHER_READS])
def test_file_finds_a_file_that_a_cli_session_viewed(
    archive: Archive, tmp_path: Path, tool: str, arguments: dict[str, object]
) -> None:
    stored, _ = read_log(tmp_path, Log().start().ask("why is it dark?").run("c1", tool, arguments))
    put_all(archive, entry_of(stored), entry_of(conversation("other", ("Why?", "Because."))))

    assert found(archive, "file:lamp.py") == [stored.id]
    assert found(archive, "file:harbour/lamp*.py") == [stored.id]
    assert found(archive, "path:lamp") == [stored.id]


@pytest.mark.parametrize("path", ["c:\\quay\\src\\lamp.py", "C:/quay/src/lamp.py"])
def test_file_finds_a_path_with_either_slash(archive: Archive, tmp_path: Path, path: str) -> None:
    stored, _ = read_log(tmp_path, Log().start().ask("why is it dark?").run("c1", "view", {"path": path}))
    put_all(archive, entry_of(stored), entry_of(conversation("other", ("Why?", "See quay/src/lamp.py."))))

    for query in (
        "file:src/lamp.py",
        r"file:src\lamp.py",
        r"file:C:\quay\src\lamp.py",
        "file:src/la*.py",
        r"file:src\la*.py",
    ):
        assert found(archive, query) == [stored.id], query


@pytest.mark.parametrize("query", ["anchorage", "result:anchorage", '"show me the anchorage"'])
def test_a_suggested_follow_up_is_found(archive: Archive, query: str) -> None:
    made = conversation("1", ("Where can I moor?", "At the quay."))
    made.turns[0].followups = [Followup(text="Show me the anchorage", title="Anchorage")]
    put_all(archive, entry_of(made), entry_of(conversation("other", ("Why?", "Because."))))

    assert found(archive, query) == [made.id]


def test_a_suggested_next_question_is_not_counted_as_sent_to_the_model() -> None:
    asked, suggested = (conversation("1", ("Where?", "There."), ("And then?", "Home.")) for _ in range(2))
    suggested.turns[0].followups = [Followup(text="Show me the anchorage", title="Anchorage")]

    assert entry_of(asked).spends == entry_of(suggested).spends
