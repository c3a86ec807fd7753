"""Edits, each counted once: which rows count was decided when they were stored."""

from __future__ import annotations

from copilog.analysis.selection import NO_TURN

COUNTED_EDITS = f"""
    SELECT c.conversation, c.turn, f.path, f.added, f.removed, f.fate, f.language
    FROM temp.chosen AS v CROSS JOIN file_edit AS f ON f.conversation = v.conversation
    CROSS JOIN temp.chosen_turn AS c ON c.conversation = f.conversation AND c.turn = coalesce(f.turn, {NO_TURN})
    WHERE f.is_counted
"""  # noqa: S608 - names of our own
