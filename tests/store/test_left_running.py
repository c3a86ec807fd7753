"""A call that was running when its conversation was stored, and that has been left since."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from copilog.derive import running
from copilog.ingest.scanning import scan
from copilog.model import Conversation, FileEdit, OutcomeKind, ToolCall
from copilog.store.archive import Archive
from copilog.writers.mcp import pieces_of
from tests.stored import concluded_entry, conversation
from tests.writers.text_builders import shown

OUTCOMES = "SELECT outcome FROM tool_calls"


def going(days_ago: int) -> Conversation:
    """Return a conversation whose last turn has no end."""
    made = conversation("one", ("Run it.", "On it."))
    made.updated_at = made.turns[0].timing.started_at = datetime.now(UTC) - timedelta(days=days_ago)
    made.turns[0].status = "pending"
    made.messages[1].parts += [ToolCall(id="a", name="create_file"), FileEdit(path="/x/a.py", call_id="a")]
    return made


@pytest.fixture
def archive_of_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """Return an archive that read a conversation ninety days ago, while its call was running."""
    archive = Archive(tmp_path / "archive.db", write=True)
    with monkeypatch.context() as then:
        then.setattr(running, "STILL_RUNNING", timedelta(days=100))
        archive.put(concluded_entry(going(days_ago=90)), "made up")
    assert archive.connection.execute(OUTCOMES).fetchall() == [("running",)]
    return archive


def kinds(made: Conversation) -> list[OutcomeKind | None]:
    parts = made.messages[1].parts
    return [part.outcome.kind if part.outcome else None for part in parts if isinstance(part, ToolCall)] + [
        part.outcome for part in parts if isinstance(part, FileEdit)
    ]


def test_abandoned_call_is_not_running_when_it_is_read(archive_of_then: Archive) -> None:
    with archive_of_then as archive:
        made = archive.get("one")

    assert kinds(made) == ["unknown", "unknown"]
    assert "running" not in shown(made)
    assert "running" not in "".join(piece.written(None) for piece in pieces_of(made))


def test_scan_ends_a_running_call_without_its_file(archive_of_then: Archive) -> None:
    with archive_of_then as archive:
        scan(archive)

        assert archive.connection.execute(OUTCOMES).fetchall() == [("unknown",)]
        assert kinds(archive.get("one")) == ["unknown", "unknown"]
        assert archive.rebuild_rows() == 0


def test_call_of_an_active_session_stays_running(tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db", write=True) as archive:
        archive.put(concluded_entry(going(days_ago=0)), "made up")
        scan(archive)

        assert archive.connection.execute(OUTCOMES).fetchall() == [("running",)]
        assert kinds(archive.get("one")) == ["running", "running"]


def test_abandoned_turn_is_shown_as_not_finished_on_every_surface(archive_of_then: Archive) -> None:
    with archive_of_then as archive:
        made = archive.get("one")
    texts = [shown(made), "".join(piece.written(None) for piece in pieces_of(made))]

    assert ["not finished" in text for text in texts] == [True, True]
    assert ["pending" in text for text in texts] == [False, False]
