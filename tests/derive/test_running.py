"""A turn without an end is at work only for a while."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from copilog.derive import is_going
from copilog.model import Turn
from copilog.view.turns import marks_of
from copilog.web.library_view import _state_words


def test_a_session_that_ended_months_ago_is_not_running() -> None:
    now = datetime.now(UTC)
    old = now - timedelta(days=90)

    assert is_going("pending", None, now)
    assert not is_going("pending", old)
    assert not is_going("pending", None)
    assert not is_going("complete", now)
    assert _state_words("pending", now.isoformat()) == "running?"
    assert _state_words("pending", old.isoformat()) == "not finished"
    assert _state_words("needs-input", old.isoformat()) == "not finished"


def test_the_badge_of_an_old_turn_does_not_say_that_it_runs() -> None:
    turn = Turn(index=0, status="pending")
    turn.timing.started_at = datetime.now(UTC) - timedelta(days=90)
    assert list(marks_of(turn, set())) == [("pending", "not finished")]
    turn.timing.started_at = datetime.now(UTC)
    assert list(marks_of(turn, set())) == [("pending", "running")]
