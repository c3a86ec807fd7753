"""Edits, each counted once: which rows count was decided when they were stored."""

from __future__ import annotations

from copilog.analysis.selection import NO_TURN


def one_path(column: str) -> str:
    """Return SQL that spells a path on a Windows drive in one way; programs write either slash and either case."""
    spelled = f"lower(substr({column}, 1, 1)) || replace(substr({column}, 2), '/', '\\')"
    return f"CASE WHEN {column} GLOB '[A-Za-z]:[\\/]*' THEN {spelled} ELSE {column} END"


COUNTED_EDITS = f"""
    SELECT c.conversation, c.turn, {one_path("f.path")} AS path, f.added, f.removed, f.fate, f.language
    FROM temp.chosen AS v CROSS JOIN file_edit AS f ON f.conversation = v.conversation
    CROSS JOIN temp.chosen_turn AS c ON c.conversation = f.conversation AND c.turn = coalesce(f.turn, {NO_TURN})
    WHERE f.is_counted
"""  # noqa: S608 - names of our own
