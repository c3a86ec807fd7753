"""A turn without an end is at work only for a while."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from copilog.derive import may_still_run
from copilog.model import Turn
from copilog.view.turns import marks_of
from copilog.web.library_view import _state_label


def test_a_session_that_ended_months_ago_is_not_running() -> None:
    now = datetime.now(UTC)
    old = now - timedelta(days=90)

    assert may_still_run("pending", None, now)
    assert not may_still_run("pending", old)
    assert not may_still_run("pending", None)
    assert not may_still_run("complete", now)
    assert _state_label("pending", now.isoformat()) == "running?"
    assert _state_label("pending", old.isoformat()) == "not finished"
    assert _state_label("needs-input", old.isoformat()) == "not finished"


def test_the_badge_of_an_old_turn_does_not_show_it_as_running() -> None:
    turn = Turn(index=0, status="pending")
    turn.timing.started_at = datetime.now(UTC) - timedelta(days=90)
    assert list(marks_of(turn, set())) == [("pending", "not finished")]
    turn.timing.started_at = datetime.now(UTC)
    assert list(marks_of(turn, set())) == [("pending", "running")]
