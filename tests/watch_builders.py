"""What tests of watching share: a home to be watched, and how long to wait."""

from __future__ import annotations

from pathlib import Path

from tests.cli.homes import Home, session

DEADLINE_SECONDS = 30.0


def home_with_a_session(folder: Path) -> Home:
    made = Home(folder)
    made.add(made.workspace(1), session("session-1", "Which beans?"))
    return made
